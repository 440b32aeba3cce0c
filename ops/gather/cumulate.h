/* CumSum and CumProd: what a node says. */
#ifndef TN_GATHER_CUMULATE_H
#define TN_GATHER_CUMULATE_H

#include "gather.gen.h"
#include "rows.h"

enum { CUMULATE_ITEMS = 64 };

/* Both operators have the same attributes; version 26 of CumProd was made after CumSum. */
typedef struct cumulation {
  int32_t axis;
  bool exclusive, reverse, product;
} cumulation;

/* The axis is data: it may be known only now. */
static inline tn_status cumulate_parse(const tn_call *call, bool exclusive, bool reverse,
                                       bool product, cumulation *out) {
  cumulation c = {0, exclusive, reverse, product};
  tn_status s =
      tn_axis_normalize(call, index_load(call->inputs[1], 0), call->inputs[0]->rank, &c.axis);
  *out = c;
  return s;
}

static inline tn_status cumulate_parse_sum(const tn_call *call, cumulation *out) {
  const tn_cum_sum_attrs *a = call->attrs;
  return cumulate_parse(call, a->exclusive != 0, a->reverse != 0, false, out);
}

static inline tn_status cumulate_parse_product(const tn_call *call, cumulation *out) {
  const tn_cum_prod_attrs *a = call->attrs;
  return cumulate_parse(call, a->exclusive != 0, a->reverse != 0, true, out);
}

#endif
