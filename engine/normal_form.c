/* The normal form of a text (rule 2), the words that it is cut into (rules 3 to 5), and both for the texts of a training. */

/* Code points that are read at once, what is known about each, and by which rules they are read. */
typedef struct {
  uint32_t *chars;
  uint16_t *flags;
  uint32_t letters_only;
} passage;

/* What is known about a code point, with the letters that have tables of their own. */
static uint32_t all_flags_of(uint32_t code) {
  uint32_t flags = flags_of(code);
  if (code < 128) return flags;
  if (LETTER_IN(rvl_newer_form, code)) return flags | RVL_FORM;
  if (LETTER_IN(rvl_newer_like, code)) return RVL_LIKE | RVL_LETTER;
  if (in_ranges(rvl_newer_alphabets, COUNT_OF(rvl_newer_alphabets), code) && !(flags & RVL_LIKE)) flags = RVL_OTHER | RVL_LETTER;
  return flags;
}

static void replace_at(passage *text, uint32_t place, uint32_t code) {
  text->chars[place] = code;
  text->flags[place] = (uint16_t)all_flags_of(code);
}

/* The letter, digit or sign of a form (rule 2b). */
static uint32_t form_target(uint32_t code) {
  const uint32_t newer = LETTER_IN(rvl_newer_form, code);
  const size_t run = last_up_to(rvl_form_firsts, COUNT_OF(rvl_form_firsts), code);
  return newer ? newer : rvl_form_letters[rvl_form_targets[rvl_form_places[run] + (code - rvl_form_firsts[run])]];
}

/* The Latin letter that another looks like, or what stands for it (rule 2c). */
static uint32_t latin_for(uint32_t code, uint32_t flags) {
  const uint32_t letter = flags & RVL_LIKE ? LETTER_IN(rvl_newer_like, code) : LETTER_IN(rvl_faint, code);
  if (letter) return letter;
  return flags & RVL_LIKE ? LETTER_IN(rvl_like, code) : RVL_UNKNOWN_LETTER;
}

/* Whether a lookalike is of a script that is hardly written. */
static int is_rare(uint32_t code) { return code >= 0x10A0 && !in_range(code, 0x1F00, 0x1FFF); }
static int is_technical(uint32_t code) { return code == '#' || code == '/' || code == '@' || code == '\\' || code == '_'; }
static int ends_words(const passage *text, uint32_t place) { return text->chars[place] == 0x20 || text->flags[place] & UNSPACED; }

/* Make spaces of all that is no letter, and of words with technical signs. */
static void keep_letters(passage *text, uint32_t count) {
  uint32_t start, end, place;
  for (start = 0; start < count; start = end) {
    const int is_end = ends_words(text, start);
    int technical = 0;
    for (end = start; end < count && ends_words(text, end) == is_end; end++) technical |= is_technical(text->chars[end]);
    for (place = start; place < end; place++)
      if (!(text->flags[place] & IN_WORD) || (!is_end && technical)) replace_at(text, place, 0x20);
  }
}

static int stays(uint32_t code, uint32_t flags) {
  return (flags & RVL_OTHER) && (!(flags & RVL_LETTER) || in_ranges(rvl_right_to_left, COUNT_OF(rvl_right_to_left), code));
}

/* The flags of all letters of the word that begins at a place; `end` is where it ends, `all` the flags that all letters have. */
static uint32_t word_flags(const passage *text, uint32_t start, uint32_t count, uint32_t *end, uint32_t *all) {
  uint32_t any = 0;
  *all = IN_WORD;
  for (*end = start; *end < count && (text->flags[*end] & IN_WORD); ++*end) {
    any |= text->flags[*end];
    *all &= text->flags[*end];
    if (stays(text->chars[*end], text->flags[*end])) any |= STAYS;
    if (is_rare(text->chars[*end])) any |= RARE;
  }
  return any & (IN_WORD | STAYS | RARE);
}

/* Whether a word has a Latin letter and none that stays, or consists of lookalikes and has a rare one. */
static int is_latin_word(uint32_t any, uint32_t all) {
  return any & RVL_LATIN ? !(any & STAYS) : (any & RARE) && all == RVL_LIKE;
}

/* What a code point weighs where a text is taken for one of another script. */
static int script_weight(uint32_t code, uint32_t flags) {
  if (flags & RVL_LATIN) return 64;
  if (flags & RVL_OTHER) return -36;
  return !(flags & RVL_LIKE) ? 0 : is_rare(code) ? 1 : -2;
}

