/* Matrix products of f64 and of integers, which wrap, compiled once per instruction set: a file
 * that defines FMA_f64(a, b, c), a product and a sum of vectors, and includes this one gets them.
 *
 * An item is a block of columns of some rows. The block of B is packed, DEPTH rows of it at a
 * time, with zeros behind the last column, unless few rows of A meet it; a few of these at a time
 * do, and their sums stay in registers. One column is a dot product per row; one row streams B;
 * small products are plain loops. */
#ifndef TN_OPS_MATMUL_ANY_SIMD_H
#define TN_OPS_MATMUL_ANY_SIMD_H

#include <string.h>

#include "product.h"
#include "tenon/kit/isa.h"
#include "tenon/kit/vmath.h"

#if defined(__clang__)
#define ANY_UNROLL _Pragma("unroll")
#else
#define ANY_UNROLL _Pragma("GCC unroll 8")
#endif

enum {
  VECTOR = TN_REGISTER_BYTES,
  TILE_ROWS = TN_REGISTER_BYTES == 64 ? 6 : 4,
  TILE_VECTORS = TN_REGISTER_BYTES == 64 ? 4 : 2,
  DEPTH = 128,
  ROWS = 96,
  SMALL = 512,
  STREAM = 1024,
  PANEL_BYTES = DEPTH * TILE_VECTORS * VECTOR
};

typedef struct any_cut { /* how one call is cut into work */
  product p;
  bool small;      /* an item is a matrix, by plain loops */
  bool streams;    /* there is one row */
  int64_t columns; /* of a block */
  int64_t col_blocks, row_blocks;
} any_cut;

static tn_status any_cut_make(const tn_call *call, product_kind kind, any_cut *out) {
  any_cut c = {0};
  tn_status s = product_of(call, kind, &c.p);
  if (s) return s;
  c.small = (double)c.p.m * (double)c.p.n * (double)c.p.k <= SMALL && c.p.m * c.p.n > 1;
  c.streams = c.p.m == 1 && c.p.n > 1 && !c.p.trans_a && !c.p.trans_b;
  c.columns = TILE_VECTORS * VECTOR * 8 / tn_dtype(call->outputs[0]->dtype)->bits;
  if (c.streams) c.columns = STREAM;
  c.col_blocks = c.small ? 1 : tn_ceil_div(c.p.n, c.columns);
  c.row_blocks = c.small ? 1 : tn_ceil_div(c.p.m, ROWS);
  *out = c;
  return TN_OK;
}

static tn_status any_plan(const tn_call *call, product_kind kind, tn_kernel_plan *out) {
  any_cut c;
  tn_status s = any_cut_make(call, kind, &c);
  if (s) return s;
  const double rows = (double)tn_min_i64(c.p.m, ROWS),
               columns = (double)tn_min_i64(c.p.n, c.columns);
  out->items[0] = c.p.m && c.p.n ? c.p.batch * c.col_blocks * c.row_blocks : 0;
  out->grain[0] = tn_grain(20000, rows * columns * (double)c.p.k);
  out->worker_scratch_bytes = c.small ? 0 : PANEL_BYTES;
  return TN_OK;
}

/* What an item is of: element (i, k) of A is a[i * a_row + k * a_step]. */
typedef struct any_item {
  const any_cut *c;
  const void *a, *b;
  void *y, *panel;
  int64_t a_row, a_step, b_step, b_col;
  int64_t i, m, j, n; /* rows and columns of Y */
} any_item;

#define FMA_32(a, b, c) ((a) * (b) + (c))
#define FMA_64(a, b, c) ((a) * (b) + (c))

