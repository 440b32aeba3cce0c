/* FixedResize: what one call asks for, and where a row of the output comes from. */
#ifndef TN_OPS_RESIZE_FIXED_RESIZE_H
#define TN_OPS_RESIZE_FIXED_RESIZE_H

#include <math.h>

#include "resize.gen.h"
#include "tenon/kit/checked.h"
#include "tenon/kit/tensor.h"

enum { FIXED_RESIZE_BITS = 11 }; /* behind the point of weights */

typedef struct fixed_resize {
  const tn_fixed_resize_attrs *a;
  int64_t batch, h, w, channels; /* of the input */
} fixed_resize;

/* Between rows `first` and `second`, the second one with `weight` of 2^11. */
typedef struct fixed_place {
  int64_t first, second;
  int32_t weight;
} fixed_place;

tn_status fixed_resize_make(const tn_call *call, fixed_resize *out);

/* Row `at` of `out`, among `in`. In f32, as XNNPACK does it. */
static inline fixed_place fixed_resize_place(const tn_fixed_resize_attrs *a, int64_t in,
                                             int64_t out, int64_t at) {
  const int64_t less = a->align_corners && out != 1;
  const float scale = (float)(in - less) / (float)(out - less);
  float x = (float)at * scale;
  if (a->half_pixel_centers && !a->align_corners) {
    x += 0.5f * scale - 0.5f;
    x = x < 0 ? 0 : x > (float)(in - 1) ? (float)(in - 1) : x;
  }
  const int64_t first = tn_min_i64((int64_t)x, in - 1);
  return (fixed_place){first, tn_min_i64(first + 1, in - 1),
                       (int32_t)lrintf((x - (float)first) * (1 << FIXED_RESIZE_BITS))};
}

#endif
