/* RNN, GRU, LSTM: attributes, inference, FLOPs, and the reference, which follows the equations of
 * the specification in f64. */
#include <math.h>
#include <string.h>

#include "cell.h"
#include "tenon/kit/infer.h"
#include "tenon/kit/lower.h"
#include "tenon/kit/text.h"

typedef struct attrs { /* what the three attribute structs have in common */
  tn_floats alpha, beta;
  tn_strs activations;
  double clip;
  tn_str direction;
  int64_t hidden, layout;
} attrs;

#define COMMON(a)                                                                             \
  (attrs) {                                                                                   \
    (a)->activation_alpha, (a)->activation_beta, (a)->activations, (a)->clip, (a)->direction, \
        (a)->hidden_size, (a)->layout                                                         \
  }

static const struct {
  const char *name;
  rnn_function f;
  double alpha, beta;
} functions[] = {{"Relu", RNN_RELU, 0, 0},
                 {"Tanh", RNN_TANH, 0, 0},
                 {"Sigmoid", RNN_SIGMOID, 0, 0},
                 {"Affine", RNN_AFFINE, 1, 0},
                 {"LeakyRelu", RNN_LEAKY_RELU, 0.01, 0},
                 {"ThresholdedRelu", RNN_THRESHOLDED_RELU, 1, 0},
                 {"ScaledTanh", RNN_SCALED_TANH, 1, 1},
                 {"HardSigmoid", RNN_HARD_SIGMOID, 0.2, 0.5},
                 {"Elu", RNN_ELU, 1, 0},
                 {"Softsign", RNN_SOFTSIGN, 0, 0},
                 {"Softplus", RNN_SOFTPLUS, 0, 0}};

static bool same_name(tn_str s,
                      const char *name) { /* the specification writes "tanh" as well as "Tanh" */
  if (s.size != (int64_t)strlen(name)) return false;
  for (int64_t k = 0; k < s.size; k++)
    if ((s.data[k] | 32) != (name[k] | 32)) return false;
  return true;
}

static tn_status parse_activations(const tn_call *call, const attrs *a, rnn *n) {
  static const char *const defaults[5][3] = {
      [1] = {"Tanh"}, [3] = {"Sigmoid", "Tanh"}, [4] = {"Sigmoid", "Tanh", "Tanh"}};
  int32_t each = n->gates == 1 ? 1 : n->gates == 3 ? 2 : 3;
  int64_t next_alpha = 0, next_beta = 0;
  if (a->activations.size && a->activations.size != (int64_t)each * n->directions)
    return call->host->fail(call->ctx, TN_ERR_INVALID,
                            "attribute 'activations' has %lld names, not %d",
                            (long long)a->activations.size, each * n->directions);
  for (int32_t k = 0; k < each * n->directions; k++) {
    tn_str name = a->activations.size ? a->activations.data[k]
                                      : (tn_str){defaults[n->gates][k % each],
                                                 (int64_t)strlen(defaults[n->gates][k % each])};
    size_t f = 0;
    while (f < sizeof functions / sizeof *functions && !same_name(name, functions[f].name)) f++;
    if (f == sizeof functions / sizeof *functions)
      return call->host->fail(call->ctx, TN_ERR_UNSUPPORTED, "not supported: activation '%.*s'",
                              (int)name.size, name.data);
    rnn_activation *to = &n->activation[k / each][k % each];
    *to = (rnn_activation){functions[f].f, functions[f].alpha, functions[f].beta};
    bool takes_alpha = functions[f].alpha != 0,
         takes_beta = functions[f].beta != 0 || functions[f].f == RNN_AFFINE;
    if (takes_alpha && next_alpha < a->alpha.size) to->alpha = a->alpha.data[next_alpha++];
    if (takes_beta && next_beta < a->beta.size) to->beta = a->beta.data[next_beta++];
  }
  return TN_OK;
}

