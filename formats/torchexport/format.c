/* The format's descriptor with its table of operators, which all readers of PyTorch's files
 * share. */
#define TN_FORMAT_ROWS
#include "torchexport.gen.h"

#include "torch/aten.h"

enum { N_ROWS = sizeof torchexport_ops / sizeof *torchexport_ops };

const tn_format_op *const *aten_rows(uint32_t *out_n) {
  *out_n = N_ROWS;
  return torchexport_ops;
}

static tn_status read_program(const tn_source *source, tn_graph *graph) {
  (void)graph;
  return source->host->fail(source->ctx, TN_ERR_UNSUPPORTED,
                            "%s: programs of torch.export are not read yet", source->path);
}

extern const tn_format torchexport_format;
const tn_format torchexport_format = {
    .head = TN_HEAD(tn_format),
    .name = "torchexport",
    .extensions = ".pt2",
    .domains = "aten,torch,torchvision",
    .read = read_program,
    .ops = torchexport_ops,
    .n_ops = N_ROWS,
};
