/* Resize: what its attributes and inputs say, per axis, and the tables of samples that kernels
 * prepare. */
#ifndef TN_RESIZE_RESIZE_H
#define TN_RESIZE_RESIZE_H

#include "tenon/kit/infer.h"

typedef enum resize_mode { RESIZE_NEAREST, RESIZE_LINEAR, RESIZE_CUBIC } resize_mode;

typedef enum resize_coords {
  COORDS_HALF_PIXEL,
  COORDS_HALF_PIXEL_SYMMETRIC,
  COORDS_PYTORCH_HALF_PIXEL,
  COORDS_ALIGN_CORNERS,
  COORDS_ASYMMETRIC,
  COORDS_TF_CROP_AND_RESIZE,
  COORDS_TF_HALF_PIXEL_FOR_NN /* versions 11 and 12 */
} resize_coords;

typedef enum resize_rounding {
  ROUND_PREFER_FLOOR,
  ROUND_PREFER_CEIL,
  ROUND_FLOOR,
  ROUND_CEIL
} resize_rounding;

typedef struct resize_axis {
  int64_t in, out;
  double scale;      /* out / in, or as given */
  double width;      /* in * scale: `out` before it was rounded down */
  double start, end; /* region of interest, in units of the input */
  resize_rounding rounding;
  bool resized; /* false: every sample is the element at the same place */
} resize_axis;

typedef struct resize_spec {
  resize_mode mode;
  resize_coords coords;
  bool antialias, exclude_outside;
  double cubic_a, extrapolation;
  int32_t rank;
  resize_axis axes[TN_MAX_RANK];
} resize_spec;

/* Reads attributes and the constant inputs of a Resize (version 11 and later). TN_NEEDS_DATA: as
 * for infer. */
tn_status resize_parse(const tn_call *call, resize_spec *out);

/* Elements of the input that make output place x along an axis: `taps` indices with weights,
 * clamped to the input, and whether x lies outside of a tf_crop_and_resize input and gets the
 * extrapolation value. */
typedef struct resize_table {
  int64_t taps;
  int64_t *index;    /* [out][taps] */
  double *weight;    /* [out][taps] */
  float *weight_f32; /* the same */
  uint8_t *outside;  /* [out] */
} resize_table;

/* Samples per output place. */
int64_t resize_taps(const resize_spec *spec, const resize_axis *axis);
/* Bytes of a table's arrays; TN_ERR_OVERFLOW. */
tn_status resize_table_bytes(const resize_spec *spec, const resize_axis *axis, uint64_t *out_bytes);
/* Lays the arrays out in memory and fills them. */
void resize_table_fill(const resize_spec *spec, const resize_axis *axis, void *memory,
                       resize_table *out);

#endif
