/* The network: the embedding of words, which are kept, and what the heads make of them: their logits. */

static void clear_sums(int32_t *sums, int count) {
  int n;
  for (n = 0; n < count; n++) sums[n] = 0;
}

static void copy_row(int16_t *row, const int16_t *other, int count) {
  int n;
  for (n = 0; n < count; n++) row[n] = other[n];
}

/* The binary digits of a word's code points. */
static void write_digits(const rvl *engine, const piece *word, float *digits) {
  int n;
  for (n = 0; n < (int)engine->settings[WORD_LENGTH] * BITS; n++) {
    const uint32_t place = (uint32_t)n / BITS;
    digits[n] = place < word->length && engine->text.chars[word->start + place] >> (BITS - 1 - n % BITS) & 1 ? 1.0f : 0.0f;
  }
}

/* The embedding of up to TILE words, in rows of `values`: the digits themselves, or three layers, of which the first adds up rows. */
static void embed_words(rvl *engine, const piece *const *words, int count) {
  int word;
  for (word = 0; word < count; word++) {
    const uint32_t *codes = engine->text.chars + words[word]->start;
    float *values = engine->values + word * engine->width;
    if (!engine->settings[HAS_EMBEDDING]) {
      write_digits(engine, words[word], values);
      continue;
    }
    CALL(read_digits, engine, &engine->embedding[0], codes, words[word]->length, engine->sums, values);
  }
  if (!engine->settings[HAS_EMBEDDING]) return;
  apply(engine, &engine->embedding[1], count, GELU);
  apply(engine, &engine->embedding[2], count, TANH);
}

/* What the head reads of up to TILE words, as far as each can be read by itself: rows of `inputs` with their scales. */
static void read_words(rvl *engine, const piece *const *words, int count, float *scales) {
  const uint32_t head = engine->settings[HEAD];
  embed_words(engine, words, count);
  if (head != LINEAR) apply(engine, &engine->word, count, GELU);
  if (engine->settings[REGION]) apply(engine, &engine->region, count, GELU);
  CALL(round_values, engine, engine, engine->word_size, LARGEST, count, scales);
}

/* --- Words that are kept --- */

/* Write a word as UTF-16; returns whether it fits into a key. */
static int make_key(const rvl *engine, const piece *word, uint16_t *key) {
  uint32_t place, units = 0;
  for (place = 0; place < KEY; place++) key[place] = 0;
  for (place = 0; place < word->length; place++) {
    const uint32_t code = engine->text.chars[word->start + place];
    if (units + 1 + (code > 0xFFFF) > KEY) return 0;
    if (code > 0xFFFF) key[units++] = (uint16_t)(0xD7C0 + (code >> 10));
    key[units++] = (uint16_t)(code > 0xFFFF ? 0xDC00 + (code & 0x3FF) : code);
  }
  return engine->cache_sets > 0;
}

static int is_key(const uint16_t *key, const uint16_t *other) {
  uint32_t place, differs = 0;
  for (place = 0; place < KEY; place++) differs |= (uint32_t)(key[place] ^ other[place]);
  return !differs;
}

/* Where a word is kept, or the place of the one that was not used for longest, which it may take. */
static size_t cache_place(const rvl *engine, const uint16_t *key, int *found) {
  uint32_t hash = 1, unit;
  size_t first, way, oldest;
  for (unit = 0; unit < KEY && key[unit]; unit++) hash = (hash ^ key[unit]) * 0x01000193u ^ hash >> 15;
  first = oldest = (size_t)((uint64_t)hash * engine->cache_sets >> 32) * WAYS;
  for (way = first; way < first + WAYS; way++) {
    *found = is_key(engine->cache_keys + way * KEY, key);
    if (*found) return way;
    if (engine->clock - engine->cache_ages[way] > engine->clock - engine->cache_ages[oldest]) oldest = way;
  }
  return oldest;
}

static int16_t *row_of(const rvl *engine, uint32_t place) { return engine->rows + (size_t)place * (size_t)engine->row_size; }

