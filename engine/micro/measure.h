/* How many ticks of the processor's own clock (SysTick) have passed, and how deep the stack ever was. In QEMU with `-icount`, time passes by
 * the instruction, so ticks count instructions. */
extern volatile uint32_t clock_wraps;
extern uint32_t stack_start[];

static volatile uint32_t *const SYSTICK = (volatile uint32_t *)0xE000E010; /* control, reload, value */
enum { UNUSED = 0x5AFE5AFE, WRAP = 1 << 24 };

static void start_clock(void) {
  SYSTICK[1] = WRAP - 1;
  SYSTICK[2] = 0;
  SYSTICK[0] = 7; /* count the processor's ticks down, and interrupt at each wrap */
}

static uint32_t ticks_now(void) {
  uint32_t wraps, value;
  do {
    wraps = clock_wraps;
    value = SYSTICK[2];
  } while (wraps != clock_wraps);
  return wraps * WRAP + (WRAP - 1 - value);
}

/* Fill what is below this function's own frame. */
static __attribute__((noinline)) void fill_stack(void) {
  uint32_t *place, *here = __builtin_frame_address(0);
  for (place = stack_start; place < here - 16; place++) *place = UNUSED;
}

static uint32_t stack_used(void) {
  extern uint32_t stack_end[];
  const uint32_t *place = stack_start;
  while (*place == UNUSED) place++;
  return (uint32_t)((const uint8_t *)stack_end - (const uint8_t *)place);
}
