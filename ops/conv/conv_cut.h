/* How the work of a convolution is cut for several workers. All convolutions cut in the same way,
 * so that what a worker reads is mostly what it has written in the step before: a line that another
 * core has takes as long as a hundred instructions, to read and, once that has read it, to write.
 */
#ifndef TN_OPS_CONV_CUT_H
#define TN_OPS_CONV_CUT_H

#include "tenon/kit/checked.h"

/* Where the k-th of n about equal parts begins. The first half of the parts is half of all. */
static inline int64_t cut_at(int64_t all, int64_t n, int64_t k) { return k * all / n; }

/* Is it better that each worker reads all inputs than that each reads all weights? n_weights: those
 * of one input channel; n_inputs: its elements. Inputs come from other cores, and their lines have
 * to be asked back; weights are only read. */
static inline bool cut_by_filters(int64_t n_weights, int64_t n_inputs) {
  return n_weights / 3 * 2 > n_inputs;
}

/* How long the rows are into which the pixels of a 1x1 are cut; tile: pixels of a full tile. Few
 * rows are made as many for each worker, if that leaves them long enough for a tile. */
static inline int64_t cut_pixels(int64_t n_pixels, int64_t tile, uint32_t n_workers) {
  const int64_t most = 4 * tile, n = tn_max_i64(1, n_workers);
  const int64_t even = tn_ceil_div(tn_ceil_div(n_pixels, 2 * most), n) * n;
  if (n == 1 || even == 0 || n_pixels > (4 * n - 1) * most || n_pixels < even * tile)
    return tn_min_i64(n_pixels, most);
  return tn_ceil_div(n_pixels, even);
}

/* Into strips of rows, each of which reads all weights, and into parts of the filters, each of
 * which reads all inputs of its strip. */
typedef struct work_cut {
  int64_t rows, most_rows; /* of an image; the most of a strip */
  int64_t batch, groups;   /* images; groups of filters, which are not cut */
  bool by_filters;         /* rather than by rows */
  bool copies;             /* each part makes its own copy of the strip */
  int64_t few_strips;      /* no more by choice, since each reads all weights; 0: any number */
  /* answers */
  int64_t strips, parts, strip_rows; /* of an image; rows: at most */
  bool parts_first;                  /* items of one part are neighbours, not those of one strip */
} work_cut;

static inline void work_cut_make(work_cut *c, uint32_t n_workers) {
  const int64_t n = tn_max_i64(1, n_workers), batch = tn_max_i64(1, c->batch);
  const int64_t groups = tn_max_i64(1, c->groups), rows = tn_max_i64(1, c->rows);
  int64_t wanted = n == 1 ? 1 : 4 * n; /* items; more than n, for workers that are late */
  if (c->copies && c->by_filters) wanted = tn_min_i64(wanted, groups % n ? 2 * n : n);
  if (c->few_strips && !c->by_filters) wanted = tn_min_i64(wanted, tn_max_i64(n, c->few_strips));
  c->parts = c->by_filters ? tn_min_i64(groups, wanted) : 1;
  c->parts_first = c->by_filters && !c->copies && groups % n;
  c->strips = tn_ceil_div(rows, c->most_rows);
  if (c->parts_first) {
    c->parts = groups;
    c->strips = tn_max_i64(c->strips, n);
  } else {
    c->strips = tn_max_i64(c->strips, tn_ceil_div(wanted, c->parts * batch));
  }
  if (c->parts_first || c->parts % n) c->strips = tn_ceil_div(c->strips, n) * n;
  c->strips = tn_min_i64(rows, c->strips);
  if (!c->by_filters) c->parts = tn_min_i64(groups, tn_ceil_div(wanted, c->strips * batch));
  c->strip_rows = tn_ceil_div(rows, c->strips);
  if (c->rows <= 0) c->strips = 0;
}

/* The strip (of all images) and the part of an item. */
static inline void work_cut_item(const work_cut *c, int64_t item, int64_t *out_strip,
                                 int64_t *out_part) {
  const int64_t image = item / (c->strips * c->parts), rest = item % (c->strips * c->parts);
  *out_strip = image * c->strips + (c->parts_first ? rest % c->strips : rest / c->parts);
  *out_part = c->parts_first ? rest / c->strips : rest % c->parts;
}

#endif
