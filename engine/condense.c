/* What a person sees of a text (rules 0c to 0f): code points as they are read become a shorter text, of which windows are cut. */

enum {
  MOST_MARKS = 5, MOST_ALIKE = 2, MOST_SIGNS = 14, MOST_OF_GAP = 20, MOST_BLANKS = 3,
  LONGEST_SHORT = 4, LONGEST_CODE = 8, LONGEST_NUMBER = 16, /* words in which repeats mean something: any, of letters of codes, with a digit */
  LEAST_SPREAD = 4, LEAST_GAPS = 3, /* single letters, and gaps of one kind between them */
  LEAST_OWN = 3, /* letters that tell a script, on top of two for each that tells of another one, */
  GREEK = 0x370, LAST_ARMENIAN = 0x58F, /* such as the three here, Cyrillic between them */
  WIDEST = MOST_OF_GAP + (MOST_OF_GAP + 1) * MOST_BLANKS /* of what may be left of a gap */
};

static int is_of_script(uint32_t letter, uint32_t mark) {
  const uint32_t script = edges_up_to(RVL_SCRIPTS, mark);
  return letter >> 7 == mark >> 7 || (script & 1 && letter >> 16 == mark >> 16 && script == edges_up_to(RVL_SCRIPTS, letter));
}

/* A word in which letters are dropped behind two like them (0e), unless it is short, a code or has a digit: letters wait until that is known. */
typedef struct {
  uint32_t held[LONGEST_NUMBER];
  uint32_t count, last, alike; /* of those that wait; and of what was shown of a longer word */
  int is_drawn;
} word;

/* What is shown of a text, and how it ends: a word, or how many separators. */
typedef struct {
  uint32_t *chars;
  uint32_t limit, count, blanks;
  word word;
} shown;

static void append(shown *text, uint32_t code) {
  if (text->count < text->limit) text->chars[text->count++] = code;
}

/* Add a letter of a long word unless it repeats those before it too often. */
static void append_once(shown *text, uint32_t code) {
  text->word.alike = code == text->word.last ? text->word.alike + 1 : 1;
  text->word.last = code;
  if (text->word.alike <= MOST_ALIKE || is_decimal(code)) append(text, code);
}

/* Whether repeats mean something in the word that waits. */
static int is_read_as_it_stands(const word *now) {
  uint32_t n, digits = 0, others = 0;
  for (n = 0; n < now->count; n++) {
    digits += (uint32_t)is_decimal(now->held[n]);
    others += !is_a(RVL_CODE_LETTERS, now->held[n]);
  }
  return now->count <= LONGEST_SHORT || (now->count <= LONGEST_CODE && !others) || digits;
}

/* Add a letter or digit. */
APART void show_letter(shown *text, uint32_t code) {
  word *now = &text->word;
  uint32_t n;
  text->blanks = 0;
  if (!now->is_drawn && now->count < LONGEST_NUMBER) {
    now->held[now->count++] = code;
    return;
  }
  for (n = 0; n < now->count && !now->is_drawn; n++) append_once(text, now->held[n]);
  now->is_drawn = 1;
  append_once(text, code);
}

/* End a word. */
APART void end_word(shown *text) {
  static const word none;
  uint32_t n;
  const int stays = is_read_as_it_stands(&text->word);
  for (n = 0; n < text->word.count && !text->word.is_drawn; n++)
    if (stays)
      append(text, text->word.held[n]);
    else
      append_once(text, text->word.held[n]);
  text->word = none;
}

/* Add a separator or sign; of many separators the first ones are left. */
APART void show_gap(shown *text, uint32_t code) {
  end_word(text);
  text->blanks = is_separator(code) ? text->blanks + 1 : 0;
  if (text->blanks <= MOST_BLANKS) append(text, code);
}

/* What waits in a gap, from its first sign on, until it is known how many signs are in it. Of too many in a row the first is left. */
typedef struct {
  uint32_t codes[MOST_SIGNS + WIDEST];
  uint32_t count, signs, start, row, blanks; /* signs: that are left; row: of the last row, which starts there; blanks: behind it */
  int is_full; /* whether no more signs are shown */
} waiting;

/* End a row of signs: once there are too many signs, those of the first row are left, and all separators. */
static void end_row(shown *text, waiting *gap) {
  uint32_t n, rows = 1;
  gap->row = 0;
  if (gap->signs <= MOST_OF_GAP || gap->is_full) return;
  for (n = 0; n < gap->count; n++) {
    rows += (uint32_t)is_separator(gap->codes[n]);
    if (rows == 1 || is_separator(gap->codes[n])) show_gap(text, gap->codes[n]);
  }
  gap->count = 0;
  gap->is_full = 1;
}

