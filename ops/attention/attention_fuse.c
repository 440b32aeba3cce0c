/* Rewrite: the operators that spell out attention become Attention.
 *
 *   softmax(Q K' * scale + mask) V, heads by heads
 *
 * The root is the last product. Q, K' and V are mostly strided copies (a split into heads, and for
 * K' a transposition): where these read projections as they lie, row after row, Attention reads the
 * projections itself, and the copies vanish, with that of the result. Else K is found or made with
 * its rows in one piece, and Q and V stay as they are.
 *
 * A row that may attend to no key (its mask is -inf throughout) gives zeros, where the operators
 * gave NaN. */
#include "attention.h"
#include "base/lower.h"
#include "views.h"

typedef struct found {
  view q, k, v;      /* dims in the order of the enum */
  int32_t inputs[4]; /* Q, V as they stand; K: -1; mask or -1 */
  double scale;
} found;

/* ---- views ---- */

/* The base is [batch, rows, heads * columns], and the view is all of it. */
static bool is_flat(const tn_pattern *p, const view *v) {
  const tn_tensor *t = tn_pattern_type(p, v->base);
  const int64_t width = v->size[HEAD] * v->size[COLUMN],
                stride[4] = {v->size[ROW] * width, v->size[COLUMN], width, 1};
  return t && t->dtype == TN_F32 && t->rank == 3 && t->shape[0] == v->size[BATCH] &&
         t->shape[1] == v->size[ROW] && t->shape[2] == width && v->offset == 0 &&
         view_has_strides(v, stride);
}

/* A value that is the view, dense, with its dims: one that is there, or a new copy. */
static tn_status materialise(const tn_call *call, const tn_pattern *p, const view *v,
                             int32_t *out_value) {
  int64_t dense[4];
  view_dense(v->size, dense);
  const tn_tensor type = tn_tensor_make(TN_F32, 4, v->size, NULL);
  if (v->offset == 0 && view_has_strides(v, dense) &&
      tn_same_shape(tn_pattern_type(p, v->base), &type)) {
    *out_value = v->base;
    return TN_OK;
  }
  for (int32_t k = 0; k < p->api->value_n_users(p->graph, v->base); k++) {
    view other;
    const tn_node *user = p->api->node(p->graph, p->api->value_user(p->graph, v->base, k));
    *out_value = user && user->n_outputs == 1 ? user->outputs[0] : -1;
    if (view_of(p, *out_value, &other) && other.base == v->base && other.offset == v->offset &&
        tn_same_shape(tn_pattern_type(p, *out_value), &type) && view_has_strides(v, other.stride))
      return TN_OK;
  }
  tn_moves moves = tn_moves_begin(call, p->graph);
  tn_move m = {.src_offset = v->offset};
  for (int d = 0; d < 4; d++) tn_move_push(&m, v->size[d], v->stride[d], dense[d]);
  tn_moves_add(&moves, &m);
  return tn_moves_emit(&moves, &type, &v->base, 1, -1, out_value);
}

/* ---- the pattern ---- */

static bool is_last_axis(const tn_node *softmax, int32_t rank) {
  for (uint32_t k = 0; k < softmax->n_attrs; k++)
    if (!strcmp(softmax->attrs[k]->name, "axis"))
      return softmax->attrs[k]->i == -1 || softmax->attrs[k]->i == rank - 1;
  return softmax->version >= 13;
}

/* It broadcasts to the scores, with a value for every key. */
static bool is_mask(const tn_pattern *p, int32_t value, const tn_tensor *scores) {
  const tn_tensor *t = tn_pattern_type(p, value);
  if (!t || t->dtype != TN_F32 || t->rank < 1 || t->rank > 4 ||
      t->shape[t->rank - 1] != scores->shape[3])
    return false;
  for (int32_t k = 0; k < t->rank; k++)
    if (t->shape[k] != 1 && t->shape[k] != scores->shape[k + 4 - t->rank]) return false;
  return true;
}

