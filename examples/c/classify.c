/* Classify the lines of standard input: `cc -O3 -ffp-contract=off -I ../../engine classify.c ../../engine/retvec_lite.c -o classify`,
 * then `./classify classifier-int8.retvec < texts.txt`. Prints each text's label and its probability; - for none of the labels. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "retvec_lite.h"

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

int main(int count, char **arguments) {
  size_t size = 0, bytes = 0;
  void *file = count == 2 ? read_file(arguments[1], &size) : NULL;
  if (!file) return fprintf(stderr, "Name a .retvec file that can be read.\n"), 1;
  rvl *engine = NULL;
  int problem = rvl_block_size(file, size, RVL_WORDS, &bytes);
  if (!problem) problem = rvl_open(file, size, RVL_WORDS, malloc(bytes), bytes, &engine);
  if (problem) return fprintf(stderr, "%s\n", rvl_message(problem)), 1;

  static char text[1 << 16];
  while (fgets(text, sizeof text, stdin)) {
    rvl_answer answer = {-1, 0}; /* ask for more than one where a text may have several labels */
    rvl_classify_utf8(engine, text, strcspn(text, "\n"), &answer, 1);
    printf("%s %.6f\n", answer.label < 0 ? "-" : rvl_label(engine, (uint32_t)answer.label), (double)answer.probability);
  }
  return 0;
}
