/* tenon::FixedResize as C: places and weights are written out. */
#include "fixed_resize.h"
#include "tenon/experimental/emit_c.h"

static const char *refuse(const tn_call *call) {
  return tn_elements(call->outputs[0]) ? NULL : "its output has no elements";
}

/* Three for each row or column of the output: two places, `step` elements apart, and a weight. */
static const char *places(const tn_emit *e, const tn_fixed_resize_attrs *a, int64_t in, int64_t out,
                          int64_t step) {
  const int64_t n = 3 * out;
  int32_t *all = e->memory(e, (uint64_t)n * sizeof *all);
  for (int64_t k = 0; all && k < out; k++) {
    const fixed_place p = fixed_resize_place(a, in, out, k);
    all[3 * k] = (int32_t)(p.first * step);
    all[3 * k + 1] = (int32_t)(p.second * step);
    all[3 * k + 2] = p.weight;
  }
  const tn_tensor t = tn_tensor_make(TN_I32, 1, &n, all);
  return all ? e->constant(e, &t) : "NULL";
}

static void emit(const tn_emit *e) {
  const bool is_signed = e->call->inputs[0]->dtype == TN_I8;
  fixed_resize p;
  if (fixed_resize_make(e->call, &p)) return;
  e->code(e, is_signed ? "emit/fixed_i8.c" : "emit/fixed_u8.c");
  e->line(e, "fixed_resize_%s(%s, %s, %s, %s, %d, %d, %d, %d, %d);", is_signed ? "i8" : "u8",
          e->input(e, 0), e->output(e, 0), places(e, p.a, p.h, p.a->height, p.w * p.channels),
          places(e, p.a, p.w, p.a->width, p.channels), (int)p.batch, (int)(p.h * p.w * p.channels),
          (int)p.a->height, (int)p.a->width, (int)p.channels);
}

static const tn_emitter emitter = {
    .head = TN_HEAD(tn_emitter), .kernel = "fixed_resize_c", .refuse = refuse, .emit = emit};
const tn_emitter *const fixed_resize_emitters[] = {&emitter, NULL};
