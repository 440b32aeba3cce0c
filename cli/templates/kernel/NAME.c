/* The kernel @NAME@ of @FULL@. What each function may read and must answer stands in
 * <tenon/plugin.h>.
 *
@SCHEMA_COMMENT@
 */
#include "@NAME@.gen.h" /* written by tenon-gen from @NAME@.yaml */

/* NULL, or why not: what arg_meta cannot say. As long as this is here, other kernels of the
 * operator are taken, and the test is skipped. It goes when the kernel is written. */
const char *@NAME@_refuse(const tn_call *call) {
  (void)call;
  return "it is not written yet";
}

/* How the work may be cut. As it is: one item, on one thread.@PLAN_HINT@ */
tn_status @NAME@_plan(const tn_call *call, tn_kernel_plan *out) {
  (void)call;
  out->items[0] = 1;
  return TN_OK;
}

/* Items begin .. end-1, on any thread. Reads and writes nothing but its tensors. */
tn_status @NAME@(const tn_call *call, uint32_t stage, int64_t begin, int64_t end, uint32_t worker) {
@ARGUMENTS@
  (void)stage, (void)begin, (void)end, (void)worker;
@UNUSED@
  return call->host->fail(call->ctx, TN_ERR_UNSUPPORTED, "@NAME@ is not written yet");
}
