/* In place of weights in typed fields: tensor_data.c of the reader of ONNX. */
#include "onnx/reader.h"
#include "without/without.h"

const char tn_without_typed_data = 0;

tn_status onnx_typed_data(const onnx_reader *r, const onnx_tensor *t, tn_arena *arena, void **out) {
  (void)t, (void)arena, (void)out;
  return r->source->host->fail(r->source->ctx, TN_ERR_UNSUPPORTED,
                               TN_READER_WITHOUT(ONNX_TYPED_DATA));
}
