/* The format's descriptor, and how a file is recognised. */
#define TN_FORMAT_ROWS
#include "executorch.gen.h"

#include "reader.h"

const char *pte_xnn_kind(int64_t number) {
  static const char prefix[] = "xnnpack::";
  for (size_t k = 0; k < sizeof executorch_ops / sizeof *executorch_ops; k++)
    if (executorch_ops[k]->code == number &&
        !strncmp(executorch_ops[k]->name, prefix, sizeof prefix - 1))
      return executorch_ops[k]->name + sizeof prefix - 1;
  return NULL;
}

static int32_t probe(const uint8_t *data, uint64_t size) {
  return tn_flat_is(data, size, "ET12") ? 100 : 0;
}

extern const tn_format executorch_format;
const tn_format executorch_format = {
    .head = TN_HEAD(tn_format),
    .name = "executorch",
    .extensions = ".pte",
    .domains = "aten,torch,quantized_decomposed,executorch,llama",
    .probe = probe,
    .read = pte_read,
    .ops = executorch_ops,
    .n_ops = sizeof executorch_ops / sizeof *executorch_ops,
};
