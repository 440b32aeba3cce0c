/* Lowers Einsum: what is summed over in one input alone becomes ReduceSum; then factors are
 * multiplied pair by pair, the cheapest pair first, by MatMul where indices are summed over and by
 * Mul where none is. Diagonals, transpositions and reshapes are one region each. */
#include "equation.h"
#include "tenon/kit/lower.h"

/* Sets of indices are bits, as there are no more than 64. */
_Static_assert(EQUATION_INDICES <= 64, "a set of indices is a uint64_t");

typedef struct order {
  int32_t n;
  uint8_t index[TN_MAX_RANK];
} order;

/* A value of the graph, and which indices its elements have. */
typedef struct factor {
  int32_t value;
  bool is_constant; /* what is copied from it is copied once, in the plan */
  tn_tensor type;
  uint64_t set;
  order order; /* of the indices in memory */
  int64_t stride[EQUATION_INDICES];
} factor;

typedef struct lowering {
  const tn_call *call;
  tn_graph *graph;
  int32_t node;
  equation e;
  order output;
  uint32_t n;
  factor factors[EQUATION_OPERANDS];
} lowering;

/* ---- orders of indices ---- */

static uint64_t bit(uint8_t index) { return UINT64_C(1) << index; }

static void append(order *to, const order *from, uint64_t set) {
  for (int32_t k = 0; k < from->n; k++)
    if (set & bit(from->index[k])) to->index[to->n++] = from->index[k];
}

static int32_t count(uint64_t set) {
  int32_t n = 0;
  for (; set; set &= set - 1) n++;
  return n;
}

static int64_t size_of(const equation *e, const order *o) {
  int64_t n = 1;
  for (int32_t k = 0; k < o->n; k++) n *= e->size[o->index[k]];
  return n;
}

static double weight(const equation *e, uint64_t set) {
  double n = 1;
  for (int32_t k = 0; k < e->n_indices; k++)
    if (set & bit((uint8_t)k)) n *= (double)e->size[k];
  return n;
}

/* The same order of elements: indices of size 1 do not count. */
static bool is_same_order(const equation *e, const order *a, const order *b) {
  int32_t i = 0, j = 0;
  for (;; i++, j++) {
    while (i < a->n && e->size[a->index[i]] == 1) i++;
    while (j < b->n && e->size[b->index[j]] == 1) j++;
    if (i == a->n || j == b->n) return i == a->n && j == b->n;
    if (a->index[i] != b->index[j]) return false;
  }
}

/* ---- factors ---- */

static tn_tensor type_of(const lowering *l, const order *o) {
  tn_tensor t = tn_tensor_make(l->call->outputs[0]->dtype, 0, NULL, NULL);
  for (int32_t k = 0; k < o->n; k++) t.shape[t.rank++] = l->e.size[o->index[k]];
  return t;
}

static factor input_factor(const lowering *l, uint32_t input) {
  const tn_tensor *x = l->call->inputs[input];
  factor f = {.value = tn_node_input(l->call, l->graph, l->node, input),
              .is_constant = x->data != NULL,
              .type = *x};
  f.type.data = NULL;
  int64_t step = 1;
  for (int32_t d = x->rank - 1; d >= 0; step *= x->shape[d--]) /* twice: along the diagonal */
    if (x->shape[d] != 1) f.stride[l->e.dims[input][d]] += step;
  for (int32_t d = 0; d < x->rank; d++) {
    const uint8_t index = l->e.dims[input][d];
    if (f.set & bit(index) || x->shape[d] != l->e.size[index]) continue; /* 1: it broadcasts */
    f.set |= bit(index);
    f.order.index[f.order.n++] = index;
  }
  return f;
}

/* What a new node computes, dense. Its type is told at once: regions ask for it. */
static factor node_factor(const lowering *l, int32_t value, const order *o, const tn_tensor *type) {
  const tn_status s =
      value < 0 ? value : l->call->host->graph->value_set_type(l->graph, value, type);
  factor f = {.value = s ? s : value, .type = *type, .order = *o};
  int64_t step = 1;
  for (int32_t k = o->n - 1; k >= 0; step *= l->e.size[o->index[k--]]) {
    f.set |= bit(o->index[k]);
    f.stride[o->index[k]] = step;
  }
  return f;
}

