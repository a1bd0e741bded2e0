/* A text as it is read, code point by code point: markup is replaced (rule 0a) and letters are composed (0b). */

enum {
  MOST_GIVEN = 1 << 19, /* code points of a text that are looked at */
  MOST_PEEKED = 256,    /* of a tag, or of the text of a link */
  LONGEST_TAG = 16, LONGEST_ENTITY = 6, LONG_NUMBER = 17, MOST_EMPHASIS = 3,
  MOST_PILED = 8,     /* marks in a row */
  FIRST_WHOLE = 0xC0, /* of what is composed */
  FIRST_MARK = 0x300, /* what stands before it composes with nothing before it */
  HELD = 32,          /* a letter and its marks that are composed at once */
  UNSHOWN = INVALID + 1 /* stands for markup that becomes nothing; INVALID for what is no markup */
};

/* How many ranges of a kind, such as RVL_MARKS, begin or end up to a code point: inside of one it is odd. */
APART uint32_t edges_up_to(uint32_t kind, uint32_t code) {
  const uint32_t part = kind + (code < 0x20000 ? code >> 16 : 0), start = rvl_edge_places[part];
  return code < 0x20000 ? count_up_to(rvl_edges + start, rvl_edge_places[part + 1] - start, code & 0xFFFF) : 0;
}

static int is_a(uint32_t kind, uint32_t code) { return (int)(edges_up_to(kind, code) & 1); }
static int is_letter(uint32_t code) { return in_range(code | 0x20, 'a', 'z'); }
APART int is_sign(uint32_t code) { return code < 0x80 ? in_range(code, '!', '~') && !is_digit(code) && !is_letter(code) : is_a(RVL_SIGNS, code); }
static int is_backspace(uint32_t code) { return code == '\b' || code == 0x7F; }
/* Whether a code point is a digit of any script. */
static int is_decimal(uint32_t code) { return code < 0x80 ? is_digit(code) : is_a(RVL_DIGITS, code); }
APART int in_gap(uint32_t code) { return is_separator(code) || is_sign(code); }

/* Where a code point stands in a string, or -1. */
APART int place_in(const char *string, uint32_t code) {
  int place;
  for (place = 0; string[place]; place++)
    if ((uint32_t)string[place] == code) return place;
  return -1;
}

/* Which of some names with a space behind each is spelled by these letters, or -1. */
APART int name_number(const char *names, const uint32_t *letters, uint32_t count) {
  int number;
  for (number = 0; *names; number++) {
    uint32_t place = 0;
    while (place < count && (uint32_t)names[place] == letters[place]) place++;
    if (place == count && names[place] == ' ') return number;
    while (*names++ != ' ') continue;
  }
  return -1;
}

/* --- Markup (0a): each function reads on behind the first code point and returns what stands for all of it --- */

/* The next code point, or INVALID at the end. */
APART uint32_t after(given *rest) {
  uint32_t code;
  return next_given(rest, &code) ? code : INVALID;
}

/* A hexadecimal digit as a number, or 16. */
static uint32_t digit_of(uint32_t code) { return is_digit(code) ? code - '0' : in_range(code | 0x20, 'a', 'f') ? (code | 0x20) - 'a' + 10 : 16; }

/* As many hexadecimal digits as there must be. */
APART uint32_t hex_number(given *rest, int digits) {
  uint32_t number = 0, digit;
  while (digits--) {
    digit = digit_of(after(rest));
    if (digit > 15) return INVALID;
    number = number << 4 | digit;
  }
  return number;
}

/* `%` and the digits of a byte; of a letter beyond ASCII, all its bytes. */
static uint32_t percent_encoded(given *rest) {
  uint8_t bytes[4];
  size_t length, count, used;
  uint32_t byte = hex_number(rest, 2);
  if (byte < 0x80) return byte >= 0x20 || byte == '\t' || byte == '\n' || byte == '\r' ? byte : INVALID;
  if (!in_range(byte, 0xC2, 0xF4)) return INVALID;
  length = byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
  for (count = 0; count < length; count++) {
    if (count && (after(rest) != '%' || (byte = hex_number(rest, 2)) == INVALID)) return INVALID;
    bytes[count] = (uint8_t)byte;
  }
  return decode(bytes, length, &used);
}

/* A backslash, `u` and four digits; twice for surrogates. */
static uint32_t escaped(given *rest) {
  uint32_t high = after(rest) == 'u' ? hex_number(rest, 4) : INVALID, low;
  if (!in_range(high, 0xD800, 0xDFFF)) return high;
  if (high > 0xDBFF || after(rest) != '\\' || after(rest) != 'u') return INVALID;
  low = hex_number(rest, 4);
  return in_range(low, 0xDC00, 0xDFFF) ? 0x10000 + (high - 0xD800) * 0x400 + low - 0xDC00 : INVALID;
}

