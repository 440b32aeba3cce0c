/* Recurrent operators: LSTM and RNN, alone, over time, and in both directions. Their
 * state is an input, and an output behind the operator's own (node.c).
 *
 * What ai.onnx calls LSTM is one; with projections, clipped cells or normalised gates it is spelt
 * out, step by step. */
#include <math.h>

#include "lstm.h"
#include "tflite.gen.h"

enum { MAX_STEPS = 1024 };

/* Places of inputs, counted from `at`: those of the backward half of two follow. */
enum {
  W = LSTM_W,
  R = LSTM_R,
  PEEP = LSTM_PEEP,
  BIAS = LSTM_BIAS,
  PROJECTION = LSTM_PROJECTION,
  PROJECTION_BIAS,
  PARAMETERS = 17
};
enum { INPUT_GATE, FORGET_GATE, CELL_GATE, OUTPUT_GATE, GATES };
enum { PAIR_STATES = 35, PAIR_AUX = 39 };

/* A layer: x is [steps, batch, inputs]. Values; TN_NO_ID: left out. */
typedef struct layer {
  const tn_lowering *t;
  uint32_t at;
  int64_t steps, batch, units, outputs; /* outputs: units, or of the projection */
  int32_t x, h, c;
  bool is_backward, is_normal; /* is_normal: gates are normalised */
  bool is_hybrid;              /* weights of 8 bits: activations become codes as it runs */
  bool is_coded;               /* all are codes, and numbers stand for them, for files */
} layer;

static bool has(const tn_lowering *t, uint32_t k) { return lstm_has(t, k); }

static int32_t input_or_none(const tn_lowering *t, uint32_t k) {
  return has(t, k) ? tn_low_in(t, k) : TN_NO_ID;
}

/* Weights of 8 bits become the numbers that they stand for; so do sums of them, which are added to
 * products of the input whatever scale they have. */
static int32_t weights(const tn_lowering *t, uint32_t k) {
  const tn_tensor *w = tn_low_type(t, k);
  if (w->dtype == TN_I32)
    return tn_low_dequantize(t, tn_low_in(t, k), TN_I32,
                             tfl_scale(t, k - BIAS + W) * tfl_scale(t, 0), 0);
  return w->dtype == TN_F32
             ? tn_low_in(t, k)
             : tn_low_dequantize(t, tn_low_in(t, k), w->dtype, tfl_scale(t, k), tfl_zero(t, k));
}

/* x w' (+ bias). */
static int32_t product(const tn_lowering *t, int32_t x, int32_t w, int32_t bias) {
  const int32_t inputs[] = {x, w, bias};
  const tn_attr trans = tn_attr_int("transB", 1);
  return tn_low_emit(t, "Gemm", inputs, bias < 0 ? 2 : 3, &trans, 1);
}

static int32_t both(const tn_lowering *, const char *, int32_t, int32_t);

/* x w' (+ bias), w of codes times scales, one or one for each row of w. Rows of x become codes of
 * their own, in 256 steps or, of symmetric ones, 255. */
static int32_t code_product(const tn_lowering *t, int32_t x, int32_t w, int32_t scales,
                            int32_t bias) {
  const int32_t in[] = {x, w, scales, bias};
  const tn_attr trans = tn_attr_int("transB", 1), keeps = tn_attr_int("keepdims", 1);
  if (tn_low_int(t, "asymmetric_quantize_inputs", 0))
    return tn_low_emit(t, "tenon::DynamicMatMul", in, bias < 0 ? 3 : 4, &trans, 1);
  const int64_t last = -1;
  const int32_t over[] = {tn_low_1(t, "Abs", x), tn_low_ints_const(t, &last, 1)},
                most = tn_low_emit(t, "ReduceMax", over, 2, &keeps, 1),
                none = tn_low_2(t, "Equal", most, tn_low_number(t, TN_F32, 0)),
                range = tn_low_3(t, "Where", none, tn_low_number(t, TN_F32, 1), most);
  const int32_t steps = tn_low_number(t, TN_F32, 127),
                codes = tn_low_1(t, "Round", both(t, "Mul", x, both(t, "Div", steps, range)));
  const int32_t sums = product(t, codes, tn_low_cast(t, w, TN_F32), TN_NO_ID),
                factor = both(t, "Mul", both(t, "Div", range, steps), scales),
                y = both(t, "Mul", sums, factor);
  return bias < 0 ? y : both(t, "Add", y, bias);
}

