/* Building loops and walking their pieces. */
#include "loop.h"

enum { PIECE_BYTES = 32768, PLANE_MIN = 4 };

static bool is_unit(int64_t bytes) {
  return bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8 || bytes == 16;
}

/* Drops dims of size 1, lets every dim go forward in the destination, slowest first. Answers the
 * rank. */
static int32_t sort_axes(tn_loop *loop, tn_axis *axes, int32_t n) {
  int32_t rank = 0;
  for (int32_t k = 0; k < n; k++) {
    tn_axis a = axes[k];
    if (a.size == 1) continue;
    if (a.dst < 0) {
      loop->dst += a.dst * (a.size - 1);
      loop->src += a.src * (a.size - 1);
      a.dst = -a.dst;
      a.src = -a.src;
    }
    int32_t at = rank++;
    for (; at > 0 && axes[at - 1].dst < a.dst; at--) axes[at] = axes[at - 1];
    axes[at] = a;
  }
  return rank;
}

static int32_t merge_axes(tn_axis *axes, int32_t n) {
  int32_t rank = 0;
  for (int32_t k = 0; k < n; k++) {
    tn_axis *last = &axes[rank - (rank > 0)];
    bool joins = rank > 0 && last->src == axes[k].src * axes[k].size &&
                 last->dst == axes[k].dst * axes[k].size;
    int64_t size = joins ? last->size * axes[k].size : axes[k].size;
    if (!joins) rank++;
    axes[rank - 1] = axes[k];
    axes[rank - 1].size = size;
  }
  return rank;
}

/* Takes axis k out of axes[0..n). */
static tn_axis take(tn_axis *axes, int32_t n, int32_t k) {
  tn_axis a = axes[k];
  for (; k + 1 < n; k++) axes[k] = axes[k + 1];
  return a;
}

/* The dim, other than the innermost, that is contiguous in the source; -1: none. */
static int32_t source_axis(const tn_axis *axes, int32_t rank, int64_t unit) {
  for (int32_t k = 0; k < rank - 1; k++)
    if ((axes[k].src == unit || axes[k].src == -unit) && axes[k].size >= PLANE_MIN) return k;
  return -1;
}

static void choose_inner(tn_loop *loop, tn_axis *axes, int32_t rank) {
  const tn_axis one = {1, 0, 0};
  loop->row = loop->col = one;
  loop->kind = LOOP_STRIDED;
  if (rank > 0 && axes[rank - 1].src == loop->unit && axes[rank - 1].dst == loop->unit) {
    loop->unit *= axes[--rank].size;
    if (!is_unit(loop->unit)) {
      const tn_axis bytes = {loop->unit, 1, 1};
      loop->kind = LOOP_RUN;
      loop->row = bytes;
      loop->unit = 1;
    }
  }
  if (rank > 0 && loop->kind == LOOP_STRIDED) {
    tn_axis last = axes[rank - 1];
    int32_t k = source_axis(axes, rank, loop->unit);
    if (last.dst == loop->unit && last.size >= PLANE_MIN && k >= 0) {
      loop->kind = LOOP_PLANE;
      loop->row = last;
      loop->col = take(axes, rank, k);
      rank -= 2;
      if (loop->col.src < 0) {
        loop->src += loop->col.src * (loop->col.size - 1);
        loop->dst += loop->col.dst * (loop->col.size - 1);
        loop->col.src = -loop->col.src;
        loop->col.dst = -loop->col.dst;
      }
    }
  }
  if (loop->kind == LOOP_STRIDED && rank > 0) loop->row = axes[--rank];
  if (loop->kind != LOOP_PLANE && rank > 0) loop->col = axes[--rank];
  loop->rank = rank;
  for (int32_t k = 0; k < rank; k++) loop->outer[k] = axes[k];
}

static void cut(tn_loop *loop) {
  int64_t fit = tn_max_i64(1, PIECE_BYTES / loop->unit);
  loop->row_chunk = loop->row.size;
  loop->col_chunk = tn_min_i64(loop->col.size, tn_max_i64(1, fit / loop->row.size));
  if (loop->kind == LOOP_PLANE) { /* about square, so that neither side touches its lines twice */
    int64_t side = loop->unit <= 4 ? 64 : loop->unit == 8 ? 32 : 16;
    loop->row_chunk = tn_min_i64(loop->row.size, tn_max_i64(side, fit / loop->col.size / 16 * 16));
    loop->col_chunk = tn_min_i64(loop->col.size, tn_max_i64(side, fit / loop->row_chunk / 16 * 16));
  } else if (loop->row.size > fit) {
    loop->row_chunk = fit;
    loop->col_chunk = 1;
  }
  loop->n_pieces =
      tn_ceil_div(loop->row.size, loop->row_chunk) * tn_ceil_div(loop->col.size, loop->col_chunk);
  for (int32_t k = 0; k < loop->rank; k++) loop->n_pieces *= loop->outer[k].size;
}

