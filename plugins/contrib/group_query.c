/* com.microsoft::GroupQueryAttention. Stage 0 writes the new cache, stage 1 attends to it, a row of
 * a head per item. The reference does the same with other arithmetic: f64, element by element. */
#include <math.h>
#include <string.h>

#include "attention.gen.h"
#include "elements.h"

enum {
  QUERY,
  KEY,
  VALUE,
  PAST_KEY,
  PAST_VALUE,
  LENGTHS,
  TOTAL,
  COSINES,
  SINES,
  POSITIONS,
  BIAS,
  SINK
};

typedef struct grouped {
  int64_t batch, n_q, heads, kv_heads, size, past, total,
      present;            /* present: rows of the cache that comes out */
  int64_t turned, window; /* turned: elements of a head; window: keys that a query sees; -1: all */
  int64_t q_row, kv_row;  /* elements of a row of queries; of keys or values */
  double scale, softcap;
  bool packed, interleaved, sinking; /* sinking: weights need not add up to 1, see sink_of */
} grouped;

static tn_status make_rows(const tn_call *call, grouped *g) {
  const tn_tensor *q = call->inputs[QUERY], *k = input_of(call, KEY), *v = input_of(call, VALUE);
  g->packed = !k;
  if (q->rank != 3 || g->heads < 1 || g->kv_heads < 1 || g->heads % g->kv_heads || !k != !v)
    return fail(
        call, TN_ERR_SHAPE,
        "query has rank 3, num_heads is a multiple of kv_num_heads, key and value come together");
  g->batch = q->shape[0], g->n_q = q->shape[1], g->q_row = q->shape[2];
  int64_t in_row = g->heads; /* attributes may be anything */
  for (int i = 0; i < 2 && g->packed; i++)
    if (tn_add_i64(in_row, g->kv_heads, &in_row))
      return fail(call, TN_ERR_OVERFLOW, "the sum of num_heads and kv_num_heads overflows");
  g->size = g->q_row / in_row;
  g->kv_row = g->packed ? g->q_row : g->kv_heads * g->size;
  bool fits = tn_divides(in_row, g->q_row);
  for (uint32_t i = KEY; i <= VALUE && k; i++) {
    const tn_tensor *t = call->inputs[i];
    fits = fits && t->rank == 3 && t->shape[0] == g->batch && t->shape[1] == g->n_q &&
           t->shape[2] == g->kv_row;
  }
  return fits ? TN_OK
              : fail(call, TN_ERR_SHAPE,
                     "query, key, value and the numbers of heads do not fit together");
}

static tn_status make_cache(const tn_call *call, grouped *g) {
  const tn_tensor *k = input_of(call, PAST_KEY), *v = input_of(call, PAST_VALUE);
  if (!k != !v) return fail(call, TN_ERR_INVALID, "past_key and past_value come together");
  if (k) {
    if (k->rank != 4 || v->rank != 4 || k->shape[0] != g->batch || k->shape[1] != g->kv_heads ||
        k->shape[3] != g->size)
      return fail(call, TN_ERR_SHAPE, "past_key is not [batch, kv heads, keys, head size]");
    for (int d = 0; d < 4; d++)
      if (k->shape[d] != v->shape[d])
        return fail(call, TN_ERR_SHAPE, "past_key and past_value differ in shape");
    g->past = k->shape[2];
  }
  const tn_tensor *lengths = call->inputs[LENGTHS];
  if (elements(lengths) != g->batch || elements(call->inputs[TOTAL]) != 1)
    return fail(call, TN_ERR_SHAPE,
                "seqlens_k has one value per batch, total_sequence_length is one value");
  return TN_OK;
}

static tn_status make_rotary(const tn_call *call, grouped *g) {
  const tn_tensor *cosines = input_of(call, COSINES), *sines = input_of(call, SINES),
                  *positions = input_of(call, POSITIONS);
  if (!((const tn_group_query_attention_attrs *)call->attrs)->do_rotary) return TN_OK;
  if (!cosines || !sines || cosines->rank != 2 || sines->rank != 2 ||
      cosines->shape[0] != sines->shape[0] || cosines->shape[1] != sines->shape[1] ||
      2 * cosines->shape[1] > g->size)
    return fail(call, TN_ERR_SHAPE, "cos_cache and sin_cache are [positions, at most half a head]");
  if (positions && elements(positions) != g->batch * g->n_q)
    return fail(call, TN_ERR_SHAPE, "position_ids is not [batch, queries]");
  g->turned = 2 * cosines->shape[1];
  return TN_OK;
}

