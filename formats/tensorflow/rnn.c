/* Cells of recurrent networks as one operator, and transforms of Fourier. */
#include "lower.h"
#include "tenon/kit/broadcast.h"
#include "tensorflow.gen.h"

/* Columns k of `of`, each n wide. */
static int32_t gate(const tn_lowering *l, int32_t x, int64_t k, int64_t n) {
  return lo_slice(l, x, 1, k * n, (k + 1) * n);
}

/* [x, h_prev] times weights: gates i, c, f, o. Outputs i, cs, f, o, ci, co, h. */
tn_status tf_lstm_block_cell(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_tensor *cs = tn_low_type(&l, 1);
  tn_status s = lo_rank(&l, 0, 2);
  if (!s) s = lo_rank(&l, 1, 2);
  if (s) return s;
  const int64_t n = cs->shape[1];
  const bool peephole = tn_low_int(&l, "use_peephole", 0);
  const double clip = tn_low_float(&l, "cell_clip", 3);
  const uint32_t dtype = cs->dtype;
  const int32_t both[] = {tn_low_in(&l, 0), tn_low_in(&l, 2)};
  const int32_t sum =
      tn_low_2(&l, "Add", tn_low_2(&l, "MatMul", lo_concat(&l, both, 2, 1), tn_low_in(&l, 3)),
               tn_low_in(&l, 7));
  const int32_t prev = tn_low_in(&l, 1);
  int32_t i = gate(&l, sum, 0, n), f = gate(&l, sum, 2, n), o = gate(&l, sum, 3, n);
  if (peephole) {
    i = tn_low_2(&l, "Add", i, tn_low_2(&l, "Mul", prev, tn_low_in(&l, 4)));
    f = tn_low_2(&l, "Add", f, tn_low_2(&l, "Mul", prev, tn_low_in(&l, 5)));
  }
  f = tn_low_2(&l, "Add", f, tn_low_number(&l, dtype, tn_low_float(&l, "forget_bias", 1)));
  i = tn_low_1(&l, "Sigmoid", i);
  f = tn_low_1(&l, "Sigmoid", f);
  const int32_t ci = tn_low_1(&l, "Tanh", gate(&l, sum, 1, n));
  int32_t c = tn_low_2(&l, "Add", tn_low_2(&l, "Mul", ci, i), tn_low_2(&l, "Mul", prev, f));
  if (clip > 0) {
    const int32_t in[] = {c, tn_low_number(&l, dtype, -clip), tn_low_number(&l, dtype, clip)};
    c = tn_low_emit(&l, "Clip", in, 3, NULL, 0);
  }
  if (peephole) o = tn_low_2(&l, "Add", o, tn_low_2(&l, "Mul", c, tn_low_in(&l, 6)));
  o = tn_low_1(&l, "Sigmoid", o);
  const int32_t co = tn_low_1(&l, "Tanh", c);
  const int32_t out[] = {i, c, f, o, ci, co, tn_low_2(&l, "Mul", co, o)};
  return tn_low_done_many(&l, out, call->n_outputs);
}

/* r, u, c, h: [x, h_prev] times w_ru, then [x, r * h_prev] times w_c. */
tn_status tf_gru_block_cell(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  tn_status s = lo_rank(&l, 0, 2);
  if (!s) s = lo_rank(&l, 1, 2);
  if (s) return s;
  const tn_tensor *h = tn_low_type(&l, 1);
  const int64_t n = h->shape[1];
  const int32_t x = tn_low_in(&l, 0), prev = tn_low_in(&l, 1), both[] = {x, prev};
  const int32_t sum =
      tn_low_2(&l, "Add", tn_low_2(&l, "MatMul", lo_concat(&l, both, 2, 1), tn_low_in(&l, 2)),
               tn_low_in(&l, 4));
  const int32_t ru = tn_low_1(&l, "Sigmoid", sum), r = gate(&l, ru, 0, n), u = gate(&l, ru, 1, n);
  const int32_t reset[] = {x, tn_low_2(&l, "Mul", r, prev)};
  const int32_t c = tn_low_1(
      &l, "Tanh",
      tn_low_2(&l, "Add", tn_low_2(&l, "MatMul", lo_concat(&l, reset, 2, 1), tn_low_in(&l, 3)),
               tn_low_in(&l, 5)));
  const int32_t one = tn_low_number(&l, h->dtype, 1);
  const int32_t y = tn_low_2(&l, "Add", tn_low_2(&l, "Mul", u, prev),
                             tn_low_2(&l, "Mul", tn_low_2(&l, "Sub", one, u), c));
  const int32_t out[] = {r, u, c, y};
  return tn_low_done_many(&l, out, call->n_outputs);
}