/* Rule 2c: letters of other alphabets become Latin in Latin words. */
static void replace_lookalikes(passage *text, uint32_t count) {
  uint32_t place, end, all, words = 0, latin_words = 0, replaced = 0;
  int64_t balance = 0;
  int mixes = 0, text_is_latin;
  for (place = 0; place < count; place++) {
    balance += script_weight(text->chars[place], text->flags[place]);
    replaced |= text->flags[place] & (RVL_OTHER | RVL_LIKE);
  }
  if (balance < 0 || !replaced) return;
  for (place = 0; place < count; place = end + 1) {
    const uint32_t any = word_flags(text, place, count, &end, &all);
    words += end > place;
    if (!is_latin_word(any, all)) continue;
    latin_words++;
    mixes |= (any & (RVL_OTHER | RVL_LIKE)) != 0;
  }
  text_is_latin = mixes || 2 * latin_words > words;
  for (place = 0; place < count; place = end + 1) {
    const uint32_t any = word_flags(text, place, count, &end, &all);
    if (!is_latin_word(any, all) && !(text_is_latin && end > place && all == RVL_LIKE)) continue;
    for (; place < end; place++)
      if (!(text->flags[place] & RVL_LATIN)) replace_at(text, place, latin_for(text->chars[place], text->flags[place]));
  }
}

static int is_symbol(uint32_t code) { return code >= rvl_symbols[0] && in_ranges(rvl_symbols, COUNT_OF(rvl_symbols), code); }

/* Whether a code point is a letter or a digit. */
static int is_single(uint32_t code, uint32_t flags) { return (flags & RVL_LETTER) || is_digit(code); }
static int single_at(const passage *text, uint32_t place, uint32_t count) { return place < count && is_single(text->chars[place], text->flags[place]); }

/* Whether a separator stands between single letters (rule 2d). */
static int is_between(const passage *text, uint32_t place, uint32_t count) {
  return place >= 1 && place + 1 < count && (text->flags[place - 1] & text->flags[place + 1] & RVL_LETTER) && !single_at(text, place, count) &&
         (place < 2 || !single_at(text, place - 2, count)) && !single_at(text, place + 2, count);
}

/* The order of separators: white space, spaced scripts, then the unspaced ones, each by code point; signs and symbols, as one, come last. */
static uint32_t separator_rank(const passage *text, uint32_t place) {
  const uint32_t code = text->chars[place], script = text->flags[place] & UNSPACED;
  uint32_t rank = code == 0x20 ? 0 : 1;
  if (code != 0x20 && (is_symbol(code) || in_ranges(rvl_signs, COUNT_OF(rvl_signs), code))) return (5u << BITS) + 1;
  if (script) rank = script & RVL_HAN ? 2 : script & RVL_KANA ? 3 : 4;
  return (rank << BITS | code) + 1;
}

/* Rule 2d: join spread words. */
static uint32_t join_spread(passage *text, uint32_t count) {
  uint32_t place, kept = 0, spread = 0, first = 0, second = 0, flags_before = 0, flags_two_before = 0;
  for (place = 1; place + 5 < count; place++) {
    uint32_t rank;
    if (!is_between(text, place, count) || !is_between(text, place + 2, count) || !is_between(text, place + 4, count)) continue;
    rank = separator_rank(text, place);
    if (rank > spread && rank == separator_rank(text, place + 2) && rank == separator_rank(text, place + 4)) spread = rank;
  }
  for (place = 0; place < count; place++) {
    const uint32_t code = text->chars[place], flags = text->flags[place];
    int dropped = 0;
    if (!is_single(code, flags) && place >= 1 && place + 1 < count) {
      /* What is left of the place may be overwritten already. */
      dropped = spread && is_single(first, flags_before) && single_at(text, place + 1, count) && !is_single(second, flags_two_before) &&
                !single_at(text, place + 2, count) && separator_rank(text, place) == spread;
      dropped |= (flags_before & text->flags[place + 1] & RVL_LETTER) && is_symbol(code);
    }
    second = first;
    first = code;
    flags_two_before = flags_before;
    flags_before = flags;
    if (dropped) continue;
    text->chars[kept] = code;
    text->flags[kept++] = (uint16_t)flags;
  }
  return kept;
}

