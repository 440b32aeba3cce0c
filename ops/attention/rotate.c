/* tenon::Rotary, rotary position embedding as exporters spell it, x cos + rotate(x) sin, where
 * rotate(x) is the second half of x, negated, and then the first one: inference, reference, the
 * portable kernel, and the rewrite that finds it. */
#include "rotate.h"

#include "tenon/kit/infer.h"
#include "tenon/kit/lower.h"
#include "views.h"

/* ---- the operator ---- */

static tn_status wrong(const tn_call *call, const char *what) {
  return call->host->fail(call->ctx, TN_ERR_SHAPE, "%s", what);
}

/* Do the table's dims fit X? Its steps. */
static bool table_fits(const tn_tensor *x, const tn_tensor *t, int64_t step[3]) {
  if (t->rank < 1 || t->rank > 4 || t->shape[t->rank - 1] != x->shape[3]) return false;
  int64_t dense = x->shape[3];
  for (int32_t d = 2; d >= 0; d--) {
    const int32_t k = d + t->rank - 4;
    const int64_t size = k < 0 ? 1 : t->shape[k];
    if (size != 1 && size != x->shape[d]) return false;
    step[d] = size == 1 ? 0 : dense;
    dense *= size;
  }
  return true;
}

tn_status rotate_make(const tn_call *call, rotate *out) {
  const tn_tensor *x = call->inputs[0];
  rotate r = {.rows = 1};
  if (x->rank != 4) return wrong(call, "X has rank 4");
  r.n = x->shape[3];
  if (r.n % 2) return wrong(call, "the last dim of X is even");
  for (int d = 0; d < 3; d++) r.rows *= r.size[d] = x->shape[d];
  for (uint32_t k = 0; k < 2; k++)
    if (!table_fits(x, call->inputs[k + 1], r.step[k]))
      return wrong(call, "cos and sin have the last dim of X, and broadcast to the others");
  *out = r;
  return TN_OK;
}

tn_status rotary_infer(const tn_call *call) {
  rotate r;
  const tn_status s = rotate_make(call, &r);
  return s ? s : tn_infer_like(call, 0, 0);
}

tn_status rotary_reference(const tn_call *call) {
  rotate r;
  const tn_status s = rotate_make(call, &r);
  if (s) return s;
  const tn_tensor *x = call->inputs[0], *cosines = call->inputs[1], *sines = call->inputs[2],
                  *y = call->outputs[0];
  for (int64_t k = 0; r.n && k < r.rows * r.n; k++) {
    const int64_t row = k / r.n, c = k % r.n, half = r.n / 2;
    const double here = tn_load_f64(x->dtype, x->data, k);
    const double other = c < half ? -tn_load_f64(x->dtype, x->data, k + half)
                                  : tn_load_f64(x->dtype, x->data, k - half);
    const double co = tn_load_f64(cosines->dtype, cosines->data, rotate_at(&r, 0, row) + c);
    const double si = tn_load_f64(sines->dtype, sines->data, rotate_at(&r, 1, row) + c);
    tn_store_f64(y->dtype, y->data, k, here * co + other * si);
  }
  return TN_OK;
}

tn_status rotary_plan(const tn_call *call, tn_kernel_plan *out) {
  rotate r;
  const tn_status s = rotate_make(call, &r);
  if (s) return s;
  out->items[0] = r.n ? r.rows : 0;
  out->grain[0] = tn_grain(5000, (double)r.n);
  out->cost_ns = (double)r.rows * (double)r.n / 4 + 100;
  out->elements_per_item = r.n;
  return TN_OK;
}

tn_status rotary_f32_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                       uint32_t worker) {
  (void)stage, (void)worker;
  rotate r;
  const tn_status status = rotate_make(call, &r);
  for (int64_t row = begin; !status && row < end; row++) {
    const float *x = (const float *)call->inputs[0]->data + row * r.n;
    const float *c = (const float *)call->inputs[1]->data + rotate_at(&r, 0, row);
    const float *s = (const float *)call->inputs[2]->data + rotate_at(&r, 1, row);
    float *y = (float *)call->outputs[0]->data + row * r.n;
    for (int64_t k = 0, j = r.n / 2; j < r.n; k++, j++) {
      y[k] = x[k] * c[k] - x[j] * s[k];
      y[j] = x[j] * c[j] + x[k] * s[j];
    }
  }
  return status;
}

