/* What takes the time: dense layers, rows that are added up, and their copies for each kind of processor. */

enum { NOTHING, GELU, TANH };

/* Round numbers to integers of at most `limit`, with zeros up to `stride`; returns what an integer stands for. */
INLINE float to_integers(const float *values, int count, int stride, int limit, int16_t *integers) {
  float_bits top;
  float times;
  int n, is_number;
  top.bits = 0;
  /* The bits of positive floats have the order of the floats. */
  for (n = 0; n < count; n++) {
    float_bits value;
    value.number = values[n];
    value.bits &= 0x7FFFFFFF;
    top.bits = value.bits > top.bits ? value.bits : top.bits;
  }
  is_number = top.number > 1e-30f && top.number < 1e30f;
  for (n = is_number ? count : 0; n < stride; n++) integers[n] = 0;
  if (!is_number) return 0.0f;
  times = (float)limit / top.number;
  for (n = 0; n < count; n++) {
    float_bits value;
    value.number = values[n] * times + 12582912.0f; /* 1.5 * 2^23: the last 16 binary digits are now the nearest integer */
    integers[n] = (int16_t)value.bits;
  }
  return top.number / (float)limit;
}

/* Sums of products of weights and integers, for pairs of vectors of outputs and for `words` words: both counts are constants where this is
 * inlined, and their product is at most 4, so that the sums stay in registers. Weights stand in blocks of PACK outputs, which hold two inputs of
 * each output side by side: so a vector of weights is multiplied with the same two inputs, and added up in its place. With 4 bits, the low
 * digits of the same bytes are one vector of a pair, the high ones the other, both 8 too large: `finish` takes that away. Where that is faster,
 * whole bytes are multiplied in place of their low digits, and LESS takes the high ones away, 16 times, at the end; what is too large for 32 bits
 * on the way is not in the end. `next` is how far the block behind lies, 0 where there is none: a pair of the widest vectors has two blocks. */
typedef void dot(const uint8_t *w, int bits, size_t block, size_t next, const int16_t *x, int x_step, int stride, int32_t *sums, int step,
                 int pairs, int words);

#define DOT(name, attribute, SUM, WEIGHT, INPUT, OUTS, ZERO, WEIGHTS, LOW, HIGH, LESS, INPUTS, MADD, STORE)                      \
  attribute INLINE void name(const uint8_t *w, int bits, size_t block, size_t next, const int16_t *x, int x_step, int stride,    \
                             int32_t *sums, int step, int pairs, int words) {                                                    \
    const int vectors = 2 * pairs;                                                                                               \
    SUM s[8];                                                                                                                    \
    WEIGHT row[4];                                                                                                               \
    int n, v, word;                                                                                                              \
    (void)next; /* not all need it */                                                                                            \
    for (n = 0; n < vectors * words; n++) s[n] = ZERO;                                                                           \
    for (n = 0; n < stride; n += 2, w += PACK * bits / 4) {                                                                      \
      for (v = 0; v < vectors; v += 2) {                                                                                         \
        const uint8_t *two = OUTS < PACK / 2 ? w + OUTS * v : w + (size_t)(v * OUTS / PACK) * block;                             \
        row[v] = bits == 4 ? LOW(two, next) : WEIGHTS(two, next);                                                                \
        row[v + 1] = bits == 4 ? HIGH(two, next) : WEIGHTS(two + PACK, next);                                                    \
      }                                                                                                                          \
      for (word = 0; word < words; word++) {                                                                                     \
        const INPUT both = INPUTS(x + word * x_step + n);                                                                        \
        for (v = 0; v < vectors; v++) s[word * vectors + v] = MADD(s[word * vectors + v], row[v], both);                         \
      }                                                                                                                          \
    }                                                                                                                            \
    for (word = 0; word < words; word++)                                                                                         \
      for (v = 0; v < vectors; v += 2) {                                                                                         \
        const SUM *two = s + word * vectors + v;                                                                                 \
        int32_t *to = sums + word * step + v * OUTS / (OUTS < PACK / 2 ? 2 : 1);                                                 \
        STORE(to, bits == 4 ? LESS(two[0], two[1]) : two[0], two[1], next);                                                      \
      }                                                                                                                          \
  }

