/* Classify the lines that the board hears, with a .retvec file in flash: no heap, no C library. Prints each text's label and its probability;
 * - for none of the labels. With MEASURE, the bits of all probabilities, instructions (see measure.h) and bytes of stack as well. */
#include <stdint.h>

#include "../retvec_lite.h"
#include "board.h"
#ifdef MEASURE
#include "measure.h"
#endif

#ifndef MOST_TEXT
#define MOST_TEXT 256 /* of a text; what is longer is cut */
#endif

/* The file, at a multiple of 8 bytes. */
__asm__(".section .file, \"a\"\n.balign 64\nfile_start: .incbin \"" MODEL "\"\nfile_end:\n.text\n");
extern const uint8_t file_start[], file_end[];

/* What the linker leaves of the RAM. */
extern uint8_t block_start[], block_end[];

static char text[MOST_TEXT];

/* Read a line; -1 at the end, else how many bytes it has. */
static int read_line(void) {
  int count = 0, byte;
  while ((byte = hear()) >= 0 && byte != '\n')
    if (count < MOST_TEXT) text[count++] = (char)byte;
  return byte < 0 && !count ? -1 : count;
}

/* Print a number in a base, with so many digits at least. */
static void say_number(uint32_t number, uint32_t base, int digits) {
  char string[12];
  int place = sizeof string - 1;
  string[place] = 0;
  for (; number || digits > 0; digits--, number /= base) string[--place] = "0123456789abcdef"[number % base];
  say(string + place);
}

static void say_answer(const rvl *engine, const rvl_answer *answer) {
  const uint32_t millionths = (uint32_t)(answer->probability * 1e6f + 0.5f);
  say(answer->label < 0 ? "-" : rvl_label(engine, (uint32_t)answer->label));
  say(" ");
  say_number(millionths / 1000000, 10, 1);
  say(".");
  say_number(millionths % 1000000, 10, 6);
}

int main(void) {
  const size_t size = (size_t)(file_end - file_start), room = (size_t)(block_end - block_start);
  size_t needed;
  rvl *engine;
  rvl_answer answer;
  int problem = rvl_block_size(file_start, size, 0, &needed), count;
  if (!problem) problem = rvl_open(file_start, size, 0, block_start, room, &engine);
  if (problem) { /* rvl_message has a sentence for each, in 1 kB */
    say("The engine's problem ");
    say_number((uint32_t)problem, 10, 1);
    say(".\n");
    return 1;
  }
#ifdef MEASURE
  say_number(needed, 10, 1);
  say("\n");
  start_clock();
#endif
  while ((count = read_line()) >= 0) {
#ifdef MEASURE
    uint32_t ticks, n;
    static float probabilities[64];
    fill_stack();
    ticks = ticks_now();
#endif
    rvl_classify_utf8(engine, text, (size_t)count, &answer, 1);
#ifdef MEASURE
    say_number(ticks_now() - ticks, 10, 1);
    say(" ");
    say_number(stack_used(), 10, 1);
    if (rvl_labels(engine) <= 64) rvl_probabilities_utf8(engine, text, (size_t)count, probabilities);
    for (n = 0; n < rvl_labels(engine) && n < 64; n++) {
      uint32_t bits;
      __builtin_memcpy(&bits, probabilities + n, 4);
      say(" ");
      say_number(bits, 16, 8);
    }
    say(" ");
#endif
    say_answer(engine, &answer);
    say("\n");
  }
  return 0;
}
