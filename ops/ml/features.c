/* Binarizer, ArrayFeatureExtractor, Scaler, Imputer, Normalizer, OneHotEncoder: work on single
 * features and rows. */
#include <math.h>
#include <string.h>

#include "ml.gen.h"
#include "tenon/kit/infer.h"
#include "tenon/kit/text.h"

#define KERNEL(name) \
  tn_status name(const tn_call *call, uint32_t stage, int64_t begin, int64_t end, uint32_t worker)

static double value(const tn_tensor *t, int64_t k) { return tn_load_f64(t->dtype, t->data, k); }
static int64_t row_length(const tn_tensor *x) { return x->rank ? x->shape[x->rank - 1] : 1; }

/* An item is an element. */
tn_status features_plan(const tn_call *call, tn_kernel_plan *out) {
  out->items[0] = tn_elements(call->outputs[0]);
  out->elements_per_item = 1;
  out->grain[0] = 1000;
  return TN_OK;
}

/* A list with one entry for all features, or one per feature. */
static tn_status check_list(const tn_call *call, const char *name, int64_t size) {
  int64_t features = row_length(call->inputs[0]);
  if (size == 1 || size == features) return TN_OK;
  return call->host->fail(call->ctx, TN_ERR_INVALID,
                          "attribute '%s' has %lld entries; 1 or %lld, one per feature, are needed",
                          name, (long long)size, (long long)features);
}

static tn_status like_input(const tn_call *call, uint32_t dtype) {
  tn_infer_shape(call, 0, dtype, call->inputs[0]->rank, call->inputs[0]->shape);
  return TN_OK;
}

/* ---- Binarizer ---- */

KERNEL(binarizer_c) {
  const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
  const double threshold = ((const tn_binarizer_attrs *)call->attrs)->threshold;
  (void)stage, (void)worker;
  for (int64_t k = begin; k < end; k++) tn_store_f64(y->dtype, y->data, k, value(x, k) > threshold);
  return TN_OK;
}

tn_status binarizer_reference(const tn_call *call) {
  const tn_tensor *y = call->outputs[0];
  for (int64_t k = 0; k < tn_elements(y); k++)
    tn_store_i64(
        y->dtype, y->data, k,
        value(call->inputs[0], k) > ((const tn_binarizer_attrs *)call->attrs)->threshold ? 1 : 0);
  return TN_OK;
}

/* ---- ArrayFeatureExtractor ---- */

tn_status array_feature_extractor_infer(const tn_call *call) {
  const tn_tensor *x = call->inputs[0];
  int64_t dims[TN_MAX_RANK], n = tn_elements(call->inputs[1]);
  if (x->rank < 1) return call->host->fail(call->ctx, TN_ERR_SHAPE, "X is a scalar");
  memcpy(dims, x->shape, sizeof dims);
  dims[0] = x->rank == 1 ? 1 : dims[0];
  dims[x->rank == 1 ? 1 : x->rank - 1] = n;
  tn_infer_shape(call, 0, x->dtype, x->rank == 1 ? 2 : x->rank, dims);
  return TN_OK;
}

static tn_status copy_element(const tn_call *call, int64_t to, int64_t from) {
  const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
  const size_t bytes = tn_dtype(x->dtype)->bits / 8;
  const tn_str *text = x->data;
  if (x->dtype == TN_STRING)
    return call->host->string_set(call->ctx, 0, to, text[from].data, text[from].size);
  memcpy((char *)y->data + (size_t)to * bytes, (const char *)x->data + (size_t)from * bytes, bytes);
  return TN_OK;
}

tn_status array_feature_extractor_reference(const tn_call *call) {
  const int64_t n = tn_elements(call->inputs[1]), width = row_length(call->inputs[0]);
  tn_status s = TN_OK;
  for (int64_t k = 0; k < tn_elements(call->outputs[0]) && !s; k++)
    s = copy_element(call, k, k / n * width + ((const int64_t *)call->inputs[1]->data)[k % n]);
  return s;
}

KERNEL(array_feature_extractor_c) {
  const int64_t *index = call->inputs[1]->data, n = tn_elements(call->inputs[1]),
                width = row_length(call->inputs[0]);
  (void)stage, (void)begin, (void)end, (void)worker;
  for (int64_t k = 0; k < n; k++)
    if (index[k] < 0 || index[k] >= width)
      return call->host->fail(call->ctx, TN_ERR_INVALID, "Y[%lld] is %lld; there are %lld features",
                              (long long)k, (long long)index[k], (long long)width);
  tn_status s = TN_OK;
  int64_t rows = n ? tn_elements(call->outputs[0]) / n : 0;
  for (int64_t r = 0; r < rows; r++)
    for (int64_t k = 0; k < n && !s; k++) s = copy_element(call, r * n + k, r * width + index[k]);
  return s;
}

