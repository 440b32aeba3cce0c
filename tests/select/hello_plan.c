/* A program that ships a plan file: maps it, runs it once on ones, and prints the number that
 * hello.c prints. Ends with 1 if the plan file is refused; with "check", nothing is run.
 * usage: hello_plan FILE [check] */
#include "plan_sum.h"

int main(int argc, char **argv) {
  void *memory[MOST_INPUTS] = {NULL};
  char text[17];
  tn_plan_why why = {""};
  tn_plan_file *plan = NULL;
  if (argc < 2 || tn_plan_file_map(argv[1], NULL, &why, &plan)) {
    fputs(why.text, stderr);
    return 1;
  }
  if (!set_inputs(plan, memory)) return 1;
  if (argc == 2 && tn_plan_file_run(plan)) return 1;
  sum_text(plan, argc == 2 ? tn_plan_file_n_outputs(plan) : 0, text);
  puts(text);
  tn_plan_file_close(plan);
  for (int32_t k = 0; k < MOST_INPUTS; k++) free(memory[k]);
  return 0;
}
