/* Answers: a text window by window, its probabilities, whether it belongs to no label, and its embedding. */

uint32_t rvl_labels(const rvl *engine) { return engine->settings[LABELS]; }

int rvl_several_labels(const rvl *engine) { return engine->settings[MULTI_LABEL] != 0; }

const char *rvl_metadata(const rvl *engine, size_t *bytes) {
  *bytes = engine->metadata_size;
  return engine->metadata;
}

uint32_t rvl_word_dimension(const rvl *engine) {
  if (engine->settings[HEAD] == NGRAMS) return 0;
  return engine->settings[HAS_EMBEDDING] ? (uint32_t)engine->embedding[2].outputs : engine->settings[WORD_LENGTH] * BITS;
}

/* Numbers of a text's embedding before those of its meaning. */
static uint32_t read_dimension(const rvl *engine) {
  return engine->vector.outputs ? (uint32_t)engine->vector.outputs : rvl_word_dimension(engine);
}

uint32_t rvl_dimension(const rvl *engine) {
  return !EMBEDS || engine->settings[HEAD] == NGRAMS ? 0 : read_dimension(engine) + (engine->hash_rows ? DIMENSION : 0);
}

uint32_t rvl_slots(const rvl *engine) { return engine->settings[HEAD] == NGRAMS ? 0 : engine->settings[MAX_WORDS]; }
uint32_t rvl_slot_length(const rvl *engine) { return engine->settings[WORD_LENGTH]; }

/* --- One window --- */

/* Cut the characters into words; returns how many slots are in use. */
static uint32_t cut_words(rvl *engine, uint32_t count) {
  cutter rest = cut_text(engine->text.chars, engine->text.flags, count, engine->settings[WORD_LENGTH]);
  uint32_t found = 0;
  while (found < engine->settings[MAX_WORDS] && next_word(&rest, engine->words + found)) found++;
  return found;
}

/* Turn logits into probabilities: a softmax, or a sigmoid each. */
static void to_probabilities(rvl *engine, float *values) {
  const uint32_t count = engine->settings[LABELS];
  double sum = 0.0, *powers = (double *)(void *)engine->sums; /* free when the logits are there */
  float most = values[0];
  uint32_t n;
  if (engine->settings[MULTI_LABEL]) {
    for (n = 0; n < count; n++) {
      const double small = exp_of(values[n] < 0 ? (double)values[n] : -(double)values[n]);
      values[n] = (float)((values[n] < 0 ? small : 1.0) / (1.0 + small));
    }
    return;
  }
  for (n = 1; n < count; n++) most = values[n] > most ? values[n] : most;
  for (n = 0; n < count; n++) {
    powers[n] = exp_of((double)values[n] - most);
    sum += powers[n];
  }
  for (n = 0; n < count; n++) values[n] = (float)(powers[n] / sum);
}

/* The sum of the embeddings of words, in `spelled`. */
static void sum_words(rvl *engine, uint32_t words) {
  const uint32_t size = rvl_word_dimension(engine);
  const piece *some[TILE];
  uint32_t start, word, count, n;
  for (n = 0; n < size; n++) engine->spelled[n] = 0.0f;
  for (start = 0; start < words; start += count) {
    count = words - start < TILE ? words - start : TILE;
    for (word = 0; word < count; word++) some[word] = engine->words + start + word;
    embed_words(engine, some, (int)count);
    for (word = 0; word < count; word++)
      for (n = 0; n < size; n++) engine->spelled[n] += engine->values[word * (uint32_t)engine->width + n];
  }
}

/* Add the vector of a window to that of its text: how it is spelled, scaled to length 1; with meaning, half of that, then the meaning. */
APART void add_vector(rvl *engine, const float *spelled, const float *meaning) {
  const uint32_t size = read_dimension(engine);
  double square = 0.0, half, meant, length;
  uint32_t n;
  for (n = 0; n < size; n++) square += (double)spelled[n] * spelled[n];
  /* Weights of a damaged file may make numbers that are none. */
  half = !(square > 1e-30 && square < 1e300) ? 0.0 : engine->hash_rows ? 0.5 : 1.0;
  meant = meaning ? 1.0 : 0.0;
  if (half + meant <= 0.0) return;
  length = sqrt_of(half * half + meant);
  square = sqrt_of(square);
  for (n = 0; n < size && half > 0.0; n++) engine->vector_totals[n] += half * (spelled[n] / square) / length;
  for (n = 0; n < DIMENSION && meaning; n++) engine->vector_totals[size + n] += meaning[n] / length;
}

enum { ANSWERS = 1, VECTOR = 2 };

