/* The linear part: n-grams, and what the words mean. Its logits are added to those of the network. */

/* --- N-grams --- */

/* Add rows of n-grams, `count` at once: whole vectors, as the table goes on behind them; what they read too much is not looked at. */
INLINE void add_rows(const int8_t *const *rows, int count, size_t size, int32_t *restrict sums) {
  size_t n;
  int lane, row;
  for (n = 0; n < size; n += ROW)
    for (lane = 0; lane < ROW; lane++) {
      int16_t sum = 0;
      for (row = 0; row < count; row++) sum = (int16_t)(sum + rows[row][n + (size_t)lane]);
      sums[n + (size_t)lane] += sum;
    }
}

/* Up to `longest` characters from a place on, and their number. A mark, 0, stands before the text, at place 0, and behind it: windows with
 * one are written to `edge`. */
INLINE const uint32_t *window_from(const uint32_t *text, uint32_t count, uint32_t start, uint32_t longest, uint32_t *size, uint32_t *edge) {
  uint32_t n;
  *size = count + 2 - start < longest ? count + 2 - start : longest;
  if (start && start + *size <= count + 1) return text + start - 1;
  for (n = 0; n < *size; n++) edge[n] = start + n && start + n <= count ? text[start + n - 1] : 0;
  return edge;
}

/* The hashes of the n-grams that begin with the first of `count` characters, 0 being a mark, and lack one; returns how many there are. */
INLINE uint32_t hashes_from(const uint32_t *chars, uint32_t count, uint32_t shortest, uint32_t *hashes) {
  uint32_t hash = 1, size, found = 0;
  for (size = 1; size <= count; size++) {
    const uint32_t code = chars[size - 1];
    if (code == RVL_UNKNOWN_LETTER) break;
    hash = (hash * FACTOR + code) % PRIME;
    /* Not marks alone. */
    if (size >= shortest && (chars[0] || (size > 1 && code) || size > 2)) hashes[found++] = hash;
    if (size > 1 && !code) break; /* a mark would be inside the next one */
  }
  return found;
}

/* Add the rows of all n-grams of the folded characters. The memory is told of some of them before the first is added. */
INLINE void add_ngrams_body(const rvl *engine, uint32_t count, int32_t *restrict sums) {
  const uint32_t *set = engine->settings, shortest = set[SHORTEST], longest = set[LONGEST], books = set[CODEBOOKS], buckets = set[BUCKETS];
  const uint64_t inverse = (uint64_t)(0xFFFFFFFF / buckets) + 1; /* exact for what is below 2^16 */
  const size_t columns = (size_t)engine->columns + 1, whole = (columns + ROW - 1) / ROW * ROW;
  const int8_t *const table = engine->ngram_table, *const end = table + engine->ngram_table_size, *rows[ROWS];
  uint32_t start, n, book, size, column, edge[LONGEST_NGRAM], hashes[HASHES + LONGEST_NGRAM], found = 0, waiting = 0;
  for (start = 0; start < count + 2; start++) {
    const uint32_t *chars = window_from(engine->text.chars, count, start, longest, &size, edge), from = found;
    found += hashes_from(chars, size, shortest, hashes + found);
    for (n = from; n < found; n++) {
      if (!books) hashes[n] -= (uint32_t)(hashes[n] * inverse >> 32) * buckets;
      PREFETCH(books ? engine->ngram_codes + (size_t)hashes[n] * books : (const uint8_t *)table + hashes[n] * columns);
    }
    if (found < HASHES && start <= count) continue;
    for (n = 0; n < found; n++)
      for (book = 0; book < (books ? books : 1); book++) {
        const int8_t *row = table + columns * (books ? 256 * book + engine->ngram_codes[(size_t)hashes[n] * books + book] : hashes[n]);
        if (whole > (size_t)(end - row))
          for (column = 0; column < columns; column++) sums[column] += row[column];
        else
          rows[waiting++] = row;
        if (waiting < ROWS) continue;
        add_rows(rows, ROWS, whole, sums);
        waiting = 0;
      }
    found = 0;
  }
  while (waiting) add_rows(rows + --waiting, 1, whole, sums);
}
COPIES(void, , add_ngrams, (const rvl *engine, uint32_t count, int32_t *sums), (engine, count, sums))

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
