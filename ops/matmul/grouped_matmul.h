/* tenon::GroupedMatMul: its numbers, and where its groups lie. */
#ifndef TN_GROUPED_MATMUL_H
#define TN_GROUPED_MATMUL_H

#include "tenon/kit/infer.h"

#include "grouped_matmul.gen.h"

enum { GROUPED_A, GROUPED_B, GROUPED_ENDS };

typedef struct grouped {
  const tn_tensor *a, *b, *ends;
  int64_t rows, groups, k, n;
} grouped;

tn_status grouped_of(const tn_call *call, grouped *out);
/* Rows [begin, end) of a group; an error unless they follow the rows of the group before. */
tn_status grouped_rows(const tn_call *call, const grouped *p, int64_t group, int64_t *begin,
                       int64_t *end);

#endif