/* ---- Fourier ---- */

/* x: [..., n, 1 or 2] */
static int32_t dft(const tn_lowering *l, int32_t x, int64_t length, bool onesided, bool inverse) {
  const int32_t in[] = {x, tn_low_number(l, TN_I64, (double)length), tn_low_number(l, TN_I64, -2)};
  const tn_attr attrs[] = {tn_attr_int("onesided", onesided), tn_attr_int("inverse", inverse)};
  return tn_low_1(l, "tenon::Complex", tn_low_emit(l, "DFT", in, 3, attrs, 2));
}

tn_status tf_rfft(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  int64_t length = 0, n;
  const tn_status s = lo_const_ints(&l, 1, &length, 1, &n);
  if (s) return s;
  const tn_tensor *x = tn_low_type(&l, 0);
  if (x->dtype != TN_F32 || length < 1 || x->rank < 1)
    return tn_low_unsupported(&l, "such a transform");
  return tn_low_done(&l, dft(&l, lo_unsqueeze(&l, tn_low_in(&l, 0), -1), length, true, false));
}

static tn_status complex_dft(const tn_call *call, tn_graph *graph, int32_t node, bool inverse) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_tensor *x = tn_low_type(&l, 0);
  if (x->dtype != TN_C64 || x->rank < 1) return tn_low_unsupported(&l, "such a transform");
  const int32_t parts = tn_low_1(&l, "tenon::ComplexParts", tn_low_in(&l, 0));
  return tn_low_done(&l, dft(&l, parts, x->shape[x->rank - 1], false, inverse));
}

tn_status tf_fft(const tn_call *call, tn_graph *graph, int32_t node) {
  return complex_dft(call, graph, node, false);
}

tn_status tf_ifft(const tn_call *call, tn_graph *graph, int32_t node) {
  return complex_dft(call, graph, node, true);
}

tn_status tf_complex(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  if (tn_low_type(&l, 0)->dtype != TN_F32) return tn_low_unsupported(&l, "parts other than f32");
  tn_tensor y = {.rank = 0};
  if (tn_broadcast_shape(2, call->inputs, &y))
    return call->host->fail(call->ctx, TN_ERR_SHAPE, "the parts do not broadcast");
  int32_t parts[2];
  for (uint32_t k = 0; k < 2; k++) {
    const tn_tensor *x = tn_low_type(&l, k);
    const bool is_whole = x->rank == y.rank && tn_elements(x) == tn_elements(&y);
    parts[k] = tn_low_in(&l, k);
    if (!is_whole)
      parts[k] = tn_low_2(&l, "Expand", parts[k], tn_low_ints_const(&l, y.shape, y.rank));
    parts[k] = lo_unsqueeze(&l, parts[k], -1);
  }
  return tn_low_done(&l, tn_low_1(&l, "tenon::Complex", lo_concat(&l, parts, 2, -1)));
}

/* Over the last two dims, by PyTorch's operator, which divides what goes back. */
static tn_status complex_dft_2d(const tn_call *call, tn_graph *graph, int32_t node, bool inverse) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const int64_t dims[] = {-2, -1};
  const tn_attr attrs[] = {tn_attr_ints("dim", (tn_ints){dims, 2}),
                           tn_attr_int("normalization", inverse ? 2 : 0),
                           tn_attr_int("forward", !inverse)};
  const int32_t x = tn_low_in(&l, 0);
  return tn_low_done(&l, tn_low_emit(&l, "aten::_fft_c2c", &x, 1, attrs, 3));
}

