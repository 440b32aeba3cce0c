/* What the passes share among themselves. */
#ifndef TN_PLAN_PASSES_H
#define TN_PLAN_PASSES_H

#include <string.h>

#include "graph/core_ops.h"
#include "plan/plan.h"

/* passes.c: the table. `last` where a pass takes it: the graph will not come again, as shapes are
 * known now. */
tn_status tn_passes_at_load(const tn_planner *p, tn_graph *g, tn_diag *diag);
/* stop_after: the last stage that runs; 0: all. */
tn_status tn_passes_at_plan(const tn_planner *p, tn_graph *g, tn_stage stop_after, tn_diag *diag);
/* status, or what the verifier says after that pass (debug builds only). */
tn_status tn_verified(const tn_graph *g, const char *pass, tn_status status, tn_diag *diag);
/* select/first_kernel.c: of the kernels that take the node with the epilogue it has now (the pinned
 * one, if one is), that of the best rank; NULL: none does. */
const tn_kerneldef *tn_first_kernel(const tn_planner *p, tn_graph *g, int32_t node);
/* lower.c: is there a kernel of the operator for the device? Whether it takes a certain node, only
 * that node knows. */
struct tn_device;
bool tn_has_kernel_on(const tn_planner *p, const tn_opdef *op, const struct tn_device *d);
/* The kernel that wins the node by its rank, whatever its layouts cost; NULL: none does. */
const tn_kerneldef *tn_winner_by_rank(const tn_planner *p, tn_graph *g, int32_t node);
/* fold_late.c: what folding has left for the rewrites to see; last: all of it. */
tn_status tn_fold_late(const tn_planner *p, tn_graph *g, bool last, bool *out_folded,
                       tn_diag *diag);

/* The pass check for the nodes with ids >= first: operator found, arguments bound, functions and
 * early lowerings expanded (the nodes that these add, too). Every problem is reported. */
tn_status tn_check_from(const tn_planner *p, tn_graph *g, int32_t first, tn_diag *diag);
/* standard_order.c: transposes there and back go. */
tn_status tn_cancel_transposes(tn_graph *g);
/* What the type rules alone say of a node whose shapes cannot be inferred yet: the dtypes of its
 * outputs. */
tn_status tn_infer_dtypes(const tn_planner *p, tn_graph *g, int32_t node);
/* TN_ERR_SHAPE: whatever the open dims of its inputs are, they do not broadcast. */
tn_status tn_infer_conflict(const tn_planner *p, tn_graph *g, int32_t node, tn_diag *diag);
/* Infers one node if its inputs are known, and folds it if it can be. *out_done: its outputs are
 * known now. Answers TN_NEEDS_DATA with the value whose data are asked for. */
tn_status tn_infer_and_fold(const tn_planner *p, tn_graph *g, int32_t node, bool *out_done,
                            int32_t *out_value, tn_diag *diag);
/* Checks, infers and folds the nodes with ids >= first: those that a lowering or rewrite has just
 * added. */
tn_status tn_settle_from(const tn_planner *p, tn_graph *g, int32_t first, tn_diag *diag);
/* Could it be run now: are its inputs constants, or does it read their types alone? */
bool tn_has_what_it_reads(const tn_graph *g, const tn_gnode *n);
/* Replaces one node through its operator's lower(), and settles what that adds. *out_done: false if
 * the operator has no lowering or leaves this node as it is. */
tn_status tn_lower_node(const tn_planner *p, tn_graph *g, int32_t node, bool *out_done,
                        tn_diag *diag);
/* An error for each pin that speaks of a kernel nobody offers, a warning for each that speaks of
 * nothing in the model or the registry. After the pass check, when functions have been expanded. */
tn_status tn_pins_check(const tn_planner *p, const tn_graph *g, tn_diag *diag);
/* True if a pin says that a kernel of this very operator has to run the node. */
bool tn_pin_forbids_lowering(const tn_planner *p, const tn_gnode *node);
/* True for data movement, and for operators that no kernel runs, if they have a lowering. */
bool tn_wants_lowering(const tn_planner *p, const tn_gnode *n);
/* arg_rules.c */
/* Would input (output) k of the node be of the type `wide` if the node were computed in it? Only a
 * type variable that an input binds to f16 or bf16 promotes: one that only outputs have follows
 * from an attribute and stays. */