static uint32_t entity(given *rest) {
  uint32_t name[LONGEST_ENTITY], count = 0, code = after(rest), number = 0, base = 10, most = 7;
  int found;
  if (code != '#') {
    for (; is_letter(code) && count < LONGEST_ENTITY; code = after(rest)) name[count++] = code;
    found = code == ';' ? name_number(rvl_entities, name, count) : -1;
    return found < 0 ? INVALID : rvl_entity_codes[found];
  }
  code = after(rest);
  if (code == 'x' || code == 'X') base = 16, most = 6, code = after(rest);
  for (; digit_of(code) < base && count < most; code = after(rest), count++) number = number * base + digit_of(code);
  return code == ';' && count && number && sanitized(number) == number ? number : INVALID;
}

/* A tag, or a comment. */
static uint32_t tag(given *rest) {
  uint32_t inner[MOST_PEEKED], count = 0, code, start, end, place;
  for (; (code = after(rest)) != '>'; inner[count++] = code)
    if (code == '<' || code == INVALID || count == MOST_PEEKED) return INVALID;
  if (count > 4 && inner[0] == '!' && inner[1] == '-' && inner[2] == '-' && inner[count - 2] == '-' && inner[count - 1] == '-') return UNSHOWN;
  start = count && inner[0] == '/';
  for (end = start; end < count && end - start < LONGEST_TAG && (is_letter(inner[end]) || (end > start && is_digit(inner[end]))); end++)
    inner[end] |= 0x20;
  if (end == start || (end < count && !is_separator(inner[end]) && inner[end] != '/')) return INVALID;
  for (place = end; place < count && (is_separator(inner[place]) || inner[place] == '/'); place++) continue;
  for (; place < count && inner[place] != '='; place++)
    if (place + 1 == count) return INVALID;
  return name_number(rvl_inline, inner + start, end - start) < 0 ? ' ' : UNSHOWN;
}

/* Whether a bracket begins the text of a link. */
static int opens_link(given rest) {
  uint32_t count, code;
  for (count = 0; (code = after(&rest)) != ']'; count++)
    if (code == '[' || code == INVALID || count == MOST_PEEKED) return 0;
  return count && after(&rest) == '(';
}

/* The end of a link: the bracket behind its text, and its address. */
static uint32_t link_end(given *rest) {
  uint32_t count, code = after(rest);
  if (code != '(') return INVALID;
  for (count = 0; (code = after(rest)) != ')'; count++)
    if (code == '(' || code == INVALID || count == MOST_PEEKED || is_separator(code)) return INVALID;
  return count ? UNSHOWN : INVALID;
}

/* Many digits. */
static uint32_t long_number(given *rest) {
  given ahead = *rest;
  uint32_t count;
  for (count = 1; is_decimal(after(&ahead)); count++) *rest = ahead;
  return count < LONG_NUMBER ? INVALID : ' ';
}

static const char EMPHASIS[] = "*_`~";

/* Whether an emphasis may close between two code points. */
static int may_close(uint32_t before, uint32_t code) {
  return !is_separator(before) && place_in("([{\"'*_`~", before) < 0 && (code == INVALID || (in_gap(code) && place_in(EMPHASIS, code) < 0));
}

/* Whether what opens with so many signs closes further on. */
static int closes(given rest, uint32_t sign, uint32_t count) {
  uint32_t place, code, last = sign, before = sign, row = 0;
  for (place = 0; place <= MOST_PEEKED + MOST_EMPHASIS; place++, last = code) {
    code = after(&rest);
    if (code == sign) {
      if (!row++) before = place <= MOST_PEEKED ? last : sign;
      continue;
    }
    if (row == count && may_close(before, code)) return 1;
    if (code == INVALID) return 0;
    row = 0;
  }
  return 0;
}

/* The signs of an emphasis that opens or closes; `open` has how many of each sign opened the last one. */
static uint32_t emphasis(given *rest, uint32_t sign, uint32_t before, uint8_t *open) {
  given ahead = *rest;
  uint32_t count = 1, code;
  uint8_t *last = open + place_in(EMPHASIS, sign);
  while ((code = after(&ahead)) == sign && count <= MOST_EMPHASIS) *rest = ahead, count++;
  if (sign == '~' ? count != 2 : count > MOST_EMPHASIS) return INVALID;
  if (is_separator(before) || place_in("([{\"'", before) >= 0) {
    given word = ahead;
    uint32_t peeked = 0, letter = code;
    for (; peeked < MOST_PEEKED && letter != INVALID && !is_separator(letter); peeked++, letter = after(&word))
      if (is_backspace(letter)) return INVALID;
    if (code == INVALID || in_gap(code) || !closes(*rest, sign, count)) return INVALID;
    *last = (uint8_t)count;
    return UNSHOWN;
  }
  if (!may_close(before, code)) return INVALID;
  if (*last != count) count = 0;
  *last = 0;
  return count ? UNSHOWN : INVALID;
}

