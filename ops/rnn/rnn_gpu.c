/* RNN, GRU and LSTM on GPUs: a dispatch for each step, in which a thread makes one unit of one
 * sequence in one direction. States are f32 and lie in scratch, twice, as all units of a step read
 * all of those before; GRU's reset gates, which all units read, are a dispatch of their own. */
#ifdef TN_GPU
float activate(int kind, float a, float b, float x) {
  switch (kind) {
    case 0: return x < 0.0f ? 0.0f : x;
    case 1: return tanh(x);
    case 2: return 1.0f / (1.0f + exp(-x));
    case 3: return a * x + b;
    case 4: return x < 0.0f ? a * x : x;
    case 5: return x > a ? x : 0.0f;
    case 6: return a * tanh(b * x);
    case 7: return a * x + b < 0.0f ? 0.0f : a * x + b > 1.0f ? 1.0f : a * x + b;
    case 8: return x < 0.0f ? a * expm1(x) : x;
    case 9: return x / (1.0f + fabs(x));
    case 10: return log1p(exp(x));
  }
  return x;
}

float within(float clip, float x) {
  return clip > 0.0f && x > clip ? clip : clip > 0.0f && x < -clip ? -clip : x;
}

/* Direction d of sequence b: its step now, where that lies in X and Y, and its states. */
#define PLACE                                                                           \
  int u = GLOBAL(0), b = GROUP(1), d = GROUP(2), length = steps, t = k, directions = 1; \
  if (TWO_WAYS != 0) directions = 2;                                                    \
  if (HAS_LENS != 0) length = LDI(LENS, b);                                             \
  length = length < 0 ? 0 : length > steps ? steps : length;                            \
  if (k < length && (d == 1 || REVERSE != 0)) t = length - 1 - k;                       \
  int x = (BATCH_FIRST != 0 ? b * steps + t : t * batch + b) * width;                   \
  int s = (d * batch + b) * hidden;
/* x W' + Wb, and h R' + Rb, of unit u of gate g. */
#define FROM_INPUT(sum, g)                                                           \
  float sum = 0.0f;                                                                  \
  {                                                                                  \
    int row_ = (d * GATES + (g)) * hidden + u;                                       \
    if (HAS_B != 0) sum += LD1(B, row_ + d * GATES * hidden);                        \
    for (int j = 0; j < width; j++) sum += LD1(X, x + j) * LD1(W, row_ * width + j); \
  }
#define ADD_STATE(sum, g)                                                              \
  {                                                                                    \
    int row_ = (d * GATES + (g)) * hidden + u;                                         \
    if (HAS_B != 0) sum += LD1(B, row_ + (d + 1) * GATES * hidden);                    \
    for (int j = 0; j < hidden; j++) sum += LD1(H, s + j) * LD1(R, row_ * hidden + j); \
  }
#define ACT_F(v) activate(F, f_alpha, f_beta, within(clip, v))
#define ACT_G(v) activate(G, g_alpha, g_beta, within(clip, v))

/* States before the first step. */
KERNEL(rnn_begin, (IN(FROM), OUT(TO)),
       (CONST(HAS_FROM), CONST(BATCH_FIRST), INT(n), INT(batch), INT(hidden), INT(directions)), 64,
       1, 1) {
  int i = GLOBAL(0), u = i % hidden, b = i / hidden % batch, d = i / hidden / batch;
  if (i < n) {
    float v = 0.0f;
    if (HAS_FROM != 0) v = LD1(FROM, BATCH_FIRST != 0 ? (b * directions + d) * hidden + u : i);
    ST1(TO, i, v);
  }
}

