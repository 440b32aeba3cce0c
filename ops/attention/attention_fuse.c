/* Rewrite: the operators that spell out attention become Attention.
 *
 *   softmax(Q K' * scale + mask) V, heads by heads; scores may be capped, cap tanh(score / cap)
 *
 * The root is the last product. Q, K' and V are mostly strided copies (a split into heads, and for
 * K' a transposition): where these read projections as they lie, row after row, Attention reads the
 * projections itself, and the copies vanish, with that of the result. Else K is found or made with
 * its rows in one piece, and Q and V stay as they are.
 *
 * A row that may attend to no key gives zeros if masks of -inf are added, where the operators gave
 * NaN; where scores are filled in, it gives what the operators gave. */
#include "attention.h"
#include "scores.h"

typedef struct found {
  scores scores; /* with the sizes of the result but its columns */
  view q, k, v;  /* dims in the order of the enum; keys and values may have fewer heads */
  double scale;
} found;

/* ---- views ---- */

/* The base is [batch, rows, heads * columns], in whatever dims, and the view is all of it. */
static bool is_flat(const tn_pattern *p, const view *v) {
  const tn_tensor *t = tn_pattern_type(p, v->base);
  const int64_t width = v->size[HEAD] * v->size[COLUMN],
                stride[4] = {v->size[ROW] * width, v->size[COLUMN], width, 1};
  return t && t->dtype == TN_F32 && v->offset == 0 &&
         tn_elements(t) == v->size[BATCH] * v->size[ROW] * width && view_has_strides(v, stride);
}

/* The value's elements, as they lie, in another type. */
static tn_status reshape(const tn_call *call, const tn_pattern *p, int32_t value,
                         const tn_tensor *type, int32_t *out_value) {
  *out_value = value;
  const tn_tensor *t = p->api->value_type(p->graph, value);
  if (t && t->rank >= 0 && tn_same_shape(t, type)) return TN_OK;
  tn_moves moves = tn_moves_begin(call, p->graph);
  tn_moves_add_run(&moves, 0, 0, 0, tn_elements(type));
  return tn_moves_emit(&moves, type, &value, 1, -1, out_value);
}

/* The base of a view that is all of it. */
static tn_status flatten(const tn_call *call, const tn_pattern *p, const view *v,
                         int32_t *out_value) {
  const int64_t dims[3] = {v->size[BATCH], v->size[ROW], v->size[HEAD] * v->size[COLUMN]};
  const tn_tensor type = tn_tensor_make(TN_F32, 3, dims, NULL);
  return reshape(call, p, v->base, &type, out_value);
}

/* A value of the given type that is the view, dense: one that is there, or a new copy. */
static tn_status materialise(const tn_call *call, const tn_pattern *p, const view *v,
                             const tn_tensor *type, int32_t *out_value) {
  int64_t dense[4];
  view_dense(v->size, dense);
  if (v->offset == 0 && view_has_strides(v, dense) &&
      tn_elements(tn_pattern_type(p, v->base)) == tn_elements(type))
    return reshape(call, p, v->base, type, out_value);
  for (int32_t k = 0; k < p->api->value_n_users(p->graph, v->base); k++) {
    view other;
    const tn_node *user = p->api->node(p->graph, p->api->value_user(p->graph, v->base, k));
    *out_value = user && user->n_outputs == 1 ? user->outputs[0] : -1;
    if (view_as(p, *out_value, v->size, &other) && other.base == v->base &&
        other.offset == v->offset && tn_same_shape(tn_pattern_type(p, *out_value), type) &&
        view_has_strides(v, other.stride))
      return TN_OK;
  }
  tn_moves moves = tn_moves_begin(call, p->graph);
  tn_move m = {.src_offset = v->offset};
  for (int d = 0; d < 4; d++) tn_move_push(&m, v->size[d], v->stride[d], dense[d]);
  tn_moves_add(&moves, &m);
  return tn_moves_emit(&moves, type, &v->base, 1, -1, out_value);
}

/* Looks through copies, unless what they make is flat, and through products with a number, which
 * become part of the scale; NULL: not through these. */
static void follow(const tn_pattern *p, view *v, double *scale) {
  enum { MAX_STEPS = 8 };
  for (int k = 0; k < MAX_STEPS; k++) {
    const tn_node *mul = tn_pattern_node(p, v->base, "Mul"),
                  *div = tn_pattern_node(p, v->base, "Div");
    int32_t other;
    double number;
    if (scale && ((mul && tn_pattern_with_number(mul, p, true, &other, &number)) ||
                  (div && tn_pattern_with_number(div, p, false, &other, &number)))) {
      const tn_tensor *t = tn_pattern_type(p, other);
      if (!t || !tn_same_shape(t, tn_pattern_type(p, v->base)) || !isfinite(number) || number == 0)
        return;
      *scale *= mul ? number : 1 / number;
      v->base = other;
    } else {
      view next = *v;
      if (is_flat(p, v) || !view_step(p, &next) || !tn_pattern_type(p, next.base)) return;
      *v = next;
    }
  }
}

