/* com.microsoft::RotaryEmbedding, by that of ai.onnx. */
#include "attention.gen.h"
#include "builder.h"

enum { X, POSITIONS, COSINES, SINES };

typedef struct rotary {
  int64_t batch, n, heads, size, rotated;
  bool heads_first;
} rotary;

static tn_status make(const tn_call *call, rotary *out) {
  const tn_rotary_embedding_attrs *a = call->attrs;
  const tn_tensor *x = call->inputs[X], *positions = call->inputs[POSITIONS],
                  *cosines = call->inputs[COSINES], *sines = call->inputs[SINES];
  rotary r = {.heads_first = x->rank == 4};
  bool fits = cosines->rank == 2 && sines->rank == 2 && cosines->shape[0] == sines->shape[0] &&
              cosines->shape[1] == sines->shape[1];
  if (a->is_packed_batching)
    return call->host->fail(call->ctx, TN_ERR_UNSUPPORTED, "not supported: is_packed_batching");
  if (fits && x->rank == 4) {
    r.batch = x->shape[0], r.heads = x->shape[1], r.n = x->shape[2], r.size = x->shape[3];
  } else if (fits && x->rank == 3) {
    const int64_t size = 2 * cosines->shape[1];
    r.heads = a->num_heads > 0 ? a->num_heads : size ? x->shape[2] / size : 0;
    fits = tn_divides(r.heads, x->shape[2]);
    r.batch = x->shape[0], r.n = x->shape[1], r.size = fits ? x->shape[2] / r.heads : 0;
  } else {
    fits = false;
  }
  r.rotated = a->rotary_embedding_dim > 0 ? a->rotary_embedding_dim : r.size;
  fits = fits && r.rotated <= r.size && 2 * cosines->shape[1] == r.rotated;
  fits = fits &&
         (tn_elements(positions) == 1 ||
          (positions->rank == 2 && positions->shape[0] == r.batch && positions->shape[1] == r.n));
  if (!fits)
    return call->host->fail(call->ctx, TN_ERR_SHAPE,
                            "input, position_ids and the tables do not fit together");
  *out = r;
  return TN_OK;
}

tn_status rotary_embedding_infer(const tn_call *call) {
  rotary r;
  tn_status s = make(call, &r);
  return s ? s : tn_infer_like(call, 0, 0);
}

/* [batch, n]: the first position plus 0, 1, 2 ... */
static int32_t count_on(builder *b, const rotary *r) {
  const int32_t limits[3] = {build_scalar(b, TN_I64, 0), build_scalar(b, TN_I64, (double)r->n),
                             build_scalar(b, TN_I64, 1)};
  int32_t steps;
  build_node(b, "Range", limits, 3, NULL, 0, &steps, 1);
  const int32_t first = build_reshape(b, build_input(b, POSITIONS), (int64_t[]){1, 1}, 2);
  const int32_t row = build_binary(b, "Add", first, steps);
  return build_binary(b, "Expand", row, build_ints(b, (int64_t[]){r->batch, r->n}, 2));
}

tn_status rotary_embedding_lower(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_rotary_embedding_attrs *a = call->attrs;
  builder b = build_begin(call, graph, node);
  rotary r;
  tn_status s = make(call, &r);
  if (s) return s;
  const bool counted = tn_elements(call->inputs[POSITIONS]) == 1 &&
                       (r.batch != 1 || r.n != 1 || call->inputs[POSITIONS]->rank != 2);
  const int32_t positions = counted ? count_on(&b, &r) : build_input(&b, POSITIONS);
  const int32_t inputs[4] = {build_input(&b, X), build_input(&b, COSINES), build_input(&b, SINES),
                             positions};
  const tn_attr attrs[3] = {tn_attr_int("interleaved", a->interleaved),
                            tn_attr_int("num_heads", r.heads),
                            tn_attr_int("rotary_embedding_dim", r.rotated)};
  int32_t y;
  build_node(&b, "RotaryEmbedding", inputs, 4, attrs, 3, &y, 1);
  return build_end(&b, &y, 1);
}

tn_status rotary_embedding_reference(const tn_call *call) {
  const bool interleaved = ((const tn_rotary_embedding_attrs *)call->attrs)->interleaved != 0;
  const tn_tensor *x = call->inputs[X], *positions = call->inputs[POSITIONS];
  rotary r;
  tn_status s = make(call, &r);
  if (s) return s;
  for (int64_t k = 0; k < tn_elements(x); k++) {
    const int64_t c = k % r.size, row = k / r.size, half = r.rotated / 2;
    const int64_t item = r.heads_first ? row / r.n / r.heads * r.n + row % r.n : row / r.heads;
    const double place = tn_elements(positions) == 1 ? load(positions, 0) + (double)(item % r.n)
                                                     : load(positions, item);
    if (place < 0 || place >= (double)call->inputs[COSINES]->shape[0])
      return call->host->fail(call->ctx, TN_ERR_INVALID,
                              "position_ids names a row that the tables do not have");
    const int64_t pair = interleaved ? c / 2 : c % tn_max_i64(half, 1),
                  at = (int64_t)place * half + pair;
    const bool second = interleaved ? c % 2 : c >= half;
    const int64_t other = k + (second ? -1 : 1) * (interleaved ? 1 : half);
    double value = load(x, k);
    if (c < r.rotated)
      value = value * load(call->inputs[COSINES], at) +
              (second ? 1 : -1) * load(x, other) * load(call->inputs[SINES], at);
    store(call->outputs[0], k, value);
  }
  return TN_OK;
}
