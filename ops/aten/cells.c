/* One step of recurrent layers; bags of embeddings. */
#include "aten.h"
#include "aten_layers.gen.h"

/* x w^T + b, of which the bias may be missing. */
static int32_t affine(const tn_lowering *l, int32_t x, int32_t w, int32_t b) {
  const int32_t in[] = {x, w, b};
  const tn_attr trans = tn_attr_int("transB", 1);
  return tn_low_emit(l, "Gemm", in, b < 0 ? 2 : 3, &trans, 1);
}

static int32_t gate(const tn_lowering *l, int32_t x, int64_t k, int64_t hidden) {
  return at_slice(l, x, 1, k * hidden, (k + 1) * hidden, 1);
}

/* (input, h, c, w_ih, w_hh, b_ih, b_hh) -> (h, c); gates are i f g o. */
tn_status aten_lstm_cell(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_tensor *h = tn_low_type(&l, 1);
  if (h->rank != 2) return tn_low_unsupported(&l, "a state without a batch");
  const int64_t n = h->shape[1];
  const int32_t sum =
      tn_low_2(&l, "Add", affine(&l, tn_low_in(&l, 0), tn_low_in(&l, 3), tn_low_in(&l, 5)),
               affine(&l, tn_low_in(&l, 1), tn_low_in(&l, 4), tn_low_in(&l, 6)));
  const int32_t i = tn_low_1(&l, "Sigmoid", gate(&l, sum, 0, n)),
                f = tn_low_1(&l, "Sigmoid", gate(&l, sum, 1, n)),
                g = tn_low_1(&l, "Tanh", gate(&l, sum, 2, n)),
                o = tn_low_1(&l, "Sigmoid", gate(&l, sum, 3, n));
  const int32_t c =
      tn_low_2(&l, "Add", tn_low_2(&l, "Mul", f, tn_low_in(&l, 2)), tn_low_2(&l, "Mul", i, g));
  const int32_t out[] = {tn_low_2(&l, "Mul", o, tn_low_1(&l, "Tanh", c)), c};
  return tn_low_done_many(&l, out, tn_low_node(&l)->n_outputs);
}

/* (input, h, w_ih, w_hh, b_ih, b_hh) -> h; gates are r z n. */
tn_status aten_gru_cell(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_tensor *h = tn_low_type(&l, 1);
  if (h->rank != 2) return tn_low_unsupported(&l, "a state without a batch");
  const int64_t n = h->shape[1];
  const int32_t x = affine(&l, tn_low_in(&l, 0), tn_low_in(&l, 2), tn_low_in(&l, 4)),
                y = affine(&l, tn_low_in(&l, 1), tn_low_in(&l, 3), tn_low_in(&l, 5));
  const int32_t r = tn_low_1(&l, "Sigmoid",
                             tn_low_2(&l, "Add", gate(&l, x, 0, n), gate(&l, y, 0, n))),
                z = tn_low_1(&l, "Sigmoid",
                             tn_low_2(&l, "Add", gate(&l, x, 1, n), gate(&l, y, 1, n)));
  const int32_t fresh =
      tn_low_1(&l, "Tanh",
               tn_low_2(&l, "Add", gate(&l, x, 2, n), tn_low_2(&l, "Mul", r, gate(&l, y, 2, n))));
  const int32_t kept = tn_low_2(&l, "Mul", z, tn_low_2(&l, "Sub", tn_low_in(&l, 1), fresh));
  return tn_low_done(&l, tn_low_2(&l, "Add", fresh, kept));
}

tn_status aten_rnn_cell(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  if (tn_low_type(&l, 1)->rank != 2) return tn_low_unsupported(&l, "a state without a batch");
  const int32_t sum =
      tn_low_2(&l, "Add", affine(&l, tn_low_in(&l, 0), tn_low_in(&l, 2), tn_low_in(&l, 4)),
               affine(&l, tn_low_in(&l, 1), tn_low_in(&l, 3), tn_low_in(&l, 5)));
  return tn_low_done(&l, tn_low_1(&l, at_is(&l, "rnn_relu_cell") ? "Relu" : "Tanh", sum));
}

