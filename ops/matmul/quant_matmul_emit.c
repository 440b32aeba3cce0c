/* QuantMatMul with constant weights as C: a convolution of one pixel per row
 * (tenon/experimental/emit_quant.h), or, where the sums become f32, loops of its own. */
#include "quant_matmul.h"
#include "tenon/experimental/emit_quant.h"
#include "tenon/kit/infer.h"

typedef struct product {
  quant_matmul m;
  int64_t least, most;
} product;

static const product *product_of(const tn_emit_quant *q) { return q->op; }

static double sum_scale(const quant_matmul *m, int64_t column) {
  return quant_scale(m->a_scale, 0) * quant_scale(m->b_scale, column);
}

/* As quant_matmul_c. */
static int64_t wanted(const tn_emit_quant *q, int64_t column, int64_t sum) {
  const product *p = product_of(q);
  double v = (double)sum * quant_scale(p->m.a_scale, 0) * quant_scale(p->m.b_scale, column);
  if (p->m.bias) v += quant_scale(p->m.bias, column);
  v = nearbyint(v / quant_scale(p->m.y_scale, 0)) + (double)quant_zero(p->m.y_zero, 0);
  return !(v > (double)p->least) ? p->least : v > (double)p->most ? p->most : (int64_t)v;
}

static double scale(const tn_emit_quant *q, int64_t column) {
  return sum_scale(&product_of(q)->m, column) / quant_scale(product_of(q)->m.y_scale, 0);
}

static double bias(const tn_emit_quant *q, int64_t column) {
  const quant_matmul *m = &product_of(q)->m;
  return m->bias ? quant_scale(m->bias, column) / sum_scale(m, column) : 0;
}

static int64_t weight(const tn_emit_quant *q, int64_t column, int64_t k) {
  const quant_matmul *m = &product_of(q)->m;
  const int64_t at = m->trans_b ? column * m->k + k : k * m->n + column;
  return tn_load_i64(m->b->dtype, m->b->data, at) - (m->b->dtype == TN_U8 ? 128 : 0);
}

static tn_emit_quant numbers_of(const product *p) {
  const quant_matmul *m = &p->m;
  const tn_emit_quant q = {.op = p,
                           .wanted = wanted,
                           .scale = scale,
                           .bias = bias,
                           .weight = weight,
                           .images = m->m,
                           .groups = 1,
                           .channels = m->k,
                           .filters = m->n,
                           .x_zero = quant_zero(m->a_zero, 0),
                           .w_zero = quant_matmul_b_zero(m->b, m->b_zero, 0),
                           .y_zero = quant_zero(m->y_zero, 0),
                           .lo = p->least,
                           .hi = p->most,
                           .x_signed = m->a->dtype == TN_I8,
                           .w = {.n = 2,
                                 .in = {1, 1},
                                 .out = {1, 1},
                                 .kernel = {1, 1},
                                 .stride = {1, 1},
                                 .dilation = {1, 1}}};
  return q;
}

static bool is_constant(const tn_tensor *t) { return !t || t->data; }

/* Where sums become f32, the scale and the zero point of A may be data of the run. */
static const char *refuse(const tn_call *call) {
  product p;
  if (quant_matmul_make(call, &p.m)) return "its shapes do not fit";
  for (uint32_t k = p.m.y_scale ? QUANT_MATMUL_A_SCALE : QUANT_MATMUL_B; k < QUANT_MATMUL_INPUTS;
       k++)
    if (!is_constant(tn_input(call, k))) return "takes constant weights, scales, zero points, bias";
  if (p.m.b_zero && tn_elements(p.m.b_zero) != 1) return "takes one zero point for all weights";
  if (!p.m.m || !p.m.n || !p.m.k) return "takes no empty tensors";
  if (!p.m.y_scale) return p.m.k > QUANT_MATMUL_MAX_K_ZEROS ? "its sums may not fit 32 bits" : NULL;
  quant_matmul_bounds(call, &p.least, &p.most);
  const tn_emit_quant q = numbers_of(&p);
  return tn_emit_quant_refuse(&q);
}

static uint64_t scratch(const tn_call *call) {
  product p = {.least = 0};
  if (quant_matmul_make(call, &p.m) || !p.m.y_scale) return 0;
  const tn_emit_quant q = numbers_of(&p);
  return tn_emit_quant_scratch(&q);
}