/* The elements lie in this order, without gaps. */
static bool is_dense(const lowering *l, const factor *f, const order *o) {
  int64_t step = 1;
  for (int32_t k = o->n - 1; k >= 0; step *= l->e.size[o->index[k--]])
    if (l->e.size[o->index[k]] != 1 && f->stride[o->index[k]] != step) return false;
  return true;
}

static bool is_as_wanted(const lowering *l, const factor *f, const order *o,
                         const tn_tensor *type) {
  return is_dense(l, f, o) && tn_same_shape(&f->type, type);
}

static tn_moves copy_of(const lowering *l, const factor *f, const order *o) {
  tn_moves moves = tn_moves_begin(l->call, l->graph);
  tn_move m = {0};
  int64_t step = size_of(&l->e, o);
  for (int32_t k = 0; k < o->n; k++) {
    const int64_t size = l->e.size[o->index[k]];
    step /= size;
    tn_move_push(&m, size, f->stride[o->index[k]], step);
  }
  tn_moves_add(&moves, &m);
  return moves;
}

/* A value of this type whose elements are in this order; a negative status. */
static int32_t lay_out(const lowering *l, const factor *f, const order *o, const tn_tensor *type) {
  int32_t value = f->value;
  if (value < 0 || is_as_wanted(l, f, o, type)) return value;
  tn_moves moves = copy_of(l, f, o);
  const tn_status s = tn_moves_emit(&moves, type, &f->value, 1, -1, &value);
  return s ? s : value;
}

static int32_t emit(const lowering *l, const char *op, int32_t a, int32_t b, const tn_attr *attr) {
  const int32_t inputs[2] = {a, b};
  const char *name = l->call->host->graph->node(l->graph, l->node)->name;
  return tn_emit_node(l->call, l->graph, name, op, inputs, 2, attr, attr ? 1 : 0);
}

/* ---- ReduceSum ---- */

static factor sum_over(const lowering *l, const factor *f, uint64_t set) {
  int64_t axes[TN_MAX_RANK], n = 0;
  order kept = {0};
  for (int32_t k = 0; k < f->order.n; k++)
    if (set & bit(f->order.index[k])) axes[n++] = k;
  append(&kept, &f->order, ~set);
  const tn_tensor in = type_of(l, &f->order), out = type_of(l, &kept);
  const tn_attr keepdims = tn_attr_int("keepdims", 0);
  const int32_t value = emit(l, "ReduceSum", lay_out(l, f, &f->order, &in),
                             tn_emit_ints(l->call, l->graph, axes, n), &keepdims);
  return node_factor(l, value, &kept, &out);
}

/* ---- Mul ---- */

/* The factor with the dims of the result, 1 where it does not have the index. */
static int32_t for_mul(const lowering *l, const factor *f, const order *result) {
  order own = {0};
  append(&own, result, f->set);
  tn_tensor type = type_of(l, &own);
  type.rank = 0;
  for (int32_t k = 0; k < result->n; k++) {
    const bool has = f->set & bit(result->index[k]);
    if (has || type.rank) type.shape[type.rank++] = has ? l->e.size[result->index[k]] : 1;
  }
  return lay_out(l, f, &own, &type);
}

static factor multiply(const lowering *l, const factor *a, const factor *b, const order *result) {
  const tn_tensor type = type_of(l, result);
  const int32_t left = for_mul(l, a, result), right = for_mul(l, b, result);
  return node_factor(l, emit(l, "Mul", left, right, NULL), result, &type);
}

/* ---- MatMul ---- */

typedef struct product {
  const factor *a, *b;
  order batch, rows, inner, columns; /* of a [batch, rows, inner] and b [batch, inner, columns] */
  order in_a, in_b, result;
} product;

