/* What Unique's reference and kernel agree on: what an item is, the shapes of the outputs. */
#ifndef TN_GATHER_UNIQUE_H
#define TN_GATHER_UNIQUE_H

#include "rows.h"

/* Items are the slices along the axis: size of them; without an axis, the elements. */
around unique_around(const tn_call *call);
/* Gives all outputs their shapes, for n unique items. */
tn_status unique_resize(const tn_call *call, int64_t n);

#endif
