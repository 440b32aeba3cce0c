/* Columns: keys or values of one type, in their order or sorted. */
#ifndef TN_OPS_ML_COLUMNS_H
#define TN_OPS_ML_COLUMNS_H

#include "ml.gen.h"

/* A list of keys or values out of an attribute or a tensor. held TN_NONE: the numbers 0, 1, 2 ...
 * as i64. Lists of floats hold f64 in memory. */
typedef struct column {
  uint32_t dtype; /* as it counts */
  uint32_t held;  /* as it stands in memory */
  const void *data;
  int64_t n;
} column;

column column_of_ints(tn_ints list);
column column_of_strs(tn_strs list);
column column_of_floats(tn_floats list);
column column_of_tensor(const tn_tensor *t);

/* Element i of a against element j of b, of one dtype: below, at or above 0. NaN is equal to NaN,
 * and after all numbers. */
int column_compare(const column *a, int64_t i, const column *b, int64_t j);
/* order[0 .. n-1] becomes the places of the elements as they rise; equal ones stay in their order.
 */
void column_sort(const column *c, int64_t *order);
/* How many elements of the sorted column are not above element j of b: where equal ones end. */
int64_t column_find(const column *c, const int64_t *order, const column *b, int64_t j);
/* Element `index` of output 0, which may have another type of number, becomes element i. */
tn_status column_put(const tn_call *call, int64_t index, const column *c, int64_t i);

#endif
