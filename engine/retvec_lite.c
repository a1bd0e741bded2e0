/* Classify texts with a .retvec file. The interface is in retvec_lite.h, the format in docs/engine.md, and the rules from text to words and
 * numbers in docs/contract.md, whose numbers the comments name.
 *
 * The answers are the same bits on every machine. Products of matrices are sums of integers, so their order does not matter; what is
 * computed with floats is written in a fixed order. Compile with -ffp-contract=off: fused multiply-add rounds differently.
 */
#include "retvec_lite.h"

#include "tables.h"

/* --- Machine --------------------------------------------------------------------------------------------------------------------- */

#if defined(__GNUC__)
#define INLINE static inline __attribute__((always_inline))
#else
#define INLINE static inline
#endif

#if defined(__GNUC__) && defined(__x86_64__)
#include <immintrin.h>
#ifndef RVL_PLAIN_ONLY
#define RVL_WIDE 1 /* AVX2, or AVX-512 with sums of products, where the processor has it */
#include <cpuid.h>
#endif
#elif defined(__wasm_simd128__)
#include <wasm_simd128.h>
#elif defined(__aarch64__) && defined(__GNUC__) && !defined(__ARM_BIG_ENDIAN)
#include <arm_neon.h>
#endif

#ifdef RVL_FREESTANDING
/* Compilers call these two even without a C library. */
void *memcpy(void *restrict to, const void *restrict from, size_t count) {
  volatile uint8_t *t = to;
  const uint8_t *f = from;
  while (count--) *t++ = *f++;
  return to;
}
void *memset(void *to, int value, size_t count) {
  volatile uint8_t *t = to;
  while (count--) *t++ = (uint8_t)value;
  return to;
}
#endif

typedef union {
  float f;
  int32_t i;
} float_bits;

typedef union {
  double f;
  uint64_t i;
} double_bits;

