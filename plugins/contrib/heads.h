/* What the attention operators share: sizes, the forms of masks, the node that they become, and
 * their reference. */
#ifndef CONTRIB_HEADS_H
#define CONTRIB_HEADS_H

#include "builder.h"

enum { MASK_NONE, MASK_ENDS, MASK_RANGES, MASK_KEYS, MASK_ROWS, MASK_SQUARE };

typedef struct heads {
  int64_t batch, heads, n_q, n_new, past,
      total;            /* queries; keys that come in, were there before, and all */
  int64_t size, v_size; /* of a head */
  double scale, filter; /* filter: what is added where the mask says no */
  bool causal;
  uint32_t dtype, mask,
      bias; /* mask, bias: inputs of the node; bias has the shape of the scores or broadcasts */
  int form; /* MASK_... */
} heads;

/* Fills in total, scale (0: 1 / sqrt(size)) and form, and checks mask and bias. */
tn_status heads_complete(const tn_call *call, heads *h);
double heads_flops(const heads *h);

/* Attention of ai.onnx on q, k, v of shape [batch, rows, heads * size]; past: [batch, heads, past,
 * size] or -1. Three outputs. */
void heads_build(builder *b, const heads *h, const int32_t qkv[3], const int32_t past[2],
                 int32_t out[3]);

/* The halves of a cache [2, batch, heads, past, size], -1 and -1 if there is none; and both of
 * [batch, heads, total, size] as one again. */
void heads_past(builder *b, const heads *h, int32_t cache, int32_t out[2]);
int32_t heads_present(builder *b, const heads *h, const int32_t halves[2]);

/* q, k, v: [batch][heads][rows][size], keys and values with those of the past. Writes [batch, n_q,
 * heads * v_size]. */
void heads_reference(const tn_call *call, const heads *h, const double *q, const double *k,
                     const double *v, tn_tensor *y);

#endif