tn_status tf_fft_2d(const tn_call *call, tn_graph *graph, int32_t node) {
  return complex_dft_2d(call, graph, node, false);
}

tn_status tf_ifft_2d(const tn_call *call, tn_graph *graph, int32_t node) {
  return complex_dft_2d(call, graph, node, true);
}

/* Of what is there, the first length / 2 + 1 numbers count; zeros stand for those that are not. */
static tn_status real_from(const tn_call *call, tn_graph *graph, int32_t node, int32_t n_dims) {
  const tn_lowering l = tn_low_open(call, graph, node);
  int64_t length[2], n, dims[2] = {-1, -1};
  const tn_status s = lo_const_ints(&l, 1, length, 2, &n);
  if (s) return s;
  const tn_tensor *x = tn_low_type(&l, 0);
  if (n != n_dims || x->rank < n_dims || x->shape[x->rank - 1] != length[n - 1] / 2 + 1 ||
      (n_dims == 2 && x->shape[x->rank - 2] != length[0]))
    return tn_low_unsupported(&l, "a transform of which numbers are left out or missing");
  if (n_dims == 2) dims[0] = -2;
  const tn_attr attrs[] = {tn_attr_ints("dim", (tn_ints){dims, n_dims}),
                           tn_attr_int("normalization", 2),
                           tn_attr_int("last_dim_size", length[n - 1])};
  const int32_t in = tn_low_in(&l, 0);
  return tn_low_done(&l, tn_low_emit(&l, "aten::_fft_c2r", &in, 1, attrs, 3));
}

tn_status tf_irfft(const tn_call *call, tn_graph *graph, int32_t node) {
  return real_from(call, graph, node, 1);
}

tn_status tf_irfft_2d(const tn_call *call, tn_graph *graph, int32_t node) {
  return real_from(call, graph, node, 2);
}

/* ---- matrices ---- */

static int32_t turned(const tn_lowering *l, uint32_t k, const char *if_set) {
  const int32_t rank = tn_low_type(l, k)->rank;
  int32_t perm[TN_MAX_RANK];
  if (rank < 2 || !tn_low_int(l, if_set, 0)) return tn_low_in(l, k);
  for (int32_t i = 0; i < rank; i++) perm[i] = i;
  perm[rank - 2] = rank - 1, perm[rank - 1] = rank - 2;
  return tn_low_transpose(l, tn_low_in(l, k), rank, perm);
}

tn_status tf_matrix_inverse(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  return tn_low_done(&l, tn_low_1(&l, "aten::linalg_inv", turned(&l, 0, "adjoint")));
}

tn_status tf_matrix_solve(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  return tn_low_done(
      &l, tn_low_2(&l, "aten::linalg_solve", turned(&l, 0, "adjoint"), tn_low_in(&l, 1)));
}

tn_status tf_matrix_triangular_solve(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const bool lower = tn_low_int(&l, "lower", 1) != 0, adjoint = tn_low_int(&l, "adjoint", 0) != 0;
  const int32_t in[] = {turned(&l, 0, "adjoint"), tn_low_in(&l, 1)};
  const tn_attr upper = tn_attr_int("upper", lower == adjoint);
  return tn_low_done(&l, tn_low_emit(&l, "aten::linalg_solve_triangular", in, 2, &upper, 1));
}

tn_status tf_sparse_dense_matmul(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  static const int32_t swap[] = {1, 0};
  const tn_status s = lo_rank(&l, 3, 2);
  if (s) return s;
  const tn_attr add = tn_attr_str("reduction", "add");
  const int32_t zeros =
      tn_low_2(&l, "Expand", tn_low_number(&l, tn_low_type(&l, 1)->dtype, 0), tn_low_in_i64(&l, 2));
  const int32_t in[] = {zeros, tn_low_in_i64(&l, 0), tn_low_in(&l, 1)};
  int32_t a = tn_low_emit(&l, "ScatterND", in, 3, &add, 1);
  if (tn_low_int(&l, "adjoint_a", 0)) a = tn_low_transpose(&l, a, 2, swap);
  return tn_low_done(&l, tn_low_2(&l, "MatMul", a, turned(&l, 3, "adjoint_b")));
}