static uint32_t read32(const uint8_t *at) {
  return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static void clear(void *at, size_t bytes) {
  uint8_t *to = at;
  size_t place;
  for (place = 0; place < bytes; place++) to[place] = 0;
}

static int in_range(uint32_t value, uint32_t low, uint32_t high) { return value >= low && value <= high; }

static int is_little_endian(void) {
  float_bits one;
  one.i = 1;
  return *(const uint8_t *)&one == 1;
}

/* --- Functions of numbers ----------------------------------------------------------------------------------------------------------- */

/* erf(x / sqrt 2), within 4e-7, and tanh(x), within 3e-7: rational functions, fitted to have the smallest largest error. */
INLINE float gelu(float x) {
  float y = x * 0.70710678f, u, top, low;
  y = y < -4.0f ? -4.0f : y;
  y = y > 4.0f ? 4.0f : y;
  u = y * y;
  top = ((((1.974830759e-06f * u + 2.880412328e-04f) * u + 4.003638095e-03f) * u + 5.346745226e-02f) * u + 1.962487980e-01f) * u +
        1.128378976e+00f;
  low = ((((3.748086069e-05f * u + 1.216358042e-03f) * u + 1.544440562e-02f) * u + 1.164763505e-01f) * u + 5.072521278e-01f) * u + 1.0f;
  return 0.5f * x * (1.0f + y * top / low);
}

INLINE float tanh_of(float x) {
  float u, top, low;
  x = x < -9.0f ? -9.0f : x;
  x = x > 9.0f ? 9.0f : x;
  u = x * x;
  top = (((1.318422280e-08f * u + 2.047183199e-05f) * u + 3.486582088e-03f) * u + 1.337319790e-01f) * u + 9.999999064e-01f;
  low = (((7.702663695e-07f * u + 3.271385629e-04f) * u + 2.584198005e-02f) * u + 4.670649477e-01f) * u + 1.0f;
  return x * top / low;
}

#define LN2_HIGH 6.93147180369123816490e-01 /* its last 21 bits are zeros, so that products with small integers are exact */
#define LN2_LOW 1.90821492927058770002e-10

/* e to the power x, for x up to 0 and a little above. */
static double exp_of(double x) {
  /* 1 / n for n from 13 down: Horner's form of the series, without the divisions. */
  static const double inverses[] = {1.0 / 13, 1.0 / 12, 1.0 / 11, 1.0 / 10, 1.0 / 9, 1.0 / 8, 1.0 / 7, 1.0 / 6, 1.0 / 5, 1.0 / 4, 1.0 / 3, 1.0 / 2, 1.0};
  double_bits power;
  double sum = 1.0;
  int k, n;
  if (!(x > -700.0)) return 0.0;
  if (x > 700.0) x = 700.0;
  k = (int)(x * 1.4426950408889634 + (x < 0 ? -0.5 : 0.5));
  x = x - k * LN2_HIGH - k * LN2_LOW;
  for (n = 0; n < 13; n++) sum = 1.0 + x * inverses[n] * sum;
  power.i = (uint64_t)(1023 + k) << 52;
  return sum * power.f;
}

/* The natural logarithm of a normal number above 0: its exponent, and the series of artanh. */
static double log_of(double x) {
  double_bits bits;
  double s, square, power, sum = 0.0;
  int exponent, n;
  bits.f = x;
  exponent = (int)(bits.i >> 52) - 1023;
  bits.i = (bits.i & 0xFFFFFFFFFFFFFu) | (uint64_t)1023 << 52;
  if (bits.f > 1.4142135623730951) {
    bits.f *= 0.5;
    exponent++;
  }
  s = (bits.f - 1.0) / (bits.f + 1.0);
  square = s * s;
  power = s;
  for (n = 1; n < 24; n += 2) {
    sum += power / n;
    power *= square;
  }
  return 2.0 * sum + exponent * LN2_LOW + exponent * LN2_HIGH;
}

/* The square root of a number from 1e-300 to 1e300, by Newton's method from a guess that has half its exponent. */
static double sqrt_of(double x) {
  double_bits guess;
  int n;
  guess.f = x;
  guess.i = (guess.i >> 1) + ((uint64_t)1023 << 51);
  for (n = 0; n < 6; n++) guess.f = 0.5 * (guess.f + x / guess.f);
  return guess.f;
}

/* --- UTF-8 ----------------------------------------------------------------------------------------------------------------------------- */

enum { REPLACEMENT = 0xFFFD, MOST_CODE = 0x10FFFF, INVALID = 0x110000 };

static uint32_t sanitized(uint32_t code) { return code > MOST_CODE || in_range(code, 0xD800, 0xDFFF) ? REPLACEMENT : code; }

/* Decode one code point of at least one byte; the bytes of an invalid sequence that might begin a valid one are one INVALID (Unicode
 * Standard, section 3.9). `used`: how many bytes it has. */
static uint32_t decode(const uint8_t *at, size_t left, size_t *used) {
  size_t length;
  uint32_t first = at[0], code, low = 0x80, high = 0xBF;
  *used = 1;
  if (first < 0x80) return first;
  if (first < 0xC2 || first > 0xF4) return INVALID;
  length = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  code = first & (0x7Fu >> length);
  if (first == 0xE0) low = 0xA0;
  if (first == 0xED) high = 0x9F;
  if (first == 0xF0) low = 0x90;
  if (first == 0xF4) high = 0x8F;
  for (; *used < length; ++*used) {
    if (*used >= left || at[*used] < low || at[*used] > high) return INVALID;
    code = code << 6 | (at[*used] & 0x3Fu);
    low = 0x80;
    high = 0xBF;
  }
  return code;
}

/* --- The engine --------------------------------------------------------------------------------------------------------------------- */

/* Settings of the file, in its order. */
enum {
  CONTRACT, MAX_CHARS, MAX_WORDS, WORD_LENGTH, TRUNCATES, DROPS, LETTERS_ONLY,
  HAN_LENGTH, HAN_STEP, KANA_LENGTH, KANA_STEP, SEA_LENGTH, SEA_STEP,
  LABELS, HEAD, BLOCKS, REGION, HAS_EMBEDDING, CHARACTER_WINDOW,
  BUCKETS, LONGEST, SHORTEST, CODEBOOKS, RANK, PLAIN_LETTERS,         /* no buckets: no n-grams */
  MULTI_LABEL, UNKNOWN_LABEL, HAS_THRESHOLD,                          /* an unknown label of 0: none; else its number plus 1 */
  SETTINGS
};

enum { LINEAR, POOL, CNN, NGRAMS, HEADS };

/* Sections of the file. A section of another number below OPTIONAL is from a newer version, and needs it. */
enum {
  SECTION_SETTINGS = 1, SECTION_LABELS, SECTION_NUMBERS, SECTION_CHARACTERS_KNOWN, SECTION_THRESHOLDS,
  SECTION_EMBEDDING = 16, /* to 18 */
  SECTION_WORD = 20, SECTION_REGION, SECTION_LOGITS,
  SECTION_TABLE = 32, SECTION_CODES, SECTION_NGRAM_SCALES, SECTION_NGRAM_BIAS, SECTION_PROJECTION,
  SECTION_DISPLACEMENTS = 40, SECTION_ROWS, SECTION_WORD_CODES, SECTION_BOOKS, SECTION_MEANING,
  SECTION_BLOCK = 64, /* two for each block: its neighbours, and its dense layer */
  SECTION_END = 96, OPTIONAL = 0x8000
};

enum {
  FORMAT = 1, HEADER = 64, CHECKSUM = 24, ENTRY = 16, ALIGN = 64, MOST_SECTIONS = 64, MOST_BLOCKS = 16, MOST_LABELS = 100000, MOST_INPUTS = 65536,
  BITS = 21, PRIME = 65521, FACTOR = 46, LONGEST_NGRAM = 6, SEA_PIECE = 6, MOST_CHARS = 16384, MOST_WINDOWS = 32, MOST_DECOMPOSED = 4,
  TILE = 4,      /* words that are multiplied with the same weights at once */
  PACK = 16,     /* outputs whose weights stand together */
  ROW = 16,      /* columns of the table of n-grams that are added at once */
  LANES = 32,    /* rows that are added up are a multiple of this */
  KEY = 16,      /* UTF-16 units of a word that is kept */
  WAYS = 4,      /* places in which a word may be kept */
  LARGEST = 32767,
  /* Of meaning: numbers of a vector, codes of a word, numbers that a code stands for; letters of the longest word. */
  DIMENSION = 64, SUBSPACES = 8, PART = DIMENSION / SUBSPACES, LONGEST_WORD = 16, CHARS_PER_WORD = 5,
  LETTER_NUMBERS = 2048, LETTER_SPREAD = 389, STEPS = 251, FINGERPRINTS = 1023, NO_WORD = 16383, MOST_ROWS = 65536
};

/* A dense layer. Rows of weights belong to outputs; to inputs in layers that read binary digits, which add up rows. */
typedef struct {
  int inputs, outputs, bits; /* of a weight: 8 or 4 */
  int stride;                /* integers of an output, or of a row that is added; with zeros behind the end */
  int limit;                 /* largest integer of an input: sums of products stay below 2^31 */
  const float *scales, *bias;
  const uint8_t *weights;
} layer;

typedef struct {
  uint32_t start;
  uint32_t length;
} piece;

/* Code points that are read at once, what is known about each, and the rules that they are read by. */
typedef struct {
  uint32_t *chars;
  uint16_t *flags;
  uint32_t contract, letters_only;
} window;

struct rvl {
  uint32_t set[SETTINGS];
  int processor;
  const char *labels;
  const uint32_t *label_places;
  double threshold, unknown_power;
  const double *thresholds;
  const uint8_t *known; /* ranges of code points: the letters and digits of the training texts */
  size_t known_ranges;
  layer embedding[3], word, region, logits, projection, pointwise[MOST_BLOCKS];
  const float *depthwise[MOST_BLOCKS]; /* [3][filters] */
  const int8_t *table;                 /* [buckets][columns + 1]: the last column holds the squares */
  size_t table_size;
  const uint8_t *codes;
  const float *ngram_scales, *ngram_bias;
  int columns;
  uint32_t displacements, hash_rows; /* of meaning; 0: none */
  const uint8_t *displacement, *hash_row, *word_codes;
  const int8_t *books; /* [SUBSPACES][256][PART] */
  layer meaning;
  int vector_size, row_size; /* numbers of a word vector; and of what is kept of a word */
  /* For one text. */
  window window;   /* chars and flags: [max_chars + 1] */
  piece *pieces;   /* [max_words] */
  int16_t *rows;   /* [max_words][row_size] */
  float *row_scales;
  float *wide;     /* [TILE][width] */
  int16_t *narrow; /* [TILE][width] */
  int16_t *before; /* [row_size] */
  int32_t *sums;   /* [TILE][width] */
  int8_t *unpacked; /* up to 4 * PACK outputs of a layer with 4 bits */
  float *answers;  /* [labels], of one window */
  double *total;   /* [labels or dimension], of all windows */
  double total_weight;
  int width;
  /* Words that were seen. */
  uint32_t sets, clock;
  uint16_t *keys;  /* [sets * WAYS][KEY] */
  uint32_t *ages;
  float *kept_scales;
  int16_t *kept;   /* [sets * WAYS][row_size] */
};

static const char *const MESSAGES[] = {
    "All is well.",
    "The file is not a .retvec file.",
    "The file is of a version that this engine does not know: use a newer engine, or export the file again.",
    "The file is not as long as it says: copy or download it again.",
    "The file was changed after its export: copy or download it again.",
    "The file is damaged: a section is missing or does not fit the others. Export it again.",
    "The block is too small: ask rvl_block_size.",
    "The file and the block must start at a multiple of 8 bytes.",
};

const char *rvl_message(int problem) {
  int count = (int)(sizeof MESSAGES / sizeof *MESSAGES);
  return problem >= 0 && problem < count ? MESSAGES[problem] : "An unknown problem.";
}

/* --- Reading a file ------------------------------------------------------------------------------------------------------------------- */

/* What is known while a file is read. Space is counted first, with a null block, and then given out. */
typedef struct {
  const uint8_t *file;
  uint32_t size, sections;
  uint8_t *block;
  size_t used;
  int width, unpacked; /* of the space for one text: what the largest layer needs, and the largest one with 4 bits */
  int problem;
} loader;

static uint32_t rounded(uint32_t count, uint32_t to) { return (count + to - 1) / to * to; }

static void widen(loader *from, uint32_t count) {
  const int width = (int)rounded(count, LANES);
  if (width > from->width) from->width = width;
}

/* 64 bits, because products of what a file says may be too large for 32. */
static void *take(loader *from, uint64_t count, size_t size) {
  void *found = from->block ? from->block + from->used : 0;
  size_t used;
  if (count > ((size_t)1 << 30) / size || from->used > (size_t)1 << 30) {
    from->problem = RVL_DAMAGED;
    return 0;
  }
  used = from->used + (size_t)count * size;
  from->used = (used + ALIGN - 1) / ALIGN * ALIGN;
#ifdef RVL_GUARD /* Tests let a sanitizer guard what lies between the parts of a block. */
  from->used += ALIGN;
  if (found) RVL_GUARD(from->block + used, from->used - used);
#endif
  return found;
}

/* The bytes of a section; null, with a size of 0, where there is none. */
static const uint8_t *section(const loader *from, uint32_t kind, uint32_t *size) {
  uint32_t number;
  for (number = 0; number < from->sections; number++) {
    const uint8_t *entry = from->file + HEADER + ENTRY * number;
    if (read32(entry) == kind) {
      *size = read32(entry + 8);
      return from->file + read32(entry + 4);
    }
  }
  *size = 0;
  return 0;
}

/* The sum over all 32-bit words, each times an odd number that grows: a change of one word always shows. */
static uint64_t checksum(const uint8_t *file, uint32_t size) {
  uint64_t sum = 0;
  uint32_t place, words = size / 4;
  for (place = 0; place < words; place++) sum += (uint64_t)read32(file + 4 * (size_t)place) * (2 * place + 1);
  for (place = CHECKSUM / 4; place < CHECKSUM / 4 + 2; place++) sum -= (uint64_t)read32(file + 4 * (size_t)place) * (2 * place + 1);
  return sum;
}

static int is_known(uint32_t kind) {
  return in_range(kind, SECTION_SETTINGS, SECTION_THRESHOLDS) || in_range(kind, SECTION_EMBEDDING, SECTION_EMBEDDING + 2) || in_range(kind, SECTION_WORD, SECTION_LOGITS) ||
         in_range(kind, SECTION_TABLE, SECTION_PROJECTION) || in_range(kind, SECTION_DISPLACEMENTS, SECTION_MEANING) || in_range(kind, SECTION_BLOCK, SECTION_END - 1);
}

static int check_frame(loader *from, const void *file, size_t size, int sums_up) {
  static const char magic[8] = {'R', 'E', 'T', 'V', 'E', 'C', '\r', '\n'};
  const uint8_t *bytes = file;
  uint32_t number, other, end;
  uint64_t sum;
  for (number = 0; number < 8; number++)
    if (size < 8 || bytes[number] != (uint8_t)magic[number]) return RVL_NOT_RETVEC;
  if (size < HEADER) return RVL_TRUNCATED;
  if (read32(bytes + 8) != FORMAT || read32(bytes + 12) != 0x01020304u) return RVL_VERSION;
  if (read32(bytes + 16) != size || size % ALIGN) return RVL_TRUNCATED;
  if ((uintptr_t)file % 8) return RVL_ALIGNMENT;
  sum = (uint64_t)read32(bytes + CHECKSUM + 4) << 32 | read32(bytes + CHECKSUM);
  if (sums_up && checksum(bytes, (uint32_t)size) != sum) return RVL_CHANGED;
  from->file = bytes;
  from->size = (uint32_t)size;
  from->sections = read32(bytes + 20);
  if (from->sections > MOST_SECTIONS || HEADER + ENTRY * from->sections > size) return RVL_DAMAGED;
  end = HEADER + ENTRY * from->sections;
  for (number = 0; number < from->sections; number++) {
    const uint8_t *entry = bytes + HEADER + ENTRY * number;
    uint32_t kind = read32(entry), start = read32(entry + 4), length = read32(entry + 8);
    if (kind < OPTIONAL && !is_known(kind)) return RVL_VERSION;
    /* Two readers might take two of them. */
    for (other = 0; other < number; other++)
      if (read32(bytes + HEADER + ENTRY * other) == kind) return RVL_DAMAGED;
    if (start % ALIGN || start < end || start > size || length > size - start) return RVL_DAMAGED;
    end = start + length;
  }
  return RVL_OK;
}

/* Numbers of the file, in the machine's byte order; all are finite and of moderate size. */
static const float *floats(loader *from, const uint8_t *at, size_t count) {
  float *copy = is_little_endian() ? 0 : take(from, count, sizeof(float));
  size_t place;
  for (place = 0; place < count; place++) {
    float_bits value;
    value.i = (int32_t)read32(at + 4 * place);
    if (!(value.f > -1e15f && value.f < 1e15f)) from->problem = RVL_DAMAGED;
    if (copy) copy[place] = value.f;
  }
  return copy ? copy : (const float *)(const void *)at;
}

static const double *doubles(loader *from, const uint8_t *at, size_t count) {
  double *copy = is_little_endian() ? 0 : take(from, count, sizeof(double));
  size_t place;
  for (place = 0; place < count; place++) {
    double_bits value;
    value.i = (uint64_t)read32(at + 8 * place + 4) << 32 | read32(at + 8 * place);
    if (!(value.f >= 0.0 && value.f < 1e15)) from->problem = RVL_DAMAGED;
    if (copy) copy[place] = value.f;
  }
  return copy ? copy : (const double *)(const void *)at;
}

/* A section that must have a certain size. */
static const uint8_t *exactly(loader *from, uint32_t kind, uint64_t size) {
  uint32_t found;
  const uint8_t *at = section(from, kind, &found);
  if (!at || found != size) from->problem = RVL_DAMAGED;
  return from->problem ? 0 : at;
}

static const float *float_section(loader *from, uint32_t kind, uint32_t count) {
  const uint8_t *at = exactly(from, kind, 4 * (uint64_t)count);
  return at ? floats(from, at, count) : 0;
}

/* A dense layer: inputs, outputs, bits; scales and bias of the outputs; the integers. With 0 outputs, the file decides how many. Every
 * layer comes by here: the space for one text grows with it. */
static void read_layer(loader *from, uint32_t kind, uint32_t inputs, uint32_t outputs, int adds_rows, layer *to) {
  uint32_t size, numbers, rows;
  int packed;
  const uint8_t *at = section(from, kind, &size);
  if (!at || size < ALIGN) {
    from->problem = RVL_DAMAGED;
    return;
  }
  if (!outputs) outputs = read32(at + 4);
  to->bits = (int)read32(at + 8);
  if (read32(at) != inputs || read32(at + 4) != outputs || !in_range(inputs, 1, MOST_INPUTS) || !in_range(outputs, 1, MOST_LABELS) ||
      (to->bits != 8 && to->bits != 4)) {
    from->problem = RVL_DAMAGED;
    return;
  }
  to->inputs = (int)inputs;
  to->outputs = (int)outputs;
  to->stride = (int)(adds_rows ? rounded(outputs, LANES) : rounded(inputs, 2));
  to->limit = (int)(0x7FFFFFFF / (128 * (int64_t)inputs));
  if (to->limit > LARGEST) to->limit = LARGEST;
  rows = adds_rows ? inputs : rounded(outputs, PACK);
  numbers = rounded(4 * outputs, ALIGN);
  if (size != ALIGN + 2 * (uint64_t)numbers + (uint64_t)rows * (uint64_t)to->stride * (uint64_t)to->bits / 8) {
    from->problem = RVL_DAMAGED;
    return;
  }
  to->scales = floats(from, at + ALIGN, outputs);
  to->bias = floats(from, at + ALIGN + numbers, outputs);
  to->weights = at + ALIGN + 2 * (size_t)numbers;
  widen(from, inputs);
  widen(from, outputs);
  packed = to->bits == 4 && !adds_rows ? to->stride * 4 * PACK : 0; /* up to 4 vectors of PACK outputs at once */
  if (packed > from->unpacked) from->unpacked = packed;
}

/* Settings that are the same in all files, and what they are. */
static const uint8_t FIXED[][2] = {{TRUNCATES, 0}, {DROPS, 1}, {HAN_LENGTH, 1}, {HAN_STEP, 1}, {KANA_LENGTH, 2}, {KANA_STEP, 1}, {SEA_LENGTH, SEA_PIECE}, {SEA_STEP, 3}, {CHARACTER_WINDOW, 0}};

static int check_settings(const uint32_t *set) {
  size_t rule;
  if (!in_range(set[CONTRACT], 1, 2)) return RVL_VERSION;
  for (rule = 0; rule < sizeof FIXED / sizeof *FIXED; rule++)
    if (set[FIXED[rule][0]] != FIXED[rule][1]) return RVL_VERSION;
  if (set[REGION] != (set[HEAD] == CNN)) return RVL_VERSION;
  if (!in_range(set[MAX_CHARS], 1, 65536) || !in_range(set[MAX_WORDS], 1, 4096) || !in_range(set[WORD_LENGTH], SEA_PIECE, 64) ||
      set[LETTERS_ONLY] > 1 || !in_range(set[LABELS], 2, MOST_LABELS) || set[HEAD] >= HEADS ||
      set[BLOCKS] > MOST_BLOCKS || set[HAS_EMBEDDING] > 1 || set[BUCKETS] > PRIME ||
      set[CODEBOOKS] > 8 || set[RANK] > 256 || set[PLAIN_LETTERS] > 1 || set[MULTI_LABEL] > 1 || set[UNKNOWN_LABEL] > set[LABELS] ||
      set[HAS_THRESHOLD] > 1 || (set[HEAD] == NGRAMS && !set[BUCKETS]))
    return RVL_DAMAGED;
  if (set[BUCKETS] && (!in_range(set[LONGEST], 1, LONGEST_NGRAM) || !in_range(set[SHORTEST], 1, set[LONGEST]) ||
                       (set[CODEBOOKS] && set[BUCKETS] != 256 * set[CODEBOOKS])))
    return RVL_DAMAGED;
  if (set[HEAD] == CNN && !set[BLOCKS]) return RVL_DAMAGED;
  return RVL_OK;
}

/* Whether bytes are a label: UTF-8 without control characters, a zero behind it. */
static int is_label(const uint8_t *at, uint32_t size) {
  size_t place = 0, used;
  for (; place + 1 < size; place += used) {
    const uint32_t code = decode(at + place, size - place, &used);
    if (code < 0x20 || in_range(code, 0x7F, 0x9F) || code == INVALID) return 0;
  }
  return size > 1 && !at[size - 1];
}

/* Labels: where each ends, then their bytes with a zero behind each; the last one ends with the section. */
static void read_labels(loader *from, rvl *to) {
  uint32_t size, count = to->set[LABELS], label, start = 0;
  const uint8_t *at = section(from, SECTION_LABELS, &size);
  uint32_t *places = take(from, count, sizeof(uint32_t));
  if (!at || size < 4 * count) {
    from->problem = RVL_DAMAGED;
    return;
  }
  for (label = 0; label < count; label++) {
    uint32_t end = read32(at + 4 * label);
    if (end <= start || end > size - 4 * count || !is_label(at + 4 * count + start, end - start)) {
      from->problem = RVL_DAMAGED;
      return;
    }
    if (places) places[label] = start;
    start = end;
  }
  if (start != size - 4 * count) from->problem = RVL_DAMAGED;
  to->label_places = places;
  to->labels = (const char *)at + 4 * count;
}

static void read_decision(loader *from, rvl *to) {
  const uint8_t *at = exactly(from, SECTION_NUMBERS, 16);
  const double *numbers = at ? doubles(from, at, 2) : 0;
  uint32_t size, place;
  if (!numbers) return;
  to->threshold = numbers[0];
  to->unknown_power = numbers[1];
  to->known = section(from, SECTION_CHARACTERS_KNOWN, &size);
  if (size % 8) from->problem = RVL_DAMAGED;
  to->known_ranges = size / 8;
  for (place = 0; !from->problem && place < to->known_ranges; place++)
    if (read32(to->known + 8 * place) > read32(to->known + 8 * place + 4)) from->problem = RVL_DAMAGED;
  if (to->set[MULTI_LABEL]) {
    at = exactly(from, SECTION_THRESHOLDS, 8 * (uint64_t)to->set[LABELS]);
    to->thresholds = at ? doubles(from, at, to->set[LABELS]) : 0;
  }
}

static void read_ngrams(loader *from, rvl *to) {
  const uint32_t *set = to->set;
  uint32_t columns = set[RANK] ? set[RANK] : set[LABELS];
  const uint64_t size = (uint64_t)set[BUCKETS] * (columns + 1);
  to->columns = (int)columns;
  to->table_size = (size_t)size;
  to->table = (const int8_t *)exactly(from, SECTION_TABLE, size);
  if (set[CODEBOOKS]) to->codes = exactly(from, SECTION_CODES, (uint64_t)PRIME * set[CODEBOOKS]);
  to->ngram_scales = float_section(from, SECTION_NGRAM_SCALES, columns);
  if (set[RANK])
    read_layer(from, SECTION_PROJECTION, columns, set[LABELS], 0, &to->projection);
  else
    to->ngram_bias = float_section(from, SECTION_NGRAM_BIAS, columns);
}

/* The table of meaning, where there is one. Sections tell its sizes; no row names a word that is not there. */
static void read_meaning(loader *from, rvl *to) {
  uint32_t bytes, words, row, kind, parts = 0;
  for (kind = SECTION_DISPLACEMENTS; kind <= SECTION_MEANING; kind++) parts += section(from, kind, &bytes) != 0;
  if (!parts) return;
  to->displacement = section(from, SECTION_DISPLACEMENTS, &to->displacements);
  to->hash_row = section(from, SECTION_ROWS, &bytes);
  to->hash_rows = bytes / 3;
  if (bytes % 3) from->problem = RVL_DAMAGED;
  to->word_codes = section(from, SECTION_WORD_CODES, &bytes);
  words = bytes / SUBSPACES;
  if (bytes % SUBSPACES || !in_range(words, 1, NO_WORD) || !in_range(to->hash_rows, 1, MOST_ROWS) || !in_range(to->displacements, 1, MOST_ROWS))
    from->problem = RVL_DAMAGED;
  to->books = (const int8_t *)exactly(from, SECTION_BOOKS, SUBSPACES * 256 * PART);
  for (row = 0; !from->problem && row < to->hash_rows; row++) {
    const uint32_t number = (to->hash_row[3 * row] | (uint32_t)to->hash_row[3 * row + 1] << 8) & NO_WORD;
    if (number >= words && number != NO_WORD) from->problem = RVL_DAMAGED;
  }
  if (!from->problem) read_layer(from, SECTION_MEANING, DIMENSION, to->set[LABELS], 0, &to->meaning);
}

/* The layers that read words. Each must fit the one before it. */
static void read_network(loader *from, rvl *to) {
  const uint32_t *set = to->set, digits = set[WORD_LENGTH] * BITS;
  uint32_t inputs = digits, block;
  if (set[HAS_EMBEDDING]) {
    for (block = 0; block < 3 && !from->problem; block++) {
      read_layer(from, SECTION_EMBEDDING + block, inputs, 0, block == 0, &to->embedding[block]);
      inputs = (uint32_t)to->embedding[block].outputs;
    }
  }
  to->vector_size = (int)inputs;
  if (set[HEAD] == POOL || set[HEAD] == CNN) {
    if (!from->problem) read_layer(from, SECTION_WORD, inputs, 0, 0, &to->word);
    inputs = (uint32_t)to->word.outputs;
  }
  if (set[HEAD] == CNN) {
    if (!from->problem) read_layer(from, SECTION_REGION, inputs, 0, 0, &to->region);
    inputs = (uint32_t)to->region.outputs;
  }
  to->row_size = (int)inputs;
  if (set[HEAD] == CNN) {
    for (block = 0; block < set[BLOCKS] && !from->problem; block++) {
      to->depthwise[block] = float_section(from, SECTION_BLOCK + 2 * block, 3 * inputs);
      if (!from->problem) read_layer(from, SECTION_BLOCK + 2 * block + 1, inputs, inputs, 0, &to->pointwise[block]);
    }
  }
  if (set[HEAD] != LINEAR) inputs *= 2;
  if (!from->problem) read_layer(from, SECTION_LOGITS, inputs, set[LABELS], 0, &to->logits);
}

/* Space for one text, and for the words that are kept. `width`: numbers of the longest row that anything computes. */
static void take_space(loader *from, rvl *to, uint32_t words) {
  const uint32_t *set = to->set;
  const int has_words = set[HEAD] != NGRAMS;
  uint64_t width, row, entries;
  widen(from, rvl_dimension(to));
  widen(from, set[LABELS]);
  if (set[BUCKETS]) widen(from, (uint32_t)to->columns + 1);
  to->width = from->width;
  to->row_size = (int)rounded((uint32_t)to->row_size, LANES);
  width = (uint64_t)to->width;
  row = (uint64_t)to->row_size;
  to->window.chars = take(from, set[MAX_CHARS] + 1, sizeof(uint32_t));
  to->window.flags = take(from, set[MAX_CHARS] + 1, sizeof(uint16_t));
  to->sums = take(from, TILE * width, sizeof(int32_t));
  to->unpacked = take(from, (uint64_t)from->unpacked, 1);
  to->answers = take(from, set[LABELS], sizeof(float));
  to->total = take(from, width, sizeof(double));
  to->wide = take(from, TILE * width, sizeof(float));
  to->narrow = take(from, TILE * width, sizeof(int16_t));
  if (!has_words) return;
  to->pieces = take(from, set[MAX_WORDS], sizeof(piece));
  to->rows = take(from, set[MAX_WORDS] * row, sizeof(int16_t));
  to->row_scales = take(from, set[MAX_WORDS], sizeof(float));
  to->before = take(from, row, sizeof(int16_t));
  to->sets = words < 65536 ? words / WAYS : 65536 / WAYS;
  entries = (uint64_t)to->sets * WAYS;
  to->keys = take(from, entries * KEY, sizeof(uint16_t));
  to->ages = take(from, entries, sizeof(uint32_t));
  to->kept_scales = take(from, entries, sizeof(float));
  to->kept = take(from, entries * row, sizeof(int16_t));
}

#ifdef RVL_WIDE
enum { PLAIN, AVX2, VNNI };

/* What the processor has, and the system keeps the registers of. */
static int find_processor(void) {
  uint32_t a, b, c, d, low, high;
  if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & 1u << 27)) return PLAIN;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  if ((low & 6) != 6 || !__get_cpuid_count(7, 0, &a, &b, &c, &d) || !(b & 1u << 5)) return PLAIN;
  return (low & 0xE6) == 0xE6 && (b & 1u << 16) && (b & 1u << 30) && (b & 1u << 31) && (c & 1u << 11) ? VNNI : AVX2;
}
#endif

