/* Opening a file: all that it says is checked here, so that nothing can fail later, and the block is given out. docs/engine.md has the format. */

static const char *const MESSAGES[] = {
    "All is well.",
    "The file is not a .retvec file.",
    "The file is of a version that this engine does not know: use a newer engine, or export the file again.",
    "The file is not as long as it says: copy or download it again.",
    "The file was changed after its export: copy or download it again.",
    "The file is damaged: a section is missing or does not fit the others. Export it again.",
    "The block is too small: ask rvl_block_size.",
    "The file and the block must start at a multiple of 8 bytes.",
    "This classifier cannot be taught: it has no vectors of texts, or gives a text several labels.",
    "There is no memory yet: open one with rvl_memory_open.",
    "Nothing is left to read of this text: teach another one.",
    "This is no label: one has 1 to 255 bytes of UTF-8 without control characters.",
    "The memory is full: forget a text, or open one with a larger block.",
    "This text was not taught.",
    "The file is not a memory.",
    "The memory is of a version that this engine does not know: use a newer engine.",
    "The memory is damaged: copy it again, or teach its texts again.",
};

const char *rvl_message(int problem) { return problem >= 0 && problem < (int)COUNT_OF(MESSAGES) ? MESSAGES[problem] : "An unknown problem."; }

static const char *const CODES[] = {
    "RVL_OK", "RVL_NOT_RETVEC", "RVL_VERSION", "RVL_TRUNCATED", "RVL_CHANGED", "RVL_DAMAGED", "RVL_BLOCK_SIZE", "RVL_ALIGNMENT",
    "RVL_UNTEACHABLE", "RVL_NO_MEMORY", "RVL_NO_TEXT", "RVL_LABEL", "RVL_FULL", "RVL_NOT_TAUGHT", "RVL_NOT_A_MEMORY", "RVL_MEMORY_VERSION",
    "RVL_MEMORY_DAMAGED",
};

const char *rvl_code(int problem) { return problem >= 0 && problem < (int)COUNT_OF(CODES) ? CODES[problem] : "RVL_UNKNOWN"; }

const char *rvl_library_version(void) { return RVL_LIBRARY_VERSION; }

/* Sections of the file. A section of another number below OPTIONAL is from a newer version, and needs it. */
enum {
  SECTION_SETTINGS = 1, SECTION_LABELS, SECTION_NUMBERS, SECTION_CHARACTERS_KNOWN, SECTION_THRESHOLDS, SECTION_SHARES,
  SECTION_EMBEDDING = 16, /* to 18 */
  SECTION_WORD = 20, SECTION_REGION, SECTION_LOGITS, SECTION_VECTOR,
  SECTION_TABLE = 32, SECTION_CODES, SECTION_NGRAM_SCALES, SECTION_NGRAM_BIAS, SECTION_PROJECTION,
  SECTION_DISPLACEMENTS = 40, SECTION_ROWS, SECTION_WORD_CODES, SECTION_BOOKS, SECTION_MEANING,
  SECTION_BLOCK = 64, /* two for each block: its neighbours, and its dense layer */
  SECTION_END = 96, OPTIONAL = 0x8000, SECTION_METADATA = OPTIONAL
};

/* Settings that are the same in all files, and what they are. */
static const uint8_t FIXED[][2] = {{CONTRACT, 3},    {TRUNCATES, 0}, {DROPS, 1},               {HAN_LENGTH, 1}, {HAN_STEP, 1},
                                   {KANA_LENGTH, 2}, {KANA_STEP, 1}, {SEA_LENGTH, SEA_PIECE}, {SEA_STEP, 3},   {CHARACTER_WINDOW, 0}};

enum { FORMAT = 1, HEADER = 64, CHECKSUM = 24, ENTRY = 16, ALIGN = 64, MOST_SECTIONS = 64, MOST_INPUTS = 65536 };