/* Of GRU: all states times their reset gates. */
KERNEL(rnn_reset, (IN(X), IN(W), IN(R), IN(B), IN(LENS), IN(H), OUT(RESET)),
       (CONST(GATES), CONST(HAS_B), CONST(HAS_LENS), CONST(TWO_WAYS), CONST(REVERSE),
        CONST(BATCH_FIRST), CONST(F), INT(k), INT(steps), INT(batch), INT(width), INT(hidden),
        FLOAT(clip), FLOAT(f_alpha), FLOAT(f_beta)),
       64, 1, 1) {
  PLACE
  if (u < hidden && k < length) {
    FROM_INPUT(v, 1)
    ADD_STATE(v, 1)
    float y = ACT_F(v) * LD1(H, s + u);
    ST1(RESET, s + u, y);
  }
}

KERNEL(rnn_step,
       (IN(X), IN(W), IN(R), IN(B), IN(LENS), IN(P), IN(H), IN(C), IN(RESET), OUT(Y), OUT(Y_H),
        OUT(Y_C), OUT(NEXT), OUT(NEXT_C)),
       (CONST(GATES), CONST(HAS_B), CONST(HAS_LENS), CONST(TWO_WAYS), CONST(REVERSE),
        CONST(BATCH_FIRST), CONST(F), CONST(G), CONST(E), CONST(HAS_P), CONST(INPUT_FORGET),
        CONST(LINEAR), CONST(HAS_Y), CONST(HAS_Y_H), CONST(HAS_Y_C), INT(k), INT(steps), INT(batch),
        INT(width), INT(hidden), FLOAT(clip), FLOAT(f_alpha), FLOAT(f_beta), FLOAT(g_alpha),
        FLOAT(g_beta), FLOAT(e_alpha), FLOAT(e_beta)),
       64, 1, 1) {
  PLACE
  if (u < hidden) {
    float h = LD1(H, s + u), c = 0.0f;
    if (GATES == 4) c = LD1(C, s + u);
    if (k < length) {
      FROM_INPUT(v, 0)
      ADD_STATE(v, 0)
      if (GATES == 1) {
        h = ACT_F(v);
      } else if (GATES == 3) {
        float z = ACT_F(v);
        FROM_INPUT(candidate, 2)
        if (LINEAR != 0) {
          FROM_INPUT(r, 1)
          float state = 0.0f;
          ADD_STATE(r, 1)
          ADD_STATE(state, 2)
          candidate += ACT_F(r) * state;
        } else {
          int row = (d * GATES + 2) * hidden + u;
          if (HAS_B != 0) candidate += LD1(B, row + (d + 1) * GATES * hidden);
          for (int j = 0; j < hidden; j++)
            candidate += LD1(RESET, s + j) * LD1(R, row * hidden + j);
        }
        h = (1.0f - z) * ACT_G(candidate) + z * h;
      } else {
        int peep = d * 3 * hidden + u;
        FROM_INPUT(o, 1)
        FROM_INPUT(f, 2)
        FROM_INPUT(g, 3)
        ADD_STATE(o, 1)
        ADD_STATE(f, 2)
        ADD_STATE(g, 3)
        if (HAS_P != 0) {
          v += LD1(P, peep) * c;
          f += LD1(P, peep + 2 * hidden) * c;
        }
        float i = ACT_F(v);
        f = INPUT_FORGET != 0 ? 1.0f - i : ACT_F(f);
        c = f * c + i * ACT_G(g);
        if (HAS_P != 0) o += LD1(P, peep + hidden) * c;
        h = ACT_F(o) * activate(E, e_alpha, e_beta, c);
      }
    }
    int y =
        (BATCH_FIRST != 0 ? (b * steps + t) * directions + d : (t * directions + d) * batch + b);
    int last = (BATCH_FIRST != 0 ? b * directions + d : d * batch + b) * hidden + u;
    if (HAS_Y != 0) ST1(Y, y * hidden + u, k < length ? h : 0.0f);
    ST1(NEXT, s + u, h);
    if (GATES == 4) ST1(NEXT_C, s + u, c);
    if (k == steps - 1) {
      if (HAS_Y_H != 0) ST1(Y_H, last, h);
      if (HAS_Y_C != 0) ST1(Y_C, last, c);
    }
  }
}
#else
#include "cell.h"
#include "tenon/experimental/gpu.h"
#include "tenon/kit/checked.h"
#include "tenon/kit/infer.h"

