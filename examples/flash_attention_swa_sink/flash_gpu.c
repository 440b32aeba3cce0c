/* flash_attention_2_swa_sink for GPUs, in the dialect of Tenon's docs/add-a-gpu-kernel.md: a group
 * has up to 256 channels of a query of a head. It walks over the keys that the query sees, 64 at a
 * time: each thread computes a score, then adds up its channels of the values. Scores are never
 * stored: what has been summed shrinks whenever a greater one comes. */
#ifdef TN_GPU

KERNEL(flash, (IN(Q), IN(K), IN(V), IN(SINK), OUT(Y)),
       (CONST(HAS_SINK), CONST(CAUSAL), INT(n_q), INT(n_kv), INT(heads), INT(kv_heads), INT(d_qk),
        INT(d_v), INT(window), INT(q_offset), INT(k_offset), FLOAT(scale)),
       64, 1, 1) {
  LOCAL(float, score, 64);
  LOCAL(float, weight, 64);
  int t = LOCAL_ID(0), s = GROUP(0) % n_q, c = GROUP(0) / n_q * 256 + t, h = GROUP(1), b = GROUP(2);
  int kv = h / (heads / kv_heads);
  int q = ((b * n_q + s) * heads + h) * d_qk, y = ((b * n_q + s) * heads + h) * d_v;
  int at = q_offset + s, lo = 0, hi = n_kv;
  if (window > 0) {
    if (at - window + 1 > k_offset) lo = at - window + 1 - k_offset;
    if (hi > at + window - k_offset) hi = at + window - k_offset;
  }
  if (CAUSAL != 0 && hi > at + 1 - k_offset) hi = at + 1 - k_offset;
  float top = -INFINITY, sum = 0.0f, a0 = 0.0f, a1 = 0.0f, a2 = 0.0f, a3 = 0.0f;
  if (HAS_SINK != 0) {
    top = LD1(SINK, h);
    if (top != -INFINITY) sum = exp(top - top);
  }
  for (int first = lo; first < hi; first += 64) {
    int j = first + t, count = hi - first < 64 ? hi - first : 64;
    float x = -INFINITY;
    if (j < hi) {
      int k = ((b * n_kv + j) * kv_heads + kv) * d_qk;
      x = 0.0f;
      for (int d = 0; d < d_qk; d++) x += LD1(Q, q + d) * LD1(K, k + d);
      x *= scale;
    }
    score[t] = x;
    BARRIER();
    float most = top;
    for (int i = 0; i < count; i++) most = score[i] > most || IS_NAN(score[i]) ? score[i] : most;
    weight[t] = x == -INFINITY ? 0.0f : exp(x - most);
    BARRIER();
    float shrink = top == -INFINITY ? 0.0f : exp(top - most);
    sum *= shrink;
    a0 *= shrink;
    a1 *= shrink;
    a2 *= shrink;
    a3 *= shrink;
    for (int i = 0; i < count; i++) {
      int v = ((b * n_kv + first + i) * kv_heads + kv) * d_v + c;
      float p = weight[i];
      sum += p;
      if (c < d_v) a0 += p * LD1(V, v);
      if (c + 64 < d_v) a1 += p * LD1(V, v + 64);
      if (c + 128 < d_v) a2 += p * LD1(V, v + 128);
      if (c + 192 < d_v) a3 += p * LD1(V, v + 192);
    }
    top = most;
  }
  float share = sum == 0.0f ? 0.0f : 1.0f / sum;
  if (c < d_v) ST1(Y, y + c, a0 * share);
  if (c + 64 < d_v) ST1(Y, y + c + 64, a1 * share);
  if (c + 128 < d_v) ST1(Y, y + c + 128, a2 * share);
  if (c + 192 < d_v) ST1(Y, y + c + 192, a3 * share);
}

#else /* what the host sees */

#include <math.h>
#include <tenon/experimental/gpu.h>

#include "flash.gen.h"

enum { SINK = 3, OFFSETS = 4 };

static bool has_input(const tn_call *call, uint32_t k) {
  return call->n_inputs > k && call->inputs[k];
}

const char *flash_attention_gpu_refuse(const tn_call *call) {
  const tn_flash_attention_2_swa_sink_attrs *a = call->attrs;
  static const int64_t most = 1 << 29; /* of each: their sums are ints */
  const tn_tensor *q = call->inputs[0], *k = call->inputs[1];
  if (has_input(call, OFFSETS)) return "offsets of sequences, which the CPU checks first";
  if (q->shape[0] > UINT16_MAX || q->shape[2] > UINT16_MAX)
    return "more than 65535 heads or batches";
  if (a->window > most || a->q_offset > most || a->k_offset > most || q->shape[1] > most ||
      k->shape[1] > most)
    return "positions beyond 2^29";
  const int64_t loops[] = {tn_ceil_div(k->shape[1], 64), q->shape[3] + 2 * 64 + 2};
  const char *reason = tn_gpu_refuse_size(call);
  return reason ? reason : tn_gpu_refuse_rounds(call, tn_gpu_rounds(loops, 2));
}

tn_status flash_attention_gpu_record(const tn_call *call, tn_recorder *recorder) {
  const tn_flash_attention_2_swa_sink_attrs *a = call->attrs;
  const tn_tensor *q = call->inputs[0], *k = call->inputs[1], *v = call->inputs[2];
  const int64_t words[] = {q->shape[1], k->shape[1], q->shape[2], k->shape[2], q->shape[3],
                           v->shape[3], a->window,   a->q_offset, a->k_offset};
  tn_gpu g;
  tn_gpu_begin(&g, call, GPU_flash);
  for (int32_t i = 0; i <= SINK; i++) tn_gpu_in(&g, i);
  tn_gpu_out(&g, 0);
  tn_gpu_const(&g, has_input(call, SINK));
  tn_gpu_const(&g, a->causal);
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) tn_gpu_int(&g, words[i]);
  tn_gpu_float(&g, a->has_scale ? a->scale : 1 / sqrt((double)q->shape[3]));
  const int64_t blocks = (v->shape[3] + 255) / 256; /* of channels */
  return tn_gpu_run(&g, recorder, tn_gpu_groups(q->shape[1] * blocks, 1), (uint32_t)q->shape[2],
                    (uint32_t)q->shape[0]);
}

#endif