/* All but total and present, which are data. */
static tn_status make_sizes(const tn_call *call, grouped *out) {
  const tn_group_query_attention_attrs *a = call->attrs;
  grouped g = {.heads = a->num_heads,
               .kv_heads = a->kv_num_heads,
               .scale = a->scale,
               .softcap = a->softcap,
               .window = a->local_window_size,
               .interleaved = a->rotary_interleaved != 0,
               .sinking = a->smooth_softmax == 1 || input_of(call, SINK)};
  if (g.window != -1 && g.window < 1)
    return fail(call, TN_ERR_INVALID, "local_window_size is -1 or more than 0");
  if (input_of(call, SINK) && elements(call->inputs[SINK]) != g.heads)
    return fail(call, TN_ERR_SHAPE, "head_sink does not have one value per head");
  tn_status s = make_rows(call, &g);
  if (!s) s = make_cache(call, &g);
  if (!s) s = make_rotary(call, &g);
  if (g.scale == 0) g.scale = g.size ? 1 / sqrt((double)g.size) : 1;
  *out = g;
  return s;
}

static tn_status make(const tn_call *call, grouped *out) {
  tn_status s = make_sizes(call, out);
  if (s) return s;
  out->total = ((const int32_t *)call->inputs[TOTAL]->data)[0];
  out->present = tn_max_i64(out->past, out->total);
  const tn_tensor *bias = input_of(call, BIAS);
  if (out->total < out->n_q)
    return fail(call, TN_ERR_INVALID, "total_sequence_length is less than the new keys");
  if (bias && (bias->rank != 4 || (bias->shape[0] != 1 && bias->shape[0] != out->batch) ||
               (bias->shape[1] != 1 && bias->shape[1] != out->heads) ||
               bias->shape[2] != out->n_q || bias->shape[3] < out->total))
    return fail(call, TN_ERR_SHAPE,
                "attention_bias is not [batch or 1, heads or 1, queries, keys]");
  return TN_OK;
}

tn_status group_query_attention_infer(const tn_call *call) {
  grouped g;
  tn_status s = make_sizes(call, &g);
  if (s) return s;
  if (!call->inputs[TOTAL]->data) {
    s = call->host->needs_data(call->ctx, TOTAL);
    return s ? s : TN_NEEDS_DATA;
  }
  if ((s = make(call, &g))) return s;
  const int64_t cache[4] = {g.batch, g.kv_heads, g.present, g.size};
  tn_infer_shape(call, 0, call->inputs[QUERY]->dtype, 3,
                 (int64_t[]){g.batch, g.n_q, g.heads * g.size});
  tn_infer_shape(call, 1, call->inputs[QUERY]->dtype, 4, cache);
  tn_infer_shape(call, 2, call->inputs[QUERY]->dtype, 4, cache);
  return TN_OK;
}

tn_status group_query_attention_flops(const tn_call *call, double *out_flops) {
  grouped g;
  tn_status s = make_sizes(call, &g);
  if (!s)
    *out_flops = 4 * (double)(g.batch * g.heads) * (double)(g.n_q * tn_max_i64(g.past, g.n_q)) *
                 (double)g.size;
  return s;
}

/* Keys that batch b had before: those of the cache that count. */
static tn_status keys_before(const tn_call *call, const grouped *g, int64_t b, int64_t *out) {
  const int64_t all = (int64_t)((const int32_t *)call->inputs[LENGTHS]->data)[b] + 1;
  *out = g->n_q == g->total ? 0 : all - g->n_q;
  if (all < 1 || all > g->total || *out < 0 || *out > g->past)
    return fail(call, TN_ERR_INVALID,
                "seqlens_k does not fit the keys in past_key and total_sequence_length");
  return TN_OK;
}