/* A file that is being read. Space is counted first, with a null block, and then given out. */
typedef struct {
  const uint8_t *bytes;
  uint32_t sections;
  uint8_t *block;
  size_t used;
  int width; /* of the space for one text: what the largest layer so far needs */
  int problem;
} loader;

/* Note that a file is damaged, if it is; returns whether it has a problem. */
static int damaged(loader *file, int is_damaged) {
  if (is_damaged && !file->problem) file->problem = RVL_DAMAGED;
  return file->problem;
}

static void widen(loader *file, uint32_t count) {
  const int width = (int)rounded_up(count, LANES);
  if (width > file->width) file->width = width;
}

/* Space in the block. 64 bits, because products of what a file says may be too large for 32. */
APART void *take(loader *file, uint64_t count, size_t size) {
  void *space = file->block ? file->block + file->used : 0;
  size_t used;
  if (damaged(file, count > ((size_t)1 << 30) / size || file->used > (size_t)1 << 30)) return 0;
  used = file->used + (size_t)count * size;
  file->used = (used + ALIGN - 1) / ALIGN * ALIGN;
#ifdef RVL_GUARD /* Tests let a sanitizer guard what lies between the parts of a block. */
  file->used += ALIGN;
  if (space) RVL_GUARD(file->block + used, file->used - used);
#endif
  return space;
}

/* --- Sections --- */

/* The sum over all 32-bit words, each times an odd number that grows: a change of one word always shows. */
static uint64_t checksum(const uint8_t *bytes, uint32_t size) {
  uint64_t sum = 0;
  uint32_t word;
  for (word = 0; word < size / 4; word++) sum += (uint64_t)read32(bytes + 4 * (size_t)word) * (2 * word + 1);
  for (word = CHECKSUM / 4; word < CHECKSUM / 4 + 2; word++) sum -= (uint64_t)read32(bytes + 4 * (size_t)word) * (2 * word + 1);
  return sum;
}

static int is_known(uint32_t kind) {
  return in_range(kind, SECTION_SETTINGS, SECTION_SHARES) || in_range(kind, SECTION_EMBEDDING, SECTION_EMBEDDING + 2) ||
         in_range(kind, SECTION_WORD, SECTION_VECTOR) || in_range(kind, SECTION_TABLE, SECTION_PROJECTION) ||
         in_range(kind, SECTION_DISPLACEMENTS, SECTION_MEANING) || in_range(kind, SECTION_BLOCK, SECTION_END - 1);
}

APART int check_frame(loader *file, const uint8_t *bytes, size_t size, int sums_up) {
  static const char magic[8] = {'R', 'E', 'T', 'V', 'E', 'C', '\r', '\n'};
  uint32_t number, other, end;
  for (number = 0; number < 8; number++)
    if (size < 8 || bytes[number] != (uint8_t)magic[number]) return RVL_NOT_RETVEC;
  if (size < HEADER) return RVL_TRUNCATED;
  if (read32(bytes + 8) != FORMAT || read32(bytes + 12) != 0x01020304u) return RVL_VERSION;
  if (read32(bytes + 16) != size || size % ALIGN) return RVL_TRUNCATED;
  if ((uintptr_t)bytes % 8) return RVL_ALIGNMENT;
  if (sums_up && checksum(bytes, (uint32_t)size) != ((uint64_t)read32(bytes + CHECKSUM + 4) << 32 | read32(bytes + CHECKSUM))) return RVL_CHANGED;
  file->bytes = bytes;
  file->sections = read32(bytes + 20);
  end = HEADER + ENTRY * file->sections;
  if (file->sections > MOST_SECTIONS || end > size) return RVL_DAMAGED;
  for (number = 0; number < file->sections; number++) {
    const uint8_t *entry = bytes + HEADER + ENTRY * number;
    const uint32_t kind = read32(entry), start = read32(entry + 4), length = read32(entry + 8);
    if (kind < OPTIONAL && !is_known(kind)) return RVL_VERSION;
    /* Two readers might take two of them. */
    for (other = 0; other < number; other++)
      if (read32(bytes + HEADER + ENTRY * other) == kind) return RVL_DAMAGED;
    if (start % ALIGN || start < end || start > size || length > size - start) return RVL_DAMAGED;
    end = start + length;
  }
  return RVL_OK;
}

