/* com.microsoft::QAttention: MatMulInteger and scales in the place of Attention's projection. */
#include "attention.gen.h"
#include "heads.h"

enum { INPUT, WEIGHT, BIAS, INPUT_SCALE, WEIGHT_SCALE, MASK, INPUT_ZERO, WEIGHT_ZERO, PAST };

static bool per_column(const tn_tensor *t, int64_t n) {
  return !t || tn_elements(t) == 1 || (t->rank == 1 && t->shape[0] == n);
}

static tn_status make(const tn_call *call, heads *out) {
  const tn_q_attention_attrs *a = call->attrs;
  const tn_tensor *x = call->inputs[INPUT], *w = call->inputs[WEIGHT], *bias = call->inputs[BIAS],
                  *past = tn_input(call, PAST), *zero = tn_input(call, INPUT_ZERO);
  if (a->do_rotary || a->past_present_share_buffer)
    return fail(call, TN_ERR_UNSUPPORTED, "not supported: do_rotary and past_present_share_buffer");
  if (x->rank != 3 || w->rank != 2 || w->shape[0] != x->shape[2] || w->shape[1] % 3 ||
      a->num_heads < 1 || w->shape[1] / 3 % a->num_heads || w->shape[1] < 1 || bias->rank != 1 ||
      bias->shape[0] != w->shape[1])
    return fail(call, TN_ERR_SHAPE, "input, weight, bias and num_heads do not fit together");
  if (tn_elements(call->inputs[INPUT_SCALE]) != 1 || (zero && tn_elements(zero) != 1) ||
      !per_column(call->inputs[WEIGHT_SCALE], w->shape[1]) ||
      !per_column(tn_input(call, WEIGHT_ZERO), w->shape[1]))
    return fail(call, TN_ERR_UNSUPPORTED,
                "not supported: scales or zero points other than one for all of the input, and one "
                "for all or each column of the weight");
  heads h = {.batch = x->shape[0],
             .n_q = x->shape[1],
             .n_new = x->shape[1],
             .heads = a->num_heads,
             .size = w->shape[1] / 3 / a->num_heads,
             .v_size = w->shape[1] / 3 / a->num_heads,
             .scale = a->scale,
             .filter = a->mask_filter_value,
             .causal = a->unidirectional != 0,
             .dtype = bias->dtype,
             .mask = MASK,
             .bias = PAST + 1};
  if (past && (past->rank != 5 || past->shape[0] != 2 || past->shape[1] != h.batch ||
               past->shape[2] != h.heads || past->shape[4] != h.size))
    return fail(call, TN_ERR_SHAPE, "past is not [2, batch, heads, keys, head size]");
  if (past) h.past = past->shape[3];
  *out = h;
  return heads_complete(call, out);
}

tn_status q_attention_infer(const tn_call *call) {
  heads h = {0};
  tn_status s = make(call, &h);
  if (s) return s;
  tn_infer_shape(call, 0, h.dtype, 3, (int64_t[]){h.batch, h.n_q, h.heads * h.size});
  tn_infer_shape(call, 1, h.dtype, 5, (int64_t[]){2, h.batch, h.heads, h.total, h.size});
  return TN_OK;
}

tn_status q_attention_flops(const tn_call *call, double *out_flops) {
  heads h = {0};
  tn_status s = make(call, &h);
  if (!s)
    *out_flops = heads_flops(&h) + 2 * (double)tn_elements(call->inputs[INPUT]) *
                                       (double)call->inputs[WEIGHT]->shape[1];
  return s;
}

