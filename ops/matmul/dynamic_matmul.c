/* tenon::DynamicMatMul: shapes, inference, FLOPs, reference and the portable kernel. */
#include "dynamic_matmul.h"

#include <string.h>

#include "tenon/kit/epilogue.h"
#include "tenon/kit/infer.h"

/* ---- shapes ---- */

tn_status dynamic_matmul_make(const tn_call *call, dynamic_matmul *out) {
  const tn_dynamic_mat_mul_attrs *attrs = call->attrs;
  dynamic_matmul p = {.a = call->inputs[DYNAMIC_A],
                      .b = call->inputs[DYNAMIC_B],
                      .b_scale = call->inputs[DYNAMIC_B_SCALE],
                      .bias = tn_input(call, DYNAMIC_BIAS),
                      .trans_b = attrs->transB != 0};
  const bool fits =
      p.a->rank >= 1 && p.b->rank == 2 && p.a->shape[p.a->rank - 1] == p.b->shape[p.trans_b];
  if (!fits)
    return call->host->fail(call->ctx, TN_ERR_SHAPE,
                            "B is no matrix whose rows are as many as A's last dim");
  p.k = p.b->shape[p.trans_b];
  p.n = p.b->shape[!p.trans_b];
  if (tn_elements(p.b_scale) != 1 && (p.b_scale->rank != 1 || p.b_scale->shape[0] != p.n))
    return call->host->fail(call->ctx, TN_ERR_SHAPE,
                            "'b_scale' is not one value, or one per column");
  if (p.bias && (p.bias->rank != 1 || p.bias->shape[0] != p.n))
    return call->host->fail(call->ctx, TN_ERR_SHAPE, "'bias' has not one value per column");
  const tn_status s = tn_dims_product(p.a->shape, p.a->rank - 1, &p.m);
  if (!s) *out = p;
  return s;
}

tn_status dynamic_matmul_infer(const tn_call *call) {
  dynamic_matmul p;
  const tn_status s = dynamic_matmul_make(call, &p);
  if (s) return s;
  int64_t dims[TN_MAX_RANK];
  memcpy(dims, p.a->shape, sizeof dims);
  dims[p.a->rank - 1] = p.n;
  call->outputs[0]->dtype = TN_F32;
  tn_infer_shape(call, 0, TN_NONE, p.a->rank, dims);
  return TN_OK;
}

tn_status dynamic_matmul_flops(const tn_call *call, double *out_flops) {
  dynamic_matmul p;
  const tn_status s = dynamic_matmul_make(call, &p);
  if (!s) *out_flops = 2.0 * (double)p.m * (double)p.n * (double)p.k;
  return s;
}

/* ---- one row ---- */

static dynamic_codes codes_of(const dynamic_matmul *p, int64_t row) {
  const float *x = (const float *)p->a->data + row * p->k;
  float least = 0, most = 0;
  for (int64_t k = 0; k < p->k; k++) {
    least = x[k] < least ? x[k] : least;
    most = x[k] > most ? x[k] : most;
  }
  return dynamic_codes_of(least, most);
}

static int64_t weight(const dynamic_matmul *p, int64_t k, int64_t column) {
  const int8_t *b = p->b->data;
  return b[p->trans_b ? column * p->k + k : k * p->n + column];
}

static double bias_of(const dynamic_matmul *p, int64_t column) {
  return p->bias ? (double)((const float *)p->bias->data)[column] : 0;
}

tn_status dynamic_matmul_reference(const tn_call *call) {
  dynamic_matmul p;
  const tn_status s = dynamic_matmul_make(call, &p);
  for (int64_t at = 0; !s && at < p.m * p.n; at++) {
    const int64_t row = at / p.n, j = at % p.n;
    const dynamic_codes c = codes_of(&p, row);
    const float *x = (const float *)p.a->data + row * p.k;
    int64_t sum = 0;
    for (int64_t k = 0; k < p.k; k++) sum += dynamic_code(x[k], c) * weight(&p, k, j);
    ((float *)call->outputs[0]->data)[at] =
        (float)((double)sum * (double)c.scale * (double)dynamic_b_scale(&p, j) + bias_of(&p, j));
  }
  return s;
}

/* ---- kernels ---- */

const char *dynamic_matmul_c_refuse(const tn_call *call) {
  return tn_epilogue_refuse_f32(call, call->outputs[0]->rank - 1);
}

const char *dynamic_matmul_refuse(const tn_call *call) {
  enum { MOST_K = INT32_MAX / (255 * 128) };
  const tn_tensor *a = call->inputs[DYNAMIC_A];
  if (a->shape[a->rank - 1] > MOST_K)
    return "sums of more than 65793 products may not fit into 32 bits";
  return dynamic_matmul_c_refuse(call);
}

/* Portable: a row of Y per item. */
tn_status dynamic_matmul_c_plan(const tn_call *call, tn_kernel_plan *out) {
  dynamic_matmul p;
  const tn_status s = dynamic_matmul_make(call, &p);
  if (s) return s;
  out->items[0] = p.m;
  out->grain[0] = tn_grain(10000, (double)p.n * (double)p.k);
  out->worker_scratch_bytes = (uint64_t)p.k * sizeof(int32_t);
  out->cost_ns = (double)p.m * (double)p.n * (double)p.k + 500;
  return TN_OK;
}

tn_status dynamic_matmul_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                           uint32_t worker) {
  dynamic_matmul p;
  const tn_status s = dynamic_matmul_make(call, &p);
  int32_t *codes =
      (int32_t *)(void *)((char *)call->worker_scratch + worker * call->worker_scratch_bytes);
  (void)stage;
  for (int64_t row = begin; !s && row < end; row++) {
    const dynamic_codes c = codes_of(&p, row);
    const float *x = (const float *)p.a->data + row * p.k;
    float *y = (float *)call->outputs[0]->data + row * p.n;
    for (int64_t k = 0; k < p.k; k++) codes[k] = dynamic_code(x[k], c);
    for (int64_t j = 0; j < p.n; j++) {
      int64_t sum = 0;
      for (int64_t k = 0; k < p.k; k++) sum += codes[k] * weight(&p, k, j);
      const float v = (float)sum * c.scale * dynamic_b_scale(&p, j);
      y[j] = p.bias ? v + ((const float *)p.bias->data)[j] : v;
    }
    if (call->n_epilogue) tn_epilogue_f32(call, y, p.n, row * p.n, 0, 1);
  }
  return s;
}
