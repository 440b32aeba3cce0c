/* QLinearGlobalAveragePool and QLinearAveragePool. */
#include <string.h>

#include "builder.h"
#include "qlinear.h"

/* X as [batch][channels][pixels], with the steps of both. */
typedef struct planes {
  int64_t batch, channels, pixels, channel_step, pixel_step;
} planes;

static planes planes_of(const tn_call *call) {
  const bool last =
      ((const tn_q_linear_global_average_pool_attrs *)call->attrs)->channels_last != 0;
  const tn_tensor *x = call->inputs[0];
  planes p = {.batch = x->shape[0], .channels = x->shape[last ? x->rank - 1 : 1], .pixels = 1};
  for (int32_t k = last ? 1 : 2; k < x->rank - last; k++) p.pixels *= x->shape[k];
  p.channel_step = last ? 1 : p.pixels;
  p.pixel_step = last ? p.channels : 1;
  return p;
}

tn_status q_linear_global_average_pool_infer(const tn_call *call) {
  static const uint32_t scalars[] = {1, 2, 3, 4};
  const bool last =
      ((const tn_q_linear_global_average_pool_attrs *)call->attrs)->channels_last != 0;
  const tn_tensor *x = call->inputs[0];
  if (x->rank < 3)
    return call->host->fail(call->ctx, TN_ERR_SHAPE, "X has rank %d; it needs 3 or more", x->rank);
  int64_t dims[TN_MAX_RANK];
  for (int32_t k = 0; k < x->rank; k++)
    dims[k] = k == 0 || k == (last ? x->rank - 1 : 1) ? x->shape[k] : 1;
  tn_infer_shape(call, 0, x->dtype, x->rank, dims);
  return check_scalars(call, scalars, 4);
}

tn_status q_linear_global_average_pool_reference(const tn_call *call) {
  const planes p = planes_of(call);
  const quantised from = quantised_of(call, 1), to = quantised_of(call, 3);
  tn_tensor *y = call->outputs[0];
  for (int64_t k = 0; k < p.batch * p.channels; k++) {
    double sum = 0;
    const int64_t base = k / p.channels * p.channels * p.pixels + k % p.channels * p.channel_step;
    for (int64_t i = 0; i < p.pixels; i++)
      sum += dequantise(from, load(call->inputs[0], base + i * p.pixel_step));
    ((uint8_t *)y->data)[k] = quantise(y->dtype, to, sum / (double)p.pixels);
  }
  return TN_OK;
}

tn_status q_linear_global_average_pool_lower(const tn_call *call, tn_graph *graph, int32_t node) {
  const bool last =
      ((const tn_q_linear_global_average_pool_attrs *)call->attrs)->channels_last != 0;
  const int64_t rank = call->inputs[0]->rank;
  builder b = build_begin(call, graph, node);
  int32_t x = build_dequantised(&b, 0, 1, 2), y;
  if (last) x = build_move_channels(&b, x, rank, false);
  y = build_unary(&b, "GlobalAveragePool", x);
  if (last) y = build_move_channels(&b, y, rank, true);
  y = build_quantised(&b, y, 3, 4, build_input(&b, 0));
  return build_end(&b, &y, 1);
}

/* ---- QLinearAveragePool ---- */

tn_status q_linear_average_pool_lower(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_q_linear_average_pool_attrs *a = call->attrs;
  builder b = build_begin(call, graph, node);
  char auto_pad[16] = {0};
  const int64_t rank = a->kernel_shape.size + 2;
  if (rank > TN_MAX_RANK || a->auto_pad.size >= (int64_t)sizeof auto_pad)
    return call->host->fail(call->ctx, TN_ERR_INVALID,
                            "attribute 'kernel_shape' or 'auto_pad' is too long");
  if (a->auto_pad.size) memcpy(auto_pad, a->auto_pad.data, (size_t)a->auto_pad.size);
  tn_attr attrs[6] = {
      tn_attr_str("auto_pad", auto_pad), tn_attr_int("ceil_mode", a->ceil_mode),
      tn_attr_int("count_include_pad", a->count_include_pad),
      tn_attr_ints("kernel_shape", (tn_ints){a->kernel_shape.data, a->kernel_shape.size})};
  uint32_t n = 4;
  if (a->pads.size) attrs[n++] = tn_attr_ints("pads", (tn_ints){a->pads.data, a->pads.size});
  if (a->strides.size)
    attrs[n++] = tn_attr_ints("strides", (tn_ints){a->strides.data, a->strides.size});
  int32_t x = build_dequantised(&b, 0, 1, 2), y;
  if (a->channels_last) x = build_move_channels(&b, x, rank, false);
  build_node(&b, "AveragePool", &x, 1, attrs, n, &y, 1);
  if (a->channels_last) y = build_move_channels(&b, y, rank, true);
  y = build_quantised(&b, y, 3, 4, build_input(&b, 0));
  return build_end(&b, &y, 1);
}
