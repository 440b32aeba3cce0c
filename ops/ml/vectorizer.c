/* FeatureVectorizer: matrices beside each other. An item is an element of the output. */
#include "ml.gen.h"
#include "tenon/kit/infer.h"

static int64_t rows_of(const tn_tensor *x) { return x->rank > 1 ? x->shape[0] : 1; }
static int64_t columns_of(const tn_tensor *x) {
  const int64_t rows = rows_of(x);
  return rows ? tn_elements(x) / rows : 0;
}

tn_status feature_vectorizer_infer(const tn_call *call) {
  const tn_ints dims = ((const tn_feature_vectorizer_attrs *)call->attrs)->inputdimensions;
  int64_t total = 0;
  if (call->n_inputs < 1 || dims.size != (int64_t)call->n_inputs)
    return call->host->fail(call->ctx, TN_ERR_INVALID,
                            "attribute 'inputdimensions' has %lld values for %u inputs",
                            (long long)dims.size, (unsigned)call->n_inputs);
  for (uint32_t k = 0; k < call->n_inputs; k++) {
    const tn_tensor *x = call->inputs[k];
    if (!x || x->rank < 1 || rows_of(x) != rows_of(call->inputs[0]))
      return call->host->fail(call->ctx, TN_ERR_SHAPE,
                              "input %u does not have as many rows as input 0", (unsigned)k);
    if (dims.data[k] < 0 || tn_add_i64(total, dims.data[k], &total))
      return call->host->fail(call->ctx, TN_ERR_INVALID,
                              "attribute 'inputdimensions' has the value %lld",
                              (long long)dims.data[k]);
  }
  tn_infer_shape(call, 0, TN_F32, 2, (int64_t[]){rows_of(call->inputs[0]), total});
  return TN_OK;
}

/* Column c of the output in this row. */
static double feature(const tn_call *call, int64_t row, int64_t c) {
  const tn_ints dims = ((const tn_feature_vectorizer_attrs *)call->attrs)->inputdimensions;
  uint32_t k = 0;
  for (; c >= dims.data[k]; k++) c -= dims.data[k];
  const tn_tensor *x = call->inputs[k];
  const int64_t columns = columns_of(x);
  return c < columns ? tn_load_f64(x->dtype, x->data, row * columns + c) : 0;
}

tn_status feature_vectorizer_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                               uint32_t worker) {
  const int64_t width = call->outputs[0]->shape[1];
  (void)stage, (void)worker;
  for (int64_t k = begin; k < end; k++)
    ((float *)call->outputs[0]->data)[k] = (float)feature(call, k / width, k % width);
  return TN_OK;
}

/* Input by input. */
tn_status feature_vectorizer_reference(const tn_call *call) {
  const tn_ints dims = ((const tn_feature_vectorizer_attrs *)call->attrs)->inputdimensions;
  const tn_tensor *y = call->outputs[0];
  int64_t first = 0;
  for (uint32_t k = 0; k < call->n_inputs; first += dims.data[k++]) {
    const tn_tensor *x = call->inputs[k];
    for (int64_t i = 0; i < rows_of(x) * dims.data[k]; i++) {
      const int64_t row = i / dims.data[k], c = i % dims.data[k];
      const double v =
          c < columns_of(x) ? tn_load_f64(x->dtype, x->data, row * columns_of(x) + c) : 0;
      tn_store_f64(y->dtype, y->data, row * y->shape[1] + first + c, v);
    }
  }
  return TN_OK;
}
