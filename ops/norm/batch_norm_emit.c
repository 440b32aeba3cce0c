/* Batch normalisation by constant statistics as C. */
#include <math.h>

#include "norm.gen.h"
#include "tenon/experimental/emit_c.h"
#include "tenon/kit/tensor.h"

static const char *refuse(const tn_call *call) {
  if (((const tn_batch_normalization_attrs *)call->attrs)->training_mode)
    return "takes statistics that are given, not those of the batch";
  for (uint32_t k = 1; k < 5; k++)
    if (!call->inputs[k]->data) return "takes constant statistics, scales and offsets";
  return NULL;
}

static double number(const tn_call *call, uint32_t input, int64_t channel) {
  return (double)((const float *)call->inputs[input]->data)[channel];
}

/* What each channel is multiplied by, or what is added to it, rounded as the kernel rounds it. */
static const char *numbers(const tn_emit *e, bool offsets) {
  const double epsilon = ((const tn_batch_normalization_attrs *)e->call->attrs)->epsilon;
  const int64_t n = tn_elements(e->call->inputs[1]);
  float *to = e->memory(e, (uint64_t)n * sizeof *to);
  for (int64_t c = 0; to && c < n; c++) {
    const double scale = number(e->call, 1, c) / sqrt(number(e->call, 4, c) + epsilon);
    to[c] = (float)(offsets ? number(e->call, 2, c) - number(e->call, 3, c) * scale : scale);
  }
  const tn_tensor t = tn_tensor_make(TN_F32, 1, &n, to);
  return to ? e->constant(e, &t) : "NULL";
}

static void emit(const tn_emit *e) {
  const tn_tensor *x = e->call->inputs[0];
  const int64_t channels = x->rank > 1 ? x->shape[1] : 1;
  const int64_t plane = x->rank > 2 ? tn_dims_size(x->shape + 2, x->rank - 2) : 1;
  const char *scales = numbers(e, false), *offsets = numbers(e, true);
  e->code(e, "emit/batch_normalization.c");
  e->line(e, "batch_normalization(%s, %s, %s, %s, %d, %d, %d);", e->input(e, 0), scales, offsets,
          e->output(e, 0), (int)x->shape[0], (int)channels, (int)plane);
}

static const tn_emitter emitter = {.head = TN_HEAD(tn_emitter),
                                   .kernel = "batch_normalization_f32_c",
                                   .flags = TN_EMIT_IN_PLACE,
                                   .refuse = refuse,
                                   .emit = emit};
const tn_emitter *const batch_norm_emitters[] = {&emitter, NULL};
