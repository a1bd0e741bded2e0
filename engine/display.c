/* The order in which a text is displayed (rule 0c): a line of code points, from which some are taken back, and which overrides turn. */

enum {
  HELD_IN_LINE = 768, /* of so many code points, the first half is passed on */
  DEEPEST = 125,       /* the highest level: odd ones are read from right to left */
  LEVEL = 21, CODE = (1 << LEVEL) - 1,
  BOUNDARY = INVALID, /* where an isolate begins or ends */
  OVERRIDE = 0x202E, END_OF_OTHER = 0x202C, END_OF_ISOLATE = 0x2069, FIRST_ISOLATE = 0x2066
};

typedef struct {
  uint32_t chars[HELD_IN_LINE], count; /* (level << LEVEL | code point) */
  uint8_t open[DEEPEST + 1];           /* embeddings, overrides and isolates: twice their level, and whether they are isolates */
  uint32_t depth, lost;                /* lost: those that are open, and too deep to count */
  int is_from_left;                    /* whether the last letter in an override is not of a script from right to left */
} line;

static int is_direction(uint32_t code) { return in_range(code, 0x202A, OVERRIDE) || in_range(code, FIRST_ISOLATE, END_OF_ISOLATE); }

/* Whether what is held belongs to the code point before it. */
APART int is_held_mark(uint32_t held) { return (held & CODE) == BOUNDARY || is_a(RVL_MARKS, held & CODE); }

/* End all embeddings, overrides and isolates. */
APART void begin_line(line *text) {
  text->open[0] = 1;
  text->depth = text->lost = 0;
}

/* Add a code point other than backspaces and directions. */
static void hold(line *text, uint32_t code) {
  uint32_t level, n;
  if (code == '\n' || code == '\r') begin_line(text);
  level = text->open[text->depth] >> 1;
  if (level & 1) {
    if (!in_gap(code) && !is_held_mark(code)) {
      const int is_first = !text->is_from_left;
      text->is_from_left = !in_ranges(rvl_from_right, COUNT_OF(rvl_from_right), code);
      /* What is between letters from right to left and others stands with these. */
      for (n = text->count; is_first && text->is_from_left && n-- && text->chars[n] >> LEVEL == level + 1 && in_gap(text->chars[n] & CODE);) text->chars[n] -= 1u << LEVEL;
    }
    level += !text->is_from_left;
  }
  text->chars[text->count++] = level << LEVEL | code;
}

/* Leave out the last letter with its marks. */
APART void take_back(line *text) {
  while (text->count && is_held_mark(text->chars[--text->count])) continue;
}

/* Begin or end an embedding, an override or an isolate. */
APART void turn(line *text, uint32_t code) {
  const uint32_t level = text->open[text->depth] >> 1, inside = code == OVERRIDE ? (level + 1) | 1 : (level + 2) & ~1u;
  const int ends_isolate = code == END_OF_ISOLATE, ends = ends_isolate || code == END_OF_OTHER, is_isolate = code >= FIRST_ISOLATE;
  uint32_t outer = text->depth;
  text->is_from_left = 0;
  if (text->lost || (!ends && inside > DEEPEST)) {
    text->lost += ends ? -1 : 1;
    return;
  }
  if (ends) {
    while (ends_isolate && !(text->open[outer] & 1)) outer--;
    if (!outer || (text->open[outer] & 1) != ends_isolate) return;
    text->depth = --outer;
  } else {
    text->open[++text->depth] = (uint8_t)(inside << 1 | (uint32_t)is_isolate);
  }
  if (is_isolate) {
    /* Of boundaries in a row, the lowest counts. */
    uint32_t held = (uint32_t)(text->open[outer] >> 1) << LEVEL | BOUNDARY;
    if (text->count && (text->chars[text->count - 1] & CODE) == BOUNDARY && text->chars[--text->count] < held) held = text->chars[text->count];
    text->chars[text->count++] = held;
  }
}

APART void reverse(uint32_t *chars, uint32_t start, uint32_t end) {
  while (start + 1 < end) {
    const uint32_t first = chars[start];
    chars[start++] = chars[--end];
    chars[end] = first;
  }
}

/* Put code points into the order in which they are displayed: from the highest level down, what is not below it is reversed. */
APART void put_in_order(uint32_t *chars, uint32_t count) {
  uint32_t level = 0, start, end;
  for (start = 0; start < count; start = end) {
    const uint32_t own = chars[start] >> LEVEL;
    for (end = start + 1; end < count && chars[end] >> LEVEL == own && is_held_mark(chars[end]);) end++;
    if (own & 1) reverse(chars, start, end); /* marks stay behind their letter */
    if (own > level) level = own;
  }
  for (; level; level--)
    for (start = 0; start < count; start = end + 1) {
      for (end = start; end < count && chars[end] >> LEVEL >= level;) end++;
      reverse(chars, start, end);
    }
}
