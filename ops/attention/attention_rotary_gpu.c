/* RotaryEmbedding on GPUs, an element a thread. Rows that a run asks for and the tables do not have
 * read the nearest one. */
#ifdef TN_GPU
KERNEL(rotary, (IN(X), IN(C), IN(S), IN(P), OUT(Y)),
       (CONST(INTERLEAVED), CONST(HAS_P), INT(count), INT(size), INT(pairs), INT(heads), INT(n),
        INT(head_first), INT(rows)),
       64, 1, 1) {
  int i = GLOBAL(0);
  if (i < count) {
    int k = i % size, row = i / size;
    int batch = row / (heads * n), at = row % (heads * n);
    int item = batch * n + (head_first != 0 ? at % n : at / heads);
    float y = LD1(X, i);
    if (k < 2 * pairs) {
      int pair = INTERLEAVED != 0 ? k / 2 : k % pairs;
      bool is_first = INTERLEAVED != 0 ? k % 2 == 0 : k < pairs;
      int other = INTERLEAVED != 0 ? 1 : pairs;
      if (HAS_P != 0) {
        item = LDI(P, item);
        item = item < 0 ? item + rows : item;
        item = item < 0 ? 0 : item < rows ? item : rows - 1;
      }
      float c = LD1(C, item * pairs + pair), s = LD1(S, item * pairs + pair);
      float x = LD1(X, is_first ? i + other : i - other);
      y = is_first ? c * y - s * x : s * x + c * y;
    }
    ST1(Y, i, y);
  }
}
#else
#include "rotary.h"
#include "tenon/experimental/gpu.h"

const char *rotary_embedding_gpu_refuse(const tn_call *call) {
  rotary r;
  if (rotary_make(call, &r)) return "its tables do not fit";
  const bool is_known = tn_has_input(call, 3) && call->inputs[3]->data;
  for (int64_t item = 0; is_known && item < r.batch * r.n; item++)
    if (rotary_table_row(call, item) < 0) return "a position is out of range";
  return tn_gpu_refuse_size(call);
}

tn_status rotary_embedding_gpu_record(const tn_call *call, tn_recorder *recorder) {
  rotary r;
  tn_gpu g;
  const tn_status status = rotary_make(call, &r);
  const int64_t count = tn_elements(call->outputs[0]);
  if (status) return status;
  tn_gpu_begin(&g, call, GPU_rotary);
  for (int32_t k = 0; k < 4; k++) tn_gpu_in(&g, k);
  tn_gpu_out(&g, 0);
  tn_gpu_const(&g, r.interleaved);
  tn_gpu_const(&g, tn_has_input(call, 3));
  tn_gpu_int(&g, count);
  tn_gpu_int(&g, r.size);
  tn_gpu_int(&g, r.half);
  tn_gpu_int(&g, r.heads);
  tn_gpu_int(&g, r.n);
  tn_gpu_int(&g, call->inputs[0]->rank == 4);
  tn_gpu_int(&g, call->inputs[1]->shape[0]);
  return tn_gpu_run(&g, recorder, tn_gpu_groups(count, 64), 1, 1);
}
#endif