bool tn_arg_promotes(const tn_graph *g, const tn_gnode *n, uint32_t k, bool output, uint32_t wide);
/* The type rule that binds input (output) k of the node; -1: none does. */
int32_t tn_arg_rule(const tn_gnode *n, uint32_t k, bool output);
/* Makes f32 of what nodes compute in f16 or bf16 (promote_halves.c). *out_changed: it did. */
tn_status tn_promote_halves(const tn_planner *p, tn_graph *g, bool *out_changed, tn_diag *diag);
/* halve.c: the way back, in the memory of GPUs. */
tn_status tn_pass_halve(const tn_planner *p, tn_graph *g, tn_diag *diag);
/* Is the first device that is wanted a GPU? Not in plans that stay on the CPU. */
bool tn_plans_for_gpu(const tn_planner *p);
/* Why the type cannot hold floats of which this is the largest; NULL: it can. */
const char *tn_half_misfit(float largest, uint32_t dtype);
/* Makes 16-bit floats of weights that operators take as such (narrow_weights.c). */
#define TN_WITHOUT_NARROW_WEIGHTS                                                         \
  "weights in 16 bits: this program was linked without them; to have them: tenon select " \
  "--precision f16 MODEL"
tn_status tn_narrow_weights(const tn_planner *p, tn_graph *g, tn_diag *diag);
/* Does some kernel of the node's operator apply epilogues itself? */
bool tn_has_epilogue_kernel(const tn_planner *p, const tn_gnode *n);
/* True if t can be the operand of ADD or MUL: it has the output's shape, or one value per index of
 * one dim. */
bool tn_epilogue_operand_fits(const tn_tensor *t, const tn_tensor *out);
/* Computes nodes in another order of dims where that saves transposes (move_transposes.c).
 * *out_changed: it did. */
tn_status tn_move_transposes(const tn_planner *p, tn_graph *g, bool *out_changed, tn_diag *diag);
/* nodes/plugin_edit.c: a plug-in edits the graph. */
typedef tn_status (*tn_edit_fn)(const tn_call *, tn_graph *, int32_t node);
typedef struct tn_edit {
  const tn_planner *p;
  tn_graph *g;
  int32_t node;               /* in whose place or around which it edits */
  const char *what, *name;    /* "lowering", NULL; "rewrite", "acme": for messages */
  const tn_part_owner *owner; /* of lower or apply; NULL: nobody's */
  tn_diag *diag;
  int64_t promises; /* of the graph, before */
  int32_t needed;   /* after TN_NEEDS_DATA: the input whose data are asked for */
} tn_edit;
/* Calls edit (lower, apply). A failure has a message, TN_ERR_UNSUPPORTED only if that is one. */
tn_status tn_edit_call(tn_edit *e, tn_edit_fn edit, bool unsupported_fails);
/* When the added nodes are settled: what has taken the place of other values is like them. */
tn_status tn_edit_check(tn_edit *e);
/* How many nodes a pass may make the graph grow to; beyond it, its edits come to no end. */
int64_t tn_edit_limit(const tn_graph *g);
tn_status tn_edit_endless(tn_graph *g, int32_t node, const char *what, tn_diag *diag);
/* Makes the epilogue of a node nodes of their own again. *out_done: false if it has none. */
tn_status tn_unfuse(tn_graph *g, int32_t node, bool *out_done);
/* Merges regions that read from regions (merge_regions.c). *out_changed: there were such. */
tn_status tn_merge_regions(const tn_planner *p, tn_graph *g, bool *out_changed, tn_diag *diag);
/* Lets concatenations begin with others that hold the same (share_prefixes.c). *out_changed: some
 * do. */
tn_status tn_share_region_prefixes(const tn_planner *p, tn_graph *g, bool *out_changed,
                                   tn_diag *diag);

#endif
