/* RNN, GRU and LSTM of f32 as C: rnn_c.c, a step after the other. */
#include "cell.h"
#include "tenon/experimental/emit_c.h"

static const char *activation_name(rnn_function f) {
  return f == RNN_RELU      ? "rnn_relu"
         : f == RNN_TANH    ? "tn_tanh_f32"
         : f == RNN_SIGMOID ? "tn_sigmoid_f32"
                            : NULL;
}

static int32_t activations_of(const rnn *n) { return n->gates == 1 ? 1 : n->gates == 3 ? 2 : 3; }

static const char *refuse(const tn_call *call, int32_t gates) {
  rnn n;
  if (rnn_make(call, gates, &n)) return "its shapes do not fit";
  for (int32_t d = 0; d < n.directions; d++)
    for (int32_t k = 0; k < activations_of(&n); k++)
      if (!activation_name(n.activation[d][k].f)) return "its activations are Relu, Tanh, Sigmoid";
  return n.hidden && n.input && n.batch ? NULL : "takes no empty tensors";
}

/* Gates, a row of a GRU, h and c. */
static uint64_t scratch(const tn_call *call, int32_t gates) {
  rnn n;
  return rnn_make(call, gates, &n) ? 0 : (uint64_t)((gates + 3) * n.hidden) * sizeof(float);
}

static void write_shape(const tn_emit *e, const rnn *n) {
  char clip[TN_EMIT_NUMBER];
  e->table(e,
           "static const struct rnn rnn_%u = {\n"
           "    .steps = %d, .batch = %d, .input = %d, .hidden = %d, .gates = %d,\n"
           "    .directions = %d, .reverse = %d, .batch_first = %d, .input_forget = %d,\n"
           "    .reset_later = %d, .clip = %s,\n"
           "    .activation = {",
           e->step, (int)n->steps, (int)n->batch, (int)n->input, (int)n->hidden, (int)n->gates,
           (int)n->directions, n->reverse, n->batch_first, n->input_forget, n->linear_before_reset,
           tn_emit_float((float)n->clip, clip));
  for (int32_t d = 0; d < n->directions; d++) {
    e->table(e, "%s{", d ? ", " : "");
    for (int32_t k = 0; k < activations_of(n); k++)
      e->table(e, "%s%s", k ? ", " : "", activation_name(n->activation[d][k].f));
    e->table(e, "}");
  }
  e->table(e, "}};\n");
}

static bool has_relu(const rnn *n) {
  bool has = false;
  for (int32_t d = 0; d < n->directions; d++)
    for (int32_t k = 0; k < activations_of(n); k++) has = has || n->activation[d][k].f == RNN_RELU;
  return has;
}

static void emit(const tn_emit *e, int32_t gates) {
  rnn n;
  if (rnn_make(e->call, gates, &n)) return;
  const char *name = gates == 4 ? "lstm" : gates == 3 ? "gru" : "simple";
  e->code(e, "kit/vmath.h");
  if (has_relu(&n))
    e->function(e, "rnn_relu",
                "/* The larger of x and 0. */\nstatic float rnn_relu(float x) { return x < 0.0f ? "
                "0.0f : x; }\n");
  e->code(e, "emit/rnn.c");
  e->code(e, gates == 4 ? "emit/lstm.c" : gates == 3 ? "emit/gru.c" : "emit/simple.c");
  write_shape(e, &n);
  const bool peeps = gates == 4;
  e->line(e, "rnn(&rnn_%u, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s_step);", e->step,
          e->input(e, 0), e->input(e, 1), e->input(e, 2), e->input(e, 3), e->input(e, 4),
          e->input(e, 5), peeps ? e->input(e, 6) : "NULL", peeps ? e->input(e, 7) : "NULL",
          e->output(e, 0), e->output(e, 1), peeps ? e->output(e, 2) : "NULL", e->scratch(e), name);
}

#define EMITTER(op, gates)                                                            \
  static const char *op##_refuse(const tn_call *call) { return refuse(call, gates); } \
  static uint64_t op##_scratch(const tn_call *call) { return scratch(call, gates); }  \
  static void op##_emit(const tn_emit *e) { emit(e, gates); }                         \
  static const tn_emitter op##_emitter = {.head = TN_HEAD(tn_emitter),                \
                                          .kernel = #op "_f32_c",                     \
                                          .refuse = op##_refuse,                      \
                                          .scratch = op##_scratch,                    \
                                          .emit = op##_emit};
EMITTER(rnn, 1)
EMITTER(gru, 3)
EMITTER(lstm, 4)
const tn_emitter *const rnn_emitters[] = {&rnn_emitter, &gru_emitter, &lstm_emitter, NULL};