static int load(loader *from, rvl *to, uint32_t words) {
  const uint8_t *at = exactly(from, SECTION_SETTINGS, 4 * SETTINGS);
  int place;
  if (!at) return RVL_DAMAGED;
  for (place = 0; place < SETTINGS; place++) to->set[place] = read32(at + 4 * place);
  from->problem = check_settings(to->set);
  if (!from->problem) read_labels(from, to);
  if (!from->problem) read_decision(from, to);
  if (!from->problem && to->set[BUCKETS]) read_ngrams(from, to);
  if (!from->problem) read_meaning(from, to);
  if (!from->problem && to->set[HEAD] != NGRAMS) read_network(from, to);
  if (!from->problem) take_space(from, to, words);
  to->window.contract = to->set[CONTRACT];
  to->window.letters_only = to->set[LETTERS_ONLY];
#ifdef RVL_WIDE
  to->processor = find_processor();
#endif
  return from->problem;
}

/* Check a file, measure a block, and lay out the engine in it, if there is one; only opening adds up the file's checksum, once. */
static int prepare(const void *file, size_t size, uint32_t words, void *block, size_t *bytes, rvl *engine, int sums_up) {
  loader from;
  int problem;
  clear(&from, sizeof from);
  clear(engine, sizeof *engine);
  from.block = block;
  problem = check_frame(&from, file, size, sums_up);
  if (problem) return problem;
  take(&from, 1, sizeof(rvl));
  problem = load(&from, engine, words);
  *bytes = from.used;
  return problem;
}

int rvl_block_size(const void *file, size_t size, uint32_t words, size_t *bytes) {
  rvl measured;
  *bytes = 0;
  return prepare(file, size, words, 0, bytes, &measured, 0);
}

/* The order of two labels, by their bytes; 0 where they are the same. */
static int label_order(const rvl *e, uint32_t one, uint32_t other) {
  const uint8_t *a = (const uint8_t *)e->labels + e->label_places[one], *b = (const uint8_t *)e->labels + e->label_places[other];
  while (*a && *a == *b) a++, b++;
  return (int)*a - (int)*b;
}

/* Whether two labels are the same. Heapsort, which no file makes slow, of their numbers; any sort compares all neighbours. */
static int repeats_label(rvl *e) {
  uint32_t *heap = (uint32_t *)e->sums; /* free until there is a text, and not shorter */
  uint32_t size = e->set[LABELS], root = size / 2, place, child, moved;
  int order;
  for (place = 0; place < size; place++) heap[place] = place;
  while (root || size > 1) {
    /* Make heaps of ever larger parts, from the end; then take out the largest, again and again. */
    moved = heap[root ? --root : --size];
    for (place = root; (child = 2 * place + 1) < size; place = child) {
      if (child + 1 < size) {
        order = label_order(e, heap[child], heap[child + 1]);
        if (!order) return 1;
        child += order < 0;
      }
      order = label_order(e, moved, heap[child]);
      if (!order) return 1;
      if (order > 0) break;
      heap[place] = heap[child];
    }
    heap[place] = moved;
  }
  return 0;
}

int rvl_open(const void *file, size_t size, uint32_t words, void *block, size_t bytes, rvl **engine) {
  rvl measured, *opened;
  size_t needed, entries;
  int problem;
  *engine = 0;
  problem = prepare(file, size, words, 0, &needed, &measured, 1);
  if (problem) return problem;
  if ((uintptr_t)block % 8) return RVL_ALIGNMENT;
  if (!block || bytes < needed) return RVL_BLOCK_SIZE;
  problem = prepare(file, size, words, block, &needed, block, 0);
  if (problem) return problem;
  opened = block;
  if (repeats_label(opened)) return RVL_DAMAGED;
  entries = (size_t)opened->sets * WAYS;
  clear(opened->keys, entries * KEY * sizeof *opened->keys);
  clear(opened->ages, entries * sizeof *opened->ages);
  *engine = opened;
  return RVL_OK;
}

uint32_t rvl_labels(const rvl *engine) { return engine->set[LABELS]; }

const char *rvl_label(const rvl *engine, uint32_t label) {
  return label < engine->set[LABELS] ? engine->labels + engine->label_places[label] : 0;
}

uint32_t rvl_read_limit(const rvl *engine) {
  uint32_t most = engine->set[MAX_CHARS], windows = MOST_WINDOWS * most < MOST_CHARS ? MOST_WINDOWS * most : MOST_CHARS;
  if (engine->set[CONTRACT] == 1) return most;
  return MOST_DECOMPOSED * most > windows ? MOST_DECOMPOSED * most : windows;
}

uint32_t rvl_word_dimension(const rvl *engine) {
  return engine->set[HEAD] == NGRAMS ? 0 : engine->set[HAS_EMBEDDING] ? (uint32_t)engine->embedding[2].outputs : engine->set[WORD_LENGTH] * BITS;
}

uint32_t rvl_dimension(const rvl *engine) {
  return engine->set[HEAD] == NGRAMS ? 0 : rvl_word_dimension(engine) + (engine->hash_rows ? DIMENSION : 0);
}

uint32_t rvl_slots(const rvl *engine) { return engine->set[HEAD] == NGRAMS ? 0 : engine->set[MAX_WORDS]; }

uint32_t rvl_slot_length(const rvl *engine) { return engine->set[WORD_LENGTH]; }

/* --- Reading a text -------------------------------------------------------------------------------------------------------------------- */

enum { HELD = 32, HANGUL = 0xAC00 };

/* A text, from a place on. Code points are as the caller gives them; those of UTF-8 are composed on the way: `held` has a letter and the
 * marks behind it. From `cut` to `cut_end`, spaces stand in place of a text's code points (one of them where the gap is closed). */
typedef struct {
  const uint32_t *codes;
  const uint8_t *bytes;
  size_t at, end, left; /* left: code points that may still be read */
  size_t cut, cut_end;
  int closes;
  int count, given, has_ahead;
  uint32_t held[HELD], ahead;
} reader;

static reader read_codes(const uint32_t *codes, size_t count, size_t limit) {
  reader of;
  clear(&of, sizeof of);
  of.codes = codes;
  of.end = count;
  of.left = limit;
  return of;
}

static reader read_utf8(const char *text, size_t bytes, size_t limit) {
  reader of = read_codes(0, bytes, limit);
  of.bytes = (const uint8_t *)text;
  return of;
}

/* The next code point as it was given; 0 at the end. */
static int next_given(reader *of, uint32_t *code) {
  size_t used;
  if (of->at >= of->end || !of->left) return 0;
  of->left--;
  if (of->bytes) {
    *code = sanitized(decode(of->bytes + of->at, of->end - of->at, &used));
    of->at += used;
  } else if (of->at >= of->cut && of->at < of->cut_end) {
    *code = 0x20;
    of->at = of->closes ? of->cut_end : of->at + 1;
  } else {
    *code = sanitized(of->codes[of->at++]);
  }
  return 1;
}

