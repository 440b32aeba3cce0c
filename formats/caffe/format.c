/* The format's descriptor with its table of layers, and how a file is recognised. */
#define TN_FORMAT_ROWS
#include "caffe.gen.h"

#include "base/identify.h"
#include "reader.h"
#include "tenon/kit/text.h"

const tn_format_op *caffe_row(tn_str type) {
  for (size_t k = 0; k < sizeof caffe_ops / sizeof *caffe_ops; k++)
    if (tn_str_is(type, caffe_ops[k]->name)) return caffe_ops[k];
  return NULL;
}

static int32_t probe(const uint8_t *data, uint64_t size) {
  return tn_file_is(data, size, "caffe", "caffe-text") ? 80 : 0;
}

extern const tn_format caffe_format;
const tn_format caffe_format = {
    .head = TN_HEAD(tn_format),
    .name = "caffe",
    .extensions = ".prototxt,.caffemodel",
    .domains = "caffe",
    .probe = probe,
    .read = caffe_read,
    .ops = caffe_ops,
    .n_ops = sizeof caffe_ops / sizeof *caffe_ops,
};
