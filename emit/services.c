/* What emitters call, and the walk over all units with it. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "emit.h"
#include "tenon/experimental/emit_elementwise.h"

typedef struct unit_context {
  emit_model *m;
  const emit_unit *unit;
} unit_context;

static emit_model *model_of(const tn_emit *e) { return ((const unit_context *)e->ctx)->m; }

static const char *input(const tn_emit *e, uint32_t index) {
  const tn_step *step = ((const unit_context *)e->ctx)->unit->step;
  return index < step->node->node.n_inputs
             ? emit_value_text(model_of(e), step->node->node.inputs[index])
             : "NULL";
}

static const char *output(const tn_emit *e, uint32_t index) {
  const tn_step *step = ((const unit_context *)e->ctx)->unit->step;
  return index < step->node->node.n_outputs
             ? emit_value_text(model_of(e), step->node->node.outputs[index])
             : "NULL";
}

static const char *scratch(const tn_emit *e) {
  const emit_unit *u = ((const unit_context *)e->ctx)->unit;
  return u->scratch_bytes ? emit_arena_text(model_of(e), emit_scratch_type(u), u->scratch_offset)
                          : "NULL";
}

static void *memory(const tn_emit *e, uint64_t bytes) {
  void *p = emit_alloc(model_of(e), bytes);
  if (p) memset(p, 0, (size_t)bytes);
  return p;
}

static const char *constant(const tn_emit *e, const tn_tensor *t) {
  emit_model *m = model_of(e);
  char *name = tn_arena_format(&m->memory, "%s_w%d", m->name, emit_constant(m, t));
  if (!name) m->status = TN_ERR_MEMORY;
  return name ? name : "NULL";
}

/* True the first time. */
static bool is_new(emit_model *m, const char *name) {
  for (int64_t k = 0; k < m->done.n; k++)
    if (!strcmp(m->done.data[k], name)) return false;
  const char *copy = tn_arena_str(&m->memory, name);
  if (!copy || tn_vec_push(m->a, &m->done, copy)) m->status = TN_ERR_MEMORY;
  return true;
}

static void code(const tn_emit *e, const char *file) {
  emit_model *m = model_of(e);
  if (!is_new(m, file)) return;
  if (!strcmp(file, "kit/vmath.h")) {
    m->uses_vmath = true;
    return;
  }
  const char *const *lines = m->find(file);
  tn_text_add(&m->code, "\n");
  for (; lines && *lines; lines++) tn_text_add(&m->code, "%s\n", *lines);
  if (!m->find(file)) m->status = TN_ERR_INTERNAL;
}

static void addv(tn_text *out, const char *format, va_list args) {
  va_list again;
  va_copy(again, args);
  const int n = vsnprintf(NULL, 0, format, again);
  va_end(again);
  char *text = n < 0 ? NULL : tn_alloc(out->a, (uint64_t)n + 1);
  if (!text) {
    out->status = TN_ERR_MEMORY;
    return;
  }
  vsnprintf(text, (size_t)n + 1, format, args);
  tn_text_add_bytes(out, text, n);
  tn_free(out->a, text, (uint64_t)n + 1);
}

static void function(const tn_emit *e, const char *name, const char *format, ...) {
  emit_model *m = model_of(e);
  va_list args;
  if (!is_new(m, name)) return;
  tn_text_add(&m->code, "\n");
  va_start(args, format);
  addv(&m->code, format, args);
  va_end(args);
}

static void table(const tn_emit *e, const char *format, ...) {
  va_list args;
  va_start(args, format);
  addv(&model_of(e)->tables, format, args);
  va_end(args);
}

static void line(const tn_emit *e, const char *format, ...) {
  emit_model *m = model_of(e);
  va_list args;
  tn_text_add(&m->lines, "  ");
  va_start(args, format);
  addv(&m->lines, format, args);
  va_end(args);
  tn_text_add(&m->lines, "\n");
}

/* ---- fused steps ---- */

static const tn_emit_map *map_of(uint32_t kind) {
  static const tn_emit_map maps[TN_EPILOGUE_COUNT] = {
      [TN_EPILOGUE_RELU] = {"apply_relu", "x < 0.0f ? 0.0f : x", 0},
      [TN_EPILOGUE_CLIP] = {"apply_clip", "tn_clamp_f32(x, a, b)", 2},
      [TN_EPILOGUE_LEAKY_RELU] = {"apply_leaky_relu", "x < 0.0f ? a * x : x", 1},
      [TN_EPILOGUE_SIGMOID] = {"apply_sigmoid", "tn_sigmoid_f32(x)", 0},
      [TN_EPILOGUE_TANH] = {"apply_tanh", "tn_tanh_f32(x)", 0},
      [TN_EPILOGUE_HARD_SIGMOID] = {"apply_hard_sigmoid", "tn_clamp_f32(a * x + b, 0.0f, 1.0f)", 2},
      [TN_EPILOGUE_HARD_SWISH] = {"apply_hard_swish", "tn_hard_swish_f32(x)", 0},
      [TN_EPILOGUE_SILU] = {"apply_silu", "tn_silu_f32(x)", 0},
      [TN_EPILOGUE_GELU] = {"apply_gelu", "tn_gelu_f32(x)", 0},
      [TN_EPILOGUE_GELU_TANH] = {"apply_gelu_tanh", "tn_gelu_tanh_f32(x)", 0}};
  return kind < TN_EPILOGUE_COUNT && maps[kind].name ? &maps[kind] : NULL;
}

