/* ZipMap, LabelEncoder, CategoryMapper: between labels and what they stand for. */
#include <math.h>
#include <string.h>

#include "ml.gen.h"
#include "tenon/kit/infer.h"

/* ---- ZipMap ---- */

static int64_t n_labels(const tn_zip_map_attrs *a) {
  return a->classlabels_strings.size ? a->classlabels_strings.size : a->classlabels_int64s.size;
}

tn_status zip_map_infer(const tn_call *call) {
  const tn_zip_map_attrs *a = call->attrs;
  const tn_tensor *x = call->inputs[0];
  tn_tensor *z = call->outputs[0];
  if (x->rank < 1 || x->rank > 2 || x->shape[x->rank - 1] != n_labels(a))
    return call->host->fail(call->ctx, TN_ERR_SHAPE,
                            "there are %lld class labels; X must be [N, %lld]",
                            (long long)n_labels(a), (long long)n_labels(a));
  *z = tn_tensor_make(TN_F32, TN_RANK_UNKNOWN, NULL, NULL);
  z->kind = TN_KIND_SEQUENCE;
  z->elements =
      TN_ELEMENTS(TN_KIND_MAP, TN_ELEMENTS_KEY(a->classlabels_strings.size ? TN_STRING : TN_I64));
  return TN_OK;
}

tn_status zip_map_plan(const tn_call *call, tn_kernel_plan *out) {
  (void)call;
  out->flags = TN_PLAN_DATA_DEPENDENT;
  return TN_OK;
}

tn_status zip_map_reference(const tn_call *call) {
  const tn_zip_map_attrs *a = call->attrs;
  const tn_tensor *x = call->inputs[0];
  const int64_t n = n_labels(a), rows = x->rank == 1 ? 1 : x->shape[0];
  const bool texts = a->classlabels_strings.size > 0;
  tn_tensor keys =
      tn_tensor_make(texts ? TN_STRING : TN_I64, 1, &n,
                     (void *)(uintptr_t)(texts ? (const void *)a->classlabels_strings.data
                                               : (const void *)a->classlabels_int64s.data));
  tn_status s = TN_OK;
  for (int64_t k = 0; k < rows && !s; k++) {
    tn_tensor values = tn_tensor_make(TN_F32, 1, &n, (float *)x->data + k * n);
    s = call->host->list_append_map(call->ctx, 0, &keys, &values);
  }
  return s;
}

tn_status zip_map_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                    uint32_t worker) {
  (void)stage, (void)begin, (void)end, (void)worker;
  return zip_map_reference(call); /* there is but one way to say it */
}

/* ---- tables ---- */

/* A list of keys or values out of an attribute. dtype TN_NONE: the numbers 0, 1, 2 ... as i64.
 * Lists of floats hold f64 in memory. */
typedef struct column {
  uint32_t dtype; /* as it counts */
  uint32_t held;  /* as it stands in memory */
  const void *data;
  int64_t n;
} column;

typedef struct table {
  column keys, values, missing; /* missing: one element */
} table;

static column of_ints(tn_ints list) { return (column){TN_I64, TN_I64, list.data, list.size}; }
static column of_strs(tn_strs list) { return (column){TN_STRING, TN_STRING, list.data, list.size}; }
static column of_floats(tn_floats list) { return (column){TN_F32, TN_F64, list.data, list.size}; }
static column of_tensor(const tn_tensor *t) {
  return (column){t->dtype, t->dtype, t->data, tn_elements(t)};
}

static column first_of(tn_strs strs, tn_ints ints, tn_floats floats, bool has_tensor,
                       const tn_tensor *tensor) {
  if (has_tensor) return of_tensor(tensor);
  if (strs.size) return of_strs(strs);
  return ints.size ? of_ints(ints) : of_floats(floats);
}

static table table_v1(const tn_call *call) {
  const tn_label_encoder_v1_attrs *a = call->attrs;
  column names = of_strs(a->classes_strings),
         numbers = {TN_I64, TN_NONE, NULL, a->classes_strings.size};
  if (call->inputs[0]->dtype == TN_STRING)
    return (table){names, numbers, {TN_I64, TN_I64, &a->default_int64, 1}};
  return (table){numbers, names, {TN_STRING, TN_STRING, &a->default_string, 1}};
}

static table table_of_encoder(const tn_call *call) {
  if (call->version < 2) return table_v1(call);
  const tn_label_encoder_attrs *a = call->attrs;
  table t = {
      first_of(a->keys_strings, a->keys_int64s, a->keys_floats, a->has_keys_tensor, a->keys_tensor),
      first_of(a->values_strings, a->values_int64s, a->values_floats, a->has_values_tensor,
               a->values_tensor),
      {TN_F32, TN_F64, &a->default_float, 1}};
  if (t.values.dtype == TN_I64) t.missing = (column){TN_I64, TN_I64, &a->default_int64, 1};
  if (t.values.dtype == TN_STRING)
    t.missing = (column){TN_STRING, TN_STRING, &a->default_string, 1};
  if (a->has_default_tensor) {
    t.missing = of_tensor(a->default_tensor);
  } else if (t.values.dtype != TN_F32 && t.values.dtype != TN_F64 && t.values.dtype != TN_STRING) {
    t.missing = (column){t.values.dtype, TN_I64, &a->default_int64, 1}; /* i16, i32 */
  } else if (t.values.dtype == TN_F64) {
    t.missing.dtype = TN_F64;
  }
  return t;
}

