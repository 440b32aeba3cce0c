/* Products with weights of 4 or 8 bits on GPUs: a group of threads for a column of four rows of A.
 * The threads read neighbouring bytes of the column's weights, and add up what they have. */
#ifdef TN_GPU
KERNEL(block_matmul, (IN(A), IN(B), IN(S), IN(Z), IN(BIAS), OUT(Y)),
       (CONST(BITS), CONST(HAS_Z), CONST(HAS_BIAS), INT(m), INT(n), INT(k), INT(block), INT(blocks),
        INT(row_bytes), INT(zero_bytes)),
       64, 1, 1) {
  LOCAL(float, part, 256);
  int t = LOCAL_ID(0), column = GROUP(0), row = GROUP(1) * 4;
  float y0 = 0.0f, y1 = 0.0f, y2 = 0.0f, y3 = 0.0f;
  for (int byte = t; byte < row_bytes; byte += 64) {
    int word = LDI(B, column * row_bytes + byte);
    int at = BITS == 4 ? 2 * byte : byte, b = at / block;
    float scale = LD1(S, column * blocks + b);
    int zero = BITS == 4 ? 8 : 128;
    if (HAS_Z != 0) {
      zero = LDI(Z, column * zero_bytes + (BITS == 4 ? b / 2 : b));
      if (BITS == 4) zero = zero >> (b % 2 * 4) & 15;
    }
    for (int i = 0; i < (BITS == 4 ? 2 : 1); i++) {
      if (at + i < k) {
        float w = TO_FLOAT((BITS == 4 ? word >> (4 * i) & 15 : word) - zero) * scale;
        int from = row * k + at + i;
        y0 += w * LD1(A, from);
        if (row + 1 < m) y1 += w * LD1(A, from + k);
        if (row + 2 < m) y2 += w * LD1(A, from + 2 * k);
        if (row + 3 < m) y3 += w * LD1(A, from + 3 * k);
      }
    }
  }
  part[t] = y0;
  part[64 + t] = y1;
  part[128 + t] = y2;
  part[192 + t] = y3;
  BARRIER();
  if (t < 4 && row + t < m) {
    float y = 0.0f;
    for (int i = 0; i < 64; i++) y += part[t * 64 + i];
    if (HAS_BIAS != 0) y += LD1(BIAS, column);
    ST1(Y, (row + t) * n + column, y);
  }
}
#else
#include "blocks.h"
#include "tenon/experimental/gpu.h"

enum { ROWS = 4 };

const char *block_matmul_gpu_refuse(const tn_call *call) {
  blocks w;
  if (blocks_of(call, &w)) return "its blocks do not fit";
  const char *reason = tn_gpu_refuse_size(call);
  return reason ? reason
                : tn_gpu_refuse_rounds(call, 3 * tn_ceil_div(blocks_row_bytes(&w), 64) + 64);
}

tn_status block_matmul_gpu_record(const tn_call *call, tn_recorder *recorder) {
  blocks w;
  tn_gpu g;
  const tn_status status = blocks_of(call, &w);
  if (status) return status;
  tn_gpu_begin(&g, call, GPU_block_matmul);
  for (int32_t k = 0; k < 5; k++) tn_gpu_in(&g, k);
  tn_gpu_out(&g, 0);
  tn_gpu_const(&g, w.bits);
  tn_gpu_const(&g, w.zeros != NULL);
  tn_gpu_const(&g, w.bias != NULL);
  tn_gpu_int(&g, w.m);
  tn_gpu_int(&g, w.n);
  tn_gpu_int(&g, w.k);
  tn_gpu_int(&g, w.block);
  tn_gpu_int(&g, w.n_blocks);
  tn_gpu_int(&g, blocks_row_bytes(&w));
  tn_gpu_int(&g, blocks_zero_bytes(&w));
  return tn_gpu_run(&g, recorder, tn_gpu_groups(w.n, 1), tn_gpu_groups(w.m, ROWS), 1);
}
#endif