/* The view as one of fewer heads, each of which stands there several times, one after the other. */
static bool share_heads(const tn_pattern *p, const view *all, view *out) {
  const tn_region *r = all->offset == 0 ? view_region(p, all->base) : NULL;
  for (int32_t k = 0; r && k < r->rank; k++) {
    if (r->src_stride[k] != 0 || r->size[k] == 1 || r->dst_stride[k] != all->stride[HEAD] ||
        all->size[HEAD] % r->size[k])
      continue;
    tn_region one = *r;
    int64_t to[4];
    memcpy(to, all->stride, sizeof to);
    *out = *all;
    out->size[HEAD] /= r->size[k];
    to[HEAD] *= r->size[k];
    one.size[k] = 1;
    out->base = view_source(p, all->base, r);
    out->offset = r->src_offset;
    return view_strides(&one, out->size, to, out->stride) && tn_pattern_type(p, out->base);
  }
  return false;
}

/* ---- the pattern ---- */

static bool is_last_axis(const tn_node *softmax, int32_t rank) {
  const int64_t axis = tn_pattern_int(softmax, "axis", softmax->version >= 13 ? -1 : 1);
  return axis == -1 || axis == rank - 1;
}

/* value = softmax(...), or that with 0 for NaN. */
static const tn_node *softmax_of(const tn_pattern *p, int32_t value, bool *out_guarded) {
  value = scores_reshaped(p, value);
  const tn_node *where = tn_pattern_inner(p, value, "Where"),
                *is_nan = where ? tn_pattern_inner(p, where->inputs[0], "IsNaN") : NULL;
  double zero;
  *out_guarded = is_nan && is_nan->inputs[0] == where->inputs[2] &&
                 tn_pattern_is_read(p, where->inputs[2], 2) &&
                 tn_pattern_number(p, where->inputs[1], &zero) && zero == 0;
  return *out_guarded ? tn_pattern_node(p, where->inputs[2], "Softmax")
                      : tn_pattern_inner(p, value, "Softmax");
}

/* Inputs of a product that do not broadcast, unless all heads share the right one. */
static bool are_alike(const tn_pattern *p, const tn_node *product) {
  const tn_tensor *a = tn_pattern_type(p, product->inputs[0]),
                  *b = tn_pattern_type(p, product->inputs[1]);
  if (!a || !b || a->rank != b->rank || a->rank < 3) return false;
  for (int32_t k = 0; k < a->rank - 2; k++)
    if (a->shape[k] != b->shape[k] && !(k == HEAD && a->rank == 4 && b->shape[k] == 1))
      return false;
  return true;
}

/* Of the right side of a product with this many on the left. */
static int64_t n_heads(const tn_pattern *p, int32_t value, int64_t n) {
  const tn_tensor *t = tn_pattern_type(p, value);
  return t->rank == 4 && t->shape[HEAD] == 1 ? 1 : n;
}

/* The last dim, or the one before it (k: 2). */
static int64_t last_dim(const tn_pattern *p, int32_t value, int k) {
  const tn_tensor *t = tn_pattern_type(p, value);
  return t->shape[t->rank - k];
}

static void transpose(view *v) {
  const int64_t size = v->size[ROW], stride = v->stride[ROW];
  v->size[ROW] = v->size[COLUMN], v->stride[ROW] = v->stride[COLUMN];
  v->size[COLUMN] = size, v->stride[COLUMN] = stride;
}

static bool match_views(const tn_pattern *p, const tn_node *root, found *f) {
  const int64_t *size = f->scores.size;
  const int32_t q = f->scores.product->inputs[0], k = f->scores.product->inputs[1],
                v = root->inputs[1];
  const int64_t n = last_dim(p, q, 1), wide = last_dim(p, v, 1);
  const int64_t dims[3][4] = {{size[BATCH], size[HEAD], size[ROW], n},
                              {size[BATCH], n_heads(p, k, size[HEAD]), n, size[COLUMN]},
                              {size[BATCH], n_heads(p, v, size[HEAD]), size[COLUMN], wide}};
  view keys, values;
  if (!view_as(p, q, dims[0], &f->q) || !view_as(p, k, dims[1], &f->k) ||
      !view_as(p, v, dims[2], &f->v))
    return false;
  transpose(&f->k); /* K' has its last two dims the other way round */
  f->scale = f->scores.scale;
  follow(p, &f->q, &f->scale);
  follow(p, &f->k, &f->scale);
  follow(p, &f->v, NULL);
  if (share_heads(p, &f->k, &keys) && share_heads(p, &f->v, &values) &&
      keys.size[HEAD] == values.size[HEAD]) {
    f->k = keys, f->v = values;
    follow(p, &f->k, &f->scale);
    follow(p, &f->v, NULL);
  }
  return isfinite(f->scale) && f->k.size[HEAD] == f->v.size[HEAD];
}

