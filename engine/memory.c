/* A memory beside a file: texts that were taught with their label, which answer for texts like them. docs/engine.md has rule and format.
 *
 * It lies in a block of its own and keeps the texts, so that it survives every other file: their vectors are computed again. */

enum {
  MOST_BYTES = 256,   /* of a taught text, and of its label with the zero behind it */
  TEXT_BYTES = 40,    /* of a text and its share of labels, on average */
  MOST_TAUGHT = 10000, MOST_NAMES = 256, SPARE_ROWS = 16, TELLING = 3,
  MEMORY_VERSION = 1, MEMORY_HEADER = 32
};

#define IS_NAME 0x80000000u

/* The rule's numbers, chosen on held-out training texts of Banking77, CLINC150 and MASSIVE; benchmarks.experiments.teaching measures them. */
static const double OWN = 0.5, NEARNESS = 4.0, UNNAMED = 0.35, CLOSER = 0.8, DOUBT = 0.025, AROUND = 0.2, CLOSE = 0.415, STEEP = 15.0, SAME = 0.995,
                    LEAST = 1e-6;

/* Each label that was taught has a row for its name, and each text one behind that of its label. */
struct taught_texts {
  uint32_t most, rows, names, texts; /* names: of the file's labels, those that say something */
  size_t room, used;                 /* bytes of strings */
  int8_t *name_vectors, *vectors;    /* [names][dimension], [most][dimension] */
  float *name_inverses, *inverses;   /* 1 / their length, or 0 */
  float *reaches;                    /* 1 / the length, of a text, of OWN of its vector and its label's mean; of a name, of the label's sum */
  float *dots;                       /* with the text to answer; of a name, with its label's mean */
  uint8_t *agrees;                   /* of a text, whether the file gives it the taught label by itself: there the file speaks */
  uint32_t *links;                   /* of a text, the row of its label; of a name, IS_NAME and the number of the label */
  float *vector, *sum;
  int16_t *rounded;                  /* the vector that rows are compared with, as integers; one is `unit` */
  float unit;
  uint32_t *places;                  /* of the rows' strings */
  char *strings;                     /* of the rows, in their order, a zero behind each */
};

static const char *next_string(const char *string) {
  while (*string) string++;
  return string + 1;
}

static size_t length_of(const char *string) { return (size_t)(next_string(string) - string - 1); }

static int same_string(const char *one, const char *other) {
  while (*one && *one == *other) one++, other++;
  return *one == *other;
}

/* Move bytes, which may overlap, towards the start. */
static void move_down(void *to, const void *from, size_t count) {
  uint8_t *target = to;
  const uint8_t *source = from;
  while (count--) *target++ = *source++;
}

static const char *string_of(const taught_texts *memory, uint32_t row) { return memory->strings + memory->places[row]; }

/* --- Vectors --- */

/* The name of a label as words; 0 for one that says nothing, as a number does. */
static uint32_t read_name(const char *label, uint32_t *codes) {
  const uint8_t *bytes = (const uint8_t *)label;
  const size_t size = length_of(label);
  uint32_t count = 0, letters = 0, most = 0;
  size_t place, used;
  for (place = 0; place < size && count < MOST_BYTES; place += used) {
    const uint32_t code = sanitized(decode(bytes + place, size - place, &used));
    letters = in_gap(code) || is_digit(code) ? 0 : letters + 1;
    most = letters > most ? letters : most;
    codes[count++] = in_gap(code) ? ' ' : code;
  }
  return most < TELLING ? 0 : count;
}

/* Round a vector; returns 1 / the length of what is kept, or 0. */
APART float keep_vector(const float *vector, uint32_t size, int8_t *kept) {
  float most = 0.0f;
  int32_t square = 0;
  uint32_t n;
  for (n = 0; n < size; n++) most = vector[n] > most ? vector[n] : -vector[n] > most ? -vector[n] : most;
  for (n = 0; n < size; n++) {
    const float value = most > 0.0f ? vector[n] * (127.0f / most) : 0.0f;
    kept[n] = (int8_t)(value < 0.0f ? value - 0.5f : value + 0.5f);
    square += kept[n] * kept[n];
  }
  return square ? (float)(1.0 / sqrt_of(square)) : 0.0f;
}

APART float keep_name(rvl *engine, const char *label, int8_t *kept) {
  uint32_t codes[MOST_BYTES], n;
  const uint32_t count = read_name(label, codes), size = rvl_dimension(engine);
  float *vector = engine->memory->sum;
  for (n = 0; n < size; n++) vector[n] = 0.0f;
  if (count) embed(engine, read_all(engine, codes, 0, count), vector);
  return keep_vector(vector, size, kept);
}