/* What two code points compose to, or 0. */
static uint32_t composed(uint32_t first, uint32_t second) {
  size_t low = 0, high = sizeof rvl_pair_firsts / sizeof *rvl_pair_firsts;
  if (first >= 0x1100 && first < 0x1113 && second >= 0x1161 && second < 0x1176)
    return HANGUL + ((first - 0x1100) * 21 + second - 0x1161) * 28;
  if (first >= HANGUL && first < 0xD7A4 && (first - HANGUL) % 28 == 0 && second > 0x11A7 && second < 0x11C3) return first + second - 0x11A7;
  while (low < high) {
    size_t half = (low + high) / 2;
    uint32_t one = rvl_pair_firsts[half], other = rvl_pair_marks[half];
    if (one == first && other == second) return rvl_pair_wholes[half];
    if (one < first || (one == first && other < second))
      low = half + 1;
    else
      high = half;
  }
  return 0;
}

/* The canonical combining class of a mark; 0 for others. */
static uint32_t mark_class(uint32_t code) {
  size_t low = 0, high = sizeof rvl_mark_firsts / sizeof *rvl_mark_firsts;
  while (code >= 0x300 && low < high) {
    size_t half = (low + high) / 2;
    if (code < rvl_mark_firsts[half])
      high = half;
    else if (code > rvl_mark_lasts[half])
      low = half + 1;
    else
      return rvl_mark_classes[half];
  }
  return 0;
}

/* The next composed code point. */
static int next(reader *of, uint32_t *code) {
  uint32_t last = 0, kind, whole;
  if (!of->bytes) return next_given(of, code);
  if (of->given < of->count) {
    *code = of->held[of->given++];
    return 1;
  }
  if (of->has_ahead)
    *code = of->ahead;
  else if (!next_given(of, code))
    return 0;
  of->held[0] = *code;
  of->count = of->given = 1;
  while ((of->has_ahead = next_given(of, &of->ahead))) {
    if (of->ahead < 0x300) break;
    kind = mark_class(of->ahead);
    whole = of->count == 1 || (last && last < kind) ? composed(of->held[0], of->ahead) : 0;
    if (whole) {
      of->held[0] = whole;
    } else if (kind && of->count < HELD) {
      of->held[of->count++] = of->ahead;
      last = kind;
    } else {
      break;
    }
  }
  *code = of->held[0];
  return 1;
}

/* What is known about a code point. */
static uint32_t flags_of(uint32_t code) {
  size_t low = 0, high = sizeof rvl_ranges / sizeof *rvl_ranges;
  if (code < 128) return rvl_ascii[code];
  while (high - low > 1) {
    size_t half = (low + high) / 2;
    if (rvl_ranges[half] >> 11 <= code)
      low = half;
    else
      high = half;
  }
  return rvl_ranges[low] & 0x7FF;
}

/* --- The normal form (rule 2) ------------------------------------------------------------------------------------------------------------ */

/* The letter, digit or sign of a form (rule 2b). */
static uint32_t form_target(uint32_t code) {
  size_t low = 0, high = sizeof rvl_form_firsts / sizeof *rvl_form_firsts;
  while (high - low > 1) {
    size_t half = (low + high) / 2;
    if (rvl_form_firsts[half] <= code)
      low = half;
    else
      high = half;
  }
  return rvl_form_targets[rvl_form_places[low] + (code - rvl_form_firsts[low])];
}

/* The Latin letter that another looks like (rule 2c). */
static uint32_t latin_for(uint32_t code) {
  size_t low = 0, high = sizeof rvl_like_codes / sizeof *rvl_like_codes;
  while (high - low > 1) {
    size_t half = (low + high) / 2;
    if (rvl_like_codes[half] <= code)
      low = half;
    else
      high = half;
  }
  return rvl_like_letters[low];
}

enum { IN_WORD = RVL_LATIN | RVL_OTHER | RVL_LIKE, UNSPACED = RVL_HAN | RVL_KANA | RVL_SEA };

static int is_technical(uint32_t code) { return code == '#' || code == '/' || code == '@' || code == '\\' || code == '_'; }

/* Make spaces of all that is no letter, and of words with technical signs. */
static void keep_letters(window *in, uint32_t count) {
  uint32_t start = 0, end, place;
  while (start < count) {
    int ends_words = in->chars[start] == 0x20 || (in->flags[start] & UNSPACED), technical = 0;
    for (end = start; end < count; end++) {
      if ((in->chars[end] == 0x20 || (in->flags[end] & UNSPACED) != 0) != (ends_words != 0)) break;
      technical |= is_technical(in->chars[end]);
    }
    for (place = start; place < end; place++) {
      if ((in->flags[place] & IN_WORD) && (ends_words || !technical)) continue;
      in->chars[place] = 0x20;
      in->flags[place] = (uint16_t)flags_of(0x20);
    }
    start = end;
  }
}

static int in_ranges(const uint32_t *ranges, size_t count, uint32_t code) {
  size_t at;
  for (at = 0; at < count; at += 2)
    if (code >= ranges[at] && code <= ranges[at + 1]) return 1;
  return 0;
}

enum { STAYS = 1u << 11 }; /* beside the flags of a word: a letter that stays, and the others with it */

static int stays(uint32_t code, uint32_t flags) {
  return (flags & RVL_OTHER) && (!(flags & RVL_LETTER) || in_ranges(rvl_right_to_left, sizeof rvl_right_to_left / sizeof *rvl_right_to_left, code));
}

/* The flags of all letters of the word that begins at a place; `end` is where it ends, `all` the flags that all letters have. */
static uint32_t word_flags(const window *in, uint32_t start, uint32_t count, uint32_t *end, uint32_t *all) {
  uint32_t any = 0;
  *all = IN_WORD;
  for (*end = start; *end < count && (in->flags[*end] & IN_WORD); ++*end) {
    any |= in->flags[*end];
    *all &= in->flags[*end];
    if (stays(in->chars[*end], in->flags[*end])) any |= STAYS;
  }
  return any & (IN_WORD | STAYS);
}

static int is_latin_word(uint32_t any) { return (any & RVL_LATIN) && !(any & STAYS); }

/* Rule 2c: letters of other alphabets become Latin in Latin words. */
static void replace_lookalikes(window *in, uint32_t count) {
  uint32_t place, end, all, words = 0, latin_words = 0, replaced = 0;
  int64_t balance = 0;
  int mixes = 0, text_is_latin;
  for (place = 0; place < count; place++) {
    balance += !!(in->flags[place] & RVL_LATIN) - !!(in->flags[place] & RVL_OTHER);
    replaced |= in->flags[place] & (RVL_OTHER | RVL_LIKE);
  }
  if (balance < 0 || !replaced) return;
  for (place = 0; place < count; place = end + 1) {
    uint32_t any = word_flags(in, place, count, &end, &all);
    words += end > place;
    if (!is_latin_word(any)) continue;
    latin_words++;
    mixes |= (any & (RVL_OTHER | RVL_LIKE)) != 0;
  }
  text_is_latin = mixes || 2 * latin_words > words;
  for (place = 0; place < count; place = end + 1) {
    uint32_t any = word_flags(in, place, count, &end, &all);
    if (!is_latin_word(any) && !(text_is_latin && end > place && all == RVL_LIKE)) continue;
    for (; place < end; place++) {
      if (in->flags[place] & RVL_LATIN) continue;
      in->chars[place] = in->flags[place] & RVL_LIKE ? latin_for(in->chars[place]) : RVL_UNKNOWN_LETTER;
      in->flags[place] = (uint16_t)flags_of(in->chars[place]);
    }
  }
}

static int is_symbol(uint32_t code) { return code >= rvl_symbols[0] && in_ranges(rvl_symbols, sizeof rvl_symbols / sizeof *rvl_symbols, code); }

/* Whether a code point is a letter or a digit. */
static int is_single(uint32_t code, uint32_t flags) { return (flags & RVL_LETTER) || (code >= '0' && code <= '9'); }

static int single_at(const window *in, uint32_t place, uint32_t count) { return place < count && is_single(in->chars[place], in->flags[place]); }

/* Whether a separator stands between single letters (rule 2d). */
static int is_between(const window *in, uint32_t place, uint32_t count) {
  return place >= 1 && place + 1 < count && (in->flags[place - 1] & in->flags[place + 1] & RVL_LETTER) && !single_at(in, place, count) &&
         (place < 2 || !single_at(in, place - 2, count)) && !single_at(in, place + 2, count);
}

/* The order of separators: white space, spaced scripts, then the unspaced ones, each by code point; signs and symbols, as one, come last. */
static uint32_t separator_rank(const window *in, uint32_t place) {
  uint32_t code = in->chars[place], flags = in->flags[place] & UNSPACED, rank = code == 0x20 ? 0 : 1;
  if (code != 0x20 && (is_symbol(code) || in_ranges(rvl_signs, sizeof rvl_signs / sizeof *rvl_signs, code))) return (5u << BITS) + 1;
  if (flags) rank = flags & RVL_HAN ? 2 : flags & RVL_KANA ? 3 : 4;
  return (rank << BITS | code) + 1;
}

/* Rules 2d and 2e: join spread words, and drop letters behind two like them. */
static uint32_t join_spread(window *in, uint32_t count) {
  uint32_t place, kept = 0, spread = 0, first = 0, second = 0, flags_before = 0, flags_two_before = 0;
  for (place = 1; place + 5 < count; place++) {
    uint32_t rank;
    if (!is_between(in, place, count) || !is_between(in, place + 2, count) || !is_between(in, place + 4, count)) continue;
    rank = separator_rank(in, place);
    if (rank > spread && rank == separator_rank(in, place + 2) && rank == separator_rank(in, place + 4)) spread = rank;
  }
  for (place = 0; place < count; place++) {
    uint32_t code = in->chars[place], flags = in->flags[place];
    int repeats = place > 1 && (flags & RVL_LETTER) && code == first && code == second, dropped = 0;
    if (!is_single(code, flags) && place >= 1 && place + 1 < count) {
      /* What is left of the place may be overwritten already. */
      dropped = spread && is_single(first, flags_before) && single_at(in, place + 1, count) && !is_single(second, flags_two_before) &&
                !single_at(in, place + 2, count) && separator_rank(in, place) == spread;
      dropped |= (flags_before & in->flags[place + 1] & RVL_LETTER) && is_symbol(code);
    }
    second = first;
    first = code;
    flags_two_before = flags_before;
    flags_before = flags;
    if (repeats || dropped) continue;
    in->chars[kept] = code;
    in->flags[kept++] = (uint16_t)flags;
  }
  return kept;
}

/* Rules 1 and 2 for the code points in `chars`; returns how many are left. */
static uint32_t normalize(window *in, uint32_t count) {
  const uint32_t version = in->contract, dropped = version == 1 ? RVL_INVISIBLE : RVL_IGNORED;
  uint32_t place, kept = 0;
  for (place = 0; place < count; place++) {
    uint32_t code = sanitized(in->chars[place]), flags = flags_of(code);
    if (flags & dropped) continue;
    if (version > 1 && (flags & (RVL_SEPARATOR | RVL_FORM))) {
      code = flags & RVL_SEPARATOR ? 0x20 : form_target(code);
      flags = flags_of(code);
    }
    in->chars[kept] = code;
    in->flags[kept++] = (uint16_t)flags;
  }
  if (version == 1) return kept;
  if (in->letters_only) keep_letters(in, kept);
  replace_lookalikes(in, kept);
  return join_spread(in, kept);
}

/* --- Words (rules 3 to 5) ------------------------------------------------------------------------------------------------------------------ */

/* Characters that are cut into words, as far as they are cut. */
typedef struct {
  const uint32_t *chars;
  const uint16_t *flags; /* null: to be looked up */
  uint32_t count, word_length;
  uint32_t at, end, length, step; /* the rest of the run of one script that is being cut, and how */
} cutter;

static uint32_t flags_at(const cutter *of, uint32_t place) { return of->flags ? of->flags[place] : flags_of(of->chars[place]); }

/* The next word; 0 at the end. A piece without a character that the one before it lacks is left out. */
static int next_piece(cutter *of, piece *found) {
  if (of->at >= of->end) {
    uint32_t script;
    while (of->end < of->count && flags_at(of, of->end) & RVL_SEPARATOR) of->end++;
    if (of->end >= of->count) return 0;
    of->at = of->end;
    script = flags_at(of, of->at) & UNSPACED;
    do of->end++;
    while (of->end < of->count && (flags_at(of, of->end) & (UNSPACED | RVL_SEPARATOR)) == script);
    of->length = of->step = of->word_length;
    if (script) of->length = script == RVL_HAN ? 1 : script == RVL_KANA ? 2 : SEA_PIECE;
    if (script) of->step = script == RVL_SEA ? 3 : 1;
  }
  found->start = of->at;
  found->length = of->length < of->end - of->at ? of->length : of->end - of->at;
  of->at = of->length < of->end - of->at ? of->at + of->step : of->end;
  return 1;
}

/* Cut the characters into slots; returns how many are in use. */
static uint32_t cut_words(rvl *e, uint32_t count) {
  uint32_t found = 0;
  cutter of;
  clear(&of, sizeof of);
  of.chars = e->window.chars;
  of.flags = e->window.flags;
  of.count = count;
  of.word_length = e->set[WORD_LENGTH];
  while (found < e->set[MAX_WORDS] && next_piece(&of, e->pieces + found)) found++;
  return found;
}

