/* Lowering operators of TFLite: reading a node, and writing operators of ai.onnx in its place.
 *
 * Ids of values below TN_NO_ID are statuses. Whoever is given one answers it, so that chains of
 * calls need no checks in between; tfl_done() hands it to the host. */
#ifndef TN_FORMATS_TFLITE_LOWER_H
#define TN_FORMATS_TFLITE_LOWER_H

#include "tenon/kit/infer.h"
#include "tenon/kit/lower.h"
#include "tenon/kit/onnx_dtype.h"
#include "tenon/kit/pattern.h"

typedef struct tfl {
  const tn_call *call;
  const tn_graph_api *api;
  tn_graph *g;
  int32_t node;
} tfl;

static inline tfl tfl_open(const tn_call *call, tn_graph *g, int32_t node) {
  return (tfl){call, call->host->graph, g, node};
}

/* ---- lower.c ---- */

/* Attributes by name; of what the file leaves out, `missing`. */
int64_t tfl_int(const tfl *t, const char *name, int64_t missing);
double tfl_float(const tfl *t, const char *name, double missing);
tn_ints tfl_ints(const tfl *t, const char *name);
tn_floats tfl_floats(const tfl *t, const char *name);

/* Input k: its value, -1 if it is left out; its type, NULL if it is left out. */
int32_t tfl_in(const tfl *t, uint32_t k);
const tn_tensor *tfl_type(const tfl *t, uint32_t k);
/* Its value as i64. */
int32_t tfl_in_i64(const tfl *t, uint32_t k);
/* Whether there is an input, and none is left out: lists may have holes in a file. */
bool tfl_has_all(const tfl *t);

/* One node of `op` (ai.onnx, or "tenon::X") with one output. */
int32_t tfl_emit(const tfl *t, const char *op, const int32_t *inputs, uint32_t n_inputs,
                 const tn_attr *attrs, uint32_t n_attrs);
tn_status tfl_emit_many(const tfl *t, const char *op, const int32_t *inputs, uint32_t n_inputs,
                        const tn_attr *attrs, uint32_t n_attrs, uint32_t n_outputs, int32_t *out);
int32_t tfl_1(const tfl *t, const char *op, int32_t x);
int32_t tfl_2(const tfl *t, const char *op, int32_t a, int32_t b);
int32_t tfl_3(const tfl *t, const char *op, int32_t a, int32_t b, int32_t c);
/* op(x), with one attribute. */
int32_t tfl_1_int(const tfl *t, const char *op, int32_t x, const char *name, int64_t value);

int32_t tfl_number(const tfl *t, uint32_t dtype, double number);
int32_t tfl_ints_const(const tfl *t, const int64_t *data, int64_t n);
int32_t tfl_cast(const tfl *t, int32_t x, uint32_t dtype);
int32_t tfl_reshape(const tfl *t, int32_t x, int32_t rank, const int64_t *shape);
int32_t tfl_transpose(const tfl *t, int32_t x, int32_t rank, const int32_t *perm);
/* [N, X..., C] as [N, C, X...], and back. */
int32_t tfl_channels_first(const tfl *t, int32_t x, int32_t rank);
int32_t tfl_channels_last(const tfl *t, int32_t x, int32_t rank);
/* Elements from[k] .. to[k] of each dim k, by steps. */
int32_t tfl_slice(const tfl *t, int32_t x, int32_t rank, const int64_t *from, const int64_t *to,
                  const int64_t *steps);
/* min(max(x, lo), hi); infinite bounds are none. */
int32_t tfl_clip(const tfl *t, int32_t x, uint32_t dtype, double lo, double hi);
/* The fused activation of a float value. */
int32_t tfl_activation(const tfl *t, int32_t x, uint32_t dtype);

/* The values are what the node makes. */
tn_status tfl_done(const tfl *t, int32_t value);
tn_status tfl_done_many(const tfl *t, const int32_t *values, uint32_t n);
tn_status tfl_unsupported(const tfl *t, const char *what);

/* The elements of constant input k, at most TN_MAX_RANK of them, and how many; TN_NEEDS_DATA: they
 * are not known yet. Before anything is emitted. */
tn_status tfl_const_dims(const tfl *t, uint32_t k, int64_t *out, int64_t *out_n);
/* Constant input k as axes of a tensor of that rank, each once, in order. */
tn_status tfl_const_axes(const tfl *t, uint32_t k, int32_t rank, int64_t *out, int64_t *out_n);

/* ---- move.c ---- */

/* Input 0 padded (Pad's mode); fill TN_NO_ID: none is needed. */
int32_t tfl_padded(const tfl *t, const char *mode, const int64_t *pads, int32_t fill);

/* ---- quant.c ---- */

/* Does the node compute on quantised values? */
bool tfl_is_quantised(const tfl *t);
/* Of input k, or of output k less the number of inputs. */
double tfl_scale(const tfl *t, uint32_t k);
int64_t tfl_zero(const tfl *t, uint32_t k);
/* The number of inputs: tfl_scale(t, tfl_y(t)) is that of output 0. */
uint32_t tfl_y(const tfl *t);
/* (x - zero) * scale in f32. */
int32_t tfl_dequantize(const tfl *t, int32_t x, uint32_t dtype, double scale, int64_t zero);
/* round(x / scale) + zero, half to even, saturated. */
int32_t tfl_quantize(const tfl *t, int32_t x, uint32_t dtype, double scale, int64_t zero);
/* Input k in f32, as the numbers it stands for; as it is if it is not quantised. */
int32_t tfl_real(const tfl *t, uint32_t k);
/* What tfl_real() numbers become: of output k's scale and zero point, with the fused activation;
 * of f32 values, the activation alone. */
int32_t tfl_from_real(const tfl *t, int32_t x, uint32_t k);
/* A number of steps of output 0, with the fused activation in steps: rounded, zero point added. */
int32_t tfl_from_steps(const tfl *t, int32_t x);
/* The same where input 0 is not of the output's type. */
int32_t tfl_from_steps_of(const tfl *t, int32_t x, uint32_t dtype);
/* The fused activation's bounds in codes of output 0 of dtype. */
void tfl_code_bounds(const tfl *t, uint32_t dtype, int64_t *out_lo, int64_t *out_hi);

/* ---- fixed.c: values of 16 bits ---- */

/* Is input k a quantised value of 16 bits? */
bool tfl_is_wide(const tfl *t, uint32_t k);
/* Integers (i32: two roundings, i64: one) shifted left by `before`, times a scale, or one for each
 * channel of dim 1, as codes of output 0 or as they are (dtype i32). */
int32_t tfl_fixed_scale(const tfl *t, int32_t x, const double *scales, int64_t n, int64_t before,
                        uint32_t dtype);
/* Add and Sub, Mul, LeakyRelu. */
int32_t tfl_fixed_sum(const tfl *t, const char *op);
int32_t tfl_fixed_product(const tfl *t);
int32_t tfl_fixed_leaky_relu(const tfl *t, double alpha);
/* 1 / sqrt(input 0), of 8 bits: a table of codes. */
int32_t tfl_fixed_rsqrt(const tfl *t);

#endif
