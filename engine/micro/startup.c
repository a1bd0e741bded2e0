/* What happens before main: vectors, variables, the floating-point unit. A fault ends the program with an error. */
#include <stdint.h>

#include "board.h"

extern uint32_t stack_end[], data_start[], data_end[], data_in_flash[], bss_start[], bss_end[];

__attribute__((noreturn)) void reset(void) {
  uint32_t *to;
  const uint32_t *from = data_in_flash;
#ifdef __ARM_FP
  *(volatile uint32_t *)0xE000ED88 |= 0xFu << 20; /* CPACR: full access to the floating-point unit */
  __asm volatile("dsb\n\tisb");
#endif
  for (to = data_start; to < data_end; to++) *to = *from++;
  for (to = bss_start; to < bss_end; to++) *to = 0;
  finish(main());
}

static void fault(void) {
  say("A fault: is the stack too small?\n");
  finish(1);
}

/* Wraps of the clock that main may start. */
volatile uint32_t clock_wraps;
static void tick(void) { clock_wraps++; }

__attribute__((section(".vectors"), used)) static void *const vectors[16] = {stack_end, reset, fault, fault, fault, fault, fault, [15] = tick};
