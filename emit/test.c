/* A test of the C program: one input, and the outputs that the library computes from it. */
#include <ctype.h>

#include "emit.h"
#include "tenon/kit/dtype.h"

static void add_array(tn_text *out, const char *prefix, const char *name, const tn_tensor *t) {
  tn_text_add(out, "\nstatic const %s %s_%s[%lld] = {", emit_c_type(t->dtype), prefix, name,
              (long long)tn_max_i64(tn_tensor_elements(t), 1));
  emit_elements(out, t);
  tn_text_add(out, "\n};\n");
}

static void add_tolerance(tn_text *out, const char *upper, bool exact) {
  tn_text_add(
      out,
      "\n/* How far an element may be from what is wanted, relative to the larger of it and 1. %s "
      "*/\n"
      "#ifndef %s_TOLERANCE\n#define %s_TOLERANCE %s\n#endif\n",
      exact ? "0: the\n * same bits on every target that rounds products and sums as IEEE 754 "
              "says; a "
              "compiler that\n * contracts them (-ffp-contract=fast) needs some 1e-5."
            : "Some\n * functions of the C library differ in the last bit from one to the next.",
      upper, upper, exact ? "0.0" : "1e-5");
}

static void add_near(tn_text *out, const char *upper, const char *type, const char *suffix,
                     const char *name) {
  tn_text_add(out,
              "\nstatic int %s(%s got, %s want) {\n"
              "  const %s size = fabs%s(want) > (%s)1 ? fabs%s(want) : (%s)1;\n"
              "  if (isnan(want)) {\n    return isnan(got);\n  }\n"
              "  return got == want || fabs%s(got - want) <= (%s)%s_TOLERANCE * size;\n}\n",
              name, type, type, type, suffix, type, suffix, type, suffix, type, upper);
}

/* One comparison per type of output: without 64-bit floats unless there are such outputs. */
static void add_compare(emit_model *m, tn_text *out, const char *upper) {
  uint64_t types = 0;
  for (int32_t k = 0; k < m->n_outputs; k++)
    types |= TN_MASK(m->plan->slots[m->plan->outputs[k]].type->dtype);
  if (types & TN_MASK(TN_F32)) add_near(out, upper, "float", "f", "is_near");
  if (types & TN_MASK(TN_F64)) add_near(out, upper, "double", "", "is_near_double");
}

static void add_check(tn_text *out, const char *name, const tn_tensor *t) {
  const long long n = tn_tensor_elements(t);
  if (t->dtype == TN_F32 || t->dtype == TN_F64)
    tn_text_add(out,
                "  for (int32_t k = 0; k < %lld; k++) {\n"
                "    wrong += !is_near%s(%s[k], want_%s[k]);\n  }\n",
                n, t->dtype == TN_F64 ? "_double" : "", name, name);
  else
    tn_text_add(out, "  wrong += memcmp(%s, want_%s, %lld) != 0;\n", name, name,
                (long long)tn_tensor_bytes(t));
}

static void add_call(const emit_model *m, tn_text *out) {
  tn_text_add(out, "  %s_run(", m->name);
  for (int32_t k = 0; k < m->n_inputs; k++)
    tn_text_add(out, "%sgiven_%s", k ? ", " : "", m->inputs[k]);
  for (int32_t k = 0; k < m->n_outputs; k++)
    tn_text_add(out, "%s%s", k + m->n_inputs ? ", " : "", m->outputs[k]);
  tn_text_add(out, ");\n");
}

void emit_write_test(emit_model *m, const tn_tensor *const *inputs, const tn_tensor *const *outputs,
                     tn_text *out) {
  char upper[EMIT_NAME] = {0};
  for (int k = 0; m->name[k] && k < EMIT_NAME - 1; k++)
    upper[k] = (char)toupper((unsigned char)m->name[k]);
  tn_text_add(out,
              "/* %s: runs it and ends with 0 if its outputs are right. Written by tenon emit-c; "
              "do not edit. */\n#include <math.h>\n#include <string.h>\n\n#include \"model.h\"\n",
              m->title);
  add_tolerance(out, upper, m->exact);
  for (int32_t k = 0; k < m->n_inputs; k++) add_array(out, "given", m->inputs[k], inputs[k]);
  for (int32_t k = 0; k < m->n_outputs; k++) add_array(out, "want", m->outputs[k], outputs[k]);
  tn_text_add(out, "\n");
  for (int32_t k = 0; k < m->n_outputs; k++)
    tn_text_add(out, "static %s %s[%lld];\n", emit_c_type(outputs[k]->dtype), m->outputs[k],
                (long long)tn_max_i64(tn_tensor_elements(outputs[k]), 1));
  add_compare(m, out, upper);
  tn_text_add(out, "\nint main(void) {\n  int32_t wrong = 0;\n");
  if (m->n_states) tn_text_add(out, "  %s_reset();\n", m->name);
  add_call(m, out);
  if (m->n_states) add_call(m, out); /* outputs of the second run have seen what the first left */
  for (int32_t k = 0; k < m->n_outputs; k++) add_check(out, m->outputs[k], outputs[k]);
  tn_text_add(out, "  return wrong != 0;\n}\n");
}

void emit_write_cmake(emit_model *m, tn_text *out) {
  tn_text_add(
      out,
      "# %s as a library of C: add_subdirectory() this folder and link %s. Written by tenon "
      "emit-c; do not edit.\n"
      "cmake_minimum_required(VERSION 3.13)\n"
      "project(%s LANGUAGES C)\n\n"
      "add_library(%s STATIC model.c weights.c)\n"
      "target_include_directories(%s PUBLIC ${CMAKE_CURRENT_SOURCE_DIR})\n"
      "set_target_properties(%s PROPERTIES C_STANDARD 11 C_STANDARD_REQUIRED ON C_EXTENSIONS "
      "OFF)\n"
      "target_link_libraries(%s PUBLIC m)\n"
      "if(CMAKE_C_COMPILER_ID MATCHES \"GNU|Clang\") # the arena holds values of several types\n"
      "  target_compile_options(%s PRIVATE -fno-strict-aliasing)\n"
      "endif()\n\n"
      "if(CMAKE_SOURCE_DIR STREQUAL CMAKE_CURRENT_SOURCE_DIR)\n"
      "  enable_testing()\n"
      "  add_executable(%s_test test.c)\n"
      "  target_link_libraries(%s_test PRIVATE %s)\n"
      "  add_test(NAME %s_test COMMAND %s_test)\n"
      "endif()\n",
      m->title, m->name, m->name, m->name, m->name, m->name, m->name, m->name, m->name, m->name,
      m->name, m->name, m->name);
}
