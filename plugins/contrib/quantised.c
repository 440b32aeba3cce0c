/* Quantised operators as graphs: QGemm, QLinearWhere, QLinearConv and NhwcMaxPool with channels
 * last, QEmbedLayerNormalization, DynamicQuantizeLSTM. */
#include "quantised.gen.h"

#include "builder.h"

/* ---- QGemm ---- */

static int32_t maybe_transposed(builder *b, int32_t x, bool transpose) {
  return transpose ? build_transpose(b, x, (int64_t[]){1, 0}, 2) : x;
}

tn_status q_gemm_lower(const tn_call *call, tn_graph *graph, int32_t node) {
  enum { A, A_SCALE, A_ZERO, B, B_SCALE, B_ZERO, C, Y_SCALE, Y_ZERO };
  const tn_q_gemm_attrs *a = call->attrs;
  builder b = build_begin(call, graph, node);
  const int32_t operands[4] = {maybe_transposed(&b, build_input(&b, A), a->transA != 0),
                               maybe_transposed(&b, build_input(&b, B), a->transB != 0),
                               build_scalar_of(&b, build_input(&b, A_ZERO)),
                               build_input(&b, B_ZERO)};
  int32_t sums, y;
  build_node(&b, "MatMulInteger", operands, 4, NULL, 0, &sums, 1);
  if (build_input(&b, C) >= 0) sums = build_binary(&b, "Add", sums, build_input(&b, C));
  int32_t scale = build_binary(&b, "Mul", build_scalar_of(&b, build_input(&b, A_SCALE)),
                               build_input(&b, B_SCALE));
  if (a->alpha != 1) scale = build_binary(&b, "Mul", scale, build_scalar(&b, TN_F32, a->alpha));
  y = build_binary(&b, "Mul", build_cast(&b, sums, TN_F32), scale);
  if ((build_input(&b, Y_SCALE) < 0) != (build_input(&b, Y_ZERO) < 0))
    return fail(call, TN_ERR_INVALID, "y_scale and y_zero_point come together");
  if (build_input(&b, Y_SCALE) >= 0) y = build_quantised(&b, y, Y_SCALE, Y_ZERO, -1);
  return build_end(&b, &y, 1);
}

/* ---- QLinearWhere ---- */

tn_status q_linear_where_lower(const tn_call *call, tn_graph *graph, int32_t node) {
  builder b = build_begin(call, graph, node);
  const int32_t choice[3] = {build_input(&b, 0), build_dequantised(&b, 1, 2, 3),
                             build_dequantised(&b, 4, 5, 6)};
  int32_t z;
  build_node(&b, "Where", choice, 3, NULL, 0, &z, 1);
  z = build_quantised(&b, z, 7, 8, -1);
  return build_end(&b, &z, 1);
}

/* ---- channels last ---- */

tn_status q_linear_conv_lower(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_q_linear_conv_attrs *a = call->attrs;
  builder b = build_begin(call, graph, node);
  int32_t inputs[9], y;
  int64_t spatial = tn_max_i64(tn_max_i64(a->kernel_shape.size, a->strides.size),
                               tn_max_i64(a->dilations.size, a->pads.size / 2));
  for (uint32_t k = 0; k < 9; k++) inputs[k] = build_input(&b, k);
  if (a->channels_last && (spatial < 1 || spatial > TN_MAX_RANK - 2))
    return fail(call, TN_ERR_UNSUPPORTED,
                "not supported: channels_last without kernel_shape, or with too many dims");
  if (a->channels_last) inputs[0] = build_move_channels(&b, inputs[0], spatial + 2, false);
  build_like(&b, "", "QLinearConv", "channels_last", inputs, 9, &y, 1);
  if (a->channels_last) y = build_move_channels(&b, y, spatial + 2, true);
  return build_end(&b, &y, 1);
}

tn_status nhwc_max_pool_lower(const tn_call *call, tn_graph *graph, int32_t node) {
  const int64_t rank = ((const tn_nhwc_max_pool_attrs *)call->attrs)->kernel_shape.size + 2;
  builder b = build_begin(call, graph, node);
  if (rank < 3 || rank > TN_MAX_RANK)
    return fail(call, TN_ERR_INVALID, "attribute 'kernel_shape' is empty or too long");
  const int32_t x = build_move_channels(&b, build_input(&b, 0), rank, false);
  int32_t y;
  build_like(&b, "", "MaxPool", NULL, &x, 1, &y, 1);
  y = build_move_channels(&b, y, rank, true);
  return build_end(&b, &y, 1);
}