void tn_loop_init(tn_loop *loop, int64_t element_bytes, int32_t rank, const int64_t *size,
                  const int64_t *src_stride, const int64_t *dst_stride, int64_t src_offset,
                  int64_t dst_offset) {
  tn_axis axes[TN_MAX_RANK];
  const tn_loop empty = {
      .unit = element_bytes, .src = src_offset * element_bytes, .dst = dst_offset * element_bytes};
  *loop = empty;
  for (int32_t k = 0; k < rank; k++) {
    axes[k].size = size[k];
    axes[k].src = src_stride[k] * element_bytes;
    axes[k].dst = dst_stride[k] * element_bytes;
    if (size[k] == 0) return;
  }
  choose_inner(loop, axes, merge_axes(axes, sort_axes(loop, axes, rank)));
  cut(loop);
}

int64_t tn_loop_bytes(const tn_loop *loop) {
  if (loop->n_pieces == 0) return 0;
  int64_t bytes = loop->unit * loop->row.size * loop->col.size;
  for (int32_t k = 0; k < loop->rank; k++) bytes *= loop->outer[k].size;
  return bytes;
}

double tn_loop_cost_ns(int64_t bytes, bool turns) {
  const int64_t cache_bytes = 512 << 10;
  double near = (double)tn_min_i64(bytes, cache_bytes), far = (double)bytes - near;
  return 150 + near / (turns ? 15 : 25) + far / (turns ? 5 : 6);
}

/* Where a walk over the pieces stands: chunk of the row, chunk of the column, then the outer dims.
 */
typedef struct walk {
  int64_t row, col; /* elements before the piece */
  int64_t at[TN_MAX_RANK], src, dst;
} walk;

static void walk_to(const tn_loop *loop, int64_t piece, walk *w) {
  int64_t rows = tn_ceil_div(loop->row.size, loop->row_chunk),
          cols = tn_ceil_div(loop->col.size, loop->col_chunk);
  w->row = piece % rows * loop->row_chunk;
  piece /= rows;
  w->col = piece % cols * loop->col_chunk;
  piece /= cols;
  w->src = loop->src;
  w->dst = loop->dst;
  for (int32_t k = loop->rank - 1; k >= 0; k--) {
    w->at[k] = piece % loop->outer[k].size;
    piece /= loop->outer[k].size;
    w->src += w->at[k] * loop->outer[k].src;
    w->dst += w->at[k] * loop->outer[k].dst;
  }
}

static void walk_on(const tn_loop *loop, walk *w) {
  if ((w->row += loop->row_chunk) < loop->row.size) return;
  w->row = 0;
  if ((w->col += loop->col_chunk) < loop->col.size) return;
  w->col = 0;
  for (int32_t k = loop->rank - 1; k >= 0; k--) {
    w->src += loop->outer[k].src;
    w->dst += loop->outer[k].dst;
    if (++w->at[k] < loop->outer[k].size) return;
    w->at[k] = 0;
    w->src -= loop->outer[k].src * loop->outer[k].size;
    w->dst -= loop->outer[k].dst * loop->outer[k].size;
  }
}

void tn_loop_run(const tn_loop *loop, tn_turn_fn turn, uint8_t *dst, const uint8_t *src,
                 int64_t begin, int64_t end) {
  tn_block b = {loop->row, loop->col, loop->unit, loop->kind};
  walk w;
  if (begin >= end) return;
  walk_to(loop, begin, &w);
  for (int64_t piece = begin; piece < end; piece++) {
    b.row.size = tn_min_i64(loop->row_chunk, loop->row.size - w.row);
    b.col.size = tn_min_i64(loop->col_chunk, loop->col.size - w.col);
    tn_block_copy(&b, turn, dst + w.dst + w.row * loop->row.dst + w.col * loop->col.dst,
                  src + w.src + w.row * loop->row.src + w.col * loop->col.src);
    walk_on(loop, &w);
  }
}
