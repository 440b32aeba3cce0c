/* Products of matrices, linear layers, attention. */
#include "aten.h"
#include "aten_reduce.gen.h"
#include "complex.h"
#include "transformers.gen.h"

/* Bools and integers are multiplied as they are where ONNX takes them: i32, i64, u32, u64; narrow
 * ones go through i32. */
static int32_t product(const tn_lowering *l, int32_t a, int32_t b, uint32_t dtype) {
  const bool narrow = dtype == TN_I8 || dtype == TN_U8 || dtype == TN_I16;
  if (!narrow) return tn_low_2(l, "MatMul", a, b);
  return at_cast(l,
                 tn_low_2(l, "MatMul", at_cast(l, a, dtype, TN_I32), at_cast(l, b, dtype, TN_I32)),
                 TN_I32, dtype);
}

tn_status aten_matmul(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_tensor *a = tn_low_type(&l, 0), *b = tn_low_type(&l, 1);
  if (a->rank == 0 || b->rank == 0) return at_fail(&l, TN_ERR_SHAPE, "scalars are no matrices");
  if (a->dtype != b->dtype)
    return at_fail(&l, TN_ERR_SHAPE, "the two matrices have different types");
  if (at_category(a->dtype) == AT_COMPLEX) return at_complex_matmul(&l, a->dtype);
  return tn_low_done(&l, product(&l, tn_low_in(&l, 0), tn_low_in(&l, 1), a->dtype));
}

static int32_t transposed(const tn_lowering *l, int32_t x, int32_t rank) {
  int32_t perm[TN_MAX_RANK];
  for (int32_t k = 0; k < rank; k++) perm[k] = k;
  perm[rank - 2] = rank - 1;
  perm[rank - 1] = rank - 2;
  return tn_low_transpose(l, x, rank, perm);
}

/* Rows in groups, and a matrix for each. */
tn_status aten_grouped_mm(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_tensor *a = tn_low_type(&l, 0), *b = tn_low_type(&l, 1), *ends = tn_low_type(&l, 2);
  if (a->rank != 2 || b->rank != 3 || !ends || tn_low_type(&l, 3))
    return tn_low_unsupported(&l, "other than the rows of a matrix in groups, without a bias");
  const uint32_t to = at_dtype(&l, "out_dtype", a->dtype);
  if (a->dtype != b->dtype || at_category(a->dtype) != AT_FLOAT || a->dtype == TN_F64)
    return tn_low_unsupported(&l, "these types");
  const int32_t in[] = {at_in(&l, 0, TN_F32), at_in(&l, 1, TN_F32), tn_low_in(&l, 2)};
  const int32_t y = tn_low_emit(&l, "tenon::GroupedMatMul", in, 3, NULL, 0);
  return tn_low_done(&l, at_cast(&l, y, TN_F32, to));
}

/* x w^T + bias. Of a matrix: Gemm. */
tn_status aten_linear(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_tensor *x = tn_low_type(&l, 0), *w = tn_low_type(&l, 1);
  const int32_t in[] = {tn_low_in(&l, 0), tn_low_in(&l, 1), tn_low_in(&l, 2)};
  const tn_attr trans = tn_attr_int("transB", 1);
  if (x->rank == 2 && w->rank == 2 && at_category(x->dtype) == AT_FLOAT)
    return tn_low_done(&l, tn_low_emit(&l, "Gemm", in, in[2] < 0 ? 2 : 3, &trans, 1));
  const int32_t right = w->rank == 2 ? transposed(&l, in[1], 2) : in[1];
  int32_t y = product(&l, in[0], right, x->dtype);
  if (in[2] >= 0) y = tn_low_2(&l, "Add", y, in[2]);
  return tn_low_done(&l, y);
}

/* beta * self + alpha * (a b), where b may be a vector (addmv) and a a batch (baddbmm). */
tn_status aten_addmm(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_tensor *a = tn_low_type(&l, 1);
  const at_scalar beta = at_number(&l, "beta"), alpha = at_number(&l, "alpha");
  const double b = beta.is_there ? beta.f : 1, s = alpha.is_there ? alpha.f : 1;
  const uint32_t dtype = a->dtype;
  if (a->rank == 2 && tn_low_type(&l, 2)->rank == 2 && at_category(dtype) == AT_FLOAT &&
      tn_low_type(&l, 0)->rank <= 2 && b != 0) {
    const int32_t in[] = {tn_low_in(&l, 1), tn_low_in(&l, 2), tn_low_in(&l, 0)};
    const tn_attr attrs[] = {tn_attr_float("alpha", s), tn_attr_float("beta", b)};
    return tn_low_done(&l, tn_low_emit(&l, "Gemm", in, 3, attrs, 2));
  }
  int32_t y = product(&l, tn_low_in(&l, 1), tn_low_in(&l, 2), dtype);
  int32_t self = tn_low_in(&l, 0);
  if (s != 1) y = tn_low_2(&l, "Mul", y, at_const(&l, dtype, alpha));
  if (b == 0) return tn_low_done(&l, y); /* self, be it NaN, does not count */
  if (b != 1) self = tn_low_2(&l, "Mul", self, at_const(&l, dtype, beta));
  return tn_low_done(&l, tn_low_2(&l, "Add", self, y));
}