/* Compute the rows of words that are not kept, and keep them. */
static void read_new(rvl *engine, const piece *first, const uint32_t *places, int count) {
  const int size = engine->row_size;
  const piece *words[TILE];
  uint16_t key[KEY];
  float scales[TILE];
  int word, found;
  for (word = 0; word < count; word++) words[word] = first + places[word];
  read_words(engine, words, count, scales);
  for (word = 0; word < count; word++) {
    const int16_t *row = engine->inputs + word * engine->width;
    copy_row(row_of(engine, places[word]), row, size);
    engine->row_scales[places[word]] = scales[word];
    if (make_key(engine, words[word], key)) {
      const size_t place = cache_place(engine, key, &found);
      copy_row((int16_t *)engine->cache_keys + place * KEY, (const int16_t *)key, KEY);
      copy_row(engine->cache_rows + place * (size_t)size, row, size);
      engine->cache_scales[place] = scales[word];
      engine->cache_ages[place] = engine->clock;
    }
  }
}

/* Fill `rows` for words of a text, which begin at one of them. */
static void read_rows(rvl *engine, const piece *first, uint32_t words) {
  uint32_t waiting[TILE], word;
  uint16_t key[KEY];
  int count = 0, found;
  engine->clock++;
  for (word = 0; word < words; word++) {
    if (make_key(engine, first + word, key)) {
      const size_t place = cache_place(engine, key, &found);
      if (found) {
        engine->cache_ages[place] = engine->clock;
        copy_row(row_of(engine, word), engine->cache_rows + place * (size_t)engine->row_size, engine->row_size);
        engine->row_scales[word] = engine->cache_scales[place];
        continue;
      }
    }
    waiting[count++] = word;
    if (count == TILE) {
      read_new(engine, first, waiting, count);
      count = 0;
    }
  }
  if (count) read_new(engine, first, waiting, count);
}

/* --- Heads --- */

/* Replace rows `start` to `start + count` by `values` after a layer. */
static void store_rows(rvl *engine, uint32_t start, int count, int size) {
  float scales[TILE];
  int word;
  CALL(round_values, engine, engine, size, LARGEST, count, scales);
  for (word = 0; word < count; word++) {
    copy_row(row_of(engine, start + (uint32_t)word), engine->inputs + word * engine->width, size);
    engine->row_scales[start + (uint32_t)word] = scales[word];
  }
}

/* A word and its neighbours, weighted (a depthwise convolution of three). Null: beyond the ends. */
INLINE void mix_body(float *restrict mixed, const float *weights, int count, const int16_t *const rows[3], const float scales[3]) {
  int n, side;
  for (n = 0; n < count; n++) mixed[n] = 0.0f;
  for (side = 0; side < 3; side++) {
    const int16_t *row = rows[side];
    const float *w = weights + side * count, scale = scales[side];
    if (row)
      for (n = 0; n < count; n++) mixed[n] += (float)row[n] * scale * w[n];
  }
}
COPIES(void, , mix, (float *mixed, const float *w, int count, const int16_t *const rows[3], const float scales[3]), (mixed, w, count, rows, scales))

/* Add rows, from `start` on, to what a layer said of them. */
INLINE void add_back_body(rvl *engine, uint32_t start, int words, int size) {
  int word, n;
  for (word = 0; word < words; word++) {
    const int16_t *restrict row = row_of(engine, start + (uint32_t)word);
    const float scale = engine->row_scales[start + (uint32_t)word];
    float *restrict values = engine->values + word * engine->width;
    for (n = 0; n < size; n++) values[n] += (float)row[n] * scale;
  }
}
COPIES(void, , add_back, (rvl *engine, uint32_t start, int words, int size), (engine, start, words, size))

/* One block: each word, plus a dense layer over its neighbours. */
static void read_block(rvl *engine, uint32_t block, uint32_t words) {
  const dense_layer *layer = &engine->pointwise[block];
  const int size = layer->outputs;
  float scale_before = 0.0f;
  uint32_t start, place;
  int word, count;
  for (start = 0; start < words; start += TILE) {
    count = words - start < TILE ? (int)(words - start) : TILE;
    for (word = 0; word < count; word++) {
      const int16_t *rows[3];
      float scales[3];
      place = start + (uint32_t)word;
      rows[0] = !place ? 0 : word ? row_of(engine, place - 1) : engine->row_before;
      scales[0] = !place ? 0.0f : word ? engine->row_scales[place - 1] : scale_before;
      rows[1] = row_of(engine, place);
      scales[1] = engine->row_scales[place];
      rows[2] = place + 1 < words ? row_of(engine, place + 1) : 0;
      scales[2] = place + 1 < words ? engine->row_scales[place + 1] : 0.0f;
      CALL(mix, engine, engine->values + word * engine->width, engine->depthwise[block], size, rows, scales);
    }
    /* The next tile still needs the last row of this one. */
    place = start + (uint32_t)count - 1;
    copy_row(engine->row_before, row_of(engine, place), size);
    scale_before = engine->row_scales[place];
    apply(engine, layer, count, GELU);
    CALL(add_back, engine, engine, start, count, size);
    store_rows(engine, start, count, size);
  }
}

