/* In place of models' functions: functions.c of the planner, function.c of the reader of ONNX. */
#include "plan/nodes/functions.h"

#include "base/diag.h"
#include "onnx/reader.h"
#include "without/without.h"

const char tn_without_functions = 0;

tn_status tn_functions_check(const tn_planner *p, const tn_graph *g, tn_diag *diag) {
  (void)p;
  return g->functions.n ? tn_fail(diag, TN_ERR_UNSUPPORTED, TN_WITHOUT_FUNCTIONS) : TN_OK;
}

const tn_function *tn_function_find(const tn_graph *g, const tn_node *n) {
  (void)g, (void)n;
  return NULL;
}

tn_status tn_function_inline(const tn_planner *p, tn_graph *g, int32_t node, const tn_function *f,
                             tn_diag *diag) {
  (void)p, (void)g, (void)node, (void)f, (void)diag;
  return TN_ERR_UNSUPPORTED;
}

tn_status onnx_function_read(onnx_reader *r, onnx_span message, tn_graph *g) {
  (void)message, (void)g;
  return r->source->host->fail(r->source->ctx, TN_ERR_UNSUPPORTED, TN_WITHOUT_FUNCTIONS);
}
