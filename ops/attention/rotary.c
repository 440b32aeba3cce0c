/* RotaryEmbedding: inference, reference and portable kernels. An item is one position of one batch,
 * with all its heads. */
#include "rotary.h"

tn_status rotary_make(const tn_call *call, rotary *out) {
  const tn_rotary_embedding_attrs *attrs = call->attrs;
  const tn_tensor *x = call->inputs[0], *positions = tn_has_input(call, 3) ? call->inputs[3] : NULL;
  rotary r = {.interleaved = attrs->interleaved != 0};
  if (x->rank == 4) {
    r.batch = x->shape[0], r.heads = x->shape[1], r.n = x->shape[2], r.size = x->shape[3];
    r.step_batch = r.heads * r.n * r.size, r.step_head = r.n * r.size, r.step_row = r.size;
  } else if (x->rank == 3 && tn_divides(attrs->num_heads, x->shape[2])) {
    r.batch = x->shape[0], r.heads = attrs->num_heads, r.n = x->shape[1],
    r.size = x->shape[2] / r.heads;
    r.step_batch = r.n * x->shape[2], r.step_head = r.size, r.step_row = x->shape[2];
  } else {
    return call->host->fail(call->ctx, TN_ERR_SHAPE,
                            "X has rank 4, or rank 3 and a last dim that num_heads divides");
  }
  const int64_t rotated = attrs->rotary_embedding_dim ? attrs->rotary_embedding_dim : r.size;
  r.half = rotated / 2;
  bool fits = rotated >= 0 && rotated % 2 == 0 && rotated <= r.size;
  for (uint32_t k = 1; fits && k <= 2; k++) {
    const tn_tensor *c = call->inputs[k];
    if (positions)
      fits = c->rank == 2 && c->shape[1] == r.half && positions->rank == 2 &&
             positions->shape[0] == r.batch && positions->shape[1] == r.n;
    else
      fits = c->rank == 3 && c->shape[0] == r.batch && c->shape[1] == r.n && c->shape[2] == r.half;
  }
  if (fits && positions) fits = call->inputs[1]->shape[0] == call->inputs[2]->shape[0];
  if (!fits)
    return call->host->fail(
        call->ctx, TN_ERR_SHAPE,
        "the tables of cosines and sines do not fit X, position_ids and rotary_embedding_dim");
  *out = r;
  return TN_OK;
}

tn_status rotary_embedding_infer(const tn_call *call) {
  rotary r;
  tn_status s = rotary_make(call, &r);
  return s ? s : tn_infer_like(call, 0, 0);
}

int64_t rotary_table_row(const tn_call *call, int64_t item) {
  if (!tn_has_input(call, 3)) return item;
  const int64_t n = call->inputs[1]->shape[0], row = ((const int64_t *)call->inputs[3]->data)[item];
  return row >= -n && row < n ? (row < 0 ? row + n : row) : -1;
}

tn_status rotary_bad_position(const tn_call *call) {
  return call->host->fail(call->ctx, TN_ERR_INVALID,
                          "position_ids names a row that the tables do not have");
}

tn_status rotary_embedding_reference(const tn_call *call) {
  rotary r;
  tn_status s = rotary_make(call, &r);
  if (s) return s;
  const tn_tensor *x = call->inputs[0], *cosines = call->inputs[1], *sines = call->inputs[2],
                  *y = call->outputs[0];
  for (int64_t k = 0; k < r.batch * r.n * r.heads * r.size; k++) {
    const int64_t c = k % r.size, h = k / r.size % r.heads, item = k / r.size / r.heads;
    const int64_t base = item / r.n * r.step_batch + item % r.n * r.step_row + h * r.step_head,
                  row = rotary_table_row(call, item);
    if (row < 0) return rotary_bad_position(call);
    double value = tn_load_f64(x->dtype, x->data, base + c);
    if (c < 2 * r.half) {
      const int64_t pair = r.interleaved ? c / 2 : c % r.half;
      const bool second = r.interleaved ? c % 2 : c >= r.half;
      const int64_t first = r.interleaved ? 2 * pair : pair,
                    other = r.interleaved ? first + 1 : first + r.half;
      const double x1 = tn_load_f64(x->dtype, x->data, base + first),
                   x2 = tn_load_f64(x->dtype, x->data, base + other);
      const double co = tn_load_f64(cosines->dtype, cosines->data, row * r.half + pair);
      const double si = tn_load_f64(sines->dtype, sines->data, row * r.half + pair);
      value = second ? si * x1 + co * x2 : co * x1 - si * x2;
    }
    tn_store_f64(y->dtype, y->data, base + c, value);
  }
  return TN_OK;
}

tn_status rotary_embedding_plan(const tn_call *call, tn_kernel_plan *out) {
  rotary r;
  tn_status s = rotary_make(call, &r);
  if (s) return s;
  /* 2^50 heads of nothing are not walked. */
  out->items[0] = r.size ? r.batch * r.n : 0;
  out->grain[0] = tn_grain(5000, (double)r.heads * (double)r.size);
  out->in_place[0] = 0;
  out->cost_ns = (double)(r.batch * r.n) * (double)r.heads * (double)r.size / 8 + 200;
  return TN_OK;
}

ROTARY_RUN(float)
ROTARY_RUN(double)
ROTARY_KERNEL(rotary_embedding_f32_c, float)
ROTARY_KERNEL(rotary_embedding_f64_c, double)
