/* Normalisation over groups of elements that lie next to each other: what instance, group, layer
 * and RMS normalisation share.
 *
 *   y = (x - mean) * inverse * scale[place] + bias[place]
 *
 * over `groups` groups of n elements; place of element i of group g:
 * (g % repeat)*step + i / run % period. */
#ifndef TN_OPS_NORM_GROUPS_H
#define TN_OPS_NORM_GROUPS_H

#include "norm.gen.h"
#include "tenon/kit/infer.h"

typedef struct groups {
  int64_t groups, n;
  int64_t repeat, step, run, period;
  double epsilon;
  bool centred; /* subtract the mean (RMS does not) */
} groups;

groups groups_of_instance(const tn_call *call);
groups groups_of_group(const tn_call *call);
groups groups_of_layer(const tn_call *call, int64_t axis, double epsilon, bool centred);

static inline int64_t groups_place(const groups *s, int64_t group, int64_t i) {
  return group % s->repeat * s->step + i / s->run % s->period;
}

#endif