static bool match(const tn_pattern *p, int32_t node, found *f) {
  const tn_node *root = tn_pattern_root(p, node);
  if (!root || !are_alike(p, root)) return false;
  const tn_node *softmax = softmax_of(p, root->inputs[0], &f->scores.guarded);
  const tn_tensor *type = softmax ? tn_pattern_type(p, softmax->outputs[0]) : NULL;
  return type && is_last_axis(softmax, type->rank) &&
         scores_match(p, softmax->inputs[0], &f->scores) && are_alike(p, f->scores.product) &&
         match_views(p, root, f);
}

/* ---- the rewrite ---- */

/* Attention on Q, K and V, named after the node, whose new value is of this type. */
static tn_status add_attention(const tn_call *call, const tn_pattern *p, const found *f,
                               int32_t node, int32_t inputs[4], const tn_tensor *type,
                               int32_t *out_value) {
  const tn_attr attrs[] = {
      tn_attr_float("scale", f->scale), tn_attr_float("softcap", f->scores.cap),
      tn_attr_int("q_num_heads", f->q.size[HEAD]), tn_attr_int("kv_num_heads", f->k.size[HEAD]),
      tn_attr_int("right_window_size", f->scores.band)};
  const char *name = p->api->node(p->graph, node)->name;
  inputs[3] = scores_mask(call, p, &f->scores, name);
  *out_value =
      tn_emit_node(call, p->graph, name, "Attention", inputs, inputs[3] == -1 ? 3 : 4, attrs, 5);
  return *out_value < 0 ? *out_value : p->api->value_set_type(p->graph, *out_value, type);
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
  tn_status s = reshape(call, p, flat, &type, &alias);
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
  const tn_tensor type = *p->api->value_type(p->graph, old);
  int32_t value;
  s = materialise(call, p, &heads, &type, &value);
  return s ? s : p->api->replace_node(p->graph, node, &value, 1);
}

/* The projections as they are. */
static tn_status fuse_flat(const tn_call *call, const tn_pattern *p, const found *f, int32_t node) {
  const view *views[3] = {&f->q, &f->k, &f->v};
  const int64_t dims[3] = {f->q.size[BATCH], f->q.size[ROW], f->q.size[HEAD] * f->v.size[COLUMN]};
  const tn_tensor type = tn_tensor_make(TN_F32, 3, dims, NULL);
  int32_t inputs[4], value;
  tn_status s = TN_OK;
  for (int k = 0; k < 3 && !s; k++) s = flatten(call, p, views[k], &inputs[k]);
  if (!s) s = add_attention(call, p, f, node, inputs, &type, &value);
  return s ? s : replace_root(call, p, f, node, value);
}

static tn_status fuse_heads(const tn_call *call, const tn_pattern *p, const found *f,
                            int32_t node) {
  const view *views[3] = {&f->q, &f->k, &f->v};
  const tn_tensor old = *p->api->value_type(p->graph, p->api->node(p->graph, node)->outputs[0]);
  const int64_t dims[4] = {f->q.size[BATCH], f->q.size[HEAD], f->q.size[ROW], f->v.size[COLUMN]};
  const tn_tensor type = tn_tensor_make(TN_F32, 4, dims, NULL);
  int32_t inputs[4], value;
  tn_status s = TN_OK;
  for (int k = 0; k < 3 && !s; k++) {
    const tn_tensor own = tn_tensor_make(TN_F32, 4, views[k]->size, NULL);
    s = materialise(call, p, views[k], &own, &inputs[k]);
  }
  if (!s) s = add_attention(call, p, f, node, inputs, &type, &value);
  if (!s) s = reshape(call, p, value, &old, &value);
  return s ? s : p->api->replace_node(p->graph, node, &value, 1);
}

tn_status attention_fuse(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_pattern p = {call->host->graph, graph};
  found f = {.scale = 1};
  if (!match(&p, node, &f)) return TN_OK;
  const tn_status s = scores_find_band(call, &p, &f.scores);
  if (s) return s;
  const bool flat = is_flat(&p, &f.q) && is_flat(&p, &f.k) && is_flat(&p, &f.v);
  return (flat ? fuse_flat : fuse_heads)(call, &p, &f, node);
}
