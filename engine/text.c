/* The code points of a text as it was given (rule 1), of UTF-8 too; and what is known about each. */

enum {
  BITS = 21, /* of a code point */
  REPLACEMENT = 0xFFFD, MOST_CODE = 0x10FFFF, INVALID = 0x110000, HANGUL = 0xAC00,
  SEA_PIECE = 6, /* characters of a piece of South-East Asian scripts, the longest of the unspaced ones */
  UNSPACED = RVL_HAN | RVL_KANA | RVL_SEA,
  IN_WORD = RVL_LATIN | RVL_OTHER | RVL_LIKE,
  STAYS = 1u << 11, /* beside the flags of a word: a letter that stays, and the others with it, */
  RARE = 1u << 12   /* or a rare lookalike */
};

/* Functions that are there once: small rather than fast, as most time is spent in few others; or fast, though slow ones call them. */
#if defined(__clang__)
#define APART static __attribute__((noinline, minsize))
#define FAST_APART static __attribute__((noinline, hot))
#elif defined(__GNUC__)
#define APART static __attribute__((noinline, cold))
#define FAST_APART static __attribute__((noinline, hot))
#else
#define APART static
#define FAST_APART static
#endif

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

static int in_range(uint32_t value, uint32_t low, uint32_t high) { return value >= low && value <= high; }

/* Where the last number stands that is not larger than a value, in ascending order; the first place where there is none. */
static size_t last_up_to(const uint32_t *numbers, size_t count, uint32_t value) {
  size_t low = 0;
  while (count - low > 1) {
    const size_t half = (low + count) / 2;
    if (numbers[half] <= value)
      low = half;
    else
      count = half;
  }
  return low;
}

/* How many numbers, in ascending order, are not larger than a value. */
APART uint32_t count_up_to(const uint16_t *numbers, uint32_t count, uint32_t value) {
  uint32_t low = 0;
  if (!count || value < numbers[0]) return 0; /* most characters are below most tables */
  while (low < count) {
    const uint32_t half = (low + count) / 2;
    if (numbers[half] <= value)
      low = half + 1;
    else
      count = half;
  }
  return low;
}

/* Whether a code point is in one of the ranges, of which each has its first and its last one. */
static int in_ranges(const uint32_t *ranges, size_t count, uint32_t code) {
  size_t place;
  for (place = 0; place < count; place += 2)
    if (in_range(code, ranges[place], ranges[place + 1])) return 1;
  return 0;
}

/* The letter or digit that a code point stands for in a table of runs, or 0. */
static uint32_t letter_in_runs(const uint32_t *firsts, const uint16_t *places, const uint8_t *letters, size_t runs, uint32_t code) {
  const size_t run = last_up_to(firsts, runs, code);
  const uint32_t place = places[run] + (code - firsts[run]);
  return code >= firsts[run] && place < places[run + 1] ? letters[place] : 0;
}
#define LETTER_IN(table, code) letter_in_runs(table##_firsts, table##_places, table##_letters, COUNT_OF(table##_firsts), code)

/* What is known about a code point. */
static uint32_t flags_of(uint32_t code) {
  const uint16_t *found;
  size_t plane, left, half;
  if (code < 128) return rvl_ascii[code];
  plane = code > MOST_CODE ? COUNT_OF(rvl_range_places) - 2 : code >> 16;
  found = rvl_ranges + rvl_range_places[plane];
  /* As many steps for all of a plane, without a branch. */
  for (left = (size_t)rvl_range_places[plane + 1] - rvl_range_places[plane]; left > 1; left -= half) {
    half = left / 2;
    found += found[half] <= (uint16_t)code ? half : 0;
  }
  return rvl_kinds[rvl_range_kinds[found - rvl_ranges]];
}

APART int is_separator(uint32_t code) { return (flags_of(code) & RVL_SEPARATOR) != 0; }
static int is_digit(uint32_t code) { return in_range(code, '0', '9'); }
static int is_regional(uint32_t code) { return in_range(code, RVL_REGIONAL_FIRST, RVL_REGIONAL_LAST); }

/* --- Code points (rule 1) --- */

static uint32_t sanitized(uint32_t code) { return code > MOST_CODE || in_range(code, 0xD800, 0xDFFF) ? REPLACEMENT : code; }

/* Decode one code point of at least one byte; the bytes of an invalid sequence that might begin a valid one are one INVALID (Unicode
 * Standard, section 3.9). `used`: how many bytes it has. */
static uint32_t decode(const uint8_t *bytes, size_t left, size_t *used) {
  size_t length;
  uint32_t first = bytes[0], code, low = 0x80, high = 0xBF;
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
    if (*used >= left || bytes[*used] < low || bytes[*used] > high) return INVALID;
    code = code << 6 | (bytes[*used] & 0x3Fu);
    low = 0x80;
    high = 0xBF;
  }
  return code;
}

/* A text as it was given, from a place on: code points, or the bytes of UTF-8 where there are none. From `cut` to `cut_end`, spaces stand in
 * place of code points (one of them where the gap is closed). */
typedef struct {
  const uint32_t *codes;
  const uint8_t *bytes;
  size_t place, end, left; /* left: code points that may still be read */
  size_t cut, cut_end;
  int closes;
  uint32_t last; /* the code point before this place; 0 at the start */
} given;

/* The code point at a place, which goes on behind it. */
static uint32_t code_at(const given *source, size_t *place) {
  const size_t here = *place;
  size_t used = 1;
  const uint32_t code = source->bytes ? decode(source->bytes + here, source->end - here, &used) : source->codes[here];
  *place = here + used;
  return sanitized(code);
}

/* The next code point as it was given; 0 at the end. */
static int next_given(given *source, uint32_t *code) {
  const size_t here = source->place;
  if (here >= source->end || !source->left) return 0;
  source->left--;
  *code = code_at(source, &source->place);
  if (here >= source->cut && here < source->cut_end) {
    *code = 0x20;
    if (source->closes) source->place = source->cut_end;
  }
  source->last = *code;
  return 1;
}
