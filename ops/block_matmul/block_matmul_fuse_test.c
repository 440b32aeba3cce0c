/* Products by constants of 4 or 8 bits that a DequantizeLinear makes floats of become
 * tenon::BlockMatMul, whichever way the matrix and its scales lie; others do not. */
#include "base/cpu.h"
#include "fuse_kit.h"

enum { ROWS = 2, MOST = 96 };

/* A matrix of MOST x MOST, or less, with its scales. */
typedef struct quantised {
  uint32_t dtype;
  int64_t size; /* rows and columns */
  int64_t axis, block;
  int64_t scale_dims[2];
  int32_t scale_rank;
  bool has_zeros, transposes, is_gemm;
} quantised;

static quantised now; /* what make() makes */

static int64_t count_of(const quantised *q) {
  return (q->scale_rank > 0 ? q->scale_dims[0] : 1) * (q->scale_rank > 1 ? q->scale_dims[1] : 1);
}

/* Every number shows, in no order. */
static void fill(uint8_t *bytes, int64_t n, uint32_t seed) {
  for (int64_t k = 0; k < n; k++) {
    seed = seed * 1664525u + 1013904223u;
    bytes[k] = (uint8_t)(seed >> 24);
  }
}

static int32_t dequantised(maker *m) {
  static uint8_t x[4 * MOST * MOST], zeros[MOST * MOST];
  static float scales[MOST * MOST];
  const int64_t dims[] = {now.size, now.size};
  const tn_attr axis = tn_attr_int("axis", now.axis), block = tn_attr_int("block_size", now.block);
  const tn_attr *const attrs[] = {&axis, &block};
  fill(x, (int64_t)sizeof x, 1);
  fill(zeros, MOST * MOST, 2);
  for (int64_t k = 0; k < count_of(&now); k++) scales[k] = 0.01f * (float)(k % 7 + 1);
  const int32_t inputs[] = {
      constant(m, now.dtype, 2, dims, x),
      constant(m, TN_F32, now.scale_rank, now.scale_dims, scales),
      now.has_zeros ? constant(m, now.dtype, now.scale_rank, now.scale_dims, zeros) : -1};
  return node_of(m, "DequantizeLinear", inputs, now.has_zeros ? 3 : 2, attrs, 2);
}

static int32_t make(maker *m) {
  int32_t w = dequantised(m);
  if (now.transposes && !now.is_gemm) w = op(m, "Transpose", w, -1);
  if (!now.is_gemm) return op(m, "Relu", op(m, "MatMul", m->x, w), -1);
  float bias[MOST];
  for (int k = 0; k < MOST; k++) bias[k] = (float)k / 8;
  const tn_attr trans = tn_attr_int("transB", now.transposes);
  const tn_attr *const attrs[] = {&trans};
  const int32_t inputs[] = {m->x, w, constant(m, TN_F32, 1, &now.size, bias)};
  return node_of(m, "Gemm", inputs, 3, attrs, 1);
}

static void check(quantised q, bool fuses) {
  char ops[KIT_MAX_TEXT];
  float x[ROWS * MOST];
  for (int k = 0; k < ROWS * MOST; k++) x[k] = (float)(k * 37 % 101) / 50 - 1;
  const int64_t dims[] = {ROWS, q.size};
  const tn_tensor in = tn_tensor_make(TN_F32, 2, dims, x);
  const uint64_t with_4 = TN_ISA_AVX2 | TN_ISA_NEON,
                 with_8 = TN_ISA_AVX512_VNNI | TN_ISA_AVX_VNNI | TN_ISA_NEON_DOT;
  const bool is_8 = q.dtype == TN_I8 || q.dtype == TN_U8,
             has_kernels = (tn_cpu_isa() & (is_8 ? with_8 : with_4)) != 0;
  now = q;
  kit_check(make, &in, "BlockMatMul", fuses && has_kernels, ops);
}

static void blocks_along_the_depth(void **state) {
  (void)state;
  const quantised q = {TN_I4, 96, 0, 32, {3, 96}, 2, false, false, false};
  quantised other = q;
  check(q, true);
  other.dtype = TN_U4; /* zero points are 0 then, not 8 */
  check(other, true);
  other.has_zeros = true;
  other.axis = -2;
  check(other, true);
  other = (quantised){TN_I4, 95, 0, 32, {3, 95}, 2, true, false, false};
  check(other, true);
  other = (quantised){TN_U4, 95, 0, 128, {1, 95}, 2, true, false, false};
  check(other, true);
}

static void rows_that_are_columns(void **state) {
  (void)state;
  check((quantised){TN_I4, 96, 1, 16, {96, 6}, 2, false, true, false}, true);
  check((quantised){TN_U4, 95, 1, 16, {95, 6}, 2, true, true, false}, true);
  check((quantised){TN_I4, 96, -1, 48, {96, 2}, 2, true, true, true}, true);
  check((quantised){TN_U4, 96, 0, 48, {2, 96}, 2, true, false, true}, true);
}

static void scales_of_columns_and_of_all(void **state) {
  (void)state;
  check((quantised){TN_I4, 96, 1, 0, {96}, 1, false, false, false}, true);
  check((quantised){TN_U4, 96, 0, 0, {96}, 1, true, true, false}, true);
  check((quantised){TN_I4, 96, 1, 0, {0}, 0, true, false, false}, true);
}

static void others_stay(void **state) {
  (void)state;
  check((quantised){TN_I4, 96, 0, 0, {96}, 1, false, false, false}, false);     /* a scale per k */
  check((quantised){TN_I4, 96, 1, 32, {96, 3}, 2, false, false, false}, false); /* along N */
  check((quantised){TN_I4, 96, 0, 24, {4, 96}, 2, false, false, false}, false); /* 8 at a time */
  check((quantised){TN_I32, 48, 0, 0, {0}, 0, false, false, false}, false);
}

static void eight_bits(void **state) {
  (void)state;
  check((quantised){TN_I8, 96, 0, 32, {3, 96}, 2, false, false, false}, true);
  check((quantised){TN_U8, 95, 1, 32, {95, 3}, 2, true, true, false}, true);
  check((quantised){TN_U8, 95, 1, 64, {95, 2}, 2, false, true, true}, true);
  check((quantised){TN_U8, 95, 1, 16, {95, 6}, 2, true, true, false}, false);
  check((quantised){TN_I8, 95, 1, 0, {95}, 1, true, false, false}, true);
  check((quantised){TN_I8, 96, 0, 0, {96}, 1, false, true, true}, true);
  check((quantised){TN_U8, 96, 1, 0, {0}, 0, true, false, false}, true);
  check((quantised){TN_I8, 96, 0, 0, {96}, 1, false, false, false}, false); /* a scale per k */
}

static void open_dims(void **state) {
  (void)state;
  kit_open = true;
  check((quantised){TN_I4, 96, 0, 32, {3, 96}, 2, false, false, false}, true);
  check((quantised){TN_U4, 96, 1, 48, {96, 2}, 2, true, true, true}, true);
  check((quantised){TN_I4, 96, 0, 0, {96}, 1, false, false, false}, false);
  kit_open = false;
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(blocks_along_the_depth),
                                     cmocka_unit_test(rows_that_are_columns),
                                     cmocka_unit_test(scales_of_columns_and_of_all),
                                     cmocka_unit_test(others_stay),
                                     cmocka_unit_test(eight_bits),
                                     cmocka_unit_test(open_dims)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
