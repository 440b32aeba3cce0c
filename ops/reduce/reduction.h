/* A reduction as two walks over the input: over what is kept and over what is summed up. */
#ifndef TN_OPS_REDUCE_REDUCTION_H
#define TN_OPS_REDUCE_REDUCTION_H

#include <stdbool.h>

#include "reduce.gen.h"
#include "tenon/kit/checked.h"
#include "tenon/kit/dtype.h"

typedef struct walk {
  int32_t rank;
  int64_t dims[TN_MAX_RANK], strides[TN_MAX_RANK]; /* outermost first */
  int64_t size;                                    /* product of dims */
} walk;

typedef struct reduction {
  walk kept, summed; /* neighbouring dims of one kind are merged */
  bool inner_kept;   /* the innermost merged dim is kept: rows of outputs are made at once */
  bool axes[TN_MAX_RANK];
} reduction;

/* Every Reduce operator has the same attributes: keepdims, noop_with_empty_axes. axes: constant by
 * now. */
tn_status reduction_make(const tn_call *call, reduction *out);
/* Element offset of position `index` (row-major) of a walk. Not inline: a hundred places call it,
 * once per run of neighbours. */
int64_t walk_offset(const walk *w, int64_t index);
/* The same, inline where there is one dim: for short rows. */
static inline int64_t walk_at(const walk *w, int64_t index) {
  return w->rank == 1 ? index * w->strides[0] : walk_offset(w, index);
}

/* Terms in runs: the innermost summed dim is walked with its stride, the outer ones by index. */
typedef struct runs {
  int64_t n, length, stride;
  walk outer;
} runs;

static inline runs runs_of(const walk *summed) {
  runs r = {.n = summed->size, .length = 1, .outer = *summed};
  if (!summed->rank) return r;
  r.length = summed->dims[summed->rank - 1];
  r.stride = summed->strides[summed->rank - 1];
  r.outer.rank--;
  r.n = r.length ? summed->size / r.length : 0;
  return r;
}

#endif