#if defined(__GNUC__)
INLINE int32_t two_of(const int16_t *integers) {
  int32_t both;
  __builtin_memcpy(&both, integers, 4);
  return both;
}
#endif

#if defined(__x86_64__) && defined(__GNUC__)
#define X86_WEIGHTS_128(w, next) _mm_srai_epi16(_mm_unpacklo_epi8(_mm_setzero_si128(), _mm_loadl_epi64((const __m128i *)(w))), 8)
#define X86_WIDE_128(w) _mm_unpacklo_epi8(_mm_loadl_epi64((const __m128i *)(w)), _mm_setzero_si128())
#define X86_LOW_128(w, next) _mm_and_si128(X86_WIDE_128(w), _mm_set1_epi16(15))
#define X86_HIGH_128(w, next) _mm_srli_epi16(X86_WIDE_128(w), 4)
#define X86_LESS_128(low, high) (low)
#define X86_INPUTS_128(x) _mm_set1_epi32(two_of(x))
#define X86_MADD_128(sum, w, x) _mm_add_epi32(sum, _mm_madd_epi16(w, x))
#define X86_STORE_128(to, low, high, next) (_mm_storeu_si128((__m128i *)(to), low), _mm_storeu_si128((__m128i *)((to) + PACK / 2), high))
DOT(dot_plain, , __m128i, __m128i, __m128i, 4,
    _mm_setzero_si128(), X86_WEIGHTS_128, X86_LOW_128, X86_HIGH_128, X86_LESS_128, X86_INPUTS_128, X86_MADD_128, X86_STORE_128)
#elif defined(__wasm_simd128__)
#define WASM_WEIGHTS(w, next) wasm_i16x8_load8x8(w)
#define WASM_BOTH(w, next) wasm_u16x8_load8x8(w)
#define WASM_HIGH(w, next) wasm_u16x8_shr(wasm_u16x8_load8x8(w), 4)
#define WASM_LESS(both, high) wasm_i32x4_sub(both, wasm_i32x4_shl(high, 4))
#define WASM_STORE(to, low, high, next) (wasm_v128_store(to, low), wasm_v128_store((to) + PACK / 2, high))
#define WASM_MADD(sum, w, x) wasm_i32x4_add(sum, wasm_i32x4_dot_i16x8(w, x))
DOT(dot_plain, , v128_t, v128_t, v128_t, 4,
    wasm_i32x4_splat(0), WASM_WEIGHTS, WASM_BOTH, WASM_HIGH, WASM_LESS, wasm_v128_load32_splat, WASM_MADD, WASM_STORE)