static bool is_coded(const tn_lowering *t, uint32_t k) {
  return !has(t, k) || (tn_low_type(t, k)->dtype == TN_I8 && !tfl_zero(t, k));
}

int32_t tfl_by_weights(const tn_lowering *t, int32_t x, uint32_t k, int32_t bias) {
  const double scale = tfl_scale(t, k);
  if (tn_low_type(t, k)->dtype != TN_I8 || tfl_zero(t, k))
    return product(t, x, weights(t, k), bias);
  return code_product(t, x, tn_low_in(t, k), tn_emit_floats(t->call, t->graph, &scale, 1), bias);
}

static int32_t both(const tn_lowering *t, const char *op, int32_t a, int32_t b) {
  return tn_low_2(t, op, a, b);
}

/* Turn k of the layer's input: [batch, inputs]. */
static int32_t step_of(const layer *l, int32_t x, int64_t k, int64_t width) {
  const int64_t from[] = {k, 0, 0}, to[] = {k + 1, l->batch, width}, shape[] = {l->batch, width};
  return tn_low_reshape(l->t, tfl_slice(l->t, x, 3, from, to, NULL), 2, shape);
}

/* [batch, n] each, as [steps, batch, n]. */
static int32_t stack(const tn_lowering *t, const int32_t *steps, int64_t n_steps, int64_t batch,
                     int64_t n) {
  int32_t rows[MAX_STEPS];
  const int64_t shape[] = {1, batch, n};
  const tn_attr axis = tn_attr_int("axis", 0);
  for (int64_t k = 0; k < n_steps; k++) rows[k] = tn_low_reshape(t, steps[k], 3, shape);
  return n_steps == 1 ? rows[0] : tn_low_emit(t, "Concat", rows, (uint32_t)n_steps, &axis, 1);
}

/* ---- LSTM, spelt out ---- */

/* (x - mean) / deviation over the units, times a coefficient. */
static int32_t normalised(const layer *l, int32_t x, uint32_t coefficients) {
  const tn_lowering *t = l->t;
  const int64_t last = 1;
  const int32_t axes = tn_low_ints_const(t, &last, 1), mean = tn_low_2(t, "ReduceMean", x, axes),
                off = both(t, "Sub", x, mean),
                variance = tn_low_2(t, "ReduceMean", both(t, "Mul", off, off), axes);
  const int32_t deviation =
      tn_low_1(t, "Sqrt", both(t, "Add", variance, tn_low_number(t, TN_F32, (double)1e-8F)));
  return both(t, "Mul", both(t, "Div", off, deviation), tn_low_in(t, coefficients));
}

static int32_t gate(const layer *l, uint32_t k, int32_t x, int32_t h, int32_t c) {
  const tn_lowering *t = l->t;
  const uint32_t places[] = {0, 1, 3, 2}; /* of peepholes: input, forget, output */
  const uint32_t peep = l->at + PEEP + places[k], norm = LSTM_NORM + k;
  const int32_t bias = input_or_none(t, l->at + BIAS + k);
  const bool is_normal = l->is_normal && has(t, norm);
  int32_t sum = tfl_by_weights(t, x, l->at + W + k, is_normal ? TN_NO_ID : bias);
  sum = both(t, "Add", sum, tfl_by_weights(t, h, l->at + R + k, TN_NO_ID));
  if (k != CELL_GATE && has(t, peep))
    sum = both(t, "Add", sum, both(t, "Mul", c, weights(t, peep)));
  if (is_normal) sum = normalised(l, sum, norm);
  if (is_normal && bias >= 0) sum = both(t, "Add", sum, bias);
  return k == CELL_GATE ? tfl_activation(t, sum, TN_F32) : tn_low_1(t, "Sigmoid", sum);
}

static int32_t clipped(const tn_lowering *t, int32_t x, const char *name) {
  const double most = tn_low_float(t, name, 0);
  return most > 0 ? tn_low_clip(t, x, TN_F32, -most, most) : x;
}

/* What the output gate leaves of the cell. */
static int32_t out_of(const layer *l, int32_t gate, int32_t c) {
  const tn_lowering *t = l->t;
  const int32_t h = both(t, "Mul", gate, tfl_activation(t, c, TN_F32));
  if (!has(t, l->at + PROJECTION)) return h;
  return clipped(
      t, tfl_by_weights(t, h, l->at + PROJECTION, input_or_none(t, l->at + PROJECTION_BIAS)),
      "proj_clip");
}

