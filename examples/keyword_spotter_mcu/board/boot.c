/* Start-up for the Cortex-M4 of mps2-an386: vectors, the FPU, data and bss, and the end by
 * semihosting. */
#include "board.h"

extern uint32_t data_from[], data_start[], data_end[], bss_start[], bss_end[], stack_top[];
int main(void);

static void semihosting(uint32_t what, const void *with) {
  register uint32_t r0 __asm__("r0") = what;
  register const void *r1 __asm__("r1") = with;
  __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
}

void board_print(const char *text) { semihosting(4, text); }

void board_print_number(uint32_t n) {
  char text[12] = "";
  int32_t k = 10;
  do {
    text[k--] = (char)('0' + n % 10);
    n /= 10;
  } while (n != 0);
  board_print(text + k + 1);
}

#define TIMER ((volatile uint32_t *)0xE000E010)
enum { MOST_TICKS = 0xFFFFFF };

void board_timer_start(void) {
  TIMER[1] = MOST_TICKS;
  TIMER[2] = 0;
  TIMER[0] = 5;
}

uint32_t board_timer_ticks(void) { return MOST_TICKS - TIMER[2]; }

static void finish(int code) {
  const uint32_t block[2] = {0x20026, (uint32_t)code};
  semihosting(0x20, block);
  for (;;) {
  }
}

#ifdef COUNT /* prints the ticks that main() takes */
static int timed_main(void) {
  board_timer_start();
  const int code = main();
  board_print_number(board_timer_ticks());
  board_print("\n");
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
