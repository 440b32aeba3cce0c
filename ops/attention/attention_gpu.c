/* Attention on GPUs: a row of queries of one head a group. Scores of the row lie in scratch between
 * the two products. */
#ifdef TN_GPU
/* Past and new keys (or values) into one: [batch][head][past + new][size]. */
KERNEL(attention_present, (IN(PAST), IN(NEW), OUT(Y)),
       (INT(n), INT(heads), INT(past), INT(total), INT(size), INTS(step, 3)), 64, 1, 1) {
  int i = GLOBAL(0);
  if (i < n) {
    int c = i % size, row = i / size % total, head = i / size / total;
    if (row < past) {
      MOVE(Y, i, PAST, (head * past + row) * size + c);
    } else {
      MOVE(Y, i, NEW, head / heads * step0 + head % heads * step1 + (row - past) * step2 + c);
    }
  }
}

KERNEL(attention, (IN(Q), IN(K), IN(V), IN(MASK), OUT(S), OUT(Y)),
       (CONST(HAS_MASK), CONST(IS_BOOL), CONST(CAUSAL), INT(heads), INT(sharing), INT(n_q),
        INT(past), INT(total), INT(size), INT(v_size), INT(columns), INT(left), INT(right),
        INTS(sq, 3), INTS(sk, 3), INTS(sv, 3), INTS(sy, 3), INTS(sm, 3), FLOAT(scale),
        FLOAT(softcap)),
       64, 1, 1) {
  LOCAL(float, part, 64);
  int t = LOCAL_ID(0), row = GROUP(0), head = GROUP(1), batch = GROUP(2);
  int q = batch * sq0 + head * sq1 + row * sq2, k = batch * sk0 + head / sharing * sk1;
  int v = batch * sv0 + head / sharing * sv1, s = ((batch * heads + head) * n_q + row) * total;
  int mask = batch * sm0 + head * sm1 + row * sm2, begin = 0, end = total, place = row + past;
  if (CAUSAL != 0 && end > place + 1) end = place + 1;
  if (right >= 0 && end > place + right + 1) end = place + right + 1;
  if (left >= 0 && place - left > 0) begin = place - left;
  if (HAS_MASK != 0 && end > columns) end = columns;
  float top = -INFINITY, sum = 0.0f;
  for (int j = begin + t; j < end; j += 64) {
    float x = 0.0f;
    for (int c = 0; c < size; c++) x += LD1(Q, q + c) * LD1(K, k + j * sk2 + c);
    x *= scale;
    if (softcap > 0.0f) x = softcap * tanh(x / softcap);
    if (HAS_MASK != 0) {
      if (IS_BOOL != 0)
        x = LDI(MASK, mask + j) != 0 ? x : -INFINITY;
      else
        x += LD1(MASK, mask + j);
    }
    ST1(S, s + j, x);
    top = x > top || IS_NAN(x) ? x : top;
  }
  part[t] = top;
  BARRIER();
  for (int i = 0; i < 64; i++) top = part[i] > top || IS_NAN(part[i]) ? part[i] : top;
  BARRIER();
  for (int j = begin + t; j < end; j += 64) {
    float x = top == -INFINITY ? 0.0f : exp(LD1(S, s + j) - top);
    ST1(S, s + j, x);
    sum += x;
  }
  part[t] = sum;
  BARRIER();
  sum = 0.0f;
  for (int i = 0; i < 64; i++) sum += part[i];
  float weight = sum == 0.0f ? 0.0f : 1.0f / sum;
  for (int c = t; c < v_size; c += 64) {
    float y = 0.0f;
    for (int j = begin; j < end; j++) {
      float p = LD1(S, s + j);
      if (p != 0.0f) y += p * LD1(V, v + j * sv2 + c);
    }
    y *= weight;
    ST1(Y, batch * sy0 + head * sy1 + row * sy2 + c, y);
  }
}
#else
#include "attention.h"
#include "tenon/experimental/gpu.h"

const char *attention_gpu_refuse(const tn_call *call) {
  attention a;
  if (attention_make(call, &a)) return "its shapes do not fit";
  if (tn_has_input(call, ATTENTION_LENGTHS)) return "takes no lengths of keys";
  if (tn_has_output(call, 3)) return "gives no scores";
  if (a.past && (!tn_has_output(call, 1) || !tn_has_output(call, 2)))
    return "takes cached keys and values where it gives the new ones";
  if (a.heads > UINT16_MAX || a.batch > UINT16_MAX) return "takes heads and batches to 65535";
  if ((double)(a.batch * a.heads) * (double)a.n_q * (double)a.total > INT32_MAX)
    return "takes up to 2^31 scores";
  return tn_gpu_refuse_size(call);
}

