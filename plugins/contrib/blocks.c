/* MatMulNBits and MatMulBnb4: what they say of their weights, inference and references. */
#include "blocks.h"

static bool power_of_two(int64_t x) { return x > 0 && (x & (x - 1)) == 0; }

/* The left side fits, and no product of sizes overflows. */
static tn_status check_sizes(const tn_call *call, blocks *w) {
  const tn_tensor *a = call->inputs[0];
  int64_t whole;
  if (w->k < 1 || w->n < 1 || w->block < 16 || !power_of_two(w->block) || w->block > INT32_MAX)
    return fail(call, TN_ERR_INVALID,
                "attributes 'K' and 'N' are not positive, or 'block_size' is not a power of 2 from "
                "16 on");
  if (w->k > TN_MAX_ELEMENTS - w->block || tn_mul_i64(w->n, w->k + w->block, &whole) ||
      whole > TN_MAX_ELEMENTS / 8)
    return fail(call, TN_ERR_OVERFLOW, "attributes 'K' and 'N' are too large");
  if (a->rank < 1 || a->shape[a->rank - 1] != w->k)
    return fail(call, TN_ERR_SHAPE, "the last dim of A is not K");
  w->m = tn_elements(a) / w->k;
  return TN_OK;
}

tn_status blocks_of_bits(const tn_call *call, blocks *out) {
  const tn_mat_mul_n_bits_attrs *a = call->attrs;
  blocks w = {.n = a->N, .k = a->K, .block = a->block_size, .bits = (uint32_t)a->bits};
  if (a->bits != 2 && a->bits != 4 && a->bits != 8)
    return fail(call, TN_ERR_UNSUPPORTED, "not supported: attribute 'bits' other than 2, 4 and 8");
  if (a->weight_prepacked)
    return fail(call, TN_ERR_UNSUPPORTED,
                "not supported: weight_prepacked, weights in the order of one device");
  tn_status s = check_sizes(call, &w);
  if (s) return s;
  w.row_blocks = (w.k + w.block - 1) / w.block;
  w.row_bytes = w.row_blocks * (w.block * w.bits / 8);
  w.row_zeros = (w.row_blocks * w.bits + 7) / 8;
  w.b = call->inputs[1]->data;
  w.scales = call->inputs[2];
  w.zeros = tn_input(call, 3);
  w.groups = tn_input(call, 4);
  w.bias = tn_input(call, 5);
  const int64_t zeros = w.zeros && w.zeros->dtype == TN_U8 ? w.n * w.row_zeros : w.n * w.row_blocks;
  if (tn_elements(call->inputs[1]) != w.n * w.row_bytes ||
      tn_elements(w.scales) != w.n * w.row_blocks || (w.zeros && tn_elements(w.zeros) != zeros) ||
      (w.groups && tn_elements(w.groups) < w.k) || (w.bias && tn_elements(w.bias) != w.n))
    return fail(call, TN_ERR_SHAPE,
                "B, scales, zero_points, g_idx or bias does not have as many elements as K, N, "
                "bits and block_size say");
  *out = w;
  return TN_OK;
}

/* The tables of the library bitsandbytes. */
static const float fp4[16] = {
    0.0f,  0.00520833333f,  0.66666667f,  1.0f,  0.33333333f,  0.5f,  0.16666667f,  0.25f,
    -0.0f, -0.00520833333f, -0.66666667f, -1.0f, -0.33333333f, -0.5f, -0.16666667f, -0.25f};
static const float nf4[16] = {-1.0f,
                              -0.6961928009986877f,
                              -0.5250730514526367f,
                              -0.39491748809814453f,
                              -0.28444138169288635f,
                              -0.18477343022823334f,
                              -0.09105003625154495f,
                              0.0f,
                              0.07958029955625534f,
                              0.16093020141124725f,
                              0.24611230194568634f,
                              0.33791524171829224f,
                              0.44070982933044434f,
                              0.5626170039176941f,
                              0.7229568362236023f,
                              1.0f};

