/* Gather as C. A model that runs can say nothing of an index that is out of bounds, which fails in
 * the library: the nearest one stands for it. */
#include "gather.gen.h"
#include "rows.h"
#include "tenon/experimental/emit_elementwise.h"

static const char *refuse(const tn_call *call) {
  const uint32_t type = call->inputs[1]->dtype;
  if (type != TN_I32 && type != TN_I64) return "takes indices of i32 and i64 only";
  return rows_element_bytes(call->outputs[0]->dtype) ? NULL : "takes whole bytes only";
}

static void emit(const tn_emit *e) {
  const tn_tensor *x = e->call->inputs[0], *index = e->call->inputs[1];
  const int64_t given = ((const tn_gather_attrs *)e->call->attrs)->axis;
  const around a = around_axis(x, (int32_t)(given < 0 ? given + x->rank : given));
  const char *type = tn_emit_c_type(index->dtype), *name = tn_dtype(index->dtype)->name;
  char function[64];
  snprintf(function, sizeof function, "gather_%s", name);
  e->function(
      e, function,
      "/* Slices of `bytes`, of n that an index names; negative ones count from the end. An\n"
      " * index that is out of bounds reads the nearest slice. */\n"
      "static void %s(const void *x, const %s *index, void *y, int32_t before, int32_t n,\n"
      "                       int32_t bytes, int32_t n_indices) {\n"
      "  const uint8_t *from = x;\n"
      "  uint8_t *to = y;\n"
      "  for (int32_t k = 0; k < before; k++) {\n"
      "    for (int32_t i = 0; i < n_indices; i++) {\n"
      "      const %s at = index[i] < 0 ? index[i] + n : index[i];\n"
      "      const int32_t place = at < 0 ? 0 : at >= n ? n - 1 : (int32_t)at;\n"
      "      memcpy(to, from + place * bytes, (size_t)bytes);\n"
      "      to += bytes;\n"
      "    }\n"
      "    from += n * bytes;\n"
      "  }\n"
      "}\n",
      function, type, type);
  e->line(e, "%s(%s, %s, %s, %d, %d, %d, %d);", function, e->input(e, 0), e->input(e, 1),
          e->output(e, 0), (int)a.before, (int)a.size,
          (int)(a.after * rows_element_bytes(x->dtype)), (int)tn_elements(index));
}

static const tn_emitter emitter = {
    .head = TN_HEAD(tn_emitter), .kernel = "gather_c", .refuse = refuse, .emit = emit};
const tn_emitter *const gather_emitters[] = {&emitter, NULL};
