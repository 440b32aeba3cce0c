/* Where on GPUs, an element a thread. Dims are merged first; what is broadcast has a stride of 0.
 */
#ifdef TN_GPU
#define DIM(d, a, b, c)                        \
  {                                            \
    int q_ = rest / (d), m_ = rest - q_ * (d); \
    ia += m_ * (a);                            \
    ib += m_ * (b);                            \
    ic += m_ * (c);                            \
    rest = q_;                                 \
  }

KERNEL(where, (IN(A), IN(B), IN(C), OUT(Y)),
       (CONST(RANK), INT(n), INTS(d, 6), INTS(a, 6), INTS(b, 6), INTS(c, 6)), 64, 1, 1) {
  int i = GLOBAL(0);
  if (i < n) {
    int rest = i, ia = 0, ib = 0, ic = 0;
    if (RANK > 5) DIM(d5, a5, b5, c5)
    if (RANK > 4) DIM(d4, a4, b4, c4)
    if (RANK > 3) DIM(d3, a3, b3, c3)
    if (RANK > 2) DIM(d2, a2, b2, c2)
    if (RANK > 1) DIM(d1, a1, b1, c1)
    if (RANK > 0) DIM(d0, a0, b0, c0)
    if (LDI(A, ia) != 0)
      MOVE(Y, i, B, ib);
    else
      MOVE(Y, i, C, ic);
  }
}
#else
#include "tenon/experimental/gpu.h"
#include "tenon/kit/broadcast.h"
#include "where.gen.h"

enum { DIMS = 6 };

const char *where_gpu_refuse(const tn_call *call) {
  tn_broadcast b;
  if (tn_broadcast_init(&b, call->outputs[0], 3, call->inputs) || b.rank > DIMS)
    return "has more than six dims that broadcast differently";
  return tn_gpu_refuse_size(call);
}

tn_status where_gpu_record(const tn_call *call, tn_recorder *recorder) {
  tn_broadcast b;
  tn_gpu g;
  const tn_status status = tn_broadcast_init(&b, call->outputs[0], 3, call->inputs);
  if (status) return status;
  tn_gpu_begin(&g, call, GPU_where);
  for (int32_t k = 0; k < 3; k++) tn_gpu_in(&g, k);
  tn_gpu_out(&g, 0);
  tn_gpu_const(&g, b.rank);
  tn_gpu_int(&g, b.total);
  for (int32_t k = 0; k < DIMS; k++) tn_gpu_int(&g, k < b.rank ? b.size[k] : 1);
  for (int32_t i = 0; i < 3; i++)
    for (int32_t k = 0; k < DIMS; k++) tn_gpu_int(&g, k < b.rank ? b.stride[i][k] : 0);
  return tn_gpu_run(&g, recorder, tn_gpu_groups(b.total, 64), 1, 1);
}
#endif