/* beta * self + alpha * (vec1 x vec2); outer and ger without self. */
tn_status aten_outer(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const uint32_t dtype = at_promote_inputs(&l, (at_scalar){.f = 0});
  const int32_t a = at_unsqueeze(&l, at_in(&l, 0, dtype), 1);
  return tn_low_done(&l, tn_low_2(&l, "Mul", a, at_in(&l, 1, dtype)));
}

tn_status aten_einsum(const tn_call *call, tn_graph *graph, int32_t node) {
  enum { MOST = 64 };
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_attr *a = tn_pattern_attr(tn_low_node(&l), "equation", TN_ATTR_STR);
  int32_t in[MOST];
  if (!a || call->n_inputs > MOST) return tn_low_unsupported(&l, "this equation");
  for (uint32_t k = 0; k < call->n_inputs; k++) in[k] = tn_low_in(&l, k);
  tn_attr equation = *a;
  const uint32_t dtype = at_promote_inputs(&l, (at_scalar){.f = 0});
  if (at_category(dtype) == AT_COMPLEX) return at_complex_einsum(&l, dtype, &equation);
  return tn_low_done(&l, tn_low_emit(&l, "Einsum", in, call->n_inputs, &equation, 1));
}

/* ---- attention ---- */

/* ONNX's Attention is of rank 4: [batch, heads, places, size]. */
static int32_t with_heads(const tn_lowering *l, uint32_t k) {
  const tn_tensor *t = tn_low_type(l, k);
  int64_t shape[4] = {1, 1, t->shape[t->rank - 2], t->shape[t->rank - 1]};
  if (t->rank == 4) return tn_low_in(l, k);
  if (t->rank == 3) shape[0] = t->shape[0];
  for (int32_t d = 0; t->rank > 4 && d < t->rank - 2; d++) shape[d == t->rank - 3] *= t->shape[d];
  return tn_low_reshape(l, tn_low_in(l, k), 4, shape);
}

/* Of masks a batch without heads gets them. */
static int32_t mask_of(const tn_lowering *l, int32_t rank) {
  const tn_tensor *m = tn_low_type(l, 3);
  if (!m) return TN_NO_ID;
  const int32_t x = m->dtype == TN_BOOL ? tn_low_in(l, 3) : at_in(l, 3, tn_low_type(l, 0)->dtype);
  return m->rank == 3 && rank == 3 ? at_unsqueeze(l, x, 1) : x;
}

tn_status aten_attention(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_tensor *q = tn_low_type(&l, 0), *k = tn_low_type(&l, 1), *v = tn_low_type(&l, 2),
                  *m = tn_low_type(&l, 3);
  if (q->rank < 2 || k->rank != q->rank || v->rank != q->rank)
    return at_fail(&l, TN_ERR_SHAPE, "queries, keys and values need the same two dims or more");
  if (tn_low_float(&l, "dropout_p", 0) != 0) return tn_low_unsupported(&l, "dropout_p");
  if (q->rank > 4 && m && m->rank > 2) return tn_low_unsupported(&l, "masks of more than 4 dims");
  const at_scalar s = at_number(&l, "scale");
  const double width = (double)q->shape[q->rank - 1];
  const tn_attr attrs[] = {tn_attr_float("scale", s.is_there ? s.f : 1 / sqrt(width)),
                           tn_attr_int("is_causal", tn_low_int(&l, "is_causal", 0))};
  const int32_t in[] = {with_heads(&l, 0), with_heads(&l, 1), with_heads(&l, 2),
                        mask_of(&l, q->rank)};
  int32_t y = tn_low_emit(&l, "Attention", in, m ? 4 : 3, attrs, 2);
  int64_t shape[TN_MAX_RANK];
  memcpy(shape, q->shape, sizeof shape);
  shape[q->rank - 1] = v->shape[v->rank - 1];
  if (q->rank != 4) y = tn_low_reshape(&l, y, q->rank, shape);
  if (tn_low_node(&l)->n_outputs > 1) return tn_low_unsupported(&l, "its outputs behind the first");
  return tn_low_done(&l, y);
}

/* ---- distances ---- */