/* Row of the tables for new row i. */
static tn_status table_row(const tn_call *call, const grouped *g, int64_t b, int64_t before,
                           int64_t i, int64_t *out) {
  const tn_tensor *positions = input_of(call, POSITIONS);
  *out = positions ? ((const int64_t *)positions->data)[b * g->n_q + i] : before + i;
  if (*out < 0 || *out >= call->inputs[COSINES]->shape[0])
    return fail(call, TN_ERR_INVALID, "a position is beyond the rows of cos_cache");
  return TN_OK;
}

/* Where head h of new row i begins: of the queries (which = 0), keys or values. */
static int64_t new_row(const grouped *g, int which, int64_t b, int64_t h, int64_t i) {
  if (which == 0) return (b * g->n_q + i) * g->q_row + h * g->size;
  const int64_t skipped = g->packed ? g->heads + (which - 1) * g->kv_heads : 0;
  return (b * g->n_q + i) * g->kv_row + (skipped + h) * g->size;
}

static const tn_tensor *new_tensor(const tn_call *call, const grouped *g, int which) {
  return call->inputs[g->packed ? QUERY : which];
}

/* First key that a query with `seen` keys up to itself may attend to. */
static int64_t first_key(const grouped *g, int64_t seen) {
  return g->window > 0 ? tn_max_i64(0, seen - tn_min_i64(g->window, seen)) : 0;
}

static int64_t bias_row(const tn_call *call, const grouped *g, int64_t b, int64_t h, int64_t i) {
  const tn_tensor *t = call->inputs[BIAS];
  return (((t->shape[0] == 1 ? 0 : b) * t->shape[1] + (t->shape[1] == 1 ? 0 : h)) * g->n_q + i) *
         t->shape[3];
}

/* The score of a key that every query sees and that has no value: head_sink of the head, or 0. */
static double sink_of(const tn_call *call, int64_t h) {
  return input_of(call, SINK) ? load(call->inputs[SINK], h) : 0;
}

/* ---- reference ---- */

static double turned_element(const tn_call *call, const grouped *g, int which, int64_t b, int64_t h,
                             int64_t i, int64_t row, int64_t c) {
  const tn_tensor *t = new_tensor(call, g, which);
  const int64_t at = new_row(g, which, b, h, i), half = g->turned / 2;
  if (which == 2 || c >= g->turned) return load(t, at + c);
  const int64_t pair = g->interleaved ? c / 2 : c % half;
  const bool second = g->interleaved ? c % 2 : c >= half;
  const int64_t other = c + (second ? -1 : 1) * (g->interleaved ? 1 : half);
  return load(t, at + c) * load(call->inputs[COSINES], row * half + pair) +
         (second ? 1 : -1) * load(t, at + other) * load(call->inputs[SINES], row * half + pair);
}

static tn_status reference_cache(const tn_call *call, const grouped *g) {
  for (int64_t k = 0; k < 2 * g->batch * g->kv_heads * g->present; k++) {
    const int which = k % 2 ? 2 : 1;
    const int64_t j = k / 2 % g->present, head = k / 2 / g->present, b = head / g->kv_heads;
    int64_t before, row = 0;
    tn_status s = keys_before(call, g, b, &before);
    const bool is_new = j >= before && j < before + g->n_q;
    if (!s && is_new && g->turned) s = table_row(call, g, b, before, j - before, &row);
    if (s) return s;
    for (int64_t c = 0; c < g->size; c++) {
      double value = 0;
      if (is_new)
        value = turned_element(call, g, which, b, head % g->kv_heads, j - before, row, c);
      else if (j < before)
        value = load(call->inputs[which == 1 ? PAST_KEY : PAST_VALUE],
                     (head * g->past + j) * g->size + c);
      store(call->outputs[which], (head * g->present + j) * g->size + c, value);
    }
  }
  return TN_OK;
}

