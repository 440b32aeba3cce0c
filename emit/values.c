/* Constants as arrays, and values as C expressions. */
#include <math.h>
#include <string.h>

#include "base/diag.h"
#include "emit.h"
#include "tenon/experimental/emit_elementwise.h"
#include "tenon/kit/dtype.h"
#include "tenon/kit/element.h"

const char *emit_c_type(uint32_t dtype) {
  return dtype == TN_F16 || dtype == TN_BF16 ? "uint16_t" : tn_emit_c_type(dtype);
}

uint32_t emit_stored_type(uint32_t dtype) {
  return dtype == TN_C64 ? TN_F32 : dtype == TN_C128 ? TN_F64 : dtype;
}

static void add_element(tn_text *out, const tn_tensor *t, int64_t k) {
  char text[TN_EMIT_NUMBER];
  switch (t->dtype) {
    case TN_F32: tn_text_add(out, "%s", tn_emit_float(((const float *)t->data)[k], text)); break;
    case TN_F64: tn_text_add(out, "%s", tn_emit_double(((const double *)t->data)[k], text)); break;
    case TN_F16:
    case TN_BF16: tn_text_add(out, "%u", ((const uint16_t *)t->data)[k]); break;
    case TN_U64:
      tn_text_add(out, "UINT64_C(%llu)", (unsigned long long)((const uint64_t *)t->data)[k]);
      break;
    case TN_I64:
    case TN_I32: {
      const long long v = (long long)tn_load_i64(t->dtype, t->data, k);
      const bool wide = t->dtype == TN_I64;
      const long long least = wide ? INT64_MIN : INT32_MIN;
      if (v == least) /* has no constant of its own */
        tn_text_add(out, wide ? "INT64_MIN" : "INT32_MIN");
      else
        tn_text_add(out, wide ? "INT64_C(%lld)" : "%lld", v);
      break;
    }
    default: tn_text_add(out, "%lld", (long long)tn_load_i64(t->dtype, t->data, k));
  }
}

void emit_elements(tn_text *out, const tn_tensor *t) {
  const int64_t n = tn_tensor_elements(t), per_line = tn_dtype(t->dtype)->bits <= 16 ? 16 : 6;
  for (int64_t k = 0; k < n; k++) {
    tn_text_add(out, k % per_line ? " " : "\n  ");
    add_element(out, t, k);
    if (k + 1 < n) tn_text_add(out, ",");
  }
  if (!n) tn_text_add(out, "0"); /* an array has at least one */
}

const char *emit_type_text(emit_model *m, const tn_tensor *t) {
  tn_text text;
  tn_text_init(&text, m->a);
  tn_text_add(&text, "%s[", tn_dtype(t->dtype)->name);
  for (int32_t k = 0; k < t->rank; k++)
    tn_text_add(&text, "%s%lld", k ? "," : "", (long long)t->shape[k]);
  tn_text_add(&text, "]");
  const char *copy = tn_arena_str(&m->memory, tn_text_get(&text));
  tn_text_free(&text);
  if (!copy) m->status = TN_ERR_MEMORY;
  return copy ? copy : "";
}

/* ---- constants ---- */

/* An earlier array of the same elements; -1: none. */
static int32_t same_weights(const emit_model *m, int32_t slot, const void *data) {
  const tn_slot *slots = m->plan->slots;
  for (int32_t k = 0; k < m->plan->n_slots; k++)
    if (m->values[k].weights >= 0 && slots[k].type->data == data &&
        slots[k].type->dtype == slots[slot].type->dtype &&
        tn_tensor_elements(slots[k].type) == tn_tensor_elements(slots[slot].type))
      return m->values[k].weights;
  return -1;
}

