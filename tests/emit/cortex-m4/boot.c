/* Start-up for the Cortex-M4 of mps2-an386: vectors, the FPU, data and bss, and the end by
 * semihosting. */
#include <stdint.h>
extern uint32_t data_from[], data_start[], data_end[], bss_start[], bss_end[], stack_top[];
int main(void);
static void semihosting(uint32_t what, const void *with) {
  register uint32_t r0 __asm__("r0") = what;
  register const void *r1 __asm__("r1") = with;
  __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
}

static void finish(int code) {
  const uint32_t block[2] = {0x20026, (uint32_t)code};
  semihosting(0x20, block);
  for (;;) {
  }
}

#ifdef COUNT /* prints the ticks of the system timer: 40 instructions each, with -icount shift=0 */
#define TIMER ((volatile uint32_t *)0xE000E010)
static int timed_main(void) {
  char text[16] = "          \n";
  TIMER[1] = 0xFFFFFF;
  TIMER[2] = 0;
  TIMER[0] = 5;
  const int code = main();
  uint32_t ticks = 0xFFFFFF - TIMER[2];
  for (int k = 9; k >= 0; k--, ticks /= 10) text[k] = (char)('0' + ticks % 10);
  semihosting(4, text);
  return code;
}
#define main timed_main
#endif

void reset(void);
void reset(void) {
  *(volatile uint32_t *)0xE000ED88 |= 0xFu << 20;
  __asm__ volatile("dsb\nisb");
  for (uint32_t *to = data_start, *from = data_from; to < data_end;) *to++ = *from++;
  for (uint32_t *to = bss_start; to < bss_end;) *to++ = 0;
  finish(main());
}
static void fault(void) { finish(3); }
/* The first words of the flash: the stack's top, and what exceptions call. */
__attribute__((section(".vectors"), used)) static const struct {
  uint32_t *stack;
  void (*call[6])(void);
} vectors = {stack_top, {reset, fault, fault, fault, fault, fault}};