static int32_t kept(const layer *l, int32_t forget, int32_t c, int32_t in, int32_t cell) {
  const tn_lowering *t = l->t;
  return clipped(t, both(t, "Add", both(t, "Mul", forget, c), both(t, "Mul", in, cell)),
                 "cell_clip");
}

static void step(const layer *l, int32_t x, int32_t *h, int32_t *c) {
  const tn_lowering *t = l->t;
  const int32_t forget = gate(l, FORGET_GATE, x, *h, *c), cell = gate(l, CELL_GATE, x, *h, *c);
  const int32_t in = has(t, l->at + W + INPUT_GATE)
                         ? gate(l, INPUT_GATE, x, *h, *c)
                         : both(t, "Sub", tn_low_number(t, TN_F32, 1), forget);
  *c = kept(l, forget, *c, in, cell);
  *h = out_of(l, gate(l, OUTPUT_GATE, x, *h, *c), *c);
}

/* ---- LSTM, spelt out, its gates side by side ---- */

/* Inputs of gates i, o, f, c, one below the other, [1, ...]. NULL places: all three peepholes. */
static int32_t joined(const layer *l, uint32_t first, int64_t rows, int64_t width) {
  const tn_lowering *t = l->t;
  static const uint32_t order[] = {INPUT_GATE, OUTPUT_GATE, FORGET_GATE, CELL_GATE};
  int32_t parts[GATES];
  const int64_t shape[] = {1, GATES * rows, width};
  const tn_attr axis = tn_attr_int("axis", 0);
  for (uint32_t k = 0; k < GATES; k++)
    parts[k] = l->is_hybrid && first != BIAS ? tn_low_in(t, l->at + first + order[k])
                                             : weights(t, l->at + first + order[k]);
  return tn_low_reshape(t, tn_low_emit(t, "Concat", parts, GATES, &axis, 1), width ? 3 : 2, shape);
}

/* x by joined weights. */
static int32_t joint_product(const layer *l, int32_t x, int32_t w, uint32_t first, int32_t bias) {
  static const uint32_t order[] = {INPUT_GATE, OUTPUT_GATE, FORGET_GATE, CELL_GATE};
  const tn_lowering *t = l->t;
  if (!l->is_hybrid) return product(t, x, w, bias);
  const int64_t n = GATES * l->units;
  double *scales = t->call->host->alloc(t->call->ctx, (uint64_t)(n + 1) * sizeof *scales);
  if (!scales) return TN_ERR_MEMORY;
  for (int64_t k = 0; k < n; k++) scales[k] = tfl_scale(t, l->at + first + order[k / l->units]);
  const int32_t value = tn_emit_floats(t->call, t->graph, scales, n);
  t->call->host->free(t->call->ctx, scales);
  return code_product(t, x, w, value, bias);
}

/* Nothing happens to a gate on its own. */
static bool is_joint(const layer *l) {
  const tn_lowering *t = l->t;
  bool is = !l->is_normal;
  for (uint32_t k = 0; k < GATES && is; k++)
    is = has(t, l->at + W + k) && has(t, l->at + R + k) && has(t, l->at + BIAS + k);
  for (uint32_t k = 0; k < 3; k++) is = is && !has(t, l->at + PEEP + k);
  return is;
}

/* Place k of what is [batch, places * units]. */
static int32_t place(const layer *l, int32_t x, int64_t k) {
  const int64_t from[] = {0, k * l->units}, to[] = {l->batch, (k + 1) * l->units};
  return tfl_slice(l->t, x, 2, from, to, NULL);
}

/* A state as the code of this type that it becomes after each step. */
static int32_t state_code(const tn_lowering *t, int32_t x, uint32_t state, uint32_t dtype) {
  return tn_low_quantize(t, x, dtype, tfl_scale(t, state), tfl_zero(t, state));
}

static int32_t state_number(const tn_lowering *t, int32_t code, uint32_t state, uint32_t dtype) {
  return tn_low_dequantize(t, code, dtype, tfl_scale(t, state), tfl_zero(t, state));
}

