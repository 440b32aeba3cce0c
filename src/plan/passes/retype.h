/* Gives nodes other types of floats, with casts around them: promote_halves.c, halve.c. */
#ifndef TN_PLAN_RETYPE_H
#define TN_PLAN_RETYPE_H

#include "plan/plan.h"

typedef struct tn_retyper {
  const tn_planner *p;
  tn_graph *g;
  tn_diag *diag;
  int32_t *other; /* per value that there was: the same in the other type, or -1 */
  int64_t n;
} tn_retyper;

tn_status tn_retyper_open(tn_retyper *r, const tn_planner *p, tn_graph *g, tn_diag *diag);
void tn_retyper_close(tn_retyper *r);
/* The inputs and outputs for which `in` and `out` are true become `dtype`. Where a value goes from
 * one such node to another, no cast is between them. */
tn_status tn_retype_node(tn_retyper *r, int32_t node, uint32_t dtype, const bool *in,
                         const bool *out);
/* The value in the other type, made by a cast unless it is there; negative: a status. */
int32_t tn_retype_value(tn_retyper *r, int32_t value, uint32_t dtype);
/* The kernel of the best rank (the pinned one, if one is) that would take the node with those
 * inputs and outputs in `dtype` (`in` or `out` NULL: all as they are): of the device, or of the CPU
 * where that is NULL. NULL: none does. */
const tn_kerneldef *tn_retype_kernel(const tn_planner *p, tn_graph *g, int32_t node,
                                     const struct tn_device *device, uint32_t dtype, const bool *in,
                                     const bool *out);
/* The value in `dtype` of which a cast makes this one; -1: there is none. */
int32_t tn_retype_source(const tn_graph *g, int32_t value, uint32_t dtype);
#endif