/* Read the code points in `chars`, for what is asked: fill `answers`, add the vector. */
static void read_window(rvl *engine, uint32_t count, int asked) {
  const int has_network = engine->settings[HEAD] != NGRAMS, embeds = EMBEDS && asked & VECTOR;
  float meant[DIMENSION], *meaning = 0;
  uint32_t n, words;
  count = normalize(&engine->text, count);
  /* Before the n-grams, which fold the characters. */
  words = has_network ? cut_words(engine, count) : 0;
  if (embeds && engine->hash_rows && text_vector(engine, count, meant)) meaning = meant;
  if (embeds && !engine->vector.outputs) sum_words(engine, words);
  if (has_network && (asked & ANSWERS || engine->vector.outputs)) text_features(engine, words);
  if (embeds) add_vector(engine, engine->vector.outputs ? engine->values : engine->spelled, meaning);
  if (!(asked & ANSWERS)) return;
  for (n = 0; n < engine->settings[LABELS]; n++) engine->answers[n] = 0.0f;
  if (has_network) add_logits(engine, &engine->logits);
  for (n = 0; n < DIMENSION && meaning; n++) engine->values[n] = meaning[n];
  if (meaning || (!embeds && engine->hash_rows && text_vector(engine, count, engine->values))) add_logits(engine, &engine->meaning);
  if (engine->settings[BUCKETS]) ngram_logits(engine, count);
  to_probabilities(engine, engine->answers);
}

/* The best label but the unknown one. */
APART uint32_t best_of(const rvl *engine, const float *probabilities) {
  const uint32_t unknown = engine->settings[UNKNOWN_LABEL];
  uint32_t n, best = unknown == 1 ? 1 : 0;
  for (n = best + 1; n < engine->settings[LABELS]; n++)
    if (n + 1 != unknown && probabilities[n] > probabilities[best]) best = n;
  return best;
}

/* --- All windows --- */

/* Whether a code point is a letter or digit of the training texts. */
APART int is_known_character(const rvl *engine, uint32_t code) {
  size_t low = 0, high = engine->known_ranges;
  while (low < high) {
    const size_t half = (low + high) / 2;
    if (code < read32(engine->known + 8 * half))
      high = half;
    else if (code > read32(engine->known + 8 * half + 4))
      low = half + 1;
    else
      return 1;
  }
  return !engine->known_ranges; /* without any, all are */
}

/* A probability that is not rounded to 0. */
static double above_zero(float probability) { return probability > 1.1754943508222875e-38f ? probability : 1.1754943508222875e-38; }

/* How much a window counts, by its answers: the contract's "Long texts", 2. */
APART double weight_of(const rvl *engine) {
  const uint32_t labels = engine->settings[LABELS];
  double sum = 0.0;
  uint32_t n;
  for (n = 0; n < labels; n++) {
    const double found = above_zero(engine->answers[n]);
    if (n + 1 != engine->settings[UNKNOWN_LABEL]) sum += found * log_of(engine->shares ? found / engine->shares[n] : found * labels);
  }
  return exp_of(2.0 * sum);
}

static void add_window(rvl *engine, uint32_t count, int is_only, int asked) {
  const uint32_t labels = engine->settings[LABELS];
  uint32_t n, is_read = 0;
  double weight;
  for (n = 0; asked & ANSWERS && n < count && !is_read; n++) is_read = (uint32_t)is_known_character(engine, engine->text.chars[n]);
  /* Windows without anything to read count as long as there are no others. */
  if (!is_read && engine->has_read) asked &= ~ANSWERS;
  if (asked) read_window(engine, count, asked);
  if (!(asked & ANSWERS)) return;
  for (n = 0; n < labels && is_read && !engine->has_read; n++) engine->totals[n] = engine->total_weight = 0.0;
  engine->has_read |= (int)is_read;
  if (is_only) return;
  weight = engine->settings[MULTI_LABEL] ? 1.0 : weight_of(engine);
  for (n = 0; n < labels; n++) {
    if (!engine->settings[MULTI_LABEL])
      engine->totals[n] += weight * engine->answers[n];
    else if (engine->answers[n] > engine->totals[n])
      engine->totals[n] = engine->answers[n];
  }
  engine->total_weight += weight;
}

/* Read a text once, for its probabilities, its vector, or both: the other is 0. */
APART void read_windows(rvl *engine, reader source, float *probabilities, float *vector) {
  const uint32_t labels = probabilities ? engine->settings[LABELS] : 0, size = vector ? rvl_dimension(engine) : 0;
  double square = 0.0, length;
  uint32_t n, windows;
  for (n = 0; n < labels; n++) engine->totals[n] = 0.0;
  for (n = 0; n < size; n++) engine->vector_totals[n] = 0.0;
  engine->total_weight = engine->has_read = 0;
  windows = each_window(engine, source, add_window, (labels ? ANSWERS : 0) | (size ? VECTOR : 0));
  for (n = 0; n < labels; n++)
    probabilities[n] = windows == 1 ? engine->answers[n] : (float)(engine->settings[MULTI_LABEL] ? engine->totals[n] : engine->totals[n] / engine->total_weight);
  for (n = 0; n < size; n++) square += engine->vector_totals[n] * engine->vector_totals[n];
  length = square > 1e-30 ? sqrt_of(square) : 0.0;
  for (n = 0; n < size; n++) vector[n] = length > 0.0 ? (float)(engine->vector_totals[n] / length) : 0.0f;
}