/* ---- Scaler ---- */

tn_status scaler_infer(const tn_call *call) {
  const tn_scaler_attrs *a = call->attrs;
  tn_status s = check_list(call, "offset", a->offset.size);
  if (!s) s = check_list(call, "scale", a->scale.size);
  return s ? s : like_input(call, TN_F32);
}

static double listed(tn_floats list, int64_t feature) {
  return list.data[list.size == 1 ? 0 : feature];
}

KERNEL(scaler_c) {
  const tn_scaler_attrs *a = call->attrs;
  const tn_tensor *x = call->inputs[0];
  const int64_t width = row_length(x);
  (void)stage, (void)worker;
  for (int64_t k = begin; k < end; k++)
    ((float *)call->outputs[0]->data)[k] =
        (float)((value(x, k) - listed(a->offset, k % width)) * listed(a->scale, k % width));
  return TN_OK;
}

tn_status scaler_reference(const tn_call *call) {
  const tn_scaler_attrs *a = call->attrs;
  const tn_tensor *x = call->inputs[0];
  int64_t width = row_length(x);
  for (int64_t r = 0; r * width < tn_elements(x); r++)
    for (int64_t f = 0; f < width; f++)
      tn_store_f64(TN_F32, call->outputs[0]->data, r * width + f,
                   (value(x, r * width + f) - listed(a->offset, f)) * listed(a->scale, f));
  return TN_OK;
}

/* ---- Imputer ---- */

tn_status imputer_infer(const tn_call *call) {
  const tn_imputer_attrs *a = call->attrs;
  bool whole = tn_dtype(call->inputs[0]->dtype)->is_int;
  tn_status s = check_list(call, whole ? "imputed_value_int64s" : "imputed_value_floats",
                           whole ? a->imputed_value_int64s.size : a->imputed_value_floats.size);
  return s ? s : like_input(call, call->inputs[0]->dtype);
}

static void impute(const tn_call *call, int64_t k) {
  const tn_imputer_attrs *a = call->attrs;
  const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
  const int64_t feature = k % row_length(x);
  if (tn_dtype(x->dtype)->is_int) {
    int64_t v = tn_load_i64(x->dtype, x->data, k);
    if (v == a->replaced_value_int64)
      v = a->imputed_value_int64s.data[a->imputed_value_int64s.size == 1 ? 0 : feature];
    tn_store_i64(y->dtype, y->data, k, v);
    return;
  }
  double v = value(x, k), replaced = a->replaced_value_float;
  if (v == replaced || (isnan(v) && isnan(replaced))) v = listed(a->imputed_value_floats, feature);
  tn_store_f64(y->dtype, y->data, k, v);
}

KERNEL(imputer_c) {
  (void)stage, (void)worker;
  for (int64_t k = begin; k < end; k++) impute(call, k);
  return TN_OK;
}

tn_status imputer_reference(const tn_call *call) {
  for (int64_t k = tn_elements(call->outputs[0]); k-- > 0;) impute(call, k);
  return TN_OK;
}

/* ---- Normalizer ---- */

tn_status normalizer_infer(const tn_call *call) {
  tn_str norm = ((const tn_normalizer_attrs *)call->attrs)->norm;
  if (call->inputs[0]->rank < 1 || call->inputs[0]->rank > 2)
    return call->host->fail(call->ctx, TN_ERR_SHAPE, "X has rank %d; [N, F] is needed",
                            call->inputs[0]->rank);
  if (!tn_str_is(norm, "MAX") && !tn_str_is(norm, "L1") && !tn_str_is(norm, "L2"))
    return call->host->fail(call->ctx, TN_ERR_INVALID,
                            "attribute 'norm' is neither MAX, L1 nor L2");
  return like_input(call, TN_F32);
}

tn_status normalizer_plan(const tn_call *call, tn_kernel_plan *out) {
  const tn_tensor *x = call->inputs[0];
  out->items[0] = x->rank == 1 ? 1 : x->shape[0];
  out->elements_per_item = row_length(x);
  return TN_OK;
}