#elif defined(RVL_NEON)
/* The sums of even and odd inputs stay apart until the end. */
static const int32x4x2_t NO_SUMS = {{{0, 0, 0, 0}, {0, 0, 0, 0}}};
INLINE int32x4x2_t neon_madd(int32x4x2_t sum, int16x8_t w, int16x8_t x) {
  sum.val[0] = vmlal_s16(sum.val[0], vget_low_s16(w), vget_low_s16(x));
  sum.val[1] = vmlal_s16(sum.val[1], vget_high_s16(w), vget_high_s16(x));
  return sum;
}
INLINE int32x4x2_t neon_less(int32x4x2_t both, int32x4x2_t high) {
  both.val[0] = vmlsq_n_s32(both.val[0], high.val[0], 16);
  both.val[1] = vmlsq_n_s32(both.val[1], high.val[1], 16);
  return both;
}
INLINE void neon_store(int32_t *to, int32x4x2_t sum) {
  vst1_s32(to, vpadd_s32(vget_low_s32(sum.val[0]), vget_high_s32(sum.val[0])));
  vst1_s32(to + 2, vpadd_s32(vget_low_s32(sum.val[1]), vget_high_s32(sum.val[1])));
}
#define NEON_STORE(to, low, high, next) (neon_store(to, low), neon_store((to) + PACK / 2, high))
#define NEON_WEIGHTS(w, next) vmovl_s8(vreinterpret_s8_u8(vld1_u8(w)))
#define NEON_BOTH(w, next) vreinterpretq_s16_u16(vmovl_u8(vld1_u8(w)))
#define NEON_HIGH(w, next) vreinterpretq_s16_u16(vshrq_n_u16(vmovl_u8(vld1_u8(w)), 4))
#define NEON_INPUTS(x) vreinterpretq_s16_s32(vdupq_n_s32(two_of(x)))
DOT(dot_plain, , int32x4x2_t, int16x8_t, int16x8_t, 4,
    NO_SUMS, NEON_WEIGHTS, NEON_BOTH, NEON_HIGH, neon_less, NEON_INPUTS, neon_madd, NEON_STORE)
#else
typedef struct { int32_t n[4]; } four;
typedef struct { int16_t n[8]; } eight;
static const four NO_SUMS = {{0, 0, 0, 0}};
INLINE eight plain_weights(const uint8_t *w, int bits, int high) {
  eight found;
  int n;
  for (n = 0; n < 8; n++) found.n[n] = bits == 8 ? (int8_t)w[n] : high ? w[n] >> 4 : w[n] & 15;
  return found;
}
INLINE four plain_madd(four sum, eight w, const int16_t *x) {
  int n;
  for (n = 0; n < 4; n++) sum.n[n] += (int32_t)w.n[2 * n] * x[0] + (int32_t)w.n[2 * n + 1] * x[1];
  return sum;
}
#define PLAIN_AT(place) (place)
#define PLAIN_WEIGHTS(w, next) plain_weights(w, 8, 0)
#define PLAIN_LOW(w, next) plain_weights(w, 4, 0)
#define PLAIN_HIGH(w, next) plain_weights(w, 4, 1)
#define PLAIN_LESS(low, high) (low)
#define PLAIN_STORE(to, low, high, next) (*(four *)(void *)(to) = (low), *(four *)(void *)((to) + PACK / 2) = (high))
DOT(dot_plain, , four, eight, const int16_t *, 4,
    NO_SUMS, PLAIN_WEIGHTS, PLAIN_LOW, PLAIN_HIGH, PLAIN_LESS, PLAIN_AT, plain_madd, PLAIN_STORE)
#endif

#ifdef RVL_WIDE
#define X86_WEIGHTS_256(w, next) _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)(w)))
#define X86_BOTH_256(w, next) _mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)(w)))
#define X86_HIGH_256(w, next) _mm256_srli_epi16(X86_BOTH_256(w, next), 4)
#define X86_LESS_256(both, high) _mm256_sub_epi32(both, _mm256_slli_epi32(high, 4))
#define X86_INPUTS_256(x) _mm256_set1_epi32(two_of(x))
#define X86_MADD_256(sum, w, x) _mm256_add_epi32(sum, _mm256_madd_epi16(w, x))
#define X86_STORE_256(to, low, high, next) (_mm256_storeu_si256((__m256i *)(to), low), _mm256_storeu_si256((__m256i *)((to) + PACK / 2), high))
DOT(dot_avx2, FOR_AVX2, __m256i, __m256i, __m256i, 8,
    _mm256_setzero_si256(), X86_WEIGHTS_256, X86_BOTH_256, X86_HIGH_256, X86_LESS_256, X86_INPUTS_256, X86_MADD_256, X86_STORE_256)

