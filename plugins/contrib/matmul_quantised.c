/* MatMulIntegerToFloat and DynamicQuantizeMatMul: MatMulInteger, then scales and bias. */
#include <math.h>

#include "builder.h"
#include "matmul.gen.h"
#include "product.h"

/* Inputs of the node, -1 where it has none of the kind. */
typedef struct places {
  int a_scale, b_scale, a_zero, b_zero, bias;
} places;

static const places to_float = {2, 3, 4, 5, 6}, dynamic = {-1, 2, -1, 3, 4};

static const tn_tensor *at(const tn_call *call, int place) {
  return place < 0 ? NULL : tn_input(call, (uint32_t)place);
}

static tn_status make(const tn_call *call, const places *w, product *out) {
  tn_status s =
      product_make(call, operand_of(call->inputs[0], NULL), operand_of(call->inputs[1], NULL), out);
  const int per_tensor[2] = {w->a_scale, w->a_zero},
            per_column[3] = {w->b_scale, w->b_zero, w->bias};
  bool fits = true;
  for (int k = 0; k < 2 && !s; k++)
    fits = fits && (!at(call, per_tensor[k]) || tn_elements(at(call, per_tensor[k])) == 1);
  for (int k = 0; k < 3 && !s; k++) {
    const tn_tensor *t = at(call, per_column[k]);
    const bool single = t && tn_elements(t) == 1 && k < 2,
               column = t && t->rank == 1 && t->shape[0] == out->n;
    fits = fits && (!t || single || column);
  }
  if (!s && !fits)
    return call->host->fail(call->ctx, TN_ERR_UNSUPPORTED,
                            "not supported: scales or zero points other than one for all of A, and "
                            "one for all or each column of B");
  return s;
}

static tn_status infer(const tn_call *call, const places *w, uint32_t dtype) {
  product p;
  tn_status s = make(call, w, &p);
  if (!s) product_infer(call, &p, dtype);
  return s;
}

tn_status mat_mul_integer_to_float_infer(const tn_call *call) {
  return infer(call, &to_float, call->inputs[2]->dtype);
}
tn_status dynamic_quantize_mat_mul_infer(const tn_call *call) {
  return infer(call, &dynamic, TN_F32);
}

static tn_status flops(const tn_call *call, const places *w, double *out_flops) {
  product p;
  tn_status s = make(call, w, &p);
  if (!s) *out_flops = product_flops(&p);
  return s;
}

tn_status mat_mul_integer_to_float_flops(const tn_call *call, double *out_flops) {
  return flops(call, &to_float, out_flops);
}
tn_status dynamic_quantize_mat_mul_flops(const tn_call *call, double *out_flops) {
  return flops(call, &dynamic, out_flops);
}

/* ---- as a graph ---- */

static int32_t place(builder *b, int which) {
  return which < 0 ? -1 : build_input(b, (uint32_t)which);
}

/* float(a b) * a_scale * b_scale + bias, in f32: f16 would hold neither the sums nor all products
 * of scales. */
static int32_t finish(builder *b, const places *w, const int32_t integers[4], int32_t a_scale,
                      bool narrow) {
  int32_t sums, b_scale = place(b, w->b_scale), bias = place(b, w->bias);
  build_node(b, "MatMulInteger", integers, 4, NULL, 0, &sums, 1);
  if (narrow) {
    a_scale = build_cast(b, a_scale, TN_F32);
    b_scale = build_cast(b, b_scale, TN_F32);
    if (bias >= 0) bias = build_cast(b, bias, TN_F32);
  }
  const int32_t y =
      build_binary(b, "Mul", build_cast(b, sums, TN_F32), build_binary(b, "Mul", a_scale, b_scale));
  return bias < 0 ? y : build_binary(b, "Add", y, bias);
}

tn_status mat_mul_integer_to_float_lower(const tn_call *call, tn_graph *graph, int32_t node) {
  const uint32_t dtype = call->inputs[2]->dtype;
  builder b = build_begin(call, graph, node);
  const int32_t integers[4] = {build_input(&b, 0), build_input(&b, 1), place(&b, to_float.a_zero),
                               place(&b, to_float.b_zero)};
  int32_t y = finish(&b, &to_float, integers, build_input(&b, 2), dtype != TN_F32);
  if (dtype != TN_F32) y = build_cast(&b, y, dtype);
  return build_end(&b, &y, 1);
}

tn_status dynamic_quantize_mat_mul_lower(const tn_call *call, tn_graph *graph, int32_t node) {
  builder b = build_begin(call, graph, node);
  const int32_t a = build_input(&b, 0);
  int32_t quantised[3];
  build_node(&b, "DynamicQuantizeLinear", &a, 1, NULL, 0, quantised, 3);
  const int32_t integers[4] = {quantised[0], build_input(&b, 1), quantised[2],
                               place(&b, dynamic.b_zero)};
  const int32_t y = finish(&b, &dynamic, integers, quantised[1], false);
  return build_end(&b, &y, 1);
}

/* ---- references ---- */

typedef double (*left)(const tn_call *call, int64_t k, double scale,
                       double zero); /* element k of A, its zero point taken away */

static double left_given(const tn_call *call, int64_t k, double scale, double zero) {
  (void)scale;
  return load(call->inputs[0], k) - zero;
}

static double left_quantised(const tn_call *call, int64_t k, double scale, double zero) {
  const double q =
      scale > 0 ? nearbyint((double)((float)load(call->inputs[0], k) / (float)scale)) + zero : zero;
  return fmin(fmax(q, 0), 255) - zero;
}

static tn_status reference(const tn_call *call, const places *w, left f, double scale,
                           double zero) {
  const tn_tensor *b = call->inputs[1];
  product p;
  tn_status s = make(call, w, &p);
  for (int64_t k = 0; !s && k < p.n_batch * p.m * p.n; k++) {
    const int64_t j = k % p.n, i = k / p.n % p.m, matrix = k / p.n / p.m;
    const int64_t row = product_offset(&p, &p.a, matrix) + i * p.a.step[p.a.rank - 2];
    const int64_t column = product_offset(&p, &p.b, matrix) + j * p.b.step[p.b.rank - 1];
    const double b_zero = load_or(at(call, w->b_zero), j, 0),
                 bias = load_or(at(call, w->bias), j, 0);
    double sum = 0;
    for (int64_t c = 0; c < p.k; c++)
      sum += f(call, row + c * p.a.step[p.a.rank - 1], scale, zero) *
             (load(b, column + c * p.b.step[p.b.rank - 2]) - b_zero);
    store(call->outputs[0], k, sum * scale * load_or(at(call, w->b_scale), j, 1) + bias);
  }
  return s;
}

tn_status mat_mul_integer_to_float_reference(const tn_call *call) {
  return reference(call, &to_float, left_given, load(call->inputs[2], 0),
                   load_or(tn_input(call, 4), 0, 0));
}

/* Scale and zero point in f32, as DynamicQuantizeLinear says. */
tn_status dynamic_quantize_mat_mul_reference(const tn_call *call) {
  float lo = 0, hi = 0;
  for (int64_t k = 0; k < tn_elements(call->inputs[0]); k++) {
    const float v = (float)load(call->inputs[0], k);
    lo = v < lo ? v : lo;
    hi = v > hi ? v : hi;
  }
  const float scale = (hi - lo) / 255.0f;
  const double zero = scale > 0 ? nearbyint((double)(-lo / scale)) : 0;
  return reference(call, &dynamic, left_quantised, (double)scale, fmin(fmax(zero, 0), 255));
}