/* Take a vector to compare rows with. Sums of products stay below 2^31. */
static void round_vector(taught_texts *memory, const float *vector, uint32_t size) {
  const uint32_t most = 0x7FFFFFFFu / (128 * size);
  memory->unit = to_integers(vector, (int)size, (int)size, most < LARGEST ? (int)most : LARGEST, memory->rounded);
}

FAST_APART double closeness(const rvl *engine, const int8_t *kept, float inverse) {
  const taught_texts *memory = engine->memory;
  return (double)((float)CALL(product, engine, kept, memory->rounded, rvl_dimension(engine)) * (memory->unit * inverse));
}

INLINE void add_scaled(const int8_t *restrict kept, float scale, uint32_t size, float *restrict sum) {
  uint32_t n;
  for (n = 0; n < size; n++) sum[n] += (float)kept[n] * scale;
}

/* Measure again what depends on all texts of a label. */
FAST_APART void measure(const rvl *engine, uint32_t name) {
  taught_texts *memory = engine->memory;
  const uint32_t size = rvl_dimension(engine);
  double square = 0.0;
  uint32_t row, n;
  for (n = 0; n < size; n++) memory->sum[n] = 0.0f;
  for (row = name; row < memory->rows; row++)
    if (row == name || memory->links[row] == name) add_scaled(memory->vectors + (size_t)row * size, memory->inverses[row], size, memory->sum);
  for (n = 0; n < size; n++) square += (double)memory->sum[n] * memory->sum[n];
  memory->reaches[name] = (float)(square > LEAST ? 1.0 / sqrt_of(square) : 1.0);
  round_vector(memory, memory->sum, size);
  for (row = name + 1; row < memory->rows; row++)
    if (memory->links[row] == name) {
      const double shared = closeness(engine, memory->vectors + (size_t)row * size, memory->inverses[row]) * memory->reaches[name];
      const double reach = OWN * OWN + 2.0 * OWN * shared + 1.0;
      memory->reaches[row] = (float)(reach > LEAST ? 1.0 / sqrt_of(reach) : 1.0);
    }
}

/* --- The block --- */

static int is_telling(const rvl *engine, uint32_t label) {
  uint32_t codes[MOST_BYTES];
  return label + 1 != engine->settings[UNKNOWN_LABEL] && read_name(rvl_label(engine, label), codes);
}

/* Measure a block for so many texts, and lay out the memory in it, if there is one. */
APART size_t lay_out(const rvl *engine, uint32_t texts, void *block, taught_texts *memory) {
  const uint64_t size = rvl_dimension(engine), rows = texts + (texts < SPARE_ROWS ? texts : SPARE_ROWS);
  uint32_t label;
  loader file = {0};
  for (memory->names = 0, label = 0; label < engine->settings[LABELS] && memory->names < MOST_NAMES; label++)
    memory->names += (uint32_t)is_telling(engine, label);
  file.block = block;
  take(&file, 1, sizeof *memory);
  memory->name_vectors = take(&file, memory->names * size, 1);
  memory->name_inverses = take(&file, memory->names, sizeof(float));
  memory->vectors = take(&file, rows * size, 1);
  memory->inverses = take(&file, rows, sizeof(float));
  memory->reaches = take(&file, rows, sizeof(float));
  memory->dots = take(&file, rows, sizeof(float));
  memory->links = take(&file, rows, sizeof(uint32_t));
  memory->agrees = take(&file, rows, 1);
  memory->vector = take(&file, size, sizeof(float));
  memory->sum = take(&file, size, sizeof(float));
  memory->rounded = take(&file, size, sizeof(int16_t));
  memory->places = take(&file, rows, sizeof(uint32_t));
  memory->room = texts * (size_t)TEXT_BYTES + 2 * MOST_BYTES;
  memory->strings = take(&file, memory->room, 1);
  memory->most = (uint32_t)rows;
  memory->rows = memory->texts = 0;
  memory->used = 0;
  return file.problem ? 0 : file.used;
}

static int can_learn(const rvl *engine) { return rvl_dimension(engine) && !engine->settings[MULTI_LABEL]; }

size_t rvl_memory_size(const rvl *engine, uint32_t texts) {
  taught_texts measured;
  return can_learn(engine) ? lay_out(engine, texts < MOST_TAUGHT ? texts : MOST_TAUGHT, 0, &measured) : 0;
}

int rvl_memory_open(rvl *engine, void *block, size_t bytes) {
  ONE_THREAD(engine);
  uint32_t texts = 0, step, label, name = 0;
  taught_texts *opened = block;
  if (!can_learn(engine)) return RVL_UNTEACHABLE;
  if ((uintptr_t)block % 8) return RVL_ALIGNMENT;
  for (step = 8192; step; step /= 2) {
    const size_t needed = texts + step <= MOST_TAUGHT ? rvl_memory_size(engine, texts + step) : 0;
    if (needed && needed <= bytes) texts += step;
  }
  if (!block || !texts) return RVL_BLOCK_SIZE;
  engine->memory = opened;
  engine->speaker = -1;
  lay_out(engine, texts, block, opened);
  for (label = 0; name < opened->names; label++)
    if (is_telling(engine, label)) {
      opened->name_inverses[name] = keep_name(engine, rvl_label(engine, label), opened->name_vectors + (size_t)name * rvl_dimension(engine));
      name++;
    }
  return RVL_OK;
}