static void add_sign(waiting *gap, uint32_t code) {
  if (gap->is_full) return;
  if (!gap->row++) gap->start = gap->count;
  gap->blanks = 0;
  if (gap->row <= MOST_SIGNS) {
    gap->codes[gap->count++] = code;
    gap->signs++;
  } else if (gap->row == MOST_SIGNS + 1) {
    gap->count = gap->start + 1;
    gap->signs -= MOST_SIGNS - 1;
  }
}

static void add_separator(shown *text, waiting *gap, uint32_t code) {
  end_row(text, gap);
  if (!gap->signs || gap->is_full)
    show_gap(text, code);
  else if (gap->blanks++ < MOST_BLANKS)
    gap->codes[gap->count++] = code;
}

/* End a gap. */
APART void end_gap(shown *text, waiting *gap) {
  uint32_t n;
  end_row(text, gap);
  for (n = 0; n < gap->count; n++) show_gap(text, gap->codes[n]);
  gap->count = gap->signs = 0;
  gap->is_full = 0;
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
    add_sign(&to->gap, code);
  } else {
    end_gap(&to->text, &to->gap);
    show_letter(&to->text, code);
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
    else if (!(flags_of(code) & RVL_IGNORED) && !is_a(RVL_OPTIONAL, code))
      hold(held, code);
    if (held->count == HELD_IN_LINE) pass_on(&to, held, HELD_IN_LINE / 2);
  }
  pass_on(&to, held, held->count);
  end_gap(&to.text, &to.gap);
  end_word(&to.text);
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
  uint32_t counts[2 * WIDEST + 2] = {0}, letters = !is_decimal(chars[start]), inside = 0, end = start + 1, place, kind;
  shown joined = {.chars = chars, .limit = count, .count = *kept};
  int is_spread;
  while ((kind = gap_kind(chars, count, end, &place)) && place < count && stands_alone(chars, count, place)) {
    counts[kind]++;
    letters += !is_decimal(chars[place]);
    end = place + 1;
  }
  for (place = start + 1; place < end; place++) {
    kind = gap_kind(chars, count, place, &place);
    if (counts[kind] > counts[inside]) inside = kind;
  }
  is_spread = letters >= LEAST_SPREAD && counts[inside] >= LEAST_GAPS;
  for (place = start; place < end; place++) {
    if (is_spread && place > start && gap_kind(chars, count, place, &place) != inside) show_gap(&joined, ' ');
    if (!is_spread)
      append(&joined, chars[place]);
    else
      show_letter(&joined, is_regional(chars[place]) ? chars[place] - RVL_REGIONAL_FIRST + 'A' : chars[place]);
  }
  end_word(&joined);
  *kept = joined.count;
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

/* How many letters of a word tell of a script, with `weight` less for each that tells of Latin or another one; `none` for words without a letter of the
 * script. `end` is where the word ends. */
APART int own_letters(const uint32_t *chars, uint32_t count, uint32_t start, const uint16_t *script, uint32_t twins, uint32_t *end, int weight,
                      int none) {
  int found = 0;
  uint32_t n, any = 0;
  for (*end = start; *end < count && !in_gap(chars[*end]); ++*end) {
    const uint32_t code = chars[*end];
    const int is_own = in_range(code, script[0], script[1]);
    any |= (uint32_t)is_own;
    found -= !is_own && in_range(code, GREEK, LAST_ARMENIAN) ? weight : 0;
    if (!is_own && !is_letter(code)) continue;
    for (n = twins; n < twins + script[3] && code != (is_own ? rvl_twins_own[n] : rvl_twins_latin[n]); n++) continue;
    if (n == twins + script[3]) found += is_own ? 1 : -weight;
  }
  return any ? found : none;
}

/* Rule 0g: Latin letters in words of other scripts become the letters that they are written for. */
APART void use_own_letters(uint32_t *chars, uint32_t count) {
  const uint16_t *script;
  uint32_t twins = 0, start, end, n;
  for (script = rvl_twin_scripts; script < rvl_twin_scripts + COUNT_OF(rvl_twin_scripts); twins += script[2], script += 4) {
    int found = 0;
    for (n = 0; n < count && !in_range(chars[n], script[0], script[1]); n++) continue;
    for (start = n < count ? 0 : count; start < count; start = end + 1) found += own_letters(chars, count, start, script, twins, &end, 2, 0);
    for (start = 0; start < count && found >= LEAST_OWN; start = end + 1) {
      if (own_letters(chars, count, start, script, twins, &end, 1, -1) < 0) continue;
      for (; start < end; start++)
        for (n = twins; n < twins + script[2]; n++)
          if (chars[start] == rvl_twins_latin[n]) {
            chars[start] = rvl_twins_own[n];
            break;
          }
    }
  }
}

/* Rule 0: read a text into `chars`, which has room for `limit` code points; returns how many there are. `held` is room to work in. */
APART uint32_t condense(reader source, line *held, uint32_t *chars, uint32_t limit) {
  source.composes = source.condenses = 1;
  limit = close_gaps(chars, read_shown(&source, held, chars, limit));
  use_own_letters(chars, limit);
  return limit;
}
