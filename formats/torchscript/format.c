/* The format's descriptor with its table of operators, and how a file is recognised. */
#define TN_FORMAT_ROWS
#include "torchscript.gen.h"

#include "base/identify.h"
#include "reader.h"

static int32_t probe(const uint8_t *data, uint64_t size) {
  return tn_file_is(data, size, "torchscript", NULL) ? 90 : 0;
}

extern const tn_format torchscript_format;
const tn_format torchscript_format = {
    .head = TN_HEAD(tn_format),
    .name = "torchscript",
    .extensions = ".pt,.jit,.ptl",
    .domains = "aten,torch,torchvision,tenon",
    .probe = probe,
    .read = ts_read,
    .ops = torchscript_ops,
    .n_ops = sizeof torchscript_ops / sizeof *torchscript_ops,
};
