/* FixedLstm, the portable kernel, and how work is cut. */
#include "fixed_lstm_run.h"

tn_status fixed_lstm_plan(const tn_call *call, tn_kernel_plan *out) {
  fixed_lstm p;
  const tn_status s = fixed_lstm_make(call, &p);
  if (s) return s;
  int64_t room;
  if (tn_mul_i64(p.units, 2 * FLSTM_GATES * (int64_t)sizeof(int32_t), &room))
    return TN_ERR_OVERFLOW;
  out->worker_scratch_bytes = (uint64_t)room;
  out->items[0] = p.batch;
  out->in_place[1] = FLSTM_H;
  out->in_place[2] = FLSTM_C;
  const double sums = FLSTM_GATES * (double)p.units,
               step = sums * ((double)(p.width + p.units) / 16 + 8);
  out->cost_ns = (double)(p.steps * p.batch) * step + 200;
  out->grain[0] = tn_grain(TN_THREAD_NS, (double)p.steps * step);
  return TN_OK;
}

tn_status fixed_lstm_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                       uint32_t worker) {
  (void)stage;
  return fixed_lstm_run(call, begin, end, worker);
}
