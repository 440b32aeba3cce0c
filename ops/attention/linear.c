/* LinearAttention: inference, reference and portable kernel. An item is a head of keys of a batch,
 * with all queries that read it. */
#include <math.h>
#include <string.h>

#include "attention.gen.h"
#include "tenon/kit/infer.h"
#include "tenon/kit/vmath.h"

enum { QUERY, KEY, VALUE, STATE, DECAY, BETA };

typedef struct linear {
  int64_t batch, n, q_heads, heads, size, v_size;
  int64_t decays, betas; /* values per row; 0: the rule has none */
  double scale;
} linear;

static bool says(tn_str s, const char *text) {
  return s.size == (int64_t)strlen(text) && !memcmp(s.data, text, (size_t)s.size);
}
static tn_status reject(const tn_call *call, const char *what) {
  return call->host->fail(call->ctx, TN_ERR_SHAPE, "%s", what);
}

static bool is_rows(const tn_tensor *t, const linear *l) {
  return t->rank == 3 && t->shape[0] == l->batch && t->shape[1] == l->n;
}

static tn_status make_rule(const tn_call *call, linear *l) {
  const tn_str rule = ((const tn_linear_attention_attrs *)call->attrs)->update_rule;
  const bool both = says(rule, "gated_delta"), gated = both || says(rule, "gated"),
             delta = both || says(rule, "delta");
  const tn_tensor *decay = tn_has_input(call, DECAY) ? call->inputs[DECAY] : NULL,
                  *beta = tn_has_input(call, BETA) ? call->inputs[BETA] : NULL;
  if (!gated && !delta && !says(rule, "linear"))
    return reject(call, "update_rule is none of linear, gated, delta and gated_delta");
  if (gated != (decay != NULL) || delta != (beta != NULL))
    return reject(call, "decay or beta is missing, or not part of the update_rule");
  if ((decay && !is_rows(decay, l)) || (beta && !is_rows(beta, l)))
    return reject(call, "decay or beta does not fit the keys");
  if (decay) l->decays = decay->shape[2];
  if (beta) l->betas = beta->shape[2];
  if ((decay && l->decays != l->heads && l->decays != l->heads * l->size) ||
      (beta && l->betas != l->heads && l->betas != 1))
    return reject(call, "decay or beta does not have one value per head, or per element of it");
  return TN_OK;
}

static tn_status make(const tn_call *call, linear *out) {
  const tn_linear_attention_attrs *a = call->attrs;
  const tn_tensor *q = call->inputs[QUERY], *k = call->inputs[KEY], *v = call->inputs[VALUE],
                  *state = tn_has_input(call, STATE) ? call->inputs[STATE] : NULL;
  linear l = {.q_heads = a->q_num_heads, .heads = a->kv_num_heads, .scale = a->scale};
  if (q->rank != 3 || !tn_divides(l.heads, l.q_heads) || !tn_divides(l.q_heads, q->shape[2]))
    return reject(call,
                  "query has rank 3, kv_num_heads divides q_num_heads, and that its last dim");
  l.batch = q->shape[0], l.n = q->shape[1], l.size = q->shape[2] / l.q_heads;
  if (!is_rows(k, &l) || !is_rows(v, &l) || k->shape[2] != l.heads * l.size ||
      v->shape[2] % l.heads)
    return reject(call, "query, key, value and the numbers of heads do not fit together");
  l.v_size = v->shape[2] / l.heads;
  const int64_t want[4] = {l.batch, l.heads, l.size, l.v_size};
  for (int d = 0; state && d < 4; d++)
    if (state->rank != 4 || state->shape[d] != want[d])
      return reject(call, "past_state is not [batch, kv heads, key size, value size]");
  if (l.scale == 0) l.scale = l.size ? 1 / sqrt((double)l.size) : 1;
  tn_status s = make_rule(call, &l);
  *out = l;
  return s;
}

tn_status linear_attention_infer(const tn_call *call) {
  linear l;
  tn_status s = make(call, &l);
  if (s) return s;
  tn_infer_shape(call, 0, TN_NONE, 3, (int64_t[]){l.batch, l.n, l.q_heads * l.v_size});
  tn_infer_shape(
      call, 1, tn_has_input(call, STATE) ? call->inputs[STATE]->dtype : call->inputs[QUERY]->dtype,
      4, (int64_t[]){l.batch, l.heads, l.size, l.v_size});
  return TN_OK;
}

tn_status linear_attention_flops(const tn_call *call, double *out_flops) {
  linear l;
  tn_status s = make(call, &l);
  if (!s)
    *out_flops = (double)(l.batch * l.n) * (double)(l.size * l.v_size) *
                 (double)(5 * l.heads + 2 * l.q_heads);
  return s;
}

/* ---- reference ---- */

static double at(const tn_call *call, uint32_t input, int64_t k) {
  return tn_load_f64(call->inputs[input]->dtype, call->inputs[input]->data, k);
}