static product product_of(const factor *a, const factor *b, const order *inner, uint64_t summed,
                          const order *want) {
  product p = {.a = a, .b = b};
  append(&p.batch, want, a->set & b->set);
  append(&p.rows, want, a->set & ~b->set);
  append(&p.columns, want, b->set & ~a->set);
  append(&p.inner, inner, summed);
  const order *in_a[] = {&p.batch, &p.rows, &p.inner}, *in_b[] = {&p.batch, &p.inner, &p.columns},
              *result[] = {&p.batch, &p.rows, &p.columns};
  for (int k = 0; k < 3; k++) {
    append(&p.in_a, in_a[k], UINT64_MAX);
    append(&p.in_b, in_b[k], UINT64_MAX);
    append(&p.result, result[k], UINT64_MAX);
  }
  return p;
}

/* Elements that must be copied into another order. */
static double copied(const lowering *l, const product *p, const order *want) {
  double n = 0;
  if (!p->a->is_constant && !is_dense(l, p->a, &p->in_a)) n += (double)size_of(&l->e, &p->in_a);
  if (!p->b->is_constant && !is_dense(l, p->b, &p->in_b)) n += (double)size_of(&l->e, &p->in_b);
  if (!is_same_order(&l->e, &p->result, want)) n += (double)size_of(&l->e, want);
  return n;
}

/* Which factor stands on the left, and which of them says the order of what is summed over. */
static product best_product(const lowering *l, const factor *a, const factor *b, uint64_t summed,
                            const order *want) {
  product best = product_of(a, b, &a->order, summed, want);
  for (int k = 1; k < 4; k++) {
    const factor *left = k & 1 ? b : a, *right = k & 1 ? a : b;
    const product p = product_of(left, right, k & 2 ? &b->order : &a->order, summed, want);
    if (copied(l, &p, want) < copied(l, &best, want)) best = p;
  }
  return best;
}

/* [batch, rows, columns]. The batch keeps its dims as far as MatMul takes that many; without one,
 * the rows keep theirs, so that what follows finds the product in its own shape. */
static tn_tensor matrices(const lowering *l, const product *p, const order *rows,
                          const order *columns) {
  tn_tensor t = type_of(l, &p->batch);
  if (t.rank > TN_MAX_RANK - 2) {
    t.shape[0] = size_of(&l->e, &p->batch);
    t.rank = 1;
  }
  if (t.rank == 0 && rows == &p->rows && rows->n > 0)
    t = type_of(l, rows);
  else
    t.shape[t.rank++] = size_of(&l->e, rows);
  t.shape[t.rank++] = size_of(&l->e, columns);
  return t;
}

static factor contract(const lowering *l, const factor *a, const factor *b, uint64_t summed,
                       const order *want) {
  const product p = best_product(l, a, b, summed, want);
  const tn_tensor type_a = matrices(l, &p, &p.rows, &p.inner),
                  type_b = matrices(l, &p, &p.inner, &p.columns),
                  type = matrices(l, &p, &p.rows, &p.columns);
  const int32_t left = lay_out(l, p.a, &p.in_a, &type_a), right = lay_out(l, p.b, &p.in_b, &type_b);
  return node_factor(l, emit(l, "MatMul", left, right, NULL), &p.result, &type);
}

/* ---- the order of the products ---- */

/* Indices that the result or a factor besides i and j has. */
static uint64_t needed(const uint64_t *sets, uint32_t n, uint32_t i, uint32_t j, uint64_t output) {
  uint64_t set = output;
  for (uint32_t k = 0; k < n; k++)
    if (k != i && k != j) set |= sets[k];
  return set;
}

/* The pair whose product has the fewest terms and elements; the first of those that are alike.
 * False: each product has more dims than a tensor. */
static bool cheapest_pair(const equation *e, const uint64_t *sets, uint32_t n, uint64_t output,
                          uint32_t *out_i, uint32_t *out_j) {
  double least = -1;
  for (uint32_t i = 0; i < n; i++) {
    for (uint32_t j = i + 1; j < n; j++) {
      const uint64_t all = sets[i] | sets[j], kept = all & needed(sets, n, i, j, output);
      const double cost = weight(e, all) + weight(e, kept);
      if (count(kept) > TN_MAX_RANK || cost > 0x1p60 || (least >= 0 && cost >= least)) continue;
      least = cost;
      *out_i = i, *out_j = j;
    }
  }
  return least >= 0;
}

