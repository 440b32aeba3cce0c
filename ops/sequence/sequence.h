/* What the operators on sequences and optionals share: types of lists and of their items,
 * positions. */
#ifndef TN_OPS_SEQUENCE_SEQUENCE_H
#define TN_OPS_SEQUENCE_SEQUENCE_H

#include "sequence.gen.h"
#include "tenon/kit/infer.h"

/* Input `input` must be of this kind. */
tn_status sequence_want(const tn_call *call, uint32_t input, uint32_t kind);
/* *out becomes the type of a list whose items are of type `item`. */
void sequence_list_of(tn_tensor *out, uint32_t kind, const tn_tensor *item);
/* *out becomes the type of the items of a list, as far as it is known. */
void sequence_item_of(tn_tensor *out, const tn_tensor *list);
/* Position in input `input`, 0 .. n-1; negative ones count from n. Left out: missing. */
tn_status sequence_position(const tn_call *call, uint32_t input, int64_t n, int64_t missing,
                            int64_t *out);

#endif