/* --- Layers -------------------------------------------------------------------------------------------------------------------------------- */

enum { NOTHING, GELU, TANH };

/* Round numbers to integers of at most `limit`, with zeros up to `stride`; returns what an integer stands for. */
INLINE float to_integers(const float *values, int count, int stride, int limit, int16_t *to) {
  float_bits top;
  float times;
  int place;
  top.i = 0;
  /* The bits of positive floats have the order of the floats. */
  for (place = 0; place < count; place++) {
    float_bits value;
    value.f = values[place];
    value.i &= 0x7FFFFFFF;
    top.i = value.i > top.i ? value.i : top.i;
  }
  for (place = 0; place < stride; place++) to[place] = 0;
  if (!(top.f > 1e-30f && top.f < 1e30f)) return 0.0f;
  times = (float)limit / top.f;
  for (place = 0; place < count; place++) {
    float_bits value;
    int32_t number;
    value.f = values[place] * times + 12582912.0f; /* 1.5 * 2^23: the last binary digits are now the nearest integer */
    number = value.i - 0x4B400000;
    number = number > limit ? limit : number;
    to[place] = (int16_t)(number < -limit ? -limit : number);
  }
  return top.f / (float)limit;
}

/* Sums of products of 8-bit weights and integers, for `vectors` vectors of outputs and `words` words: both are constants where this is
 * inlined, and their product is at most 8, so that the sums stay in registers. Weights stand in blocks of PACK outputs, which hold two
 * inputs of each output side by side: so a vector of weights is multiplied with the same two inputs, and added up in its place. */
typedef void dot(const int8_t *w, size_t block, int first, const int16_t *x, int x_step, int stride, int32_t *sums, int step, int vectors, int words);

#define DOT(name, attribute, SUM, WEIGHT, INPUT, OUTS, ZERO, WEIGHTS, INPUTS, MADD, STORE)                                            \
  attribute INLINE void name(const int8_t *w, size_t block, int first, const int16_t *x, int x_step, int stride, int32_t *sums, \
                             int step, int vectors, int words) {                                                              \
    SUM s[8];                                                                                                                 \
    WEIGHT row[4];                                                                                                            \
    int n, v, word;                                                                                                           \
    for (n = 0; n < vectors * words; n++) s[n] = ZERO;                                                                        \
    for (n = 0; n < stride; n += 2) {                                                                                         \
      for (v = 0; v < vectors; v++)                                                                                           \
        row[v] = WEIGHTS(w + (size_t)((first + v * OUTS) / PACK) * block + (first + v * OUTS) % PACK * 2 + n * PACK);         \
      for (word = 0; word < words; word++) {                                                                                  \
        const INPUT two =  INPUTS(x + word * x_step + n);                                                                     \
        for (v = 0; v < vectors; v++) s[word * vectors + v] = MADD(s[word * vectors + v], row[v], two);                       \
      }                                                                                                                       \
    }                                                                                                                         \
    for (word = 0; word < words; word++)                                                                                      \
      for (v = 0; v < vectors; v++) STORE(sums + word * step + v * OUTS, s[word * vectors + v]);                              \
  }

#if defined(__GNUC__)
INLINE int32_t two_of(const int16_t *at) {
  int32_t both;
  __builtin_memcpy(&both, at, 4);
  return both;
}
#endif

#if defined(__x86_64__) && defined(__GNUC__)
#define X86_WEIGHTS_128(at) _mm_srai_epi16(_mm_unpacklo_epi8(_mm_setzero_si128(), _mm_loadl_epi64((const __m128i *)(at))), 8)
#define X86_INPUTS_128(at) _mm_set1_epi32(two_of(at))
#define X86_MADD_128(sum, w, x) _mm_add_epi32(sum, _mm_madd_epi16(w, x))
#define X86_STORE_128(to, sum) _mm_storeu_si128((__m128i *)(to), sum)
DOT(dot_plain, , __m128i, __m128i, __m128i, 4, _mm_setzero_si128(), X86_WEIGHTS_128, X86_INPUTS_128, X86_MADD_128, X86_STORE_128)
#elif defined(__wasm_simd128__)
#define WASM_MADD(sum, w, x) wasm_i32x4_add(sum, wasm_i32x4_dot_i16x8(w, x))
DOT(dot_plain, , v128_t, v128_t, v128_t, 4, wasm_i32x4_splat(0), wasm_i16x8_load8x8, wasm_v128_load32_splat, WASM_MADD, wasm_v128_store)
#elif defined(__aarch64__) && defined(__GNUC__) && !defined(__ARM_BIG_ENDIAN)
/* The sums of even and odd inputs stay apart until the end. */
static const int32x4x2_t NO_SUMS = {{{0, 0, 0, 0}, {0, 0, 0, 0}}};
INLINE int32x4x2_t neon_madd(int32x4x2_t sum, int16x8_t w, int16x8_t x) {
  sum.val[0] = vmlal_s16(sum.val[0], vget_low_s16(w), vget_low_s16(x));
  sum.val[1] = vmlal_s16(sum.val[1], vget_high_s16(w), vget_high_s16(x));
  return sum;
}
INLINE void neon_store(int32_t *to, int32x4x2_t sum) {
  vst1_s32(to, vpadd_s32(vget_low_s32(sum.val[0]), vget_high_s32(sum.val[0])));
  vst1_s32(to + 2, vpadd_s32(vget_low_s32(sum.val[1]), vget_high_s32(sum.val[1])));
}
#define NEON_WEIGHTS(at) vmovl_s8(vld1_s8(at))
#define NEON_INPUTS(at) vreinterpretq_s16_s32(vdupq_n_s32(two_of(at)))
DOT(dot_plain, , int32x4x2_t, int16x8_t, int16x8_t, 4, NO_SUMS, NEON_WEIGHTS, NEON_INPUTS, neon_madd, neon_store)
#else
typedef struct {
  int32_t at[4];
} four;
static const four NO_SUMS = {{0, 0, 0, 0}};
INLINE four plain_madd(four sum, const int8_t *w, const int16_t *x) {
  int n;
  for (n = 0; n < 4; n++) sum.at[n] += (int32_t)w[2 * n] * x[0] + (int32_t)w[2 * n + 1] * x[1];
  return sum;
}
#define PLAIN_AT(at) (at)
#define PLAIN_STORE(to, sum) (*(four *)(void *)(to) = (sum))
DOT(dot_plain, , four, const int8_t *, const int16_t *, 4, NO_SUMS, PLAIN_AT, PLAIN_AT, plain_madd, PLAIN_STORE)
#endif

#ifdef RVL_WIDE
#define FOR_AVX2 __attribute__((target("avx2")))
#define X86_WEIGHTS_256(at) _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)(at)))
#define X86_INPUTS_256(at) _mm256_set1_epi32(two_of(at))
#define X86_MADD_256(sum, w, x) _mm256_add_epi32(sum, _mm256_madd_epi16(w, x))
#define X86_STORE_256(to, sum) _mm256_storeu_si256((__m256i *)(to), sum)
DOT(dot_avx2, FOR_AVX2, __m256i, __m256i, __m256i, 8, _mm256_setzero_si256(), X86_WEIGHTS_256, X86_INPUTS_256, X86_MADD_256, X86_STORE_256)

#define FOR_VNNI __attribute__((target("avx512f,avx512bw,avx512vl,avx512vnni")))
#define X86_WEIGHTS_512(at) _mm512_cvtepi8_epi16(_mm256_loadu_si256((const __m256i *)(at)))
#define X86_INPUTS_512(at) _mm512_set1_epi32(two_of(at))
#define X86_STORE_512(to, sum) _mm512_storeu_si512(to, sum)
DOT(dot_vnni, FOR_VNNI, __m512i, __m512i, __m512i, 16, _mm512_setzero_si512(), X86_WEIGHTS_512, X86_INPUTS_512, _mm512_dpwssd_epi32, X86_STORE_512)
#endif

/* 8-bit weights of 4-bit ones: of each LANES weights, the low digits hold the first half, the high digits the second, 8 too large both. */
INLINE void unpack(const uint8_t *restrict packed, size_t count, int8_t *restrict to) {
  const int half = LANES / 2;
  size_t at;
  int n;
  for (at = 0; at < count; at += LANES, to += LANES, packed += half)
    for (n = 0; n < half; n++) {
      to[n] = (int8_t)((packed[n] & 15) - 8);
      to[n + half] = (int8_t)((packed[n] >> 4) - 8);
    }
}

INLINE void activate(int kind, float *values, int count) {
  int n;
  if (kind == GELU)
    for (n = 0; n < count; n++) values[n] = gelu(values[n]);
  if (kind == TANH)
    for (n = 0; n < count; n++) values[n] = tanh_of(values[n]);
}

/* A dense layer for up to TILE words: `narrow` holds their inputs, rows of e->width, with their scales; `wide` gets the outputs. A vector
 * has `outs` outputs. */
INLINE void dense_body(rvl *e, const layer *of, const float *scales, int words, int activation, dot *sum, int outs) {
  const int stride = of->stride, width = e->width, outputs = of->outputs, all = (outputs + PACK - 1) / PACK * PACK;
  const size_t block = (size_t)stride * PACK;
  const float *restrict scale = of->scales, *restrict bias = of->bias;
  int out, count, word;
  for (out = 0; out < all; out += count) {
    const int8_t *w = (const int8_t *)of->weights + (size_t)(out / PACK) * block;
    const int several = words > 2 ? 2 : 4, first = out % PACK;
    count = out + several * outs <= all ? several * outs : outs;
    if (of->bits == 4) {
      if (!first) unpack(of->weights + (size_t)(out / PACK) * block / 2, (size_t)((count + PACK - 1) / PACK) * block, e->unpacked);
      w = e->unpacked;
    }
    if (count == outs)
      for (word = 0; word < words; word++) sum(w, block, first, e->narrow + word * width, 0, stride, e->sums + word * width + out, 0, 1, 1);
    else if (words == 1)
      sum(w, block, first, e->narrow, 0, stride, e->sums + out, 0, 4, 1);
    else if (words == 2)
      sum(w, block, first, e->narrow, width, stride, e->sums + out, width, 4, 2);
    else
      sum(w, block, first, e->narrow, width, stride, e->sums + out, width, 2, 4);
  }
  for (word = 0; word < words; word++) {
    const int32_t *restrict sums = e->sums + word * width;
    float *restrict to = e->wide + word * width;
    for (out = 0; out < outputs; out++) to[out] = (float)sums[out] * (scale[out] * scales[word]) + bias[out];
    activate(activation, to, outputs);
  }
}

/* Add the rows of a layer that belong to the binary digits of code points: to `sums`, from the given character place of the layer on. */
INLINE void add_digits_body(const layer *of, uint32_t code, int place, int32_t *restrict sums) {
  int digit, n;
  for (digit = 0; digit < BITS; digit++) {
    size_t row = (size_t)(place * BITS + digit) * (size_t)of->stride;
    if (!(code >> (BITS - 1 - digit) & 1)) continue;
    if (of->bits == 8) {
      const int8_t *restrict w = (const int8_t *)of->weights + row;
      for (n = 0; n < of->stride; n++) sums[n] += w[n];
    } else {
      const uint8_t *restrict w = of->weights + row / 2;
      const int half = LANES / 2;
      int32_t *restrict to = sums;
      for (; to < sums + of->stride; to += LANES, w += half) {
        for (n = 0; n < half; n++) to[n] += (int32_t)(w[n] & 15) - 8;
        for (n = 0; n < half; n++) to[n + half] += (int32_t)(w[n] >> 4) - 8;
      }
    }
  }
}

/* Round the outputs of the last layer for the next one, or for what is kept. */
INLINE void narrow_body(rvl *e, int count, int limit, int words, float *scales) {
  int word, stride = (count + LANES - 1) / LANES * LANES;
  for (word = 0; word < words; word++)
    scales[word] = to_integers(e->wide + word * e->width, count, stride, limit, e->narrow + word * e->width);
  /* Three words are multiplied as if they were TILE. */
  for (; word > 2 && word < TILE; word++) to_integers(e->wide, 0, stride, limit, e->narrow + word * e->width);
}

/* Each word and its neighbours, weighted (a depthwise convolution of three), into `wide`. Null: beyond the ends. */
INLINE void mix_body(float *restrict to, const float *weights, int count, const int16_t *const rows[3], const float scales[3]) {
  int n, side;
  for (n = 0; n < count; n++) to[n] = 0.0f;
  for (side = 0; side < 3; side++) {
    const int16_t *row = rows[side];
    const float *w = weights + side * count, scale = scales[side];
    if (row)
      for (n = 0; n < count; n++) to[n] += (float)row[n] * scale * w[n];
  }
}

/* Add the row of an n-gram: whole vectors, if the table goes on behind the row; what they read too much is not looked at. */
INLINE void add_row(const rvl *e, uint32_t row, int32_t *restrict sums) {
  const size_t size = (size_t)e->columns + 1, start = row * size, lanes = (size + ROW - 1) / ROW * ROW;
  const int8_t *restrict from = e->table + start;
  size_t n;
  int lane;
  if (start + lanes > e->table_size)
    for (n = 0; n < size; n++) sums[n] += from[n];
  else
    for (n = 0; n < lanes; n += ROW)
      for (lane = 0; lane < ROW; lane++) sums[n + (size_t)lane] += from[n + (size_t)lane];
}

