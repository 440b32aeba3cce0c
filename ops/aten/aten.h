/* Operators of PyTorch's domain aten in terms of ai.onnx: what the files of this folder offer each
 * other. Each operator is a lowering, which runs when the types of the inputs are known.
 *
 * at_ functions read the node and write operators in its place, with tenon/kit/lowering.h. Ids of
 * values below TN_NO_ID are statuses, and whoever is given one answers it. */
#ifndef TN_OPS_ATEN_H
#define TN_OPS_ATEN_H

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "tenon/kit/lowering.h"

/* Sizes, strides and offsets that files name: sums and products of two of them do not overflow. */
#define AT_MOST_SIZE INT32_MAX

/* ---- attributes ---- */

bool at_has(const tn_lowering *l, const char *name);
bool at_says(const tn_lowering *l, const char *name, const char *text);
/* Element k of a list of ints; of a list of one, its only one; `missing` where there is none. */
int64_t at_item(const tn_lowering *l, const char *name, int64_t k, int64_t missing);
/* A dtype of Tenon. */
uint32_t at_dtype(const tn_lowering *l, const char *name, uint32_t missing);
/* The dim, counted from the front; < 0: a status, for it is outside. A scalar has one dim here. */
int32_t at_dim(const tn_lowering *l, int64_t dim, int32_t rank);
/* Dims by name, sorted, each once; all of them if the list is missing or empty. Below 0: status. */
int32_t at_dims(const tn_lowering *l, const char *name, int32_t rank, int64_t *out);

/* ---- numbers and types ---- */

/* A Scalar: what a program says with a number. */
typedef struct at_scalar {
  bool is_there, is_int;
  int64_t i;
  double f; /* of integers, too */
} at_scalar;

at_scalar at_number(const tn_lowering *l, const char *name);
/* A constant of rank 0. */
int32_t at_const(const tn_lowering *l, uint32_t dtype, at_scalar s);
int32_t at_int_const(const tn_lowering *l, uint32_t dtype, int64_t i);

/* Kinds of types, in the order in which they win. */
enum { AT_BOOL, AT_INT, AT_FLOAT, AT_COMPLEX };
int at_category(uint32_t dtype);

/* PyTorch's promotion: tensors with dims come first, then tensors of rank 0, then numbers; what
 * comes later counts only if its kind is higher. NULL tensors and missing scalars do not count. */
uint32_t aten_promote(const tn_tensor *const *tensors, uint32_t n, const at_scalar *scalars,
                      uint32_t n_scalars);
/* Of all inputs and of a number. */
uint32_t at_promote_inputs(const tn_lowering *l, at_scalar s);
/* Of two types of one priority. TN_NONE: there is none. */
uint32_t at_promote(uint32_t a, uint32_t b);
/* Floats stay, all else is f32. */
uint32_t at_float_of(uint32_t dtype);

/* ---- writing ---- */

/* The value, of type `from`, as `to`. */
int32_t at_cast(const tn_lowering *l, int32_t x, uint32_t from, uint32_t to);
/* Input k as `to`. */
int32_t at_in(const tn_lowering *l, uint32_t k, uint32_t to);
int32_t at_reduce(const tn_lowering *l, const char *op, int32_t x, const int64_t *dims, int32_t n,
                  bool keeps);
int32_t at_unsqueeze(const tn_lowering *l, int32_t x, int64_t dim);
int32_t at_squeeze(const tn_lowering *l, int32_t x, int64_t dim);
int32_t at_concat(const tn_lowering *l, const int32_t *x, uint32_t n, int64_t dim);
int32_t at_slice(const tn_lowering *l, int32_t x, int64_t dim, int64_t from, int64_t to,
                 int64_t step);
int32_t at_expand(const tn_lowering *l, int32_t x, int32_t rank, const int64_t *shape);
/* A constant number in a tensor of this shape. */
int32_t at_full(const tn_lowering *l, int32_t number, int32_t rank, const int64_t *shape);
/* 0, 1, 2 ... as i64. */
int32_t at_iota(const tn_lowering *l, int64_t n);
int32_t at_with_float(const tn_lowering *l, const char *op, int32_t x, const char *name, double v);
int32_t at_not(const tn_lowering *l, int32_t x);
int32_t at_where(const tn_lowering *l, int32_t condition, int32_t yes, int32_t no);
int32_t at_gather(const tn_lowering *l, int32_t x, int32_t index, int64_t dim);
/* Floats without their fractions. */
int32_t at_cut(const tn_lowering *l, int32_t x, uint32_t dtype);
/* The node's work is done by input 0, as it is or with another shape. */
tn_status at_done_input(const tn_lowering *l);
tn_status at_fail(const tn_lowering *l, tn_status code, const char *what);

/* The part of the node's name behind "aten::", without the overload. */
bool at_is(const tn_lowering *l, const char *name);

/* Whether anything reads output k of the node. */
bool at_is_read(const tn_lowering *l, uint32_t k);

/* A row of a table that says what an operator of PyTorch is in ONNX. */
typedef struct at_row {
  const char *aten, *onnx;
} at_row;
/* What the node is; NULL: the table, which ends with NULL, has no such operator. */
const char *at_find(const tn_lowering *l, const at_row *rows);

#endif
