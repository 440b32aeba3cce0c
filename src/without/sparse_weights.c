/* In place of sparse tensors: sparse.c of the reader of ONNX. */
#include "onnx/reader.h"
#include "without/without.h"

const char tn_without_sparse_weights = 0;

tn_status onnx_sparse_read(onnx_reader *r, onnx_span message, tn_arena *arena, tn_tensor *out,
                           onnx_span *out_name) {
  (void)message, (void)arena, (void)out, (void)out_name;
  return r->source->host->fail(r->source->ctx, TN_ERR_UNSUPPORTED,
                               TN_READER_WITHOUT(ONNX_SPARSE_WEIGHTS));
}
