/* Operators of ExecuTorch's exports of language models: attention to what a cache holds, and the
 * caches. Queries, keys and values are [batch, places, heads, size] unless they say otherwise. */
#include "aten.h"
#include "llama.gen.h"

/* ---- places ---- */

/* start_pos, a number of any integer type, as i64 [1]. */
static int32_t start_of(const tn_lowering *l, uint32_t k) {
  const int64_t one = 1;
  return tn_low_reshape(l, at_in(l, k, TN_I64), 1, &one);
}

static int32_t for_each_batch(const tn_lowering *l, int32_t x, int64_t batch) {
  return batch == 1 ? x : at_expand(l, x, 1, &batch);
}

/* ---- caches ---- */

static int32_t written(const tn_lowering *l, int32_t cache, int32_t value, int32_t start,
                       int64_t batch) {
  const int32_t in[] = {cache, value, for_each_batch(l, start, batch)};
  const tn_attr axis = tn_attr_int("axis", 1);
  return tn_low_emit(l, "TensorScatter", in, 3, &axis, 1);
}

tn_status llama_update_cache(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  if (tn_low_type(&l, 1)->rank != 4) return at_fail(&l, TN_ERR_SHAPE, "its cache needs four dims");
  const int64_t batch = tn_low_type(&l, 1)->shape[0];
  return tn_low_done(&l, written(&l, tn_low_in(&l, 1), tn_low_in(&l, 0), start_of(&l, 2), batch));
}

/* cache[b, indices[b, k]] = value[b, k] */
tn_status llama_update_at(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_tensor *indices = tn_low_type(&l, 3);
  if (indices->rank != 2) return at_fail(&l, TN_ERR_SHAPE, "its indices need two dims");
  const int64_t batch = indices->shape[0], column[] = {batch, 1, 1},
                shape[] = {batch, indices->shape[1], 1};
  const int32_t of_batch =
                    at_expand(&l, tn_low_reshape(&l, at_iota(&l, batch), 3, column), 3, shape),
                place = tn_low_reshape(&l, at_in(&l, 3, TN_I64), 3, shape);
  const int32_t both[] = {of_batch, place};
  const int32_t in[] = {tn_low_in(&l, 1), at_concat(&l, both, 2, 2), tn_low_in(&l, 0)};
  return tn_low_done(&l, tn_low_emit(&l, "ScatterND", in, 3, NULL, 0));
}

/* ---- attention ---- */

typedef struct attention {
  const tn_lowering *l;
  const tn_tensor *q, *k, *v; /* as the node has them; k and v are caches */
  int32_t query, key, value;
  uint32_t start, mask;     /* inputs */
  bool heads_before_places; /* [batch, heads, places, size] */
} attention;

static tn_status check(const attention *a) {
  const int32_t heads = a->heads_before_places ? 1 : 2;
  if (a->q->rank != 4 || a->k->rank != 4 || a->v->rank != 4)
    return at_fail(a->l, TN_ERR_SHAPE, "queries, keys and values need four dims");
  if (a->k->shape[heads] != a->v->shape[heads])
    return at_fail(a->l, TN_ERR_SHAPE, "keys and values have not as many heads");
  if (tn_low_type(a->l, a->mask) && tn_low_int(a->l, "is_causal", 0))
    return tn_low_unsupported(a->l, "a mask and is_causal");
  return TN_OK;
}

/* [batch, places, heads, size] as [batch, places, heads * size]. */
static int32_t flat(const attention *a, int32_t x, const tn_tensor *t) {
  const int64_t shape[] = {t->shape[0], t->shape[1], t->shape[2] * t->shape[3]};
  return a->heads_before_places ? x : tn_low_reshape(a->l, x, 3, shape);
}

/* How many keys there are: those before start_pos, and one for each query. */
static int32_t lengths_of(const attention *a, int64_t n_queries) {
  const tn_lowering *l = a->l;
  const int32_t n = tn_low_2(l, "Add", start_of(l, a->start), at_int_const(l, TN_I64, n_queries));
  return for_each_batch(l, n, a->q->shape[0]);
}

/* The same as a mask [queries, keys], which older versions of Attention have: true where a key
 * comes no later than start_pos + the query's place, or than that of the last query. */
static int32_t mask_of(const attention *a, int64_t n_queries, int64_t n_keys) {
  const tn_lowering *l = a->l;
  const int64_t column[] = {n_queries, 1};
  const bool causal = tn_low_int(l, "is_causal", 0) != 0;
  const int32_t place = causal ? at_iota(l, n_queries)
                               : at_full(l, at_int_const(l, TN_I64, n_queries - 1), 1, &n_queries);
  const int32_t last = tn_low_2(l, "Add", place, start_of(l, a->start));
  return tn_low_2(l, "LessOrEqual", at_iota(l, n_keys), tn_low_reshape(l, last, 2, column));
}

static int32_t attend(const attention *a) {
  const tn_lowering *l = a->l;
  const int32_t heads = a->heads_before_places ? 1 : 2;
  const int64_t n_queries = a->q->shape[3 - heads], n_keys = a->k->shape[3 - heads];
  const bool masked = tn_low_type(l, a->mask) != NULL, counts = !masked && !tn_low_for_onnx(l);
  const at_scalar scale = at_number(l, "scale");
  const tn_attr attrs[] = {
      tn_attr_float("scale", scale.is_there ? scale.f : 1 / sqrt((double)a->q->shape[3])),
      tn_attr_int("is_causal", counts && tn_low_int(l, "is_causal", 0)),
      tn_attr_int("q_num_heads", a->q->shape[2]), tn_attr_int("kv_num_heads", a->k->shape[2])};
  const int32_t in[] = {flat(a, a->query, a->q),
                        flat(a, a->key, a->k),
                        flat(a, a->value, a->v),
                        masked   ? tn_low_in(l, a->mask)
                        : counts ? TN_NO_ID
                                 : mask_of(a, n_queries, n_keys),
                        TN_NO_ID,
                        TN_NO_ID,
                        counts ? lengths_of(a, n_queries) : TN_NO_ID};
  const int32_t y =
      tn_low_emit(l, "Attention", in, counts ? 7 : 4, attrs, a->heads_before_places ? 2 : 4);
  int64_t shape[4];
  memcpy(shape, a->q->shape, sizeof shape);
  shape[3] = a->v->shape[3];
  return a->heads_before_places ? y : tn_low_reshape(l, y, 4, shape);
}

