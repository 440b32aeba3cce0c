/* Fuzzing the format of ExecuTorch: models from arbitrary bytes. */
#include <stddef.h>

#include "tenon/plugin.h"

extern const tn_format executorch_format;
int tn_fuzz_format(const tn_format *format, const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  return tn_fuzz_format(&executorch_format, data, size);
}
