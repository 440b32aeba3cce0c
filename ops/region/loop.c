/* Building loops and walking their pieces. */
#include "loop.h"

enum {
  PIECE_BYTES = 32768,
  TINY_PIECE_BYTES = 8192,
  PLANE_MIN = 4,
  MAX_LINES = 4,
  LONG = 16,           /* steps that are worth a loop of their own */
  TINY_BYTES = 256,    /* of two dims: less than a piece is worth */
  TINY_RUN = 24,       /* bytes: from here on, a run is worth a call */
  TINY_ELEMENTS = 512, /* in a block */
  FILL_BYTES = 128     /* of a row of one element: from here on, it is worth a loop */
};

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

/* Whether the elements of a few lines lie in turn, a[0] b[0] c[0] a[1] b[1] .., on the side where
 * one steps by `step` to the next of each. */
static bool interleaves(int64_t lines, int64_t length, int64_t step, int64_t unit) {
  return lines > 1 && lines <= MAX_LINES && length >= LONG && step == lines * unit;
}

/* The dim, other than the innermost, that is contiguous in the source and makes a transpose
 * together with that; -1: none. Long rows of one element each are better filled. */
static int32_t source_axis(const tn_axis *axes, int32_t rank, int64_t unit) {
  const tn_axis *last = &axes[rank - 1];
  if (last->src == 0 && last->size * unit >= FILL_BYTES) return -1;
  for (int32_t k = 0; k < rank - 1; k++) {
    const tn_axis *a = &axes[k];
    if (last->size >= PLANE_MIN && a->size >= PLANE_MIN && (a->src == unit || a->src == -unit))
      return k;
    if (a->src == unit && (interleaves(a->size, last->size, last->src, unit) ||
                           interleaves(last->size, a->size, a->dst, unit)))
      return k;
  }
  return -1;
}

/* True: done. Where the two inner dims are too small to be loops, the long one around them is. */
static bool choose_tiny(tn_loop *loop, const tn_axis *axes, int32_t rank, bool joins) {
  int64_t elements = 1;
  int32_t n = 0;
  if (rank < 3 || axes[rank - 1].size * axes[rank - 2].size * loop->unit > TINY_BYTES) return false;
  if (joins ? axes[rank - 1].size * loop->unit > TINY_RUN
            : source_axis(axes, rank, loop->unit) >= 0)
    return false;
  while (n < rank && (n < 2 || axes[rank - 1 - n].size < LONG))
    elements *= axes[rank - 1 - n++].size;
  if (n == rank || elements > TINY_ELEMENTS) return false;
  loop->kind = LOOP_TINY;
  loop->n_near = n;
  loop->rank = rank - n - 1;
  loop->row = axes[loop->rank];
  for (int32_t k = 0; k < n; k++) loop->near[k] = axes[rank - n + k];
  for (int32_t k = 0; k < loop->rank; k++) loop->outer[k] = axes[k];
  return true;
}

static void choose_inner(tn_loop *loop, tn_axis *axes, int32_t rank) {
  const tn_axis one = {1, 0, 0};
  loop->row = loop->col = one;
  loop->kind = LOOP_STRIDED;
  bool joins = rank > 0 && axes[rank - 1].src == loop->unit && axes[rank - 1].dst == loop->unit;
  if (joins && is_unit(loop->unit * axes[rank - 1].size)) {
    loop->unit *= axes[--rank].size;
    joins = false;
  }
  if (choose_tiny(loop, axes, rank, joins)) return;
  if (joins) {
    const tn_axis bytes = {loop->unit * axes[--rank].size, 1, 1};
    loop->kind = LOOP_RUN;
    loop->row = bytes;
    loop->unit = 1;
  }
  if (rank > 0 && loop->kind == LOOP_STRIDED) {
    tn_axis last = axes[rank - 1];
    int32_t k = source_axis(axes, rank, loop->unit);
    if (last.dst == loop->unit && k >= 0) {
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

/* Elements of a block of LOOP_TINY. */
static int64_t near_elements(const tn_loop *loop) {
  int64_t n = 1;
  for (int32_t k = 0; k < loop->n_near; k++) n *= loop->near[k].size;
  return n;
}

static void cut(tn_loop *loop) {
  const int64_t bytes = loop->kind == LOOP_TINY ? TINY_PIECE_BYTES : PIECE_BYTES;
  int64_t fit = tn_max_i64(1, bytes / loop->unit / near_elements(loop));
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
  int64_t bytes = loop->unit * near_elements(loop) * loop->row.size * loop->col.size;
  for (int32_t k = 0; k < loop->rank; k++) bytes *= loop->outer[k].size;
  return bytes;
}

bool tn_loop_transposes_fast(const tn_loop *loop) {
  const tn_axis *row = &loop->row, *col = &loop->col;
  if (loop->kind != LOOP_PLANE || loop->unit > 4) return false;
  return loop->unit == 4 || interleaves(col->size, row->size, row->src, loop->unit) ||
         interleaves(row->size, col->size, col->dst, loop->unit);
}

double tn_loop_cost_ns(int64_t bytes, bool transposes) {
  const int64_t cache_bytes = 512 << 10;
  double near = (double)tn_min_i64(bytes, cache_bytes), far = (double)bytes - near;
  return 150 + near / (transposes ? 15 : 25) + far / (transposes ? 5 : 6);
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

/* Pieces from here on, up to `most`, that are steps of the innermost outer dim and nothing else. */
static int64_t laps(const tn_loop *loop, const walk *w, int64_t most) {
  const int32_t last = loop->rank - 1;
  const bool whole = loop->row_chunk == loop->row.size && loop->col_chunk == loop->col.size;
  return last >= 0 && whole ? tn_min_i64(most, loop->outer[last].size - w->at[last]) : 1;
}

void tn_loop_run(const tn_loop *loop, tn_transpose_fn transpose, uint8_t *dst, const uint8_t *src,
                 int64_t begin, int64_t end) {
  tn_block b = {loop->row, loop->col, loop->unit, loop->kind, loop->n_near, loop->near};
  walk w;
  if (begin >= end) return;
  walk_to(loop, begin, &w);
  for (int64_t piece = begin, n; piece < end; piece += n) {
    b.row.size = tn_min_i64(loop->row_chunk, loop->row.size - w.row);
    b.col.size = tn_min_i64(loop->col_chunk, loop->col.size - w.col);
    uint8_t *to = dst + w.dst + w.row * loop->row.dst + w.col * loop->col.dst;
    const uint8_t *from = src + w.src + w.row * loop->row.src + w.col * loop->col.src;
    n = laps(loop, &w, end - piece);
    tn_block_copy(&b, transpose, to, from);
    for (int64_t k = 1; k < n; k++) {
      const tn_axis *lap = &loop->outer[loop->rank - 1];
      w.at[loop->rank - 1]++;
      w.dst += lap->dst;
      w.src += lap->src;
      tn_block_copy(&b, transpose, to += lap->dst, from += lap->src);
    }
    walk_on(loop, &w);
  }
}
