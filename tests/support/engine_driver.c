/* Run many files on many texts and print what the engine answers, bit by bit; for the sanitizers and for other machines.
 *
 * Standard input holds texts, then files, each with its length in front (32 bits, little endian), an end marked by 0xFFFFFFFF. A file has a
 * line: the problem that it has, or a sum over the bits of all its answers. With an argument, the bits of each probability follow. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "retvec_lite.h"

typedef struct {
  uint32_t size;
  char *bytes;
} item;

static uint64_t sum;

static void add(const void *at, size_t size) {
  /* Numbers of 32 bits, so that the order of bytes does not matter. */
  size_t place;
  for (place = 0; place + 4 <= size; place += 4) {
    uint32_t word;
    memcpy(&word, (const char *)at + place, 4);
    sum = (sum ^ word) * 0x100000001B3u;
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
  uint32_t *words = malloc((slots + 1) * sizeof(uint32_t)), *codes = malloc(text->size * sizeof(uint32_t) + 4), n;
  rvl_answer answers[3];
  rvl_span spans[8];
  size_t count;
  /* The bytes once as UTF-8, and once as if each were a code point. */
  for (n = 0; n < text->size; n++) codes[n] = (unsigned char)text->bytes[n] * (n % 7 == 3 ? 0x101u : 1u);
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
    count = rvl_explain(engine, codes, text->size, -1, spans, 8);
    for (n = 0; n < count && n < 8; n++) {
      float weight = (float)spans[n].weight;
      add(&spans[n].start, 8);
      add(&weight, 4);
    }
  }
  memset(vector, 0, (size + 1) * sizeof(float));
  rvl_embed(engine, codes, text->size, vector);
  add(vector, size * sizeof(float));
  add(meaning, rvl_meaning(engine, codes, text->size, meaning) * sizeof(float));
  count = size ? rvl_words(engine, codes, text->size, words, vectors) : 0;
  add(words, count * rvl_slot_length(engine) * 4);
  add(vectors, count * of_word * sizeof(float));
  free(found), free(vector), free(vectors), free(words), free(codes);
}

int main(int count, char **arguments) {
  item *texts = calloc(10000, sizeof *texts), file;
  int number = 0, text;
  (void)arguments;
  while (number < 10000 && read_item(texts + number)) number++;
  while (read_item(&file)) {
    /* Several caches: none, and one that is always full. */
    uint32_t words = file.size / 64 % 2 ? 0 : 8;
    size_t bytes;
    rvl *engine;
    int problem = rvl_block_size(file.bytes, file.size, words, &bytes);
    void *block = problem || bytes > 200000000 ? 0 : malloc(bytes);
    sum = 1;
    if (block) problem = rvl_open(file.bytes, file.size, words, block, bytes, &engine);
    printf("%d", problem);
    for (text = 0; block && !problem && text < number; text++) ask(engine, texts + text, count > 1);
    printf(" %016llx\n", (unsigned long long)sum);
    free(block);
    free(file.bytes);
  }
  for (text = 0; text < number; text++) free(texts[text].bytes);
  free(texts);
  return 0;
}