static table table_of_mapper(const tn_call *call) {
  const tn_category_mapper_attrs *a = call->attrs;
  column names = of_strs(a->cats_strings), numbers = of_ints(a->cats_int64s);
  if (call->inputs[0]->dtype == TN_STRING)
    return (table){names, numbers, {TN_I64, TN_I64, &a->default_int64, 1}};
  return (table){numbers, names, {TN_STRING, TN_STRING, &a->default_string, 1}};
}

static tn_status infer_table(const tn_call *call, const table *t) {
  const tn_tensor *x = call->inputs[0];
  if (t->keys.dtype != x->dtype)
    return call->host->fail(call->ctx, TN_ERR_INVALID, "the keys are %s, the input is %s",
                            tn_dtype(t->keys.dtype)->name, tn_dtype(x->dtype)->name);
  if (t->keys.n != t->values.n || t->missing.n != 1 || t->missing.dtype != t->values.dtype)
    return call->host->fail(
        call->ctx, TN_ERR_INVALID,
        "there are %lld keys and %lld values, and the default must be one of their type",
        (long long)t->keys.n, (long long)t->values.n);
  tn_infer_shape(call, 0, t->values.dtype, x->rank, x->shape);
  return TN_OK;
}

static int compare_strings(tn_str a, tn_str b) {
  int64_t n = tn_min_i64(a.size, b.size);
  int order = n ? memcmp(a.data, b.data, (size_t)n) : 0;
  return order ? order : a.size < b.size ? -1 : a.size > b.size;
}

/* Element i of a against element j of b, of one dtype. NaN is equal to NaN, and after all
 * numbers. */
static int compare(const column *a, int64_t i, const column *b, int64_t j) {
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

/* Output element `index` becomes element i of the column. */
static tn_status put(const tn_call *call, int64_t index, const column *c, int64_t i) {
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

/* ---- kernel: the state is the order of the keys ---- */

static tn_status plan_table(const table *t, tn_kernel_plan *out) {
  out->state_bytes = (uint64_t)(t->keys.n + 1) * sizeof(int64_t);
  out->state_key = t->keys.dtype;
  return TN_OK;
}

/* Keys that are equal stay in their order: the last one counts, as it would in a dictionary. */
static int before(const column *keys, int64_t a, int64_t b) {
  int order = compare(keys, a, keys, b);
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

static tn_status prepare_table(const tn_call *call, const table *t) {
  int64_t *order = call->state, n = t->keys.n;
  for (int64_t k = 0; k < n; k++) order[k] = k;
  for (int64_t k = n / 2; k-- > 0;) sift(&t->keys, order, k, n);
  for (int64_t k = n; k-- > 1;) {
    int64_t swap = order[0];
    order[0] = order[k];
    order[k] = swap;
    sift(&t->keys, order, 0, k);
  }
  return TN_OK;
}

static tn_status run_table(const tn_call *call, const table *t) {
  const tn_tensor *x = call->inputs[0];
  const column in = {x->dtype, x->dtype, x->data, tn_elements(x)};
  const int64_t *order = call->state;
  tn_status s = TN_OK;
  for (int64_t k = 0; k < in.n && !s; k++) {
    int64_t low = 0, high = t->keys.n; /* the first key that is greater */
    while (low < high) {
      int64_t middle = (low + high) / 2;
      if (compare(&t->keys, order[middle], &in, k) <= 0)
        low = middle + 1;
      else
        high = middle;
    }
    bool found = low > 0 && compare(&t->keys, order[low - 1], &in, k) == 0;
    s = found ? put(call, k, &t->values, order[low - 1]) : put(call, k, &t->missing, 0);
  }
  return s;
}

static tn_status table_reference(const tn_call *call, const table *t) {
  const tn_tensor *x = call->inputs[0];
  const column in = {x->dtype, x->dtype, x->data, tn_elements(x)};
  tn_status s = TN_OK;
  for (int64_t k = 0; k < in.n && !s; k++) {
    int64_t at = t->keys.n - 1;
    while (at >= 0 && compare(&t->keys, at, &in, k)) at--;
    s = at >= 0 ? put(call, k, &t->values, at) : put(call, k, &t->missing, 0);
  }
  return s;
}

#define TABLE(name, source)                                                           \
  tn_status name##_infer(const tn_call *call) {                                       \
    table t = source(call);                                                           \
    return infer_table(call, &t);                                                     \
  }                                                                                   \
  tn_status name##_plan(const tn_call *call, tn_kernel_plan *out) {                   \
    table t = source(call);                                                           \
    return plan_table(&t, out);                                                       \
  }                                                                                   \
  tn_status name##_prepare(const tn_call *call) {                                     \
    table t = source(call);                                                           \
    return prepare_table(call, &t);                                                   \
  }                                                                                   \
  tn_status name##_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t end, \
                     uint32_t worker) {                                               \
    table t = source(call);                                                           \
    (void)stage, (void)begin, (void)end, (void)worker;                                \
    return run_table(call, &t);                                                       \
  }                                                                                   \
  tn_status name##_reference(const tn_call *call) {                                   \
    table t = source(call);                                                           \
    return table_reference(call, &t);                                                 \
  }
TABLE(label_encoder, table_of_encoder)
TABLE(category_mapper, table_of_mapper)
