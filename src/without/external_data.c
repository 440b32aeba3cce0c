/* In place of files next to a model: siblings.c of loading, external.c of the reader of ONNX. */
#include "exec/loader.h"
#include "onnx/reader.h"
#include "without/without.h"

const char tn_without_external_data = 0;

tn_status tn_open_sibling(void *ctx, const char *path, const uint8_t **out_data,
                          uint64_t *out_size) {
  (void)path, (void)out_data, (void)out_size;
  return tn_io_host.fail(ctx, TN_ERR_UNSUPPORTED, TN_WITHOUT_EXTERNAL_DATA);
}

tn_status onnx_external_data(onnx_reader *r, const onnx_tensor *t, int64_t bytes, onnx_span *out) {
  (void)t, (void)bytes, (void)out;
  return r->source->host->fail(r->source->ctx, TN_ERR_UNSUPPORTED, TN_WITHOUT_EXTERNAL_DATA);
}