/* The bytes of a section; null, with a size of 0, where there is none. */
APART const uint8_t *section(const loader *file, uint32_t kind, uint32_t *size) {
  uint32_t number;
  for (number = 0; number < file->sections; number++) {
    const uint8_t *entry = file->bytes + HEADER + ENTRY * number;
    *size = read32(entry + 8);
    if (read32(entry) == kind) return file->bytes + read32(entry + 4);
  }
  *size = 0;
  return 0;
}

/* A section that must have a certain size. */
APART const uint8_t *exactly(loader *file, uint32_t kind, uint64_t size) {
  uint32_t found;
  const uint8_t *bytes = section(file, kind, &found);
  return damaged(file, !bytes || found != size) ? 0 : bytes;
}

static int is_little_endian(void) {
  static const uint32_t one = 1;
  return *(const uint8_t *)&one == 1;
}

/* Numbers of the file, in the machine's byte order; all are finite and of moderate size. */
APART const float *floats(loader *file, const uint8_t *bytes, size_t count) {
  float *copy = is_little_endian() ? 0 : take(file, count, sizeof(float));
  size_t n;
  for (n = 0; n < count; n++) {
    float_bits value;
    value.bits = (int32_t)read32(bytes + 4 * n);
    damaged(file, !(value.number > -1e15f && value.number < 1e15f));
    if (copy) copy[n] = value.number;
  }
  return copy ? copy : (const float *)(const void *)bytes;
}

APART const float *float_section(loader *file, uint32_t kind, uint32_t count) {
  const uint8_t *bytes = exactly(file, kind, 4 * (uint64_t)count);
  return bytes ? floats(file, bytes, count) : 0;
}

APART const double *double_section(loader *file, uint32_t kind, uint32_t count) {
  const uint8_t *bytes = exactly(file, kind, 8 * (uint64_t)count);
  double *copy = is_little_endian() ? 0 : take(file, count, sizeof(double));
  uint32_t n;
  for (n = 0; bytes && n < count; n++) {
    double_bits value;
    value.bits = (uint64_t)read32(bytes + 8 * n + 4) << 32 | read32(bytes + 8 * n);
    damaged(file, !(value.number >= 0.0 && value.number < 1e15));
    damaged(file, kind == SECTION_SHARES && !(value.number > 0.0 && value.number <= 1.0));
    if (copy) copy[n] = value.number;
  }
  return copy ? copy : (const double *)(const void *)bytes;
}

/* A dense layer: inputs, outputs, bits; scales and bias of the outputs; the integers. With 0 outputs, the file decides how many. Returns
 * how many there are. Every layer comes by here: the space for one text grows with it. */
APART uint32_t read_layer(loader *file, uint32_t kind, uint32_t inputs, uint32_t outputs, int adds_rows, dense_layer *layer) {
  uint32_t size, numbers, rows;
  const uint8_t *bytes = section(file, kind, &size);
  if (damaged(file, !bytes || size < ALIGN)) return 0;
  if (!outputs) outputs = read32(bytes + 4);
  layer->bits = (int)read32(bytes + 8);
  if (damaged(file, read32(bytes) != inputs || read32(bytes + 4) != outputs || !in_range(inputs, 1, MOST_INPUTS) ||
                        !in_range(outputs, 1, MOST_LABELS) || (layer->bits != 8 && layer->bits != 4)))
    return 0;
  layer->inputs = (int)inputs;
  layer->outputs = (int)outputs;
  layer->stride = (int)(adds_rows ? rounded_up(outputs, LANES) : rounded_up(inputs, 2));
  layer->limit = (int)(0x7FFFFFFF / (128 * inputs));
  if (layer->limit > LARGEST) layer->limit = LARGEST;
  rows = adds_rows ? inputs : rounded_up(outputs, PACK);
  numbers = rounded_up(4 * outputs, ALIGN);
  if (damaged(file, size != ALIGN + 2 * (uint64_t)numbers + (uint64_t)rows * (uint64_t)layer->stride * (uint64_t)layer->bits / 8)) return 0;
  layer->scales = floats(file, bytes + ALIGN, outputs);
  layer->bias = floats(file, bytes + ALIGN + numbers, outputs);
  layer->weights = bytes + ALIGN + 2 * (size_t)numbers;
  if (!adds_rows) widen(file, inputs);
  widen(file, outputs);
  return outputs;
}

