/* Run many files on many texts and print what the engine answers, bit by bit; for the sanitizers and for other machines.
 *
 * Standard input holds texts, then files, each with its length in front (32 bits, little endian), an end marked by 0xFFFFFFFF. A file has a
 * line: the problem that it has (TOO_LARGE: its block is not tried), and a sum over the bits of all its answers; with an argument, the bits of
 * each probability in between. Each file is opened with several sizes of the cache, in a block of just the size that it asks for. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "retvec_lite.h"

typedef struct {
  uint32_t size;
  char *bytes;
} item;

enum { TOO_LARGE = 99, MOST_BYTES = 64000000 };

static uint64_t sum;

static void add(const void *at, size_t size) {
  /* Numbers of 32 bits, so that the order of bytes does not matter. */
  size_t place;
  for (place = 0; place + 4 <= size; place += 4) {
    uint32_t word;
    memcpy(&word, (const char *)at + place, 4);
    /* One NaN is as good as another. */
    if ((word & 0x7FFFFFFFu) > 0x7F800000u && word != 0xFFFFFFFFu) word = 0x7FC00000u;
    sum = (sum ^ word) * 0x100000001B3u;
  }
}

static void add_bytes(const char *at, size_t size) {
  size_t place;
  for (place = 0; place < size; place++) {
    uint32_t byte = (unsigned char)at[place];
    add(&byte, 4);
  }
}

static int read_item(item *to) {
  unsigned char length[4];
  if (fread(length, 1, 4, stdin) != 4) return 0;
  to->size = length[0] | length[1] << 8 | length[2] << 16 | (uint32_t)length[3] << 24;
  if (to->size == 0xFFFFFFFFu) return 0;
  /* As large as it is, so that a sanitizer sees every byte that is read beyond. */
  to->bytes = malloc(to->size ? to->size : 1);
  return to->bytes && fread(to->bytes, 1, to->size, stdin) == to->size;
}

static void ask(rvl *engine, const item *text, int tells) {
  const uint32_t labels = rvl_labels(engine), slots = rvl_slots(engine) * rvl_slot_length(engine), size = rvl_dimension(engine), of_word = rvl_word_dimension(engine);
  float *found = malloc(labels * sizeof(float)), *vector = malloc((size + 1) * sizeof(float));
  float *vectors = malloc((size_t)rvl_slots(engine) * of_word * sizeof(float) + 4), meaning[64];
  uint32_t *words = malloc((slots + 1) * sizeof(uint32_t)), *codes = malloc(text->size * sizeof(uint32_t) + 4), *read, n, way;
  rvl_answer answers[3];
  rvl_span spans[8];
  size_t count;
  /* The bytes once as UTF-8, and once as if each were a code point. */
  for (n = 0; n < text->size; n++) codes[n] = (unsigned char)text->bytes[n] * (n % 7 == 3 ? 0x101u : 1u);
  /* What is read of them, into just the room that there is. */
  for (way = 0; way < 4; way++) {
    size_t most = way < 2 ? (size_t)rvl_read_limit(engine) : text->size / 3;
    if (most > 4 * text->size) most = 4 * text->size; /* no text grows more */
    read = malloc(most * sizeof(uint32_t) + 1);
    count = way % 2 ? rvl_condense(engine, codes, text->size, read, most) : rvl_condense_utf8(engine, text->bytes, text->size, read, most);
    if (count > rvl_read_limit(engine) || (way < 2 && count > most)) abort();
    add(read, (count < most ? count : most) * sizeof(uint32_t));
    free(read);
  }
  rvl_probabilities_utf8(engine, text->bytes, text->size, found);
  add(found, labels * sizeof(float));
  for (n = 0; tells && n < labels; n++) {
    uint32_t bits;
    memcpy(&bits, found + n, 4);
    printf(" %08x", bits);
  }
  rvl_probabilities(engine, codes, text->size, found);
  add(found, labels * sizeof(float));
  count = rvl_classify_utf8(engine, text->bytes, text->size, answers, 3);
  add(answers, count * sizeof *answers);
  for (n = 0; n < count; n++)
    if (answers[n].label >= 0 && !*rvl_label(engine, (uint32_t)answers[n].label)) sum++;
  if (text->size < 80) {
    for (way = 0; way < 2; way++) {
      count = way ? rvl_explain_utf8(engine, text->bytes, text->size, -1, spans, 8) : rvl_explain(engine, codes, text->size, -1, spans, 8);
      for (n = 0; n < count && n < 8; n++) {
        float weight = (float)spans[n].weight;
        if (spans[n].start >= spans[n].end || spans[n].end > text->size) abort();
        add(&spans[n].start, 8);
        add(&weight, 4);
      }
    }
  }
  memset(vector, 0, (size + 1) * sizeof(float));
  rvl_embed(engine, codes, text->size, vector);
  add(vector, size * sizeof(float));
  rvl_embed_utf8(engine, text->bytes, text->size, vector);
  add(vector, size * sizeof(float));
  rvl_embed_many(engine, codes, &text->size, 1, vector);
  add(vector, size * sizeof(float));
  rvl_many(engine, codes, &text->size, 1, found);
  add(found, labels * sizeof(float));
  add(meaning, rvl_meaning(engine, codes, text->size, meaning) * sizeof(float));
  count = size ? rvl_words(engine, codes, text->size, words, vectors) : 0;
  add(words, count * rvl_slot_length(engine) * 4);
  add(vectors, count * of_word * sizeof(float));
  free(found), free(vector), free(vectors), free(words), free(codes);
}

