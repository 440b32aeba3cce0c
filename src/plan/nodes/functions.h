/* Functions of the model (ONNX local functions): finding and expanding them. */
#ifndef TN_PLAN_FUNCTIONS_H
#define TN_PLAN_FUNCTIONS_H

#include "plan/plan.h"

#define TN_WITHOUT_FUNCTIONS                                                                  \
  "the model has functions of its own, which this program was linked without; to have them: " \
  "tenon select MODEL"

/* Where functions are left out, a graph that has any is refused. */
tn_status tn_functions_check(const tn_planner *p, const tn_graph *g, tn_diag *diag);
/* The function that a node calls, in its graph or the graphs around it; NULL: none. */
const tn_function *tn_function_find(const tn_graph *g, const tn_node *n);
/* Puts the body in the place of the node: attribute references get the node's values or the
 * function's defaults. */
tn_status tn_function_inline(const tn_planner *p, tn_graph *g, int32_t node, const tn_function *f,
                             tn_diag *diag);

#endif