FOR_VNNI INLINE __m256i vnni_bytes(const uint8_t *w, size_t next) {
  return _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)w)), _mm_loadu_si128((const __m128i *)(w + next)), 1);
}
/* Each vector of a pair has a half of both blocks. Where there is one block, it is both. */
FOR_VNNI INLINE void vnni_store(int32_t *to, __m512i low, __m512i high, size_t next) {
  _mm512_storeu_si512(to + (next ? PACK : 0), _mm512_shuffle_i64x2(low, high, 0xEE));
  _mm512_storeu_si512(to, _mm512_shuffle_i64x2(low, high, 0x44));
}
#define X86_WEIGHTS_512(w, next) _mm512_cvtepi8_epi16(vnni_bytes(w, next))
#define X86_BOTH_512(w, next) _mm512_cvtepu8_epi16(vnni_bytes(w, next))
#define X86_HIGH_512(w, next) _mm512_srli_epi16(X86_BOTH_512(w, next), 4)
#define X86_LESS_512(both, high) _mm512_sub_epi32(both, _mm512_slli_epi32(high, 4))
#define X86_INPUTS_512(x) _mm512_set1_epi32(two_of(x))
DOT(dot_vnni, FOR_VNNI, __m512i, __m512i, __m512i, 16,
    _mm512_setzero_si512(), X86_WEIGHTS_512, X86_BOTH_512, X86_HIGH_512, X86_LESS_512, X86_INPUTS_512, _mm512_dpwssd_epi32, vnni_store)
#endif

INLINE void activate(int kind, float *values, int count) {
  int n;
  if (kind == GELU)
    for (n = 0; n < count; n++) values[n] = gelu(values[n]);
  if (kind == TANH)
    for (n = 0; n < count; n++) values[n] = tanh_of(values[n]);
}

/* Rows of `values` from those of `sums`, less what 4-bit weights are too large. */
INLINE void finish(rvl *engine, const dense_layer *layer, const float *scales, int words, int activation) {
  const int width = engine->width, outputs = layer->outputs;
  const float *restrict scale = layer->scales, *restrict bias = layer->bias;
  int out, word, n;
  for (word = 0; word < words; word++) {
    const int32_t *restrict sums = engine->sums + word * width;
    float *restrict values = engine->values + word * width;
    const int16_t *restrict inputs = engine->inputs + word * width;
    const int stride = layer->bits == 4 ? layer->stride : 0;
    int32_t over = 0;
    for (n = 0; n < stride; n++) over += inputs[n];
    over *= 8;
    for (out = 0; out < outputs; out++) values[out] = (float)(sums[out] - over) * (scale[out] * scales[word]) + bias[out];
    activate(activation, values, outputs);
  }
}

/* A dense layer for up to TILE words, from rows of `inputs`, with their scales, to rows of `values`. A vector has `outs` outputs. */
#ifndef RVL_SMALL
INLINE void multiply(rvl *engine, const dense_layer *layer, int bits, int words, dot *sum, int outs) {
  const int stride = layer->stride, width = engine->width, all = (layer->outputs + PACK - 1) / PACK * PACK;
  const size_t block = (size_t)stride * PACK * (size_t)bits / 8;
  int out = 0, is_wide; /* is_wide: whether there are enough registers and outputs for two pairs */
  for (; out < all; out += is_wide ? 4 * outs : 2 * outs) {
    const size_t next = outs < PACK || out + PACK < all ? block : 0;
    const uint8_t *w = layer->weights + (size_t)(out / PACK) * block + out % PACK;
    int32_t *sums = engine->sums + out / PACK * PACK + out % PACK / 2;
#define SUM_OF(pairs, words) sum(w, bits, block, next, engine->inputs, width, stride, sums, width, pairs, words)
    is_wide = outs < PACK / 2 ? words < 2 : words < 3 && out + 4 * outs <= all;
    if (words == 1 && is_wide)
      SUM_OF(2, 1);
    else if (words == 1)
      SUM_OF(1, 1);
    else if (words == 2 && is_wide)
      SUM_OF(2, 2);
    else if (words == 2)
      SUM_OF(1, 2);
    else if (words == 3)
      SUM_OF(1, 3);
    else
      SUM_OF(1, 4);
#undef SUM_OF
  }
}

