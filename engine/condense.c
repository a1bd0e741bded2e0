/* What a person sees of a text (rules 0c to 0f): code points as they are read become a shorter text, of which windows are cut. */

enum {
  MOST_MARKS = 5, MOST_ALIKE = 2, MOST_SIGNS = 3, MOST_BLANKS = 3,
  LEAST_SPREAD = 4, LEAST_GAPS = 3, /* single letters, and gaps of one kind between them */
  WIDEST = MOST_SIGNS * MOST_SIGNS + (MOST_SIGNS + 1) * MOST_BLANKS /* of what may be left of a gap */
};

static int is_of_script(uint32_t letter, uint32_t mark) {
  const uint32_t script = edges_up_to(RVL_SCRIPTS, mark);
  return letter >> 7 == mark >> 7 || (script & 1 && letter >> 16 == mark >> 16 && script == edges_up_to(RVL_SCRIPTS, letter));
}

/* What is shown of a text, and how it ends: the last code point and how often it stands there, and how many separators. */
typedef struct {
  uint32_t *chars;
  uint32_t limit, count, last, alike, blanks;
} shown;

/* Add a code point unless it repeats those before it too often (0e). */
APART void show(shown *text, uint32_t code) {
  const int is_blank = is_separator(code);
  text->alike = code == text->last ? text->alike + 1 : 1;
  text->last = code;
  if (!is_blank && text->alike > MOST_ALIKE) return;
  text->blanks = is_blank ? text->blanks + 1 : 0;
  if (text->blanks <= MOST_BLANKS && text->count < text->limit) text->chars[text->count++] = code;
}

/* What waits in a gap until it is known how many rows of signs are in it: from the first sign of a row on, and from the second row on. */
typedef struct {
  uint32_t codes[(MOST_SIGNS - 1) * (MOST_SIGNS + MOST_BLANKS)];
  uint32_t count, rows, signs, start, blanks; /* signs: of the last row, which starts there; blanks: behind it */
} waiting;

/* Show what waits, or only its separators. */
static void show_waiting(shown *text, waiting *gap, int with_signs) {
  uint32_t n;
  for (n = 0; n < gap->count; n++)
    if (with_signs || is_separator(gap->codes[n])) show(text, gap->codes[n]);
  gap->count = 0;
}

/* Add a sign: of too many in a row the first is left, and of too many rows in a gap the first. */
static void add_sign(shown *text, waiting *gap, uint32_t code) {
  if (!gap->signs++) {
    if (++gap->rows > MOST_SIGNS) show_waiting(text, gap, 0);
    gap->start = gap->count;
  }
  gap->blanks = 0;
  if (gap->rows > MOST_SIGNS) return;
  if (gap->signs <= MOST_SIGNS)
    gap->codes[gap->count++] = code;
  else
    gap->count = gap->start + 1;
}

static void add_separator(shown *text, waiting *gap, uint32_t code) {
  gap->signs = 0;
  if (gap->rows == 1) show_waiting(text, gap, 1);
  if (!gap->count)
    show(text, code);
  else if (gap->blanks++ < MOST_BLANKS)
    gap->codes[gap->count++] = code;
}

/* What is shown, and what stands before the next code point: a letter and how many marks of it. */
typedef struct {
  shown text;
  waiting gap;
  uint32_t letter, marks;
} display;

/* Add a code point in the order in which it is displayed, but for foreign marks (0d) and repeats (0e). */
static void show_next(display *to, uint32_t code) {
  if (is_a(RVL_MARKS, code)) {
    if (!to->letter || !is_of_script(to->letter, code) || ++to->marks > MOST_MARKS) return;
  } else {
    to->letter = code;
    to->marks = 0;
  }
  if (is_separator(code)) {
    add_separator(&to->text, &to->gap, code);
  } else if (is_sign(code)) {
    add_sign(&to->text, &to->gap, code);
  } else {
    show_waiting(&to->text, &to->gap, 1);
    to->gap.rows = to->gap.signs = 0;
    show(&to->text, code);
  }
}

/* Pass on the first code points of a line. */
APART void pass_on(display *to, line *from, uint32_t count) {
  uint32_t n;
  put_in_order(from->chars, count);
  for (n = 0; n < count; n++)
    if ((from->chars[n] & CODE) != BOUNDARY) show_next(to, from->chars[n] & CODE);
  for (from->count -= count, n = 0; n < from->count; n++) from->chars[n] = from->chars[n + count];
}