/* The hashes of the n-grams that begin with the first of `count` characters, 0 being a mark; returns how many there are. */
INLINE uint32_t hashes_from(const uint32_t *chars, uint32_t count, uint32_t shortest, uint32_t *hashes) {
  uint32_t hash = 1, size, found = 0;
  for (size = 1; size <= count; size++) {
    const uint32_t code = chars[size - 1];
    hash = (hash * FACTOR + code) % PRIME;
    /* Not marks alone. */
    if (size >= shortest && (chars[0] || (size > 1 && code) || size > 2)) hashes[found++] = hash;
    if (size > 1 && !code) break; /* a mark would be inside the next one */
  }
  return found;
}

/* Add the rows of all n-grams of the folded characters. */
INLINE void add_ngrams_body(const rvl *e, uint32_t count, int32_t *sums) {
  const uint32_t shortest = e->set[SHORTEST], longest = e->set[LONGEST], books = e->set[CODEBOOKS], buckets = e->set[BUCKETS];
  const uint64_t inverse = ((uint64_t)1 << 32) / buckets + 1; /* exact for what is below 2^16 */
  uint32_t start, place, book, found, chars[LONGEST_NGRAM], hashes[LONGEST_NGRAM];
  /* A mark stands before the text and behind it: place 0 is the first of them. */
  for (start = 0; start < count + 2; start++) {
    const uint32_t size = count + 2 - start < longest ? count + 2 - start : longest;
    for (place = 0; place < size; place++) chars[place] = start + place && start + place <= count ? e->window.chars[start + place - 1] : 0;
    found = hashes_from(chars, size, shortest, hashes);
    for (place = 0; place < found; place++) {
      const uint32_t hash = hashes[place];
      if (!books) add_row(e, hash - (uint32_t)(hash * inverse >> 32) * buckets, sums);
      for (book = 0; book < books; book++) add_row(e, 256 * book + e->codes[(size_t)hash * books + book], sums);
    }
  }
}

/* The same, compiled for the least of all processors, and for wider ones. */
#define DENSE(suffix, attribute, outs)                                                                                      \
  attribute static void dense_##suffix(rvl *e, const layer *of, const float *scales, int words, int activation) {           \
    dense_body(e, of, scales, words, activation, dot_##suffix, outs);                                                       \
  }
#define KERNELS(suffix, attribute)                                                                                          \
  attribute static void add_digits_##suffix(const layer *of, uint32_t code, int place, int32_t *sums) {                     \
    add_digits_body(of, code, place, sums);                                                                                 \
  }                                                                                                                         \
  attribute static void narrow_##suffix(rvl *e, int count, int limit, int words, float *scales) {                           \
    narrow_body(e, count, limit, words, scales);                                                                            \
  }                                                                                                                         \
  attribute static void mix_##suffix(float *to, const float *w, int count, const int16_t *const rows[3], const float s[3]) {  \
    mix_body(to, w, count, rows, s);                                                                                        \
  }                                                                                                                         \
  attribute static void add_ngrams_##suffix(const rvl *e, uint32_t count, int32_t *sums) { add_ngrams_body(e, count, sums); }

DENSE(plain, , 4)
KERNELS(plain, )
#ifdef RVL_WIDE
DENSE(avx2, FOR_AVX2, 8)
DENSE(vnni, FOR_VNNI, 16)
KERNELS(avx2, FOR_AVX2)
#define CALL(name, e, ...) ((e)->processor ? name##_avx2(__VA_ARGS__) : name##_plain(__VA_ARGS__))
static void dense(rvl *e, const layer *of, const float *scales, int words, int activation) {
  (e->processor == VNNI ? dense_vnni : e->processor == AVX2 ? dense_avx2 : dense_plain)(e, of, scales, words, activation);
}
#else
#define CALL(name, e, ...) name##_plain(__VA_ARGS__)
#define dense dense_plain
#endif

/* --- Words to vectors ---------------------------------------------------------------------------------------------------------------------- */

/* The float outputs of a layer that adds rows. */
static void from_sums(const layer *of, const int32_t *sums, float *to) {
  int n;
  for (n = 0; n < of->outputs; n++) to[n] = (float)sums[n] * of->scales[n] + of->bias[n];
}

static void clear_sums(int32_t *sums, int count) {
  int n;
  for (n = 0; n < count; n++) sums[n] = 0;
}

/* The embedding of up to TILE words, in rows of `wide`. */
static void embed_words(rvl *e, const piece *const *words, int count) {
  float scales[TILE];
  int word, n, place;
  for (word = 0; word < count; word++) {
    const uint32_t *codes = e->window.chars + words[word]->start;
    float *to = e->wide + word * e->width;
    if (!e->set[HAS_EMBEDDING]) { /* the bits themselves */
      for (place = 0; place < (int)e->set[WORD_LENGTH] * BITS; place++) {
        uint32_t at = (uint32_t)place / BITS;
        to[place] = at < words[word]->length && codes[at] >> (BITS - 1 - place % BITS) & 1 ? 1.0f : 0.0f;
      }
      continue;
    }
    clear_sums(e->sums, e->embedding[0].stride);
    for (n = 0; n < (int)words[word]->length; n++) CALL(add_digits, e, &e->embedding[0], codes[n], n, e->sums);
    from_sums(&e->embedding[0], e->sums, to);
    activate(GELU, to, e->embedding[0].outputs);
  }
  if (!e->set[HAS_EMBEDDING]) return;
  for (n = 1; n < 3; n++) {
    CALL(narrow, e, e, e->embedding[n].inputs, e->embedding[n].limit, count, scales);
    dense(e, &e->embedding[n], scales, count, n == 1 ? GELU : TANH);
  }
}

/* What the head reads of up to TILE words, as far as each can be read by itself: rows of `narrow` with their scales. */
static void read_words(rvl *e, const piece *const *words, int count, float *scales) {
  int size = e->vector_size;
  embed_words(e, words, count);
  if (e->set[HEAD] != LINEAR) {
    CALL(narrow, e, e, size, e->word.limit, count, scales);
    dense(e, &e->word, scales, count, GELU);
    size = e->word.outputs;
  }
  if (e->set[HEAD] == CNN) {
    CALL(narrow, e, e, size, e->region.limit, count, scales);
    dense(e, &e->region, scales, count, GELU);
    size = e->region.outputs;
  }
  CALL(narrow, e, e, size, LARGEST, count, scales);
}

/* Write a word as UTF-16; returns whether it fits into a key. */
static int make_key(const rvl *e, const piece *word, uint16_t *key) {
  uint32_t place, units = 0;
  for (place = 0; place < KEY; place++) key[place] = 0;
  for (place = 0; place < word->length; place++) {
    uint32_t code = e->window.chars[word->start + place];
    if (units + 1 + (code > 0xFFFF) > KEY) return 0;
    if (code > 0xFFFF) key[units++] = (uint16_t)(0xD7C0 + (code >> 10));
    key[units++] = (uint16_t)(code > 0xFFFF ? 0xDC00 + (code & 0x3FF) : code);
  }
  return e->sets > 0;
}

static uint32_t set_of(const rvl *e, const uint16_t *key) {
  uint32_t hash = 1, place;
  for (place = 0; place < KEY; place++) hash = (hash ^ key[place]) * 0x01000193u ^ hash >> 15;
  return (uint32_t)((uint64_t)hash * e->sets >> 32);
}

static int is_key(const uint16_t *one, const uint16_t *other) {
  uint32_t place, differs = 0;
  for (place = 0; place < KEY; place++) differs |= (uint32_t)(one[place] ^ other[place]);
  return !differs;
}

static void copy_row(int16_t *to, const int16_t *from, int count) {
  int n;
  for (n = 0; n < count; n++) to[n] = from[n];
}

/* Where a word is kept, or the place of the one that was not used for longest, which it may take. */
static size_t kept_at(const rvl *e, const uint16_t *key, int *found) {
  size_t first = (size_t)set_of(e, key) * WAYS, way, oldest = first;
  for (way = first; way < first + WAYS; way++) {
    *found = is_key(e->keys + way * KEY, key);
    if (*found) return way;
    if (e->clock - e->ages[way] > e->clock - e->ages[oldest]) oldest = way;
  }
  return oldest;
}

/* Compute the rows of words that are not kept, and keep them. */
static void read_new(rvl *e, const uint32_t *places, int count) {
  const piece *words[TILE];
  uint16_t key[KEY];
  float scales[TILE];
  int word, found;
  for (word = 0; word < count; word++) words[word] = e->pieces + places[word];
  read_words(e, words, count, scales);
  for (word = 0; word < count; word++) {
    const int16_t *row = e->narrow + word * e->width;
    copy_row(e->rows + (size_t)places[word] * (size_t)e->row_size, row, e->row_size);
    e->row_scales[places[word]] = scales[word];
    if (make_key(e, words[word], key)) {
      size_t way = kept_at(e, key, &found);
      copy_row((int16_t *)e->keys + way * KEY, (const int16_t *)key, KEY);
      copy_row(e->kept + way * (size_t)e->row_size, row, e->row_size);
      e->kept_scales[way] = scales[word];
      e->ages[way] = e->clock;
    }
  }
}

/* Fill `rows` for all words of a text. */
static void read_rows(rvl *e, uint32_t words) {
  uint32_t waiting[TILE], place;
  uint16_t key[KEY];
  int count = 0, found;
  e->clock++;
  for (place = 0; place < words; place++) {
    if (make_key(e, e->pieces + place, key)) {
      size_t way = kept_at(e, key, &found);
      if (found) {
        e->ages[way] = e->clock;
        copy_row(e->rows + (size_t)place * (size_t)e->row_size, e->kept + way * (size_t)e->row_size, e->row_size);
        e->row_scales[place] = e->kept_scales[way];
        continue;
      }
    }
    waiting[count++] = place;
    if (count == TILE) {
      read_new(e, waiting, count);
      count = 0;
    }
  }
  if (count) read_new(e, waiting, count);
}

/* --- Heads ------------------------------------------------------------------------------------------------------------------------------------ */

static int16_t *row_of(const rvl *e, uint32_t place) { return e->rows + (size_t)place * (size_t)e->row_size; }

/* Replace rows by `wide` after a layer: rows `start` to `start + count`. */
static void store_rows(rvl *e, uint32_t start, int count, int size) {
  float scales[TILE];
  int word;
  CALL(narrow, e, e, size, LARGEST, count, scales);
  for (word = 0; word < count; word++) {
    copy_row(row_of(e, start + (uint32_t)word), e->narrow + word * e->width, size);
    e->row_scales[start + (uint32_t)word] = scales[word];
  }
}

/* One block: each word, plus a dense layer over its neighbours. */
static void read_block(rvl *e, uint32_t block, uint32_t words) {
  const layer *of = &e->pointwise[block];
  const int size = of->outputs;
  float scales[TILE], scale_before = 0.0f;
  uint32_t start;
  int word, count, n;
  for (start = 0; start < words; start += TILE) {
    count = words - start < TILE ? (int)(words - start) : TILE;
    for (word = 0; word < count; word++) {
      uint32_t place = start + (uint32_t)word;
      const int16_t *rows[3];
      float near[3];
      rows[0] = !place ? 0 : word ? row_of(e, place - 1) : e->before;
      near[0] = !place ? 0.0f : word ? e->row_scales[place - 1] : scale_before;
      rows[1] = row_of(e, place);
      near[1] = e->row_scales[place];
      rows[2] = place + 1 < words ? row_of(e, place + 1) : 0;
      near[2] = place + 1 < words ? e->row_scales[place + 1] : 0.0f;
      CALL(mix, e, e->wide + word * e->width, e->depthwise[block], size, rows, near);
    }
    /* The next tile still needs the last row of this one. */
    copy_row(e->before, row_of(e, start + (uint32_t)count - 1), size);
    scale_before = e->row_scales[start + (uint32_t)count - 1];
    CALL(narrow, e, e, size, of->limit, count, scales);
    dense(e, of, scales, count, GELU);
    for (word = 0; word < count; word++) {
      const int16_t *row = row_of(e, start + (uint32_t)word);
      const float scale = e->row_scales[start + (uint32_t)word];
      float *to = e->wide + word * e->width;
      for (n = 0; n < size; n++) to[n] += (float)row[n] * scale;
    }
    store_rows(e, start, count, size);
  }
}

/* The larger numbers of each pair of neighbours; an odd last one stays. Returns how many rows are left. */
static uint32_t halve(rvl *e, uint32_t words, int size) {
  uint32_t place;
  int n;
  for (place = 0; place < words; place += 2) {
    const int16_t *one = row_of(e, place), *other = row_of(e, place + 1 < words ? place + 1 : place);
    const float scale = e->row_scales[place], scale_other = e->row_scales[place + 1 < words ? place + 1 : place];
    for (n = 0; n < size; n++) {
      float a = (float)one[n] * scale, b = (float)other[n] * scale_other;
      e->wide[n] = a > b ? a : b;
    }
    store_rows(e, place / 2, 1, size);
  }
  return (words + 1) / 2;
}