/* T: the type to multiply and add in; unsigned for integers, so that they wrap. */
#define ANY_TYPE(name, T)                                                                          \
  typedef T vec_##name __attribute__((vector_size(VECTOR)));                                       \
  enum { LANES_##name = VECTOR / (int)sizeof(T) };                                                 \
  static inline vec_##name load_##name(const T *p) {                                               \
    vec_##name v;                                                                                  \
    memcpy(&v, p, sizeof v);                                                                       \
    return v;                                                                                      \
  }                                                                                                \
  /* Adds `depth` products to each element of a tile of Y, which is 0 before the first. */         \
  static inline __attribute__((always_inline)) void tile_any_##name(                               \
      const any_item *t, const T *a, const T *b_rows, int64_t b_next, T *y, int64_t depth,         \
      bool first, int rows, int vectors) {                                                         \
    vec_##name sum[TILE_ROWS][TILE_VECTORS];                                                       \
    T line[TILE_VECTORS * LANES_##name] = {0};                                                     \
    const int64_t ldy = t->c->p.n;                                                                 \
    const bool whole = t->n == vectors * LANES_##name;                                             \
    ANY_UNROLL for (int r = 0; r < rows; r++) {                                                    \
      if (!first && !whole) memcpy(line, y + r * ldy, (size_t)t->n * sizeof *line);                \
      const T *from = first || !whole ? line : y + r * ldy;                                        \
      ANY_UNROLL for (int v = 0; v < vectors; v++) sum[r][v] =                                     \
          load_##name(from + v * LANES_##name);                                                    \
    }                                                                                              \
    for (int64_t k = 0; k < depth; k++, a += t->a_step, b_rows += b_next) {                        \
      vec_##name b[TILE_VECTORS];                                                                  \
      ANY_UNROLL for (int v = 0; v < vectors; v++) b[v] = load_##name(b_rows + v * LANES_##name);  \
      ANY_UNROLL for (int r = 0; r < rows; r++) {                                                  \
        const vec_##name x = a[r * t->a_row] - (vec_##name){0};                                    \
        ANY_UNROLL for (int v = 0; v < vectors; v++) sum[r][v] = FMA_##name(x, b[v], sum[r][v]);   \
      }                                                                                            \
    }                                                                                              \
    ANY_UNROLL for (int r = 0; r < rows; r++) {                                                    \
      T *to = whole ? y + r * ldy : line;                                                          \
      ANY_UNROLL for (int v = 0; v < vectors; v++)                                                 \
          memcpy(to + v * LANES_##name, &sum[r][v], VECTOR);                                       \
      if (!whole) memcpy(y + r * ldy, line, (size_t)t->n * sizeof *line);                          \
    }                                                                                              \
  }                                                                                                \
  static inline __attribute__((always_inline)) void rows_any_##name(                               \
      const any_item *t, const T *a, const T *b, int64_t b_next, T *y, int64_t depth, bool first,  \
      int vectors) {                                                                               \
    const int64_t ldy = t->c->p.n;                                                                 \
    int64_t i = 0;                                                                                 \
    for (; i + TILE_ROWS <= t->m; i += TILE_ROWS, a += TILE_ROWS * t->a_row, y += TILE_ROWS * ldy) \
      tile_any_##name(t, a, b, b_next, y, depth, first, TILE_ROWS, vectors);                       \
    for (; i + 2 <= t->m; i += 2, a += 2 * t->a_row, y += 2 * ldy)                                 \
      tile_any_##name(t, a, b, b_next, y, depth, first, 2, vectors);                               \
    if (i < t->m) tile_any_##name(t, a, b, b_next, y, depth, first, 1, vectors);                   \
  }                                                                                                \
  static void pack_##name(const any_item *t, const T *b, int64_t depth) {                          \
    const int64_t width = TILE_VECTORS * LANES_##name;                                             \
    T *to = t->panel;                                                                              \
    for (int64_t c = 0; t->b_col != 1 && c < t->n; c++)                                            \
      for (int64_t k = 0; k < depth; k++) to[k * width + c] = b[c * t->b_col + k * t->b_step];     \
    for (int64_t k = 0; t->b_col == 1 && k < depth; k++)                                           \
      memcpy(to + k * width, b + k * t->b_step, (size_t)t->n * sizeof *to);                        \
    for (int64_t k = 0; t->n < width && k < depth; k++)                                            \
      memset(to + k * width + t->n, 0, (size_t)(width - t->n) * sizeof *to);                       \
  }                                                                                                \
  static T dot_##name(const T *a, const T *b, int64_t n) {                                         \
    vec_##name sum[4] = {{0}, {0}, {0}, {0}};                                                      \
    T all = 0;                                                                                     \
    int64_t k = 0;                                                                                 \
    for (; k + 4 * LANES_##name <= n; k += 4 * LANES_##name)                                       \
      ANY_UNROLL for (int v = 0; v < 4; v++) sum[v] = FMA_##name(                                  \
          load_##name(a + k + v * LANES_##name), load_##name(b + k + v * LANES_##name), sum[v]);   \
    for (; k + LANES_##name <= n; k += LANES_##name)                                               \
      sum[0] = FMA_##name(load_##name(a + k), load_##name(b + k), sum[0]);                         \
    sum[0] += sum[1] + (sum[2] + sum[3]);                                                          \
    for (; k < n; k++) all += a[k] * b[k];                                                         \
    for (int l = 0; l < LANES_##name; l++) all += sum[0][l];                                       \
    return all;                                                                                    \
  }                                                                                                \
  static void plain_##name(const any_item *t) {                                                    \
    const product *p = &t->c->p;                                                                   \
    for (int64_t i = 0; i < p->m; i++)                                                             \
      for (int64_t j = 0; j < p->n; j++) {                                                         \
        const T *a = (const T *)t->a + i * t->a_row, *b = (const T *)t->b + j * t->b_col;          \
        T sum = 0;                                                                                 \
        for (int64_t k = 0; k < p->k; k++) sum += a[k * t->a_step] * b[k * t->b_step];             \
        ((T *)t->y)[i * p->n + j] = sum;                                                           \
      }                                                                                            \
  }                                                                                                \
  /* One row of Y, as B is read in the order in which it stands. */                                \
  static void stream_##name(const any_item *t, const T *a, const T *b, T *y) {                     \
    const int64_t n = t->n, next = t->b_step, k4 = t->c->p.k / 4 * 4;                              \
    for (int64_t j = 0; j < n; j++) y[j] = 0;                                                      \
    for (int64_t k = 0; k < k4; k += 4, b += 4 * next) {                                           \
      const T x0 = a[k], x1 = a[k + 1], x2 = a[k + 2], x3 = a[k + 3];                              \
      TN_IVDEP for (int64_t j = 0; j < n; j++) y[j] +=                                             \
          (x0 * b[j] + x1 * b[next + j]) + (x2 * b[2 * next + j] + x3 * b[3 * next + j]);          \
    }                                                                                              \
    for (int64_t k = k4; k < t->c->p.k; k++, b += next)                                            \
      TN_IVDEP for (int64_t j = 0; j < n; j++) y[j] += a[k] * b[j];                                \
  }                                                                                                \
  static void item_##name(const any_item *t) {                                                     \
    const product *p = &t->c->p;                                                                   \
    const int64_t width = TILE_VECTORS * LANES_##name;                                             \
    const T *a = (const T *)t->a + t->i * t->a_row, *b = (const T *)t->b + t->j * t->b_col;        \
    T *y = (T *)t->y + t->i * p->n + t->j;                                                         \
    if (t->a_step == 1 && t->b_step == 1 && (p->n == 1 || p->m < 3)) {                             \
      for (int64_t r = 0; r < t->m; r++)                                                           \
        for (int64_t c = 0; c < t->n; c++)                                                         \
          y[r * p->n + c] = dot_##name(a + r * t->a_row, b + c * t->b_col, p->k);                  \
      return;                                                                                      \
    }                                                                                              \
    if (t->c->streams) {                                                                           \
      stream_##name(t, a, b, y);                                                                   \
      return;                                                                                      \
    }                                                                                              \
    const bool packs = t->b_col != 1 || t->n < width || t->m > TILE_ROWS;                          \
    for (int64_t k = 0; k == 0 || k < p->k;                                                        \
         k += DEPTH, a += DEPTH * t->a_step, b += DEPTH * t->b_step) {                             \
      const int64_t depth = tn_min_i64(DEPTH, p->k - k), next = packs ? width : t->b_step;         \
      const T *rows = packs ? (const T *)t->panel : b;                                             \
      if (packs) pack_##name(t, b, depth);                                                         \
      if (t->n > LANES_##name)                                                                     \
        rows_any_##name(t, a, rows, next, y, depth, k == 0, TILE_VECTORS);                         \
      else                                                                                         \
        rows_any_##name(t, a, rows, next, y, depth, k == 0, 1);                                    \
    }                                                                                              \
  }
