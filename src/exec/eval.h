/* Running one node by itself: a plan of one step, run by an ordinary frame. */
#ifndef TN_EXEC_EVAL_H
#define TN_EXEC_EVAL_H

#include "exec/frame.h"

typedef struct tn_eval {
  const tn_planner *planner;
  tn_gnode node; /* its inputs and outputs are slots of the plan */
  tn_diag *diag;
  tn_arena arena;
  tn_plan plan;
  tn_choice choice;
  tn_step step;
  int32_t *inputs, *outputs;
  tn_frame *frame;
} tn_eval;

/* The step of e->node on these inputs and outputs; those of known size are written to constants,
 * which the caller gets. */
tn_status tn_eval_add_step(tn_eval *e, const tn_tensor *const *in, tn_tensor *const *out,
                           tn_const **out_consts);
/* Books scratch and state of e->choice, and builds the frame anew with them. */
tn_status tn_eval_book(tn_eval *e);
/* Prepares the kernel, calls body, and finishes. */
tn_status tn_eval_with_state(tn_eval *e, tn_status (*body)(tn_frame *f, void *self), void *self);
void tn_eval_close(tn_eval *e);

#endif
