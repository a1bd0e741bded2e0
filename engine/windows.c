/* How far a text is read, and the windows that a long one is cut into: the contract's "Long texts", 1. */

static uint32_t read_limit(uint32_t most) {
  const uint32_t windows = MOST_WINDOWS * most < MOST_CHARS ? MOST_WINDOWS * most : MOST_CHARS;
  return MOST_DECOMPOSED * most > windows ? MOST_DECOMPOSED * most : windows;
}

uint32_t rvl_read_limit(const rvl *engine) { return read_limit(engine->settings[MAX_CHARS]); }

/* A text as an answer reads it: condensed. */
APART reader condensed(rvl *engine, reader source) {
  return read_text(engine->condensed, 0, condense(source, (line *)(void *)engine->sums, engine->condensed, rvl_read_limit(engine)), MOST_GIVEN);
}

/* Code points, or UTF-8, as far as an answer reads them. */
APART reader read_all(rvl *engine, const uint32_t *codes, const char *bytes, size_t count) {
  return condensed(engine, read_text(codes, bytes, count, MOST_GIVEN));
}

/* Write what is read of a text; returns how many code points that are. */
APART size_t write_read(const rvl *engine, reader source, uint32_t *out, size_t most) {
  const size_t limit = rvl_read_limit(engine);
  uint32_t code;
  size_t count;
  for (count = 0; count < limit && next(&source, &code); count++)
    if (count < most) out[count] = code;
  return count;
}

size_t rvl_condense(rvl *engine, const uint32_t *codes, size_t count, uint32_t *out, size_t most) {
  ONE_THREAD(engine);
  return write_read(engine, read_all(engine, codes, 0, count), out, most);
}

size_t rvl_condense_utf8(rvl *engine, const char *text, size_t bytes, uint32_t *out, size_t most) {
  ONE_THREAD(engine);
  return write_read(engine, read_all(engine, 0, text, bytes), out, most);
}

size_t rvl_condense_by(const rvl_rules *rules, const uint32_t *codes, size_t count, uint32_t *out) {
  line held;
  return condense(read_text(codes, 0, count, MOST_GIVEN), &held, out, read_limit(rules->max_chars));
}

/* Where the window ends that begins in `chars`, for a text that goes on: the contract's "Long texts", 1. */
static uint32_t window_end(const rvl *engine, uint32_t left) {
  const uint32_t most = engine->settings[MAX_CHARS], windows = (left + most - 1) / most, length = (left + windows - 1) / windows;
  uint32_t end = length, first = 0, tries = most - (most + 1) / 2 + 1;
  for (; tries; tries--, end = end < length ? end - 1 : end < most ? end + 1 : length - 1) {
    const uint32_t before = engine->text.chars[end - 1];
    if (!is_separator(engine->text.chars[end])) continue;
    if (before == '.' || before == '!' || before == '?') return end;
    if (!first) first = end;
  }
  return first ? first : length;
}

/* What is done with each window; whether it is the only one, and what is asked. */
typedef void (*window_task)(rvl *engine, uint32_t count, int is_only, int asked);

/* Copy up to max_chars + 1 code points into `chars`; returns how many there were. */
APART uint32_t fill(rvl *engine, reader *source) {
  uint32_t count = 0;
  while (count <= engine->settings[MAX_CHARS] && next(source, engine->text.chars + count)) count++;
  return count;
}

/* Cut a text into windows; returns how many there are. */
APART uint32_t each_window(rvl *engine, reader source, window_task task, int asked) {
  const uint32_t most = engine->settings[MAX_CHARS];
  reader ahead = source;
  uint32_t count = fill(engine, &ahead), code, place, left = 0, start = 0, windows = 1;
  if (count <= most) {
    task(engine, count, 1, asked);
    return 1;
  }
  /* Leave out separators at both ends. */
  for (ahead = source, place = 1; next(&ahead, &code); place++) {
    if (is_separator(code)) continue;
    if (!left) start = place - 1;
    left = place;
  }
  left -= start;
  while (start--) next(&source, &code);
  for (; left > most; windows++) {
    uint32_t end;
    ahead = source;
    fill(engine, &ahead);
    end = window_end(engine, left);
    for (place = 0; place < end; place++) next(&source, &code);
    left -= end;
    task(engine, end, 0, asked);
    for (ahead = source; left && next(&ahead, &code) && is_separator(code); left--) next(&source, &code);
  }
  fill(engine, &source);
  task(engine, left, windows == 1, asked);
  return windows;
}
