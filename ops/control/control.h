/* What If, Loop and Scan share: merging types, and values stacked or sliced along a dim. */
#ifndef TN_OPS_CONTROL_CONTROL_H
#define TN_OPS_CONTROL_CONTROL_H

#include "base/checked.h"
#include "base/infer.h"
#include "control.gen.h"

/* A tensor of unknown type. */
tn_tensor control_unknown(void);
/* What is known of a value that may be a or b: dims that differ become unknown. */
tn_tensor control_merge(const tn_tensor *a, const tn_tensor *b);
/* Pointers to n tensors of unknown type, in host memory; NULL: no memory. */
tn_tensor **control_types(const tn_call *call, uint32_t n);
void control_types_free(const tn_call *call, tn_tensor **types); /* NULL is legal */
/* The element of an input that must hold one; NULL: left out, or not known yet. */
tn_status control_one(const tn_call *call, uint32_t input, const char *name, const void **out);
/* Copies slice `index` along `axis` of `from` to `to`, or (put) the other way. Any type but
 * strings; dense plain tensors. */
void control_slice(const tn_tensor *whole, int32_t axis, int64_t index, void *slice, bool put);
/* Output `output` of the call: values (each of one shape) stacked along a new dim `axis`, in
 * reverse order if so asked. */
tn_status control_stack(const tn_call *call, uint32_t output, const tn_tensor *const *values,
                        int64_t n, int64_t axis, bool reverse);

/* The same for no values at all: element is what is known of the values that there might have
 * been. */
tn_status control_stack_none(const tn_call *call, uint32_t output, const tn_tensor *element,
                             int64_t axis);

#endif