/* Which bag each index is in: how many bags begin at or before it. */
static int32_t bags_of(const tn_lowering *l, int64_t n, int32_t offsets) {
  const int64_t first = 0;
  const int32_t at = at_unsqueeze(l, at_iota(l, n), 0);
  const int32_t begun = tn_low_2(l, "LessOrEqual", at_unsqueeze(l, offsets, 1), at);
  const int32_t k = at_reduce(l, "ReduceSum", at_cast(l, begun, TN_BOOL, TN_I64), &first, 1, false);
  return tn_low_2(l, "Sub", k, at_int_const(l, TN_I64, 1));
}

/* Which indices count: those that are not the padding. */
static int32_t kept(const tn_lowering *l, int64_t padding) {
  return at_not(l, tn_low_2(l, "Equal", at_in(l, 1, TN_I64), at_int_const(l, TN_I64, padding)));
}

/* The bags, and in place of what is only for training, which nobody reads, nothing. */
static tn_status done_bags(const tn_lowering *l, int32_t y) {
  const int64_t empty = 0;
  int32_t out[4] = {y};
  const uint32_t n = tn_low_node(l)->n_outputs;
  if (n > 4) return TN_ERR_INTERNAL;
  for (uint32_t k = 1; k < n; k++) {
    if (at_is_read(l, k)) return tn_low_unsupported(l, "its outputs behind the first");
    out[k] = at_full(l, at_int_const(l, TN_I64, 0), 1, &empty);
  }
  return tn_low_done_many(l, out, n);
}

/* Sums, means or maxima of rows; indices in one row, offsets say where bags begin. */
tn_status aten_embedding_bag(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_tensor *w = tn_low_type(&l, 0), *index = tn_low_type(&l, 1), *o = tn_low_type(&l, 2);
  const int64_t mode = tn_low_int(&l, "mode", 0), padding = tn_low_int(&l, "padding_idx", -1);
  const int64_t last = tn_low_int(&l, "include_last_offset", 0) != 0; /* it begins no bag */
  if (index->rank != 1 || w->rank != 2 || o->rank != 1 || o->shape[0] < last || mode < 0 ||
      mode > 2)
    return tn_low_unsupported(&l, "this form of it");
  const int64_t n = index->shape[0], bags = o->shape[0] - last, shape[] = {bags, w->shape[1]};
  const int32_t zero = at_int_const(&l, w->dtype, 0), one = at_int_const(&l, w->dtype, 1);
  const int32_t start = mode == 2 ? tn_low_number(&l, w->dtype, -INFINITY) : zero;
  int32_t ones = at_full(&l, one, 1, &n);
  int32_t rows = tn_low_2(&l, "Gather", tn_low_in(&l, 0), at_in(&l, 1, TN_I64));
  if (tn_low_type(&l, 3)) rows = tn_low_2(&l, "Mul", rows, at_unsqueeze(&l, tn_low_in(&l, 3), 1));
  if (padding >= 0) {
    rows = at_where(&l, at_unsqueeze(&l, kept(&l, padding), 1), rows, start);
    ones = at_cast(&l, kept(&l, padding), TN_BOOL, w->dtype);
  }
  const int32_t offsets = at_slice(&l, at_in(&l, 2, TN_I64), 0, 0, bags, 1);
  const int32_t bag = at_unsqueeze(&l, bags_of(&l, n, offsets), 1);
  const tn_attr how = tn_attr_str("reduction", mode == 2 ? "max" : "add");
  const int32_t in[] = {at_full(&l, start, 2, shape), bag, rows};
  int32_t y = tn_low_emit(&l, "ScatterND", in, 3, &how, 1);
  const tn_attr add = tn_attr_str("reduction", "add");
  const int32_t counted[] = {at_full(&l, zero, 1, &bags), bag, ones};
  const int32_t count = at_unsqueeze(&l, tn_low_emit(&l, "ScatterND", counted, 3, &add, 1), 1);
  if (mode == 1) y = tn_low_2(&l, "Div", y, tn_low_2(&l, "Max", count, one));
  if (mode == 2) y = at_where(&l, tn_low_2(&l, "Equal", count, zero), zero, y);
  return done_bags(&l, y);
}