/* Every byte of a block has been used for something else before. */
static void *used_block(size_t bytes, int value) {
  void *block = malloc(bytes ? bytes : 1);
  if (!block) abort();
#ifndef FRESH_BLOCKS /* for tools that know which bytes were written */
  memset(block, value, bytes);
#else
  (void)value;
#endif
  return block;
}

/* Teach texts, as many as have room in a block of just the size that it asks for, with any bytes as their labels; forget some; save and load
 * the memory; and load every text as if it were one. */
static void remember(rvl *engine, const item *texts, int number) {
  size_t bytes = rvl_memory_size(engine, 12), size;
  rvl_answer answers[3];
  const char *label;
  char name[24];
  void *block, *saved;
  int text, problem;
  uint32_t n;
  if (rvl_teach_utf8(engine, "a", 1, "b") != RVL_NO_MEMORY || rvl_taught(engine) || rvl_speaker(engine) != -1) abort();
  if (!bytes || bytes > MOST_BYTES) return;
  block = used_block(bytes, 0xA5);
  if (rvl_memory_open(engine, block, 64) != RVL_BLOCK_SIZE || rvl_memory_open(engine, block, bytes)) abort();
  for (text = 0; text < number; text++) {
    const item *other = texts + (text * 7 + 3) % number;
    uint32_t length = other->size < 23 ? other->size : 23;
    memcpy(name, other->bytes, length);
    name[length] = 0;
    problem = rvl_teach_utf8(engine, texts[text].bytes, texts[text].size, text % 3 ? "taught" : name);
    add(&problem, 4);
  }
  for (n = 0; n < rvl_taught(engine); n++) {
    const char *taught = rvl_taught_text(engine, n, &label);
    add_bytes(taught, strlen(taught)), add_bytes(label, strlen(label));
  }
  for (text = 0; text < number; text++) {
    size = rvl_classify_utf8(engine, texts[text].bytes, texts[text].size, answers, 3);
    add(answers, size * sizeof *answers);
    for (n = 0; n < size; n++)
      if (answers[n].label >= 0 && !rvl_label(engine, (uint32_t)answers[n].label)) abort();
    if (rvl_speaker(engine) >= (int32_t)rvl_taught(engine)) abort();
    if (text % 2) rvl_forget_utf8(engine, texts[text].bytes, texts[text].size);
  }
  size = rvl_memory_save(engine, 0, 0);
  saved = malloc(size);
  if (rvl_memory_save(engine, saved, size) != size || rvl_memory_load(engine, saved, size)) abort();
  add_bytes(saved, size);
  for (text = 0; text < number; text++) {
    problem = rvl_memory_load(engine, texts[text].bytes, texts[text].size);
    add(&problem, 4);
    size = problem ? 0 : rvl_classify_utf8(engine, texts[text].bytes, texts[text].size, answers, 3);
    add(answers, size * sizeof *answers);
  }
  free(saved), free(block);
}

