/* What a layer's file says of the numbers that its blobs begin with (FillerParameter): the floats
 * of an attribute, weight_filler of the first blob, bias_filler of the second. */
#ifndef TN_FORMATS_CAFFE_FILLER_H
#define TN_FORMATS_CAFFE_FILLER_H

#include "lower.h"

/* The places in the attribute. */
enum {
  CAF_FILLER_TYPE,
  CAF_FILLER_VALUE,
  CAF_FILLER_MIN,
  CAF_FILLER_MAX,
  CAF_FILLER_MEAN,
  CAF_FILLER_STD,
  CAF_FILLER_SPARSE, /* how many of a column stay, on average; -1: all */
  CAF_FILLER_VARIANCE_NORM,
  CAF_FILLER_FIELDS
};

/* Types, in the order of the names in node.c. */
enum {
  CAF_FILL_CONSTANT,
  CAF_FILL_UNIFORM,
  CAF_FILL_GAUSSIAN,
  CAF_FILL_POSITIVE_UNITBALL,
  CAF_FILL_XAVIER,
  CAF_FILL_MSRA,
  CAF_FILL_BILINEAR
};

enum { CAF_FAN_IN, CAF_FAN_OUT, CAF_FAN_AVERAGE };

/* A random number in [0, 1); the state moves on. */
double caf_random(uint64_t *state);

/* Fills the f32 tensor t, of at least one element, as the filler says. */
tn_status caf_fill(const tn_lowering *c, const double *filler, uint64_t seed, const tn_tensor *t,
                   float *out);

#endif