static void answer(rvl *engine, reader source, float *probabilities) { read_windows(engine, source, probabilities, 0); }
static void embed(rvl *engine, reader source, float *vector) { read_windows(engine, source, 0, vector); }

void rvl_probabilities(rvl *engine, const uint32_t *codes, size_t count, float *probabilities) {
  ONE_THREAD(engine);
  answer(engine, read_all(engine, codes, 0, count), probabilities);
}

void rvl_probabilities_utf8(rvl *engine, const char *text, size_t bytes, float *probabilities) {
  ONE_THREAD(engine);
  answer(engine, read_all(engine, 0, text, bytes), probabilities);
}

void rvl_many(rvl *engine, const uint32_t *codes, const uint32_t *ends, size_t texts, float *probabilities) {
  ONE_THREAD(engine);
  size_t text;
  for (text = 0; text < texts; text++) {
    const uint32_t start = text ? ends[text - 1] : 0;
    answer(engine, read_text(codes + start, 0, ends[text] - start, rvl_read_limit(engine)), probabilities + text * engine->settings[LABELS]);
  }
}

/* --- None of the labels --- */

/* Whether a text has a letter or digit of the training texts. */
static int reads(const rvl *engine, reader source) {
  uint32_t code;
  int is_read = !engine->known_ranges;
  while (!is_read && next_given(&source.text, &code)) is_read = is_known_character(engine, code);
  return is_read;
}

/* Whether a text belongs to none of the labels. */
static int is_unknown(const rvl *engine, float best, const float *probabilities) {
  const uint32_t unknown = engine->settings[UNKNOWN_LABEL];
  const double none = unknown ? probabilities[unknown - 1] : 0.0;
  double power = 1.0;
  if (none > best) return 1;
  if (!engine->settings[HAS_THRESHOLD]) return 0;
  if (engine->unknown_power > 0.0) power = none < 1e-300 ? 0.0 : exp_of(engine->unknown_power * log_of(none));
  return best < engine->threshold * power;
}

/* --- Embeddings --- */

/* Normalise the first window of a text; returns how many characters it has. */
static uint32_t first_window(rvl *engine, const uint32_t *codes, size_t count) {
  reader source = read_text(codes, 0, count, engine->settings[MAX_CHARS]);
  return normalize(&engine->text, fill(engine, &source));
}

void rvl_embed(rvl *engine, const uint32_t *codes, size_t count, float *embedding) {
  ONE_THREAD(engine);
  if (rvl_dimension(engine)) embed(engine, read_all(engine, codes, 0, count), embedding);
}

void rvl_embed_utf8(rvl *engine, const char *text, size_t bytes, float *embedding) {
  ONE_THREAD(engine);
  if (rvl_dimension(engine)) embed(engine, read_all(engine, 0, text, bytes), embedding);
}

void rvl_embed_many(rvl *engine, const uint32_t *codes, const uint32_t *ends, size_t texts, float *embeddings) {
  ONE_THREAD(engine);
  const uint32_t size = rvl_dimension(engine);
  size_t text;
  for (text = 0; size && text < texts; text++) {
    const uint32_t start = text ? ends[text - 1] : 0;
    embed(engine, read_text(codes + start, 0, ends[text] - start, rvl_read_limit(engine)), embeddings + text * size);
  }
}

uint32_t rvl_meaning(rvl *engine, const uint32_t *codes, size_t count, float *vector) {
  ONE_THREAD(engine);
  if (!engine->hash_rows) return 0;
  text_vector(engine, first_window(engine, codes, count), vector);
  return DIMENSION;
}

uint32_t rvl_words(rvl *engine, const uint32_t *codes, size_t count, uint32_t *slots, float *embeddings) {
  ONE_THREAD(engine);
  const uint32_t length = engine->settings[WORD_LENGTH], size = rvl_word_dimension(engine);
  uint32_t words, word, n;
  if (!size) return 0;
  words = cut_words(engine, first_window(engine, codes, count));
  for (word = 0; word < words; word++) {
    const piece *one = engine->words + word;
    for (n = 0; n < length; n++) slots[word * length + n] = n < one->length ? engine->text.chars[one->start + n] : 0;
    if (!embeddings) continue;
    embed_words(engine, &one, 1);
    for (n = 0; n < size; n++) embeddings[word * size + n] = engine->values[n];
  }
  for (n = words * length; n < engine->settings[MAX_WORDS] * length; n++) slots[n] = 0;
  return words;
}
