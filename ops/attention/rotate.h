/* tenon::Rotary as plain numbers: rows of X, and where their cosines and sines are. */
#ifndef TN_OPS_ATTENTION_ROTATE_H
#define TN_OPS_ATTENTION_ROTATE_H

#include "attention.gen.h"
#include "tenon/kit/checked.h"

typedef struct rotate {
  int64_t size[3], rows, n; /* of the dims before the last; their product; elements of a row */
  int64_t step[2][3];       /* of cosines and sines, per dim before the last: floats, or 0 */
} rotate;

tn_status rotate_make(const tn_call *call, rotate *out);

/* First element of row `row` of cosines (0) or sines (1). */
static inline int64_t rotate_at(const rotate *r, int which, int64_t row) {
  const int64_t *step = r->step[which], *size = r->size;
  return row % size[2] * step[2] + row / size[2] % size[1] * step[1] +
         row / size[2] / size[1] * step[0];
}

#endif