/* The mean of all rows, and behind it, but for the linear head, their largest numbers; into `wide`. */
static void pool(rvl *e, uint32_t words, int size, int has_most) {
  float *mean = e->wide, *most = e->wide + size;
  uint32_t place;
  int n;
  for (n = 0; n < size * (1 + has_most); n++) mean[n] = 0.0f;
  for (place = 0; place < words; place++) {
    const int16_t *row = row_of(e, place);
    const float scale = e->row_scales[place];
    for (n = 0; n < size; n++) {
      float value = (float)row[n] * scale;
      mean[n] += value;
      if (has_most) most[n] = !place || value > most[n] ? value : most[n];
    }
  }
  for (n = 0; n < size && words; n++) mean[n] /= (float)words;
}

/* The logits of a text's words, in `answers`. */
static void word_logits(rvl *e, uint32_t words) {
  uint32_t block;
  float scale;
  int n, size = e->set[HEAD] == LINEAR ? e->vector_size : e->word.outputs;
  read_rows(e, words);
  if (e->set[HEAD] == CNN) {
    size = e->region.outputs;
    for (block = 0; block < e->set[BLOCKS]; block++) {
      if (block) words = halve(e, words, size);
      read_block(e, block, words);
    }
  }
  pool(e, words, size, e->set[HEAD] != LINEAR);
  CALL(narrow, e, e, e->logits.inputs, e->logits.limit, 1, &scale);
  dense(e, &e->logits, &scale, 1, NOTHING);
  for (n = 0; n < e->logits.outputs; n++) e->answers[n] = e->wide[n];
}

/* --- N-grams ---------------------------------------------------------------------------------------------------------------------------------- */

/* A character as n-grams read it: in lower case, or as a plain letter. */
static uint32_t folded(uint32_t code, int plain) {
  uint32_t page;
  int32_t level;
  if (code >= RVL_FOLD_END) return code;
  page = rvl_fold_pages[(plain ? (RVL_FOLD_END + RVL_FOLD_PAGE) / RVL_FOLD_PAGE : 0) + code / RVL_FOLD_PAGE];
  level = (plain ? rvl_fold_levels_1 : rvl_fold_levels_0)[rvl_fold_places[page * RVL_FOLD_PAGE + code % RVL_FOLD_PAGE]];
  return level >= RVL_PLAIN ? (uint32_t)(level - RVL_PLAIN) : (uint32_t)((int32_t)code + level);
}

/* The same of a character of the window, with 0 for separators. */
static uint32_t folded_at(const rvl *e, uint32_t place, int plain) {
  return e->window.flags[place] & RVL_SEPARATOR ? 0 : folded(e->window.chars[place], plain);
}

/* Add the logits of the n-grams to `answers`. The characters are folded in place. */
static void ngram_logits(rvl *e, uint32_t count) {
  float scale, length;
  uint32_t place;
  int n;
  for (place = 0; place < count; place++) e->window.chars[place] = folded_at(e, place, e->set[PLAIN_LETTERS] != 0);
  clear_sums(e->sums, (int)rounded((uint32_t)e->columns + 1, ROW));
  CALL(add_ngrams, e, e, count, e->sums);
  length = (float)(1.0 / sqrt_of((double)(e->sums[e->columns] > 1 ? e->sums[e->columns] : 1)));
  for (n = 0; n < e->columns; n++) e->wide[n] = (float)e->sums[n] * length * e->ngram_scales[n];
  if (e->set[RANK]) {
    CALL(narrow, e, e, e->columns, e->projection.limit, 1, &scale);
    dense(e, &e->projection, &scale, 1, NOTHING);
  }
  for (n = 0; n < (int)e->set[LABELS]; n++) e->answers[n] += e->ngram_bias ? e->wide[n] + e->ngram_bias[n] : e->wide[n];
}

/* --- Meaning --------------------------------------------------------------------------------------------------------------------------------- */

/* The number of a word in the table, or NO_WORD. Letters come as their numbers; `without` is the place of one that is left out. */
static uint32_t find_key(const rvl *e, const uint32_t *letters, uint32_t length, uint32_t without) {
  uint32_t sums[4] = {0, 0, 0, 0}, place, root, row, stored;
  const uint8_t *factor = rvl_letter_factors;
  for (place = 0; place < length; place++) {
    if (place == without) continue;
    for (root = 0; root < 4; root++) sums[root] += letters[place] * *factor++;
  }
  row = (sums[1] + e->displacement[sums[0] % e->displacements] * (sums[2] % STEPS + 1)) % e->hash_rows;
  stored = e->hash_row[3 * row] | (uint32_t)e->hash_row[3 * row + 1] << 8 | (uint32_t)e->hash_row[3 * row + 2] << 16;
  return stored >> 14 == sums[3] % FINGERPRINTS + 1 ? stored & NO_WORD : NO_WORD;
}

/* The same, but a word that is not there has the smallest number that it has without one of its letters. */
static uint32_t find_word(const rvl *e, const uint32_t *letters, uint32_t length) {
  uint32_t found = find_key(e, letters, length, length), without;
  if (found != NO_WORD || length < 2) return found;
  for (without = 0; without < length; without++) {
    const uint32_t number = find_key(e, letters, length, without);
    found = number < found ? number : found;
  }
  return found;
}

/* The sum of the vectors of a window's words, scaled to length 1; returns whether there is one. `chars` stays as it is. */
static int text_vector(const rvl *e, uint32_t count, float *to) {
  const uint32_t most = e->set[MAX_CHARS] / CHARS_PER_WORD ? e->set[MAX_CHARS] / CHARS_PER_WORD : 1;
  uint32_t letters[LONGEST_WORD], length = 0, words = 0, place;
  int32_t sums[DIMENSION];
  double square = 0.0, length_of;
  int n, book;
  clear_sums(sums, DIMENSION);
  for (place = 0; place <= count && words < most; place++) {
    const uint32_t code = place < count ? folded_at(e, place, 1) : 0;
    if (code && code < RVL_FOLD_END && flags_of(code) & IN_WORD) {
      if (length < LONGEST_WORD) letters[length] = code * LETTER_SPREAD % LETTER_NUMBERS + 1;
      length++;
      continue;
    }
    if (length && length <= LONGEST_WORD) {
      const uint32_t number = find_word(e, letters, length);
      for (book = 0; book < SUBSPACES && number != NO_WORD; book++) {
        const int8_t *part = e->books + (256 * book + e->word_codes[SUBSPACES * number + (uint32_t)book]) * PART;
        for (n = 0; n < PART; n++) sums[PART * book + n] += part[n];
      }
    }
    words += length > 0;
    length = 0;
  }
  for (n = 0; n < DIMENSION; n++) square += (double)sums[n] * sums[n];
  length_of = square > 0.0 ? sqrt_of(square) : 1.0;
  for (n = 0; n < DIMENSION; n++) to[n] = (float)(sums[n] / length_of);
  return square > 0.0;
}

/* Add what a window's words mean to `answers`. */
static void meaning_logits(rvl *e, uint32_t count) {
  float scale;
  uint32_t n;
  if (!text_vector(e, count, e->wide)) return;
  CALL(narrow, e, e, DIMENSION, e->meaning.limit, 1, &scale);
  dense(e, &e->meaning, &scale, 1, NOTHING);
  for (n = 0; n < e->set[LABELS]; n++) e->answers[n] += e->wide[n];
}

/* --- Texts -------------------------------------------------------------------------------------------------------------------------------------- */