/* value = A B * scale: answers the product. */
static const tn_node *scaled_product(const tn_pattern *p, int32_t value, double *out_scale) {
  const tn_node *mul = tn_pattern_inner(p, value, "Mul"), *div = tn_pattern_inner(p, value, "Div");
  int32_t other = value;
  double number = 1;
  if (mul && !tn_pattern_with_number(mul, p, true, &other, &number)) return NULL;
  if (div && !tn_pattern_with_number(div, p, false, &other, &number)) return NULL;
  *out_scale = div ? 1 / number : number;
  return isfinite(*out_scale) ? tn_pattern_inner(p, other, "MatMul") : NULL;
}

static bool match_scores(const tn_pattern *p, int32_t value, found *f) {
  const tn_tensor *type = tn_pattern_type(p, value);
  const tn_node *add = tn_pattern_inner(p, value, "Add"),
                *product = scaled_product(p, value, &f->scale);
  f->inputs[3] = -1;
  for (int k = 0; add && !product && k < 2; k++) {
    product = scaled_product(p, add->inputs[k], &f->scale);
    f->inputs[3] = add->inputs[1 - k];
  }
  if (!type || type->rank != 4 || !product) return false;
  if (add && !is_mask(p, f->inputs[3], type)) return false;
  view t;
  f->inputs[0] = product->inputs[0];
  if (!view_of(p, product->inputs[0], &f->q) || !view_of(p, product->inputs[1], &t)) return false;
  f->k = t; /* K' has its last two dims the other way round */
  f->k.size[ROW] = t.size[COLUMN], f->k.stride[ROW] = t.stride[COLUMN];
  f->k.size[COLUMN] = t.size[ROW], f->k.stride[COLUMN] = t.stride[ROW];
  return true;
}

/* The products do not broadcast. */
static bool fit(const found *f) {
  return f->q.size[BATCH] == f->k.size[BATCH] && f->k.size[BATCH] == f->v.size[BATCH] &&
         f->q.size[HEAD] == f->k.size[HEAD] && f->k.size[HEAD] == f->v.size[HEAD] &&
         f->k.size[ROW] == f->v.size[ROW] && f->q.size[COLUMN] == f->k.size[COLUMN];
}

static bool match(const tn_pattern *p, int32_t node, found *f) {
  const tn_node *root = tn_pattern_root(p, node);
  if (!root) return false;
  const tn_node *softmax = tn_pattern_inner(p, root->inputs[0], "Softmax");
  if (!softmax || !is_last_axis(softmax, 4)) return false;
  f->inputs[1] = -1;
  f->inputs[2] = root->inputs[1];
  return match_scores(p, softmax->inputs[0], f) && view_of(p, root->inputs[1], &f->v) && fit(f);
}

/* ---- the rewrite ---- */

static tn_status add_attention(const tn_call *call, const tn_pattern *p, const found *f,
                               const int32_t *inputs, int32_t node, int32_t *out_value) {
  const tn_attr attrs[3] = {tn_attr_float("scale", f->scale),
                            tn_attr_int("q_num_heads", f->q.size[HEAD]),
                            tn_attr_int("kv_num_heads", f->q.size[HEAD])},
                *list[3] = {&attrs[0], &attrs[1], &attrs[2]};
  const tn_node *root = call->host->graph->node(p->graph, node);
  const tn_node made = {.head = TN_HEAD(tn_node),
                        .domain = "",
                        .op = "Attention",
                        .name = root->name,
                        .inputs = inputs,
                        .n_inputs = inputs[3] < 0 ? 3 : 4,
                        .outputs = out_value,
                        .n_outputs = 1,
                        .attrs = list,
                        .n_attrs = 3,
                        .offset = root->offset};
  *out_value = p->api->value(p->graph, NULL);
  if (*out_value < 0) return *out_value;
  const int32_t id = p->api->add_node(p->graph, &made);
  return id < 0 ? id : TN_OK;
}