static tn_status check_shapes(const tn_call *call, const rnn *n) {
  int64_t d = n->directions, g = n->gates * n->hidden;
  const struct {
    const tn_tensor *t;
    const char *name;
    int32_t rank;
    int64_t dims[3];
  } wanted[] = {{n->w, "W", 3, {d, g, n->input}},
                {n->r, "R", 3, {d, g, n->hidden}},
                {n->b, "B", 2, {d, 2 * g, 0}},
                {n->lens, "sequence_lens", 1, {n->batch, 0, 0}},
                {n->h0,
                 "initial_h",
                 3,
                 {n->batch_first ? n->batch : d, n->batch_first ? d : n->batch, n->hidden}},
                {n->c0,
                 "initial_c",
                 3,
                 {n->batch_first ? n->batch : d, n->batch_first ? d : n->batch, n->hidden}},
                {n->p, "P", 2, {d, 3 * n->hidden, 0}}};
  for (size_t k = 0; k < sizeof wanted / sizeof *wanted; k++) {
    if (!wanted[k].t) continue;
    tn_tensor want = tn_tensor_make(wanted[k].t->dtype, wanted[k].rank, wanted[k].dims, NULL);
    char got_text[TN_TENSOR_TEXT], want_text[TN_TENSOR_TEXT];
    if (!tn_same_shape(&want, wanted[k].t))
      return call->host->fail(call->ctx, TN_ERR_SHAPE, "'%s' is %s, not %s", wanted[k].name,
                              tn_tensor_text(wanted[k].t, got_text, sizeof got_text),
                              tn_tensor_text(&want, want_text, sizeof want_text));
  }
  return TN_OK;
}

/* Each operator has an attribute struct of its own. */
static attrs read_attrs(const tn_call *call, rnn *n) {
  if (n->gates == 1) return COMMON((const tn_rnn_attrs *)call->attrs);
  if (n->gates == 3) {
    n->linear_before_reset = ((const tn_gru_attrs *)call->attrs)->linear_before_reset != 0;
    return COMMON((const tn_gru_attrs *)call->attrs);
  }
  n->input_forget = ((const tn_lstm_attrs *)call->attrs)->input_forget != 0;
  n->c0 = tn_input(call, 6);
  n->p = tn_input(call, 7);
  return COMMON((const tn_lstm_attrs *)call->attrs);
}

tn_status rnn_make(const tn_call *call, int32_t gates, rnn *out) {
  rnn n = {.gates = gates,
           .x = tn_input(call, 0),
           .w = tn_input(call, 1),
           .r = tn_input(call, 2),
           .b = tn_input(call, 3),
           .lens = tn_input(call, 4),
           .h0 = tn_input(call, 5)};
  attrs a = read_attrs(call, &n);
  tn_status s;
  if (n.x->rank != 3)
    return call->host->fail(call->ctx, TN_ERR_SHAPE, "X has rank %d, not 3", n.x->rank);
  if (n.r->rank != 3 || n.r->shape[2] < 1)
    return call->host->fail(call->ctx, TN_ERR_SHAPE,
                            "R must be [directions, gates*hidden, hidden], with hidden > 0");
  bool both = tn_str_is(a.direction, "bidirectional");
  n.reverse = tn_str_is(a.direction, "reverse");
  if (!both && !n.reverse && !tn_str_is(a.direction, "forward"))
    return call->host->fail(call->ctx, TN_ERR_INVALID, "attribute 'direction' is '%.*s'",
                            (int)a.direction.size, a.direction.data);
  n.directions = both ? 2 : 1;
  n.batch_first = a.layout != 0;
  n.steps = n.x->shape[n.batch_first];
  n.batch = n.x->shape[!n.batch_first];
  n.input = n.x->shape[2];
  n.hidden = n.r->shape[2];
  n.clip = a.clip;
  if (a.hidden && a.hidden != n.hidden)
    return call->host->fail(call->ctx, TN_ERR_SHAPE, "attribute 'hidden_size' is %lld, R says %lld",
                            (long long)a.hidden, (long long)n.hidden);
  if ((s = parse_activations(call, &a, &n)) || (s = check_shapes(call, &n))) return s;
  *out = n;
  return TN_OK;
}

