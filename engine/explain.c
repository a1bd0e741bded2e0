/* Explanations: how much each part of a text speaks for a label. Answering a long text without each of its words would take too long: spans
 * of many words come first, and then, again and again, those within the span that counts most. */

enum {
  ANSWERED = 1 << 18, /* code points that are answered again, at most */
  SPLIT = 4           /* spans that one is divided into */
};
enum { NO_SCRIPT, JOINING, SPACED }; /* then the flags of unspaced scripts, which are larger */

/* How a code point is cut; marks and invisible ones belong to the character before them. */
static uint32_t part_script(uint32_t code) {
  const uint32_t flags = flags_of(code);
  if (flags & RVL_SEPARATOR) return NO_SCRIPT;
  if (code < 128) return SPACED;
  if (flags & RVL_IGNORED || is_a(RVL_MARKS, code)) return JOINING;
  return !(flags & UNSPACED) ? SPACED : flags & RVL_HAN ? RVL_HAN : flags & RVL_KANA ? RVL_KANA : RVL_SEA;
}

/* A run of one script: how many characters it has, with their marks. */
typedef struct {
  size_t start, end;
  uint32_t units, script;
} run;

/* The run of at most `most` characters that begins at `start` or behind the separators there; 0 at the end. */
APART int next_run(const given *text, run *found, uint32_t most) {
  size_t place = found->start, behind = place;
  uint32_t script = JOINING, units = 0;
  for (; place < text->end; place = behind) {
    const uint32_t here = part_script(code_at(text, &behind));
    const int joins = units && (here == JOINING || script == JOINING);
    if (units && (here == NO_SCRIPT || (!joins && (here != script || units == most)))) break;
    if (here == NO_SCRIPT) {
      found->start = behind;
      continue;
    }
    units += !joins;
    if (here != JOINING) script = here;
  }
  found->end = place;
  found->units = units;
  found->script = script == JOINING ? SPACED : script;
  return units > 0;
}

/* In how many parts a run is cut. */
static uint32_t parts_of(const run *found, int cuts_words) {
  const uint32_t most = found->script == RVL_HAN ? 1 : found->script == RVL_KANA ? 2 : 3;
  return found->script == SPACED && !cuts_words ? 1 : (found->units + most - 1) / most;
}

/* A part of a text, and which one it is of its run. Before it, from `gap` on, there are separators alone. */
typedef struct {
  run whole;
  uint32_t number, parts;
  size_t gap, start, end;
} part;

/* Go on to the next part, or, from one of zeros, to the first; 0 behind the last. */
static int advance(const given *text, part *at, int cuts_words) {
  run own;
  if (at->number == at->parts) {
    at->gap = at->end = at->whole.start = at->whole.end;
    if (!next_run(text, &at->whole, 0xFFFFFFFFu)) return 0;
    at->parts = parts_of(&at->whole, cuts_words);
    at->number = 0;
    at->end = at->whole.start;
  } else {
    at->gap = at->end;
  }
  own.start = at->start = at->end;
  next_run(text, &own, (uint32_t)((uint64_t)(at->number + 1) * at->whole.units / at->parts - (uint64_t)at->number * at->whole.units / at->parts));
  at->end = own.end;
  at->number++;
  return 1;
}

/* Whether a text has so few parts that words are cut, because whole ones would say little. */
static int has_few_parts(const given *text) {
  part at = {{0, 0, 0, 0}, 0, 0, 0, 0, 0};
  uint32_t parts = 0;
  while (advance(text, &at, 0)) parts++;
  return parts <= 2;
}

/* The logarithm of a label's probability, of a text without what is cut from it; of the most probable label where there is none. */
APART double log_of_label(rvl *engine, reader source, int32_t *label) {
  uint32_t n;
  answer(engine, condensed(engine, source), engine->values);
  if (*label < 0 || *label >= (int32_t)engine->settings[LABELS])
    for (*label = 0, n = 1; n < engine->settings[LABELS]; n++)
      if (engine->values[n] > engine->values[*label]) *label = (int32_t)n;
  return log_of(above_zero(engine->values[*label]));
}

/* What is explained: a label and the logarithm of its probability. Words are cut where there are few. */
typedef struct {
  int32_t label;
  double all;
  int cuts_words;
} question;