/* --- What sections hold --- */

static int check_settings(const uint32_t *set) {
  size_t n;
  for (n = 0; n < COUNT_OF(FIXED); n++)
    if (set[FIXED[n][0]] != FIXED[n][1]) return RVL_VERSION;
  if (set[REGION] > (set[HEAD] == CNN)) return RVL_VERSION;
  if (!in_range(set[MAX_CHARS], 1, 65536) || !in_range(set[MAX_WORDS], 1, 4096) || !in_range(set[WORD_LENGTH], SEA_PIECE, 64) ||
      set[LETTERS_ONLY] > 1 || !in_range(set[LABELS], 2, MOST_LABELS) || set[HEAD] >= HEADS || set[BLOCKS] > MOST_BLOCKS ||
      set[HAS_EMBEDDING] > 1 || set[BUCKETS] > PRIME || set[CODEBOOKS] > 8 || set[RANK] > 256 || set[PLAIN_LETTERS] > 1 ||
      set[MULTI_LABEL] > 1 || set[UNKNOWN_LABEL] > set[LABELS] || set[HAS_THRESHOLD] > 1 || (set[HEAD] == NGRAMS && !set[BUCKETS]) ||
      (set[HEAD] == CNN) != (set[BLOCKS] > 0))
    return RVL_DAMAGED;
  if (set[BUCKETS] && (!in_range(set[LONGEST], 1, LONGEST_NGRAM) || !in_range(set[SHORTEST], 1, set[LONGEST]) ||
                       (set[CODEBOOKS] && set[BUCKETS] != 256 * set[CODEBOOKS])))
    return RVL_DAMAGED;
  return RVL_OK;
}

/* Whether bytes are a label: UTF-8 without control characters, a zero behind it. */
static int is_label(const uint8_t *bytes, uint32_t size) {
  size_t place, used;
  for (place = 0; place + 1 < size; place += used) {
    const uint32_t code = decode(bytes + place, size - place, &used);
    if (code < 0x20 || in_range(code, 0x7F, 0x9F) || code == INVALID) return 0;
  }
  return size > 1 && !bytes[size - 1];
}

/* Labels: where each ends, then their bytes with a zero behind each; the last one ends with the section. */
static void read_labels(loader *file, rvl *engine) {
  const uint32_t count = engine->settings[LABELS];
  uint32_t size, label, start = 0;
  const uint8_t *bytes = section(file, SECTION_LABELS, &size);
  uint32_t *places = take(file, count, sizeof(uint32_t));
  if (damaged(file, !bytes || size < 4 * count)) return;
  size -= 4 * count;
  for (label = 0; label < count; label++) {
    const uint32_t end = read32(bytes + 4 * label);
    if (damaged(file, end <= start || end > size || !is_label(bytes + 4 * count + start, end - start))) return;
    if (places) places[label] = start;
    start = end;
  }
  damaged(file, start != size);
  engine->label_places = places;
  engine->labels = (const char *)bytes + 4 * count;
}

