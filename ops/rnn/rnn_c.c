/* Portable recurrent kernel. Stage 0 multiplies all inputs by W, a row (step, sequence) per item:
 * that part has no dependencies. Stage 1 walks through time, a sequence and direction per item. */
#include <math.h>
#include <string.h>

#include "cell.h"
#include "tenon/kit/infer.h"
#include "tenon/kit/vmath.h"

static tn_status plan(const tn_call *call, int32_t gates, tn_kernel_plan *out) {
  rnn n;
  tn_status s = rnn_make(call, gates, &n);
  if (s) return s;
  int64_t width = n.gates * n.hidden, rows = n.directions * n.steps * n.batch,
          bytes = tn_dtype(n.x->dtype)->bits / 8, room;
  if (tn_mul_i64(rows, width, &room) || tn_mul_i64(room, bytes, &room)) return TN_ERR_OVERFLOW;
  out->scratch_bytes = (uint64_t)room;
  out->worker_scratch_bytes = (uint64_t)(width + 3 * n.hidden) * (uint64_t)bytes;
  out->n_stages = 2;
  out->items[0] = rows;
  out->grain[0] = tn_grain(20000, (double)(width * n.input));
  out->items[1] = n.directions * n.batch;
  out->cost_ns = (double)rows * (double)width * (double)(n.input + n.hidden) / 8 + 1000;
  return TN_OK;
}

typedef float float4 __attribute__((vector_size(16), aligned(4), may_alias));
typedef double double2 __attribute__((vector_size(16), aligned(8), may_alias));

static float dot_float(const float *a, const float *b, int64_t n) {
  float4 s0 = {0}, s1 = {0};
  int64_t k = 0;
  for (; k + 8 <= n; k += 8) {
    s0 += *(const float4 *)(a + k) * *(const float4 *)(b + k);
    s1 += *(const float4 *)(a + k + 4) * *(const float4 *)(b + k + 4);
  }
  s0 += s1;
  float sum = (s0[0] + s0[1]) + (s0[2] + s0[3]);
  for (; k < n; k++) sum += a[k] * b[k];
  return sum;
}

static double dot_double(const double *a, const double *b, int64_t n) {
  double2 s0 = {0};
  int64_t k = 0;
  for (; k + 2 <= n; k += 2) s0 += *(const double2 *)(a + k) * *(const double2 *)(b + k);
  double sum = s0[0] + s0[1];
  for (; k < n; k++) sum += a[k] * b[k];
  return sum;
}

static float activate_float(const rnn_activation *a, float x) {
  if (a->f == RNN_SIGMOID) return tn_sigmoid_f32(x);
  if (a->f == RNN_TANH) return tn_tanh_f32(x);
  return (float)rnn_activate(a, (double)x);
}

static double activate_double(const rnn_activation *a, double x) { return rnn_activate(a, x); }

/* Everything of one type. xw: rows of stage 0, [direction][step][sequence][gates*hidden], biases of
 * both sides added where they may be (GRU with linear_before_reset keeps Rb of gate h apart). */
