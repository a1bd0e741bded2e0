/* The linear part: n-grams, and what the words mean. Its logits are added to those of the network. */

/* --- N-grams --- */

/* Add the logits of the n-grams to `answers`. The characters are folded in place. */
static void ngram_logits(rvl *engine, uint32_t count) {
  const int columns = engine->columns;
  float length;
  uint32_t place;
  int n;
  for (place = 0; place < count; place++) engine->text.chars[place] = folded_at(&engine->text, place, engine->settings[PLAIN_LETTERS] != 0);
  clear_sums(engine->sums, (int)rounded_up((uint32_t)columns + 1, ROW));
  CALL(add_ngrams, engine, engine, count, engine->sums);
  length = (float)(1.0 / sqrt_of((double)(engine->sums[columns] > 1 ? engine->sums[columns] : 1)));
  for (n = 0; n < columns; n++) engine->values[n] = (float)engine->sums[n] * length * engine->ngram_scales[n];
  if (engine->settings[RANK]) apply(engine, &engine->projection, 1, NOTHING);
  for (n = 0; n < (int)engine->settings[LABELS]; n++)
    engine->answers[n] += engine->ngram_bias ? engine->values[n] + engine->ngram_bias[n] : engine->values[n];
}

/* --- Meaning --- */

enum {
  SUBSPACES = 8, PART = DIMENSION / SUBSPACES, /* codes of a word, and numbers that a code stands for */
  LONGEST_WORD = 16, CHARS_PER_WORD = 5,
  LETTER_NUMBERS = 2048, LETTER_SPREAD = 389, STEPS = 251, FINGERPRINTS = 1023, NO_WORD = 16383, MOST_ROWS = 65536
};

/* The number of a word in the table, or NO_WORD. Letters come as their numbers; `without` is the place of one that is left out. */
static uint32_t find_key(const rvl *engine, const uint32_t *letters, uint32_t length, uint32_t without) {
  uint32_t sums[4] = {0, 0, 0, 0}, place, root, row, stored;
  const uint8_t *factor = rvl_letter_factors;
  for (place = 0; place < length; place++) {
    if (place == without) continue;
    for (root = 0; root < 4; root++) sums[root] += letters[place] * *factor++;
  }
  row = (sums[1] + engine->displacement[sums[0] % engine->displacements] * (sums[2] % STEPS + 1)) % engine->hash_rows;
  stored = engine->hash_row[3 * row] | (uint32_t)engine->hash_row[3 * row + 1] << 8 | (uint32_t)engine->hash_row[3 * row + 2] << 16;
  return stored >> 14 == sums[3] % FINGERPRINTS + 1 ? stored & NO_WORD : NO_WORD;
}

/* The same, but a word that is not there has the smallest number that it has without one of its letters. */
static uint32_t find_word(const rvl *engine, const uint32_t *letters, uint32_t length) {
  uint32_t found = find_key(engine, letters, length, length), without;
  if (found != NO_WORD || length < 2) return found;
  for (without = 0; without < length; without++) {
    const uint32_t number = find_key(engine, letters, length, without);
    found = number < found ? number : found;
  }
  return found;
}

/* Add the vector of a word, where it has one. */
static void add_word(const rvl *engine, uint32_t number, int32_t *sums) {
  int n, book;
  for (book = 0; book < SUBSPACES && number != NO_WORD; book++) {
    const int8_t *part = engine->codebooks + (256 * book + engine->word_codes[SUBSPACES * number + (uint32_t)book]) * PART;
    for (n = 0; n < PART; n++) sums[PART * book + n] += part[n];
  }
}

/* The sum of the vectors of a window's words, scaled to length 1; returns whether there is one. `chars` stays as it is. */
static int text_vector(const rvl *engine, uint32_t count, float *vector) {
  const uint32_t max_chars = engine->settings[MAX_CHARS], most = max_chars > CHARS_PER_WORD ? max_chars / CHARS_PER_WORD : 1;
  uint32_t letters[LONGEST_WORD], length = 0, words = 0, place;
  int32_t sums[DIMENSION];
  double square = 0.0, length_of_sum;
  int n;
  clear_sums(sums, DIMENSION);
  for (place = 0; place <= count && words < most; place++) {
    const uint32_t code = place < count ? folded_at(&engine->text, place, 1) : 0;
    if (code && code < RVL_FOLD_END && flags_of(code) & IN_WORD) {
      if (length < LONGEST_WORD) letters[length] = code * LETTER_SPREAD % LETTER_NUMBERS + 1;
      length++;
      continue;
    }
    if (length && length <= LONGEST_WORD) add_word(engine, find_word(engine, letters, length), sums);
    words += length > 0;
    length = 0;
  }
  for (n = 0; n < DIMENSION; n++) square += (double)sums[n] * sums[n];
  length_of_sum = square > 0.0 ? sqrt_of(square) : 1.0;
  for (n = 0; n < DIMENSION; n++) vector[n] = (float)(sums[n] / length_of_sum);
  return square > 0.0;
}