/* The larger numbers of a row and of the next one, in `values`. */
INLINE void larger_body(rvl *engine, uint32_t place, uint32_t next_place, int size) {
  const int16_t *restrict row = row_of(engine, place), *restrict next_row = row_of(engine, next_place);
  const float scale = engine->row_scales[place], next_scale = engine->row_scales[next_place];
  float *restrict values = engine->values;
  int n;
  for (n = 0; n < size; n++) {
    const float one = (float)row[n] * scale, other = (float)next_row[n] * next_scale;
    values[n] = one > other ? one : other;
  }
}
COPIES(void, , larger, (rvl *engine, uint32_t place, uint32_t next_place, int size), (engine, place, next_place, size))

/* The larger numbers of each pair of neighbours; an odd last one stays. Returns how many rows are left. */
static uint32_t halve(rvl *engine, uint32_t words, int size) {
  uint32_t place;
  for (place = 0; place < words; place += 2) {
    CALL(larger, engine, engine, place, place + 1 < words ? place + 1 : place, size);
    store_rows(engine, place / 2, 1, size);
  }
  return (words + 1) / 2;
}

/* Add rows to `pooled`, in which there are those of `before` words. */
INLINE void pool_body(rvl *engine, uint32_t before, uint32_t words) {
  const int size = engine->word_size, has_most = engine->settings[HEAD] != LINEAR;
  float *restrict sum = engine->pooled, *restrict most = sum + size;
  uint32_t place;
  int n;
  for (n = 0; !before && n < size * (1 + has_most); n++) sum[n] = 0.0f;
  for (place = 0; place < words; place++) {
    const int16_t *restrict row = row_of(engine, place);
    const float scale = engine->row_scales[place];
    for (n = 0; n < size; n++) sum[n] += (float)row[n] * scale;
    if (!before && !place && has_most)
      for (n = 0; n < size; n++) most[n] = (float)row[n] * scale;
    else if (has_most)
      for (n = 0; n < size; n++) most[n] = (float)row[n] * scale > most[n] ? (float)row[n] * scale : most[n];
  }
}
COPIES(void, , pool, (rvl *engine, uint32_t before, uint32_t words), (engine, before, words))

/* What the last layer of the head reads of a text's words, in `values`. */
static void text_features(rvl *engine, uint32_t words) {
  const int size = engine->word_size;
  uint32_t start = 0, pooled = 0, count, block;
  int n;
  do {
    count = words - start < engine->at_once ? words - start : engine->at_once;
    read_rows(engine, engine->words + start, count);
    start += count;
    for (block = 0; block < engine->settings[BLOCKS]; block++) {
      if (block) count = halve(engine, count, size);
      read_block(engine, block, count);
    }
    CALL(pool, engine, engine, pooled, count);
    pooled += count;
  } while (start < words);
  for (n = 0; engine->pooled != engine->values && n < size * (engine->settings[HEAD] == LINEAR ? 1 : 2); n++) engine->values[n] = engine->pooled[n];
  for (n = 0; n < size && pooled; n++) engine->values[n] /= (float)pooled;
  if (engine->vector.outputs) apply(engine, &engine->vector, 1, NOTHING);
  for (n = 0; n < engine->vector.outputs && !words; n++) engine->values[n] = 0.0f;
}

/* Add what a last layer says of `values` to `answers`. */
static void add_logits(rvl *engine, const dense_layer *layer) {
  int n;
  apply(engine, layer, 1, NOTHING);
  for (n = 0; n < layer->outputs; n++) engine->answers[n] += engine->values[n];
}