#define RNN_OF(T)                                                                                 \
  static const T *data_##T(const tn_tensor *t, int64_t offset) {                                  \
    return t ? (const T *)t->data + offset : NULL;                                                \
  }                                                                                               \
  static T clip_##T(const rnn *n, T x) {                                                          \
    const T c = (T)n->clip;                                                                       \
    return c <= 0 ? x : x > c ? c : x < -c ? -c : x;                                              \
  }                                                                                               \
  static T act_##T(const rnn *n, int64_t d, int k, T x) {                                         \
    return activate_##T(&n->activation[d][k], clip_##T(n, x));                                    \
  }                                                                                               \
  static void project_##T(const rnn *n, int64_t item, T *xw) {                                    \
    int64_t b = item % n->batch, t = item / n->batch % n->steps, d = item / n->batch / n->steps;  \
    int64_t width = n->gates * n->hidden;                                                         \
    const T *x = data_##T(n->x, rnn_x_row(n, t, b)), *w = data_##T(n->w, d * width * n->input);   \
    const T *bias = data_##T(n->b, d * 2 * width);                                                \
    for (int64_t u = 0; u < width; u++) {                                                         \
      bool apart = n->linear_before_reset && u >= 2 * n->hidden;                                  \
      xw[item * width + u] = dot_##T(x, w + u * n->input, n->input) +                             \
                             (bias ? bias[u] + (apart ? 0 : bias[width + u]) : 0);                \
    }                                                                                             \
  }                                                                                               \
  static void lstm_##T(const rnn *n, int64_t d, const T *g, T *h, T *c) {                         \
    int64_t H = n->hidden;                                                                        \
    const T *p = data_##T(n->p, d * 3 * H);                                                       \
    for (int64_t u = 0; u < H; u++) {                                                             \
      T i = act_##T(n, d, 0, g[u] + (p ? p[u] * c[u] : 0));                                       \
      T f = n->input_forget ? 1 - i                                                               \
                            : act_##T(n, d, 0, g[2 * H + u] + (p ? p[2 * H + u] * c[u] : 0));     \
      T now = f * c[u] + i * act_##T(n, d, 1, g[3 * H + u]);                                      \
      T o = act_##T(n, d, 0, g[H + u] + (p ? p[H + u] * now : 0));                                \
      c[u] = now;                                                                                 \
      h[u] = o * activate_##T(&n->activation[d][2], now);                                         \
    }                                                                                             \
  }                                                                                               \
  static void gru_##T(const rnn *n, int64_t d, const T *x, const T *r, T *g, T *h, T *scaled) {   \
    int64_t H = n->hidden;                                                                        \
    const T *bias = data_##T(n->b, (d * 2 + 1) * 3 * H + 2 * H);                                  \
    for (int64_t u = 0; u < 2 * H; u++) g[u] = act_##T(n, d, 0, x[u] + dot_##T(h, r + u * H, H)); \
    for (int64_t u = 0; u < H; u++) scaled[u] = n->linear_before_reset ? h[u] : g[H + u] * h[u];  \
    for (int64_t u = 0; u < H; u++) {                                                             \
      T state = dot_##T(scaled, r + (2 * H + u) * H, H);                                          \
      if (n->linear_before_reset) state = g[H + u] * (state + (bias ? bias[u] : 0));              \
      g[2 * H + u] = act_##T(n, d, 1, x[2 * H + u] + state);                                      \
    }                                                                                             \
    for (int64_t u = 0; u < H; u++) h[u] = (1 - g[u]) * g[2 * H + u] + g[u] * h[u];               \
  }                                                                                               \
  static void step_##T(const rnn *n, int64_t d, const T *x, T *g, T *h, T *c, T *scaled) {        \
    int64_t H = n->hidden, width = n->gates * H;                                                  \
    const T *r = data_##T(n->r, d * width * H);                                                   \
    if (n->gates == 3) {                                                                          \
      gru_##T(n, d, x, r, g, h, scaled);                                                          \
      return;                                                                                     \
    }                                                                                             \
    for (int64_t u = 0; u < width; u++) g[u] = x[u] + dot_##T(h, r + u * H, H);                   \
    if (n->gates == 4)                                                                            \
      lstm_##T(n, d, g, h, c);                                                                    \
    else                                                                                          \
      for (int64_t u = 0; u < H; u++) h[u] = act_##T(n, d, 0, g[u]);                              \
  }                                                                                               \
  static void sequence_##T(const tn_call *call, const rnn *n, int64_t d, int64_t b, T *room) {    \
    int64_t H = n->hidden, width = n->gates * H, length = rnn_length(n, b),                       \
            state = rnn_state_row(n, d, b);                                                       \
    T *g = room, *h = g + width, *c = h + H, *scaled = c + H;                                     \
    const T *h0 = data_##T(n->h0, state), *c0 = data_##T(n->c0, state), *xw = call->scratch;      \
    size_t bytes = (size_t)H * sizeof(T);                                                         \
    for (int64_t u = 0; u < H; u++) h[u] = h0 ? h0[u] : 0, c[u] = c0 ? c0[u] : 0;                 \
    for (int64_t k = 0; k < n->steps; k++) {                                                      \
      int64_t t = k < length && (d == 1 || n->reverse) ? length - 1 - k : k;                      \
      if (k < length)                                                                             \
        step_##T(n, d, xw + ((d * n->steps + t) * n->batch + b) * width, g, h, c, scaled);        \
      if (!tn_has_output(call, 0)) continue;                                                      \
      T *y = (T *)call->outputs[0]->data + rnn_y_row(n, t, d, b);                                 \
      if (k < length)                                                                             \
        memcpy(y, h, bytes);                                                                      \
      else                                                                                        \
        memset(y, 0, bytes);                                                                      \
    }                                                                                             \
    if (tn_has_output(call, 1)) memcpy((T *)call->outputs[1]->data + state, h, bytes);            \
    if (tn_has_output(call, 2)) memcpy((T *)call->outputs[2]->data + state, c, bytes);            \
  }
RNN_OF(float)
RNN_OF(double)

#define RUN(name, T, gates)                                                                      \
  tn_status name(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,                \
                 uint32_t worker) {                                                              \
    rnn n;                                                                                       \
    tn_status s = rnn_make(call, gates, &n);                                                     \
    if (s) return s;                                                                             \
    T *room = (T *)(void *)((char *)call->worker_scratch + worker * call->worker_scratch_bytes); \
    for (int64_t item = begin; item < end; item++) {                                             \
      if (stage == 0)                                                                            \
        project_##T(&n, item, call->scratch);                                                    \
      else                                                                                       \
        sequence_##T(call, &n, item / n.batch, item % n.batch, room);                            \
    }                                                                                            \
    return TN_OK;                                                                                \
  }
#define OPERATOR(name, gates)                                       \
  tn_status name##_plan(const tn_call *call, tn_kernel_plan *out) { \
    return plan(call, gates, out);                                  \
  }                                                                 \
  RUN(name##_f32_c, float, gates)                                   \
  RUN(name##_f64_c, double, gates)
OPERATOR(rnn, 1)
OPERATOR(gru, 3)
OPERATOR(lstm, 4)
