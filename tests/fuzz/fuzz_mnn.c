/* Fuzzing the format of MNN: models from arbitrary bytes. */
#include <stddef.h>

#include "tenon/plugin.h"

extern const tn_format mnn_format;
int tn_fuzz_format(const tn_format *format, const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  return tn_fuzz_format(&mnn_format, data, size);
}