/* Weigh a span. Short texts close where it is cut from them, with the separators around it, which begin at `gap`. */
static void weigh(rvl *engine, reader source, question asked, size_t gap, rvl_span *span) {
  given *text = &source.text;
  size_t behind = span->end;
  text->cut = text->closes ? gap : span->start;
  text->cut_end = span->end;
  while (text->closes && behind < text->end && is_separator(code_at(text, &behind))) text->cut_end = behind;
  span->weight = asked.all - log_of_label(engine, source, &asked.label);
}

/* Divide the parts between two places into up to `count` spans of as many each, and weigh them; returns how many there are. */
APART uint32_t divide(rvl *engine, reader source, question asked, size_t start, size_t end, uint32_t count, rvl_span *spans) {
  const part none = {{0, 0, 0, 0}, 0, 0, 0, 0, 0};
  part at = none;
  uint32_t parts = 0, n = 0, found = 0;
  size_t gap = 0;
  while (advance(&source.text, &at, asked.cuts_words)) parts += at.start >= start && at.end <= end;
  if (count > parts) count = parts;
  for (at = none; found < count && advance(&source.text, &at, asked.cuts_words);) {
    if (at.start < start) continue;
    if (n++ == (uint64_t)found * parts / count) {
      spans[found].start = (uint32_t)at.start;
      gap = at.gap;
    }
    if (n < (uint64_t)(found + 1) * parts / count) continue;
    spans[found].end = (uint32_t)at.end;
    weigh(engine, source, asked, gap, spans + found++);
  }
  return found;
}

static double size_of(double weight) { return weight < 0.0 ? -weight : weight; }

/* The span of several parts that counts most; `found` where there is none. */
static size_t heaviest(const given *text, int cuts_words, const rvl_span *spans, size_t found) {
  part at = {{0, 0, 0, 0}, 0, 0, 0, 0, 0};
  size_t n = 0, best = found;
  while (advance(text, &at, cuts_words)) {
    while (at.start >= spans[n].end) n++;
    if (at.end < spans[n].end && (best == found || size_of(spans[n].weight) > size_of(spans[best].weight))) best = n;
  }
  return best;
}

/* Explain the first code points of a text, with `most` spans at most. */
APART size_t explain(rvl *engine, reader source, int32_t label, rvl_span *spans, size_t most) {
  const uint32_t limit = rvl_read_limit(engine);
  given *text = &source.text;
  size_t count = 0, end = 0, found, answers, best;
  part at = {{0, 0, 0, 0}, 0, 0, 0, 0, 0};
  question asked = {label, 0.0, 0};
  rvl_span within[SPLIT];
  uint32_t parts = 0, n;
  for (; count < limit && end < text->end; count++) code_at(text, &end);
  text->end = end;
  text->left = count;
  text->closes = count <= engine->settings[MAX_CHARS];
  asked.all = log_of_label(engine, source, &asked.label);
  if (!count || !most) return 0;
  if (most > ANSWERED / count) most = ANSWERED / count;
  asked.cuts_words = has_few_parts(text);
  while (advance(text, &at, asked.cuts_words)) parts++;
  answers = found = divide(engine, source, asked, 0, end, parts <= most ? parts : most < SPLIT ? 1 : (uint32_t)most / SPLIT, spans);
  for (; answers + SPLIT <= most; answers += n) {
    best = heaviest(text, asked.cuts_words, spans, found);
    if (best == found) break;
    n = divide(engine, source, asked, spans[best].start, spans[best].end, SPLIT, within);
    for (end = found; --end > best;) spans[end + n - 1] = spans[end];
    for (end = 0; end < n; end++) spans[best + end] = within[end];
    found += n - 1;
  }
  return found;
}

size_t rvl_explain(rvl *engine, const uint32_t *codes, size_t count, int32_t label, rvl_span *spans, size_t most) {
  ONE_THREAD(engine);
  return explain(engine, read_text(codes, 0, count, count), label, spans, most);
}

size_t rvl_explain_utf8(rvl *engine, const char *text, size_t bytes, int32_t label, rvl_span *spans, size_t most) {
  ONE_THREAD(engine);
  return explain(engine, read_text(0, text, bytes, bytes), label, spans, most);
}
