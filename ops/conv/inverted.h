/* Shapes of one inverted residual, worked out once from the call. */
#ifndef TN_OPS_CONV_INVERTED_H
#define TN_OPS_CONV_INVERTED_H

#include "conv_geometry.h"

enum { INVERTED_X, INVERTED_W1, INVERTED_W2, INVERTED_W3, INVERTED_B1, INVERTED_B2, INVERTED_B3 };

typedef struct inverted {
  tn_window w;                            /* of the depthwise convolution, 2 dims */
  int64_t batch, channels, wide, filters; /* of the input, in between, of the output */
  int64_t in_size, out_size, taps;
} inverted;

/* From X and weights, which must have known types. */
tn_status inverted_make(const tn_call *call, inverted *out);

/* What happens between two convolutions, as an attribute says it: "", "HardSwish" or a clip. */
typedef enum inverted_kind { INVERTED_NONE, INVERTED_CLIP, INVERTED_HARD_SWISH } inverted_kind;
typedef struct inverted_activation {
  inverted_kind kind;
  double lo, hi; /* of the clip */
} inverted_activation;
/* 0: after W1; 1: after W2. */
inverted_activation inverted_activation_of(const tn_call *call, int32_t which);

#endif