/* Read a text without what is invisible, foreign marks and repeats (0c to 0e), up to `limit` code points; returns how many there are. `held`
 * is room to work in. */
APART uint32_t read_shown(reader *source, line *held, uint32_t *chars, uint32_t limit) {
  display to = {.text = {.chars = chars, .limit = limit}};
  uint32_t code;
  begin_line(held);
  held->count = 0;
  while (to.text.count < limit && next(source, &code)) {
    if (is_backspace(code))
      take_back(held);
    else if (is_direction(code))
      turn(held, code);
    else if (!(flags_of(code) & RVL_IGNORED))
      hold(held, code);
    if (held->count == HELD_IN_LINE) pass_on(&to, held, HELD_IN_LINE / 2);
  }
  pass_on(&to, held, held->count);
  show_waiting(&to.text, &to.gap, 1);
  return to.text.count;
}

/* Whether a letter or digit, which follows a gap or begins the text, stands alone (0f). */
APART int stands_alone(const uint32_t *chars, uint32_t count, uint32_t place) {
  const uint32_t code = chars[place];
  return (code < 0x1100 || in_range(code, 0x1E00, 0x1FFF) || is_regional(code)) && !in_gap(code) && !is_a(RVL_MARKS, code) &&
         (place + 1 == count || in_gap(chars[place + 1]));
}

/* The kind of a gap, 0 where there is none: how wide it is, and whether there is a sign in it. */
APART uint32_t gap_kind(const uint32_t *chars, uint32_t count, uint32_t start, uint32_t *end) {
  uint32_t signs = 0;
  for (*end = start; *end < count && in_gap(chars[*end]); ++*end) signs |= !is_separator(chars[*end]);
  return 2 * (*end - start < WIDEST ? *end - start : WIDEST) + signs;
}

/* Join single letters with gaps between them, where there are enough, and write them from `kept` on. Returns where they end, and makes `kept`
 * the place behind what was written. */
static uint32_t join_singles(uint32_t *chars, uint32_t count, uint32_t start, uint32_t *kept) {
  uint32_t counts[2 * WIDEST + 2] = {0}, letters = !is_a(RVL_DIGITS, chars[start]), inside = 0, end = start + 1, place, kind;
  int is_spread;
  while ((kind = gap_kind(chars, count, end, &place)) && place < count && stands_alone(chars, count, place)) {
    counts[kind]++;
    letters += !is_a(RVL_DIGITS, chars[place]);
    end = place + 1;
  }
  for (place = start + 1; place < end; place++) {
    kind = gap_kind(chars, count, place, &place);
    if (counts[kind] > counts[inside]) inside = kind;
  }
  is_spread = letters >= LEAST_SPREAD && counts[inside] >= LEAST_GAPS;
  for (place = start; place < end; place++) {
    if (is_spread && place > start && gap_kind(chars, count, place, &place) != inside) chars[(*kept)++] = ' ';
    chars[(*kept)++] = is_spread && is_regional(chars[place]) ? chars[place] - RVL_REGIONAL_FIRST + 'A' : chars[place];
  }
  return end;
}

/* Rule 0f for the code points in `chars`: join spread words, and leave one separator of several; returns how many are left. */
static uint32_t close_gaps(uint32_t *chars, uint32_t count) {
  uint32_t place = 0, kept = 0, left = 0;
  int begins = 1;
  while (place < count) {
    if (begins && stands_alone(chars, count, place)) {
      place = join_singles(chars, count, place, &kept);
      begins = 0;
    } else {
      begins = in_gap(chars[place]);
      chars[kept++] = chars[place++];
    }
  }
  for (place = 0; place < kept; place++)
    if (!is_separator(chars[place]) || (left && !is_separator(chars[left - 1]))) chars[left++] = chars[place];
  while (left && is_separator(chars[left - 1])) left--;
  return left;
}

/* Rule 0: read a text into `chars`, which has room for `limit` code points; returns how many there are. `held` is room to work in. */
APART uint32_t condense(reader source, line *held, uint32_t *chars, uint32_t limit) {
  source.composes = source.condenses = 1;
  return close_gaps(chars, read_shown(&source, held, chars, limit));
}