static void joint_step(layer *l, int32_t x, int32_t r) {
  enum { IN, OUT, FORGET, CELL };
  const tn_lowering *t = l->t;
  const int32_t own = l->is_hybrid ? joint_product(l, l->h, r, R, TN_NO_ID) : TN_NO_ID;
  int32_t sums = l->is_hybrid ? both(t, "Add", x, own) : product(t, l->h, r, x);
  if (l->is_coded) sums = tn_low_clip(t, sums, TN_F32, -8, 8); /* of 16 bits, 12 behind the point */
  const int32_t gates = tn_low_1(t, "Sigmoid", sums),
                cell = tfl_activation(t, place(l, sums, CELL), TN_F32);
  l->c = kept(l, place(l, gates, FORGET), l->c, place(l, gates, IN), cell);
  if (l->is_coded) l->c = state_number(t, state_code(t, l->c, LSTM_C, TN_I16), LSTM_C, TN_I16);
  l->h = out_of(l, place(l, gates, OUT), l->c);
  if (l->is_coded) l->h = state_number(t, state_code(t, l->h, LSTM_H, TN_I8), LSTM_H, TN_I8);
}

/* What the inputs add to the sums, of all steps: [steps, batch, gates * units]. */
static int32_t sums_of_inputs(const layer *l, int64_t width) {
  const tn_lowering *t = l->t;
  const int64_t wide = GATES * l->units, rows[] = {l->steps * l->batch, width}, w[] = {wide, width},
                cube[] = {l->steps, l->batch, wide};
  const int32_t sums = joint_product(l, tn_low_reshape(t, l->x, 2, rows),
                                     tn_low_reshape(t, joined(l, W, l->units, width), 2, w), W,
                                     tn_low_reshape(t, joined(l, BIAS, l->units, 0), 1, &wide));
  return tn_low_reshape(t, sums, 3, cube);
}

static int32_t spelt_out(layer *l, int64_t width) {
  int32_t steps[MAX_STEPS];
  if (l->steps > MAX_STEPS) return tn_low_unsupported(l->t, "so many steps of such a cell");
  const bool joint = is_joint(l);
  const int64_t wide = GATES * l->units, shape[] = {wide, l->outputs};
  const int32_t x = joint ? sums_of_inputs(l, width) : l->x,
                r = joint ? tn_low_reshape(l->t, joined(l, R, l->units, l->outputs), 2, shape) : 0;
  for (int64_t k = 0; k < l->steps; k++) {
    const int64_t at = l->is_backward ? l->steps - 1 - k : k;
    if (joint)
      joint_step(l, step_of(l, x, at, wide), r);
    else
      step(l, step_of(l, x, at, width), &l->h, &l->c);
    steps[at] = l->h;
  }
  return stack(l->t, steps, l->steps, l->batch, l->outputs);
}

/* ---- LSTM of ai.onnx ---- */

static int32_t joined_biases(const layer *l) {
  const tn_lowering *t = l->t;
  const int64_t shape[] = {1, GATES * l->units}, wide = GATES * l->units;
  const tn_attr axis = tn_attr_int("axis", 1);
  double *zeros = t->call->host->alloc(t->call->ctx, (uint64_t)wide * sizeof *zeros);
  if (!zeros) return TN_ERR_MEMORY;
  memset(zeros, 0, (size_t)wide * sizeof *zeros);
  const int32_t none = tn_emit_floats(t->call, t->graph, zeros, wide);
  t->call->host->free(t->call->ctx, zeros);
  const int32_t parts[] = {tn_low_reshape(t, joined(l, BIAS, l->units, 0), 2, shape),
                           tn_low_reshape(t, none, 2, shape)};
  return tn_low_emit(t, "Concat", parts, 2, &axis, 1);
}

static int32_t joined_peepholes(const layer *l) {
  const tn_lowering *t = l->t;
  const uint32_t p = l->at + PEEP;
  const int64_t shape[] = {1, 3 * l->units};
  const tn_attr axis = tn_attr_int("axis", 0);
  if (!has(t, p) || !has(t, p + 1) || !has(t, p + 2)) return TN_NO_ID;
  const int32_t parts[] = {weights(t, p), weights(t, p + 2), weights(t, p + 1)};
  return tn_low_reshape(t, tn_low_emit(t, "Concat", parts, 3, &axis, 1), 2, shape);
}

