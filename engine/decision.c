/* Which labels a text has, and what a memory says before the file does. */

/* Compare the memory's vector with all that was taught. */
FAST_APART void compare(const rvl *engine) {
  taught_texts *memory = engine->memory;
  const uint32_t size = rvl_dimension(engine);
  uint32_t row;
  round_vector(memory, memory->vector, size);
  for (row = 0; row < memory->rows; row++) {
    memory->dots[row] = (float)closeness(engine, memory->vectors + (size_t)row * size, memory->inverses[row]);
    if (memory->links[row] < IS_NAME) memory->dots[memory->links[row]] += memory->dots[row];
  }
  for (row = 0; row < memory->rows; row++)
    if (memory->links[row] >= IS_NAME) memory->dots[row] *= memory->reaches[row];
}

/* How near the names of the file's labels are to that text, from 0. */
static double nearness(const rvl *engine) {
  const taught_texts *memory = engine->memory;
  const uint32_t size = rvl_dimension(engine);
  double sum = 0.0;
  uint32_t name;
  for (name = 0; name < memory->names; name++)
    sum += exp_of(NEARNESS * closeness(engine, memory->name_vectors + (size_t)name * size, memory->name_inverses[name]));
  return !memory->names ? UNNAMED : sum > memory->names ? log_of(sum / memory->names) / NEARNESS : 0.0;
}

/* The row of the text that answers for that one, or -1; and the weight of its answer, above a half. */
static int32_t speaking_row(const rvl *engine, const float *probabilities, double *weight) {
  const taught_texts *memory = engine->memory;
  const double best = above_zero(probabilities[best_of(engine, probabilities)]);
  double closest = -2.0, own, doubt, apart, beyond;
  int32_t found = -1;
  uint32_t row, label;
  compare(engine);
  for (row = 0; row < memory->rows; row++) {
    const uint32_t name = memory->links[row];
    double close;
    if (name >= IS_NAME || memory->inverses[row] <= 0.0f) continue;
    close = memory->dots[row] > SAME ? 1.0 + memory->dots[row] : (OWN * memory->dots[row] + memory->dots[name]) * memory->reaches[row];
    if (close <= closest) continue;
    closest = close;
    found = (int32_t)row;
  }
  if (found < 0 || memory->agrees[found]) return -1;
  label = memory->links[memory->links[found]] & ~IS_NAME;
  own = label < engine->settings[LABELS] ? (double)probabilities[label] : 1.0 - best;
  apart = (1.0 - memory->dots[found]) / AROUND;
  doubt = (label < engine->settings[LABELS] ? 2.0 * DOUBT : DOUBT) * (apart < 1.0 ? apart : 1.0) * log_of(best / (own > LEAST ? own : LEAST));
  beyond = memory->dots[found] > SAME ? 1.0 - CLOSE : closest - doubt - CLOSE;
  if (beyond > 0.0 && memory->dots[found] <= SAME) beyond -= CLOSER * nearness(engine);
  *weight = 1.0 / (1.0 + exp_of(-STEEP * beyond));
  return beyond > 0.0 ? found : -1;
}

/* Let the memory speak, where it does: change the probabilities, and write its answer. Returns how many answers were written. */
static size_t speak(rvl *engine, float *probabilities, rvl_answer *answers, size_t most) {
  const taught_texts *memory = engine->memory;
  const uint32_t labels = engine->settings[LABELS];
  double weight;
  const int32_t row = speaking_row(engine, probabilities, &weight);
  uint32_t n, label;
  if (row < 0) return 0;
  for (n = 0; n <= (uint32_t)row; n++) engine->speaker += memory->links[n] < IS_NAME;
  label = memory->links[memory->links[row]] & ~IS_NAME;
  for (n = 0; n < labels; n++) probabilities[n] = (float)((1.0 - weight) * (double)probabilities[n]);
  if (label < labels) probabilities[label] = (float)((double)probabilities[label] + weight);
  if (!most) return 0;
  answers[0].label = label + 1 == engine->settings[UNKNOWN_LABEL] ? -1 : (int32_t)label;
  answers[0].probability = answers[0].label < 0 ? probabilities[best_of(engine, probabilities)] : label < labels ? probabilities[label] : (float)weight;
  if (label < labels) probabilities[label] = -1.0f;
  return 1;
}

/* The labels, most probable first; of equal ones, the first first. That of a memory which speaks comes before them. */
APART size_t decide(rvl *engine, reader source, rvl_answer *answers, size_t most) {
  const int is_read = reads(engine, source), several = engine->settings[MULTI_LABEL] != 0;
  float *probabilities = engine->values; /* free when all windows are answered */
  size_t written = 0;
  uint32_t n;
  engine->speaker = -1;
  read_windows(engine, source, probabilities, EMBEDS && rvl_taught(engine) ? engine->memory->vector : 0);
  if (EMBEDS && rvl_taught(engine)) written = speak(engine, probabilities, answers, most);
  if (!several && most && !written) {
    const float best = probabilities[best_of(engine, probabilities)];
    if (!is_read || is_unknown(engine, best, probabilities)) {
      answers[0].label = -1;
      answers[written++].probability = best;
    }
  }
  while (written < most) {
    int32_t found = -1;
    for (n = 0; n < engine->settings[LABELS]; n++) {
      if (several && !(is_read && (double)probabilities[n] >= engine->thresholds[n])) continue;
      if (n + 1 == engine->settings[UNKNOWN_LABEL] || probabilities[n] < 0.0f) continue;
      if (found < 0 || probabilities[n] > probabilities[found]) found = (int32_t)n;
    }
    if (found < 0) break;
    answers[written].label = found;
    answers[written++].probability = probabilities[found];
    probabilities[found] = -1.0f;
  }
  return written;
}

size_t rvl_classify(rvl *engine, const uint32_t *codes, size_t count, rvl_answer *answers, size_t most) {
  ONE_THREAD(engine);
  return decide(engine, read_all(engine, codes, 0, count), answers, most);
}

size_t rvl_classify_utf8(rvl *engine, const char *text, size_t bytes, rvl_answer *answers, size_t most) {
  ONE_THREAD(engine);
  return decide(engine, read_all(engine, 0, text, bytes), answers, most);
}
