/* Does a kernel take a node? The rules of tn_kernel and its accept rows, and the answer of plan()
 * vetted.
 *
 * Used by selection for every candidate and by the executor when it folds one node. */
#ifndef TN_PLAN_MATCH_H
#define TN_PLAN_MATCH_H

#include "graph/graph.h"

/* NULL if kernel `def` of operator `op` takes the call as it is; else why not, in words that
 * name the argument and the rule ("input X is f16, takes f32"). The text is a literal or lives
 * in `reasons`, which may be NULL where nobody reads it; never NULL for lack of memory. call:
 * attrs, version, isa, inputs and outputs with types and layouts; an input is constant if its
 * data is not NULL. n_formal: how many of call->inputs the schema describes (captured values and
 * epilogue operands follow them). */
const char *tn_kernel_match(const tn_kerneldef *def, const tn_opdef *op, const tn_call *call,
                            uint32_t n_formal, tn_arena *reasons);

/* The parts of the above, for those who try several types and layouts: what does not depend on
 * them (device, instruction sets, versions, epilogue, arguments that must be there or constant,
 * ranks), and what does. refuse() is in tn_kernel_match only. */
const char *tn_kernel_match_fixed(const tn_kerneldef *def, const tn_opdef *op, const tn_call *call,
                                  uint32_t n_formal, tn_arena *reasons);
const char *tn_kernel_match_types(const tn_kerneldef *def, const tn_opdef *op, const tn_call *call,
                                  uint32_t n_formal, tn_arena *reasons);

/* What they say of a kernel that needs instruction sets which may not be used. */
const char *tn_kernel_isa_reason(uint64_t missing, tn_arena *reasons);

/* The row of an argument of the schema, its own or that of "*". NULL: the kernel has none, as a
 * type rule binds the argument to one that has a row; its layout is plain. */
const tn_accept *tn_kernel_row(const tn_kernel *kernel, const tn_arg *arg);
/* The same for flattened input (output) `index`. */
const tn_accept *tn_kernel_accept_input(const tn_kerneldef *def, const tn_opdef *op, uint32_t index,
                                        uint32_t n_formal);
const tn_accept *tn_kernel_accept_output(const tn_kerneldef *def, const tn_opdef *op,
                                         uint32_t index, uint32_t n_outputs);

/* What plan() finds in its answer: the defaults that plugin.h promises. */
tn_kernel_plan tn_kernel_plan_blank(void);
/* Asks plan(), if there is one, and vets its answer. An answer that breaks a rule is
 * TN_ERR_INVALID, and the error names the kernel and the rule; a status of plan()'s own is passed
 * on. What is merely odd is put right: in-place pairs of unequal storage are dropped, grains are at
 * least 1, costs at least 0, and a stage has one item at most where nothing is made. *out_plan is
 * written on TN_OK only. */
tn_status tn_kernel_ask_plan(const tn_kerneldef *def, const tn_call *call, tn_diag *diag,
                             tn_kernel_plan *out_plan);

/* "f32|f16" of a mask of dtypes, in `arena`. */
const char *tn_dtypes_text(uint64_t dtypes, tn_arena *arena);
/* "plain", "channels_last", "blocked16" or "any". A literal. */
const char *tn_layout_text(tn_layout layout);

#endif
