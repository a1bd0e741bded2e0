/* Search the lines of standard input: `cc -O3 -ffp-contract=off -I ../../engine search.c ../../engine/retvec_lite.c -o search`, then
 * `./search classifier-int8.retvec "my pracel is late" < texts.txt`. Prints each text behind the cosine of its embedding and the query's. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "retvec_lite.h"

enum { LONGEST = 1 << 16 };

static void *read_file(const char *path, size_t *size) {
  FILE *file = fopen(path, "rb");
  if (!file || fseek(file, 0, SEEK_END)) return NULL;
  *size = (size_t)ftell(file);
  rewind(file);
  void *bytes = malloc(*size); /* starts at a multiple of 8, as the engine wants it */
  if (bytes && fread(bytes, 1, *size, file) != *size) bytes = NULL;
  fclose(file);
  return bytes;
}

static void embed(rvl *engine, const char *text, float *embedding) {
  static uint32_t codes[LONGEST]; /* a text has no more code points than bytes */
  uint32_t end = (uint32_t)rvl_condense_utf8(engine, text, strlen(text), codes, LONGEST);
  rvl_embed_many(engine, codes, &end, 1, embedding);
}

int main(int count, char **arguments) {
  size_t size = 0, bytes = 0;
  void *file = count == 3 ? read_file(arguments[1], &size) : NULL;
  if (!file) return fprintf(stderr, "Name a .retvec file that can be read, and a query.\n"), 1;
  rvl *engine = NULL;
  int problem = rvl_block_size(file, size, RVL_WORDS, &bytes);
  if (!problem) problem = rvl_open(file, size, RVL_WORDS, malloc(bytes), bytes, &engine);
  if (problem) return fprintf(stderr, "%s\n", rvl_message(problem)), 1;
  uint32_t dimension = rvl_dimension(engine);
  if (!dimension) return fprintf(stderr, "This file has no embeddings.\n"), 1;

  float *query = malloc(2 * dimension * sizeof *query), *found = query + dimension;
  if (!query) return 1;
  embed(engine, arguments[2], query);
  static char text[LONGEST];
  while (fgets(text, sizeof text, stdin)) {
    text[strcspn(text, "\n")] = 0;
    embed(engine, text, found);
    double cosine = 0;
    for (uint32_t i = 0; i < dimension; i++) cosine += (double)query[i] * (double)found[i];
    printf("%.4f %s\n", cosine, text);
  }
  return 0;
}