/* --- Composition (0b) --- */

/* A text as it is read: letters are composed, and behind a letter are the marks that are held with it. */
typedef struct {
  given text;
  int composes, condenses;
  uint8_t open[sizeof EMPHASIS];
  uint32_t piled; /* marks in a row */
  uint32_t rest[2], rests; /* what a code point that was replaced goes on with, in reverse */
  uint32_t held[HELD], count, told; /* of those held, and those of them that were handed out */
  uint32_t ahead, has_ahead; /* the one behind them */
} reader;

/* Code points, or the bytes of UTF-8 where there are none, of which `limit` code points are read at most. */
APART reader read_text(const uint32_t *codes, const char *bytes, size_t count, size_t limit) {
  const reader source = {.text = {.codes = codes, .bytes = (const uint8_t *)bytes, .end = count, .left = limit}, .composes = bytes != 0};
  return source;
}

/* What stands for the markup that begins with a code point behind `before`; `rest` goes on behind it. */
APART uint32_t markup(given *rest, uint32_t code, uint32_t before, uint8_t *open) {
  switch (code) {
    case '%': return percent_encoded(rest);
    case '\\': return escaped(rest);
    case '&': return entity(rest);
    case '<': return tag(rest);
    case '[': return opens_link(*rest) ? UNSHOWN : INVALID;
    case ']': return link_end(rest);
    case '*': case '_': case '`': case '~': return emphasis(rest, code, before, open);
    default: return is_decimal(code) && !is_decimal(before) ? long_number(rest) : INVALID;
  }
}

/* The next code point, of a text that is condensed without its markup and without marks that are piled up. */
static int next_shown(reader *source, uint32_t *code) {
  for (;;) {
    const uint32_t before = source->text.last;
    if (!next_given(&source->text, code)) return 0;
    if (!source->condenses) return 1;
    if (*code < 0x80 ? *code != ' ' && !is_letter(*code) : is_a(RVL_DIGITS, *code)) {
      given rest = source->text;
      const uint32_t shown = markup(&rest, *code, before, source->open);
      if (shown != INVALID) source->text = rest;
      if (shown == UNSHOWN) continue;
      if (shown != INVALID) *code = shown;
    }
    source->piled = is_a(RVL_MARKS, *code) || is_a(RVL_PILED, *code) ? source->piled + 1 : 0;
    if (source->piled <= MOST_PILED) return 1;
  }
}

/* What a code point that composed texts do not have is replaced by, and goes on with; itself and 0 for others. */
APART uint32_t replaced(uint32_t code, uint32_t *second) {
  static const uint32_t low[] = {RVL_LOW_IDEOGRAPHS}, high[] = {RVL_HIGH_IDEOGRAPHS};
  const uint32_t plane = code & 0x1F0000;
  uint32_t place;
  *second = 0;
  if (in_range(code, low[0], low[1]) || in_range(code, high[0], high[1])) {
    place = code < high[0] ? code - low[0] : code - high[0] + low[1] - low[0] + 1;
    return rvl_ideographs[place] ? rvl_ideographs[place] | (uint32_t)(rvl_ideograph_planes[place / 8] >> place % 8 & 1) << 17 : code;
  }
  if (plane > 0x10000 || in_range(code, HANGUL, 0xD7A3)) return code;
  place = count_up_to(rvl_replaced, COUNT_OF(rvl_replaced), code & 0xFFFF);
  if (!place || rvl_replaced[place - 1] != (code & 0xFFFF) || (plane != 0) != in_range(code & 0xFFFF, HANGUL, 0xD7A3)) return code;
  if (rvl_replaced_seconds[place - 1]) *second = plane | rvl_replaced_seconds[place - 1];
  return plane | rvl_replaced_firsts[place - 1];
}

/* The next code point that a composed text may have. */
APART int next_part(reader *source, uint32_t *code) {
  uint32_t whole, second;
  if (source->rests) {
    *code = source->rest[--source->rests];
    return 1;
  }
  if (!next_shown(source, code)) return 0;
  do {
    whole = *code;
    *code = replaced(whole, &second);
    if (second) source->rest[source->rests++] = second;
  } while (*code != whole);
  return 1;
}