/* The step of a norm: what is known so far, and one more value. */
static double norm_step(tn_str norm, double so_far, double v) {
  return tn_str_is(norm, "MAX")  ? fmax(so_far, fabs(v))
         : tn_str_is(norm, "L1") ? so_far + fabs(v)
                                 : so_far + v * v;
}

KERNEL(normalizer_c) {
  const tn_str norm = ((const tn_normalizer_attrs *)call->attrs)->norm;
  const tn_tensor *x = call->inputs[0];
  const int64_t width = row_length(x);
  (void)stage, (void)worker;
  for (int64_t r = begin; r < end; r++) {
    double by = 0;
    for (int64_t k = 0; k < width; k++) by = norm_step(norm, by, value(x, r * width + k));
    if (tn_str_is(norm, "L2")) by = sqrt(by);
    for (int64_t k = 0; k < width; k++)
      ((float *)call->outputs[0]->data)[r * width + k] =
          (float)(value(x, r * width + k) / (by != 0 ? by : 1));
  }
  return TN_OK;
}

tn_status normalizer_reference(const tn_call *call) {
  tn_str norm = ((const tn_normalizer_attrs *)call->attrs)->norm;
  const tn_tensor *x = call->inputs[0];
  int64_t width = row_length(x);
  for (int64_t k = 0; k < tn_elements(x); k++) {
    double most = 0, sum = 0, squares = 0;
    for (int64_t i = k / width * width; i < (k / width + 1) * width; i++) {
      most = fmax(most, fabs(value(x, i)));
      sum += fabs(value(x, i));
      squares += value(x, i) * value(x, i);
    }
    double by = tn_str_is(norm, "MAX") ? most : tn_str_is(norm, "L1") ? sum : sqrt(squares);
    tn_store_f64(TN_F32, call->outputs[0]->data, k, by != 0 ? value(x, k) / by : value(x, k));
  }
  return TN_OK;
}

/* ---- OneHotEncoder ---- */

tn_status one_hot_encoder_infer(const tn_call *call) {
  const tn_one_hot_encoder_attrs *a = call->attrs;
  const tn_tensor *x = call->inputs[0];
  int64_t dims[TN_MAX_RANK + 1],
      n = x->dtype == TN_STRING ? a->cats_strings.size : a->cats_int64s.size;
  if (!n)
    return call->host->fail(call->ctx, TN_ERR_INVALID, "there are no categories of the type of X");
  if (x->rank >= TN_MAX_RANK)
    return call->host->fail(call->ctx, TN_ERR_OVERFLOW, "the result would have rank %d",
                            x->rank + 1);
  for (int32_t k = 0; k < x->rank; k++) dims[k] = x->shape[k];
  dims[x->rank] = n;
  tn_infer_shape(call, 0, TN_F32, x->rank + 1, dims);
  return TN_OK;
}

static bool is_category(const tn_call *call, int64_t k, int64_t category) {
  const tn_one_hot_encoder_attrs *a = call->attrs;
  const tn_tensor *x = call->inputs[0];
  if (x->dtype != TN_STRING)
    return tn_load_i64(x->dtype, x->data, k) == a->cats_int64s.data[category];
  tn_str s = ((const tn_str *)x->data)[k], c = a->cats_strings.data[category];
  return s.size == c.size && (!s.size || !memcmp(s.data, c.data, (size_t)s.size));
}

KERNEL(one_hot_encoder_c) {
  const tn_tensor *y = call->outputs[0];
  const int64_t n = y->shape[y->rank - 1];
  (void)stage, (void)begin, (void)end, (void)worker;
  memset(y->data, 0, (size_t)tn_bytes(y));
  for (int64_t k = 0; k < tn_elements(call->inputs[0]); k++) {
    int64_t c = 0;
    while (c < n && !is_category(call, k, c)) c++;
    if (c < n)
      ((float *)y->data)[k * n + c] = 1;
    else if (!((const tn_one_hot_encoder_attrs *)call->attrs)->zeros)
      return call->host->fail(call->ctx, TN_ERR_INVALID, "element %lld is none of the categories",
                              (long long)k);
  }
  return TN_OK;
}

tn_status one_hot_encoder_reference(const tn_call *call) {
  const tn_tensor *y = call->outputs[0];
  int64_t n = y->shape[y->rank - 1];
  for (int64_t k = 0; k < tn_elements(y); k++)
    tn_store_f64(TN_F32, y->data, k, is_category(call, k / n, k % n));
  return TN_OK;
}