/* Rules 1 and 2 for the code points in `chars`; returns how many are left. */
static uint32_t normalize(passage *text, uint32_t count) {
  uint32_t place, kept = 0, regional_end = 0, flag_end = 0;
  for (place = 0; place < count; place++) {
    uint32_t code = sanitized(text->chars[place]), flags = all_flags_of(code);
    if (flags & RVL_IGNORED) continue;
    if (place >= regional_end && is_regional(code)) {
      regional_end = place;
      while (regional_end < count && is_regional(text->chars[regional_end])) regional_end++;
      flag_end = regional_end - place == 2 ? regional_end : 0;
    }
    if ((flags & (RVL_SEPARATOR | RVL_FORM)) && !(place < flag_end && is_regional(code))) {
      code = flags & RVL_SEPARATOR ? 0x20 : form_target(code);
      flags = all_flags_of(code);
    }
    text->chars[kept] = code;
    text->flags[kept++] = (uint16_t)flags;
  }
  if (text->letters_only) keep_letters(text, kept);
  replace_lookalikes(text, kept);
  return join_spread(text, kept);
}

/* A character as n-grams and the table of meaning read it: in lower case, or as a plain letter. */
static uint32_t folded(uint32_t code, int plain) {
  uint32_t page;
  int32_t level;
  if (code >= RVL_FOLD_END) return code;
  page = rvl_fold_pages[(plain ? (RVL_FOLD_END + RVL_FOLD_PAGE) / RVL_FOLD_PAGE : 0) + code / RVL_FOLD_PAGE];
  level = (plain ? rvl_fold_levels_1 : rvl_fold_levels_0)[rvl_fold_places[page * RVL_FOLD_PAGE + code % RVL_FOLD_PAGE]];
  return level >= RVL_PLAIN ? (uint32_t)(level - RVL_PLAIN) : (uint32_t)((int32_t)code + level);
}

/* The same of a character of the text, with 0 for separators. */
static uint32_t folded_at(const passage *text, uint32_t place, int plain) {
  return text->flags[place] & RVL_SEPARATOR ? 0 : folded(text->chars[place], plain);
}

/* --- Words (rules 3 to 5) --- */

typedef struct { uint32_t start, length; } piece;

/* Characters that are cut into words, as far as they are cut. */
typedef struct {
  const uint32_t *chars;
  const uint16_t *flags; /* null: to be looked up */
  uint32_t count, word_length;
  uint32_t place, end, length, step; /* the rest of the run of one script that is being cut, and how */
} cutter;

static cutter cut_text(const uint32_t *chars, const uint16_t *flags, uint32_t count, uint32_t word_length) {
  const cutter rest = {.chars = chars, .flags = flags, .count = count, .word_length = word_length};
  return rest;
}

static uint32_t flags_at(const cutter *rest, uint32_t place) { return rest->flags ? rest->flags[place] : flags_of(rest->chars[place]); }

/* The next word; 0 at the end. A piece without a character that the one before it lacks is left out. */
static int next_word(cutter *rest, piece *word) {
  uint32_t script, left;
  if (rest->place >= rest->end) {
    while (rest->end < rest->count && flags_at(rest, rest->end) & RVL_SEPARATOR) rest->end++;
    if (rest->end >= rest->count) return 0;
    rest->place = rest->end;
    script = flags_at(rest, rest->place) & UNSPACED;
    do rest->end++;
    while (rest->end < rest->count && (flags_at(rest, rest->end) & (UNSPACED | RVL_SEPARATOR)) == script);
    rest->length = !script ? rest->word_length : script == RVL_HAN ? 1 : script == RVL_KANA ? 2 : SEA_PIECE;
    rest->step = !script ? rest->word_length : script == RVL_SEA ? 3 : 1;
  }
  left = rest->end - rest->place;
  word->start = rest->place;
  word->length = rest->length < left ? rest->length : left;
  rest->place = rest->length < left ? rest->place + rest->step : rest->end;
  return 1;
}

/* --- Texts of a training --- */

size_t rvl_read(const rvl_rules *rules, const uint32_t *codes, const uint32_t *ends, size_t texts, uint16_t *flags, uint32_t *chars,
                uint32_t *chars_ends) {
  passage text = {.flags = flags, .letters_only = rules->letters_only};
  uint32_t start = 0, written = 0;
  size_t number;
  for (number = 0; number < texts; number++) {
    const uint32_t length = ends[number] > start ? ends[number] - start : 0, first = written; /* none where ends decrease */
    uint32_t count = length < rules->max_chars ? length : rules->max_chars, place;
    text.chars = chars + written;
    for (place = 0; place < count; place++) text.chars[place] = codes[start + place];
    count = normalize(&text, count);
    /* A 0 replaces a separator, but behind the last run, so nothing is overwritten before it is read. */
    for (place = 0; place <= count; place++) {
      if (place < count && !(flags[place] & RVL_SEPARATOR))
        chars[written++] = text.chars[place];
      else if (written > first && chars[written - 1])
        chars[written++] = 0;
    }
    chars_ends[number] = written;
    start += length;
  }
  return written;
}
