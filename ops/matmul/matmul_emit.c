/* Matrix products as C: matmul_f32_c and gemm_f32_c. As in the kernels, fewer than 4 rows are
 * multiplied where the matrix lies, others in blocks. */
#include "product.h"
#include "tenon/experimental/emit_elementwise.h"

enum { FEW_ROWS = 4, BLOCK = 384 }; /* as in matmul_c.c and TN_GEMM_KC */

static const char *refuse_shapes(const tn_call *call) {
  product p;
  return product_of(call, GEMM, &p) ? "its shapes do not fit" : NULL;
}

/* Elements of A the other way round, ahead of the scratch of its product. */
static int64_t turned_of(const product *p) { return p->trans_a ? p->m * p->k : 0; }

static uint64_t scratch_of(const product *p) {
  const int64_t blocks = p->m < FEW_ROWS ? 0 : 4 * tn_min_i64(BLOCK, p->k);
  return sizeof(float) * (uint64_t)(turned_of(p) + blocks);
}

static uint64_t matmul_scratch(const tn_call *call) {
  product p;
  return product_of(call, MATMUL, &p) ? 0 : scratch_of(&p);
}

static uint64_t gemm_scratch(const tn_call *call) {
  product p;
  return product_of(call, GEMM, &p) ? 0 : scratch_of(&p);
}

/* The pointer, moved by n elements. */
static const char *moved(const char *pointer, int64_t n, char *text, size_t size) {
  if (!n) return pointer;
  snprintf(text, size, "%s + %lld", pointer, (long long)n);
  return text;
}

static void one_matrix(const tn_emit *e, const product *p, int64_t at) {
  char text[4][256];
  const int rows = (int)p->m, depth = (int)p->k, columns = (int)p->n;
  const char *a = moved(e->input(e, 0), product_matrix(p, p->a_stride, at) * p->m * p->k, text[0],
                        sizeof text[0]);
  const char *b = moved(e->input(e, 1), product_matrix(p, p->b_stride, at) * p->k * p->n, text[1],
                        sizeof text[1]);
  const char *y = moved(e->output(e, 0), at * p->m * p->n, text[2], sizeof text[2]);
  if (p->trans_a) {
    e->line(e, "matmul_turn(%s, %s, %d, %d);", a, e->scratch(e), rows, depth);
    a = e->scratch(e);
  }
  if (p->m >= FEW_ROWS)
    e->line(e, "matmul(%s, %s, %s, %d, %d, %d, %d, %s);", a, b, y, rows, depth, columns, p->trans_b,
            moved(e->scratch(e), turned_of(p), text[3], sizeof text[3]));
  else
    e->line(e, "%s(%s, %s, %s, %d, %d, %d);", p->trans_b ? "matmul_few_transposed" : "matmul_few",
            a, b, y, rows, depth, columns);
}

static void product_emit(const tn_emit *e, const product *p) {
  if (p->m < FEW_ROWS && p->trans_b) {
    e->code(e, "emit/dots.c");
  } else {
    e->code(e, "code/tile_1x4.c");
    if (p->m >= FEW_ROWS) e->code(e, "code/tile_rows.c");
    e->code(e, p->m < FEW_ROWS ? "emit/rows.c" : "emit/blocks.c");
  }
  if (p->trans_a) e->code(e, "emit/turn.c");
  for (int64_t k = 0; k < p->batch; k++) one_matrix(e, p, k);
}

static void matmul_emit(const tn_emit *e) {
  product p;
  if (!product_of(e->call, MATMUL, &p)) product_emit(e, &p);
}

static void gemm_emit(const tn_emit *e) {
  product p;
  if (product_of(e->call, GEMM, &p)) return;
  product_emit(e, &p);
  if (!p.c && p.alpha == 1) return;
  e->code(e, "emit/finish.c");
  char alpha[TN_EMIT_NUMBER], beta[TN_EMIT_NUMBER];
  e->line(e, "gemm_finish(%s, %d, %d, %s, %s, %s, %d, %d);", e->output(e, 0), (int)(p.batch * p.m),
          (int)p.n, tn_emit_float((float)p.alpha, alpha), tn_emit_float((float)p.beta, beta),
          p.c ? e->input(e, 2) : "NULL", (int)p.c_row, (int)p.c_col);
}

static const char *refuse_batch(const tn_call *call) {
  product p;
  if (product_of(call, MATMUL, &p)) return "its shapes do not fit";
  return p.batch > 64 ? "takes no more than 64 matrices" : NULL;
}

static const tn_emitter matmul_emitter = {.head = TN_HEAD(tn_emitter),
                                          .kernel = "matmul_f32_c",
                                          .refuse = refuse_batch,
                                          .scratch = matmul_scratch,
                                          .emit = matmul_emit};
static const tn_emitter gemm_emitter = {.head = TN_HEAD(tn_emitter),
                                        .kernel = "gemm_f32_c",
                                        .refuse = refuse_shapes,
                                        .scratch = gemm_scratch,
                                        .emit = gemm_emit};
const tn_emitter *const matmul_emitters[] = {&matmul_emitter, &gemm_emitter, NULL};
