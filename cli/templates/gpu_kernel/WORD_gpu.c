/* The GPU kernel @NAME@ of @FULL@, in the dialect of Tenon's docs/add-a-gpu-kernel.md.
 *
@SCHEMA_COMMENT@
 */
#ifdef TN_GPU /* what devices see */

/* Copies elements: to be changed. */
KERNEL(@WORD@, (IN(X), OUT(Y)), (INT(n)), 64, 1, 1) {
  int i = GLOBAL(0);
  if (i < n) ST1(Y, i, LD1(X, i));
}

#else /* what the host sees */

#include <tenon/experimental/gpu.h>

#include "@WORD@.gen.h" /* written by tenon-gen from @WORD@.yaml and this file */

/* NULL, or why not: what arg_meta cannot say. As long as this is here, other kernels of the
 * operator are taken, and the test is skipped. When the kernel is written, it answers
 * tn_gpu_refuse_size(call). */
const char *@NAME@_refuse(const tn_call *call) {
  (void)call;
  return "it is not written yet";
}

/* What is to be run: buffers and params in the order of the KERNEL line, then how many groups. */
tn_status @NAME@_record(const tn_call *call, tn_recorder *recorder) {
@ARGUMENTS@
@UNUSED@
  const int64_t n = tn_elements(call->outputs[0]);
  tn_gpu g;
  tn_gpu_begin(&g, call, GPU_@WORD@);
  tn_gpu_in(&g, 0);
  tn_gpu_out(&g, 0);
  tn_gpu_int(&g, n);
  return tn_gpu_run(&g, recorder, tn_gpu_groups(n, 64), 1, 1);
}

#endif