static void read_decision(loader *file, rvl *engine) {
  const double *numbers = double_section(file, SECTION_NUMBERS, 2);
  uint32_t size, range;
  if (file->problem) return;
  engine->threshold = numbers[0];
  engine->unknown_power = numbers[1];
  engine->known = section(file, SECTION_CHARACTERS_KNOWN, &size);
  engine->known_ranges = size / 8;
  for (range = 0; !damaged(file, size % 8 != 0) && range < size / 8; range++)
    damaged(file, read32(engine->known + 8 * range) > read32(engine->known + 8 * range + 4));
  if (engine->settings[MULTI_LABEL]) engine->thresholds = double_section(file, SECTION_THRESHOLDS, engine->settings[LABELS]);
  if (section(file, SECTION_SHARES, &size)) engine->shares = double_section(file, SECTION_SHARES, engine->settings[LABELS]);
}

static void read_ngrams(loader *file, rvl *engine) {
  const uint32_t *set = engine->settings, columns = set[RANK] ? set[RANK] : set[LABELS];
  const uint64_t size = (uint64_t)set[BUCKETS] * (columns + 1);
  engine->columns = (int)columns;
  engine->ngram_table_size = (size_t)size;
  engine->ngram_table = (const int8_t *)exactly(file, SECTION_TABLE, size);
  if (set[CODEBOOKS]) engine->ngram_codes = exactly(file, SECTION_CODES, (uint64_t)PRIME * set[CODEBOOKS]);
  engine->ngram_scales = float_section(file, SECTION_NGRAM_SCALES, columns);
  if (set[RANK])
    read_layer(file, SECTION_PROJECTION, columns, set[LABELS], 0, &engine->projection);
  else
    engine->ngram_bias = float_section(file, SECTION_NGRAM_BIAS, columns);
}

/* The table of meaning, where there is one. Sections tell its sizes; no row names a word that is not there. */
static void read_meaning(loader *file, rvl *engine) {
  uint32_t bytes, words, row, kind, parts = 0;
  for (kind = SECTION_DISPLACEMENTS; kind <= SECTION_MEANING; kind++) parts += section(file, kind, &bytes) != 0;
  if (!parts) return;
  engine->displacement = section(file, SECTION_DISPLACEMENTS, &engine->displacements);
  engine->hash_row = section(file, SECTION_ROWS, &bytes);
  engine->hash_rows = bytes / 3;
  damaged(file, bytes % 3 != 0);
  engine->word_codes = section(file, SECTION_WORD_CODES, &bytes);
  words = bytes / SUBSPACES;
  damaged(file, bytes % SUBSPACES || !in_range(words, 1, NO_WORD) || !in_range(engine->hash_rows, 1, MOST_ROWS) ||
                    !in_range(engine->displacements, 1, MOST_ROWS));
  engine->codebooks = (const int8_t *)exactly(file, SECTION_BOOKS, SUBSPACES * 256 * PART);
  for (row = 0; !file->problem && row < engine->hash_rows; row++) {
    const uint32_t number = (engine->hash_row[3 * row] | (uint32_t)engine->hash_row[3 * row + 1] << 8) & NO_WORD;
    damaged(file, number >= words && number != NO_WORD);
  }
  if (!file->problem) read_layer(file, SECTION_MEANING, DIMENSION, engine->settings[LABELS], 0, &engine->meaning);
}

/* The layers that read words, and then their text. Each must fit the one before it. */
static void read_network(loader *file, rvl *engine) {
  const uint32_t *set = engine->settings;
  uint32_t inputs = set[WORD_LENGTH] * BITS, size, n;
  if (!set[HAS_EMBEDDING]) widen(file, inputs);
  for (n = 0; set[HAS_EMBEDDING] && n < 3; n++) inputs = read_layer(file, SECTION_EMBEDDING + n, inputs, 0, n == 0, &engine->embedding[n]);
  if (set[HEAD] != LINEAR) inputs = read_layer(file, SECTION_WORD, inputs, 0, 0, &engine->word);
  if (set[REGION]) inputs = read_layer(file, SECTION_REGION, inputs, 0, 0, &engine->region);
  engine->word_size = (int)inputs;
  for (n = 0; n < set[BLOCKS]; n++) {
    engine->depthwise[n] = float_section(file, SECTION_BLOCK + 2 * n, 3 * inputs);
    read_layer(file, SECTION_BLOCK + 2 * n + 1, inputs, inputs, 0, &engine->pointwise[n]);
  }
  engine->width = file->width;
  if (set[HEAD] != LINEAR) inputs *= 2; /* mean and max */
  if (section(file, SECTION_VECTOR, &size)) inputs = read_layer(file, SECTION_VECTOR, inputs, 0, 0, &engine->vector);
  read_layer(file, SECTION_LOGITS, inputs, set[LABELS], 0, &engine->logits);
}

