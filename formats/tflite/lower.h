/* Lowering operators of TFLite: reading a node, and writing operators of ai.onnx in its place,
 * with what tenon/kit/lowering.h has for all formats. */
#ifndef TN_FORMATS_TFLITE_LOWER_H
#define TN_FORMATS_TFLITE_LOWER_H

#include "tenon/kit/lowering.h"

/* ---- lower.c ---- */

/* Whether there is an input, and none is left out: lists may have holes in a file. */
bool tfl_has_all(const tn_lowering *t);

/* Elements from[k] .. to[k] of each dim k, by steps. */
int32_t tfl_slice(const tn_lowering *t, int32_t x, int32_t rank, const int64_t *from,
                  const int64_t *to, const int64_t *steps);
/* The fused activation of a float value. */
int32_t tfl_activation(const tn_lowering *t, int32_t x, uint32_t dtype);

/* The elements of constant input k, at most TN_MAX_RANK of them, and how many; TN_NEEDS_DATA: they
 * are not known yet. Before anything is emitted. */
tn_status tfl_const_dims(const tn_lowering *t, uint32_t k, int64_t *out, int64_t *out_n);
/* Constant input k as axes of a tensor of that rank, each once, in order. */
tn_status tfl_const_axes(const tn_lowering *t, uint32_t k, int32_t rank, int64_t *out,
                         int64_t *out_n);

/* ---- move.c ---- */

/* `value`, a scalar, everywhere. */
int32_t tfl_filled(const tn_lowering *t, int32_t value, int32_t rank, const int64_t *shape);
int32_t tfl_joined(const tn_lowering *t, const int32_t *parts, uint32_t n, int64_t axis);

/* Input 0 padded (Pad's mode); fill TN_NO_ID: none is needed. */
int32_t tfl_padded(const tn_lowering *t, const char *mode, const int64_t *pads, int32_t fill);

/* ---- stablehlo_window.c ---- */

/* x of *shape with steps[k] - 1 times `fill` between the elements of dim k; shape becomes the new
 * one. */
int32_t tfl_dilated(const tn_lowering *t, int32_t x, int32_t rank, int64_t *shape,
                    const int64_t *steps, int32_t fill);

/* ---- quant.c ---- */

/* Does the node compute on quantised values? */
bool tfl_is_quantised(const tn_lowering *t);
/* ... by the integers of LiteRT's kernels? Files for others say it in numbers, between
 * DequantizeLinear and QuantizeLinear. */
bool tfl_counts_steps(const tn_lowering *t);
/* Of input k, or of output k less the number of inputs. */
double tfl_scale(const tn_lowering *t, uint32_t k);
int64_t tfl_zero(const tn_lowering *t, uint32_t k);
/* The number of inputs: tfl_scale(t, tfl_y(t)) is that of output 0. */
uint32_t tfl_y(const tn_lowering *t);
/* Input k in f32, as the numbers it stands for; as it is if it is not quantised. */
int32_t tfl_real(const tn_lowering *t, uint32_t k);
/* What tfl_real() numbers become: of output k's scale and zero point, with the fused activation;
 * of f32 values, the activation alone. */
int32_t tfl_from_real(const tn_lowering *t, int32_t x, uint32_t k);
/* A number of steps of output 0, with the fused activation in steps: rounded, zero point added. */
int32_t tfl_from_steps(const tn_lowering *t, int32_t x);
/* The same where input 0 is not of the output's type. */
int32_t tfl_from_steps_of(const tn_lowering *t, int32_t x, uint32_t dtype);
/* The fused activation's bounds in codes of output 0 of dtype. */
void tfl_code_bounds(const tn_lowering *t, uint32_t dtype, int64_t *out_lo, int64_t *out_hi);

/* ---- fixed.c: values of 16 bits ---- */

/* Is input k a quantised value of 16 bits? */
bool tfl_is_wide(const tn_lowering *t, uint32_t k);
/* scale = multiplier * 2^(shift - 31), the multiplier of 31 bits; 0 of what is no number. */
void tfl_split_scale(double scale, int64_t *out_multiplier, int64_t *out_shift);
/* Integers (i32: two roundings, i64: one) shifted left by `before`, times a scale, or one for each
 * channel of dim 1, as codes of output 0 or as they are (dtype i32). */
int32_t tfl_fixed_scale(const tn_lowering *t, int32_t x, const double *scales, int64_t n,
                        int64_t before, uint32_t dtype);
/* Add and Sub, Mul, LeakyRelu. */
int32_t tfl_fixed_sum(const tn_lowering *t, const char *op);
int32_t tfl_fixed_product(const tn_lowering *t);
int32_t tfl_fixed_leaky_relu(const tn_lowering *t, double alpha);
/* PRelu of 8 bits. */
int32_t tfl_fixed_prelu(const tn_lowering *t);
/* Codes of 8 bits in steps of the output, and LeakyRelu of them, as XNNPACK has them for ratios of
 * input and output that have 256ths. */
bool tfl_has_256ths(double ratio);
int32_t tfl_requantised(const tn_lowering *t, uint32_t dtype);
int32_t tfl_leaky_relu(const tn_lowering *t);
/* Of codes of 8 bits, in fixed point of 16 bits; has: can it be computed so? */
bool tfl_has_fixed_hard_swish(const tn_lowering *t);
int32_t tfl_fixed_hard_swish(const tn_lowering *t);
/* 1 / sqrt(input 0), of 8 bits: a table of codes. */
int32_t tfl_fixed_rsqrt(const tn_lowering *t);

/* Functions of 16-bit codes by tables, and whether LiteRT has tables for these scales. */
bool tfl_has_wide_sigmoid(const tn_lowering *t);
bool tfl_has_wide_tanh(const tn_lowering *t);
bool tfl_has_wide_exp(const tn_lowering *t);
int32_t tfl_wide_sigmoid(const tn_lowering *t);
int32_t tfl_wide_tanh(const tn_lowering *t);
int32_t tfl_wide_exp(const tn_lowering *t);
bool tfl_has_wide_log(const tn_lowering *t);
int32_t tfl_wide_log(const tn_lowering *t);
int32_t tfl_wide_gelu(const tn_lowering *t, bool by_tanh);
bool tfl_has_wide_softmax(const tn_lowering *t);
int32_t tfl_wide_softmax(const tn_lowering *t);
int32_t tfl_wide_rsqrt(const tn_lowering *t);

#endif