static int32_t as_one(layer *l, int64_t width) {
  const tn_lowering *t = l->t;
  const int64_t state[] = {1, l->batch, l->units}, y[] = {l->steps, l->batch, l->units},
                flat[] = {l->batch, l->units};
  int32_t made[3];
  const int32_t inputs[] = {l->x,
                            joined(l, W, l->units, width),
                            joined(l, R, l->units, l->units),
                            joined_biases(l),
                            TN_NO_ID,
                            tn_low_reshape(t, l->h, 3, state),
                            tn_low_reshape(t, l->c, 3, state),
                            joined_peepholes(l)};
  const tn_attr attrs[] = {tn_attr_int("hidden_size", l->units),
                           tn_attr_str("direction", l->is_backward ? "reverse" : "forward")};
  for (uint32_t k = 0; k < 8; k++)
    if (inputs[k] < TN_NO_ID) return inputs[k];
  const tn_status s = tn_low_emit_many(t, "LSTM", inputs, 8, attrs, 2, 3, made);
  if (s) return s;
  l->h = tn_low_reshape(t, made[1], 2, flat);
  l->c = tn_low_reshape(t, made[2], 2, flat);
  return tn_low_reshape(t, made[0], 3, y);
}

static bool is_plain(const layer *l) {
  const tn_lowering *t = l->t;
  bool is = tn_low_int(t, "fused_activation_function", 0) == 4 &&
            tn_low_float(t, "cell_clip", 0) <= 0 && !has(t, l->at + PROJECTION) && !l->is_normal;
  for (uint32_t k = 0; k < GATES && is; k++)
    is = has(t, l->at + W + k) && has(t, l->at + R + k) && has(t, l->at + BIAS + k);
  const uint32_t p = l->at + PEEP;
  return is && has(t, p) == has(t, p + 1) && has(t, p) == has(t, p + 2);
}

/* ---- LSTM ---- */

static bool is_of_codes(const tn_lowering *t) {
  return tn_low_type(t, 0) && tn_low_type(t, 0)->dtype != TN_F32;
}

/* The layer's shapes from its weights. */
static tn_status open_layer(layer *l) {
  const tn_lowering *t = l->t;
  const uint32_t forget = l->at + R + FORGET_GATE;
  if (!has(t, l->at + W + FORGET_GATE) || !has(t, forget) || tn_low_type(t, forget)->rank != 2 ||
      l->h < 0 || l->c < 0)
    return tn_low_unsupported(t, "a cell without these weights and states");
  l->units = tn_low_type(t, forget)->shape[0];
  l->outputs = tn_low_type(t, forget)->shape[1];
  l->is_hybrid = l->steps <= MAX_STEPS && tn_low_type(t, forget)->dtype == TN_I8;
  for (uint32_t k = 0; k < GATES; k++)
    l->is_hybrid = l->is_hybrid && is_coded(t, l->at + W + k) && is_coded(t, l->at + R + k);
  return TN_OK;
}

/* x as [steps, batch, inputs]; time_major of x of rank 3. */
static int32_t open_input(const tn_lowering *t, bool time_major, int64_t *out_steps,
                          int64_t *out_batch, int64_t *out_width) {
  static const int32_t perm[] = {1, 0, 2};
  const tn_tensor *x = tn_low_type(t, 0);
  if (!x || (x->dtype != TN_F32 && x->dtype != TN_I8) || x->rank < 2 || x->rank > 3)
    return tn_low_unsupported(t, "LSTM and RNN of other values than f32 and codes of 8 bits");
  const bool swaps = x->rank == 3 && !time_major;
  *out_steps = x->rank == 2 ? 1 : x->shape[swaps];
  *out_batch = x->shape[x->rank == 2 ? 0 : !swaps];
  *out_width = x->shape[x->rank - 1];
  const int64_t shape[] = {*out_steps, *out_batch, *out_width};
  return swaps ? tn_low_transpose(t, tn_low_in(t, 0), 3, perm)
               : tn_low_reshape(t, tn_low_in(t, 0), 3, shape);
}

/* [steps, batch, n] as the input's dims lie. */
static int32_t as_input(const tn_lowering *t, int32_t y, bool time_major, int64_t batch,
                        int64_t n) {
  static const int32_t perm[] = {1, 0, 2};
  const int64_t flat[] = {batch, n};
  if (tn_low_type(t, 0)->rank == 2) return tn_low_reshape(t, y, 2, flat);
  return time_major ? y : tn_low_transpose(t, y, 3, perm);
}