ANY_TYPE(f64, double)
ANY_TYPE(32, uint32_t)
ANY_TYPE(64, uint64_t)

/* y = alpha * y + beta * c; T: the type as a number. */
#define ANY_SCALE(T)                                                                         \
  for (int64_t i = t->i; i < t->i + t->m; i++)                                               \
    for (int64_t j = t->j; j < t->j + t->n; j++) {                                           \
      const double c =                                                                       \
          p->c ? p->beta * (double)((const T *)p->c->data)[i * p->c_row + j * p->c_col] : 0; \
      T *y = (T *)t->y + i * p->n + j;                                                       \
      *y = (T)(p->alpha * (double)*y + c);                                                   \
    }                                                                                        \
  break;

static void any_scale(const any_item *t, uint32_t dtype) {
  const product *p = &t->c->p;
  if (p->alpha == 1 && !p->c) return;
  switch (dtype) {
    case TN_F64: ANY_SCALE(double)
    case TN_I32: ANY_SCALE(int32_t)
    case TN_U32: ANY_SCALE(uint32_t)
    case TN_I64: ANY_SCALE(int64_t)
    default: ANY_SCALE(uint64_t)
  }
}

static void any_item_run(const any_item *t, uint32_t dtype) {
  switch (dtype) {
    case TN_F64: t->c->small ? plain_f64(t) : item_f64(t); break;
    case TN_I32:
    case TN_U32: t->c->small ? plain_32(t) : item_32(t); break;
    default: t->c->small ? plain_64(t) : item_64(t); break;
  }
  any_scale(t, dtype);
}

