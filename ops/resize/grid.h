/* GridSample: its attributes, read once. */
#ifndef TN_RESIZE_GRID_H
#define TN_RESIZE_GRID_H

#include "tenon/kit/infer.h"

typedef enum grid_mode { GRID_NEAREST, GRID_LINEAR, GRID_CUBIC } grid_mode;
typedef enum grid_padding { GRID_ZEROS, GRID_BORDER, GRID_REFLECTION } grid_padding;

typedef struct grid_spec {
  grid_mode mode;
  grid_padding padding;
  bool align_corners;
  int32_t dims; /* spatial ones: 1 .. 6 */
} grid_spec;

tn_status grid_parse(const tn_call *call, grid_spec *out);

#endif
