/* What If, Loop and Scan share: merging types, and values stacked or sliced along a dim. */
#ifndef TN_OPS_CONTROL_CONTROL_H
#define TN_OPS_CONTROL_CONTROL_H

#include "control.gen.h"
#include "tenon/kit/axis.h"
#include "tenon/kit/checked.h"
#include "tenon/kit/infer.h"
#include "tenon/kit/subgraph.h"

/* What is known of a value that may be a or b: dims that differ become unknown. */
tn_tensor control_merge(const tn_tensor *a, const tn_tensor *b);
/* The element of an input that must hold one; NULL: left out, or not known yet. */
tn_status control_one(const tn_call *call, uint32_t input, const char *name, const void **out);

/* ---- stack.c: values of one shape as slices of a whole --------------------------------------- */

/* Copies slice `index` of whole to a tensor of its own. Any type but strings. */
void control_slice(const tn_tensor *whole, int32_t axis, int64_t index, void *slice);
/* Type of n (TN_DIM_UNKNOWN: nobody knows) values like `one`, stacked along a new dim `axis` to
 * become output `output`. */
tn_status control_stacked(const tn_call *call, uint32_t output, const tn_tensor *one, int64_t axis,
                          int64_t n, tn_tensor *out);
/* Gives an output the type; dims that are not known become 0. */
tn_status control_begin(const tn_call *call, uint32_t output, const tn_tensor *type);
/* The same for no values at all: one is what is known of the values that there might have been. */
tn_status control_nothing(const tn_call *call, uint32_t output, const tn_tensor *one, int64_t axis);
/* The value becomes slice `index` of the output, which `at` divides into slices. type: what
 * control_stacked() says of the value, which must be the output's. */
tn_status control_put(const tn_call *call, uint32_t output, const tn_tensor *type, tn_axis_view at,
                      int64_t index, const tn_tensor *value);

#endif
