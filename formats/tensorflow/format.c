/* The format's descriptor with its table of operators, and how a file is recognised. */
#define TN_FORMAT_ROWS
#include "tensorflow.gen.h"

#include "base/identify.h"
#include "reader.h"

enum { N_ROWS = sizeof tensorflow_ops / sizeof *tensorflow_ops };

/* Rows are in the order of their names. */
const tn_format_op *tf_row(const char *op) {
  size_t lo = 0, hi = N_ROWS;
  while (lo < hi) {
    const size_t mid = lo + (hi - lo) / 2;
    const int order = strcmp(op, tensorflow_ops[mid]->name);
    if (!order) return tensorflow_ops[mid];
    if (order < 0)
      hi = mid;
    else
      lo = mid + 1;
  }
  return NULL;
}

static int32_t probe(const uint8_t *data, uint64_t size) {
  char detail[TN_FILE_DETAIL];
  const tn_file_kind *kind = tn_file_identify(data, size, detail);
  if (!kind) return 0;
  return !strcmp(kind->name, "tensorflow") || !strcmp(kind->name, "tensorflow-text") ||
                 !strcmp(kind->name, "saved-model")
             ? 90
             : 0;
}

extern const tn_format tensorflow_format;
const tn_format tensorflow_format = {
    .head = TN_HEAD(tn_format),
    .name = "tensorflow",
    .extensions = ".pb,.pbtxt",
    .domains = "tf,tflite",
    .probe = probe,
    .read = tf_read,
    .ops = tensorflow_ops,
    .n_ops = N_ROWS,
    .folder_entry = "saved_model.pb",
};