/* A string that the engine gave: of a taught text, its label or any label, whole or from some byte on. */
static const char *own_string(const rvl *engine, uint32_t draw) {
  const char *label = 0, *text = rvl_taught(engine) ? rvl_taught_text(engine, draw / 8 % rvl_taught(engine), &label) : 0;
  const char *found = draw % 8 < 3 ? text : draw % 8 < 6 ? label : rvl_label(engine, draw / 8 % (rvl_labels(engine) + 3));
  return !found ? "" : draw % 5 || !*found ? found : found + draw / 8 % strlen(found);
}

/* Bytes in a place of their own, just as large. */
static char *copied(const char *bytes, size_t size) {
  char *copy = malloc(size ? size : 1);
  if (!copy) abort();
  memcpy(copy, bytes, size);
  return copy;
}

/* Call one engine with arguments that it gave itself, and a twin with copies of them: both must say and keep the same. What they keep can
 * always be loaded. The room is small, so that it is often full. */
static void converse(rvl *engine, rvl *twin, const item *texts, int number) {
  const size_t bytes = rvl_memory_size(engine, 3);
  void *block, *other;
  uint32_t draw = 1, turn;
  if (!bytes || bytes > MOST_BYTES) return;
  block = used_block(bytes, 0xA5), other = used_block(bytes, 0xFF);
  if (rvl_memory_open(engine, block, bytes) || rvl_memory_open(twin, other, bytes)) abort();
  for (turn = 0; turn < 30; turn++) {
    const item *given = texts + (draw >> 16) % (uint32_t)number;
    const int is_given = turn % 3 == 0;
    const char *text, *label;
    char *text_copy, *label_copy, *saved, *twin_saved;
    size_t size, kept;
    draw = draw * 1664525u + 1013904223u;
    text = is_given ? given->bytes : own_string(engine, draw >> 8);
    size = is_given ? given->size : strlen(text);
    draw = draw * 1664525u + 1013904223u;
    label = turn % 7 == 0 ? "new" : own_string(engine, draw >> 8);
    text_copy = copied(text, size), label_copy = copied(label, strlen(label) + 1);
    if (turn % 5 < 4) {
      if (rvl_teach_utf8(engine, text, size, label) != rvl_teach_utf8(twin, text_copy, size, label_copy)) abort();
    } else if (rvl_forget_utf8(engine, text, size) != rvl_forget_utf8(twin, text_copy, size)) {
      abort();
    }
    kept = rvl_memory_save(engine, 0, 0);
    saved = malloc(kept), twin_saved = malloc(kept);
    if (!saved || !twin_saved || rvl_memory_save(twin, twin_saved, kept) != kept) abort();
    rvl_memory_save(engine, saved, kept);
    if (memcmp(saved, twin_saved, kept) || (turn % 10 == 9 && rvl_memory_load(engine, saved, kept))) abort();
    free(text_copy), free(label_copy), free(saved), free(twin_saved);
  }
  free(block), free(other);
}

/* Open a file and answer all texts. Returns the problem; the answers are in `sum`. */
static int run(const item *file, const item *texts, int number, uint32_t words, int value, int tells) {
  size_t bytes;
  rvl *engine;
  void *block;
  int text, problem, measured = rvl_block_size(file->bytes, file->size, words, &bytes);
  sum = 1;
  if (!measured && bytes > MOST_BYTES) return TOO_LARGE;
  if (!measured && bytes) {
    block = used_block(bytes - 1, value);
    problem = rvl_open(file->bytes, file->size, words, block, bytes - 1, &engine);
    if (problem != RVL_BLOCK_SIZE && problem != RVL_CHANGED) abort();
    free(block);
  }
  block = used_block(bytes, value);
  problem = rvl_open(file->bytes, file->size, words, block, bytes, &engine);
  /* Only opening looks at the checksum and at labels that repeat. */
  if (measured && problem != measured && problem != RVL_CHANGED) abort();
  if (!measured && problem && problem != RVL_CHANGED && problem != RVL_DAMAGED) abort();
  if (problem && engine) abort();
  for (text = 0; !problem && text < number; text++) ask(engine, texts + text, tells);
  if (!problem && number) remember(engine, texts, number < 16 ? number : 16);
  if (!problem && number && !words) {
    void *other = used_block(bytes, value);
    rvl *twin;
    if (rvl_open(file->bytes, file->size, words, other, bytes, &twin)) abort();
    converse(engine, twin, texts, number);
    free(other);
  }
  free(block);
  return problem;
}