tn_status blocks_of_table(const tn_call *call, blocks *out) {
  const tn_mat_mul_bnb4_attrs *a = call->attrs;
  blocks w = {.n = a->N, .k = a->K, .block = a->block_size, .bits = 4};
  if (a->transB != 1)
    return fail(call, TN_ERR_UNSUPPORTED, "not supported: attribute 'transB' other than 1");
  if (a->quant_type != 0 && a->quant_type != 1)
    return fail(call, TN_ERR_INVALID, "attribute 'quant_type' is neither 0 (FP4) nor 1 (NF4)");
  tn_status s = check_sizes(call, &w);
  if (s) return s;
  w.table = a->quant_type ? nf4 : fp4;
  w.b = call->inputs[1]->data;
  w.scales = call->inputs[2];
  if (tn_elements(call->inputs[1]) != (w.n * w.k + 1) / 2 ||
      tn_elements(w.scales) != (w.n * w.k + w.block - 1) / w.block)
    return fail(call, TN_ERR_SHAPE,
                "B or absmax does not have as many elements as K, N and block_size say");
  *out = w;
  return TN_OK;
}

tn_status blocks_check_groups(const tn_call *call, const blocks *w) {
  for (int64_t k = 0; w->groups && k < w->k; k++) {
    const int32_t g = ((const int32_t *)w->groups->data)[k];
    if (g < 0 || g >= w->row_blocks)
      return call->host->fail(call->ctx, TN_ERR_INVALID,
                              "g_idx[%lld] is %d, but each row has %lld blocks", (long long)k,
                              (int)g, (long long)w->row_blocks);
  }
  return TN_OK;
}

typedef tn_status (*maker)(const tn_call *call, blocks *out);

static tn_status infer(const tn_call *call, maker make) {
  blocks w = {0};
  tn_status s = make(call, &w);
  if (!s) s = tn_infer_like(call, 0, 0);
  if (!s) call->outputs[0]->shape[call->outputs[0]->rank - 1] = w.n;
  return s;
}

static tn_status flops(const tn_call *call, maker make, double *out_flops) {
  blocks w = {0};
  tn_status s = make(call, &w);
  if (!s) *out_flops = 2 * (double)w.m * (double)w.n * (double)w.k;
  return s;
}

static tn_status reference(const tn_call *call, maker make) {
  blocks w = {0};
  tn_status s = make(call, &w);
  if (!s) s = blocks_check_groups(call, &w);
  for (int64_t k = 0; !s && k < w.m * w.n; k++) {
    double sum = load_or(w.bias, k % w.n, 0);
    for (int64_t c = 0; c < w.k; c++)
      sum += load(call->inputs[0], k / w.n * w.k + c) * blocks_value(&w, k % w.n, c);
    store(call->outputs[0], k, sum);
  }
  return s;
}

tn_status mat_mul_n_bits_infer(const tn_call *call) { return infer(call, blocks_of_bits); }
tn_status mat_mul_n_bits_flops(const tn_call *call, double *out_flops) {
  return flops(call, blocks_of_bits, out_flops);
}
tn_status mat_mul_n_bits_reference(const tn_call *call) { return reference(call, blocks_of_bits); }

tn_status mat_mul_bnb4_infer(const tn_call *call) { return infer(call, blocks_of_table); }
tn_status mat_mul_bnb4_flops(const tn_call *call, double *out_flops) {
  return flops(call, blocks_of_table, out_flops);
}
tn_status mat_mul_bnb4_reference(const tn_call *call) { return reference(call, blocks_of_table); }

/* ---- plans: an item is 4 columns, whose weights become f32 in worker scratch ---- */

static tn_status plan(const tn_call *call, maker make, tn_kernel_plan *out) {
  blocks w = {0};
  tn_status s = make(call, &w);
  if (s) return s;
  out->items[0] = (w.n + 3) / 4;
  out->grain[0] = tn_grain(40000, (double)w.k * (4 + (double)w.m));
  out->worker_scratch_bytes = (uint64_t)(4 * w.k + 64) * sizeof(float);
  out->cost_ns = (double)w.n * (double)w.k * (0.3 + 0.15 * (double)w.m) + 500;
  return TN_OK;
}

tn_status mat_mul_n_bits_plan(const tn_call *call, tn_kernel_plan *out) {
  return plan(call, blocks_of_bits, out);
}
tn_status mat_mul_bnb4_plan(const tn_call *call, tn_kernel_plan *out) {
  return plan(call, blocks_of_table, out);
}
