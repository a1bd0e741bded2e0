/* The engine as it lies in its block, and what the machine brings: instructions, and functions of numbers that are the same on all of them. */

#if defined(__GNUC__) && !defined(RVL_SMALL)
#define INLINE static inline __attribute__((always_inline))
#define PREFETCH(bytes) __builtin_prefetch(bytes)
#else
#define INLINE static inline
#define PREFETCH(bytes) (void)(bytes)
#endif

#if defined(__GNUC__) && defined(__x86_64__)
#include <immintrin.h>
#if !defined(RVL_PLAIN_ONLY) && !defined(RVL_SMALL)
#define RVL_WIDE 1 /* AVX2, or AVX-512 with sums of products, where the processor has it */
#include <cpuid.h>
#endif
#elif defined(__wasm_simd128__)
#include <wasm_simd128.h>
#elif defined(__aarch64__) && defined(__GNUC__) && !defined(__ARM_BIG_ENDIAN)
#define RVL_NEON 1
#include <arm_neon.h>
#endif

/* A function of numbers, `name_body`, compiled for the least of all processors, and for a wider one. */
#define COPY(suffix, attribute, type, gives, name, parameters, arguments) \
  attribute static type name##_##suffix parameters { gives name##_body arguments; }
#ifdef RVL_WIDE
enum { PLAIN, AVX2, VNNI };
#define FOR_AVX2 __attribute__((target("avx2")))
#define FOR_VNNI __attribute__((target("avx512f,avx512bw,avx512vl,avx512vnni")))
#define COPIES(type, gives, ...) COPY(plain, , type, gives, __VA_ARGS__) COPY(avx2, FOR_AVX2, type, gives, __VA_ARGS__)
#define CALL(name, engine, ...) ((engine)->processor ? name##_avx2(__VA_ARGS__) : name##_plain(__VA_ARGS__))
#else
#define COPIES(type, gives, ...) COPY(plain, , type, gives, __VA_ARGS__)
#define CALL(name, engine, ...) name##_plain(__VA_ARGS__)
#endif

#ifdef RVL_FREESTANDING
/* Compilers call these two even without a C library. */
void *memcpy(void *restrict to, const void *restrict from, size_t count) {
  volatile uint8_t *target = to;
  const uint8_t *source = from;
  while (count--) *target++ = *source++;
  return to;
}
void *memset(void *to, int value, size_t count) {
  volatile uint8_t *target = to;
  while (count--) *target++ = (uint8_t)value;
  return to;
}
#endif

/* --- The engine --- */

/* Settings of the file, in its order. Some are the same in all files, see FIXED. */
enum {
  CONTRACT, MAX_CHARS, MAX_WORDS, WORD_LENGTH, TRUNCATES, DROPS, LETTERS_ONLY,
  HAN_LENGTH, HAN_STEP, KANA_LENGTH, KANA_STEP, SEA_LENGTH, SEA_STEP,
  LABELS, HEAD, BLOCKS, REGION, HAS_EMBEDDING, CHARACTER_WINDOW, /* a CNN without a region: pool with blocks */
  BUCKETS, LONGEST, SHORTEST, CODEBOOKS, RANK, PLAIN_LETTERS, /* no buckets: no n-grams */
  MULTI_LABEL, UNKNOWN_LABEL, HAS_THRESHOLD,                  /* an unknown label of 0: none; else its number plus 1 */
  SETTINGS
};

enum { LINEAR, POOL, CNN, NGRAMS, HEADS };

/* TILE: words that are multiplied with the same weights at once. ROWS: rows that are added up at once. HASHES: n-grams
 * whose rows are fetched at once. AT_ONCE: those of a text whose rows are kept, unless a block reads their
 * neighbours. Microcontrollers are short of memory: with RVL_SMALL, few are, there are no embeddings, and nothing can be taught. Its answers are
 * the same bits. RVL_WINDOWS: how many windows of a text are read; with fewer than the contract says, longer texts are cut. */
#ifdef RVL_SMALL
enum { TILE = 2, AT_ONCE = TILE, ROWS = 1, HASHES = 1, EMBEDS = 0 };
#elif defined(__wasm__)
enum { TILE = 4, AT_ONCE = 4096, ROWS = 1, HASHES = 32, EMBEDS = 1 }; /* pages load the engine: more rows would make it 2 % larger */
#else
enum { TILE = 4, AT_ONCE = 4096, ROWS = 4, HASHES = 32, EMBEDS = 1 };
#endif
#ifndef RVL_WINDOWS
#define RVL_WINDOWS 32
#endif

enum {
  MOST_BLOCKS = 16, MOST_LABELS = 100000, MOST_CHARS = 16384, MOST_WINDOWS = RVL_WINDOWS, MOST_DECOMPOSED = 4,
  PACK = 16,     /* outputs whose weights stand together */
  LANES = 32,    /* rows that are added up are a multiple of this */
  KEY = 16,      /* UTF-16 units of a word that is kept */
  WAYS = 4,      /* places in which a word may be kept */
  ROW = 16,      /* columns of the table of n-grams that are added at once */
  LARGEST = 32767,
  PRIME = 65521, FACTOR = 46, LONGEST_NGRAM = 6,
  DIMENSION = 64 /* numbers of a vector of meaning */
};