static tn_status infer(const tn_call *call, int32_t gates) {
  rnn n;
  tn_status s = rnn_make(call, gates, &n);
  if (s) return s;
  int64_t d = n.directions, y[4] = {n.steps, d, n.batch, n.hidden},
          y_first[4] = {n.batch, n.steps, d, n.hidden};
  int64_t h[3] = {d, n.batch, n.hidden}, h_first[3] = {n.batch, d, n.hidden};
  tn_infer_shape(call, 0, n.x->dtype, 4, n.batch_first ? y_first : y);
  for (uint32_t k = 1; k < 3; k++)
    tn_infer_shape(call, k, n.x->dtype, 3, n.batch_first ? h_first : h);
  return TN_OK;
}

static tn_status flops(const tn_call *call, int32_t gates, double *out_flops) {
  rnn n;
  tn_status s = rnn_make(call, gates, &n);
  if (!s)
    *out_flops = 2.0 * (double)(n.directions * n.steps * n.batch) * (double)(n.gates * n.hidden) *
                 (double)(n.input + n.hidden);
  return s;
}

double rnn_activate(const rnn_activation *a, double x) {
  switch (a->f) {
    case RNN_RELU: return x < 0 ? 0 : x;
    case RNN_TANH: return tanh(x);
    case RNN_SIGMOID: return 1 / (1 + exp(-x));
    case RNN_AFFINE: return a->alpha * x + a->beta;
    case RNN_LEAKY_RELU: return x < 0 ? a->alpha * x : x;
    case RNN_THRESHOLDED_RELU: return x > a->alpha ? x : 0;
    case RNN_SCALED_TANH: return a->alpha * tanh(a->beta * x);
    case RNN_HARD_SIGMOID: return fmin(fmax(a->alpha * x + a->beta, 0), 1);
    case RNN_ELU: return x < 0 ? a->alpha * expm1(x) : x;
    case RNN_SOFTSIGN: return x / (1 + fabs(x));
    default: return log1p(exp(x));
  }
}

/* ---- reference ---- */

static double at(const tn_tensor *t, int64_t k) {
  return t ? tn_load_f64(t->dtype, t->data, k) : 0;
}

typedef struct place {
  const rnn *n;
  int64_t d, b;
  double *h, *c;
} place; /* one direction of one sequence, and its state */

static double clipped(const rnn *n, double x) {
  return n->clip > 0 ? fmin(fmax(x, -n->clip), n->clip) : x;
}

/* x W' + Wb of unit u of gate g. */
static double from_input(const place *p, int64_t t, int64_t g, int64_t u) {
  const rnn *n = p->n;
  int64_t row = p->d * n->gates * n->hidden + g * n->hidden + u;
  double sum = at(n->b, p->d * 2 * n->gates * n->hidden + g * n->hidden + u);
  for (int64_t k = 0; k < n->input; k++)
    sum += at(n->x, rnn_x_row(n, t, p->b) + k) * at(n->w, row * n->input + k);
  return sum;
}

/* h R' + Rb, with each h first multiplied by scale (NULL: 1). */
static double from_state(const place *p, int64_t g, int64_t u, const double *scale) {
  const rnn *n = p->n;
  int64_t row = p->d * n->gates * n->hidden + g * n->hidden + u;
  double sum = at(n->b, (p->d * 2 + 1) * n->gates * n->hidden + g * n->hidden + u);
  for (int64_t k = 0; k < n->hidden; k++)
    sum += p->h[k] * (scale ? scale[k] : 1) * at(n->r, row * n->hidden + k);
  return sum;
}

static double act(const place *p, int32_t k, double x) {
  return rnn_activate(&p->n->activation[p->d][k], clipped(p->n, x));
}

static void lstm_step(const place *p, int64_t t, double *next) {
  const rnn *n = p->n;
  int64_t peep = p->d * 3 * n->hidden;
  for (int64_t u = 0; u < n->hidden; u++) {
    double c = p->c[u];
    double i =
        act(p, 0, from_input(p, t, 0, u) + from_state(p, 0, u, NULL) + at(n->p, peep + u) * c);
    double f = n->input_forget ? 1 - i
                               : act(p, 0,
                                     from_input(p, t, 2, u) + from_state(p, 2, u, NULL) +
                                         at(n->p, peep + 2 * n->hidden + u) * c);
    double g = act(p, 1, from_input(p, t, 3, u) + from_state(p, 3, u, NULL));
    c = f * c + i * g;
    double o = act(
        p, 0,
        from_input(p, t, 1, u) + from_state(p, 1, u, NULL) + at(n->p, peep + n->hidden + u) * c);
    p->c[u] = c;
    next[u] = o * rnn_activate(&n->activation[p->d][2], c);
  }
}

