/* How integer products on the tiles of tenon/kit/dot_simd.h are cut into items: a block of rows of
 * A by some panels of B. */
#ifndef TN_OPS_MATMUL_DOT_CUT_H
#define TN_OPS_MATMUL_DOT_CUT_H

#include "tenon/kit/dot_simd.h"

enum {
  DOT_BLOCK_BYTES = 1 << 19, /* of A that a block of rows may take */
  DOT_GROUP = 4              /* panels whose columns are finished at once */
};

typedef struct dot_cut {
  int64_t row_step, row_blocks; /* rows of a block */
  int64_t col_step, col_blocks; /* panels of an item */
} dot_cut;

/* Panels per item, so that the threads end at about the same time: of the sizes that make about
 * four items a thread, that with the shortest way to the end. */
static inline int64_t dot_panels_per_item(int64_t panels, int64_t row_blocks, int64_t n_threads) {
  enum { TRIED = 8 };
  const int64_t wanted = panels * row_blocks / (4 * n_threads),
                least = tn_max_i64(1, tn_min_i64(wanted, panels));
  int64_t best = least, shortest = INT64_MAX;
  for (int64_t s = least; s < least + TRIED; s++) {
    const int64_t length = tn_ceil_div(row_blocks * tn_ceil_div(panels, s), n_threads) * s;
    if (length < shortest || (length == shortest && s % DOT_GROUP == 0))
      best = s, shortest = length;
  }
  return best;
}

/* m rows of so many steps, `matrices` times. On several threads rows are cut first, where there are
 * enough: the rows that a thread wrote are those that it will read. */
static inline dot_cut dot_cut_of(const tn_call *call, int64_t m, int64_t matrices, int64_t panels,
                                 int64_t steps) {
  enum { TILES = 4 }; /* per thread, for that */
  const int64_t n_threads = tn_max_i64(1, call->n_workers),
                row_bytes = tn_max_i64(1, steps * TN_DOT_K * (int64_t)sizeof(tn_dot_x)),
                most = tn_max_i64(TN_DOT_ROWS, DOT_BLOCK_BYTES / row_bytes);
  dot_cut c = {.col_step = panels};
  int64_t blocks = tn_ceil_div(m, most);
  if (m >= TILES * n_threads * TN_DOT_ROWS) blocks = tn_ceil_div(blocks, n_threads) * n_threads;
  c.row_step = blocks ? tn_ceil_div(m, blocks) : 0;
  c.row_blocks = blocks ? tn_ceil_div(m, c.row_step) : 0;
  if (n_threads > 1 && blocks)
    c.col_step = dot_panels_per_item(panels, c.row_blocks * tn_max_i64(1, matrices), n_threads);
  c.col_blocks = c.col_step ? tn_ceil_div(panels, c.col_step) : 0;
  return c;
}

#endif
