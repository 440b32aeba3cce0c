/* Cells of recurrent networks as one operator, and transforms of Fourier. */
#include "lower.h"
#include "tensorflow.gen.h"

/* Columns k of `of`, each n wide. */
static int32_t gate(const low *l, int32_t x, int64_t k, int64_t n) {
  return lo_slice(l, x, 1, k * n, (k + 1) * n);
}

/* [x, h_prev] times weights: gates i, c, f, o. Outputs i, cs, f, o, ci, co, h. */
tn_status tf_lstm_block_cell(const tn_call *call, tn_graph *graph, int32_t node) {
  const low l = lo_open(call, graph, node);
  const tn_tensor *cs = lo_type(&l, 1);
  tn_status s = lo_rank(&l, 0, 2);
  if (!s) s = lo_rank(&l, 1, 2);
  if (s) return s;
  const int64_t n = cs->shape[1];
  const bool peephole = lo_int(&l, "use_peephole", 0);
  const double clip = lo_float(&l, "cell_clip", 3);
  const uint32_t dtype = cs->dtype;
  const int32_t both[] = {lo_in(&l, 0), lo_in(&l, 2)};
  const int32_t sum =
      lo_2(&l, "Add", lo_2(&l, "MatMul", lo_concat(&l, both, 2, 1), lo_in(&l, 3)), lo_in(&l, 7));
  const int32_t prev = lo_in(&l, 1);
  int32_t i = gate(&l, sum, 0, n), f = gate(&l, sum, 2, n), o = gate(&l, sum, 3, n);
  if (peephole) {
    i = lo_2(&l, "Add", i, lo_2(&l, "Mul", prev, lo_in(&l, 4)));
    f = lo_2(&l, "Add", f, lo_2(&l, "Mul", prev, lo_in(&l, 5)));
  }
  f = lo_2(&l, "Add", f, lo_number(&l, dtype, lo_float(&l, "forget_bias", 1)));
  i = lo_1(&l, "Sigmoid", i);
  f = lo_1(&l, "Sigmoid", f);
  const int32_t ci = lo_1(&l, "Tanh", gate(&l, sum, 1, n));
  int32_t c = lo_2(&l, "Add", lo_2(&l, "Mul", ci, i), lo_2(&l, "Mul", prev, f));
  if (clip > 0) {
    const int32_t in[] = {c, lo_number(&l, dtype, -clip), lo_number(&l, dtype, clip)};
    c = lo_emit(&l, "Clip", in, 3, NULL, 0);
  }
  if (peephole) o = lo_2(&l, "Add", o, lo_2(&l, "Mul", c, lo_in(&l, 6)));
  o = lo_1(&l, "Sigmoid", o);
  const int32_t co = lo_1(&l, "Tanh", c);
  const int32_t out[] = {i, c, f, o, ci, co, lo_2(&l, "Mul", co, o)};
  return lo_done_many(&l, out, call->n_outputs);
}

/* r, u, c, h: [x, h_prev] times w_ru, then [x, r * h_prev] times w_c. */
tn_status tf_gru_block_cell(const tn_call *call, tn_graph *graph, int32_t node) {
  const low l = lo_open(call, graph, node);
  tn_status s = lo_rank(&l, 0, 2);
  if (!s) s = lo_rank(&l, 1, 2);
  if (s) return s;
  const tn_tensor *h = lo_type(&l, 1);
  const int64_t n = h->shape[1];
  const int32_t x = lo_in(&l, 0), prev = lo_in(&l, 1), both[] = {x, prev};
  const int32_t sum =
      lo_2(&l, "Add", lo_2(&l, "MatMul", lo_concat(&l, both, 2, 1), lo_in(&l, 2)), lo_in(&l, 4));
  const int32_t ru = lo_1(&l, "Sigmoid", sum), r = gate(&l, ru, 0, n), u = gate(&l, ru, 1, n);
  const int32_t reset[] = {x, lo_2(&l, "Mul", r, prev)};
  const int32_t c = lo_1(
      &l, "Tanh",
      lo_2(&l, "Add", lo_2(&l, "MatMul", lo_concat(&l, reset, 2, 1), lo_in(&l, 3)), lo_in(&l, 5)));
  const int32_t one = lo_number(&l, h->dtype, 1);
  const int32_t y =
      lo_2(&l, "Add", lo_2(&l, "Mul", u, prev), lo_2(&l, "Mul", lo_2(&l, "Sub", one, u), c));
  const int32_t out[] = {r, u, c, y};
  return lo_done_many(&l, out, call->n_outputs);
}

/* ---- Fourier ---- */

/* x: [..., n, 1 or 2] */
static int32_t dft(const low *l, int32_t x, int64_t length, bool onesided, bool inverse) {
  const int32_t in[] = {x, lo_number(l, TN_I64, (double)length), lo_number(l, TN_I64, -2)};
  const tn_attr attrs[] = {tn_attr_int("onesided", onesided), tn_attr_int("inverse", inverse)};
  return lo_1(l, "tenon::Complex", lo_emit(l, "DFT", in, 3, attrs, 2));
}

tn_status tf_rfft(const tn_call *call, tn_graph *graph, int32_t node) {
  const low l = lo_open(call, graph, node);
  int64_t length = 0, n;
  const tn_status s = lo_const_ints(&l, 1, &length, 1, &n);
  if (s) return s;
  const tn_tensor *x = lo_type(&l, 0);
  if (x->dtype != TN_F32 || length < 1 || x->rank < 1)
    return lo_unsupported(&l, "such a transform");
  return lo_done(&l, dft(&l, lo_unsqueeze(&l, lo_in(&l, 0), -1), length, true, false));
}

static tn_status complex_dft(const tn_call *call, tn_graph *graph, int32_t node, bool inverse) {
  const low l = lo_open(call, graph, node);
  const tn_tensor *x = lo_type(&l, 0);
  if (x->dtype != TN_C64 || x->rank < 1) return lo_unsupported(&l, "such a transform");
  const int32_t parts = lo_1(&l, "tenon::ComplexParts", lo_in(&l, 0));
  return lo_done(&l, dft(&l, parts, x->shape[x->rank - 1], false, inverse));
}

tn_status tf_fft(const tn_call *call, tn_graph *graph, int32_t node) {
  return complex_dft(call, graph, node, false);
}

tn_status tf_ifft(const tn_call *call, tn_graph *graph, int32_t node) {
  return complex_dft(call, graph, node, true);
}
