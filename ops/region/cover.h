/* What a set of regions leaves uncovered in the output, as boxes over the output's dims. */
#ifndef TN_REGION_COVER_H
#define TN_REGION_COVER_H

#include <stdbool.h>

#include "tenon/plugin.h"

enum { COVER_MAX = 64 };

typedef struct tn_box {
  int64_t start[TN_MAX_RANK], count[TN_MAX_RANK];
} tn_box;

typedef struct tn_cover {
  int32_t n; /* boxes that are not covered, disjoint */
  bool
      everything; /* the regions are no boxes, or too many: fill all of the output before copying */
  tn_box boxes[COVER_MAX];
} tn_cover;

/* The output must be plain and of known shape; regions are disjoint and inside of it. */
void tn_cover_find(const tn_tensor *out, const tn_region *const *regions, uint32_t n_regions,
                   tn_cover *cover);

/* Row-major strides of a plain tensor. */
void tn_plain_strides(const tn_tensor *t, int64_t *strides);

#endif