static double reference_score(const tn_call *call, const grouped *g, int64_t b, int64_t h,
                              int64_t i, int64_t j, int64_t row) {
  const int64_t kv = b * g->kv_heads + h / (g->heads / g->kv_heads);
  double sum = 0;
  for (int64_t c = 0; c < g->size; c++)
    sum += turned_element(call, g, 0, b, h, i, row, c) *
           load(call->outputs[1], (kv * g->present + j) * g->size + c);
  sum *= g->scale;
  if (g->softcap > 0) sum = g->softcap * tanh(sum / g->softcap);
  return input_of(call, BIAS) ? sum + load(call->inputs[BIAS], bias_row(call, g, b, h, i) + j)
                              : sum;
}

tn_status group_query_attention_reference(const tn_call *call) {
  grouped g;
  tn_status s = make(call, &g);
  if (!s) s = reference_cache(call, &g);
  for (int64_t k = 0; !s && k < g.batch * g.heads * g.n_q; k++) {
    const int64_t h = k % g.heads, i = k / g.heads % g.n_q, b = k / g.heads / g.n_q,
                  kv = b * g.kv_heads + h / (g.heads / g.kv_heads);
    int64_t before, row = 0;
    s = keys_before(call, &g, b, &before);
    if (!s && g.turned) s = table_row(call, &g, b, before, i, &row);
    const int64_t seen = before + i + 1;
    double top = g.sinking ? sink_of(call, h) : -INFINITY, sum = 0;
    for (int64_t j = first_key(&g, seen); j < seen; j++)
      top = fmax(top, reference_score(call, &g, b, h, i, j, row));
    for (int64_t j = first_key(&g, seen); j < seen; j++)
      sum += exp(reference_score(call, &g, b, h, i, j, row) - top);
    if (g.sinking) sum += exp(sink_of(call, h) - top);
    for (int64_t c = 0; c < g.size; c++) {
      double value = 0;
      for (int64_t j = first_key(&g, seen); j < seen; j++)
        value += exp(reference_score(call, &g, b, h, i, j, row) - top) / sum *
                 load(call->outputs[2], (kv * g.present + j) * g.size + c);
      store(call->outputs[0], k * g.size + c, value);
    }
  }
  return s;
}

/* ---- kernel ---- */

tn_status group_query_attention_plan(const tn_call *call, tn_kernel_plan *out) {
  grouped g;
  tn_status s = make_sizes(call, &g);
  if (s) return s;
  if (!tn_has_output(call, 1) || !tn_has_output(call, 2))
    return fail(call, TN_ERR_UNSUPPORTED, "present_key and present_value must be asked for");
  g.present = call->outputs[1]->shape[2];
  out->n_stages = 2;
  out->items[0] = g.batch * g.kv_heads;
  out->items[1] = g.batch * g.n_q * g.heads;
  out->grain[1] = tn_grain(10000, (double)g.present * (double)g.size);
  out->worker_scratch_bytes = (uint64_t)(g.size + g.present + 1) * sizeof(float);
  out->cost_ns = 500 + (double)out->items[1] * (double)(g.present * g.size) * 0.2;
  return TN_OK;
}

static void turn(const tn_call *call, const grouped *g, const float *x, int64_t row, float *y) {
  const int64_t half = g->turned / 2, step = g->interleaved ? 2 : 1,
                other = g->interleaved ? 1 : half;
  memcpy(y, x, (size_t)g->size * sizeof *x);
  if (!g->turned) return;
  const float *cosines = (const float *)call->inputs[COSINES]->data + row * half,
              *sines = (const float *)call->inputs[SINES]->data + row * half;
  for (int64_t k = 0; k < half; k++) {
    const float a = x[k * step], b = x[k * step + other];
    y[k * step] = a * cosines[k] - b * sines[k];
    y[k * step + other] = b * cosines[k] + a * sines[k];
  }
}

static tn_status write_cache(const tn_call *call, const grouped *g, int64_t head) {
  const int64_t b = head / g->kv_heads;
  int64_t before, row = 0;
  tn_status s = keys_before(call, g, b, &before);
  for (int which = 1; which <= 2 && !s; which++) {
    float *to = (float *)call->outputs[which]->data + head * g->present * g->size;
    const float *in = new_tensor(call, g, which)->data;
    memset(to, 0, (size_t)(g->present * g->size) * sizeof *to);
    if (before > 0) {
      const float *past = call->inputs[which == 1 ? PAST_KEY : PAST_VALUE]->data;
      memcpy(to, past + head * g->past * g->size, (size_t)(before * g->size) * sizeof *to);
    }
    for (int64_t i = 0; i < g->n_q && !s; i++) {
      const float *x = in + new_row(g, which, b, head % g->kv_heads, i);
      if (which == 1 && g->turned) s = table_row(call, g, b, before, i, &row);
      if (which == 1 && !s) turn(call, g, x, row, to + (before + i) * g->size);
      if (which == 2) memcpy(to + (before + i) * g->size, x, (size_t)g->size * sizeof *x);
    }
  }
  return s;
}

