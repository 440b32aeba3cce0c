/* Recurrent layers: some of them on top of each other, in one or both directions. */
#include "aten.gen.h"
#include "aten.h"
#include "aten_layers.gen.h"

typedef struct rnn {
  const char *op; /* of ONNX */
  int32_t gates;
  const int32_t *order; /* ONNX's gates, as numbers of PyTorch's */
  const char *activation;
} rnn;

static const int32_t lstm_order[] = {0, 3, 1, 2}; /* i f g o: i o f c */
static const int32_t gru_order[] = {1, 0, 2};     /* r z n: z r h */
static const int32_t rnn_order[] = {0};
static const rnn lstm = {"LSTM", 4, lstm_order, NULL}, gru = {"GRU", 3, gru_order, NULL},
                 tanh_rnn = {"RNN", 1, rnn_order, "Tanh"}, relu_rnn = {"RNN", 1, rnn_order, "Relu"};

typedef struct layers {
  const rnn *kind;
  uint32_t first; /* input of the first weights */
  int32_t n, directions, per_direction;
  int64_t hidden, projected; /* what cells hold, and what goes on; 0: all of it */
  bool biases;
} layers;

/* The rows of the gates in ONNX's order. */
static int32_t ordered(const tn_lowering *l, const layers *r, int32_t x) {
  int32_t parts[4];
  if (r->kind->gates == 1) return x;
  for (int32_t k = 0; k < r->kind->gates; k++) {
    const int64_t at = r->kind->order[k] * r->hidden;
    parts[k] = at_slice(l, x, 0, at, at + r->hidden, 1);
  }
  return at_concat(l, parts, (uint32_t)r->kind->gates, 0);
}

/* Weights `which` of a layer, for each direction, as [directions, ...]. */
static int32_t weights(const tn_lowering *l, const layers *r, int32_t layer, uint32_t which) {
  int32_t parts[2];
  for (int32_t d = 0; d < r->directions; d++) {
    const uint32_t at = r->first + (uint32_t)((layer * r->directions + d) * r->per_direction);
    parts[d] = at_unsqueeze(l, ordered(l, r, tn_low_in(l, at + which)), 0);
  }
  return r->directions > 1 ? at_concat(l, parts, 2, 0) : parts[0];
}

static int32_t state_of(const tn_lowering *l, const layers *r, uint32_t input, int32_t layer) {
  const int64_t from = (int64_t)layer * r->directions;
  return at_slice(l, tn_low_in(l, input), 0, from, from + r->directions, 1);
}

/* [time, batch, in] to [time, batch, directions * hidden], and the last states. */
static tn_status run_layer(const tn_lowering *l, const layers *r, int32_t layer, int32_t *x,
                           int32_t *h, int32_t *c, const int64_t *time_batch) {
  const bool has_cell = r->kind == &lstm;
  int32_t bias = TN_NO_ID;
  if (r->biases) {
    const int32_t parts[] = {weights(l, r, layer, 2), weights(l, r, layer, 3)};
    bias = at_concat(l, parts, 2, 1);
  }
  const int32_t in[] = {*x,
                        weights(l, r, layer, 0),
                        weights(l, r, layer, 1),
                        bias,
                        TN_NO_ID,
                        state_of(l, r, 1, layer),
                        has_cell ? state_of(l, r, 2, layer) : TN_NO_ID};
  const tn_str names[] = {{r->kind->activation, 4}, {r->kind->activation, 4}};
  tn_attr activations = tn_attr_str("activations", "");
  activations.kind = TN_ATTR_STRS;
  activations.strs = (tn_strs){names, r->directions};
  const tn_attr attrs[] = {
      tn_attr_int("hidden_size", r->hidden),
      tn_attr_str("direction", r->directions > 1 ? "bidirectional" : "forward"),
      r->kind == &gru ? tn_attr_int("linear_before_reset", 1) : activations};
  int32_t out[3];
  const tn_status s = tn_low_emit_many(l, r->kind->op, in, has_cell ? 7 : 6, attrs,
                                       has_cell ? 2 : 3, has_cell ? 3 : 2, out);
  if (s) return s;
  const int32_t perm[] = {0, 2, 1, 3}; /* [time, directions, batch, hidden] */
  const int64_t shape[] = {time_batch[0], time_batch[1], r->directions * r->hidden};
  *x = tn_low_reshape(l, tn_low_transpose(l, out[0], 4, perm), 3, shape);
  *h = out[1];
  if (has_cell) *c = out[2];
  return TN_OK;
}

/* ---- with projections, which ai.onnx has none of: step by step ---- */

enum { MOST_STEPS = 512 };

static int32_t transposed(const tn_lowering *l, int32_t x) {
  static const int32_t perm[] = {1, 0};
  return tn_low_transpose(l, x, 2, perm);
}

/* One gate of a step: [batch, hidden]. */
static int32_t gate(const tn_lowering *l, const layers *r, const char *function, int32_t all,
                    int64_t k) {
  return tn_low_1(l, function, at_slice(l, all, 1, k * r->hidden, (k + 1) * r->hidden, 1));
}

/* h [batch, projected] and c [batch, hidden] after a step whose part of the input is given. */
static void run_step(const tn_lowering *l, const layers *r, int32_t input, int32_t w_hidden,
                     int32_t w_project, int32_t *h, int32_t *c) {
  const int32_t all = tn_low_2(l, "Add", input, tn_low_2(l, "MatMul", *h, w_hidden)),
                fresh =
                    tn_low_2(l, "Mul", gate(l, r, "Sigmoid", all, 0), gate(l, r, "Tanh", all, 2)),
                kept = tn_low_2(l, "Mul", gate(l, r, "Sigmoid", all, 1), *c);
  *c = tn_low_2(l, "Add", kept, fresh);
  const int32_t out = tn_low_2(l, "Mul", gate(l, r, "Sigmoid", all, 3), tn_low_1(l, "Tanh", *c));
  *h = tn_low_2(l, "MatMul", out, w_project);
}

