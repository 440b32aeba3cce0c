/* The format's descriptor with its table of operators, and how a file is recognised. */
#define TN_FORMAT_ROWS
#include "mnn.gen.h"

#include "reader.h"

const tn_format_op *mnn_row(int64_t code) {
  for (size_t k = 0; k < sizeof mnn_ops / sizeof *mnn_ops; k++)
    if (mnn_ops[k]->code == code) return mnn_ops[k];
  return NULL;
}

/* Files have no identifier: it is one if its first operators are such as MNN has. */
static int32_t probe(const uint8_t *data, uint64_t size) {
  enum { LOOKED_AT = 4 };
  tn_flat flat;
  if (size < 32) return 0;
  tn_flat_open(&flat, data, size);
  const tn_flat_table net = tn_flat_root(&flat, &mnn_net_type);
  const tn_flat_vector ops = tn_flat_vec(&net, NET_OPS, 4),
                       names = tn_flat_vec(&net, NET_TENSORS, 4);
  if (flat.status || !ops.n || !names.n) return 0;
  for (uint64_t k = 0; k < ops.n && k < LOOKED_AT; k++) {
    const tn_flat_table op = tn_flat_item(&ops, k, &mnn_op_type);
    const tn_flat_vector out = tn_flat_vec(&op, OP_OUTPUTS, 4);
    for (uint64_t j = 0; j < out.n && j < LOOKED_AT; j++) {
      const int64_t index = tn_flat_int_at(&out, j);
      if (index < 0 || (uint64_t)index >= names.n) return 0;
    }
    tn_flat_text(&op, OP_NAME);
    if (flat.status || !out.n || !mnn_row(tn_flat_int(&op, OP_TYPE, 4, 0))) return 0;
  }
  return flat.status ? 0 : 70;
}

extern const tn_format mnn_format;
const tn_format mnn_format = {
    .head = TN_HEAD(tn_format),
    .name = "mnn",
    .extensions = ".mnn",
    .domains = "mnn",
    .probe = probe,
    .read = mnn_read,
    .ops = mnn_ops,
    .n_ops = sizeof mnn_ops / sizeof *mnn_ops,
};