/* One step of one head; state[size][v_size]. row: of all rows of all batches. */
static void reference_step(const tn_call *call, const linear *l, int64_t row, int64_t head,
                           double *state) {
  const int64_t per_head = l->decays / l->heads, k0 = (row * l->heads + head) * l->size,
                v0 = (row * l->heads + head) * l->v_size;
  for (int64_t d = 0; d < l->size && l->decays; d++)
    for (int64_t m = 0; m < l->v_size; m++)
      state[d * l->v_size + m] *=
          exp(at(call, DECAY, row * l->decays + head * per_head + (per_head > 1 ? d : 0)));
  for (int64_t m = 0; m < l->v_size; m++) {
    double v = at(call, VALUE, v0 + m), known = 0;
    for (int64_t d = 0; d < l->size; d++) known += state[d * l->v_size + m] * at(call, KEY, k0 + d);
    if (l->betas) v = at(call, BETA, row * l->betas + (l->betas > 1 ? head : 0)) * (v - known);
    for (int64_t d = 0; d < l->size; d++) state[d * l->v_size + m] += at(call, KEY, k0 + d) * v;
  }
  for (int64_t q = head * (l->q_heads / l->heads); q < (head + 1) * (l->q_heads / l->heads); q++)
    for (int64_t m = 0; m < l->v_size; m++) {
      double sum = 0;
      for (int64_t d = 0; d < l->size; d++)
        sum += at(call, QUERY, (row * l->q_heads + q) * l->size + d) * state[d * l->v_size + m];
      tn_store_f64(call->outputs[0]->dtype, call->outputs[0]->data,
                   (row * l->q_heads + q) * l->v_size + m, sum * l->scale);
    }
}

tn_status linear_attention_reference(const tn_call *call) {
  linear l;
  tn_status s = make(call, &l);
  const int64_t n = s ? 0 : l.size * l.v_size;
  double *state = s ? NULL : call->host->alloc(call->ctx, (uint64_t)(n + 1) * sizeof *state);
  if (!state) return s ? s : TN_ERR_MEMORY;
  for (int64_t item = 0; item < l.batch * l.heads; item++) {
    for (int64_t k = 0; k < n; k++)
      state[k] = tn_has_input(call, STATE) ? at(call, STATE, item * n + k) : 0;
    for (int64_t t = 0; t < l.n; t++)
      reference_step(call, &l, item / l.heads * l.n + t, item % l.heads, state);
    for (int64_t k = 0; k < n && tn_has_output(call, 1); k++)
      tn_store_f64(call->outputs[1]->dtype, call->outputs[1]->data, item * n + k, state[k]);
  }
  call->host->free(call->ctx, state);
  return TN_OK;
}

/* ---- kernel ---- */

tn_status linear_attention_plan(const tn_call *call, tn_kernel_plan *out) {
  linear l;
  int64_t floats;
  tn_status s = make(call, &l);
  if (s) return s;
  if (tn_mul_i64(l.size + 1, l.v_size, &floats) ||
      tn_mul_i64(floats, (int64_t)sizeof(float), &floats))
    return TN_ERR_OVERFLOW;
  out->items[0] = l.batch * l.heads;
  out->worker_scratch_bytes = (uint64_t)floats;
  out->cost_ns =
      500 + 0.5 * (double)(l.batch * l.n) * (double)(l.size * l.v_size) * (double)l.q_heads;
  return TN_OK;
}

/* value: [v_size], room. */
static void step(const tn_call *call, const linear *l, int64_t row, int64_t head, float *state,
                 float *value) {
  const float *k = (const float *)call->inputs[KEY]->data + (row * l->heads + head) * l->size;
  const float *v = (const float *)call->inputs[VALUE]->data + (row * l->heads + head) * l->v_size;
  const int64_t n = l->v_size, per_head = l->decays / l->heads;
  const float *decay =
      l->decays ? (const float *)call->inputs[DECAY]->data + row * l->decays + head * per_head
                : NULL;
  memcpy(value, v, (size_t)n * sizeof *v);
  for (int64_t d = 0; d < l->size && decay; d++) {
    const float keep = tn_exp_f32(decay[per_head > 1 ? d : 0]);
    for (int64_t m = 0; m < n; m++) state[d * n + m] *= keep;
  }
  if (l->betas) {
    const float beta =
        ((const float *)call->inputs[BETA]->data)[row * l->betas + (l->betas > 1 ? head : 0)];
    for (int64_t d = 0; d < l->size; d++)
      for (int64_t m = 0; m < n; m++) value[m] -= k[d] * state[d * n + m];
    for (int64_t m = 0; m < n; m++) value[m] *= beta;
  }
  for (int64_t d = 0; d < l->size; d++)
    for (int64_t m = 0; m < n; m++) state[d * n + m] += k[d] * value[m];
}

static void read_state(const tn_call *call, const linear *l, int64_t row, int64_t head,
                       const float *state) {
  const int64_t group = l->q_heads / l->heads, n = l->v_size;
  for (int64_t h = head * group; h < (head + 1) * group; h++) {
    const float *q = (const float *)call->inputs[QUERY]->data + (row * l->q_heads + h) * l->size;
    float *y = (float *)call->outputs[0]->data + (row * l->q_heads + h) * n;
    for (int64_t m = 0; m < n; m++) y[m] = 0;
    for (int64_t d = 0; d < l->size; d++) {
      const float x = q[d] * (float)l->scale;
      for (int64_t m = 0; m < n; m++) y[m] += x * state[d * n + m];
    }
  }
}

tn_status linear_attention_f32_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                                 uint32_t worker) {
  (void)stage;
  linear l;
  tn_status s = make(call, &l);
  if (s) return s;
  const int64_t n = l.size * l.v_size;
  float *state =
      (float *)(void *)((char *)call->worker_scratch + worker * call->worker_scratch_bytes);
  for (int64_t item = begin; item < end; item++) {
    for (int64_t k = 0; k < n; k++)
      state[k] = tn_has_input(call, STATE) ? (float)at(call, STATE, item * n + k) : 0;
    for (int64_t t = 0; t < l.n; t++) {
      const int64_t row = item / l.heads * l.n + t;
      step(call, &l, row, item % l.heads, state, state + n);
      read_state(call, &l, row, item % l.heads, state);
    }
    for (int64_t k = 0; k < n && tn_has_output(call, 1); k++)
      tn_store_f64(call->outputs[1]->dtype, call->outputs[1]->data, item * n + k, (double)state[k]);
  }
  return TN_OK;
}