static void operand(const tn_emit *e, uint32_t index, const tn_epilogue *step, const char *y) {
  const tn_tensor *out = e->call->outputs[0];
  const tn_tensor *const both[2] = {out, e->call->inputs[step->input]};
  tn_broadcast b;
  const bool adds = step->kind == TN_EPILOGUE_ADD;
  if (tn_broadcast_init(&b, out, 2, both)) {
    model_of(e)->status = TN_ERR_INTERNAL;
    return;
  }
  tn_emit_binary_line(e, adds ? "apply_add" : "apply_mul", adds ? "a + b" : "a * b", &b, index, y,
                      e->input(e, (uint32_t)step->input), y);
}

void emit_epilogue(const tn_emit *e, const char *y) {
  const tn_call *call = e->call;
  for (uint32_t k = 0; k < call->n_epilogue; k++) {
    const tn_epilogue *step = call->epilogue[k];
    const tn_emit_map *map = map_of(step->kind);
    if (map)
      tn_emit_map_line(e, map, y, y, tn_elements(call->outputs[0]), step->a, step->b);
    else if (step->kind == TN_EPILOGUE_ADD || step->kind == TN_EPILOGUE_MUL)
      operand(e, k + 1, step, y);
    else
      model_of(e)->status = TN_ERR_INTERNAL;
  }
}

/* ---- all units ---- */

/* Names of nodes in comments, the first letters of them: what would end one becomes '?'. */
static void add_comment(tn_text *out, const char *text) {
  enum { LETTERS = 48 };
  for (int k = 0; k < LETTERS && *text; k++, text++) {
    const bool plain = *text >= ' ' && *text < 127 && !(text[0] == '*' && text[1] == '/');
    tn_text_add(out, "%c", plain && text[0] != '\\' ? *text : '?');
  }
  if (*text) tn_text_add(out, "...");
}

static const tn_tensor *first_output(const tn_call *call) {
  uint32_t k = 0;
  while (k + 1 < call->n_outputs && !call->outputs[k]) k++;
  return call->outputs[k];
}

/* "3: conv1/Relu (Conv)": the number of a step, as its tables have it, and its node. */
static void add_step(const emit_model *m, tn_text *out, uint32_t index) {
  const tn_step *step = m->units[index].step;
  tn_text_add(out, "%u: ", index);
  add_comment(out, step->node->node.name);
  tn_text_add(out, " (");
  add_comment(out, step->node->node.op);
  tn_text_add(out, ")");
}

/* Puts the tables of a step, if it has some, behind those that were there. */
static void add_tables(emit_model *m, tn_text before, uint32_t index) {
  tn_text own = m->tables;
  m->tables = before;
  if (own.n) {
    tn_text_add(&m->tables, "/* ");
    add_step(m, &m->tables, index);
    tn_text_add(&m->tables, " */\n%s", tn_text_get(&own));
  }
  if (own.status) m->status = own.status;
  tn_text_free(&own);
}

static void emit_unit_code(emit_model *m, uint32_t index) {
  const emit_unit *u = &m->units[index];
  unit_context context = {m, u};
  const tn_emit e = {.head = TN_HEAD(tn_emit),
                     .ctx = &context,
                     .call = u->call,
                     .step = index,
                     .input = input,
                     .output = output,
                     .scratch = scratch,
                     .memory = memory,
                     .constant = constant,
                     .code = code,
                     .function = function,
                     .table = table,
                     .line = line};
  const tn_text before = m->tables;
  m->tables = (tn_text){.a = m->a};
  tn_text_add(&m->lines, "  /* ");
  add_step(m, &m->lines, index);
  tn_text_add(&m->lines, ": %s */\n", emit_type_text(m, first_output(u->call)));
  u->emitter->emit(&e);
  emit_epilogue(&e, output(&e, 0));
  add_tables(m, before, index);
}

static bool is_unchanged(const emit_model *m, int32_t output) {
  const tn_slot *s = &m->plan->slots[m->plan->outputs[output]];
  return output >= m->n_outputs && s->place == TN_PLACE_INPUT && !s->offset &&
         s->index == m->n_inputs + output - m->n_outputs;
}

void emit_units(emit_model *m) {
  for (int32_t k = 0; k < m->n_inputs; k++)
    if (m->values[m->plan->inputs[k]].last < 0)
      tn_text_add(&m->lines, "  (void)%s; /* nothing reads it */\n", m->inputs[k]);
  for (int32_t k = 0; k < m->n_units; k++) emit_unit_code(m, (uint32_t)k);
  for (int32_t k = 0; k < m->plan->n_outputs; k++) {
    const int32_t slot = m->plan->outputs[k];
    if (m->values[m->values[slot].root].output == k || is_unchanged(m, k)) continue;
    tn_text_add(&m->lines, "  memcpy(%s, %s, %lld);\n", m->outputs[k], emit_value_text(m, slot),
                (long long)tn_tensor_bytes(m->plan->slots[slot].type));
  }
}
