/* Cutting a graph where shapes depend on data that only a run can give: the head is planned now,
 * the continuation is a callable of its own that is planned once the head has run. */
#ifndef TN_PLAN_CONTINUATION_H
#define TN_PLAN_CONTINUATION_H

#include "plan/passes/passes.h"

typedef struct tn_split {
  tn_callable *continuation;     /* NULL: nothing was cut off */
  int32_t n_outputs;             /* of the graph before the cut */
  int32_t *head_outputs;         /* per output of the whole: index among the head's outputs, -1 */
  int32_t *continuation_outputs; /* per output of the whole: index among the continuation's, -1 */
  int32_t n_inputs;              /* of the continuation */
  int32_t *from_input;  /* per input of the continuation: index among the graph's inputs, -1 */
  int32_t *from_output; /* or among the head's outputs, -1 */
} tn_split;

#define TN_WITHOUT_CONTINUATIONS                                                                \
  "shapes depend on the data of a run, for which this program was linked without; to have it: " \
  "tenon select MODEL"

/* Moves the nodes of the cut out of g into a new callable (cut empty: only fills the maps). What
 * the continuation reads becomes an output of g. Arrays live in `arena`. On failure g is of no use
 * any more and there is no continuation. */
tn_status tn_split_make(const tn_planner *p, tn_graph *g, const tn_cut *cut, const char *name,
                        tn_arena *arena, tn_diag *diag, tn_split *out_split);
/* Gives the plan of the head, once arranged, its continuation and the outputs of the whole. Takes
 * split->continuation. */
tn_status tn_split_wire(tn_split *split, tn_plan *plan);

#endif