static int32_t p_norm(const tn_lowering *l, int32_t x, uint32_t dtype, double p, int64_t dim,
                      bool keep) {
  if (p == 2) return at_reduce(l, "ReduceL2", x, &dim, 1, keep);
  const int32_t abs = tn_low_1(l, "Abs", x);
  if (p == 1) return at_reduce(l, "ReduceSum", abs, &dim, 1, keep);
  if (isinf(p)) return at_reduce(l, "ReduceMax", abs, &dim, 1, keep);
  if (p == 0) return at_reduce(l, "ReduceSum", tn_low_1(l, "Sign", abs), &dim, 1, keep);
  const int32_t powers = tn_low_2(l, "Pow", abs, tn_low_number(l, dtype, p));
  return tn_low_2(l, "Pow", at_reduce(l, "ReduceSum", powers, &dim, 1, keep),
                  tn_low_number(l, dtype, 1 / p));
}

tn_status aten_cdist(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_tensor *a = tn_low_type(&l, 0), *b = tn_low_type(&l, 1);
  if (a->rank < 2 || b->rank < 2) return at_fail(&l, TN_ERR_SHAPE, "its points are no matrices");
  const int32_t x = at_unsqueeze(&l, tn_low_in(&l, 0), a->rank - 1),
                y = at_unsqueeze(&l, tn_low_in(&l, 1), b->rank - 2);
  const int32_t off = tn_low_2(&l, "Sub", x, y);
  return tn_low_done(&l, p_norm(&l, off, a->dtype, tn_low_float(&l, "p", 2), -1, false));
}

tn_status aten_pairwise_distance(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const uint32_t dtype = tn_low_type(&l, 0)->dtype;
  const int32_t off = tn_low_2(&l, "Sub", tn_low_in(&l, 0), tn_low_in(&l, 1));
  const int32_t x =
      tn_low_2(&l, "Add", off, tn_low_number(&l, dtype, tn_low_float(&l, "eps", 1e-6)));
  return tn_low_done(
      &l, p_norm(&l, x, dtype, tn_low_float(&l, "p", 2), -1, tn_low_int(&l, "keepdim", 0) != 0));
}

/* a . b / max(|a| |b|, eps), each length at least eps. */
tn_status aten_cosine_similarity(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const uint32_t dtype = at_float_of(at_promote_inputs(&l, (at_scalar){.f = 0}));
  const int64_t dim = tn_low_int(&l, "dim", 1);
  const int32_t eps = tn_low_number(&l, dtype, tn_low_float(&l, "eps", 1e-8));
  int32_t side[2];
  for (uint32_t k = 0; k < 2; k++) {
    const int32_t x = at_in(&l, k, dtype), norm = at_reduce(&l, "ReduceL2", x, &dim, 1, true);
    side[k] = tn_low_2(&l, "Div", x, tn_low_2(&l, "Max", norm, eps));
  }
  return tn_low_done(
      &l, at_reduce(&l, "ReduceSum", tn_low_2(&l, "Mul", side[0], side[1]), &dim, 1, false));
}

/* a[1] b[2] - a[2] b[1] and so on, along a dim of three. */
tn_status aten_cross(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_tensor *t = tn_low_type(&l, 0), *other = tn_low_type(&l, 1);
  const int32_t dim = at_dim(&l, tn_low_int(&l, "dim", -1), t->rank);
  const int64_t next[] = {1, 2, 0}, after[] = {2, 0, 1};
  int32_t x[4];
  if (dim < 0) return dim;
  if (t->rank == 0 || other->rank != t->rank || t->shape[dim] != 3 || other->shape[dim] != 3)
    return at_fail(&l, TN_ERR_SHAPE, "the dim is not three in both");
  for (uint32_t k = 0; k < 4; k++) {
    const int32_t three = tn_low_ints_const(&l, k % 2 ? after : next, 3);
    x[k] = at_gather(&l, tn_low_in(&l, k / 2), three, dim);
  }
  return tn_low_done(
      &l, tn_low_2(&l, "Sub", tn_low_2(&l, "Mul", x[0], x[3]), tn_low_2(&l, "Mul", x[1], x[2])));
}

/* a[b, i] w[k, i, j] c[b, j], with a bias. */
tn_status aten_bilinear(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const int32_t in[] = {tn_low_in(&l, 0), tn_low_in(&l, 2), tn_low_in(&l, 1)};
  const tn_attr equation = tn_attr_str("equation", "...i,kij,...j->...k");
  int32_t y = tn_low_emit(&l, "Einsum", in, 3, &equation, 1);
  if (tn_low_in(&l, 3) >= 0) y = tn_low_2(&l, "Add", y, tn_low_in(&l, 3));
  return tn_low_done(&l, y);
}