/* ---- sums that become f32 ---- */

/* C of the zero point and the scale of A. */
static void a_numbers(const tn_emit *e, const quant_matmul *m, char *zero, char *scale,
                      size_t size) {
  char text[TN_EMIT_NUMBER];
  if (m->a_zero && !m->a_zero->data)
    snprintf(zero, size, "*(%s)", e->input(e, QUANT_MATMUL_A_ZERO));
  else
    snprintf(zero, size, "%d", (int)quant_zero(m->a_zero, 0));
  if (!m->a_scale->data)
    snprintf(scale, size, "*(%s)", e->input(e, QUANT_MATMUL_A_SCALE));
  else
    snprintf(scale, size, "%s", tn_emit_float((float)quant_scale(m->a_scale, 0), text));
}

static void write_float(const tn_emit *e, const quant_matmul *m) {
  const bool x_signed = m->a->dtype == TN_I8, w_signed = m->b->dtype == TN_I8;
  const char *name = x_signed   ? w_signed ? "quant_product_i8_i8" : "quant_product_i8_u8"
                     : w_signed ? "quant_product_u8_i8"
                                : "quant_product_u8_u8";
  char zero[100], scale[100];
  a_numbers(e, m, zero, scale, sizeof zero);
  e->code(e, "emit/quant_product.c");
  e->function(
      e, name,
      "/* y = the products of x and w less their zero points, as f32, plus a bias that may be "
      "NULL. */\n"
      "static void %s(const struct quant_product *p, const %s *x, const %s *w,\n"
      "               int32_t x_zero, float x_scale, const float *scales, const float *bias,\n"
      "               float *y) {\n"
      "  for (int32_t i = 0; i < p->rows; i++) {\n"
      "    for (int32_t j = 0; j < p->columns; j++) {\n"
      "      int32_t sum = 0;\n"
      "      for (int32_t k = 0; k < p->depth; k++) {\n"
      "        sum += (x[k] - x_zero) * (w[k * p->w_row + j * p->w_column] - p->w_zero);\n"
      "      }\n"
      "      y[j] = quant_product_value(sum, x_scale, scales[j * p->scales_step],\n"
      "                                 bias != NULL ? bias[j] : -0.0f);\n"
      "    }\n"
      "    x += p->depth;\n"
      "    y += p->columns;\n"
      "  }\n"
      "}\n",
      name, x_signed ? "int8_t" : "uint8_t", w_signed ? "int8_t" : "uint8_t");
  e->table(e,
           "static const struct quant_product quant_product_%u = {\n"
           "    .rows = %d, .columns = %d, .depth = %d, .w_row = %d, .w_column = %d,\n"
           "    .scales_step = %d, .w_zero = %d};\n",
           e->step, (int)m->m, (int)m->n, (int)m->k, m->trans_b ? 1 : (int)m->n,
           m->trans_b ? (int)m->k : 1, tn_elements(m->b_scale) != 1, (int)quant_zero(m->b_zero, 0));
  e->line(e, "%s(&quant_product_%u, %s, %s, %s, %s, %s, %s, %s);", name, e->step,
          e->input(e, QUANT_MATMUL_A), e->input(e, QUANT_MATMUL_B), zero, scale,
          e->input(e, QUANT_MATMUL_B_SCALE), e->input(e, QUANT_MATMUL_BIAS), e->output(e, 0));
}

static void emit(const tn_emit *e) {
  product p;
  if (quant_matmul_make(e->call, &p.m)) return;
  if (!p.m.y_scale) {
    write_float(e, &p.m);
    return;
  }
  quant_matmul_bounds(e->call, &p.least, &p.most);
  const tn_emit_quant q = numbers_of(&p);
  tn_emit_quant_dense(e, &q, e->input(e, QUANT_MATMUL_A));
}

static const tn_emitter emitter = {.head = TN_HEAD(tn_emitter),
                                   .kernel = "quant_matmul_c",
                                   .refuse = refuse,
                                   .scratch = scratch,
                                   .scratch_type = TN_I16,
                                   .emit = emit};
const tn_emitter *const quant_matmul_emitters[] = {&emitter, NULL};
