/* Activations by name. */
#include "activation.h"

#include <string.h>

/* Clip has its bounds as inputs, the others their parameters as attributes. */
static const activation activations[] = {{"Relu", {NULL}},
                                         {"Tanh", {NULL}},
                                         {"Sigmoid", {NULL}},
                                         {"LeakyRelu", {"alpha"}},
                                         {"HardSigmoid", {"alpha", "beta"}},
                                         {"Elu", {"alpha"}},
                                         {"Selu", {"alpha", NULL, "gamma"}},
                                         {"ThresholdedRelu", {"alpha"}},
                                         {"Softplus", {NULL}},
                                         {"Softsign", {NULL}},
                                         {"HardSwish", {NULL}},
                                         {"Gelu", {NULL}},
                                         {"Clip", {NULL}}};

const activation *activation_find(tn_str name) {
  for (size_t k = 0; k < sizeof activations / sizeof *activations; k++)
    if (tn_str_is(name, activations[k].name)) return &activations[k];
  return NULL;
}

int32_t activation_build(builder *b, const activation *f, const double *params, uint32_t given,
                         int32_t y) {
  const bool clip = !strcmp(f->name, "Clip");
  int32_t inputs[3] = {y, -1, -1}, out;
  uint32_t n_inputs = 1, n_attrs = 0;
  tn_attr attrs[ACTIVATION_PARAMS];
  for (uint32_t k = 0; k < ACTIVATION_PARAMS; k++) {
    if (!(given >> k & 1)) continue;
    if (f->params[k]) attrs[n_attrs++] = tn_attr_float(f->params[k], params[k]);
    if (!clip || k >= 2) continue;
    inputs[k + 1] = build_binary(b, "CastLike", build_scalar(b, TN_F32, params[k]), y);
    n_inputs = k + 2;
  }
  build_node(b, f->name, inputs, n_inputs, attrs, n_attrs, &out, 1);
  return out;
}
