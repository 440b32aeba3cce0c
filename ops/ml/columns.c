/* Columns: made, compared, sorted, searched. */
#include "columns.h"

#include <math.h>
#include <string.h>

#include "tenon/kit/dtype.h"
#include "tenon/kit/element.h"
#include "tenon/kit/tensor.h"

column column_of_ints(tn_ints list) { return (column){TN_I64, TN_I64, list.data, list.size}; }
column column_of_strs(tn_strs list) { return (column){TN_STRING, TN_STRING, list.data, list.size}; }
column column_of_floats(tn_floats list) { return (column){TN_F32, TN_F64, list.data, list.size}; }
column column_of_tensor(const tn_tensor *t) {
  return (column){t->dtype, t->dtype, t->data, tn_elements(t)};
}

static int compare_strings(tn_str a, tn_str b) {
  int64_t n = tn_min_i64(a.size, b.size);
  int order = n ? memcmp(a.data, b.data, (size_t)n) : 0;
  return order ? order : a.size < b.size ? -1 : a.size > b.size;
}

int column_compare(const column *a, int64_t i, const column *b, int64_t j) {
  if (a->dtype == TN_STRING)
    return compare_strings(((const tn_str *)a->data)[i], ((const tn_str *)b->data)[j]);
  if (tn_dtype(a->dtype)->is_int) {
    int64_t x = a->held ? tn_load_i64(a->held, a->data, i) : i,
            y = b->held ? tn_load_i64(b->held, b->data, j) : j;
    return x < y ? -1 : x > y;
  }
  double x = tn_load_f64(a->held, a->data, i), y = tn_load_f64(b->held, b->data, j);
  if (isnan(x) || isnan(y)) return (isnan(x) != 0) - (isnan(y) != 0);
  return x < y ? -1 : x > y;
}

/* Equal ones stay in their order. */
static int before(const column *keys, int64_t a, int64_t b) {
  int order = column_compare(keys, a, keys, b);
  return order ? order : a < b ? -1 : a > b;
}

static void sift(const column *keys, int64_t *order, int64_t root, int64_t n) {
  for (int64_t child; (child = 2 * root + 1) < n; root = child) {
    if (child + 1 < n && before(keys, order[child], order[child + 1]) < 0) child++;
    if (before(keys, order[root], order[child]) >= 0) return;
    int64_t swap = order[root];
    order[root] = order[child];
    order[child] = swap;
  }
}

void column_sort(const column *c, int64_t *order) {
  const int64_t n = c->n;
  for (int64_t k = 0; k < n; k++) order[k] = k;
  for (int64_t k = n / 2; k-- > 0;) sift(c, order, k, n);
  for (int64_t k = n; k-- > 1;) {
    int64_t swap = order[0];
    order[0] = order[k];
    order[k] = swap;
    sift(c, order, 0, k);
  }
}

int64_t column_find(const column *c, const int64_t *order, const column *b, int64_t j) {
  int64_t low = 0, high = c->n;
  while (low < high) {
    const int64_t middle = (low + high) / 2;
    if (column_compare(c, order[middle], b, j) <= 0)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

tn_status column_put(const tn_call *call, int64_t index, const column *c, int64_t i) {
  const tn_tensor *y = call->outputs[0];
  if (c->dtype == TN_STRING)
    return call->host->string_set(call->ctx, 0, index, ((const tn_str *)c->data)[i].data,
                                  ((const tn_str *)c->data)[i].size);
  if (tn_dtype(c->dtype)->is_int)
    tn_store_i64(y->dtype, y->data, index, c->held ? tn_load_i64(c->held, c->data, i) : i);
  else
    tn_store_f64(y->dtype, y->data, index, tn_load_f64(c->held, c->data, i));
  return TN_OK;
}