/* --- Rows --- */

/* The first row with a string, of a text or of a name; `rows` where there is none. */
APART uint32_t find_row(const taught_texts *memory, const char *string, int is_name) {
  uint32_t row;
  for (row = 0; row < memory->rows; row++)
    if ((memory->links[row] >= IS_NAME) == is_name && same_string(string, string_of(memory, row))) break;
  return row;
}

static void append_row(taught_texts *memory, const char *string, uint32_t link) {
  const size_t size = length_of(string) + 1;
  move_down(memory->strings + memory->used, string, size);
  memory->places[memory->rows] = (uint32_t)memory->used;
  memory->used += size;
  memory->links[memory->rows++] = link;
}

APART void remove_row(const rvl *engine, uint32_t row) {
  taught_texts *memory = engine->memory;
  const size_t size = rvl_dimension(engine), behind = memory->rows - row - 1;
  char *string = (char *)string_of(memory, row);
  const char *rest = next_string(string);
  const uint32_t link = memory->links[row], is_new = link >= IS_NAME && (link & ~IS_NAME) >= engine->settings[LABELS];
  const uint32_t length = (uint32_t)(rest - string);
  uint32_t other;
  memory->used -= length;
  move_down(string, rest, memory->used - (size_t)(string - memory->strings));
  move_down(memory->vectors + row * size, memory->vectors + (row + 1) * size, behind * size);
  move_down(memory->inverses + row, memory->inverses + row + 1, behind * sizeof(float));
  move_down(memory->reaches + row, memory->reaches + row + 1, behind * sizeof(float));
  move_down(memory->agrees + row, memory->agrees + row + 1, behind);
  move_down(memory->links + row, memory->links + row + 1, behind * sizeof(uint32_t));
  memory->rows--;
  for (other = row; other < memory->rows; other++) memory->places[other] = memory->places[other + 1] - length;
  for (other = 0; other < memory->rows; other++) /* rows behind it moved, and labels behind a new one have another number */
    if (memory->links[other] < IS_NAME ? memory->links[other] > row : is_new && memory->links[other] > link) memory->links[other]--;
}

/* Forget the text in a row, and its label where it was the only one. */
APART void forget_row(const rvl *engine, uint32_t row) {
  taught_texts *memory = engine->memory;
  const uint32_t name = memory->links[row];
  uint32_t other;
  remove_row(engine, row);
  memory->texts--;
  for (other = name + 1; other < memory->rows && memory->links[other] != name; other++) continue;
  if (other == memory->rows)
    remove_row(engine, name);
  else
    measure(engine, name);
}

/* The number of a label that has no row: that of the file's label, or the next one. */
static uint32_t number_of(const rvl *engine, const char *label) {
  uint32_t number, row;
  for (number = 0; number < engine->settings[LABELS] && !same_string(rvl_label(engine, number), label);) number++;
  for (row = 0; number >= engine->settings[LABELS] && row < engine->memory->rows; row++)
    number += engine->memory->links[row] >= (IS_NAME | engine->settings[LABELS]);
  return number;
}

/* Whether bytes can be a taught label. */
static int is_teachable(const char *label) {
  const uint8_t *bytes = (const uint8_t *)label;
  size_t size = 0;
  while (size < MOST_BYTES && bytes[size]) size++;
  return size < MOST_BYTES && is_label(bytes, (uint32_t)size + 1);
}

/* Read a text once: its vector, to the memory's, and what the file answers by itself: a label's number, or IS_NAME. */
APART uint32_t read_taught(rvl *engine, const char *text) {
  const reader source = read_text(0, text, length_of(text), rvl_read_limit(engine)); /* it was condensed before */
  uint32_t best;
  read_windows(engine, source, engine->values, engine->memory->vector);
  best = best_of(engine, engine->values);
  return reads(engine, source) && !is_unknown(engine, engine->values[best], engine->values) ? best : IS_NAME;
}

/* Add a text as it is kept, in place of what it was taught before. A text of which the file reads nothing is
 * kept only `anyway`, from a file of a memory: then the caller measures. */