tn_status llama_attention(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const attention a = {.l = &l,
                       .q = tn_low_type(&l, 0),
                       .k = tn_low_type(&l, 1),
                       .v = tn_low_type(&l, 2),
                       .query = tn_low_in(&l, 0),
                       .key = tn_low_in(&l, 1),
                       .value = tn_low_in(&l, 2),
                       .start = 3,
                       .mask = 4};
  const tn_status s = check(&a);
  return s ? s : tn_low_done(&l, attend(&a));
}

/* The keys and values of the call are written first. */
tn_status llama_cached_attention(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  attention a = {.l = &l,
                 .q = tn_low_type(&l, 0),
                 .k = tn_low_type(&l, 3),
                 .v = tn_low_type(&l, 4),
                 .query = tn_low_in(&l, 0),
                 .start = 5,
                 .mask = 6};
  const tn_status s = check(&a);
  if (s) return s;
  const int32_t start = start_of(&l, 5);
  a.key = written(&l, tn_low_in(&l, 3), tn_low_in(&l, 1), start, a.k->shape[0]);
  a.value = written(&l, tn_low_in(&l, 4), tn_low_in(&l, 2), start, a.v->shape[0]);
  const int32_t out[] = {attend(&a), a.key, a.value};
  return tn_low_done_many(&l, out, tn_low_node(&l)->n_outputs);
}

/* ---- attention to codes of 8 bits ---- */

/* Codes, with a scale and a zero point for each row of the last dim, as numbers. */
static int32_t numbers(const tn_lowering *l, uint32_t codes, uint32_t zeros, uint32_t scales) {
  const int32_t x = tn_low_2(l, "Sub", at_in(l, codes, TN_F32), at_in(l, zeros, TN_F32));
  return tn_low_2(l, "Mul", x, at_in(l, scales, TN_F32));
}

tn_status llama_quantized_attention(const tn_call *call, tn_graph *graph, int32_t node) {
  enum { ZEROS = 5 }; /* of queries; then their scales; the same of keys and values */
  const tn_lowering l = tn_low_open(call, graph, node);
  for (uint32_t k = ZEROS; k < ZEROS + 6; k++)
    if (!tn_low_type(&l, k)) return tn_low_unsupported(&l, "codes without scales and zero points");
  const attention a = {.l = &l,
                       .q = tn_low_type(&l, 0),
                       .k = tn_low_type(&l, 1),
                       .v = tn_low_type(&l, 2),
                       .query = numbers(&l, 0, ZEROS, ZEROS + 1),
                       .key = numbers(&l, 1, ZEROS + 2, ZEROS + 3),
                       .value = numbers(&l, 2, ZEROS + 4, ZEROS + 5),
                       .start = 3,
                       .mask = 4,
                       .heads_before_places = tn_low_int(&l, "is_seq_at_dim_2", 0) != 0};
  const tn_status s = check(&a);
  return s ? s : tn_low_done(&l, attend(&a));
}

/* ---- Hadamard ---- */

enum { MOST_SIDE = 64 };

/* The matrix of side n, a power of two: element i, j is -1 where i & j has an odd number of
 * bits. */
static int32_t hadamard(const tn_lowering *l, int64_t n, double scale) {
  float data[MOST_SIDE * MOST_SIDE];
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j < n; j++) {
      uint32_t bits = (uint32_t)(i & j);
      for (int s = 4; s; s /= 2) bits ^= bits >> s;
      data[i * n + j] = (float)(bits & 1 ? -scale : scale);
    }
  const tn_tensor t = tn_tensor_make(TN_F32, 2, (int64_t[]){n, n}, data);
  return tn_emit_const(l->call, l->graph, &t);
}

/* The transform of a * b numbers is that of the columns of a matrix [a, b], then of its rows. */
tn_status llama_hadamard(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_tensor *x = tn_low_type(&l, 0);
  const int64_t n = x->rank ? x->shape[x->rank - 1] : 0;
  if (n < 1 || n & (n - 1)) return tn_low_unsupported(&l, "rows whose length is no power of two");
  int32_t y = at_in(&l, 0, TN_F32);
  double scale = 1 / sqrt((double)n);
  int64_t rest = n;
  for (; rest > MOST_SIDE; rest /= MOST_SIDE, scale = 1) {
    const int64_t shape[] = {-1, MOST_SIDE, rest / MOST_SIDE};
    const int32_t columns = tn_low_reshape(&l, y, 3, shape);
    y = tn_low_2(&l, "MatMul", hadamard(&l, MOST_SIDE, scale), columns);
  }
  const int64_t shape[] = {-1, rest};
  y = tn_low_2(&l, "MatMul", tn_low_reshape(&l, y, 2, shape), hadamard(&l, rest, scale));
  y = tn_low_reshape(&l, y, x->rank, x->shape);
  return tn_low_done(&l, at_cast(&l, y, TN_F32, x->dtype));
}