INLINE void dense_body(rvl *engine, const dense_layer *layer, const float *scales, int words, int activation, dot *sum, int outs) {
  if (layer->bits == 4)
    multiply(engine, layer, 4, words, sum, outs);
  else
    multiply(engine, layer, 8, words, sum, outs);
  finish(engine, layer, scales, words, activation);
}

#else
/* The same, word by word. Of 4-bit weights, two bytes hold two inputs of one output in their low digits, and of the one that is PACK / 2
 * further on in their high ones. What is too large for 32 bits on the way is not in the end. */
FAST_APART void dot_packed(const uint8_t *w, const int16_t *x, int stride, int32_t *sums) {
  const int16_t *const end = x + stride, *next_x;
  int out;
  for (out = 0; out < PACK / 2; out++) {
    const uint8_t *two = w + 2 * out;
    uint32_t both = 0, high = 0, input;
    for (next_x = x; next_x < end; next_x += 2, two += PACK) {
      input = (uint32_t)next_x[0];
      both += two[0] * input;
      high += (two[0] >> 4) * input;
      input = (uint32_t)next_x[1];
      both += two[1] * input;
      high += (two[1] >> 4) * input;
    }
    sums[out] = (int32_t)(both - 16 * high);
    sums[out + PACK / 2] = (int32_t)high;
  }
}

static void dense_plain(rvl *engine, const dense_layer *layer, const float *scales, int words, int activation) {
  const size_t block = (size_t)layer->stride * PACK * (size_t)layer->bits / 8;
  int out, word, n;
  for (word = 0; word < words; word++)
    for (out = 0; out < layer->outputs; out += PACK) {
      const uint8_t *w = layer->weights + (size_t)(out / PACK) * block;
      const int16_t *x = engine->inputs + word * engine->width;
      int32_t *sums = engine->sums + word * engine->width + out;
      if (layer->bits == 4)
        dot_packed(w, x, layer->stride, sums);
      else
        for (n = 0; n < PACK / 2; n += 4) dot_plain(w + 2 * n, 8, block, block, x, 0, layer->stride, sums + n, 0, 1, 1);
    }
  finish(engine, layer, scales, words, activation);
}
#endif

/* Add rows of a layer's weights, `count` at once. */
INLINE void add_weights(const dense_layer *layer, const uint8_t *const *rows, int count, int32_t *restrict sums) {
  const int half = LANES / 2;
  int start, row, n;
  for (start = 0; start < layer->stride; start += LANES, sums += LANES)
    if (layer->bits == 8)
      for (n = 0; n < LANES; n++) {
        int16_t sum = 0;
        for (row = 0; row < count; row++) sum = (int16_t)(sum + (int8_t)rows[row][start + n]);
        sums[n] += sum;
      }
    else {
      for (n = 0; n < half; n++) {
        uint8_t sum = 0;
        for (row = 0; row < count; row++) sum = (uint8_t)(sum + (rows[row][start / 2 + n] & 15));
        sums[n] += sum - 8 * count;
      }
      for (n = 0; n < half; n++) {
        uint8_t sum = 0;
        for (row = 0; row < count; row++) sum = (uint8_t)(sum + (rows[row][start / 2 + n] >> 4));
        sums[n + half] += sum - 8 * count;
      }
    }
}

