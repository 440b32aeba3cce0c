/* An Einsum equation as loops: one per index, with a stride for every input. */
#ifndef TN_OPS_LINALG_EQUATION_H
#define TN_OPS_LINALG_EQUATION_H

#include "linalg.gen.h"
#include "tenon/kit/infer.h"

enum { EQUATION_OPERANDS = 16, EQUATION_INDICES = 52 + TN_MAX_RANK };

/* Indices that are kept come first, in the order of the output's dims; then those that are summed
 * over. */
typedef struct equation {
  uint32_t n;                                   /* inputs */
  uint8_t dims[EQUATION_OPERANDS][TN_MAX_RANK]; /* the index of each dim of an input */
  int32_t n_kept, n_indices;
  int64_t size[EQUATION_INDICES];
  int64_t stride[EQUATION_OPERANDS]
                [EQUATION_INDICES]; /* in elements; 0: the input does not have the index */
  int64_t kept, summed;             /* products of sizes */
} equation;

tn_status equation_parse(const tn_call *call, equation *out);

#endif
