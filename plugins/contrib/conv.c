/* FusedConv: Conv, Add and the activation, which the planner fuses again as it sees fit. */
#include <string.h>

#include "activation.h"
#include "matmul.gen.h"

enum { NAME_MAX_BYTES = 32 };

tn_status fused_conv_lower(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_fused_conv_attrs *a = call->attrs;
  const activation *f = activation_find(a->activation);
  builder b = build_begin(call, graph, node);
  char auto_pad[NAME_MAX_BYTES] = {0};
  if ((!f && a->activation.size) || a->auto_pad.size >= NAME_MAX_BYTES)
    return call->host->fail(call->ctx, TN_ERR_UNSUPPORTED,
                            "not supported: this activation or auto_pad");
  if (a->auto_pad.size) memcpy(auto_pad, a->auto_pad.data, (size_t)a->auto_pad.size);
  tn_attr attrs[6] = {tn_attr_str("auto_pad", auto_pad), tn_attr_int("group", a->group)};
  const struct {
    const char *name;
    tn_ints list;
  } lists[4] = {{"dilations", a->dilations},
                {"kernel_shape", a->kernel_shape},
                {"pads", a->pads},
                {"strides", a->strides}};
  uint32_t n = 2;
  for (int k = 0; k < 4; k++)
    if (lists[k].list.size) attrs[n++] = tn_attr_ints(lists[k].name, lists[k].list);
  int32_t y;
  build_node(&b, "Conv", (int32_t[]){build_input(&b, 0), build_input(&b, 1), build_input(&b, 2)}, 3,
             attrs, n, &y, 1);
  if (build_input(&b, 3) >= 0) y = build_binary(&b, "Add", y, build_input(&b, 3));
  if (f)
    y = activation_build(&b, f, a->activation_params.data,
                         (1u << tn_min_i64(a->activation_params.size, ACTIVATION_PARAMS)) - 1, y);
  return build_end(&b, &y, 1);
}
