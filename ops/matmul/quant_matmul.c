/* tenon::QuantMatMul: shapes, inference, FLOPs, reference and the portable kernel. */
#include "quant_matmul.h"

#include <math.h>
#include <string.h>

#include "tenon/kit/epilogue.h"
#include "tenon/kit/infer.h"

/* ---- shapes ---- */

static tn_status no_fit(const tn_call *call, const quant_matmul *q) {
  char a[TN_TENSOR_TEXT], b[TN_TENSOR_TEXT];
  return call->host->fail(call->ctx, TN_ERR_SHAPE,
                          "A is %s and B is %s%s; B is a matrix whose rows are as many as A's last "
                          "dim",
                          tn_tensor_text(q->a, a, sizeof a), tn_tensor_text(q->b, b, sizeof b),
                          q->trans_b ? " (transposed)" : "");
}

/* One value, or n where n is not 0. */
static tn_status check_count(const tn_call *call, const tn_tensor *t, const char *name, int64_t n) {
  if (!t || tn_elements(t) == 1 || (n && t->rank == 1 && t->shape[0] == n)) return TN_OK;
  char text[TN_TENSOR_TEXT];
  if (!n)
    return call->host->fail(call->ctx, TN_ERR_SHAPE, "'%s' is %s and not one value", name,
                            tn_tensor_text(t, text, sizeof text));
  return call->host->fail(call->ctx, TN_ERR_SHAPE,
                          "'%s' is %s and not one value, or one per column: %lld", name,
                          tn_tensor_text(t, text, sizeof text), (long long)n);
}

static tn_status check_parameters(const tn_call *call, const quant_matmul *q) {
  const struct {
    const tn_tensor *t;
    const char *name;
    int64_t n;
  } counts[] = {{q->a_scale, "a_scale", 0},    {q->a_zero, "a_zero_point", 0},
                {q->b_scale, "b_scale", q->n}, {q->b_zero, "b_zero_point", q->n},
                {q->y_scale, "y_scale", 0},    {q->y_zero, "y_zero_point", 0}};
  tn_status s = TN_OK;
  for (size_t k = 0; k < sizeof counts / sizeof *counts && !s; k++)
    s = check_count(call, counts[k].t, counts[k].name, counts[k].n);
  if (s) return s;
  if (q->bias && (q->bias->rank != 1 || q->bias->shape[0] != q->n))
    return call->host->fail(call->ctx, TN_ERR_SHAPE, "'bias' has not one value per column: %lld",
                            (long long)q->n);
  if (!q->y_scale != !q->y_zero)
    return call->host->fail(call->ctx, TN_ERR_INVALID, "y_scale and y_zero_point come together");
  return TN_OK;
}

tn_status quant_matmul_make(const tn_call *call, quant_matmul *out) {
  const tn_quant_mat_mul_attrs *attrs = call->attrs;
  quant_matmul q = {.a = call->inputs[QUANT_MATMUL_A],
                    .a_scale = call->inputs[QUANT_MATMUL_A_SCALE],
                    .a_zero = tn_input(call, QUANT_MATMUL_A_ZERO),
                    .b = call->inputs[QUANT_MATMUL_B],
                    .b_scale = call->inputs[QUANT_MATMUL_B_SCALE],
                    .b_zero = tn_input(call, QUANT_MATMUL_B_ZERO),
                    .bias = tn_input(call, QUANT_MATMUL_BIAS),
                    .y_scale = tn_input(call, QUANT_MATMUL_Y_SCALE),
                    .y_zero = tn_input(call, QUANT_MATMUL_Y_ZERO),
                    .trans_b = attrs->transB != 0};
  if (q.a->rank < 1 || q.b->rank != 2) return no_fit(call, &q);
  q.k = q.a->shape[q.a->rank - 1];
  q.n = q.b->shape[!q.trans_b];
  if (q.k != q.b->shape[q.trans_b]) return no_fit(call, &q);
  tn_status s = tn_dims_product(q.a->shape, q.a->rank - 1, &q.m);
  if (!s) s = check_parameters(call, &q);
  if (!s) *out = q;
  return s;
}

tn_status quant_matmul_infer(const tn_call *call) {
  quant_matmul q;
  const tn_status s = quant_matmul_make(call, &q);
  if (s) return s;
  int64_t dims[TN_MAX_RANK];
  memcpy(dims, q.a->shape, sizeof dims);
  dims[q.a->rank - 1] = q.n;
  call->outputs[0]->dtype = q.y_zero ? q.y_zero->dtype : TN_F32;
  tn_infer_shape(call, 0, TN_NONE, q.a->rank, dims);
  return TN_OK;
}

tn_status quant_matmul_flops(const tn_call *call, double *out_flops) {
  quant_matmul q;
  const tn_status s = quant_matmul_make(call, &q);
  if (!s) *out_flops = 2.0 * (double)q.m * (double)q.n * (double)q.k;
  return s;
}

/* ---- reference ---- */

