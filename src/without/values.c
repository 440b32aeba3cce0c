/* In place of reading single values (tn_value_load): value.c, value_map.c and value_type.c of the
 * reader of ONNX. */
#include "onnx/reader.h"
#include "without/without.h"

const char tn_without_values = 0;

tn_status onnx_read_value(const tn_source *source, uint32_t kind, const tn_value_sink *out) {
  (void)kind, (void)out;
  return source->host->fail(source->ctx, TN_ERR_UNSUPPORTED,
                            "values from files: this program was linked without them; to have "
                            "them: tenon select --with values");
}
