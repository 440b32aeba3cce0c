/* FusedConv: Conv, Add and the activation, which the planner fuses again as it sees fit. */
#include <string.h>

#include "builder.h"
#include "matmul.gen.h"

enum { NAME_MAX_BYTES = 32 };

typedef struct activation {
  const char *name, *params[2];
} activation;

/* Clip has its bounds as inputs, the others their parameters as attributes. */
static const activation activations[] = {{"Relu", {NULL, NULL}},
                                         {"Tanh", {NULL, NULL}},
                                         {"Sigmoid", {NULL, NULL}},
                                         {"LeakyRelu", {"alpha", NULL}},
                                         {"HardSigmoid", {"alpha", "beta"}},
                                         {"Clip", {NULL, NULL}}};

static const activation *find_activation(tn_str name) {
  for (size_t k = 0; k < sizeof activations / sizeof *activations; k++)
    if ((int64_t)strlen(activations[k].name) == name.size &&
        !memcmp(activations[k].name, name.data, (size_t)name.size))
      return &activations[k];
  return NULL;
}

static int32_t activate(builder *b, const tn_fused_conv_attrs *a, const activation *f, int32_t y) {
  int32_t inputs[3] = {y, -1, -1}, out;
  uint32_t n_inputs = 1, n_attrs = 0;
  tn_attr attrs[2];
  for (int64_t k = 0; k < 2 && k < a->activation_params.size; k++) {
    if (f->params[k])
      attrs[n_attrs++] = build_attr_float(f->params[k], a->activation_params.data[k]);
    else if (!strcmp(f->name, "Clip"))
      inputs[n_inputs++] =
          build_binary(b, "CastLike", build_scalar(b, TN_F32, a->activation_params.data[k]), y);
  }
  build_node(b, f->name, inputs, n_inputs, attrs, n_attrs, &out, 1);
  return out;
}

tn_status fused_conv_lower(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_fused_conv_attrs *a = call->attrs;
  const activation *f = find_activation(a->activation);
  builder b = build_begin(call, graph, node);
  char auto_pad[NAME_MAX_BYTES] = {0};
  if ((!f && a->activation.size) || a->auto_pad.size >= NAME_MAX_BYTES)
    return call->host->fail(call->ctx, TN_ERR_UNSUPPORTED,
                            "not supported: this activation or auto_pad");
  memcpy(auto_pad, a->auto_pad.data, (size_t)a->auto_pad.size);
  tn_attr attrs[6] = {build_attr_str("auto_pad", auto_pad), build_attr_int("group", a->group)};
  const struct {
    const char *name;
    tn_ints list;
  } lists[4] = {{"dilations", a->dilations},
                {"kernel_shape", a->kernel_shape},
                {"pads", a->pads},
                {"strides", a->strides}};
  uint32_t n = 2;
  for (int k = 0; k < 4; k++)
    if (lists[k].list.size)
      attrs[n++] = build_attr_ints(lists[k].name, lists[k].list.data, lists[k].list.size);
  int32_t y;
  build_node(&b, "Conv", (int32_t[]){build_input(&b, 0), build_input(&b, 1), build_input(&b, 2)}, 3,
             attrs, n, &y, 1);
  if (build_input(&b, 3) >= 0) y = build_binary(&b, "Add", y, build_input(&b, 3));
  if (f) y = activate(&b, a, f, y);
  return build_end(&b, &y, 1);
}
