/* The outside world of a board: here the debugger's, by Arm's semihosting, which QEMU understands. Replace board.c by your own board's UART. */
#ifndef BOARD_H
#define BOARD_H

#include <stddef.h>

int main(void);

/* Print a string that ends in a zero. */
void say(const char *string);

/* The next byte that is to be read, or -1 at the end. */
int hear(void);

/* End the program; 0 for success. */
__attribute__((noreturn)) void finish(int problem);

#endif
