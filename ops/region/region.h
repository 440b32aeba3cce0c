/* What the files of the family share. */
#ifndef TN_REGION_REGION_H
#define TN_REGION_REGION_H

#include <stdbool.h>

#include "loop.h"

/* Strings and types narrower than a byte, which move element by element on one thread. */
bool region_is_odd(uint32_t dtype);
tn_status region_odd(const tn_call *call);

/* The runs of region_c and reorder_c with another transpose; NULL: portable. */
tn_status region_run(const tn_call *call, tn_transpose_fn transpose, uint32_t stage, int64_t begin,
                     int64_t end);
tn_status reorder_run(const tn_call *call, tn_transpose_fn transpose, int64_t begin, int64_t end);

#endif
