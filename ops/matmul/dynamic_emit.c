/* tenon::DynamicMatMul as C. */
#include "dynamic_matmul.h"
#include "tenon/experimental/emit_c.h"

static const char *refuse(const tn_call *call) {
  enum { MOST_K = INT32_MAX / (255 * 128) };
  dynamic_matmul p;
  if (dynamic_matmul_make(call, &p)) return "its shapes do not fit";
  return p.k > MOST_K ? "its sums may not fit 32 bits" : NULL;
}

static uint64_t scratch(const tn_call *call) {
  dynamic_matmul p;
  return dynamic_matmul_make(call, &p) ? 0 : (uint64_t)p.k * sizeof(int16_t);
}

static void emit(const tn_emit *e) {
  dynamic_matmul p;
  if (dynamic_matmul_make(e->call, &p)) return;
  const bool by_rows = p.trans_b || p.n == 1 || p.k == 1; /* of weights that lie one by one */
  e->code(e, "emit/dynamic.c");
  if (by_rows) {
    e->code(e, "emit/quant_pair.c");
    e->code(e, "emit/quant_four.c");
  }
  e->code(e, by_rows ? "emit/dynamic_rows.c" : "emit/dynamic_columns.c");
  e->line(e, "%s(%s, %s, %s, %d, %s, %s, %d, %d, %d, %s);",
          by_rows ? "dynamic_matmul" : "dynamic_matmul_columns", e->input(e, DYNAMIC_A),
          e->input(e, DYNAMIC_B), e->input(e, DYNAMIC_B_SCALE), tn_elements(p.b_scale) != 1,
          e->input(e, DYNAMIC_BIAS), e->output(e, 0), (int)p.m, (int)p.n, (int)p.k, e->scratch(e));
}

static const tn_emitter emitter = {.head = TN_HEAD(tn_emitter),
                                   .kernel = "dynamic_matmul_c",
                                   .refuse = refuse,
                                   .scratch = scratch,
                                   .scratch_type = TN_I16,
                                   .emit = emit};
const tn_emitter *const dynamic_emitters[] = {&emitter, NULL};
