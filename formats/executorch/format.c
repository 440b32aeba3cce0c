/* The format's descriptor, and how a file is recognised. */
#define TN_FORMAT_ROWS
#include "executorch.gen.h"

#include "reader.h"

static int32_t probe(const uint8_t *data, uint64_t size) {
  return tn_flat_is(data, size, "ET12") ? 100 : 0;
}

extern const tn_format executorch_format;
const tn_format executorch_format = {
    .head = TN_HEAD(tn_format),
    .name = "executorch",
    .extensions = ".pte",
    .domains = "aten,torch",
    .probe = probe,
    .read = pte_read,
    .ops = executorch_ops,
    .n_ops = sizeof executorch_ops / sizeof *executorch_ops,
};