/* ---- QEmbedLayerNormalization ---- */

tn_status q_embed_layer_normalization_lower(const tn_call *call, tn_graph *graph, int32_t node) {
  enum {
    IDS,
    SEGMENT_IDS,
    FIRST_TABLE,
    SEGMENTS = 4,
    N_TABLES = 5,
    MASK = 7,
    FIRST_SCALE = 8,
    FIRST_ZERO = 13
  };
  builder b = build_begin(call, graph, node);
  int32_t inputs[8], made[2];
  for (uint32_t k = 0; k < 8; k++) inputs[k] = build_input(&b, k);
  for (uint32_t k = 0; k < N_TABLES; k++)
    if (inputs[FIRST_TABLE + k] >= 0)
      inputs[FIRST_TABLE + k] =
          build_dequantised(&b, FIRST_TABLE + k, FIRST_SCALE + k, FIRST_ZERO + k);
  build_like(&b, "com.microsoft", "EmbedLayerNormalization", NULL, inputs, 8, made, 2);
  return build_end(&b, made, 2);
}

/* ---- DynamicQuantizeLSTM ---- */

enum { X, W, R, P = 7, W_SCALE, W_ZERO, R_SCALE, R_ZERO };

/* One number per direction, or one per direction and column. */
static bool fits_columns(const tn_tensor *t, int64_t directions, int64_t columns) {
  return (t->rank == 1 && t->shape[0] == directions) ||
         (t->rank == 2 && t->shape[0] == directions &&
          (t->shape[1] == columns || t->shape[1] == 1));
}

tn_status dynamic_quantize_lstm_infer(const tn_call *call) {
  const tn_tensor *x = call->inputs[X], *w = call->inputs[W], *r = call->inputs[R];
  bool fits = x->rank == 3 && w->rank == 3 && r->rank == 3;
  const int64_t directions = fits ? r->shape[0] : 0, hidden = fits ? r->shape[1] : 0;
  fits = fits && directions >= 1 && directions <= 2 && hidden > 0 &&
         hidden <= TN_MAX_ELEMENTS / 8 && r->shape[2] == 4 * hidden && w->shape[0] == directions &&
         w->shape[1] == x->shape[2] && w->shape[2] == 4 * hidden;
  for (uint32_t k = W_SCALE; k <= R_ZERO && fits; k++)
    fits = fits_columns(call->inputs[k], directions, 4 * hidden);
  if (!fits)
    return fail(call, TN_ERR_SHAPE,
                "X, W [directions, inputs, 4 hidden], R [directions, hidden, 4 hidden] and their "
                "scales and zero points do not fit together");
  const int64_t dims[4] = {x->shape[0], directions, x->shape[1], hidden};
  tn_infer_shape(call, 0, TN_F32, 4, dims);
  tn_infer_shape(call, 1, TN_F32, 3, dims + 1);
  tn_infer_shape(call, 2, TN_F32, 3, dims + 1);
  return TN_OK;
}

/* (weight - zero) * scale, the columns first as LSTM wants them. */
static int32_t weights(builder *b, uint32_t weight, uint32_t scale, uint32_t zero) {
  int32_t part[2];
  for (uint32_t k = 0; k < 2; k++) {
    const tn_tensor *t = b->call->inputs[k ? zero : scale];
    const int64_t dims[3] = {t->shape[0], 1, t->rank == 2 ? t->shape[1] : 1};
    part[k] = build_reshape(b, build_input(b, k ? zero : scale), dims, 3);
  }
  const int32_t shifted = build_binary(b, "Sub", build_cast(b, build_input(b, weight), TN_F32),
                                       build_cast(b, part[1], TN_F32));
  return build_transpose(b, build_binary(b, "Mul", shifted, part[0]), (int64_t[]){0, 2, 1}, 3);
}

tn_status dynamic_quantize_lstm_lower(const tn_call *call, tn_graph *graph, int32_t node) {
  builder b = build_begin(call, graph, node);
  int32_t inputs[P + 1], made[3];
  for (uint32_t k = 0; k <= P; k++) inputs[k] = build_input(&b, k);
  inputs[W] = weights(&b, W, W_SCALE, W_ZERO);
  inputs[R] = weights(&b, R, R_SCALE, R_ZERO);
  build_like(&b, "", "LSTM", NULL, inputs, P + 1, made, 3);
  return build_end(&b, made, 3);
}