APART int add_text(rvl *engine, const char *text, const char *label, int anyway) {
  taught_texts *memory = engine->memory;
  const uint32_t size = rvl_dimension(engine), old = find_row(memory, text, 0);
  const int is_old = old < memory->rows;
  uint32_t name = find_row(memory, label, 1);
  const int is_named = name < memory->rows;
  const size_t length = length_of(text) + 1;
  uint32_t answered;
  if (is_old && is_named && memory->links[old] == name) return RVL_OK;
  if (memory->rows - (uint32_t)is_old + !is_named >= memory->most ||
      memory->used + (is_old ? 0 : length) + (is_named ? 0 : length_of(label) + 1) > memory->room)
    return RVL_FULL;
  answered = read_taught(engine, text);
  if (!anyway && keep_vector(memory->vector, size, (int8_t *)memory->sum) <= 0.0f) return RVL_NO_TEXT;
  if (is_old) forget_row(engine, old);
  name = find_row(memory, label, 1);
  if (name == memory->rows) {
    append_row(memory, label, IS_NAME | number_of(engine, label));
    memory->inverses[name] = keep_name(engine, label, memory->vectors + (size_t)name * size);
  }
  memory->inverses[memory->rows] = keep_vector(memory->vector, size, memory->vectors + (size_t)memory->rows * size);
  memory->agrees[memory->rows] = answered == (memory->links[name] & ~IS_NAME);
  append_row(memory, text, name);
  memory->texts++;
  if (!anyway) measure(engine, name);
  return RVL_OK;
}

/* Write what is kept of a text; returns whether that is anything. */
APART int cut_text_to_keep(rvl *engine, reader source, char *text) {
  size_t left = rvl_read_limit(engine), count = 0;
  uint32_t code, bytes, n;
  for (; left && next(&source, &code); left--) {
    bytes = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    if (!code) continue;
    if (count + bytes > MOST_BYTES) break;
    for (n = bytes; n-- > 1; code >>= 6) text[count + n] = (char)(0x80 | (code & 0x3F));
    text[count] = (char)(bytes == 1 ? code : (0xF00u >> bytes & 0xF0u) | code);
    count += bytes;
  }
  text[count] = 0;
  return count > 0;
}

/* Callers may give texts and labels that lie in the memory: they are copied before anything in it moves. */
static int teach(rvl *engine, const uint32_t *codes, const char *bytes, size_t count, const char *label) {
  char text[MOST_BYTES + 1], name[MOST_BYTES];
  ONE_THREAD(engine);
  if (!engine->memory) return RVL_NO_MEMORY;
  if (!is_teachable(label)) return RVL_LABEL;
  move_down(name, label, length_of(label) + 1);
  return cut_text_to_keep(engine, read_all(engine, codes, bytes, count), text) ? add_text(engine, text, name, 0) : RVL_NO_TEXT;
}

/* A text is given as it is kept, or as it was taught. */
static int forget(rvl *engine, const uint32_t *codes, const char *bytes, size_t count) {
  char text[MOST_BYTES + 1];
  uint32_t row;
  ONE_THREAD(engine);
  if (!engine->memory) return RVL_NO_MEMORY;
  cut_text_to_keep(engine, read_text(codes, bytes, count, rvl_read_limit(engine)), text);
  row = find_row(engine->memory, text, 0);
  if (row == engine->memory->rows) {
    cut_text_to_keep(engine, read_all(engine, codes, bytes, count), text);
    row = find_row(engine->memory, text, 0);
  }
  if (row == engine->memory->rows) return RVL_NOT_TAUGHT;
  forget_row(engine, row);
  return RVL_OK;
}

int rvl_teach(rvl *engine, const uint32_t *codes, size_t count, const char *label) { return teach(engine, codes, 0, count, label); }
int rvl_teach_utf8(rvl *engine, const char *text, size_t bytes, const char *label) { return teach(engine, 0, text, bytes, label); }
int rvl_forget(rvl *engine, const uint32_t *codes, size_t count) { return forget(engine, codes, 0, count); }
int rvl_forget_utf8(rvl *engine, const char *text, size_t bytes) { return forget(engine, 0, text, bytes); }

uint32_t rvl_taught(const rvl *engine) { return engine->memory ? engine->memory->texts : 0; }

const char *rvl_taught_text(const rvl *engine, uint32_t number, const char **label) {
  const taught_texts *memory = engine->memory;
  uint32_t row;
  if (number >= rvl_taught(engine)) return 0;
  for (row = 0; memory->links[row] >= IS_NAME || number--; row++) continue;
  *label = string_of(memory, memory->links[row]);
  return string_of(memory, row);
}

int32_t rvl_speaker(const rvl *engine) { return engine->memory ? engine->speaker : -1; }

const char *rvl_label(const rvl *engine, uint32_t label) {
  uint32_t row;
  if (label < engine->settings[LABELS]) return engine->labels + engine->label_places[label];
  for (row = 0; EMBEDS && engine->memory && row < engine->memory->rows; row++)
    if (engine->memory->links[row] == (IS_NAME | label)) return string_of(engine->memory, row);
  return 0;
}
