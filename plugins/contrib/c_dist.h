/* What the kernels of CDist share. */
#ifndef CONTRIB_C_DIST_H
#define CONTRIB_C_DIST_H

#include "elements.h"
#include "small.gen.h"

enum { C_DIST_LANES = 16 }; /* of the widest vectors */

/* Else squares of distances are asked for. */
static inline bool c_dist_is_euclidean(const tn_call *call) {
  return tn_str_is(((const tn_c_dist_attrs *)call->attrs)->metric, "euclidean");
}

#endif