static tn_status done_with(const tn_lowering *t, const int32_t *values, uint32_t n) {
  return tn_low_done_many(t, values, t->call->n_outputs < n ? t->call->n_outputs : n);
}

/* For files: numbers, which are as near to the codes as their roundings are. */
static tn_status lstm_as_numbers(layer *l, int64_t width, int32_t *made) {
  const tn_lowering *t = l->t;
  const char *why = tfl_lstm_refusal(t);
  if (why) return tn_low_unsupported(t, why);
  l->is_hybrid = false;
  l->is_coded = true;
  l->x = tn_low_dequantize(t, l->x, TN_I8, tfl_scale(t, 0), tfl_zero(t, 0));
  l->h = state_number(t, l->h, LSTM_H, TN_I8);
  l->c = state_number(t, l->c, LSTM_C, TN_I16);
  made[0] = state_code(t, spelt_out(l, width), LSTM_H, TN_I8);
  made[1] = state_code(t, l->h, LSTM_H, TN_I8);
  made[2] = state_code(t, l->c, LSTM_C, TN_I16);
  return TN_OK;
}

static tn_status lstm_of_codes(layer *l, bool time_major, int64_t width) {
  int32_t made[3];
  tn_status s = open_layer(l);
  if (!s)
    s = tn_low_for_onnx(l->t) ? lstm_as_numbers(l, width, made)
                              : tfl_lstm_of_codes(l->t, l->x, made);
  if (s) return s;
  made[0] = as_input(l->t, made[0], time_major, l->batch, l->outputs);
  return done_with(l->t, made, 3);
}

static tn_status lstm(const tn_call *call, tn_graph *graph, int32_t node, bool time_major) {
  const tn_lowering t = tn_low_open(call, graph, node);
  if (tn_low_int(&t, "kernel_type", 0)) return tn_low_unsupported(&t, "basic LSTM cells");
  layer l = {.t = &t, .h = input_or_none(&t, LSTM_H), .c = input_or_none(&t, LSTM_C)};
  int64_t width;
  l.is_normal = has(&t, LSTM_NORM + FORGET_GATE);
  l.x = open_input(&t, time_major, &l.steps, &l.batch, &width);
  if (l.x < TN_NO_ID) return l.x;
  if (is_of_codes(&t)) return lstm_of_codes(&l, time_major, width);
  const tn_status s = open_layer(&l);
  if (s) return s;
  const int32_t y = is_plain(&l) && !l.is_hybrid ? as_one(&l, width) : spelt_out(&l, width);
  const int32_t made[] = {as_input(&t, y, time_major, l.batch, l.outputs), l.h, l.c};
  return done_with(&t, made, 3);
}

tn_status tflite_lstm(const tn_call *call, tn_graph *graph, int32_t node) {
  return lstm(call, graph, node, true);
}

tn_status tflite_unidirectional_sequence_lstm(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering t = tn_low_open(call, graph, node);
  return lstm(call, graph, node, tn_low_int(&t, "time_major", 0) != 0);
}

/* The output of one direction, or both, and states behind it. */
static tn_status done_pair(const tn_lowering *t, const int32_t *y, const int64_t *n,
                           bool time_major, int64_t batch, const int32_t *states,
                           uint32_t n_states) {
  int32_t made[8];
  uint32_t count = 0;
  const tn_attr axis = tn_attr_int("axis", 2);
  if (tn_low_int(t, "merge_outputs", 0)) {
    made[count++] =
        as_input(t, tn_low_emit(t, "Concat", y, 2, &axis, 1), time_major, batch, n[0] + n[1]);
  } else {
    for (uint32_t k = 0; k < 2; k++) made[count++] = as_input(t, y[k], time_major, batch, n[k]);
  }
  for (uint32_t k = 0; k < n_states; k++) made[count++] = states[k];
  return done_with(t, made, count);
}

