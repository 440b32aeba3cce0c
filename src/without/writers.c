/* In place of what writes models: formats have a reader and no writer. */
#include "onnx/reader.h"
#include "without/without.h"

const char tn_without_writers = 0;

tn_status onnx_write(const tn_sink *sink, const tn_graph *g) {
  (void)g;
  return sink->host->fail(sink->ctx, TN_ERR_UNSUPPORTED,
                          "writing ONNX: this program was linked without it; to have it: tenon "
                          "select --with writers");
}
