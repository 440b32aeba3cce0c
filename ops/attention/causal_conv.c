/* CausalConvWithState: inference, reference and portable kernel. An item is a channel of a
 * batch. */
#include <math.h>
#include <string.h>

#include "attention.gen.h"
#include "tenon/kit/infer.h"
#include "tenon/kit/vmath.h"

typedef struct causal {
  int64_t batch, channels, n, taps;
  bool silu;
} causal;

static bool says(tn_str s, const char *text) {
  return s.size == (int64_t)strlen(text) && !memcmp(s.data, text, (size_t)s.size);
}

static tn_status make(const tn_call *call, causal *out) {
  const tn_str activation = ((const tn_causal_conv_with_state_attrs *)call->attrs)->activation;
  const tn_tensor *x = call->inputs[0], *w = call->inputs[1],
                  *bias = tn_has_input(call, 2) ? call->inputs[2] : NULL;
  const tn_tensor *past = tn_has_input(call, 3) ? call->inputs[3] : NULL;
  const bool silu = says(activation, "silu") || says(activation, "swish");
  if (!silu && !says(activation, "none"))
    return call->host->fail(call->ctx, TN_ERR_INVALID,
                            "activation is none of none, silu and swish");
  bool fits = x->rank == 3 && w->rank == 3 && w->shape[0] == x->shape[1] && w->shape[1] == 1 &&
              w->shape[2] > 0;
  if (fits && bias) fits = bias->rank == 1 && bias->shape[0] == x->shape[1];
  if (fits && past)
    fits = past->rank == 3 && past->shape[0] == x->shape[0] && past->shape[1] == x->shape[1] &&
           past->shape[2] == w->shape[2] - 1;
  if (!fits)
    return call->host->fail(call->ctx, TN_ERR_SHAPE,
                            "input, weight, bias and past_state do not fit together");
  *out = (causal){x->shape[0], x->shape[1], x->shape[2], w->shape[2], silu};
  return TN_OK;
}

tn_status causal_conv_with_state_infer(const tn_call *call) {
  causal c;
  tn_status s = make(call, &c);
  if (s) return s;
  tn_infer_shape(call, 1, TN_NONE, 3, (int64_t[]){c.batch, c.channels, c.taps - 1});
  return tn_infer_like(call, 0, 0);
}

/* Element t of the past and the input of one channel, one after the other. */
static double before(const tn_call *call, const causal *c, int64_t item, int64_t t) {
  const tn_tensor *past = tn_has_input(call, 3) ? call->inputs[3] : NULL;
  if (t >= c->taps - 1)
    return tn_load_f64(call->inputs[0]->dtype, call->inputs[0]->data,
                       item * c->n + t - (c->taps - 1));
  return past ? tn_load_f64(past->dtype, past->data, item * (c->taps - 1) + t) : 0;
}

tn_status causal_conv_with_state_reference(const tn_call *call) {
  const tn_tensor *w = call->inputs[1], *y = call->outputs[0], *state = call->outputs[1];
  causal c;
  tn_status s = make(call, &c);
  for (int64_t k = 0; !s && k < c.batch * c.channels * c.n; k++) {
    const int64_t item = k / c.n, channel = item % c.channels;
    double sum = tn_has_input(call, 2) ? tn_load_f64(w->dtype, call->inputs[2]->data, channel) : 0;
    for (int64_t j = 0; j < c.taps; j++)
      sum += tn_load_f64(w->dtype, w->data, channel * c.taps + j) *
             before(call, &c, item, k % c.n + j);
    tn_store_f64(y->dtype, y->data, k, c.silu ? sum / (1 + exp(-sum)) : sum);
  }
  for (int64_t k = 0; !s && state && k < c.batch * c.channels * (c.taps - 1); k++)
    tn_store_f64(state->dtype, state->data, k,
                 before(call, &c, k / (c.taps - 1), c.n + k % (c.taps - 1)));
  return s;
}

tn_status causal_conv_with_state_plan(const tn_call *call, tn_kernel_plan *out) {
  causal c;
  tn_status s = make(call, &c);
  if (s) return s;
  out->items[0] = c.batch * c.channels;
  out->grain[0] = tn_grain(10000, (double)c.n * (double)c.taps);
  out->cost_ns = 200 + 0.3 * (double)out->items[0] * (double)c.n * (double)c.taps;
  return TN_OK;
}

/* past has taps - 1 elements, or is NULL for zeros. */
static void convolve(const causal *c, const float *x, const float *past, const float *w, float bias,
                     float *y) {
  for (int64_t t = 0; t < c->n; t++) y[t] = bias;
  for (int64_t j = 0; j < c->taps; j++) {
    const int64_t back = c->taps - 1 - j,
                  early = tn_min_i64(back, c->n); /* y[t] sees x[t - back] through tap j */
    for (int64_t t = 0; past && t < early; t++) y[t] += w[j] * past[t + j];
    for (int64_t t = early; t < c->n; t++) y[t] += w[j] * x[t - back];
  }
  for (int64_t t = 0; c->silu && t < c->n; t++) y[t] = tn_silu_f32(y[t]);
}

static void remember(const causal *c, const float *x, const float *past, float *state) {
  for (int64_t k = 0; k < c->taps - 1; k++) {
    const int64_t t = c->n + k; /* in past and input */
    state[k] = t >= c->taps - 1 ? x[t - (c->taps - 1)] : past ? past[t] : 0;
  }
}

tn_status causal_conv_with_state_f32_c(const tn_call *call, uint32_t stage, int64_t begin,
                                       int64_t end, uint32_t worker) {
  (void)stage, (void)worker;
  const float *bias = tn_has_input(call, 2) ? call->inputs[2]->data : NULL,
              *past = tn_has_input(call, 3) ? call->inputs[3]->data : NULL;
  causal c;
  tn_status s = make(call, &c);
  for (int64_t item = begin; !s && item < end; item++) {
    const int64_t channel = item % c.channels;
    const float *x = (const float *)call->inputs[0]->data + item * c.n,
                *own = past ? past + item * (c.taps - 1) : NULL;
    convolve(&c, x, own, (const float *)call->inputs[1]->data + channel * c.taps,
             bias ? bias[channel] : 0, (float *)call->outputs[0]->data + item * c.n);
    if (tn_has_output(call, 1))
      remember(&c, x, own, (float *)call->outputs[1]->data + item * (c.taps - 1));
  }
  return s;
}