/* --- The block --- */

/* Space for one text, and for the words that are kept. */
static void take_space(loader *file, rvl *engine, uint32_t words) {
  const uint32_t *set = engine->settings;
  uint64_t width, row, entries, sums;
  const uint32_t sets = (words < 65536 ? words : 65536) / WAYS;
  widen(file, set[LABELS]);
  if (set[BUCKETS]) widen(file, (uint32_t)engine->columns + 1);
  engine->row_size = (int)rounded_up((uint32_t)engine->word_size, LANES);
  width = (uint64_t)(file->width > TILE * engine->width ? file->width : TILE * engine->width);
  row = (uint64_t)engine->row_size;
  /* Others use the sums when they are free: a line of the text, with the values behind them, and two for each label. */
  sums = width > 2 * (uint64_t)set[LABELS] ? width : 2 * (uint64_t)set[LABELS];
  if (sums + width < sizeof(line) / sizeof(int32_t)) sums = sizeof(line) / sizeof(int32_t) - width;
  engine->text.chars = take(file, set[MAX_CHARS] + 1, sizeof(uint32_t));
  engine->text.flags = take(file, set[MAX_CHARS] + 1, sizeof(uint16_t));
  engine->condensed = take(file, rvl_read_limit(engine), sizeof(uint32_t));
  engine->sums = take(file, sums + width, sizeof(int32_t));
  engine->values = engine->sums ? (float *)(void *)(engine->sums + sums) : 0;
  engine->answers = take(file, set[LABELS], sizeof(float));
  engine->totals = take(file, set[LABELS], sizeof(double));
  engine->vector_totals = take(file, rvl_dimension(engine), sizeof(double));
  engine->spelled = take(file, EMBEDS && !engine->vector.outputs ? rvl_word_dimension(engine) : 0, sizeof(float));
  engine->inputs = take(file, width, sizeof(int16_t));
  if (set[HEAD] == NGRAMS) return;
  engine->words = take(file, set[MAX_WORDS], sizeof(piece));
  engine->at_once = set[BLOCKS] || set[MAX_WORDS] < AT_ONCE ? set[MAX_WORDS] : AT_ONCE;
  /* Where as many words are read as have a row, and nothing else is done before they are pooled, each row is where it was computed. */
  engine->rows = engine->at_once > TILE || sets || set[BLOCKS] ? take(file, engine->at_once * row, sizeof(int16_t)) : engine->inputs;
  engine->row_scales = take(file, engine->at_once, sizeof(float));
  if (set[BLOCKS]) engine->row_before = take(file, row, sizeof(int16_t));
  engine->pooled = engine->at_once < set[MAX_WORDS] ? take(file, 2 * (uint64_t)engine->word_size, sizeof(float)) : engine->values;
  engine->cache_sets = sets;
  entries = (uint64_t)engine->cache_sets * WAYS;
  engine->cache_keys = take(file, entries * KEY, sizeof(uint16_t));
  engine->cache_ages = take(file, entries, sizeof(uint32_t));
  engine->cache_scales = take(file, entries, sizeof(float));
  engine->cache_rows = take(file, entries * row, sizeof(int16_t));
}