/* A copy that turns the result back to [batch, row, head, column] is what Attention wrote. */
static tn_status take_copy(const tn_call *call, const tn_pattern *p, const found *f, int32_t user,
                           int32_t flat, bool *out_taken) {
  const int64_t size[4] = {f->q.size[BATCH], f->q.size[ROW], f->q.size[HEAD], f->v.size[COLUMN]},
                want[4] = {size[1] * size[2] * size[3], size[3], size[1] * size[3], 1};
  int64_t dense[4];
  uint32_t n = 0;
  const tn_region *const *regions = p->api->node_regions(p->graph, user, &n);
  view v = {.base = -1};
  memcpy(v.size, size, sizeof size);
  view_dense(size, dense);
  *out_taken = n == 1 && p->api->node(p->graph, user)->n_outputs == 1 &&
               p->api->node(p->graph, user)->n_inputs == 1 && regions[0]->src_offset == 0 &&
               regions[0]->dst_offset == 0 && view_strides(regions[0], size, dense, v.stride) &&
               view_has_strides(&v, want);
  if (!*out_taken) return TN_OK;
  const int32_t old = p->api->node(p->graph, user)->outputs[0];
  const tn_tensor type = *p->api->value_type(p->graph, old);
  int32_t alias;
  tn_moves moves = tn_moves_begin(call, p->graph);
  tn_moves_add_run(&moves, 0, 0, 0, size[0] * size[1] * size[2] * size[3]);
  tn_status s = tn_moves_emit(&moves, &type, &flat, 1, -1, &alias);
  if (!s) s = p->api->replace_value(p->graph, old, alias);
  return s ? s : p->api->remove_node(p->graph, user);
}

/* The result of rank 3 as the result of the old product, for whoever still reads that. */
static tn_status replace_root(const tn_call *call, const tn_pattern *p, const found *f,
                              int32_t node, int32_t flat) {
  const int32_t old = p->api->node(p->graph, node)->outputs[0];
  tn_status s = TN_OK;
  for (int32_t k = 0; !s && k < p->api->value_n_users(p->graph, old); k++) {
    bool taken;
    s = take_copy(call, p, f, p->api->value_user(p->graph, old, k), flat, &taken);
    if (taken) k--;
  }
  if (s || tn_pattern_is_read(p, old, 0)) return s ? s : p->api->remove_node(p->graph, node);
  const int64_t width = f->q.size[HEAD] * f->v.size[COLUMN];
  const view heads = {
      .base = flat,
      .size = {f->q.size[BATCH], f->q.size[HEAD], f->q.size[ROW], f->v.size[COLUMN]},
      .stride = {f->q.size[ROW] * width, f->v.size[COLUMN], width, 1}};
  int32_t value;
  s = materialise(call, p, &heads, &value);
  return s ? s : p->api->replace_node(p->graph, node, &value, 1);
}

tn_status attention_fuse(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_pattern p = {call->host->graph, graph};
  found f = {.scale = 1};
  if (!match(&p, node, &f)) return TN_OK;
  int32_t value = -1;
  if (is_flat(&p, &f.q) && is_flat(&p, &f.k) && is_flat(&p, &f.v)) {
    const int32_t inputs[4] = {f.q.base, f.k.base, f.v.base, f.inputs[3]};
    tn_status s = add_attention(call, &p, &f, inputs, node, &value);
    const int64_t dims[3] = {f.q.size[BATCH], f.q.size[ROW], f.q.size[HEAD] * f.v.size[COLUMN]};
    const tn_tensor type = tn_tensor_make(TN_F32, 3, dims, NULL);
    if (!s) s = p.api->value_set_type(graph, value, &type);
    return s ? s : replace_root(call, &p, &f, node, value);
  }
  tn_status s = materialise(call, &p, &f.k, &f.inputs[1]);
  if (!s) s = add_attention(call, &p, &f, f.inputs, node, &value);
  return s ? s : p.api->replace_node(graph, node, &value, 1);
}
