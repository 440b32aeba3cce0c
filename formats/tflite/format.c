/* The format's descriptor with its table of operators, and how a file is recognised. */
#define TN_FORMAT_ROWS
#include "tflite.gen.h"

#include "reader.h"

const tn_format_op *tflite_row(int64_t code) {
  for (size_t k = 0; k < sizeof tflite_ops / sizeof *tflite_ops; k++)
    if (tflite_ops[k]->code == code) return tflite_ops[k];
  return NULL;
}

static int32_t probe(const uint8_t *data, uint64_t size) {
  if (tn_flat_is(data, size, "TFL3")) return 100;
  return tn_flat_is(data, size, "TFL1") || tn_flat_is(data, size, "TFL2") ? 60 : 0;
}

extern const tn_format tflite_format;
const tn_format tflite_format = {
    .head = TN_HEAD(tn_format),
    .name = "tflite",
    .extensions = ".tflite,.lite",
    .domains = "tflite",
    .probe = probe,
    .read = tflite_read,
    .ops = tflite_ops,
    .n_ops = sizeof tflite_ops / sizeof *tflite_ops,
};
