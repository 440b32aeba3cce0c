/* tenon::GroupedMatMul: its numbers, and where its groups lie. */
#ifndef TN_GROUPED_MATMUL_H
#define TN_GROUPED_MATMUL_H

#include "tenon/kit/infer.h"

#include "grouped_matmul.gen.h"

enum { GROUPED_A, GROUPED_B, GROUPED_ENDS };

typedef struct grouped {
  const tn_tensor *a, *b, *ends;
  int64_t rows, groups, k, n;
  float *y; /* NULL while shapes are inferred */
} grouped;

tn_status grouped_of(const tn_call *call, grouped *out);
/* Rows [begin, end) of a group; an error unless they follow the rows of the group before. */
tn_status grouped_rows(const tn_call *call, const grouped *p, int64_t group, int64_t *begin,
                       int64_t *end);

/* Columns [j, j + n) of Y for the `rows` rows of a group from `begin` on. room: of the worker's. */
typedef void (*grouped_block_fn)(const grouped *p, int64_t group, int64_t begin, int64_t rows,
                                 int64_t j, int64_t n, float *room);
/* An item is `columns` columns of all rows of a group; groups without rows cost nothing. Rows
 * behind the last group are an item more for each such block, which clears them. */
int64_t grouped_items(const grouped *p, int64_t columns);
tn_status grouped_run(const tn_call *call, int64_t columns, grouped_block_fn block, int64_t first,
                      int64_t last, uint32_t worker);

#endif
