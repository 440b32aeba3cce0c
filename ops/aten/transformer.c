/* Layers of transformers that PyTorch computes at once ("fast path"), which traced programs in eval
 * mode have: attention with its projections, and nn.TransformerEncoderLayer. */
#include "aten.h"
#include "aten_layers.gen.h"

/* What mask_type says of the mask, in which true means: not looked at. */
enum { MASK_PLACES = 0, MASK_KEYS = 1, MASK_ALL = 2 };

typedef struct attention {
  const tn_lowering *l;
  int32_t query, key, value;
  int64_t batch, n_queries, n_keys, width, n_heads;
  uint32_t weights; /* input of the first of four: qkv, its bias, projection, its bias */
  uint32_t mask;    /* input */
} attention;

/* ---- steps ---- */

static int32_t linear(const tn_lowering *l, int32_t x, int32_t weight, int32_t bias) {
  static const int32_t swapped[] = {1, 0};
  const int32_t y = tn_low_2(l, "MatMul", x, tn_low_transpose(l, weight, 2, swapped));
  return tn_low_2(l, "Add", y, bias);
}

/* [batch, places, width] of query, key or value (0, 1, 2) as [batch, heads, places, size]. */
static int32_t heads_of(const attention *a, int32_t x, int64_t which, int64_t n) {
  static const int32_t perm[] = {0, 2, 1, 3};
  const tn_lowering *l = a->l;
  const int64_t from = which * a->width, to = from + a->width;
  const int64_t shape[] = {a->batch, n, a->n_heads, a->width / a->n_heads};
  const int32_t w = at_slice(l, tn_low_in(l, a->weights), 0, from, to, 1),
                b = at_slice(l, tn_low_in(l, a->weights + 1), 0, from, to, 1);
  return tn_low_transpose(l, tn_low_reshape(l, linear(l, x, w, b), 4, shape), 4, perm);
}

/* True where a query looks at a key; TN_NO_ID: there is no mask. */
static int32_t looks_at(const attention *a) {
  const tn_lowering *l = a->l;
  const tn_tensor *mask = tn_low_type(l, a->mask);
  const int64_t keys[] = {a->batch, 1, 1, a->n_keys};
  if (!mask) return TN_NO_ID;
  const int64_t type = tn_low_int(l, "mask_type", MASK_ALL);
  if (mask->dtype != TN_BOOL || type < MASK_PLACES || type > MASK_ALL ||
      mask->rank != (type == MASK_ALL ? 4 : 2))
    return tn_low_unsupported(l, "a mask of this type and rank");
  const int32_t x = tn_low_in(l, a->mask);
  return at_not(l, type == MASK_KEYS ? tn_low_reshape(l, x, 4, keys) : x);
}

static double scale_of(const attention *a) { return 1 / sqrt((double)(a->width / a->n_heads)); }

/* Softmax of the scaled products, where somebody wants to see it. */
static int32_t weights_of(const attention *a, int32_t q, int32_t k, int32_t mask) {
  static const int32_t perm[] = {0, 1, 3, 2};
  const tn_lowering *l = a->l;
  const uint32_t dtype = tn_low_type(l, 0)->dtype;
  const int32_t scaled = tn_low_2(l, "Mul", q, tn_low_number(l, dtype, scale_of(a)));
  int32_t x = tn_low_2(l, "MatMul", scaled, tn_low_transpose(l, k, 4, perm));
  if (mask >= 0) x = at_where(l, mask, x, tn_low_number(l, dtype, -INFINITY));
  const tn_attr axis = tn_attr_int("axis", -1);
  return tn_low_emit(l, "Softmax", &x, 1, &axis, 1);
}

static int32_t attend(const attention *a, int32_t *out_weights) {
  static const int32_t perm[] = {0, 2, 1, 3};
  const tn_lowering *l = a->l;
  const int32_t q = heads_of(a, a->query, 0, a->n_queries), k = heads_of(a, a->key, 1, a->n_keys),
                v = heads_of(a, a->value, 2, a->n_keys), mask = looks_at(a);
  const int32_t in[] = {q, k, v, mask};
  const tn_attr scale = tn_attr_float("scale", scale_of(a));
  const int64_t shape[] = {a->batch, a->n_queries, a->width};
  if (mask < TN_NO_ID) return mask;
  if (out_weights) *out_weights = weights_of(a, q, k, mask);
  const int32_t y = out_weights ? tn_low_2(l, "MatMul", *out_weights, v)
                                : tn_low_emit(l, "Attention", in, mask >= 0 ? 4 : 3, &scale, 1);
  return linear(l, tn_low_reshape(l, tn_low_transpose(l, y, 4, perm), 3, shape),
                tn_low_in(l, a->weights + 2), tn_low_in(l, a->weights + 3));
}

