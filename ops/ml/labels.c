/* LabelEncoder, CategoryMapper: labels looked up in a table. */
#include "columns.h"
#include "tenon/kit/infer.h"

typedef struct table {
  column keys, values, missing; /* missing: one element */
} table;

static column first_of(tn_strs strs, tn_ints ints, tn_floats floats, bool has_tensor,
                       const tn_tensor *tensor) {
  if (has_tensor) return column_of_tensor(tensor);
  if (strs.size) return column_of_strs(strs);
  return ints.size ? column_of_ints(ints) : column_of_floats(floats);
}

static table table_v1(const tn_call *call) {
  const tn_label_encoder_v1_attrs *a = call->attrs;
  column names = column_of_strs(a->classes_strings),
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
    t.missing = column_of_tensor(a->default_tensor);
  } else if (t.values.dtype != TN_F32 && t.values.dtype != TN_F64 && t.values.dtype != TN_STRING) {
    t.missing = (column){t.values.dtype, TN_I64, &a->default_int64, 1}; /* i16, i32 */
  } else if (t.values.dtype == TN_F64) {
    t.missing.dtype = TN_F64;
  }
  return t;
}

static table table_of_mapper(const tn_call *call) {
  const tn_category_mapper_attrs *a = call->attrs;
  column names = column_of_strs(a->cats_strings), numbers = column_of_ints(a->cats_int64s);
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

/* ---- kernel: the state is the order of the keys ---- */

static tn_status plan_table(const table *t, tn_kernel_plan *out) {
  out->state_bytes = (uint64_t)(t->keys.n + 1) * sizeof(int64_t);
  out->state_key = t->keys.dtype;
  return TN_OK;
}

static tn_status prepare_table(const tn_call *call, const table *t) {
  column_sort(&t->keys, call->state);
  return TN_OK;
}

/* Of keys that are equal the last one counts, as it would in a dictionary. */
static tn_status run_table(const tn_call *call, const table *t) {
  const column in = column_of_tensor(call->inputs[0]);
  const int64_t *order = call->state;
  tn_status s = TN_OK;
  for (int64_t k = 0; k < in.n && !s; k++) {
    const int64_t at = column_find(&t->keys, order, &in, k) - 1;
    const bool found = at >= 0 && column_compare(&t->keys, order[at], &in, k) == 0;
    s = found ? column_put(call, k, &t->values, order[at]) : column_put(call, k, &t->missing, 0);
  }
  return s;
}

static tn_status table_reference(const tn_call *call, const table *t) {
  const column in = column_of_tensor(call->inputs[0]);
  tn_status s = TN_OK;
  for (int64_t k = 0; k < in.n && !s; k++) {
    int64_t at = t->keys.n - 1;
    while (at >= 0 && column_compare(&t->keys, at, &in, k)) at--;
    s = at >= 0 ? column_put(call, k, &t->values, at) : column_put(call, k, &t->missing, 0);
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
