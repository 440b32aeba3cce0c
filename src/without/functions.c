/* In place of models' functions: functions.c of graphs and of the planner, function.c of the reader
 * of ONNX. */
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

tn_status tn_graph_add_function(tn_graph *g, const char *domain, const char *name,
                                const char *overload, tn_graph *body, const char *const *attr_names,
                                uint32_t n_attr_names, const tn_attr *const *defaults,
                                uint32_t n_defaults) {
  (void)domain, (void)name, (void)overload, (void)body;
  (void)attr_names, (void)n_attr_names, (void)defaults, (void)n_defaults;
  return tn_graph_refuse(g, TN_ERR_UNSUPPORTED, TN_WITHOUT_FUNCTIONS);
}

tn_status tn_graph_function_at(const tn_graph *g, int32_t index, tn_function_info *out) {
  (void)g, (void)index, (void)out;
  return TN_ERR_NOT_FOUND;
}
