/* Explanations: how much each part of a text speaks for a label. */

enum { NO_SCRIPT, JOINING, SPACED }; /* then the flags of unspaced scripts, which are larger */

static uint32_t part_script(uint32_t code) {
  const uint32_t flags = flags_of(code);
  size_t place;
  uint32_t joins = 0;
  if (flags & RVL_SEPARATOR) return NO_SCRIPT;
  if (code < 128) return SPACED;
  for (place = 0; place < COUNT_OF(rvl_join_edges) && rvl_join_edges[place] <= code; place++) joins ^= 1;
  if (joins || (code > 0xFFFF && flags & RVL_IGNORED)) return JOINING;
  return !(flags & UNSPACED) ? SPACED : flags & RVL_HAN ? RVL_HAN : flags & RVL_KANA ? RVL_KANA : RVL_SEA;
}

/* A run of one script: how many characters it has, with their marks. */
typedef struct {
  uint32_t start, end, units, script;
} run;

/* The run that begins at `start` or behind the separators there; 0 at the end. `begins`: where character number `unit` of it does. */
APART int next_run(const uint32_t *codes, uint32_t count, run *found, uint32_t unit, uint32_t *begins) {
  uint32_t place, script = JOINING, units = 0;
  for (place = found->start; place < count; place++) {
    const uint32_t here = part_script(sanitized(codes[place]));
    const int joins = here == JOINING || script == JOINING;
    if (units && (here == NO_SCRIPT || (here != script && !joins))) break;
    if (here == NO_SCRIPT) {
      found->start = place + 1;
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

/* The logarithm of a label's probability, without the code points from start to end. */
APART double log_without(rvl *engine, const uint32_t *codes, uint32_t count, uint32_t start, uint32_t end, uint32_t label) {
  reader source = read_text(codes, 0, count, count);
  double found;
  source.text.closes = end > start && count <= engine->settings[MAX_CHARS];
  while (source.text.closes && start && is_separator(sanitized(codes[start - 1]))) start--;
  while (source.text.closes && end < count && is_separator(sanitized(codes[end]))) end++;
  source.text.cut = start;
  source.text.cut_end = end;
  answer(engine, read_by_contract(engine, source), engine->values);
  found = engine->values[label];
  return log_of(found > 1.1754943508222875e-38 ? found : 1.1754943508222875e-38);
}

size_t rvl_explain(rvl *engine, const uint32_t *codes, size_t length, int32_t label, rvl_span *spans, size_t most) {
  const uint32_t limit = rvl_read_limit(engine), count = length < limit ? (uint32_t)length : limit;
  size_t found = 0, whole = 0;
  uint32_t n, unused;
  double all;
  run each;
  rvl_probabilities(engine, codes, count, engine->values);
  if (label < 0 || label >= (int32_t)engine->settings[LABELS])
    for (label = 0, n = 1; n < engine->settings[LABELS]; n++)
      if (engine->values[n] > engine->values[label]) label = (int32_t)n;
  all = log_without(engine, codes, count, 0, 0, (uint32_t)label);
  for (each.start = 0; next_run(codes, count, &each, 0, &unused); each.start = each.end) whole += parts_of(&each, 0);
  for (each.start = 0; next_run(codes, count, &each, 0, &unused); each.start = each.end) {
    const uint32_t parts = parts_of(&each, whole <= 2);
    for (n = 0; n < parts; n++, found++) {
      rvl_span *span = spans + found;
      run again = each;
      if (found >= most) continue;
      next_run(codes, count, &again, (uint32_t)((uint64_t)n * each.units / parts), &span->start);
      again.start = each.start;
      next_run(codes, count, &again, (uint32_t)((uint64_t)(n + 1) * each.units / parts), &span->end);
      span->weight = all - log_without(engine, codes, count, span->start, span->end, (uint32_t)label);
    }
  }
  return found;
}
