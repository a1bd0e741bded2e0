/* Explanations: how much each part of a text speaks for a label. */

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

/* The run that begins at `start` or behind the separators there; 0 at the end. `begins`: where character number `unit` of it does. */
APART int next_run(const given *text, run *found, uint32_t unit, size_t *begins) {
  size_t place = found->start, behind = place;
  uint32_t script = JOINING, units = 0;
  for (; place < text->end; place = behind) {
    const uint32_t here = part_script(code_at(text, &behind));
    const int joins = here == JOINING || script == JOINING;
    if (units && (here == NO_SCRIPT || (here != script && !joins))) break;
    if (here == NO_SCRIPT) {
      found->start = behind;
      continue;
    }
    if (!(units && joins) && units++ == unit) *begins = place;
    if (here != JOINING) script = here;
  }
  if (units <= unit) *begins = place;
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

/* The logarithm of a label's probability, of a text without what is cut from it; of the most probable label where there is none. */
APART double log_of_label(rvl *engine, reader source, int32_t *label) {
  uint32_t n;
  answer(engine, read_by_contract(engine, source), engine->values);
  if (*label < 0 || *label >= (int32_t)engine->settings[LABELS])
    for (*label = 0, n = 1; n < engine->settings[LABELS]; n++)
      if (engine->values[n] > engine->values[*label]) *label = (int32_t)n;
  return log_of(above_zero(engine->values[*label]));
}

/* Explain the first code points of a text. Short texts close where a part is cut from them, with the separators around it. */
APART size_t explain(rvl *engine, reader source, int32_t label, rvl_span *spans, size_t most) {
  const uint32_t limit = rvl_read_limit(engine);
  given *text = &source.text;
  size_t found = 0, whole = 0, count = 0, end = 0, behind, gap, unused;
  uint32_t n;
  double all;
  run each;
  for (; count < limit && end < text->end; count++) code_at(text, &end);
  text->end = end;
  text->left = count;
  text->closes = count <= engine->settings[MAX_CHARS];
  all = log_of_label(engine, source, &label);
  for (each.start = 0; next_run(text, &each, 0, &unused); each.start = each.end) whole += parts_of(&each, 0);
  for (each.start = gap = 0; next_run(text, &each, 0, &unused); each.start = gap = each.end) {
    const uint32_t parts = parts_of(&each, whole <= 2);
    for (n = 0; n < parts; n++, found++) {
      run again = each;
      if (found >= most) continue;
      next_run(text, &again, (uint32_t)((uint64_t)n * each.units / parts), &text->cut);
      again.start = each.start;
      next_run(text, &again, (uint32_t)((uint64_t)(n + 1) * each.units / parts), &text->cut_end);
      spans[found].start = (uint32_t)text->cut;
      spans[found].end = (uint32_t)text->cut_end;
      if (text->closes && !n) text->cut = gap;
      for (behind = text->cut_end; text->closes && behind < text->end && is_separator(code_at(text, &behind));) text->cut_end = behind;
      spans[found].weight = all - log_of_label(engine, source, &label);
    }
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