static uint64_t output_set(const lowering *l) {
  uint64_t set = 0;
  for (int32_t k = 0; k < l->output.n; k++) set |= bit(l->output.index[k]);
  return set;
}

/* All sets that the factors have, without what ReduceSum takes out of them. */
static void summed_sets(const lowering *l, uint64_t *out_sets) {
  uint64_t sets[EQUATION_OPERANDS];
  for (uint32_t k = 0; k < l->n; k++) sets[k] = l->factors[k].set;
  for (uint32_t k = 0; k < l->n; k++)
    out_sets[k] = sets[k] & needed(sets, l->n, k, k, output_set(l));
}

/* Can all products be tensors, of a type that MatMul and ReduceSum take? Asked before the graph
 * is edited. Empty tensors are left to the kernel. */
static bool is_possible(const lowering *l) {
  const tn_dtype_info *type = tn_dtype(l->call->outputs[0]->dtype);
  if (type->is_int && type->bits < 32 && l->e.n_indices > l->e.n_kept) return false;
  if (l->e.kept == 0 || l->e.summed == 0) return false;
  uint64_t sets[EQUATION_OPERANDS];
  uint32_t i, j, n = l->n;
  summed_sets(l, sets);
  for (; n > 1; n--) {
    if (!cheapest_pair(&l->e, sets, n, output_set(l), &i, &j)) return false;
    sets[i] = (sets[i] | sets[j]) & needed(sets, n, i, j, output_set(l));
    for (; j + 1 < n; j++) sets[j] = sets[j + 1];
  }
  return true;
}

static void sum_singles(lowering *l) {
  uint64_t sets[EQUATION_OPERANDS];
  summed_sets(l, sets);
  for (uint32_t k = 0; k < l->n; k++) {
    const factor *f = &l->factors[k];
    if (sets[k] != f->set) l->factors[k] = sum_over(l, f, f->set & ~sets[k]);
  }
}

/* Puts the product of a pair in the place of the first of the two. */
static tn_status multiply_pair(lowering *l) {
  uint64_t sets[EQUATION_OPERANDS];
  uint32_t i = 0, j = 0;
  for (uint32_t k = 0; k < l->n; k++) sets[k] = l->factors[k].set;
  if (!cheapest_pair(&l->e, sets, l->n, output_set(l), &i, &j)) return TN_ERR_INTERNAL;
  const factor *a = &l->factors[i], *b = &l->factors[j];
  const uint64_t kept = needed(sets, l->n, i, j, output_set(l)), summed = a->set & b->set & ~kept;
  order want = {0};
  if (l->n == 2) {
    want = l->output;
  } else {
    append(&want, &a->order, kept & b->set);
    append(&want, &a->order, kept & ~b->set);
    append(&want, &b->order, kept & ~a->set);
  }
  l->factors[i] = summed ? contract(l, a, b, summed, &want) : multiply(l, a, b, &want);
  l->n--;
  for (; j < l->n; j++) l->factors[j] = l->factors[j + 1];
  return l->factors[i].value < 0 ? l->factors[i].value : TN_OK;
}

tn_status einsum_lower(const tn_call *call, tn_graph *graph, int32_t node) {
  lowering l = {.call = call, .graph = graph, .node = node};
  tn_status s = equation_parse(call, &l.e);
  if (s) return s;
  for (; l.output.n < l.e.n_kept; l.output.n++) l.output.index[l.output.n] = (uint8_t)l.output.n;
  for (; l.n < l.e.n; l.n++) l.factors[l.n] = input_factor(&l, l.n);
  if (!is_possible(&l)) return TN_ERR_UNSUPPORTED;
  sum_singles(&l);
  while (l.n > 1 && !s) s = multiply_pair(&l);
  const factor *f = &l.factors[0];
  if (s || f->value < 0) return s ? s : f->value;
  if (f->value != tn_node_input(call, graph, node, 0) &&
      is_as_wanted(&l, f, &l.output, call->outputs[0]))
    return call->host->graph->replace_node(graph, node, &f->value, 1);
  tn_moves moves = copy_of(&l, f, &l.output);
  return tn_moves_become(&moves, node, &f->value, 1, -1);
}