static void gru_step(const place *p, int64_t t, double *next, double *reset) {
  const rnn *n = p->n;
  for (int64_t u = 0; u < n->hidden; u++)
    reset[u] = act(p, 0, from_input(p, t, 1, u) + from_state(p, 1, u, NULL));
  for (int64_t u = 0; u < n->hidden; u++) {
    double z = act(p, 0, from_input(p, t, 0, u) + from_state(p, 0, u, NULL));
    double state =
        n->linear_before_reset ? reset[u] * from_state(p, 2, u, NULL) : from_state(p, 2, u, reset);
    next[u] = (1 - z) * act(p, 1, from_input(p, t, 2, u) + state) + z * p->h[u];
  }
}

static void reference_sequence(const tn_call *call, const place *p, double *next, double *reset) {
  const rnn *n = p->n;
  int64_t length = rnn_length(n, p->b);
  bool backwards = p->d == 1 || n->reverse;
  for (int64_t u = 0; u < n->hidden; u++) {
    p->h[u] = at(n->h0, rnn_state_row(n, p->d, p->b) + u);
    p->c[u] = at(n->c0, rnn_state_row(n, p->d, p->b) + u);
  }
  for (int64_t k = 0; k < n->steps; k++) {
    int64_t t = k < length && backwards ? length - 1 - k : k;
    if (k < length) {
      if (n->gates == 4)
        lstm_step(p, t, next);
      else if (n->gates == 3)
        gru_step(p, t, next, reset);
      else
        for (int64_t u = 0; u < n->hidden; u++)
          next[u] = act(p, 0, from_input(p, t, 0, u) + from_state(p, 0, u, NULL));
      memcpy(p->h, next, (size_t)n->hidden * sizeof *next);
    }
    for (int64_t u = 0; tn_has_output(call, 0) && u < n->hidden; u++)
      tn_store_f64(n->x->dtype, call->outputs[0]->data, rnn_y_row(n, t, p->d, p->b) + u,
                   k < length ? p->h[u] : 0);
  }
  for (int64_t u = 0; u < n->hidden; u++) {
    if (tn_has_output(call, 1))
      tn_store_f64(n->x->dtype, call->outputs[1]->data, rnn_state_row(n, p->d, p->b) + u, p->h[u]);
    if (tn_has_output(call, 2))
      tn_store_f64(n->x->dtype, call->outputs[2]->data, rnn_state_row(n, p->d, p->b) + u, p->c[u]);
  }
}

static tn_status reference(const tn_call *call, int32_t gates) {
  rnn n;
  tn_status s = rnn_make(call, gates, &n);
  if (s) return s;
  double *room = call->host->alloc(call->ctx, (uint64_t)n.hidden * 4 * sizeof *room);
  if (!room) return TN_ERR_MEMORY;
  for (int64_t d = 0; d < n.directions; d++)
    for (int64_t b = 0; b < n.batch; b++) {
      place p = {&n, d, b, room, room + n.hidden};
      reference_sequence(call, &p, room + 2 * n.hidden, room + 3 * n.hidden);
    }
  call->host->free(call->ctx, room);
  return TN_OK;
}

#define OPERATOR(name, gates)                                                \
  tn_status name##_infer(const tn_call *call) { return infer(call, gates); } \
  tn_status name##_flops(const tn_call *call, double *out_flops) {           \
    return flops(call, gates, out_flops);                                    \
  }                                                                          \
  tn_status name##_reference(const tn_call *call) { return reference(call, gates); }
OPERATOR(rnn, 1)
OPERATOR(gru, 3)
OPERATOR(lstm, 4)

tn_status rnn_v1_lower(const tn_call *call, tn_graph *graph, int32_t node) {
  static const char *const dropped[] = {"output_sequence", NULL};
  return tn_lower_without(call, graph, node, dropped);
}
