/* ArgMax and ArgMin as C. */
#include "reduce.gen.h"
#include "tenon/experimental/emit_elementwise.h"
#include "tenon/kit/axis.h"

/* Lines that say whether v takes the place of `most`: of integers, of floats, where NaN is beyond
 * all numbers. `than` is < or >, and equal ones do so where the last is asked for. */
static void add_condition(const tn_emit *e, const char *name, const char *than, bool last) {
  const uint32_t dtype = e->call->inputs[0]->dtype;
  const char *type = tn_emit_c_type(dtype);
  const bool is_float = dtype == TN_F32 || dtype == TN_F64;
  char condition[120];
  if (!is_float)
    snprintf(condition, sizeof condition, "v %s%s most", than, last ? "=" : "");
  else if (last)
    snprintf(condition, sizeof condition, "v %s= most || v != v", than);
  else
    snprintf(condition, sizeof condition, "v %s most || (v != v && most == most)", than);
  e->function(e, name,
              "/* Where the %s element of each row is, the %s of equal ones%s. */\n"
              "static void %s(const %s *x, int64_t *y, int32_t outer, int32_t n, int32_t inner) {\n"
              "  for (int32_t o = 0; o < outer; o++) {\n"
              "    for (int32_t i = 0; i < inner; i++) {\n"
              "      %s most = x[i];\n"
              "      int32_t place = 0;\n"
              "      for (int32_t k = 1; k < n; k++) {\n"
              "        const %s v = x[k * inner + i];\n"
              "        if (%s) {\n"
              "          most = v;\n"
              "          place = k;\n"
              "        }\n"
              "      }\n"
              "      *y = place;\n"
              "      y++;\n"
              "    }\n"
              "    x += n * inner;\n"
              "  }\n"
              "}\n",
              *than == '>' ? "largest" : "least", last ? "last" : "first",
              is_float ? "; NaN is beyond all numbers" : "", name, type, type, type, condition);
}

static void write_arg(const tn_emit *e, const char *op, const char *than) {
  const tn_arg_max_attrs *a = e->call->attrs;
  const tn_axis_view v = tn_axis_view_of(e->call->inputs[0], a->axis);
  const bool last = a->select_last_index != 0;
  char name[48];
  snprintf(name, sizeof name, "%s%s_%s", op, last ? "_last" : "",
           tn_dtype(e->call->inputs[0]->dtype)->name);
  add_condition(e, name, than, last);
  e->line(e, "%s(%s, %s, %d, %d, %d);", name, e->input(e, 0), e->output(e, 0), (int)v.outer,
          (int)v.n, (int)v.inner);
}

static void max_emit(const tn_emit *e) { write_arg(e, "arg_max", ">"); }
static void min_emit(const tn_emit *e) { write_arg(e, "arg_min", "<"); }

static const tn_emitter max_emitter = {
    .head = TN_HEAD(tn_emitter), .kernel = "arg_max_any_c", .emit = max_emit};
static const tn_emitter min_emitter = {
    .head = TN_HEAD(tn_emitter), .kernel = "arg_min_any_c", .emit = min_emit};
const tn_emitter *const arg_emitters[] = {&max_emitter, &min_emitter, NULL};