/* Sizes of query and key, inputs of the node, and of the weights, and whether they fit. */
static tn_status open_attention(attention *a, uint32_t query, uint32_t key, const char *heads) {
  const tn_lowering *l = a->l;
  const tn_tensor *q = tn_low_type(l, query), *k = tn_low_type(l, key),
                  *w = tn_low_type(l, a->weights);
  a->n_heads = tn_low_int(l, heads, 0);
  if (q->rank != 3 || k->rank != 3 || w->rank != 2)
    return at_fail(l, TN_ERR_SHAPE, "its sequences need three dims, and weights two");
  a->batch = q->shape[0];
  a->n_queries = q->shape[1];
  a->n_keys = k->shape[1];
  a->width = q->shape[2];
  if (a->n_heads < 1 || a->width < 1 || a->width % a->n_heads || w->shape[0] / 3 != a->width ||
      w->shape[0] % 3 || w->shape[1] != a->width || k->shape[2] != a->width ||
      k->shape[0] != a->batch)
    return at_fail(l, TN_ERR_SHAPE, "its heads, sequences and weights do not fit each other");
  return TN_OK;
}

/* ---- _native_multi_head_attention ---- */

tn_status aten_native_attention(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  attention a = {.l = &l, .weights = 3, .mask = 7};
  int32_t out[2];
  const int64_t heads = 1, empty = 0;
  const tn_status s = open_attention(&a, 0, 1, "num_head");
  if (s) return s;
  a.query = tn_low_in(&l, 0);
  a.key = tn_low_in(&l, 1);
  a.value = tn_low_in(&l, 2);
  if (tn_low_type(&l, 2)->rank != 3 || tn_low_type(&l, 2)->shape[1] != a.n_keys)
    return at_fail(&l, TN_ERR_SHAPE, "there are not as many values as keys");
  const bool wants = tn_low_node(&l)->n_outputs > 1 && tn_low_int(&l, "need_weights", 1);
  out[0] = attend(&a, wants ? &out[1] : NULL);
  if (wants && tn_low_int(&l, "average_attn_weights", 1))
    out[1] = at_reduce(&l, "ReduceMean", out[1], &heads, 1, false);
  if (!wants) out[1] = at_full(&l, tn_low_number(&l, tn_low_type(&l, 0)->dtype, 0), 1, &empty);
  return tn_low_done_many(&l, out, tn_low_node(&l)->n_outputs);
}

/* ---- _transformer_encoder_layer_fwd ---- */

/* Inputs of the layer. */
enum { SRC, QKV, NORM_1 = 5, NORM_2 = 7, FFN_1 = 9, FFN_2 = 11, MASK = 13 };

static int32_t layer_norm(const tn_lowering *l, int32_t x, uint32_t k) {
  const int32_t in[] = {x, tn_low_in(l, k), tn_low_in(l, k + 1)};
  const tn_attr attrs[] = {tn_attr_float("epsilon", tn_low_float(l, "eps", 1e-5)),
                           tn_attr_int("axis", -1)};
  return tn_low_emit(l, "LayerNormalization", in, 3, attrs, 2);
}

static int32_t feed_forward(const tn_lowering *l, int32_t x) {
  const int32_t y = linear(l, x, tn_low_in(l, FFN_1), tn_low_in(l, FFN_1 + 1));
  const int32_t z = tn_low_1(l, tn_low_int(l, "use_gelu", 0) ? "Gelu" : "Relu", y);
  return linear(l, z, tn_low_in(l, FFN_2), tn_low_in(l, FFN_2 + 1));
}

tn_status aten_encoder_layer(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  attention a = {.l = &l, .weights = QKV, .mask = MASK};
  const tn_status s = open_attention(&a, SRC, SRC, "num_heads");
  if (s) return s;
  const bool first = tn_low_int(&l, "norm_first", 0) != 0;
  const int32_t src = tn_low_in(&l, SRC);
  a.query = a.key = a.value = first ? layer_norm(&l, src, NORM_1) : src;
  const int32_t attended = attend(&a, NULL);
  if (attended < TN_NO_ID) return attended;
  int32_t x = tn_low_2(&l, "Add", attended, src);
  if (!first) x = layer_norm(&l, x, NORM_1);
  const int32_t y = tn_low_2(&l, "Add", x, feed_forward(&l, first ? layer_norm(&l, x, NORM_2) : x));
  return tn_low_done(&l, first ? y : layer_norm(&l, y, NORM_2));
}
