/* Which outputs of a plan may lie in the caller's memory, and which of them on an input's. */
#ifndef TENON_EXEC_BINDINGS_H
#define TENON_EXEC_BINDINGS_H

#include "exec/frame.h"

/* What a plan does with a slot. */
typedef struct tn_use {
  int32_t n_reads;       /* of the memory that it owns: by steps, the continuation and the caller */
  int32_t output;        /* the first of the plan that it is; -1: none */
  const tn_step *writer; /* NULL: none */
  uint32_t nth;          /* output of the writer */
} tn_use;

/* One for each slot, in one walk over the plan. root: per slot, the slot that owns the memory. */
void tn_uses_note(const tn_plan *plan, const int32_t *root, tn_use *out_uses);
/* Of output k; looks at no step but the one that writes it. */
tn_output_binding tn_output_binding_of(const tn_plan *plan, const int32_t *root, const tn_use *uses,
                                       int32_t k);

#endif