/* MatMulIntegerToFloat does scales and bias in f32 whatever their type. */
static void project(builder *b, const heads *h, int32_t out[3]) {
  const int64_t hidden = h->heads * h->size, sizes[3] = {hidden, hidden, hidden};
  int32_t zeros[2] = {build_input(b, INPUT_ZERO), build_input(b, WEIGHT_ZERO)}, all;
  if (zeros[0] >= 0) zeros[0] = build_scalar_of(b, zeros[0]);
  if (zeros[1] >= 0 && tn_elements(b->call->inputs[WEIGHT_ZERO]) == 1)
    zeros[1] = build_scalar_of(b, zeros[1]);
  const int32_t operands[7] = {build_input(b, INPUT),
                               build_input(b, WEIGHT),
                               build_scalar_of(b, build_input(b, INPUT_SCALE)),
                               build_input(b, WEIGHT_SCALE),
                               zeros[0],
                               zeros[1],
                               build_input(b, BIAS)};
  build_other(b, "com.microsoft", "MatMulIntegerToFloat", operands, 7, &all, 1);
  build_split(b, all, 2, sizes, 3, out);
}

tn_status q_attention_lower(const tn_call *call, tn_graph *graph, int32_t node) {
  builder b = build_begin(call, graph, node);
  int32_t qkv[3], past[2] = {-1, -1}, out[3], made[2] = {-1, -1};
  heads h = {0};
  tn_status s = make(call, &h);
  if (s) return s;
  project(&b, &h, qkv);
  heads_past(&b, &h, build_input(&b, PAST), past);
  heads_build(&b, &h, qkv, past, out);
  made[0] = out[0];
  if (tn_has_output(call, 1)) made[1] = heads_present(&b, &h, out + 1);
  return build_end(&b, made, 2);
}

/* ---- reference ---- */

/* Element c of row `row` (of batch and queries) of the projection. */
static double projected(const tn_call *call, int64_t row, int64_t column) {
  const tn_tensor *x = call->inputs[INPUT], *w = call->inputs[WEIGHT];
  const double x_zero = load_or(tn_input(call, INPUT_ZERO), 0, 0),
               w_zero = load_or(tn_input(call, WEIGHT_ZERO), column, 0);
  double sum = 0;
  for (int64_t d = 0; d < x->shape[2]; d++)
    sum += (load(x, row * x->shape[2] + d) - x_zero) * (load(w, d * w->shape[1] + column) - w_zero);
  return sum * load(call->inputs[INPUT_SCALE], 0) * load_or(call->inputs[WEIGHT_SCALE], column, 1) +
         load(call->inputs[BIAS], column);
}

/* Part `which` (0: queries) as [batch][heads][past + rows][size]. */
static void project_reference(const tn_call *call, const heads *h, int which, double *to) {
  const int64_t past = which ? h->past : 0, rows = past + h->n_q;
  for (int64_t k = 0; k < h->batch * h->heads * rows * h->size; k++) {
    const int64_t c = k % h->size, j = k / h->size % rows, head = k / h->size / rows;
    const int64_t b = head / h->heads, n = head % h->heads;
    if (j >= past)
      to[k] = projected(call, b * h->n_q + j - past, (which * h->heads + n) * h->size + c);
    else
      to[k] = load(call->inputs[PAST],
                   (((which - 1) * h->batch * h->heads + head) * past + j) * h->size + c);
  }
}

tn_status q_attention_reference(const tn_call *call) {
  heads h = {0};
  tn_status s = make(call, &h);
  if (s) return s;
  const int64_t n_q = h.batch * h.heads * h.n_q * h.size,
                n_k = h.batch * h.heads * h.total * h.size;
  double *room = call->host->alloc(call->ctx, (uint64_t)(n_q + 2 * n_k + 1) * sizeof *room);
  if (!room) return TN_ERR_MEMORY;
  double *const part[3] = {room, room + n_q, room + n_q + n_k};
  for (int k = 0; k < 3; k++) project_reference(call, &h, k, part[k]);
  heads_reference(call, &h, part[0], part[1], part[2], call->outputs[0]);
  for (int64_t k = 0; tn_has_output(call, 1) && k < 2 * n_k; k++)
    store(call->outputs[1], k, part[1][k]);
  call->host->free(call->ctx, room);
  return TN_OK;
}