int32_t emit_constant(emit_model *m, const tn_tensor *t) {
  const int32_t id = m->n_weights++;
  const char *type = emit_c_type(t->dtype);
  const long long n = tn_max_i64(tn_tensor_elements(t), 1);
  m->weight_bytes += (uint64_t)tn_tensor_bytes(t);
  tn_text_add(&m->declarations, "extern const %s %s_w%d[%lld]; /* %s */\n", type, m->name, id, n,
              emit_type_text(m, t));
  tn_text_add(&m->weights, "\nconst %s %s_w%d[%lld] = {", type, m->name, id, n);
  emit_elements(&m->weights, t);
  tn_text_add(&m->weights, "\n};\n");
  return id;
}

/* An array for a constant that is read for the first time. */
static void need_constant(emit_model *m, int32_t slot) {
  const tn_slot *s = &m->plan->slots[slot];
  if (m->values[slot].weights >= 0 || m->status) return;
  if (s->constant && s->constant->source && tn_const_fetch(s->constant)) {
    m->status = TN_ERR_MEMORY;
    return;
  }
  const int32_t same = same_weights(m, slot, s->type->data);
  if (!s->type->data && tn_tensor_elements(s->type) > 0)
    m->status = tn_fail(m->diag, TN_ERR_INTERNAL, "constant '%s' is not in memory", s->name);
  else if (same >= 0)
    m->values[slot].weights = same;
  else
    m->values[slot].weights = emit_constant(m, s->type);
  if (s->constant && s->constant->source) tn_const_drop(s->constant);
}

/* ---- expressions ---- */

static const char *keep(emit_model *m, char *text) {
  if (!text) m->status = TN_ERR_MEMORY;
  return text ? text : "";
}

const char *emit_arena_member(uint32_t dtype) {
  return dtype == TN_BOOL ? "truth" : tn_dtype(dtype)->name;
}

const char *emit_arena_text(emit_model *m, uint32_t dtype, uint64_t offset) {
  const unsigned long long at = offset / (tn_dtype(dtype)->bits / 8);
  const bool one = m->arena_types == TN_MASK(dtype);
  char *base = one ? tn_arena_str(&m->memory, "arena")
                   : tn_arena_format(&m->memory, "arena.%s", emit_arena_member(dtype));
  if (!base || !at) return keep(m, base);
  return keep(m, tn_arena_format(&m->memory, "%s + %llu", base, at));
}

/* The pointer `base` to elements of type `from`, moved by bytes, as one of elements of type `to`. */
static const char *moved(emit_model *m, const char *base, uint32_t from, uint32_t to,
                         uint64_t bytes, const char *qualifier) {
  const unsigned long long at = bytes / (tn_dtype(from)->bits / 8);
  const char *text = keep(m, at ? tn_arena_format(&m->memory, "%s + %llu", base, at)
                                : tn_arena_format(&m->memory, "%s", base));
  if (from == to || !strcmp(emit_c_type(from), emit_c_type(to))) return text;
  return keep(m, tn_arena_format(&m->memory, "(%s%s *)(%svoid *)(%s)", qualifier, emit_c_type(to),
                                 qualifier, text));
}

const char *emit_value_text(emit_model *m, int32_t slot) {
  if (slot < 0) return "NULL";
  const tn_slot *s = &m->plan->slots[slot];
  const emit_value *v = &m->values[slot], *root = &m->values[v->root];
  const uint32_t root_type = emit_stored_type(m->plan->slots[v->root].type->dtype);
  const uint32_t type = emit_stored_type(s->type->dtype);
  if (s->place == TN_PLACE_CONST) need_constant(m, slot);
  if (s->place == TN_PLACE_CONST)
    return keep(m, tn_arena_format(&m->memory, "%s_w%d", m->name, v->weights));
  if (s->place == TN_PLACE_INPUT)
    return moved(m, m->inputs[s->index], root_type, type, v->inside, "const ");
  if (root->output >= 0) return moved(m, m->outputs[root->output], root_type, type, v->inside, "");
  return emit_arena_text(m, type, root->offset + v->inside);
}
