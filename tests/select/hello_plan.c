/* A program that ships a plan file: maps it, runs it once on ones, and prints the number that
 * hello.c prints. Ends with 1 if the plan file is refused; with "check", nothing is run.
 * usage: hello_plan FILE [check] */
#include <stdio.h>
#include <stdlib.h>

#include "tenon/experimental/plan_file.h"

static uint64_t bytes_of(const tn_tensor *t) {
  static const uint64_t sizes[TN_DTYPE_COUNT] = {
      [TN_F32] = 4, [TN_F64] = 8, [TN_F16] = 2, [TN_BF16] = 2, [TN_I8] = 1,
      [TN_I16] = 2, [TN_I32] = 4, [TN_I64] = 8, [TN_U8] = 1,   [TN_U16] = 2,
      [TN_U32] = 4, [TN_U64] = 8, [TN_BOOL] = 1};
  uint64_t bytes = sizes[t->dtype];
  for (int32_t k = 0; k < t->rank; k++) bytes *= (uint64_t)t->shape[k];
  return bytes;
}

int main(int argc, char **argv) {
  enum { MOST = 16 };
  void *memory[MOST] = {NULL};
  tn_plan_why why = {""};
  tn_plan_file *plan = NULL;
  if (argc < 2 || tn_plan_file_map(argv[1], NULL, &why, &plan)) {
    fputs(why.text, stderr);
    return 1;
  }
  int32_t n = tn_plan_file_n_inputs(plan);
  for (int32_t k = 0; k < n && k < MOST; k++) {
    const tn_tensor *t = tn_plan_file_input(plan, k);
    memory[k] = calloc(1, bytes_of(t) + 1);
    for (uint64_t i = 0; t->dtype == TN_F32 && i < bytes_of(t) / 4; i++)
      ((float *)memory[k])[i] = 1;
    if (!memory[k] || tn_plan_file_set_input(plan, k, memory[k])) return 1;
  }
  if (argc == 2 && tn_plan_file_run(plan)) return 1;
  uint64_t sum = 14695981039346656037u;
  n = tn_plan_file_n_outputs(plan);
  for (int32_t k = 0; k < n && argc == 2; k++) {
    const tn_tensor *t = tn_plan_file_output(plan, k);
    for (uint64_t i = 0; i < bytes_of(t); i++)
      sum = (sum ^ ((const unsigned char *)t->data)[i]) * 1099511628211u;
  }
  for (int k = 60; k >= 0; k -= 4) putchar("0123456789abcdef"[sum >> k & 15]);
  putchar('\n');
  tn_plan_file_close(plan);
  for (int32_t k = 0; k < MOST; k++) free(memory[k]);
  return 0;
}
