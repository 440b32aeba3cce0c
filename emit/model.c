/* The files of the model itself: model.h, model.c, weights.h and weights.c. */
#include <ctype.h>

#include "emit.h"
#include "tenon/kit/dtype.h"

static void add_upper(tn_text *out, const char *name) {
  for (; *name; name++) tn_text_add(out, "%c", toupper((unsigned char)*name));
}

static void add_head(const emit_model *m, tn_text *out, const char *what) {
  tn_text_add(out, "/* %s: %s. Written by tenon emit-c; do not edit. */\n", m->title, what);
}

static void open_guard(const emit_model *m, tn_text *out, const char *suffix) {
  tn_text_add(out, "#ifndef ");
  add_upper(out, m->name);
  tn_text_add(out, "_%s\n#define ", suffix);
  add_upper(out, m->name);
  tn_text_add(out, "_%s\n\n", suffix);
}

/* ---- model.h ---- */

static void add_size(emit_model *m, tn_text *out, const char *word, const tn_tensor *t) {
  tn_text_add(out, "#define ");
  add_upper(out, m->name);
  tn_text_add(out, "_");
  add_upper(out, word);
  tn_text_add(out, "_SIZE %lld /* elements: %s */\n",
              (long long)tn_max_i64(tn_tensor_elements(t), 1), emit_type_text(m, t));
}

static void add_parameters(emit_model *m, tn_text *out) {
  const tn_plan *p = m->plan;
  for (int32_t k = 0; k < m->n_inputs + m->n_outputs; k++) {
    const bool in = k < m->n_inputs;
    const int32_t slot = in ? p->inputs[k] : p->outputs[k - m->n_inputs];
    const char *name = in ? m->inputs[k] : m->outputs[k - m->n_inputs];
    tn_text_add(out, "%s\n    %s%s %s[", k ? "," : "", in ? "const " : "",
                emit_c_type(p->slots[slot].type->dtype), name);
    add_upper(out, m->name);
    tn_text_add(out, "_");
    add_upper(out, name);
    tn_text_add(out, "_SIZE]");
  }
}

static void add_number(const emit_model *m, tn_text *out, const char *word, uint64_t n,
                       const char *comment) {
  tn_text_add(out, "#define ");
  add_upper(out, m->name);
  tn_text_add(out, "_%s %llu /* %s */\n", word, (unsigned long long)n, comment);
}

static uint64_t state_bytes(const emit_model *m) {
  uint64_t bytes = 0;
  for (int32_t k = 0; k < m->n_states; k++)
    bytes += (uint64_t)tn_tensor_bytes(m->plan->slots[m->plan->inputs[m->n_inputs + k]].type);
  return bytes;
}

static void write_header(emit_model *m, tn_text *out) {
  const tn_plan *p = m->plan;
  add_head(m, out, "its inputs, its outputs, and the function that runs it");
  tn_text_add(out, "/* Model: %s", m->title);
  if (m->digest) tn_text_add(out, ", SHA-256\n *   %s", m->digest);
  tn_text_add(out,
              "\n * Written by Tenon %s from its plan of portable kernels for one thread. The same "
              "model, options\n * and version give the same files.\n"
              " * Language: C99. No recursion, no memory but the arena and the caller's arrays; "
              "all loops have\n * bounds that are constants of a step. */\n",
              tn_version());
  open_guard(m, out, "MODEL_H");
  tn_text_add(out, "#include <stdint.h>\n\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n");
  for (int32_t k = 0; k < m->n_inputs; k++)
    add_size(m, out, m->inputs[k], p->slots[p->inputs[k]].type);
  for (int32_t k = 0; k < m->n_outputs; k++)
    add_size(m, out, m->outputs[k], p->slots[p->outputs[k]].type);
  add_number(m, out, "ARENA_BYTES", m->arena_bytes, "static memory besides inputs and outputs");
  if (m->n_states)
    add_number(m, out, "STATE_BYTES", state_bytes(m), "static memory that runs leave to the next");
  add_number(m, out, "WEIGHT_BYTES", m->weight_bytes, "constants");
  add_number(m, out, "STACK_BYTES", EMIT_STACK_BYTES,
             "at least what its calls need, with -O2 or -Os and no C library that takes more");
  tn_text_add(
      out,
      "\n/* Computes the outputs from the inputs, all of them arrays of the caller's. It has one "
      "static\n * arena, so one call at a time. It cannot fail. */\nvoid %s_run(",
      m->name);
  add_parameters(m, out);
  tn_text_add(out, ");\n");
  if (m->n_states)
    tn_text_add(out,
                "\n/* Sets what runs leave to the next one to what it is before the first: call it "
                "then, too. */\nvoid %s_reset(void);\n",
                m->name);
  tn_text_add(out, "\n#ifdef __cplusplus\n}\n#endif\n#endif\n");
}

/* ---- model.c ---- */

