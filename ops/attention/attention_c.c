/* Portable attention, a row of queries at a time, with all scores of the row in scratch: serves
 * what the tiled kernel does not, that is f64 and qk_matmul_output. Also the copying of keys and
 * values into the new cache, which all kernels share. */
#include <math.h>
#include <string.h>

#include "attention.h"
#include "tenon/kit/vmath.h"

tn_status attention_plan_present(const tn_call *call, const attention *a, tn_kernel_plan *out) {
  const bool present = tn_has_output(call, 1) || tn_has_output(call, 2);
  out->n_stages = 2;
  out->items[0] = present ? a->batch * a->kv_heads : 0;
  out->grain[0] = tn_grain(20000, (double)a->total * (double)(a->size + a->v_size));
  return TN_OK;
}

void attention_copy_present(const tn_call *call, const attention *a, int64_t begin, int64_t end) {
  const int64_t bytes = tn_dtype(call->inputs[0]->dtype)->bits / 8;
  for (uint32_t k = 1; k <= 2; k++) {
    if (!tn_has_output(call, k)) continue;
    const int64_t row = (k == 1 ? a->size : a->v_size) * bytes;
    char *to = (char *)call->outputs[k]->data + begin * a->total * row;
    for (int64_t item = begin; item < end && row; item++)
      for (int64_t j = 0; j < a->total; j++, to += row)
        memcpy(to,
               attention_row(call, a, k == 1 ? ATTENTION_K : ATTENTION_V, item / a->kv_heads,
                             item % a->kv_heads, j, bytes),
               (size_t)row);
  }
}

tn_status attention_plan(const tn_call *call, tn_kernel_plan *out) {
  attention a;
  tn_status s = attention_make(call, &a);
  if (s) return s;
  out->items[1] = attention_writes(call, &a) ? a.batch * a.heads * a.n_q : 0;
  out->grain[1] = tn_grain(10000, (double)a.total * (double)(a.size + a.v_size));
  out->worker_scratch_bytes =
      (uint64_t)(a.total + 1) * (tn_dtype(call->inputs[0]->dtype)->bits / 8);
  out->cost_ns = (double)out->items[1] * (double)a.total * (double)(a.size + a.v_size) + 500;
  return attention_plan_present(call, &a, out);
}

/* The mask's value for key j of the row that begins at `row`. */
static double mask_at(const tn_call *call, const attention *a, int64_t row, int64_t j) {
  if (!a->mask_columns) return 0;
  const tn_tensor *m = call->inputs[ATTENTION_MASK];
  const double value = tn_load_f64(m->dtype, m->data, row + j);
  return m->dtype != TN_BOOL ? value : value != 0 ? 0 : -INFINITY;
}

#define ROWS(T, EXP, TANH)                                                                         \
  static void scores_##T(const tn_call *call, const attention *a, int64_t b, int64_t h, int64_t i, \
                         T *s, T *qk, int64_t mode) {                                              \
    const T *q = (const T *)call->inputs[0]->data + b * a->q.batch + h * a->q.head + i * a->q.row; \
    const int64_t row = attention_mask_row(a, b, h, i);                                            \
    int64_t begin, end;                                                                            \
    attention_keys(a, b, i, &begin, &end);                                                         \
    for (int64_t j = 0; j < a->total; j++) {                                                       \
      const T *k =                                                                                 \
          attention_row(call, a, ATTENTION_K, b, h / (a->heads / a->kv_heads), j, sizeof(T));      \
      T sum = 0;                                                                                   \
      for (int64_t c = 0; c < a->size; c++) sum += q[c] * k[c];                                    \
      sum *= (T)a->scale;                                                                          \
      if (qk && mode == 0) qk[j] = sum;                                                            \
      if (a->softcap > 0) sum = (T)a->softcap * TANH(sum / (T)a->softcap);                         \
      if (qk && mode == 1) qk[j] = sum;                                                            \
      const T more = j >= begin && j < end ? (T)mask_at(call, a, row, j) : (T)-INFINITY;           \
      s[j] = more == (T)-INFINITY ? more : sum + more;                                             \
      if (qk && mode == 2) qk[j] = s[j];                                                           \
    }                                                                                              \
  }                                                                                                \
  static void probabilities_##T(T *s, int64_t n) {                                                 \
    T top = (T)-INFINITY, sum = 0;                                                                 \
    for (int64_t j = 0; j < n; j++) top = s[j] > top || s[j] != s[j] ? s[j] : top;                 \
    for (int64_t j = 0; j < n; j++) sum += s[j] = top == (T)-INFINITY ? 0 : EXP(s[j] - top);       \
    for (int64_t j = 0; j < n; j++) s[j] = sum == 0 ? 0 : s[j] / sum;                              \
  }                                                                                                \
  static void row_##T(const tn_call *call, const attention *a, int64_t item, T *s) {               \
    const int64_t b = item / a->n_q / a->heads, h = item / a->n_q % a->heads, i = item % a->n_q;   \
    const int64_t mode = ((const tn_attention_attrs *)call->attrs)->qk_matmul_output_mode;         \
    T *qk = tn_has_output(call, 3) ? (T *)call->outputs[3]->data + item * a->total : NULL;         \
    T *y = (T *)call->outputs[0]->data + b * a->y.batch + h * a->y.head + i * a->y.row;            \
    scores_##T(call, a, b, h, i, s, qk, mode);                                                     \
    probabilities_##T(s, a->total);                                                                \
    for (int64_t j = 0; j < a->total && qk && mode == 3; j++) qk[j] = s[j];                        \
    for (int64_t c = 0; c < a->v_size; c++) y[c] = 0;                                              \
    for (int64_t j = 0; j < a->total; j++) {                                                       \
      if (s[j] == 0) continue;                                                                     \
      const T *v =                                                                                 \
          attention_row(call, a, ATTENTION_V, b, h / (a->heads / a->kv_heads), j, sizeof(T));      \
      for (int64_t c = 0; c < a->v_size; c++) y[c] += s[j] * v[c];                                 \
    }                                                                                              \
  }                                                                                                \
  static tn_status run_##T(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,        \
                           uint32_t worker) {                                                      \
    attention a;                                                                                   \
    tn_status status = attention_make(call, &a);                                                   \
    T *room = (T *)(void *)((char *)call->worker_scratch + worker * call->worker_scratch_bytes);   \
    if (!status && stage == 0) attention_copy_present(call, &a, begin, end);                       \
    for (int64_t item = begin; !status && stage == 1 && item < end; item++)                        \
      row_##T(call, &a, item, room);                                                               \
    return status;                                                                                 \
  }
ROWS(float, tn_exp_f32, tn_tanh_f32)
ROWS(double, exp, tanh)

tn_status attention_f32_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                          uint32_t worker) {
  return run_float(call, stage, begin, end, worker);
}

tn_status attention_f64_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                          uint32_t worker) {
  return run_double(call, stage, begin, end, worker);
}
