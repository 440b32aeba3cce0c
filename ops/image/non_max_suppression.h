/* NonMaxSuppression: what its inputs say, and the corners of boxes. */
#ifndef TN_IMAGE_NON_MAX_SUPPRESSION_H
#define TN_IMAGE_NON_MAX_SUPPRESSION_H

#include <math.h>

#include "tenon/kit/infer.h"

typedef struct nms_limits {
  int64_t boxes, classes, max; /* max: per class */
  float iou, score;
  bool all, center; /* all: there is no threshold of scores */
} nms_limits;

tn_status nms_limits_of(const tn_call *call, nms_limits *out);

static inline bool nms_counts(const nms_limits *l, float score) {
  return l->all ? !isnan(score) : score > l->score;
}

/* Corners, low ones first, whichever way the box is given. A box with a NaN has no area. */
typedef struct nms_box {
  float y0, x0, y1, x1;
} nms_box;

static inline nms_box nms_box_of(const float *b, bool center) {
  if (center) return (nms_box){b[1] - b[3] / 2, b[0] - b[2] / 2, b[1] + b[3] / 2, b[0] + b[2] / 2};
  return (nms_box){b[0] < b[2] ? b[0] : b[2], b[1] < b[3] ? b[1] : b[3], b[0] > b[2] ? b[0] : b[2],
                   b[1] > b[3] ? b[1] : b[3]};
}

#endif