/* Turn logits into probabilities: a softmax, or a sigmoid each. */
static void to_probabilities(rvl *e, float *values) {
  const uint32_t count = e->set[LABELS];
  double sum = 0.0, *powers = (double *)(void *)e->sums; /* free when the logits are there */
  float most = values[0];
  uint32_t n;
  if (e->set[MULTI_LABEL]) {
    for (n = 0; n < count; n++) {
      double small = exp_of(values[n] < 0 ? (double)values[n] : -(double)values[n]);
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

/* Fill `answers` for the code points in `chars`. */
static void answer_window(rvl *e, uint32_t count) {
  uint32_t n;
  count = normalize(&e->window, count);
  for (n = 0; n < e->set[LABELS]; n++) e->answers[n] = 0.0f;
  /* Before the n-grams, which fold the characters. */
  if (e->set[HEAD] != NGRAMS) word_logits(e, cut_words(e, count));
  if (e->hash_rows) meaning_logits(e, count);
  if (e->set[BUCKETS]) ngram_logits(e, count);
  to_probabilities(e, e->answers);
}

/* The best label but the unknown one. */
static uint32_t best_of(const rvl *e, const float *probabilities) {
  const uint32_t unknown = e->set[UNKNOWN_LABEL];
  uint32_t n, best = unknown == 1 ? 1 : 0;
  for (n = best + 1; n < e->set[LABELS]; n++)
    if (n + 1 != unknown && probabilities[n] > probabilities[best]) best = n;
  return best;
}

static int is_separator(uint32_t code) { return (flags_of(sanitized(code)) & RVL_SEPARATOR) != 0; }

/* Where the window ends that begins in `chars`, for a text that goes on: the contract's "Long texts", 1. */
static uint32_t window_end(const rvl *e, uint32_t left) {
  const uint32_t most = e->set[MAX_CHARS], windows = (left + most - 1) / most, length = (left + windows - 1) / windows;
  uint32_t end = length, first = 0, tries = most - (most + 1) / 2 + 1;
  for (; tries; tries--, end = end < length ? end - 1 : end < most ? end + 1 : length - 1) {
    uint32_t before = e->window.chars[end - 1];
    if (!is_separator(e->window.chars[end])) continue;
    if (before == '.' || before == '!' || before == '?') return end;
    if (!first) first = end;
  }
  return first ? first : length;
}

/* What is done with each window. */
typedef void (*window_task)(rvl *e, uint32_t count);

static void add_answers(rvl *e, uint32_t count) {
  uint32_t n;
  double weight;
  answer_window(e, count);
  if (e->set[MULTI_LABEL]) {
    for (n = 0; n < e->set[LABELS]; n++)
      if (e->answers[n] > e->total[n]) e->total[n] = e->answers[n];
    return;
  }
  weight = e->answers[best_of(e, e->answers)];
  if (weight < 1.1754943508222875e-38) weight = 1.1754943508222875e-38;
  weight *= weight;
  weight *= weight;
  for (n = 0; n < e->set[LABELS]; n++) e->total[n] += weight * e->answers[n];
  e->total_weight += weight;
}

/* Copy up to max_chars + 1 code points into `chars`; returns how many there were. */
static uint32_t fill(rvl *e, reader *from) {
  uint32_t count = 0;
  while (count <= e->set[MAX_CHARS] && next(from, e->window.chars + count)) count++;
  return count;
}

/* Cut a text into windows; returns how many there are. */
static uint32_t each_window(rvl *e, reader text, window_task task) {
  const uint32_t most = e->set[MAX_CHARS];
  reader ahead = text;
  uint32_t count = fill(e, &ahead), code, place, left = 0, start = 0, windows = 1;
  if (count <= most || e->set[CONTRACT] == 1) {
    task(e, count < most ? count : most);
    return 1;
  }
  /* Leave out separators at both ends. */
  for (ahead = text, place = 1; next(&ahead, &code); place++) {
    if (is_separator(code)) continue;
    if (!left) start = place - 1;
    left = place;
  }
  left -= start;
  while (start--) next(&text, &code);
  for (; left > most; windows++) {
    uint32_t end;
    ahead = text;
    fill(e, &ahead);
    end = window_end(e, left);
    for (place = 0; place < end; place++) next(&text, &code);
    left -= end;
    task(e, end);
    for (ahead = text; left && next(&ahead, &code) && is_separator(code); left--) next(&text, &code);
  }
  fill(e, &text);
  task(e, left);
  return windows;
}

static void answer(rvl *e, reader text, float *probabilities) {
  uint32_t n, windows;
  for (n = 0; n < e->set[LABELS]; n++) e->total[n] = 0.0;
  e->total_weight = 0.0;
  windows = each_window(e, text, add_answers);
  for (n = 0; n < e->set[LABELS]; n++)
    probabilities[n] = windows == 1 ? e->answers[n] : (float)(e->set[MULTI_LABEL] ? e->total[n] : e->total[n] / e->total_weight);
}

static size_t limit_of(const rvl *e, int is_utf8) { return rvl_read_limit(e) * (size_t)(is_utf8 && e->set[CONTRACT] == 1 ? MOST_DECOMPOSED : 1); }

void rvl_probabilities(rvl *e, const uint32_t *codes, size_t count, float *probabilities) {
  answer(e, read_codes(codes, count, limit_of(e, 0)), probabilities);
}

void rvl_probabilities_utf8(rvl *e, const char *text, size_t bytes, float *probabilities) {
  answer(e, read_utf8(text, bytes, limit_of(e, 1)), probabilities);
}

void rvl_many(rvl *e, const uint32_t *codes, const uint32_t *ends, size_t texts, float *probabilities) {
  size_t text;
  for (text = 0; text < texts; text++) {
    uint32_t start = text ? ends[text - 1] : 0;
    rvl_probabilities(e, codes + start, ends[text] - start, probabilities + text * e->set[LABELS]);
  }
}

/* --- Answers -------------------------------------------------------------------------------------------------------------------------------------- */

/* Whether a text has a letter or digit of the training texts. */
static int reads(const rvl *e, reader text) {
  uint32_t code;
  if (!e->known_ranges) return 1;
  while (next_given(&text, &code)) {
    size_t low = 0, high = e->known_ranges;
    while (low < high) {
      size_t half = (low + high) / 2;
      if (code < read32(e->known + 8 * half))
        high = half;
      else if (code > read32(e->known + 8 * half + 4))
        low = half + 1;
      else
        return 1;
    }
  }
  return 0;
}

/* Whether a text belongs to none of the labels. */
static int is_unknown(const rvl *e, float best, const float *probabilities) {
  double none = e->set[UNKNOWN_LABEL] ? probabilities[e->set[UNKNOWN_LABEL] - 1] : 0.0, power = 1.0;
  if (none > best) return 1;
  if (!e->set[HAS_THRESHOLD]) return 0;
  if (e->unknown_power > 0.0) power = none < 1e-300 ? 0.0 : exp_of(e->unknown_power * log_of(none));
  return best < e->threshold * power;
}

/* The labels, most probable first; of equal ones, the first first. */
static size_t decide(rvl *e, reader text, rvl_answer *answers, size_t most) {
  const int is_read = reads(e, text), several = e->set[MULTI_LABEL] != 0;
  float *probabilities = e->wide; /* free when all windows are answered */
  size_t written = 0;
  uint32_t n;
  answer(e, text, probabilities);
  if (!several && most) {
    float best = probabilities[best_of(e, probabilities)];
    if (!is_read || is_unknown(e, best, probabilities)) {
      answers[0].label = -1;
      answers[written++].probability = best;
    }
  }
  while (written < most) {
    int32_t found = -1;
    for (n = 0; n < e->set[LABELS]; n++) {
      if (several && !(is_read && (double)probabilities[n] >= e->thresholds[n])) continue;
      if (n + 1 == e->set[UNKNOWN_LABEL] || probabilities[n] < 0.0f) continue;
      if (found < 0 || probabilities[n] > probabilities[found]) found = (int32_t)n;
    }
    if (found < 0) break;
    answers[written].label = found;
    answers[written++].probability = probabilities[found];
    probabilities[found] = -1.0f;
  }
  return written;
}

size_t rvl_classify(rvl *e, const uint32_t *codes, size_t count, rvl_answer *answers, size_t most) {
  return decide(e, read_codes(codes, count, limit_of(e, 0)), answers, most);
}

size_t rvl_classify_utf8(rvl *e, const char *text, size_t bytes, rvl_answer *answers, size_t most) {
  return decide(e, read_utf8(text, bytes, limit_of(e, 1)), answers, most);
}

/* --- Embeddings ------------------------------------------------------------------------------------------------------------------------------------ */

/* Add the embedding of a window to `total`: the sum of its words', scaled to length 1; with meaning, half of that, then the meaning. */
static void add_embedding(rvl *e, uint32_t count) {
  const int size = (int)rvl_word_dimension(e);
  float *sum = (float *)e->sums + e->width; /* words that come one by one use the first row only */
  float meaning[DIMENSION];
  double square = 0.0, spelled, meant, length;
  uint32_t words, word;
  int n;
  count = normalize(&e->window, count);
  words = cut_words(e, count);
  for (n = 0; n < size; n++) sum[n] = 0.0f;
  for (word = 0; word < words; word++) {
    const piece *one = e->pieces + word;
    embed_words(e, &one, 1);
    for (n = 0; n < size; n++) sum[n] += e->wide[n];
  }
  for (n = 0; n < size; n++) square += (double)sum[n] * sum[n];
  spelled = square <= 1e-30 ? 0.0 : e->hash_rows ? 0.5 : 1.0;
  meant = e->hash_rows && text_vector(e, count, meaning) ? 1.0 : 0.0;
  if (spelled + meant <= 0.0) return;
  length = sqrt_of(spelled * spelled + meant);
  for (n = 0; n < size && spelled > 0.0; n++) e->total[n] += spelled * (sum[n] / sqrt_of(square)) / length;
  for (n = 0; n < DIMENSION && meant > 0.0; n++) e->total[size + n] += meaning[n] / length;
}

void rvl_embed(rvl *e, const uint32_t *codes, size_t count, float *embedding) {
  const uint32_t size = rvl_dimension(e);
  double square = 0.0;
  uint32_t n;
  if (!size) return;
  for (n = 0; n < size; n++) e->total[n] = 0.0;
  each_window(e, read_codes(codes, count, limit_of(e, 0)), add_embedding);
  for (n = 0; n < size; n++) square += e->total[n] * e->total[n];
  for (n = 0; n < size; n++) embedding[n] = square > 1e-30 ? (float)(e->total[n] / sqrt_of(square)) : 0.0f;
}

uint32_t rvl_meaning(rvl *e, const uint32_t *codes, size_t count, float *vector) {
  reader text = read_codes(codes, count, e->set[MAX_CHARS]);
  if (!e->hash_rows) return 0;
  text_vector(e, normalize(&e->window, fill(e, &text)), vector);
  return DIMENSION;
}

uint32_t rvl_words(rvl *e, const uint32_t *codes, size_t count, uint32_t *slots, float *embeddings) {
  const uint32_t length = e->set[WORD_LENGTH], size = rvl_word_dimension(e);
  reader text = read_codes(codes, count, e->set[MAX_CHARS]);
  uint32_t words, word, n;
  if (!size) return 0;
  words = cut_words(e, normalize(&e->window, fill(e, &text)));
  for (word = 0; word < words; word++) {
    const piece *one = e->pieces + word;
    for (n = 0; n < length; n++) slots[word * length + n] = n < one->length ? e->window.chars[one->start + n] : 0;
    if (!embeddings) continue;
    embed_words(e, &one, 1);
    for (n = 0; n < size; n++) embeddings[word * size + n] = e->wide[n];
  }
  for (n = words * length; n < e->set[MAX_WORDS] * length; n++) slots[n] = 0;
  return words;
}

/* --- Explanations ---------------------------------------------------------------------------------------------------------------------------------- */

enum { NO_SCRIPT, JOINING, SPACED }; /* then the flags of unspaced scripts, which are larger */

static uint32_t part_script(uint32_t code) {
  uint32_t flags = flags_of(code), place, edges = sizeof rvl_join_edges / sizeof *rvl_join_edges, joins = 0;
  if (flags & RVL_SEPARATOR) return NO_SCRIPT;
  if (code < 128) return SPACED;
  for (place = 0; place < edges && rvl_join_edges[place] <= code; place++) joins ^= 1;
  if (joins || (code > 0xFFFF && flags & RVL_IGNORED)) return JOINING;
  flags &= RVL_HAN | RVL_KANA | RVL_SEA;
  return !flags ? SPACED : flags & RVL_HAN ? RVL_HAN : flags & RVL_KANA ? RVL_KANA : RVL_SEA;
}

/* A run of one script, from `start` on: how many characters it has, with their marks. With `unit`, where character number `unit` begins. */
typedef struct {
  uint32_t start, end, units, script;
} run;

static int next_run(const uint32_t *codes, uint32_t count, run *of, uint32_t unit, uint32_t *begins) {
  uint32_t at = of->start, script = JOINING, units = 0;
  for (; at < count; at++) {
    uint32_t found = part_script(sanitized(codes[at]));
    int joins = found == JOINING || script == JOINING;
    if (units && (found == NO_SCRIPT || (found != script && !joins))) break;
    if (found == NO_SCRIPT) {
      of->start = at + 1;
      continue;
    }
    if (!(units && joins)) {
      if (units == unit) *begins = at;
      units++;
    }
    if (found != JOINING) script = found;
  }
  of->end = at;
  if (units <= unit) *begins = at;
  of->units = units;
  of->script = script == JOINING ? SPACED : script;
  return units > 0;
}

/* Characters of a part, at most. */
static uint32_t part_length(const run *of, int cuts_words) {
  if (of->script == SPACED) return cuts_words ? 3 : of->units;
  return of->script == RVL_HAN ? 1 : of->script == RVL_KANA ? 2 : 3;
}

/* The logarithm of a label's probability, without the code points from start to end. */
static double log_without(rvl *e, const uint32_t *codes, uint32_t count, uint32_t start, uint32_t end, uint32_t label) {
  reader text = read_codes(codes, count, limit_of(e, 0));
  double found;
  text.closes = end > start && count <= e->set[MAX_CHARS];
  while (text.closes && start && is_separator(codes[start - 1])) start--;
  while (text.closes && end < count && is_separator(codes[end])) end++;
  text.cut = start;
  text.cut_end = end;
  answer(e, text, e->wide);
  found = e->wide[label];
  return log_of(found > 1.1754943508222875e-38 ? found : 1.1754943508222875e-38);
}

size_t rvl_explain(rvl *e, const uint32_t *codes, size_t length, int32_t label, rvl_span *spans, size_t most) {
  const uint32_t count = length < limit_of(e, 0) ? (uint32_t)length : (uint32_t)limit_of(e, 0);
  size_t found = 0, whole = 0;
  uint32_t n, unused;
  double all;
  run of;
  rvl_probabilities(e, codes, count, e->wide);
  if (label < 0 || label >= (int32_t)e->set[LABELS])
    for (label = 0, n = 1; n < e->set[LABELS]; n++)
      if (e->wide[n] > e->wide[label]) label = (int32_t)n;
  all = log_without(e, codes, count, 0, 0, (uint32_t)label);
  for (of.start = 0; next_run(codes, count, &of, 0, &unused); of.start = of.end)
    whole += (of.units + part_length(&of, 0) - 1) / part_length(&of, 0);
  for (of.start = 0; next_run(codes, count, &of, 0, &unused); of.start = of.end) {
    const uint32_t length_of = part_length(&of, whole <= 2), parts = (of.units + length_of - 1) / length_of;
    for (n = 0; n < parts; n++, found++) {
      run again = of;
      if (found >= most) continue;
      next_run(codes, count, &again, (uint32_t)((uint64_t)n * of.units / parts), &spans[found].start);
      again.start = of.start;
      next_run(codes, count, &again, (uint32_t)((uint64_t)(n + 1) * of.units / parts), &spans[found].end);
      spans[found].weight = all - log_without(e, codes, count, spans[found].start, spans[found].end, (uint32_t)label);
    }
  }
  return found;
}

/* --- Trainings -------------------------------------------------------------------------------------------------------------------------------------- */

/* How many characters a text has that ends there; none where ends decrease. */
static uint32_t length_until(uint32_t end, uint32_t start) { return end > start ? end - start : 0; }

size_t rvl_read(const rvl_rules *rules, const uint32_t *codes, const uint32_t *ends, size_t texts, uint16_t *flags, uint32_t *chars, uint32_t *chars_ends) {
  uint32_t start = 0, written = 0;
  size_t text;
  for (text = 0; text < texts; text++) {
    const uint32_t length = length_until(ends[text], start);
    uint32_t count = length < rules->max_chars ? length : rules->max_chars, place, first = written;
    window in;
    clear(&in, sizeof in);
    in.chars = chars + written;
    in.flags = flags;
    in.contract = rules->contract;
    in.letters_only = rules->letters_only;
    for (place = 0; place < count; place++) in.chars[place] = codes[start + place];
    count = normalize(&in, count);
    /* One 0 stands behind each run of characters, so what is written stays behind what is read, or replaces it. */
    for (place = 0; place < count; place++) {
      if (!(flags[place] & RVL_SEPARATOR)) chars[written++] = in.chars[place];
      else if (written > first && chars[written - 1]) chars[written++] = 0;
    }
    if (written > first && chars[written - 1]) chars[written++] = 0;
    chars_ends[text] = written;
    start += length;
  }
  return written;
}

size_t rvl_cut(const rvl_rules *rules, const uint32_t *chars, const uint32_t *ends, size_t runs, uint32_t *counts, uint32_t *slots, size_t most) {
  uint32_t start = 0, place;
  size_t run, found = 0;
  for (run = 0; run < runs; run++) {
    const uint32_t length = length_until(ends[run], start);
    piece one;
    cutter of;
    clear(&of, sizeof of);
    of.chars = chars + start;
    of.count = length;
    of.word_length = rules->word_length ? rules->word_length : 1;
    for (counts[run] = 0; next_piece(&of, &one); counts[run]++, found++)
      for (place = 0; found < most && place < of.word_length; place++)
        slots[found * of.word_length + place] = place < one.length ? of.chars[one.start + place] : 0;
    start += length;
  }
  return found;
}

size_t rvl_hashes(const rvl_rules *rules, const uint32_t *chars, const uint32_t *ends, size_t runs, uint32_t *counts, uint16_t *hashes, size_t most) {
  const uint32_t longest = rules->longest < LONGEST_NGRAM ? rules->longest : LONGEST_NGRAM;
  uint32_t start = 0, first, place, number, letters[LONGEST_NGRAM], some[LONGEST_NGRAM];
  size_t run, found = 0;
  for (run = 0; run < runs; run++) {
    const uint32_t length = length_until(ends[run], start);
    counts[run] = 0;
    /* As in add_ngrams. */
    for (first = 0; first <= length; first++) {
      const uint32_t size = length + 2 - first < longest ? length + 2 - first : longest;
      for (place = 0; place < size; place++) {
        const uint32_t at = first + place;
        letters[place] = at && at <= length ? folded(chars[start + at - 1], rules->plain_letters != 0) : 0;
      }
      number = hashes_from(letters, size, rules->shortest, some);
      for (place = 0; place < number && found + place < most; place++) hashes[found + place] = (uint16_t)some[place];
      counts[run] += number;
      found += number;
    }
    start += length;
  }
  return found;
}
