/* ChannelShuffle moves elements and computes nothing: it has no kernel, but says as a strided copy
 * what goes where. The planner joins such copies with those around them. */
#include <string.h>

#include <tenon/graph.h>

#include "my_custom_op.gen.h"

tn_status channel_shuffle_infer(const tn_call *call) {
  const tn_channel_shuffle_attrs *a = call->attrs;
  const tn_tensor *x = call->inputs[0];
  if (x->rank < 2)
    return call->host->fail(call->ctx, TN_ERR_SHAPE, "x has rank %d, but must be [N, C, ...]",
                            x->rank);
  if (a->groups < 1 || x->shape[1] % a->groups)
    return call->host->fail(call->ctx, TN_ERR_SHAPE,
                            "attribute 'groups' is %lld and does not divide %lld channels",
                            (long long)a->groups, (long long)x->shape[1]);
  call->outputs[0]->rank = x->rank;
  memcpy(call->outputs[0]->shape, x->shape, sizeof x->shape);
  return TN_OK;
}

/* y[n, j, g, i] = x[n, g, j, i], for n images, g groups of j channels, i elements in each. The dims
 * stand in the order of the output: such regions can be merged with those that read them. */
static tn_region region_of(const tn_call *call) {
  const tn_tensor *x = call->inputs[0];
  const int64_t groups = ((const tn_channel_shuffle_attrs *)call->attrs)->groups;
  const int64_t c = x->shape[1], size = c / groups;
  int64_t inner = 1;
  for (int32_t d = 2; d < x->rank; d++) inner *= x->shape[d];
  return (tn_region){.head = TN_HEAD(tn_region),
                     .rank = 4,
                     .size = {x->shape[0], size, groups, inner},
                     .src_stride = {c * inner, inner, size * inner, 1},
                     .dst_stride = {c * inner, groups * inner, inner, 1}};
}

tn_status channel_shuffle_lower(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_graph_api *api = call->host->graph;
  const int32_t x = api->node(graph, node)->inputs[0];
  const tn_region region = region_of(call);
  return api->set_regions(graph, node, &x, 1, (const tn_region *[]){&region}, 1, -1);
}

static int64_t element_bytes(uint32_t dtype) {
  switch (dtype) {
    case TN_I8:
    case TN_U8:
    case TN_BOOL: return 1;
    case TN_F16:
    case TN_BF16:
    case TN_I16:
    case TN_U16: return 2;
    case TN_F32:
    case TN_I32:
    case TN_U32: return 4;
    default: return 8;
  }
}

tn_status channel_shuffle_reference(const tn_call *call) {
  const int64_t groups = ((const tn_channel_shuffle_attrs *)call->attrs)->groups;
  const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
  const int64_t c = x->shape[1];
  int64_t bytes = element_bytes(x->dtype);
  for (int32_t d = 2; d < x->rank; d++) bytes *= x->shape[d];
  for (int64_t n = 0; n < x->shape[0] && bytes; n++)
    for (int64_t k = 0; k < c; k++) {
      const int64_t to = k % (c / groups) * groups + k / (c / groups);
      memcpy((char *)y->data + (n * c + to) * bytes, (const char *)x->data + (n * c + k) * bytes,
             (size_t)bytes);
    }
  return TN_OK;
}
