/* The format's descriptor with its table of operators, which all readers of PyTorch's files
 * share. */
#define TN_FORMAT_ROWS
#include "torchexport.gen.h"

#include <string.h>

#include "base/identify.h"
#include "reader.h"

enum { N_ROWS = sizeof torchexport_ops / sizeof *torchexport_ops };

const tn_format_op *const *aten_rows(uint32_t *out_n) {
  *out_n = N_ROWS;
  return torchexport_ops;
}

static int32_t probe(const uint8_t *data, uint64_t size) {
  return tn_file_is(data, size, "pt2", "pt2-old") ? 95 : 0;
}

extern const tn_format torchexport_format;
const tn_format torchexport_format = {
    .head = TN_HEAD(tn_format),
    .name = "torchexport",
    .extensions = ".pt2",
    .domains = "aten,torch,torchvision,quantized_decomposed,llama,transformers",
    .probe = probe,
    .read = pt2_read,
    .ops = torchexport_ops,
    .n_ops = N_ROWS,
};