/* A dense layer. Rows of weights belong to outputs; to inputs in layers that read binary digits, which add up rows. */
typedef struct {
  int inputs, outputs, bits; /* of a weight: 8 or 4 */
  int stride;                /* integers of an output, or of a row that is added; with zeros behind the end */
  int limit;                 /* largest integer of an input: sums of products stay below 2^31 */
  const float *scales, *bias;
  const uint8_t *weights;
} dense_layer;

typedef struct taught_texts taught_texts;

struct rvl {
#ifdef RVL_DEBUG
  char in_use; /* by a thread */
#endif
  int processor;
  uint32_t settings[SETTINGS];
  /* Of the file. */
  const char *labels, *metadata;
  uint32_t metadata_size;
  const uint32_t *label_places;
  double threshold, unknown_power;
  const double *thresholds, *shares; /* of each label; no shares: all labels are as common */
  const uint8_t *known; /* ranges of code points: the letters and digits of the training texts */
  size_t known_ranges;
  dense_layer embedding[3], word, region, vector, logits, pointwise[MOST_BLOCKS]; /* a vector without outputs: none */
  const float *depthwise[MOST_BLOCKS]; /* [3][word_size] */
  int word_size, row_size;             /* numbers that the heads read of a word; and of its row, with zeros behind them */
  const int8_t *ngram_table;           /* [buckets][columns + 1]: the last column holds the squares */
  size_t ngram_table_size;
  const uint8_t *ngram_codes;
  const float *ngram_scales, *ngram_bias;
  int columns;
  dense_layer projection;
  uint32_t displacements, hash_rows; /* of meaning; 0: none */
  const uint8_t *displacement, *hash_row, *word_codes;
  const int8_t *codebooks; /* [SUBSPACES][256][PART] */
  dense_layer meaning;
  /* For one window of a text. */
  passage text;       /* chars and flags: [max_chars + 1] */
  piece *words;       /* [max_words] */
  uint32_t at_once;   /* words that have a row at the same time */
  int16_t *rows;      /* [at_once][row_size] */
  float *row_scales;
  int16_t *row_before; /* [row_size], for blocks */
  float *pooled;       /* [2][word_size]: of the words so far, the sum of their rows and, but for the linear head, their largest numbers */
  int width;          /* of what a layer reads or writes of a word; what one does of a whole text has as much room as TILE words, or more */
  int16_t *inputs;    /* [TILE][width]: what layers read, */
  int32_t *sums;      /* [TILE][width]: add up; free until there is a window, and when its logits are there */
  float *values;      /* [TILE][width]: and write */
  float *answers;     /* [labels]: logits, then probabilities */
  /* For all windows. */
  uint32_t *condensed; /* [rvl_read_limit]: what is read of a text */
  double *totals;        /* [labels] */
  double *vector_totals; /* [dimension] */
  float *spelled;        /* of a window, the sum of its words' embeddings */
  double total_weight;
  int has_read; /* whether a window had a known letter or digit */
  /* Words that were seen. */
  uint32_t cache_sets, clock;
  uint16_t *cache_keys; /* [cache_sets * WAYS][KEY] */
  uint32_t *cache_ages;
  float *cache_scales;
  int16_t *cache_rows; /* [cache_sets * WAYS][row_size] */
  /* What was taught, where there is a memory, and the number of the text that answered last. */
  taught_texts *memory;
  int32_t speaker;
};

/* Stands first in functions that need the engine for themselves. Debug builds end the program where another thread is in one of them. */
#ifdef RVL_DEBUG
#include <stdio.h>
#include <stdlib.h>
static void enter(rvl *engine) {
  if (!__atomic_test_and_set(&engine->in_use, __ATOMIC_ACQUIRE)) return;
  fputs("retvec-lite: two threads use one engine at the same time. Open one for each thread, or use a lock.\n", stderr);
  abort();
}
static void leave(rvl **engine) { __atomic_clear(&(*engine)->in_use, __ATOMIC_RELEASE); }
#define ONE_THREAD(engine) rvl *in_use __attribute__((cleanup(leave))) = (enter((rvl *)(uintptr_t)(engine)), (rvl *)(uintptr_t)(engine))
#else
#define ONE_THREAD(engine) (void)0
#endif

/* --- Numbers --- */

typedef union { float number; int32_t bits; } float_bits;
typedef union { double number; uint64_t bits; } double_bits;

static uint32_t read32(const uint8_t *bytes) {
  return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

static uint32_t rounded_up(uint32_t count, uint32_t multiple) { return (count + multiple - 1) / multiple * multiple; }

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
  power.bits = (uint64_t)(1023 + k) << 52;
  return sum * power.number;
}

/* The natural logarithm of a normal number above 0: its exponent, and the series of artanh. */
APART double log_of(double x) {
  double_bits both;
  double s, square, power, sum = 0.0;
  int exponent, n;
  both.number = x;
  exponent = (int)(both.bits >> 52) - 1023;
  both.bits = (both.bits & 0xFFFFFFFFFFFFFu) | (uint64_t)1023 << 52;
  if (both.number > 1.4142135623730951) {
    both.number *= 0.5;
    exponent++;
  }
  s = (both.number - 1.0) / (both.number + 1.0);
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
  guess.number = x;
  guess.bits = (guess.bits >> 1) + ((uint64_t)1023 << 51);
  for (n = 0; n < 6; n++) guess.number = 0.5 * (guess.number + x / guess.number);
  return guess.number;
}