/* ---- the rewrite ---- */

/* Is this a copy of half of x, from column `first` on? The copy of a copy reads the source of the
 * first one. */
static bool is_half(const view *x, int32_t value, const view *copy, int64_t first) {
  int64_t dense[4];
  view_dense(x->size, dense);
  if (copy->base == value && copy->offset == first && view_has_strides(copy, dense)) return true;
  return copy->base == x->base && copy->offset == x->offset + first * x->stride[COLUMN] &&
         view_has_strides(copy, x->stride);
}

/* value = (-second half of x, first half of x). */
static bool is_rotated(const tn_pattern *p, int32_t value, int32_t x) {
  view all;
  uint32_t n = 0;
  if (!tn_pattern_is_read(p, value, 1) || !view_of(p, x, &all) || all.size[COLUMN] % 2)
    return false;
  const int32_t node = p->api->value_producer(p->graph, value);
  const tn_region *const *regions = node < 0 ? NULL : p->api->node_regions(p->graph, node, &n);
  const tn_tensor *t = tn_pattern_type(p, value);
  if (n != 2 || !t || !tn_same_shape(t, tn_pattern_type(p, x))) return false;
  const int64_t half = all.size[COLUMN] / 2;
  const tn_region *front = regions[regions[0]->dst_offset != 0],
                  *back = regions[regions[0]->dst_offset == 0];
  const int32_t *inputs = p->api->node(p->graph, node)->inputs;
  const tn_node *neg = tn_pattern_inner(p, inputs[front->input], "Neg");
  view first = {.base = inputs[back->input], .offset = back->src_offset}, second, negated;
  int64_t to[4], dense[4];
  view_dense(all.size, to);
  memcpy(first.size, all.size, sizeof all.size);
  first.size[COLUMN] = half;
  negated = first;
  view_dense(first.size, dense);
  return neg && front->dst_offset == 0 && back->dst_offset == half && front->src_offset == 0 &&
         view_strides(front, negated.size, to, negated.stride) &&
         view_has_strides(&negated, dense) && view_strides(back, first.size, to, first.stride) &&
         is_half(&all, x, &first, 0) && view_of(p, neg->inputs[0], &second) &&
         !memcmp(second.size, first.size, sizeof first.size) && is_half(&all, x, &second, half);
}

/* mul = x table, in either order, where rotated = rotate(x) table2 is the other summand. */
static bool match(const tn_pattern *p, const tn_node *mul, const tn_node *rotated, int32_t out[3]) {
  for (int k = 0; k < 4; k++) {
    int64_t steps[3];
    out[0] = mul->inputs[k & 1], out[1] = mul->inputs[!(k & 1)];
    out[2] = rotated->inputs[k >> 1];
    const tn_tensor *x = tn_pattern_type(p, out[0]), *c = tn_pattern_type(p, out[1]),
                    *s = tn_pattern_type(p, out[2]);
    if (x && c && s && x->rank == 4 && x->dtype == TN_F32 && c->dtype == TN_F32 &&
        s->dtype == TN_F32 && table_fits(x, c, steps) && table_fits(x, s, steps) &&
        is_rotated(p, rotated->inputs[!(k >> 1)], out[0]))
      return true;
  }
  return false;
}

tn_status rotary_fuse(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_pattern p = {call->host->graph, graph};
  const tn_node *root = tn_pattern_root(&p, node);
  if (!root || root->n_inputs != 2) return TN_OK;
  const tn_node *a = tn_pattern_inner(&p, root->inputs[0], "Mul"),
                *b = tn_pattern_inner(&p, root->inputs[1], "Mul");
  int32_t inputs[3];
  if (!a || !b || (!match(&p, a, b, inputs) && !match(&p, b, a, inputs))) return TN_OK;
  return tn_lower_to_own(call, graph, node, "Rotary", inputs, 3, NULL, 0);
}
