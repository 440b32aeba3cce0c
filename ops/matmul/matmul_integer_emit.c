/* MatMulInteger as C, of whatever factors and zero points: its sums are whole, in whatever order
 * they are made. */
#include "matmul_integer.h"
#include "tenon/experimental/emit_elementwise.h"

enum { A, B, A_ZERO, B_ZERO };

static const char *refuse(const tn_call *call) {
  enum { MOST_DEPTH = INT32_MAX / (255 * 255), MOST_MATRICES = 64 };
  product_quant q;
  if (matmul_integer_make(call, &q)) return "its shapes do not fit";
  if (q.p.k > MOST_DEPTH) return "its sums may not fit 32 bits";
  return q.p.batch > MOST_MATRICES ? "takes no more than 64 matrices" : NULL;
}

static void write_function(const tn_emit *e, const char *name) {
  const char *a = tn_emit_c_type(e->call->inputs[A]->dtype);
  const char *b = tn_emit_c_type(e->call->inputs[B]->dtype);
  e->function(e, name,
              "/* Zero points of rows of a and columns of b, a step apart, may be NULL: 0. */\n"
              "static void %s(const %s *a, const %s *b, int32_t rows, int32_t depth,\n"
              "               int32_t columns, const %s *a_zero, int32_t a_step,\n"
              "               const %s *b_zero, int32_t b_step, int32_t *y) {\n"
              "  for (int32_t i = 0; i < rows; i++) {\n"
              "    const int32_t a_less = a_zero != NULL ? a_zero[i * a_step] : 0;\n"
              "    for (int32_t j = 0; j < columns; j++) {\n"
              "      const int32_t b_less = b_zero != NULL ? b_zero[j * b_step] : 0;\n"
              "      int32_t sum = 0;\n"
              "      for (int32_t k = 0; k < depth; k++) {\n"
              "        sum += (a[k] - a_less) * (b[k * columns + j] - b_less);\n"
              "      }\n"
              "      *y = sum;\n"
              "      y++;\n"
              "    }\n"
              "    a += depth;\n"
              "  }\n"
              "}\n",
              name, a, b, a, b);
}

static int step_of(const tn_tensor *zero) { return zero && tn_elements(zero) > 1; }

static void emit(const tn_emit *e) {
  product_quant q;
  char name[40];
  if (matmul_integer_make(e->call, &q)) return;
  const product *p = &q.p;
  snprintf(name, sizeof name, "integer_product_%s_%s", tn_dtype(p->a->dtype)->name,
           tn_dtype(p->b->dtype)->name);
  write_function(e, name);
  for (int64_t k = 0; k < p->batch; k++)
    e->line(e, "%s(%s + %lld, %s + %lld, %d, %d, %d, %s, %d, %s, %d, %s + %lld);", name,
            e->input(e, A), (long long)(product_matrix(p, p->a_stride, k) * p->m * p->k),
            e->input(e, B), (long long)(product_matrix(p, p->b_stride, k) * p->k * p->n), (int)p->m,
            (int)p->k, (int)p->n, e->input(e, A_ZERO), step_of(q.a_zero), e->input(e, B_ZERO),
            step_of(q.b_zero), e->output(e, 0), (long long)(k * p->m * p->n));
}

static const tn_emitter emitter = {
    .head = TN_HEAD(tn_emitter), .kernel = "matmul_integer_c", .refuse = refuse, .emit = emit};
const tn_emitter *const matmul_integer_emitters[] = {&emitter, NULL};
