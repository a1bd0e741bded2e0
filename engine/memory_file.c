/* A memory as a file: texts and labels, which docs/engine.md describes; no file makes the engine read or write outside of its bytes. */

static const char MEMORY_MAGIC[8] = {'R', 'V', 'L', 'M', 'E', 'M', '\r', '\n'};

static void write32(uint8_t *bytes, uint32_t value) {
  uint32_t n;
  for (n = 0; n < 4; n++) bytes[n] = (uint8_t)(value >> 8 * n);
}

/* Write a string with its zero; returns the place behind it. */
static size_t copy_string(uint8_t *bytes, size_t place, const char *string) {
  do bytes[place++] = (uint8_t)*string;
  while (*string++);
  return place;
}

size_t rvl_memory_save(const rvl *engine, void *out, size_t most) {
  ONE_THREAD(engine);
  uint8_t *bytes = out;
  const char *text, *label;
  size_t size = MEMORY_HEADER, place;
  uint32_t number;
  uint64_t sum;
  if (!engine->memory) return 0;
  for (number = 0; (text = rvl_taught_text(engine, number, &label)); number++) size += length_of(text) + length_of(label) + 2;
  size = (size + 3) / 4 * 4;
  if (size > most) return size;
  for (place = 0; place < size; place++) bytes[place] = place < 8 ? (uint8_t)MEMORY_MAGIC[place] : 0;
  write32(bytes + 8, MEMORY_VERSION);
  write32(bytes + 12, (uint32_t)size);
  write32(bytes + 16, engine->memory->texts);
  for (place = MEMORY_HEADER, number = 0; (text = rvl_taught_text(engine, number, &label)); number++) {
    place = copy_string(bytes, place, text);
    place = copy_string(bytes, place, label);
  }
  sum = checksum(bytes, (uint32_t)size);
  write32(bytes + CHECKSUM, (uint32_t)sum);
  write32(bytes + CHECKSUM + 4, (uint32_t)(sum >> 32));
  return size;
}

/* Whether a string ends before `end`, and is UTF-8 without other zeros and not too long. */
static int is_kept_text(const uint8_t *bytes, const uint8_t *end) {
  size_t size = 0, place, used;
  while (size <= MOST_BYTES && bytes + size < end && bytes[size]) size++;
  if (!size || size > MOST_BYTES || bytes + size == end) return 0;
  for (place = 0; place < size; place += used)
    if (decode(bytes + place, size - place, &used) == INVALID) return 0;
  return 1;
}

/* Check a file, and whether there is room for all of it. */
static int check_memory(const rvl *engine, const uint8_t *bytes, size_t size) {
  const char *label, *other;
  uint32_t number, earlier, texts, labels = 0;
  size_t place, used = 0;
  for (place = 0; place < 8; place++)
    if (size < 8 || bytes[place] != (uint8_t)MEMORY_MAGIC[place]) return RVL_NOT_A_MEMORY;
  if (size < MEMORY_HEADER) return RVL_MEMORY_DAMAGED;
  if (read32(bytes + 8) != MEMORY_VERSION) return RVL_MEMORY_VERSION;
  if (size % 4 || size > 0xFFFFFFFFu || read32(bytes + 12) != size ||
      checksum(bytes, (uint32_t)size) != ((uint64_t)read32(bytes + CHECKSUM + 4) << 32 | read32(bytes + CHECKSUM)))
    return RVL_MEMORY_DAMAGED;
  texts = read32(bytes + 16);
  if (texts > engine->memory->most) return texts > size / 4 ? RVL_MEMORY_DAMAGED : RVL_FULL;
  for (number = 0, place = MEMORY_HEADER; number < texts; number++) {
    const char *text = (const char *)bytes + place;
    if (!is_kept_text(bytes + place, bytes + size)) return RVL_MEMORY_DAMAGED;
    label = next_string(text);
    if (!is_kept_text((const uint8_t *)label, bytes + size) || !is_teachable(label)) return RVL_MEMORY_DAMAGED;
    for (earlier = 0, other = (const char *)bytes + MEMORY_HEADER; earlier < number; earlier++) {
      other = next_string(other);
      if (same_string(other, label)) break;
      other = next_string(other);
    }
    labels += earlier == number;
    used += length_of(text) + 1 + (earlier == number ? length_of(label) + 1 : 0);
    place = (size_t)((const uint8_t *)next_string(label) - bytes);
  }
  for (; place < size; place++)
    if (bytes[place] || size - place > 3) return RVL_MEMORY_DAMAGED;
  return texts + labels > engine->memory->most || used > engine->memory->room ? RVL_FULL : RVL_OK;
}

int rvl_memory_load(rvl *engine, const void *data, size_t size) {
  ONE_THREAD(engine);
  taught_texts *memory = engine->memory;
  const char *text = (const char *)data + MEMORY_HEADER, *label;
  uint32_t row, number, texts;
  const int problem = memory ? check_memory(engine, data, size) : RVL_NO_MEMORY;
  if (problem) return problem;
  memory->rows = memory->texts = 0;
  memory->used = 0;
  for (number = 0, texts = read32((const uint8_t *)data + 16); number < texts; number++, text = next_string(label)) {
    label = next_string(text);
    add_text(engine, text, label, 1);
  }
  for (row = 0; row < memory->rows; row++)
    if (memory->links[row] >= IS_NAME) measure(engine, row);
  return RVL_OK;
}
