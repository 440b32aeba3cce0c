/* ZipMap, DictVectorizer, CastMap: from tensors to maps and back. */
#include "columns.h"
#include "tenon/kit/infer.h"
#include "tenon/kit/lower.h"
#include "tenon/kit/onnx_dtype.h"
#include "tenon/kit/text.h"

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

/* ---- maps as inputs ---- */

/* Input 0 is a map whose keys have this dtype, as far as is known. */
static tn_status want_map(const tn_call *call, uint32_t key_dtype) {
  const tn_tensor *x = call->inputs[0];
  if (x->kind != TN_KIND_MAP) return call->host->fail(call->ctx, TN_ERR_INVALID, "X must be a map");
  const uint32_t key = x->elements >> 24;
  if (key && key != key_dtype)
    return call->host->fail(call->ctx, TN_ERR_INVALID, "the keys of X are %s, they have to be %s",
                            tn_dtype(key)->name, tn_dtype(key_dtype)->name);
  return TN_OK;
}

/* The keys and values of input 0, as many of the ones as of the others. */
static tn_status open_map(const tn_call *call, uint32_t key_dtype, column *keys, column *values) {
  const tn_tensor *k = call->host->list_item(call->ctx, call->inputs[0], 0);
  const tn_tensor *v = call->host->list_item(call->ctx, call->inputs[0], 1);
  if (!k || !v || k->kind || v->kind || tn_elements(k) != tn_elements(v))
    return call->host->fail(call->ctx, TN_ERR_INVALID,
                            "X has not as many values as keys, one for each");
  if (k->dtype != key_dtype || v->dtype != call->outputs[0]->dtype)
    return call->host->fail(call->ctx, TN_ERR_INVALID, "X maps %s to %s, not %s to %s",
                            tn_dtype(k->dtype)->name, tn_dtype(v->dtype)->name,
                            tn_dtype(key_dtype)->name, tn_dtype(call->outputs[0]->dtype)->name);
  *keys = column_of_tensor(k);
  *values = column_of_tensor(v);
  return TN_OK;
}

/* Every element of the output becomes 0, or this text. */
static tn_status clear(const tn_call *call, const char *text) {
  const tn_str one = {text, *text != 0};
  const column zero = call->outputs[0]->dtype == TN_STRING
                          ? (column){TN_STRING, TN_STRING, &one, 1}
                          : (column){TN_I64, TN_I64, &(int64_t){0}, 1};
  tn_status s = TN_OK;
  for (int64_t k = 0; k < tn_elements(call->outputs[0]) && !s; k++)
    s = column_put(call, k, &zero, 0);
  return s;
}

/* ---- DictVectorizer ---- */

static column vocabulary(const tn_call *call) {
  const tn_dict_vectorizer_attrs *a = call->attrs;
  return a->string_vocabulary.size ? column_of_strs(a->string_vocabulary)
                                   : column_of_ints(a->int64_vocabulary);
}

tn_status dict_vectorizer_infer(const tn_call *call) {
  const tn_dict_vectorizer_attrs *a = call->attrs;
  const column words = vocabulary(call);
  if (!a->string_vocabulary.size == !a->int64_vocabulary.size)
    return call->host->fail(
        call->ctx, TN_ERR_INVALID,
        "one of the attributes 'int64_vocabulary' and 'string_vocabulary' must have elements");
  tn_status s = want_map(call, words.dtype);
  if (!s) tn_infer_shape(call, 0, call->inputs[0]->dtype, 2, (int64_t[]){1, words.n});
  return s;
}

tn_status dict_vectorizer_plan(const tn_call *call, tn_kernel_plan *out) {
  out->state_bytes = ((uint64_t)vocabulary(call).n + 1) * sizeof(int64_t);
  return TN_OK;
}

tn_status dict_vectorizer_prepare(const tn_call *call) {
  const column words = vocabulary(call);
  column_sort(&words, call->state);
  return TN_OK;
}

/* Each key of the map is looked up in the sorted vocabulary, where it may stand more than once. */
tn_status dict_vectorizer_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                            uint32_t worker) {
  const column words = vocabulary(call);
  const int64_t *order = call->state;
  column keys, values;
  (void)stage, (void)begin, (void)end, (void)worker;
  tn_status s = open_map(call, words.dtype, &keys, &values);
  if (!s) s = clear(call, "");
  for (int64_t k = 0; k < keys.n && !s; k++) {
    int64_t at = column_find(&words, order, &keys, k);
    while (!s && at-- > 0 && column_compare(&words, order[at], &keys, k) == 0)
      s = column_put(call, order[at], &values, k);
  }
  return s;
}

/* Word by word; of keys that are equal the last one counts. */
tn_status dict_vectorizer_reference(const tn_call *call) {
  const column words = vocabulary(call);
  column keys, values;
  tn_status s = open_map(call, words.dtype, &keys, &values);
  if (!s) s = clear(call, "");
  for (int64_t w = 0; w < words.n && !s; w++)
    for (int64_t k = 0; k < keys.n && !s; k++)
      if (column_compare(&words, w, &keys, k) == 0) s = column_put(call, w, &values, k);
  return s;
}

/* ---- CastMap: MapValues, and perhaps a Cast ---- */