/* Read all texts at once as a training does, by rules of all kinds, in buffers of just the size that they need, or of less. Ends that
 * decrease, and numbers that no text and no rule has, are among them. */
static void read_as_training(const item *texts, int number) {
  static const uint32_t sizes[] = {0, 1, 2, 7, 48, 4096, 0xFFFFFFFFu};
  uint32_t *ends = malloc((size_t)number * 4 + 4), *chars_ends = malloc((size_t)number * 4 + 4);
  uint32_t *codes, *chars, total = 0, longest = 0, way, place, start;
  uint16_t *flags;
  size_t length;
  int text;
  for (text = 0; text < number; text++) {
    total += texts[text].size;
    longest = texts[text].size > longest ? texts[text].size : longest;
    ends[text] = total;
  }
  codes = malloc((size_t)total * 4 + 4);
  for (text = 0, start = 0; text < number; start = ends[text++])
    for (place = 0; place < texts[text].size; place++)
      codes[start + place] = (unsigned char)texts[text].bytes[place] * (place % 7 == 3 ? 0x101u : place % 11 == 5 ? 0x01010101u : 1u);
  /* So that the next one ends before it starts, and the one behind it is longer. */
  for (text = 1; text < number; text += 5) ends[text] = text % 2 ? 0 : total;
  for (text = 0, start = 0; text < number; text++) {
    if (ends[text] <= start) continue;
    longest = ends[text] - start > longest ? ends[text] - start : longest;
    start = ends[text];
  }
  for (way = 0; way < 42; way++) {
    const rvl_rules rules = {way % 3 == 0, sizes[(way + 2) % 7]};
    const uint32_t read = rules.max_chars < longest ? rules.max_chars : longest;
    chars = malloc(((size_t)total + (size_t)number) * 4 + 1);
    flags = malloc((size_t)read * 2 + 1);
    length = rvl_read(&rules, codes, ends, (size_t)number, flags, chars, chars_ends);
    if (number && (length != chars_ends[number - 1] || length > (size_t)total + (size_t)number)) abort();
    chars = realloc(chars, length * 4 + 1);
    add(chars, length * 4);
    add(chars_ends, (size_t)number * 4);
    free(chars), free(flags);
  }
  free(ends), free(chars_ends), free(codes);
}

int main(int count, char **arguments) {
  /* No word is kept, then so few that there is always one too many, then as many as usual. */
  static const uint32_t caches[] = {0, 8, RVL_WORDS};
  static const int values[] = {0xA5, 0xFF, 0};
  item *texts = calloc(10000, sizeof *texts), file;
  int number = 0, text, cache;
  uint64_t reading;
  (void)arguments;
  while (number < 10000 && read_item(texts + number)) number++;
  sum = 1;
  read_as_training(texts, number);
  reading = sum;
  while (read_item(&file)) {
    int problem = run(&file, texts, number, caches[0], values[0], 0);
    uint64_t answers = sum;
    printf("%d", problem);
    for (cache = 1; cache < 3; cache++) {
      int again = run(&file, texts, number, caches[cache], values[cache], cache == 1 && count > 1);
      /* What is kept, and what was in the block, changes no answer. */
      if (again != TOO_LARGE && (again != problem || sum != answers)) abort();
    }
    printf(" %016llx\n", (unsigned long long)(answers ^ reading));
    fflush(stdout);
    free(file.bytes);
  }
  for (text = 0; text < number; text++) free(texts[text].bytes);
  free(texts);
  return 0;
}
