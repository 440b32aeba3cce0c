/* Fuzzing the TFLite format: models from arbitrary bytes, with operators of TensorFlow in them. */
#include <stddef.h>

#include "tenon/plugin.h"

extern const tn_format tflite_format, tensorflow_format;
int tn_fuzz_formats(const tn_format *format, const tn_format *inner, const uint8_t *data,
                    size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  return tn_fuzz_formats(&tflite_format, &tensorflow_format, data, size);
}