static tn_status infer_values(const tn_call *call, uint32_t dtype, bool sparse, int64_t max_map) {
  tn_status s = want_map(call, TN_I64);
  if (!s && sparse && max_map < 1)
    s = call->host->fail(call->ctx, TN_ERR_INVALID,
                         "attribute 'max_map' is %lld; a sparse form needs 1 or more",
                         (long long)max_map);
  if (!s) tn_infer_shape(call, 0, dtype, 2, (int64_t[]){1, sparse ? max_map : TN_DIM_UNKNOWN});
  return s;
}

tn_status map_values_infer(const tn_call *call) {
  const tn_map_values_attrs *a = call->attrs;
  return infer_values(call, call->inputs[0]->dtype, a->size > 0, a->size);
}

tn_status map_values_plan(const tn_call *call, tn_kernel_plan *out) {
  (void)call;
  out->flags = TN_PLAN_DATA_DEPENDENT;
  return TN_OK;
}

/* In a row of `size`, each value at the place that its key names. */
static tn_status values_at(const tn_call *call, const column *keys, const column *values,
                           int64_t size) {
  tn_status s = call->host->output_resize(call->ctx, 0, 2, (int64_t[]){1, size});
  if (!s) s = clear(call, "0");
  for (int64_t k = 0; k < keys->n && !s; k++) {
    const int64_t at = ((const int64_t *)keys->data)[k];
    if (at < 0)
      s = call->host->fail(call->ctx, TN_ERR_INVALID,
                           "X has the key %lld; keys are places in the output", (long long)at);
    else if (at < size)
      s = column_put(call, at, values, k);
  }
  return s;
}

/* One after the other, as their keys rise. */
static tn_status values_sorted(const tn_call *call, const column *keys, const column *values) {
  tn_status s = call->host->output_resize(call->ctx, 0, 2, (int64_t[]){1, keys->n});
  int64_t *order = s ? NULL : call->host->alloc(call->ctx, ((uint64_t)keys->n + 1) * sizeof *order);
  if (!s && !order) s = TN_ERR_MEMORY;
  if (!s) column_sort(keys, order);
  for (int64_t k = 0; k < keys->n && !s; k++) s = column_put(call, k, values, order[k]);
  call->host->free(call->ctx, order);
  return s;
}

tn_status map_values_reference(const tn_call *call) {
  const int64_t size = ((const tn_map_values_attrs *)call->attrs)->size;
  column keys, values;
  tn_status s = open_map(call, TN_I64, &keys, &values);
  if (s) return s;
  return size > 0 ? values_at(call, &keys, &values, size) : values_sorted(call, &keys, &values);
}

tn_status map_values_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                       uint32_t worker) {
  (void)stage, (void)begin, (void)end, (void)worker;
  return map_values_reference(call); /* there is but one way to say it */
}

/* What attribute cast_to says, or TN_NONE. */
static uint32_t cast_type(const tn_cast_map_attrs *a) {
  return tn_str_is(a->cast_to, "TO_FLOAT")    ? TN_F32
         : tn_str_is(a->cast_to, "TO_STRING") ? TN_STRING
         : tn_str_is(a->cast_to, "TO_INT64")  ? TN_I64
                                              : TN_NONE;
}

tn_status cast_map_infer(const tn_call *call) {
  const tn_cast_map_attrs *a = call->attrs;
  const bool sparse = tn_str_is(a->map_form, "SPARSE");
  const uint32_t dtype = cast_type(a);
  if (!sparse && !tn_str_is(a->map_form, "DENSE"))
    return call->host->fail(call->ctx, TN_ERR_INVALID,
                            "attribute 'map_form' is '%.*s', neither DENSE nor SPARSE",
                            (int)a->map_form.size, a->map_form.data);
  if (!dtype)
    return call->host->fail(call->ctx, TN_ERR_INVALID,
                            "attribute 'cast_to' is '%.*s', none of TO_FLOAT, TO_STRING, TO_INT64",
                            (int)a->cast_to.size, a->cast_to.data);
  return infer_values(call, dtype, sparse, a->max_map);
}

/* Values that need another type: a CastMap that leaves them theirs, and a Cast behind it. */
static tn_status lower_in_two(const tn_call *call, tn_graph *graph, int32_t node, int32_t x) {
  const tn_cast_map_attrs *a = call->attrs;
  const bool texts = call->inputs[0]->dtype == TN_STRING;
  const tn_attr as_is = tn_attr_str("cast_to", texts ? "TO_STRING" : "TO_FLOAT");
  const tn_attr to = tn_attr_int("to", tn_onnx_of_dtype(cast_type(a)));
  int32_t values;
  const tn_status s = tn_emit_like(call, graph, node, &x, 1, &as_is, 1, &values);
  return s ? s : tn_lower_as(call, graph, node, "Cast", &values, 1, &to, 1);
}

tn_status cast_map_lower(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_cast_map_attrs *a = call->attrs;
  const int32_t x = tn_node_input(call, graph, node, 0);
  const tn_attr size = tn_attr_int("size", tn_str_is(a->map_form, "SPARSE") ? a->max_map : 0);
  if (call->inputs[0]->dtype != cast_type(a)) return lower_in_two(call, graph, node, x);
  return tn_lower_to_own(call, graph, node, "MapValues", &x, 1, &size, 1);
}
