/* What readers ask of features; a file of its own, as a program may have some of them alone. */
#include "reader.h"

tn_status onnx_want_feature(const onnx_reader *r, tn_feature which, const uint8_t *at,
                            const char *what) {
  const tn_host *host = r->host;
  const void *extension = TN_HAS(host, get_extension) && host->get_extension
                              ? host->get_extension(r->source->ctx, TN_FEATURES)
                              : NULL;
  union {
    const void *in;
    tn_features *out;
  } features = {extension}; /* the runtime's, which everybody may note in */
  tn_note_feature(features.out, which);
  if (tn_has_feature(features.out, which)) return TN_OK;
  return onnx_fail(r, TN_ERR_UNSUPPORTED, at,
                   "%s, which this program was linked without; "
                   "to have them: tenon select MODEL",
                   what);
}
