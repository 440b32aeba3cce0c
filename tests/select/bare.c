/* hello_plan.c for a chip without an operating system: the plan file lies in flash, and there are
 * no files, no clock and no threads. Built by bare.sh with the board of
 * examples/keyword_spotter_mcu. */
#include "board.h"
#include "plan_sum.h"

__asm__(".section .rodata.plan\n.balign 64\n.global plan_begin\nplan_begin: .incbin \"" PLAN
        "\"\n.global plan_end\nplan_end:\n.text\n");
extern const char plan_begin[], plan_end[];

/* What malloc() of newlib gives out. */
void *_sbrk(ptrdiff_t more);
void *_sbrk(ptrdiff_t more) {
  static char heap[2 << 20];
  static ptrdiff_t used;
  if (more > (ptrdiff_t)sizeof heap - used) return (void *)-1;
  used += more;
  return heap + used - more;
}

int main(void) {
  void *memory[MOST_INPUTS] = {NULL};
  char text[17];
  tn_plan_why why = {""};
  tn_plan_file *plan = NULL;
  if (tn_plan_file_open(plan_begin, (uint64_t)(plan_end - plan_begin), NULL, &why, &plan)) {
    board_print(why.text);
    return 1;
  }
  if (!set_inputs(plan, memory) || tn_plan_file_run(plan)) return 1;
  sum_text(plan, tn_plan_file_n_outputs(plan), text);
  tn_plan_file_close(plan);
  board_print(text);
  board_print("\n");
  return 0;
}