/* [time, batch, in] to [time, batch, projected] in one direction. */
static int32_t run_projected(const tn_lowering *l, const layers *r, int32_t at, bool backwards,
                             int32_t x, int64_t time, int32_t *h, int32_t *c) {
  const uint32_t first = r->first + (uint32_t)(at * r->per_direction);
  const int32_t w_input = transposed(l, tn_low_in(l, first)),
                w_hidden = transposed(l, tn_low_in(l, first + 1)),
                w_project = transposed(l, tn_low_in(l, first + (r->biases ? 4 : 2)));
  int32_t steps[MOST_STEPS], input = tn_low_2(l, "MatMul", x, w_input);
  if (r->biases)
    input = tn_low_2(l, "Add", input,
                     tn_low_2(l, "Add", tn_low_in(l, first + 2), tn_low_in(l, first + 3)));
  *h = at_squeeze(l, at_slice(l, tn_low_in(l, 1), 0, at, at + 1, 1), 0);
  *c = at_squeeze(l, at_slice(l, tn_low_in(l, 2), 0, at, at + 1, 1), 0);
  for (int64_t k = 0; k < time; k++) {
    const int64_t t = backwards ? time - 1 - k : k;
    run_step(l, r, at_squeeze(l, at_slice(l, input, 0, t, t + 1, 1), 0), w_hidden, w_project, h, c);
    steps[t] = at_unsqueeze(l, *h, 0);
  }
  *h = at_unsqueeze(l, *h, 0), *c = at_unsqueeze(l, *c, 0);
  return at_concat(l, steps, (uint32_t)time, 0);
}

static tn_status run_projected_layer(const tn_lowering *l, const layers *r, int32_t layer,
                                     int32_t *x, int32_t *h, int32_t *c, int64_t time) {
  int32_t y[2], hs[2], cs[2];
  if (time < 1 || time > MOST_STEPS)
    return tn_low_unsupported(l, "projections, and no step or more than 512");
  for (int32_t d = 0; d < r->directions; d++)
    y[d] = run_projected(l, r, layer * r->directions + d, d == 1, *x, time, &hs[d], &cs[d]);
  const bool both = r->directions > 1;
  *x = both ? at_concat(l, y, 2, 2) : y[0];
  *h = both ? at_concat(l, hs, 2, 0) : hs[0];
  *c = both ? at_concat(l, cs, 2, 0) : cs[0];
  return TN_OK;
}

static tn_status read_layers(const tn_lowering *l, layers *r) {
  const uint32_t n = l->call->n_inputs;
  r->directions = tn_low_int(l, "bidirectional", 0) ? 2 : 1;
  r->biases = tn_low_int(l, "has_biases", 1) != 0;
  r->n = (int32_t)tn_low_int(l, "num_layers", 1);
  r->per_direction = r->biases ? 4 : 2;
  const tn_tensor *h = tn_low_type(l, 1), *c = r->kind == &lstm ? tn_low_type(l, 2) : h;
  if (h->rank == 3 && c->rank == 3 && h->shape[2] != c->shape[2]) {
    r->projected = h->shape[2];
    r->per_direction++;
  }
  if (r->n < 1 || r->n > 64 || n - r->first != (uint32_t)(r->n * r->directions * r->per_direction))
    return tn_low_unsupported(l, "this number of weights");
  if (h->rank != 3) return tn_low_unsupported(l, "a state without a batch");
  r->hidden = c->shape[c->rank - 1];
  if (tn_low_int(l, "train", 0) && tn_low_float(l, "dropout", 0) > 0)
    return tn_low_unsupported(l, "dropout while training");
  return TN_OK;
}

static tn_status lower_rnn(const tn_lowering *l, const rnn *kind) {
  enum { MOST = 64 };
  layers r = {.kind = kind, .first = kind == &lstm ? 3 : 2};
  int32_t h[MOST], c[MOST], x = tn_low_in(l, 0);
  const tn_tensor *t = tn_low_type(l, 0);
  tn_status s = read_layers(l, &r);
  if (s) return s;
  if (t->rank != 3) return tn_low_unsupported(l, "an input without a batch");
  const bool batch_first = tn_low_int(l, "batch_first", 0) != 0;
  const int32_t perm[] = {1, 0, 2};
  const int64_t time_batch[] = {t->shape[batch_first], t->shape[!batch_first]};
  if (batch_first) x = tn_low_transpose(l, x, 3, perm);
  for (int32_t k = 0; k < r.n && !s; k++)
    s = r.projected ? run_projected_layer(l, &r, k, &x, &h[k], &c[k], time_batch[0])
                    : run_layer(l, &r, k, &x, &h[k], &c[k], time_batch);
  if (s) return s;
  if (batch_first) x = tn_low_transpose(l, x, 3, perm);
  const int32_t out[] = {x, r.n > 1 ? at_concat(l, h, (uint32_t)r.n, 0) : h[0],
                         kind != &lstm ? TN_NO_ID
                         : r.n > 1     ? at_concat(l, c, (uint32_t)r.n, 0)
                                       : c[0]};
  return tn_low_done_many(l, out, tn_low_node(l)->n_outputs);
}

tn_status aten_lstm(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  return lower_rnn(&l, &lstm);
}

tn_status aten_gru(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  return lower_rnn(&l, &gru);
}

tn_status aten_rnn(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  return lower_rnn(&l, at_is(&l, "rnn_relu") ? &relu_rnn : &tanh_rnn);
}
