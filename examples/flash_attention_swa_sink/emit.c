/* The flash kernel as C (`tenon emit-c`), for chips and browsers: a query at a time, in f32. Sums
 * have the order of kernel.h, so a product and a sum that are rounded each give the same bits. */
#include <tenon/experimental/emit_c.h>

#include "attention.h"

static const char *refuse(const tn_call *call) {
  attention p = attention_of_flash(call);
  const int64_t most = INT64_C(1) << 29;
  if (call->n_inputs > 4 && call->inputs[4]) return "takes no offsets";
  if (p.window > most || p.q_offset > most || p.k_offset > most) return "takes no huge offsets";
  if (p.dtype != TN_F32 || (p.sink && p.sink_dtype != TN_F32)) return "takes f32 only";
  return p.n_batch && p.n_q && p.n_kv && p.n_heads ? NULL : "takes no empty tensors";
}

static uint64_t scratch(const tn_call *call) { /* a query, and scores of a tile of keys */
  return (uint64_t)(attention_of_flash(call).d_qk + BLOCK_KEYS) * sizeof(float);
}

static const char loops[] =
    "/* Attention with a window and a sink: sizes, and which keys a query sees. Heads of queries,\n"
    " * `group` of them, share a head of keys. */\n"
    "struct swa_sink {\n"
    "  int32_t batch, queries, keys, heads, group, size, v_size;\n"
    "  int32_t causal, window, first_query, first_key;\n"
    "  float scale;\n"
    "};\n"
    "\n"
    "/* e^x for x <= 0: 2^n times a polynomial; 0 below -87. */\n"
    "static float swa_sink_exp(float x) {\n"
    "  const float magic = 12582912.0f, c = x < -87.0f ? -87.0f : x;\n"
    "  const float m = c * 1.44269504f + magic, n = m - magic;\n"
    "  const float r = c - n * 0.693359375f + n * 2.12194440e-4f;\n"
    "  uint32_t bits, base;\n"
    "  float e = 1.3888889e-3f, power;\n"
    "  e = e * r + 8.3333333e-3f;\n"
    "  e = e * r + 4.1666667e-2f;\n"
    "  e = e * r + 1.6666667e-1f;\n"
    "  e = e * r + 0.5f;\n"
    "  e = e * r * r + r + 1.0f;\n"
    "  memcpy(&bits, &m, sizeof bits);\n"
    "  memcpy(&base, &magic, sizeof base);\n"
    "  bits = (bits - base + 127) << 23;\n"
    "  memcpy(&power, &bits, sizeof power);\n"
    "  return x < -87.0f ? 0.0f : e * power;\n"
    "}\n"
    "\n"
    "/* Keys [*first, *end) that a query sees. */\n"
    "static void swa_sink_keys(const struct swa_sink *s, int32_t query, int32_t *first,\n"
    "                          int32_t *end) {\n"
    "  const int32_t at = s->first_query + query - s->first_key;\n"
    "  const int32_t behind = s->causal != 0 ? at + 1 : s->window != 0 ? at + s->window : "
    "s->keys;\n"
    "  const int32_t before = s->window != 0 ? at - s->window + 1 : 0;\n"
    "  *first = before < 0 ? 0 : before > s->keys ? s->keys : before;\n"
    "  *end = behind < 0 ? 0 : behind > s->keys ? s->keys : behind;\n"
    "}\n"
    "\n"
    "/* The first key that a query of the same block of 64 rows sees: tiles begin there. */\n"
    "static int32_t swa_sink_base(const struct swa_sink *s, int32_t query, int32_t head) {\n"
    "  int32_t row = (query * s->group + head % s->group) / 64 * 64, first, end;\n"
    "  swa_sink_keys(s, row / s->group, &first, &end);\n"
    "  while (first >= end && row / s->group < query) {\n"
    "    row++;\n"
    "    swa_sink_keys(s, row / s->group, &first, &end);\n"
    "  }\n"
    "  return first;\n"
    "}\n"
    "\n"
    "/* One query of one head, scaled; k and v: rows of the head, `step` and `v_step` apart. */\n"
    "static void swa_sink_query(const struct swa_sink *s, const float *q, const float *k,\n"
    "                           const float *v, int32_t base, int32_t first, int32_t end,\n"
    "                           const float *sink, float *y, float *score) {\n"
    "  const int32_t kv_heads = s->heads / s->group;\n"
    "  float top = sink != NULL ? *sink : -INFINITY, sum = top == -INFINITY ? 0.0f : 1.0f;\n"
    "  memset(y, 0, sizeof *y * (size_t)s->v_size);\n"
    "  for (int32_t tile = base; tile < end; tile += 64) {\n"
    "    const int32_t from = tile < first ? first : tile, to = tile + 64 < end ? tile + 64 : "
    "end;\n"
    "    float most = top;\n"
    "    for (int32_t j = from; j < to; j++) {\n"
    "      const float *row = k + j * kv_heads * s->size;\n"
    "      float dot = 0.0f;\n"
    "      for (int32_t d = 0; d < s->size; d++) {\n"
    "        dot += row[d] * q[d];\n"
    "      }\n"
    "      score[j - tile] = dot;\n"
    "      most = dot > most ? dot : most;\n"
    "    }\n"
    "    const float shift = most == -INFINITY ? 0.0f : most, factor = swa_sink_exp(top - shift);\n"
    "    sum *= factor;\n"
    "    for (int32_t c = 0; c < s->v_size && top != most; c++) {\n"
    "      y[c] *= factor;\n"
    "    }\n"
    "    for (int32_t j = from; j < to; j++) {\n"
    "      const float *row = v + j * kv_heads * s->v_size, weight = swa_sink_exp(score[j - tile] "
    "- "
    "shift);\n"
    "      sum += weight;\n"
    "      for (int32_t c = 0; c < s->v_size; c++) {\n"
    "        y[c] += row[c] * weight;\n"
    "      }\n"
    "    }\n"
    "    top = most;\n"
    "  }\n"
    "  const float scale = sum == 0.0f ? 0.0f : 1.0f / sum;\n"
    "  for (int32_t c = 0; c < s->v_size; c++) {\n"
    "    y[c] *= scale;\n"
    "  }\n"
    "}\n"
    "\n"
    "static void swa_sink(const struct swa_sink *s, const float *q, const float *k, const float "
    "*v,\n"
    "                     const float *sink, float *y, float *room) {\n"
    "  const int32_t kv_heads = s->heads / s->group;\n"
    "  for (int32_t row = 0; row < s->batch * s->queries * s->heads; row++) {\n"
    "    const int32_t head = row % s->heads, query = row / s->heads % s->queries;\n"
    "    const int32_t at = row / s->heads / s->queries * s->keys * kv_heads + head / s->group;\n"
    "    int32_t first, end;\n"
    "    swa_sink_keys(s, query, &first, &end);\n"
    "    for (int32_t d = 0; d < s->size; d++) {\n"
    "      room[d] = s->scale * q[row * s->size + d];\n"
    "    }\n"
    "    swa_sink_query(s, room, k + at * s->size, v + at * s->v_size,\n"
    "                   swa_sink_base(s, query, head), first, end,\n"
    "                   sink != NULL ? sink + head : NULL, y + row * s->v_size, room + s->size);\n"
    "  }\n"
    "}\n";

static void emit(const tn_emit *e) {
  const attention p = attention_of_flash(e->call);
  char scale[TN_EMIT_NUMBER];
  e->function(e, "swa_sink", "%s", loops);
  e->table(
      e,
      "static const struct swa_sink swa_sink_%u = {%d, %d, %d, %d, %d, %d, %d, %d, %d, %d, %d, "
      "%s};\n",
      e->step, (int)p.n_batch, (int)p.n_q, (int)p.n_kv, (int)p.n_heads, (int)p.group, (int)p.d_qk,
      (int)p.d_v, (int)p.causal, (int)p.window, (int)p.q_offset, (int)p.k_offset,
      tn_emit_float((float)p.scale, scale));
  e->line(e, "swa_sink(&swa_sink_%u, %s, %s, %s, %s, %s, %s);", e->step, e->input(e, 0),
          e->input(e, 1), e->input(e, 2), e->input(e, 3), e->output(e, 0), e->scratch(e));
}

const tn_emitter flash_emitter = {.head = TN_HEAD(tn_emitter),
                                  .kernel = "flash_attention_c",
                                  .refuse = refuse,
                                  .scratch = scratch,
                                  .emit = emit};
