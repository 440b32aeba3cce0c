/* RoiAlign: where regions lie, and the points of their cells. */
#ifndef TN_IMAGE_ROI_ALIGN_H
#define TN_IMAGE_ROI_ALIGN_H

#include "tenon/kit/infer.h"

/* A region: where it begins, the size of its cells, and the points of a cell along y and x. */
typedef struct roi_region {
  int64_t batch, grid_y, grid_x;
  double y, x, cell_y, cell_x;
} roi_region;

/* Region k; TN_ERR_INVALID if it names no batch of X. */
tn_status roi_region_of(const tn_call *call, int64_t k, roi_region *out);

/* The corners around a point, and their weights, which are 0 outside of the map. */
typedef struct roi_corners {
  int64_t at[4];
  double weight[4];
} roi_corners;

/* Of a point of a cell. */
roi_corners roi_corners_of(const roi_region *r, int64_t cell_y, int64_t cell_x, int64_t iy,
                           int64_t ix, const tn_tensor *x);

#endif
