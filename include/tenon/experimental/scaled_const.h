/* For rewrites that multiply weights: tn_host.get_extension(ctx, "scaled_const.v0") answers a
 * tn_scaled_const. Weights that stand in a file are multiplied while they are read, each time that
 * somebody reads them; nobody keeps a copy. EXPERIMENTAL: without the promises of docs/abi.md. */
#ifndef TENON_EXPERIMENTAL_SCALED_CONST_H
#define TENON_EXPERIMENTAL_SCALED_CONST_H

#include "tenon/graph.h"

#define TN_SCALED_CONST "scaled_const.v0"

typedef struct tn_scaled_const {
  tn_head head;
  /* Makes `value` a constant like `of`, which is one of f32: of its elements, in n runs of equal
   * length, those of run k times numbers[k], computed in double. numbers are copied. The constant
   * `of` need not be fetched. TN_ERR_UNSUPPORTED, and nothing has changed: `of` does not stand in a
   * file, is small, is itself made when it is read, or a product would not be finite. */
  tn_status (*set)(tn_graph *graph, int32_t value, int32_t of, const double *numbers, int64_t n);
} tn_scaled_const;

#endif
