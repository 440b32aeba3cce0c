/* Tiled attention of f32 as C: the sums of flash_kernel.h for one thread, a query at a time. Where
 * a value is infinite or NaN, that kernel takes the other order of a dot product: its last bits may
 * differ then. */
#include "attention.h"
#include "tenon/experimental/emit_c.h"

enum { FLASH_ROWS = 32, FLASH_FEW = 4, FLASH_KEYS = 128 }; /* as in tenon/kit/flash_simd.h */

static const char *refuse(const tn_call *call) {
  attention a;
  if (attention_make(call, &a)) return "its shapes do not fit";
  if (tn_has_input(call, ATTENTION_LENGTHS)) return "takes no nonpad_kv_seqlen";
  if (!a.batch || !a.heads || !a.n_q || !a.size || !a.v_size || !a.total)
    return "takes no empty tensors";
  return NULL;
}

static attention shape_of(const tn_call *call) {
  attention a = {0};
  (void)attention_make(call, &a); /* it was planned */
  return a;
}

static uint64_t scratch(const tn_call *call) {
  return (uint64_t)(shape_of(call).size + FLASH_KEYS) * sizeof(float);
}

/* The last block of rows, if it has no more than FLASH_FEW, is the one whose products are dots. */
static int64_t dot_from(const attention *a) {
  const int64_t rows = a->heads / a->kv_heads * a->n_q, rest = rows % FLASH_ROWS;
  return rest && rest <= FLASH_FEW ? rows - rest : rows;
}

static void write_steps(const tn_emit *e, const char *name, const attention_steps *s) {
  e->table(e, "    .%s = {%d, %d, %d},\n", name, (int)s->batch, (int)s->head, (int)s->row);
}

static void write_shape(const tn_emit *e, const attention *a) {
  e->table(e,
           "static const struct attention attention_%u = {\n"
           "    .batch = %d, .heads = %d, .group = %d, .n_q = %d, .n_new = %d, .past = %d,\n"
           "    .size = %d, .v_size = %d,\n",
           e->step, (int)a->batch, (int)a->heads, (int)(a->heads / a->kv_heads), (int)a->n_q,
           (int)a->n_new, (int)a->past, (int)a->size, (int)a->v_size);
  write_steps(e, "q", &a->q);
  write_steps(e, "k", &a->k);
  write_steps(e, "v", &a->v);
  write_steps(e, "y", &a->y);
  write_steps(e, "mask", &a->mask);
  char scale[TN_EMIT_NUMBER], softcap[TN_EMIT_NUMBER];
  e->table(e,
           "    .mask_columns = %d, .causal = %d, .left = %d, .right = %d, .dot_from = %d,\n"
           "    .scale = %s, .softcap = %s};\n",
           (int)a->mask_columns, a->causal, (int)a->left, (int)a->right, (int)dot_from(a),
           tn_emit_float((float)a->scale, scale), tn_emit_float((float)a->softcap, softcap));
}

static const char *write_mask(const tn_emit *e, const tn_tensor *mask) {
  if (!mask) return "NULL";
  const bool truth = mask->dtype == TN_BOOL;
  const char *name = truth ? "attention_mask_bool" : "attention_mask_f32";
  e->function(
      e, name,
      "/* What the mask from `at` on adds to n scores, or which it leaves out. */\n"
      "static void %s(const void *mask, int32_t at, int32_t n, float *s) {\n"
      "  const %s *m = (const %s *)mask + at;\n"
      "  for (int32_t k = 0; k < n; k++) {\n"
      "    s[k] = %s;\n"
      "  }\n"
      "}\n",
      name, truth ? "uint8_t" : "float", truth ? "uint8_t" : "float",
      truth ? "m[k] != 0 ? s[k] : -INFINITY" : "m[k] == -INFINITY ? -INFINITY : s[k] + m[k]");
  return name;
}

static void write_present(const tn_emit *e, const attention *a, uint32_t which) {
  const attention_steps *s = which ? &a->v : &a->k;
  if (!tn_has_output(e->call, 1 + which)) return;
  e->code(e, "emit/present.c");
  e->line(e, "attention_present(%d, %d, %d, %d, %d, %s, %s, %d, %d, %d, %s);", (int)a->batch,
          (int)a->kv_heads, (int)a->past, (int)a->n_new, (int)(which ? a->v_size : a->size),
          e->input(e, ATTENTION_PAST_KEY + which), e->input(e, ATTENTION_K + which), (int)s->batch,
          (int)s->head, (int)s->row, e->output(e, 1 + which));
}

static void emit(const tn_emit *e) {
  const attention a = shape_of(e->call);
  const bool masked = a.mask_columns > 0;
  e->code(e, "kit/vmath.h");
  e->code(e, "emit/attention.c");
  write_shape(e, &a);
  const char *add = write_mask(e, masked ? e->call->inputs[ATTENTION_MASK] : NULL);
  e->line(e, "attention(&attention_%u, %s, %s, %s, %s, %s, %s, %s, %s, %s);", e->step,
          e->input(e, ATTENTION_Q), e->input(e, ATTENTION_K), e->input(e, ATTENTION_V),
          e->input(e, ATTENTION_PAST_KEY), e->input(e, ATTENTION_PAST_VALUE),
          masked ? e->input(e, ATTENTION_MASK) : "NULL", add, e->output(e, 0), e->scratch(e));
  write_present(e, &a, 0);
  write_present(e, &a, 1);
}

static const tn_emitter emitter = {.head = TN_HEAD(tn_emitter),
                                   .kernel = "attention_flash_f32_c",
                                   .refuse = refuse,
                                   .scratch = scratch,
                                   .emit = emit};
const tn_emitter *const flash_emitters[] = {&emitter, NULL};
