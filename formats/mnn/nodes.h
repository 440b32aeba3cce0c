/* What the makers of nodes share. A maker answers the value of output 0; TN_NO_ID: it has set its
 * outputs, or r->status says what is wrong. */
#ifndef TN_FORMATS_MNN_NODES_H
#define TN_FORMATS_MNN_NODES_H

#include "reader.h"
#include "tenon/kit/lower.h"

typedef int32_t mnn_make_fn(mnn_reader *r);

/* Who makes the nodes of an operator. Lists end with one that has no name. */
typedef struct mnn_maker {
  const char *op;
  mnn_make_fn *make;
} mnn_maker;

extern const mnn_maker mnn_windows[], mnn_elementwise[], mnn_shapes[], mnn_axes[], mnn_select[],
    mnn_recurrent[], mnn_control[], mnn_codes[];

/* ---- node.c ---- */

bool mnn_add(mnn_reader *r, const char *domain, const char *op, const int32_t *in, uint32_t n_in,
             const int32_t *out, uint32_t n_out, const tn_attr *attrs, uint32_t n_attrs);
/* A node of one output, which is answered. */
int32_t mnn_emit_in(mnn_reader *r, const char *domain, const char *op, const int32_t *in,
                    uint32_t n, const tn_attr *attrs, uint32_t n_attrs);
int32_t mnn_emit(mnn_reader *r, const char *op, const int32_t *in, uint32_t n, const tn_attr *attrs,
                 uint32_t n_attrs);
int32_t mnn_emit_1(mnn_reader *r, const char *op, int32_t x);
int32_t mnn_emit_2(mnn_reader *r, const char *op, int32_t x, int32_t y);
int32_t mnn_emit_int(mnn_reader *r, const char *op, int32_t x, const char *name, int64_t i);
int32_t mnn_emit_float(mnn_reader *r, const char *op, int32_t x, const char *name, double f);
int32_t mnn_cast(mnn_reader *r, int32_t x, uint32_t dtype);
/* Input k as i64, which shapes and axes of ONNX have. */
int32_t mnn_wide(mnn_reader *r, uint64_t k);
/* "not supported: <what>" */
int32_t mnn_refuse(mnn_reader *r, const char *what);
int32_t mnn_invalid(mnn_reader *r, const char *what);
/* A field of the operator's parameters: of 4 bytes, of 1. */
int64_t mnn_param_int(const mnn_reader *r, uint32_t field, int64_t missing);
int64_t mnn_param_byte(const mnn_reader *r, uint32_t field, int64_t missing);
/* A vector of integers as a constant; TN_NO_ID: it is longer than a shape. */
int32_t mnn_ints_of(mnn_reader *r, const tn_flat_vector *v);
/* A vector of the file as a constant of this shape. */
int32_t mnn_floats(mnn_reader *r, const tn_flat_vector *v, int32_t rank, const int64_t *shape);

/* ---- codes.c ---- */

/* y, which the operator has made, in the steps of its output; in numbers: y itself. */
int32_t mnn_in_steps(mnn_reader *r, int32_t y);
/* Does an operator of two inputs spread one of them? If it is not in blocks of channels, then MNN
 * computes it in numbers if so, else in codes, which shapes tell: `make` is called for both. */
bool mnn_may_spread(const mnn_reader *r);
void mnn_spread(mnn_reader *r, mnn_make_fn *make);
/* The bias of a depthwise convolution, which MNN cuts down to whole sums of codes. */
void mnn_cut_bias(const mnn_reader *r, const float *scales, float *bias, uint64_t n);
/* Is it a convolution of codes by codes? Then the steps of its input and output. */
bool mnn_own_codes(const mnn_reader *r, mnn_steps *in, mnn_steps *out);
int32_t mnn_from_codes(mnn_reader *r, int32_t codes, const mnn_steps *s);
/* With the convolution's Relu. */
int32_t mnn_to_codes(mnn_reader *r, int32_t y, const mnn_steps *s);

/* ---- weights.c ---- */

/* Numbers of f32 in one dim. */
int32_t mnn_vector(mnn_reader *r, mnn_span bytes);
/* The weights of a convolution as numbers of this shape of four dims; its bias of n numbers,
 * TN_NO_ID if it has none. */
int32_t mnn_weights(mnn_reader *r, const int64_t *shape);
int32_t mnn_bias(mnn_reader *r, int64_t n);

#endif