enum { STEPS = 4096, RESET = 4, STATES = 5 }; /* 0 and 1: h, 2 and 3: c */

static bool same_both_ways(const rnn *n) {
  bool same = true;
  for (int k = 0; k < 3 && n->directions > 1; k++) {
    const rnn_activation *a = &n->activation[0][k], *b = &n->activation[1][k];
    same = same && a->f == b->f && a->alpha == b->alpha && a->beta == b->beta;
  }
  return same;
}

/* Of a thread of the longest program: GRU's has a reset gate only if it does not stand alone. */
static int64_t rounds_of(const rnn *n) {
  const int64_t gates = n->gates == 3 && !n->linear_before_reset ? 2 : n->gates;
  return gates * (n->input + n->hidden + 2);
}

static const char *refuse(const tn_call *call, int32_t gates) {
  rnn n;
  if (rnn_make(call, gates, &n)) return "its shapes do not fit";
  if (!n.steps || n.steps > STEPS) return "takes 1 to 4096 steps";
  if (!n.batch || n.batch > UINT16_MAX) return "takes 1 to 65535 sequences";
  if (!same_both_ways(&n)) return "takes the same activations both ways";
  const char *reason = tn_gpu_refuse_size(call);
  return reason ? reason : tn_gpu_refuse_rounds(call, rounds_of(&n));
}

static uint64_t state_bytes(const rnn *n) {
  return ((uint64_t)(n->directions * n->batch * n->hidden) * sizeof(float) + 255) / 256 * 256;
}

static tn_status plan(const tn_call *call, int32_t gates, tn_kernel_plan *out) {
  rnn n;
  const tn_status status = rnn_make(call, gates, &n);
  if (status) return status;
  return tn_mul_u64(state_bytes(&n), STATES, &out->scratch_bytes) ? TN_ERR_OVERFLOW : TN_OK;
}

static void add_state(tn_gpu *g, const rnn *n, int64_t which) {
  const uint64_t bytes = state_bytes(n);
  tn_gpu_buffer(g, TN_BIND_SCRATCH, 0, TN_F32, (uint64_t)which * bytes, bytes);
}

/* Of the two places of H or C, the one that step k reads. */
static int64_t read_by(int64_t k, int64_t first) { return first + k % 2; }

static tn_status begin(const tn_call *call, tn_recorder *r, const rnn *n, const tn_tensor *from,
                       int32_t input, int64_t to) {
  const int64_t count = n->directions * n->batch * n->hidden;
  tn_gpu g;
  tn_gpu_begin(&g, call, GPU_rnn_begin);
  tn_gpu_in(&g, from ? input : -1);
  add_state(&g, n, to);
  tn_gpu_const(&g, from != NULL);
  tn_gpu_const(&g, n->batch_first);
  const int64_t words[] = {count, n->batch, n->hidden, n->directions};
  for (size_t k = 0; k < sizeof words / sizeof *words; k++) tn_gpu_int(&g, words[k]);
  return tn_gpu_run(&g, r, tn_gpu_groups(count, 64), 1, 1);
}

static void add_inputs(tn_gpu *g, const rnn *n) {
  for (int32_t k = 0; k < 3; k++) tn_gpu_in(g, k);
  tn_gpu_in(g, n->b ? 3 : -1);
  tn_gpu_in(g, n->lens ? 4 : -1);
}

static void add_constants(tn_gpu *g, const rnn *n) {
  const int64_t list[] = {n->gates,
                          n->b != NULL,
                          n->lens != NULL,
                          n->directions > 1,
                          n->reverse,
                          n->batch_first,
                          (int64_t)n->activation[0][0].f};
  for (size_t k = 0; k < sizeof list / sizeof *list; k++) tn_gpu_const(g, list[k]);
}

