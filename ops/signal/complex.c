/* Pairs of numbers as complex ones, and back: the same bytes under another shape. */
#include <string.h>

#include "signal.gen.h"
#include "tenon/kit/infer.h"
#include "tenon/kit/lowering.h"
#include "tenon/kit/tensor.h"

tn_status complex_infer(const tn_call *call) {
  const tn_tensor *x = call->inputs[0];
  if (x->rank < 1 || x->shape[x->rank - 1] != 2)
    return call->host->fail(call->ctx, TN_ERR_SHAPE,
                            "the last dim of the input must be 2: real and imaginary parts");
  tn_infer_shape(call, 0, x->dtype == TN_F32 ? TN_C64 : TN_C128, x->rank - 1, x->shape);
  return TN_OK;
}

tn_status complex_parts_infer(const tn_call *call) {
  const tn_tensor *x = call->inputs[0];
  int64_t dims[TN_MAX_RANK];
  if (x->rank == TN_MAX_RANK)
    return call->host->fail(call->ctx, TN_ERR_SHAPE,
                            "the input has rank %d; the parts would need one dim more", x->rank);
  for (int32_t k = 0; k < x->rank; k++) dims[k] = x->shape[k];
  dims[x->rank] = 2;
  tn_infer_shape(call, 0, x->dtype == TN_C64 ? TN_F32 : TN_F64, x->rank + 1, dims);
  return TN_OK;
}

tn_status complex_reference(const tn_call *call) {
  const int64_t bytes = tn_bytes(call->inputs[0]);
  for (int64_t i = 0; i < bytes; i++)
    ((uint8_t *)call->outputs[0]->data)[i] = ((const uint8_t *)call->inputs[0]->data)[i];
  return TN_OK;
}

tn_status complex_plan(const tn_call *call, tn_kernel_plan *out) {
  (void)call;
  out->in_place[0] = 0;
  return TN_OK;
}

static tn_status copy(const tn_call *call) {
  const int64_t bytes = tn_bytes(call->inputs[0]);
  if (bytes > 0 && call->outputs[0]->data != call->inputs[0]->data)
    memcpy(call->outputs[0]->data, call->inputs[0]->data, (size_t)bytes);
  return TN_OK;
}

tn_status complex_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                    uint32_t worker) {
  (void)stage, (void)begin, (void)end, (void)worker;
  return copy(call);
}

tn_status complex_parts_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                          uint32_t worker) {
  (void)stage, (void)begin, (void)end, (void)worker;
  return copy(call);
}

/* The pairs that complex numbers were made of, under the shapes of whatever has reshaped them; -1:
 * they come from elsewhere. */
static int32_t pairs_of(const tn_graph_api *api, const tn_graph *graph, int32_t value) {
  static const char *const shapes[] = {"Reshape", "Squeeze", "Unsqueeze", "Flatten", "Identity"};
  for (;;) {
    const int32_t maker = api->value_producer(graph, value);
    const tn_node *n = maker < 0 ? NULL : api->node(graph, maker);
    if (!n || n->n_inputs < 1) return -1;
    if (!strcmp(n->op, "Complex") && !strcmp(n->domain, "tenon")) return n->inputs[0];
    size_t k = 0;
    while (k < sizeof shapes / sizeof *shapes && strcmp(n->op, shapes[k])) k++;
    if (*n->domain || k == sizeof shapes / sizeof *shapes) return -1;
    value = n->inputs[0];
  }
}

/* Files have no complex numbers: parts of those that were made of pairs are the pairs. */
tn_status complex_parts_lower(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  if (!tn_low_for_onnx(&l)) return TN_ERR_UNSUPPORTED;
  const int32_t pairs = pairs_of(call->host->graph, graph, tn_low_in(&l, 0));
  const tn_tensor *y = call->outputs[0];
  if (pairs < 0) return TN_ERR_UNSUPPORTED;
  return tn_low_done(&l, tn_low_reshape(&l, pairs, y->rank, y->shape));
}