/* What the first layer says of a word: the sum of the rows that belong to the binary digits of its code points. */
INLINE void read_digits_body(const dense_layer *layer, const uint32_t *codes, uint32_t count, int32_t *restrict sums, float *restrict values) {
  const size_t size = (size_t)layer->stride * (size_t)layer->bits / 8;
  const float *restrict scale = layer->scales, *restrict bias = layer->bias;
  const uint8_t *rows[ROWS];
  uint32_t place, digit, digits;
  int waiting = 0, n;
  for (n = 0; n < layer->stride; n++) sums[n] = 0;
  for (place = 0; place < count; place++)
    for (digits = codes[place], digit = BITS; digit-- && digits; digits >>= 1) {
      if (!(digits & 1)) continue;
      rows[waiting++] = layer->weights + (place * BITS + digit) * size;
      if (waiting < ROWS) continue;
      add_weights(layer, rows, ROWS, sums);
      waiting = 0;
    }
  while (waiting) add_weights(layer, rows + --waiting, 1, sums);
  for (n = 0; n < layer->outputs; n++) values[n] = (float)sums[n] * scale[n] + bias[n];
  activate(GELU, values, layer->outputs);
}

/* Round the values of up to TILE words to inputs of the next layer, or to what is kept. */
INLINE void round_values_body(rvl *engine, int count, int limit, int words, float *scales) {
  const int width = engine->width, stride = (count + LANES - 1) / LANES * LANES;
  int word;
  for (word = 0; word < words; word++)
    scales[word] = to_integers(engine->values + word * width, count, stride, limit, engine->inputs + word * width);
}

INLINE int32_t product_body(const int8_t *restrict row, const int16_t *restrict vector, uint32_t size) {
  int32_t sum = 0;
  uint32_t n;
  for (n = 0; n < size; n++) sum += row[n] * vector[n];
  return sum;
}

COPIES(void, , read_digits, (const dense_layer *layer, const uint32_t *codes, uint32_t count, int32_t *sums, float *values),
       (layer, codes, count, sums, values))
COPIES(void, , round_values, (rvl *engine, int count, int limit, int words, float *scales), (engine, count, limit, words, scales))
COPIES(int32_t, return, product, (const int8_t *row, const int16_t *vector, uint32_t size), (row, vector, size))

/* Dense layers, for each width of vectors. */
#define DENSE(suffix, attribute, outs)                                                                                              \
  attribute static void dense_##suffix(rvl *engine, const dense_layer *layer, const float *scales, int words, int activation) {     \
    dense_body(engine, layer, scales, words, activation, dot_##suffix, outs);                                                       \
  }
#ifndef RVL_SMALL
DENSE(plain, , 4)
#endif
#ifdef RVL_WIDE
DENSE(avx2, FOR_AVX2, 8)
DENSE(vnni, FOR_VNNI, 16)
static void dense(rvl *engine, const dense_layer *layer, const float *scales, int words, int activation) {
  (engine->processor == VNNI ? dense_vnni : engine->processor == AVX2 ? dense_avx2 : dense_plain)(engine, layer, scales, words, activation);
}

#ifndef RVL_WIDEST
#define RVL_WIDEST VNNI /* tests leave the widest ones out */
#endif
/* What the processor has, and the system keeps the registers of. */
static int find_processor(void) {
  uint32_t a, b, c, d, low, high;
  if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & 1u << 27)) return PLAIN;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  if ((low & 6) != 6 || !__get_cpuid_count(7, 0, &a, &b, &c, &d) || !(b & 1u << 5)) return PLAIN;
  return (low & 0xE6) == 0xE6 && (b & 1u << 16) && (b & 1u << 30) && (b & 1u << 31) && (c & 1u << 11) ? RVL_WIDEST : AVX2;
}
#else
#define dense dense_plain
static int find_processor(void) { return 0; }
#endif

/* Round values, then multiply them: a layer for up to TILE words. */
static void apply(rvl *engine, const dense_layer *layer, int words, int activation) {
  float scales[TILE];
  CALL(round_values, engine, engine, layer->inputs, layer->limit, words, scales);
  dense(engine, layer, scales, words, activation);
}