tn_status attention_gpu_plan(const tn_call *call, tn_kernel_plan *out) {
  attention a;
  const tn_status status = attention_make(call, &a);
  if (status) return status;
  out->scratch_bytes = (uint64_t)(a.batch * a.heads * a.n_q * a.total + 1) * sizeof(float);
  return TN_OK;
}

static void add_steps(tn_gpu *g, attention_steps s) {
  tn_gpu_int(g, s.batch);
  tn_gpu_int(g, s.head);
  tn_gpu_int(g, s.row);
}

/* present_key or present_value: keys of the cache, then the new ones. */
static tn_status present(const tn_call *call, tn_recorder *r, const attention *a, bool keys) {
  const int32_t output = keys ? 1 : 2;
  const int64_t size = keys ? a->size : a->v_size, n = a->batch * a->kv_heads * a->total * size;
  tn_gpu g;
  if (!tn_has_output(call, (uint32_t)output) || !n) return TN_OK;
  tn_gpu_begin(&g, call, GPU_attention_present);
  tn_gpu_in(&g, keys ? ATTENTION_PAST_KEY : ATTENTION_PAST_VALUE);
  tn_gpu_in(&g, keys ? ATTENTION_K : ATTENTION_V);
  tn_gpu_out(&g, output);
  /* what is left out, or empty, is never read */
  for (int k = 0; k < 2; k++)
    if (!g.dtypes[k]) g.dtypes[k] = call->outputs[output]->dtype;
  const int64_t words[] = {n, a->kv_heads, a->past, a->total, size};
  for (size_t k = 0; k < sizeof words / sizeof *words; k++) tn_gpu_int(&g, words[k]);
  add_steps(&g, keys ? a->k : a->v);
  return tn_gpu_run(&g, r, tn_gpu_groups(n, 64), 1, 1);
}

/* Keys or values: as they came, or with the cache before them, what present() has made. */
static attention_steps add_rows(tn_gpu *g, const attention *a, bool keys) {
  const int64_t size = keys ? a->size : a->v_size;
  if (!a->past) {
    tn_gpu_in(g, keys ? ATTENTION_K : ATTENTION_V);
    return keys ? a->k : a->v;
  }
  tn_gpu_out(g, keys ? 1 : 2);
  return (attention_steps){a->kv_heads * a->total * size, a->total * size, size};
}

tn_status attention_gpu_record(const tn_call *call, tn_recorder *recorder) {
  attention a;
  tn_gpu g;
  tn_status status = attention_make(call, &a);
  if (!status) status = present(call, recorder, &a, true);
  if (!status) status = present(call, recorder, &a, false);
  if (status) return status;
  const bool has_mask = a.mask_columns > 0;
  tn_gpu_begin(&g, call, GPU_attention);
  tn_gpu_in(&g, ATTENTION_Q);
  const attention_steps k = add_rows(&g, &a, true), v = add_rows(&g, &a, false);
  tn_gpu_in(&g, has_mask ? ATTENTION_MASK : -1);
  tn_gpu_buffer(&g, TN_BIND_SCRATCH, 0, TN_F32, 0, 0);
  tn_gpu_out(&g, 0);
  tn_gpu_const(&g, has_mask);
  tn_gpu_const(&g, has_mask && call->inputs[ATTENTION_MASK]->dtype == TN_BOOL);
  tn_gpu_const(&g, a.causal);
  const int64_t words[] = {a.heads,  a.kv_heads ? a.heads / a.kv_heads : 1,
                           a.n_q,    a.past,
                           a.total,  a.size,
                           a.v_size, a.mask_columns,
                           a.left,   a.right};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) tn_gpu_int(&g, words[i]);
  const attention_steps steps[] = {a.q, k, v, a.y, a.mask};
  for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) add_steps(&g, steps[i]);
  tn_gpu_float(&g, a.scale);
  tn_gpu_float(&g, a.softcap);
  return tn_gpu_run(&g, recorder, (uint32_t)a.n_q, (uint32_t)a.heads, (uint32_t)a.batch);
}
#endif