static tn_status any_run(const tn_call *call, product_kind kind, int64_t begin, int64_t end,
                         uint32_t worker) {
  any_cut c;
  tn_status s = any_cut_make(call, kind, &c);
  if (s) return s;
  const product *p = &c.p;
  const uint32_t dtype = call->outputs[0]->dtype;
  const int64_t bytes = tn_dtype(dtype)->bits / 8;
  any_item t = {.c = &c,
                .a_row = p->trans_a ? 1 : p->k,
                .a_step = p->trans_a ? p->m : 1,
                .b_step = p->trans_b || p->n == 1 ? 1 : p->n,
                .b_col = p->trans_b ? p->k : 1};
  if (!c.small) t.panel = (char *)call->worker_scratch + worker * call->worker_scratch_bytes;
  for (int64_t item = begin; item < end; item++) {
    const int64_t block = item % c.col_blocks, rows = item / c.col_blocks % c.row_blocks,
                  matrix = item / c.col_blocks / c.row_blocks;
    t.a = (const char *)p->a->data + product_matrix(p, p->a_stride, matrix) * p->m * p->k * bytes;
    t.b = (const char *)p->b->data + product_matrix(p, p->b_stride, matrix) * p->k * p->n * bytes;
    t.y = (char *)call->outputs[0]->data + matrix * p->m * p->n * bytes;
    t.i = rows * ROWS;
    t.m = c.small ? p->m : tn_min_i64(ROWS, p->m - t.i);
    t.j = block * c.columns;
    t.n = c.small ? p->n : tn_min_i64(c.columns, p->n - t.j);
    any_item_run(&t, dtype);
  }
  return TN_OK;
}

tn_status TN_SIMD_NAME(matmul_any_plan)(const tn_call *call, tn_kernel_plan *out) {
  return any_plan(call, MATMUL, out);
}

tn_status TN_SIMD_NAME(gemm_any_plan)(const tn_call *call, tn_kernel_plan *out) {
  return any_plan(call, GEMM, out);
}

tn_status TN_SIMD_NAME(matmul_any)(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                                   uint32_t worker) {
  (void)stage;
  return any_run(call, MATMUL, begin, end, worker);
}

tn_status TN_SIMD_NAME(gemm_any)(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                                 uint32_t worker) {
  (void)stage;
  return any_run(call, GEMM, begin, end, worker);
}

#endif