static void add_arena(emit_model *m, tn_text *out) {
  uint32_t one = 0, n = 0;
  if (!m->arena_bytes) return;
  for (uint32_t t = 1; t < TN_DTYPE_COUNT; t++)
    if (m->arena_types & TN_MASK(t)) one = t, n++;
  tn_text_add(out,
              "\n/* Values between steps, and scratch. Each place holds one value after the other, "
              "of other types,\n * too: compile with -fno-strict-aliasing where the compiler has "
              "it. */\n");
  if (n == 1) {
    tn_text_add(out, "static %s arena[%llu];\n", emit_c_type(one),
                (unsigned long long)(m->arena_bytes / (tn_dtype(one)->bits / 8)));
    return;
  }
  tn_text_add(out, "static union {\n");
  for (uint32_t t = 1; t < TN_DTYPE_COUNT; t++)
    if (m->arena_types & TN_MASK(t))
      tn_text_add(out, "  %s %s[%llu];\n", emit_c_type(t), emit_arena_member(t),
                  (unsigned long long)(m->arena_bytes / (tn_dtype(t)->bits / 8)));
  tn_text_add(out, "} arena;\n");
}

/* What the loops rely on besides C99: a compiler that does otherwise is told so. */
static void add_needs(const emit_model *m, tn_text *out) {
  const char *code = tn_text_get(&m->code);
  tn_text_add(out,
              "\n/* What the loops rely on besides C99. */\n"
              "#if INT_MAX < 2147483647 || (-1 >> 1) != -1\n"
              "#error \"int needs 32 bits, and a shift to the right has to keep the sign\"\n"
              "#endif\n");
  if (strstr(code, "float")) {
    tn_text_add(out,
                "#if defined(__FAST_MATH__) || FLT_EVAL_METHOD == 1 || FLT_EVAL_METHOD == 2\n"
                "#ifndef ");
    add_upper(out, m->name);
    tn_text_add(out,
                "_TOLERANCE\n"
                "#error \"f32 is not computed in f32: without -ffast-math, with SSE on x86, with "
                "-std=gnu11 -ffp-contract=off on s390x, or define ");
    add_upper(out, m->name);
    tn_text_add(out, "_TOLERANCE\"\n#endif\n#endif\n");
  }
  if (strstr(code, "TN_ARM_DSP"))
    tn_text_add(out,
                "\n/* Cortex-M4 and larger: two products of 16 bits in one instruction. */\n"
                "#if defined(__ARM_FEATURE_DSP) && defined(__ARM_FEATURE_SIMD32) && "
                "!defined(__ARM_BIG_ENDIAN)\n"
                "#define TN_ARM_DSP\n#include <arm_acle.h>\n#endif\n");
}

static void write_source(emit_model *m, tn_text *out) {
  add_head(m, out, "the loops of its kernels, their tables, and the calls in order");
  tn_text_add(
      out,
      "#ifdef __clang__ /* of the functions of vmath.h, too; gcc -std=c11 does so by itself "
      "*/\n"
      "#pragma STDC FP_CONTRACT OFF\n#endif\n\n#include \"model.h\"\n\n");
  if (m->uses_vmath)
    tn_text_add(out,
                "/* A product and a sum are rounded each: the same bits on every target. */\n"
                "#define TN_FMA(a, b, c) ((a) * (b) + (c))\n");
  tn_text_add(out,
              "#include <float.h>\n#include <limits.h>\n#include <math.h>\n"
              "#include <stddef.h>\n#include <string.h>\n\n");
  if (m->uses_vmath) tn_text_add(out, "#include \"vmath.h\"\n");
  if (m->n_weights) tn_text_add(out, "#include \"weights.h\"\n");
  add_needs(m, out);
  tn_text_add(out, "%s", tn_text_get(&m->code));
  if (m->tables.n)
    tn_text_add(out, "\n/* ---- the steps' sizes ---- */\n\n%s", tn_text_get(&m->tables));
  add_arena(m, out);
  if (m->n_states)
    tn_text_add(out, "\n/* What a run leaves to the next one. */\n%s\nvoid %s_reset(void) {\n%s}\n",
                tn_text_get(&m->states), m->name, tn_text_get(&m->resets));
  tn_text_add(out, "\nvoid %s_run(", m->name);
  add_parameters(m, out);
  tn_text_add(out, ") {\n%s}\n", tn_text_get(&m->lines));
}

static bool is_zero(const tn_tensor *t) {
  const uint8_t *bytes = t->data;
  bool zero = true;
  for (int64_t k = 0; k < tn_tensor_bytes(t); k++) zero = zero && !bytes[k];
  return zero;
}

void emit_states(emit_model *m, const tn_tensor *const *initial) {
  for (int32_t k = 0; k < m->n_states; k++) {
    const tn_tensor *t = initial[k];
    const char *name = m->inputs[m->n_inputs + k];
    tn_text_add(&m->states, "static %s %s[%lld]; /* %s */\n", emit_c_type(t->dtype), name,
                (long long)tn_max_i64(tn_tensor_elements(t), 1), emit_type_text(m, t));
    if (is_zero(t))
      tn_text_add(&m->resets, "  memset(%s, 0, sizeof %s);\n", name, name);
    else
      tn_text_add(&m->resets, "  memcpy(%s, %s_w%d, sizeof %s);\n", name, m->name,
                  emit_constant(m, t), name);
  }
}

void emit_write_model(emit_model *m, tn_text *source, tn_text *header) {
  write_header(m, header);
  write_source(m, source);
}

void emit_write_weights(emit_model *m, tn_text *source, tn_text *header) {
  add_head(m, header, "its constants");
  open_guard(m, header, "WEIGHTS_H");
  tn_text_add(header, "#include <stdint.h>\n\n%s\n#endif\n", tn_text_get(&m->declarations));
  add_head(m, source, "its constants");
  tn_text_add(source, "#include \"weights.h\"\n\n#include <math.h>\n%s", tn_text_get(&m->weights));
}