/* Check a file, measure a block, and lay out the engine in it, if there is one; only opening adds up the file's checksum, once. */
APART int prepare(const void *bytes, size_t size, uint32_t words, void *block, size_t *needed, rvl *engine, int sums_up) {
  static const rvl empty = {0};
  loader file = {0};
  const uint8_t *numbers;
  int n;
  *engine = empty;
  file.block = block;
  file.problem = check_frame(&file, bytes, size, sums_up);
  if (file.problem) return file.problem;
  take(&file, 1, sizeof(rvl));
  numbers = exactly(&file, SECTION_SETTINGS, 4 * SETTINGS);
  for (n = 0; numbers && n < SETTINGS; n++) engine->settings[n] = read32(numbers + 4 * n);
  if (!file.problem) file.problem = check_settings(engine->settings);
  if (!file.problem) read_labels(&file, engine);
  if (!file.problem) read_decision(&file, engine);
  /* First, because the width of its words is that of the layers so far. */
  if (!file.problem && engine->settings[HEAD] != NGRAMS) read_network(&file, engine);
  if (!file.problem && engine->settings[BUCKETS]) read_ngrams(&file, engine);
  if (!file.problem) read_meaning(&file, engine);
  if (!file.problem) take_space(&file, engine, words);
  engine->metadata = (const char *)section(&file, SECTION_METADATA, &engine->metadata_size);
  engine->text.letters_only = engine->settings[LETTERS_ONLY];
  engine->processor = find_processor();
  *needed = file.used;
  return file.problem;
}

int rvl_block_size(const void *file, size_t size, uint32_t words, size_t *bytes) {
  rvl measured;
  *bytes = 0;
  return prepare(file, size, words, 0, bytes, &measured, 0);
}

/* The order of two labels, by their bytes; 0 where they are the same. */
APART int label_order(const rvl *engine, uint32_t one, uint32_t other) {
  const uint8_t *a = (const uint8_t *)engine->labels + engine->label_places[one], *b = (const uint8_t *)engine->labels + engine->label_places[other];
  while (*a && *a == *b) a++, b++;
  return (int)*a - (int)*b;
}

/* Whether two labels are the same. Heapsort, which no file makes slow, of their numbers; any sort compares all neighbours. */
APART int repeats_label(rvl *engine) {
  uint32_t *heap = (uint32_t *)engine->sums;
  uint32_t size = engine->settings[LABELS], root = size / 2, place, child, moved;
  int order;
  for (place = 0; place < size; place++) heap[place] = place;
  while (root || size > 1) {
    /* Make heaps of ever larger parts, from the end; then take out the largest, again and again. */
    moved = heap[root ? --root : --size];
    for (place = root; (child = 2 * place + 1) < size; place = child) {
      if (child + 1 < size) {
        order = label_order(engine, heap[child], heap[child + 1]);
        if (!order) return 1;
        child += order < 0;
      }
      order = label_order(engine, moved, heap[child]);
      if (!order) return 1;
      if (order > 0) break;
      heap[place] = heap[child];
    }
    heap[place] = moved;
  }
  return 0;
}

int rvl_open(const void *file, size_t size, uint32_t words, void *block, size_t bytes, rvl **engine) {
  rvl measured, *opened = block;
  size_t needed, n;
  int problem = prepare(file, size, words, 0, &needed, &measured, 1);
  *engine = 0;
  if (problem) return problem;
  if ((uintptr_t)block % 8) return RVL_ALIGNMENT;
  if (!block || bytes < needed) return RVL_BLOCK_SIZE;
  problem = prepare(file, size, words, block, &needed, opened, 0);
  if (!problem && repeats_label(opened)) problem = RVL_DAMAGED;
  if (problem) return problem;
  for (n = 0; n < (size_t)opened->cache_sets * WAYS * KEY; n++) opened->cache_keys[n] = 0;
  for (n = 0; n < (size_t)opened->cache_sets * WAYS; n++) opened->cache_ages[n] = 0;
  *engine = opened;
  return RVL_OK;
}