/* What two code points compose to, or 0. */
APART uint32_t composed(uint32_t first, uint32_t second) {
  const uint32_t plane = first & 0x1F0000, from = plane ? RVL_LOW_SECONDS : 0;
  uint32_t place, start;
  if (in_range(first, 0x1100, 0x1112) && in_range(second, 0x1161, 0x1175)) return HANGUL + ((first - 0x1100) * 21 + second - 0x1161) * 28;
  if (in_range(first, HANGUL, 0xD7A3) && (first - HANGUL) % 28 == 0 && in_range(second, 0x11A8, 0x11C2)) return first + second - 0x11A7;
  if (plane > 0x10000 || (second & 0x1F0000) != plane) return 0;
  place = count_up_to(rvl_seconds + from, plane ? COUNT_OF(rvl_seconds) - from : RVL_LOW_SECONDS, second & 0xFFFF) + from;
  if (place == from || rvl_seconds[place - 1] != (second & 0xFFFF)) return 0;
  start = rvl_second_places[place - 1];
  place = count_up_to(rvl_firsts + start, rvl_second_places[place] - start, first & 0xFFFF) + start;
  return place > start && rvl_firsts[place - 1] == (first & 0xFFFF) ? plane | rvl_wholes[place - 1] : 0;
}

/* Where the pair stands that a code point is composed of, plus 1; 0 for none. Without a branch, so that compilers compare many at once. */
FAST_APART uint32_t pair_of(uint32_t whole) {
  const uint16_t low = (uint16_t)whole, first_high = rvl_second_places[RVL_LOW_SECONDS];
  uint16_t place, found[2] = {0, 0};
  for (place = 0; place < first_high; place++) found[0] |= rvl_wholes[place] == low ? (uint16_t)(place + 1) : 0;
  for (; place < COUNT_OF(rvl_wholes); place++) found[1] |= rvl_wholes[place] == low ? (uint16_t)(place + 1) : 0;
  return whole < 0x20000 ? found[whole >> 16] : 0;
}

/* Put the code points that the first one is composed of in its place. */
static void decompose(reader *source) {
  uint32_t pair, n;
  while (source->held[0] >= FIRST_WHOLE && (pair = pair_of(source->held[0]))) {
    const uint32_t plane = source->held[0] & 0x1F0000;
    for (n = source->count++; n > 1; n--) source->held[n] = source->held[n - 1];
    source->held[0] = plane | rvl_firsts[pair - 1];
    source->held[1] = plane | rvl_seconds[count_up_to(rvl_second_places, COUNT_OF(rvl_second_places), pair - 1) - 1];
  }
}

/* The canonical combining class of a mark; 0 for others. */
APART uint32_t mark_class(uint32_t code) {
  const uint32_t from = code < 0x10000 ? 0 : RVL_LOW_CLASSES, count = code < 0x10000 ? RVL_LOW_CLASSES : COUNT_OF(rvl_classes) - RVL_LOW_CLASSES;
  const uint32_t found = code < 0x20000 ? rvl_classes[from + last_up_to(rvl_classes + from, count, code << 16 | 0xFFFF)] : 0;
  return in_range(code & 0xFFFF, found >> 16, (found >> 16) + (found >> 8 & 0xFF)) ? found & 0xFF : 0;
}

/* Compose the first code point with the marks behind it that no other mark of their class keeps from it. */
APART void compose(reader *source) {
  uint32_t n, kept = 1, last = 0;
  for (n = 1; n < source->count; n++) {
    const uint32_t kind = mark_class(source->held[n]), whole = !last || last < kind ? composed(source->held[0], source->held[n]) : 0;
    if (whole) {
      source->held[0] = whole;
    } else {
      source->held[kept++] = source->held[n];
      last = kind;
    }
  }
  source->count = kept;
}

/* The next code point of the composed text. */
APART int next_composed(reader *source, uint32_t *code) {
  if (source->told < source->count) {
    *code = source->held[source->told++];
    return 1;
  }
  if (source->has_ahead)
    source->held[0] = source->ahead;
  else if (!next_part(source, source->held))
    return 0;
  source->count = source->told = 1;
  for (;;) {
    uint32_t kind = 0, whole = 0, n;
    source->has_ahead = (uint32_t)next_part(source, &source->ahead);
    if (source->has_ahead && source->ahead >= FIRST_MARK) kind = mark_class(source->ahead);
    if (kind && source->count < HELD) {
      if (source->count == 1) decompose(source);
      for (n = source->count++; n && mark_class(source->held[n - 1]) > kind; n--) source->held[n] = source->held[n - 1];
      source->held[n] = source->ahead;
      continue;
    }
    compose(source);
    if (source->has_ahead && source->ahead >= FIRST_MARK && source->count == 1) whole = composed(source->held[0], source->ahead);
    if (!whole) break;
    source->held[0] = whole;
  }
  *code = source->held[0];
  return 1;
}

/* The next code point as it is read. */
static int next(reader *source, uint32_t *code) { return source->composes ? next_composed(source, code) : next_given(&source->text, code); }