tn_status tflite_bidirectional_sequence_lstm(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering t = tn_low_open(call, graph, node);
  const bool time_major = tn_low_int(&t, "time_major", 1) != 0;
  int32_t y[2], states[4];
  int64_t n[2], width = 0;
  layer l = {.t = &t};
  if (is_of_codes(&t)) return tn_low_unsupported(&t, "8-bit cells of both directions");
  for (uint32_t k = 0; k < PAIR_AUX + 9; k++)
    if (k >= PAIR_AUX && has(&t, k)) return tn_low_unsupported(&t, "auxiliary inputs");
  l.x = open_input(&t, time_major, &l.steps, &l.batch, &width);
  if (l.x < TN_NO_ID) return l.x;
  for (uint32_t k = 0; k < 2; k++) {
    l.at = k * PARAMETERS;
    l.is_backward = k == 1;
    l.h = input_or_none(&t, PAIR_STATES + 2 * k);
    l.c = input_or_none(&t, PAIR_STATES + 2 * k + 1);
    const tn_status s = open_layer(&l);
    if (s) return s;
    y[k] = is_plain(&l) && !l.is_hybrid ? as_one(&l, width) : spelt_out(&l, width);
    n[k] = l.outputs;
    states[2 * k] = l.h;
    states[2 * k + 1] = l.c;
  }
  return done_pair(&t, y, n, time_major, l.batch, states, 4);
}

/* ---- RNN: weights, recurrent weights and bias from `at` on, and the state ---- */

static int32_t rnn_layer(layer *l, uint32_t state, int64_t width) {
  const tn_lowering *t = l->t;
  int32_t steps[MAX_STEPS];
  if (l->steps > MAX_STEPS) return tn_low_unsupported(t, "so many steps");
  if (!has(t, l->at) || !has(t, l->at + 1) || !has(t, state) || tn_low_type(t, l->at)->rank != 2)
    return tn_low_unsupported(t, "a cell without these weights and states");
  l->h = tn_low_in(t, state);
  l->outputs = tn_low_type(t, l->at)->shape[0];
  const int32_t b = input_or_none(t, l->at + 2);
  for (int64_t k = 0; k < l->steps; k++) {
    const int64_t at = l->is_backward ? l->steps - 1 - k : k;
    const int32_t sum = both(t, "Add", tfl_by_weights(t, step_of(l, l->x, at, width), l->at, b),
                             tfl_by_weights(t, l->h, l->at + 1, TN_NO_ID));
    l->h = steps[at] = tfl_activation(t, sum, TN_F32);
  }
  return stack(t, steps, l->steps, l->batch, l->outputs);
}

static tn_status rnn(const tn_call *call, tn_graph *graph, int32_t node, bool time_major) {
  const tn_lowering t = tn_low_open(call, graph, node);
  layer l = {.t = &t, .at = 1};
  int64_t width;
  if (is_of_codes(&t)) return tn_low_unsupported(&t, "RNN of codes");
  l.x = open_input(&t, time_major, &l.steps, &l.batch, &width);
  if (l.x < TN_NO_ID) return l.x;
  const int32_t y = rnn_layer(&l, 4, width);
  if (y < TN_NO_ID) return y;
  const int32_t made[] = {as_input(&t, y, time_major, l.batch, l.outputs), l.h};
  return done_with(&t, made, 2);
}

tn_status tflite_rnn(const tn_call *call, tn_graph *graph, int32_t node) {
  return rnn(call, graph, node, true);
}

tn_status tflite_unidirectional_sequence_rnn(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering t = tn_low_open(call, graph, node);
  return rnn(call, graph, node, tn_low_int(&t, "time_major", 0) != 0);
}

tn_status tflite_bidirectional_sequence_rnn(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering t = tn_low_open(call, graph, node);
  const bool time_major = tn_low_int(&t, "time_major", 0) != 0;
  int32_t y[2], states[2];
  int64_t n[2], width;
  layer l = {.t = &t};
  if (is_of_codes(&t)) return tn_low_unsupported(&t, "RNN of codes");
  for (uint32_t k = 9; k < 12; k++)
    if (has(&t, k)) return tn_low_unsupported(&t, "auxiliary inputs");
  l.x = open_input(&t, time_major, &l.steps, &l.batch, &width);
  if (l.x < TN_NO_ID) return l.x;
  for (uint32_t k = 0; k < 2; k++) {
    l.at = 1 + 4 * k;
    l.is_backward = k == 1;
    y[k] = rnn_layer(&l, l.at + 3, width);
    if (y[k] < TN_NO_ID) return y[k];
    n[k] = l.outputs;
    states[k] = l.h;
  }
  return done_pair(&t, y, n, time_major, l.batch, states, 2);
}