static int64_t sum_of(const quant_matmul *q, int64_t i, int64_t j) {
  const int64_t a_zero = quant_zero(q->a_zero, 0), b_zero = quant_zero(q->b_zero, j);
  int64_t sum = 0;
  for (int64_t k = 0; k < q->k; k++)
    sum +=
        (tn_load_i64(q->a->dtype, q->a->data, i * q->k + k) - a_zero) *
        (tn_load_i64(q->b->dtype, q->b->data, q->trans_b ? j * q->k + k : k * q->n + j) - b_zero);
  return sum;
}

static double value_of(const quant_matmul *q, int64_t sum, int64_t j) {
  const double v = (double)sum * quant_scale(q->a_scale, 0) * quant_scale(q->b_scale, j);
  return q->bias ? v + quant_scale(q->bias, j) : v;
}

static double quantised(const tn_call *call, const quant_matmul *q, double v) {
  int64_t least, most;
  quant_matmul_bounds(call, &least, &most);
  v = nearbyint(v / quant_scale(q->y_scale, 0)) + (double)quant_zero(q->y_zero, 0);
  return !(v > (double)least) ? (double)least : v > (double)most ? (double)most : v;
}

tn_status quant_matmul_reference(const tn_call *call) {
  quant_matmul q;
  const tn_status s = quant_matmul_make(call, &q);
  const tn_tensor *y = call->outputs[0];
  for (int64_t at = 0; !s && at < tn_elements(y); at++) {
    const double v = value_of(&q, sum_of(&q, at / q.n, at % q.n), at % q.n);
    tn_store_f64(y->dtype, y->data, at, q.y_zero ? quantised(call, &q, v) : v);
  }
  return s;
}

/* ---- kernels ---- */

const char *quant_matmul_c_refuse(const tn_call *call) {
  return tn_epilogue_refuse_f32(call, call->outputs[0]->rank - 1);
}

const char *quant_matmul_refuse(const tn_call *call) {
  const tn_tensor *a = call->inputs[QUANT_MATMUL_A], *b_zero = tn_input(call, QUANT_MATMUL_B_ZERO);
  if (a->shape[a->rank - 1] > QUANT_MATMUL_MAX_K)
    return "sums of more than 65793 products may not fit into 32 bits";
  if (a->shape[a->rank - 1] > QUANT_MATMUL_MAX_K_ZEROS &&
      quant_matmul_has_zeros(call->inputs[QUANT_MATMUL_B], b_zero))
    return "sums of more than 33025 products with zero points of B may not fit into 32 bits";
  return quant_matmul_c_refuse(call);
}

/* Portable: a row of Y per item, with sums of 64 bits. */
tn_status quant_matmul_c_plan(const tn_call *call, tn_kernel_plan *out) {
  quant_matmul q;
  const tn_status s = quant_matmul_make(call, &q);
  if (s) return s;
  out->items[0] = q.m;
  out->grain[0] = tn_grain(10000, (double)q.n * (double)q.k);
  out->worker_scratch_bytes = (uint64_t)q.n * sizeof(int64_t);
  out->cost_ns = (double)q.m * (double)q.n * (double)q.k + 500;
  return TN_OK;
}

static void sum_row(const quant_matmul *q, int64_t row, int64_t *sums) {
  const int64_t a_zero = quant_zero(q->a_zero, 0);
  const bool is_signed = q->b->dtype == TN_I8;
  const int8_t *i8 = q->b->data;
  const uint8_t *u8 = q->b->data;
  int64_t total = 0;
  for (int64_t j = 0; j < q->n; j++) sums[j] = 0;
  for (int64_t k = 0; k < q->k; k++) {
    const int64_t x = tn_load_i64(q->a->dtype, q->a->data, row * q->k + k) - a_zero,
                  at = q->trans_b ? k : k * q->n, step = q->trans_b ? q->k : 1;
    total += x;
    for (int64_t j = 0; j < q->n; j++)
      sums[j] += x * (is_signed ? i8[at + j * step] : u8[at + j * step]);
  }
  for (int64_t j = 0; j < q->n && q->b_zero; j++) sums[j] -= total * quant_zero(q->b_zero, j);
}

static void store_row(const tn_call *call, const quant_matmul *q, int64_t row,
                      const int64_t *sums) {
  const tn_tensor *y = call->outputs[0];
  for (int64_t j = 0; j < q->n; j++) {
    const double v = value_of(q, sums[j], j);
    tn_store_f64(y->dtype, y->data, row * q->n + j, q->y_zero ? quantised(call, q, v) : v);
  }
  if (call->n_epilogue)
    tn_epilogue_f32(call, (float *)y->data + row * q->n, q->n, row * q->n, 0, 1);
}

tn_status quant_matmul_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                         uint32_t worker) {
  (void)stage;
  quant_matmul q;
  const tn_status s = quant_matmul_make(call, &q);
  int64_t *sums =
      (int64_t *)(void *)((char *)call->worker_scratch + worker * call->worker_scratch_bytes);
  for (int64_t row = begin; !s && row < end; row++) {
    sum_row(&q, row, sums);
    store_row(call, &q, row, sums);
  }
  return s;
}
