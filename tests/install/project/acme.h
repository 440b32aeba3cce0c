/* The one loop of this plug-in; every instruction set compiles it anew. */
#include "acme.gen.h"

static inline tn_status twice_range(const tn_call *call, int64_t begin, int64_t end) {
  const float *x = call->inputs[0]->data;
  float *y = call->outputs[0]->data;
  for (int64_t i = begin; i < end; i++) y[i] = x[i] + x[i];
  return TN_OK;
}