static float dot(const float *a, const float *b, int64_t n) {
  float part[16] = {0}, sum = 0;
  int64_t k = 0;
  for (; k + 16 <= n; k += 16)
    for (int l = 0; l < 16; l++) part[l] += a[k + l] * b[k + l];
  for (; k < n; k++) part[0] += a[k] * b[k];
  for (int l = 0; l < 16; l++) sum += part[l];
  return sum;
}

/* scores: [present]; becomes weights for the keys [first, seen). Answers their sum. sink: a score
 * that takes part; -INFINITY: there is none. */
static float weigh(const tn_call *call, const grouped *g, const float *q, const float *keys,
                   int64_t bias, float sink, int64_t first, int64_t seen, float *scores) {
  const float cap = (float)g->softcap,
              *more = input_of(call, BIAS) ? (const float *)call->inputs[BIAS]->data + bias : NULL;
  float top = sink, sum = 0;
  for (int64_t j = first; j < seen; j++) {
    float s = dot(q, keys + j * g->size, g->size) * (float)g->scale;
    if (cap > 0) s = cap * tn_tanh_f32(s / cap);
    if (more) s += more[j];
    scores[j] = s;
    top = s > top || s != s ? s : top;
  }
  for (int64_t j = first; j < seen; j++)
    sum += scores[j] = top == -INFINITY ? 0 : tn_exp_f32(scores[j] - top);
  return sink == -INFINITY ? sum : sum + tn_exp_f32(sink - top);
}

static tn_status attend(const tn_call *call, const grouped *g, int64_t item, float *room) {
  const int64_t h = item % g->heads, i = item / g->heads % g->n_q, b = item / g->heads / g->n_q;
  const int64_t kv = (b * g->kv_heads + h / (g->heads / g->kv_heads)) * g->present * g->size;
  const float *keys = (const float *)call->outputs[1]->data + kv,
              *values = (const float *)call->outputs[2]->data + kv;
  float *y = (float *)call->outputs[0]->data + item * g->size, *scores = room + g->size;
  int64_t before, row = 0;
  tn_status s = keys_before(call, g, b, &before);
  if (!s && g->turned) s = table_row(call, g, b, before, i, &row);
  if (s) return s;
  const int64_t seen = before + i + 1, first = first_key(g, seen);
  turn(call, g, (const float *)call->inputs[QUERY]->data + new_row(g, 0, b, h, i), row, room);
  const float sum =
      weigh(call, g, room, keys, input_of(call, BIAS) ? bias_row(call, g, b, h, i) : 0,
            g->sinking ? (float)sink_of(call, h) : -INFINITY, first, seen, scores);
  const float inverse = sum > 0 ? 1 / sum : sum;
  for (int64_t c = 0; c < g->size; c++) y[c] = 0;
  for (int64_t j = first; j < seen; j++)
    for (int64_t c = 0; c < g->size; c++) y[c] += scores[j] * inverse * values[j * g->size + c];
  return TN_OK;
}

tn_status group_query_attention_f32_c(const tn_call *call, uint32_t stage, int64_t begin,
                                      int64_t end, uint32_t worker) {
  float *room =
      (float *)(void *)((char *)call->worker_scratch + worker * call->worker_scratch_bytes);
  grouped g;
  tn_status s = make(call, &g);
  if (!s && g.present != call->outputs[1]->shape[2])
    s = fail(call, TN_ERR_SHAPE, "total_sequence_length changed since the shapes were inferred");
  for (int64_t item = begin; item < end && !s; item++)
    s = stage == 0 ? write_cache(call, &g, item) : attend(call, &g, item, room);
  return s;
}