/* n_activations: how many follow. */
static void add_params(tn_gpu *g, const rnn *n, int64_t step, int n_activations) {
  const int64_t words[] = {step, n->steps, n->batch, n->input, n->hidden};
  for (size_t k = 0; k < sizeof words / sizeof *words; k++) tn_gpu_int(g, words[k]);
  tn_gpu_float(g, n->clip);
  for (int k = 0; k < n_activations; k++) {
    tn_gpu_float(g, n->activation[0][k].alpha);
    tn_gpu_float(g, n->activation[0][k].beta);
  }
}

static tn_status run(tn_gpu *g, tn_recorder *r, const rnn *n) {
  return tn_gpu_run(g, r, tn_gpu_groups(n->hidden, 64), (uint32_t)n->batch,
                    (uint32_t)n->directions);
}

static tn_status reset(const tn_call *call, tn_recorder *r, const rnn *n, int64_t step) {
  tn_gpu g;
  tn_gpu_begin(&g, call, GPU_rnn_reset);
  add_inputs(&g, n);
  add_state(&g, n, read_by(step, 0));
  add_state(&g, n, RESET);
  add_constants(&g, n);
  add_params(&g, n, step, 1);
  return run(&g, r, n);
}

static void add_step_states(tn_gpu *g, const tn_call *call, const rnn *n, int64_t step) {
  const bool has_c = n->gates == 4, has_reset = n->gates == 3 && !n->linear_before_reset;
  tn_gpu_in(g, n->p ? 7 : -1);
  add_state(g, n, read_by(step, 0));
  if (has_c)
    add_state(g, n, read_by(step, 2));
  else
    tn_gpu_none(g);
  if (has_reset)
    add_state(g, n, RESET);
  else
    tn_gpu_none(g);
  for (int32_t k = 0; k < 3; k++) {
    if (tn_has_output(call, (uint32_t)k))
      tn_gpu_out(g, k);
    else
      tn_gpu_none(g);
  }
  add_state(g, n, read_by(step + 1, 0));
  if (has_c)
    add_state(g, n, read_by(step + 1, 2));
  else
    tn_gpu_none(g);
}

static tn_status step_of(const tn_call *call, tn_recorder *r, const rnn *n, int64_t step) {
  tn_gpu g;
  tn_gpu_begin(&g, call, GPU_rnn_step);
  add_inputs(&g, n);
  add_step_states(&g, call, n, step);
  add_constants(&g, n);
  const int64_t list[] = {(int64_t)n->activation[0][1].f,
                          (int64_t)n->activation[0][2].f,
                          n->p != NULL,
                          n->input_forget,
                          n->linear_before_reset,
                          tn_has_output(call, 0),
                          tn_has_output(call, 1),
                          tn_has_output(call, 2)};
  for (size_t k = 0; k < sizeof list / sizeof *list; k++) tn_gpu_const(&g, list[k]);
  add_params(&g, n, step, 3);
  return run(&g, r, n);
}

static tn_status record(const tn_call *call, tn_recorder *r, int32_t gates) {
  rnn n;
  tn_status status = rnn_make(call, gates, &n);
  if (!status) status = begin(call, r, &n, n.h0, 5, 0);
  if (!status && gates == 4) status = begin(call, r, &n, n.c0, 6, 2);
  for (int64_t k = 0; k < n.steps && !status; k++) {
    if (gates == 3 && !n.linear_before_reset) status = reset(call, r, &n, k);
    if (!status) status = step_of(call, r, &n, k);
  }
  return status;
}

#define OPERATOR(name, gates)                                                        \
  const char *name##_gpu_refuse(const tn_call *call) { return refuse(call, gates); } \
  tn_status name##_gpu_plan(const tn_call *call, tn_kernel_plan *out) {              \
    return plan(call, gates, out);                                                   \
  }                                                                                  \
  tn_status name##_gpu_record(const tn_call *call, tn_recorder *recorder) {          \
    return record(call, recorder, gates);                                            \
  }
OPERATOR(rnn, 1)
OPERATOR(gru, 3)
OPERATOR(lstm, 4)
#endif
