/* QLinearSigmoid, QLinearLeakyRelu, QLinearConcat. Their references make tables of what each byte
 * becomes. */
#include "builder.h"
#include "qlinear.h"

typedef double (*function)(const tn_call *call, double x);

static double sigmoid(const tn_call *call, double x) {
  (void)call;
  return 1 / (1 + exp(-x));
}

static double leaky_relu(const tn_call *call, double x) {
  const double alpha = ((const tn_q_linear_leaky_relu_attrs *)call->attrs)->alpha;
  return x < 0 ? (double)((float)x * (float)alpha) : x;
}

static double same(const tn_call *call, double x) {
  (void)call;
  return x;
}

static void make_table(const tn_call *call, quantised from, quantised to, function f,
                       uint8_t *table) {
  const uint32_t dtype = call->outputs[0]->dtype;
  for (int k = 0; k < 256; k++)
    table[k] = quantise(dtype, to, f(call, dequantise(from, byte_value(dtype, (uint8_t)k))));
}

static void map(const uint8_t *table, const uint8_t *x, uint8_t *y, int64_t n) {
  for (int64_t k = 0; k < n; k++) y[k] = table[x[k]];
}

/* ---- of one tensor: X, X_scale, X_zero_point, Y_scale, Y_zero_point ---- */

static tn_status map_reference(const tn_call *call, function f) {
  static const uint32_t scalars[] = {1, 2, 3, 4};
  uint8_t table[256];
  tn_status s = check_scalars(call, scalars, 4);
  if (s) return s;
  make_table(call, quantised_of(call, 1), quantised_of(call, 3), f, table);
  map(table, call->inputs[0]->data, call->outputs[0]->data, tn_elements(call->inputs[0]));
  return TN_OK;
}

tn_status q_linear_sigmoid_reference(const tn_call *call) { return map_reference(call, sigmoid); }
tn_status q_linear_leaky_relu_reference(const tn_call *call) {
  return map_reference(call, leaky_relu);
}

static tn_status map_lower(const tn_call *call, tn_graph *graph, int32_t node, const char *op,
                           const tn_attr *attrs, uint32_t n_attrs) {
  builder b = build_begin(call, graph, node);
  const int32_t x = build_dequantised(&b, 0, 1, 2);
  int32_t y;
  build_node(&b, op, &x, 1, attrs, n_attrs, &y, 1);
  y = build_quantised(&b, y, 3, 4, build_input(&b, 0));
  return build_end(&b, &y, 1);
}

tn_status q_linear_sigmoid_lower(const tn_call *call, tn_graph *graph, int32_t node) {
  return map_lower(call, graph, node, "Sigmoid", NULL, 0);
}
tn_status q_linear_leaky_relu_lower(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_attr alpha =
      tn_attr_float("alpha", ((const tn_q_linear_leaky_relu_attrs *)call->attrs)->alpha);
  return map_lower(call, graph, node, "LeakyRelu", &alpha, 1);
}

/* ---- QLinearConcat: Y_scale, Y_zero_point, then tensor, scale and zero point of each ---- */

enum { FIRST = 2, EACH = 3 };

static uint32_t n_parts(const tn_call *call) { return (call->n_inputs - FIRST) / EACH; }
static const tn_tensor *part(const tn_call *call, uint32_t k) {
  return call->inputs[FIRST + EACH * k];
}

static int32_t concat_axis(const tn_call *call) {
  const int64_t axis = ((const tn_q_linear_concat_attrs *)call->attrs)->axis;
  return (int32_t)(axis < 0 ? axis + part(call, 0)->rank : axis);
}

/* Elements from the axis on: a row of this part, which lies in one piece in input and output. */
static int64_t row_of(const tn_tensor *t, int32_t axis) {
  int64_t n = 1;
  for (int32_t k = axis; k < t->rank; k++) n *= t->shape[k];
  return n;
}

tn_status q_linear_concat_infer(const tn_call *call) {
  const tn_tensor *first = call->n_inputs > FIRST ? part(call, 0) : NULL;
  int32_t axis = 0;
  if (!first || (call->n_inputs - FIRST) % EACH)
    return call->host->fail(call->ctx, TN_ERR_INVALID,
                            "the inputs are not tensor, scale and zero point of each in turn");
  tn_status s = tn_axis_normalize(call, ((const tn_q_linear_concat_attrs *)call->attrs)->axis,
                                  first->rank, &axis);
  tn_infer_shape(call, 0, first->dtype, first->rank, first->shape);
  for (uint32_t k = 0; k < n_parts(call) && !s; k++) {
    const tn_tensor *t = part(call, k), *scale = call->inputs[FIRST + EACH * k + 1],
                    *zero = call->inputs[FIRST + EACH * k + 2];
    bool fits = t && scale && zero && t->rank == first->rank &&
                t->dtype == call->inputs[1]->dtype && zero->dtype == t->dtype &&
                scale->dtype == TN_F32 && tn_elements(scale) == 1 && tn_elements(zero) == 1;
    for (int32_t d = 0; fits && d < t->rank; d++)
      fits = d == axis || t->shape[d] == first->shape[d];
    if (!fits)
      return call->host->fail(call->ctx, TN_ERR_SHAPE,
                              "tensor %u, its scale or its zero point does not fit the others",
                              (unsigned)k);
    if (k > 0)
      s = tn_add_i64(call->outputs[0]->shape[axis], t->shape[axis], &call->outputs[0]->shape[axis]);
  }
  return s;
}

static quantised part_quantised(const tn_call *call, uint32_t k) {
  return quantised_of(call, FIRST + EACH * k + 1);
}

/* Rows [begin, end) of part k. */
static void concat_rows(const tn_call *call, uint32_t k, const uint8_t *table, int64_t begin,
                        int64_t end) {
  const int32_t axis = concat_axis(call);
  const int64_t row = row_of(part(call, k), axis), whole = row_of(call->outputs[0], axis);
  uint8_t *y = call->outputs[0]->data;
  for (uint32_t j = 0; j < k; j++) y += row_of(part(call, j), axis);
  for (int64_t r = begin; r < end; r++)
    map(table, (const uint8_t *)part(call, k)->data + r * row, y + r * whole, row);
}

static int64_t n_rows(const tn_call *call) {
  int64_t n = 1;
  for (int32_t k = 0; k < concat_axis(call); k++) n *= call->outputs[0]->shape[k];
  return n;
}

tn_status q_linear_concat_reference(const tn_call *call) {
  uint8_t table[256];
  for (uint32_t k = 0; k < n_parts(call); k++) {
    make_table(call, part_quantised(call, k), quantised_of(call, 0), same, table);
    concat_rows(call, k, table, 0, n_rows(call));
  }
  return TN_OK;
}

tn_status q_linear_concat_lower(const tn_call *call, tn_graph *graph, int32_t node) {
  builder b = build_begin(call, graph, node);
  int32_t *parts = call->host->alloc(call->ctx, n_parts(call) * sizeof *parts);
  if (!parts) return TN_ERR_MEMORY;
  for (uint32_t k = 0; k < n_parts(call); k++) {
    const uint32_t at = FIRST + EACH * k;
    parts[k] = build_dequantised(&b, at, at + 1, at + 2);
  }
  const int32_t x = build_concat(&b, parts, n_parts(call), concat_axis(call)),
                y = build_quantised(&b, x, 0, 1, -1);
  call->host->free(call->ctx, parts);
  return build_end(&b, &y, 1);
}
