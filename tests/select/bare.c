/* hello_plan.c where there is no operating system: the plan file is a constant of the image, and
 * there are no files, no clock and no threads. Built by bare.sh. */
#include "board.h"
#include "plan_sum.h"

extern const unsigned char plan_begin[];
extern const unsigned long plan_bytes;

int main(void) {
  void *memory[MOST_INPUTS] = {NULL};
  char text[17];
  tn_plan_why why = {""};
  tn_plan_file *plan = NULL;
  if (tn_plan_file_open(plan_begin, plan_bytes, NULL, &why, &plan)) {
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
