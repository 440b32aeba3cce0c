/* tenon::Reorder, portable: any layout into any other as at most four loops. The channels are split
 * where the blocks of both layouts break: full blocks of the larger size, full blocks of the
 * smaller one, the rest; then pad lanes are zeroed. */
#include "region.gen.h"
#include "region.h"

enum { MAX_LOOPS = 4, GRAIN_BYTES = 32768 };

typedef struct reorder {
  int64_t n, c, x,
      element; /* dims: outermost, channels, all inner ones together; bytes of an element */
  tn_layout from, to;
  tn_loop loops[MAX_LOOPS];
  bool is_pad[MAX_LOOPS];
  int32_t n_loops;
  int64_t pieces, bytes;
} reorder;

static int64_t block_of(tn_layout layout) {
  return layout == TN_PLAIN || layout == TN_CHANNELS_LAST ? 1 : TN_LAYOUT_BLOCK(layout);
}

/* Elements before channel c (which begins a block of `unit` channels in this layout) in the
 * storage. */
static int64_t channel_offset(const reorder *r, tn_layout layout, int64_t c) {
  int64_t b = block_of(layout);
  if (layout == TN_CHANNELS_LAST) return c;
  return c / b * b * r->x + c % b;
}

static void keep(reorder *r, tn_loop *loop, bool is_pad) {
  loop->first_piece = r->pieces;
  r->pieces += loop->n_pieces;
  r->bytes += tn_loop_bytes(loop);
  r->is_pad[r->n_loops] = is_pad;
  r->loops[r->n_loops++] = *loop;
}

static int64_t n_stride(const reorder *r, tn_layout layout) {
  int64_t b = block_of(layout);
  return tn_ceil_div(r->c, b) * b * r->x;
}

/* Channels begin .. begin + groups*big*small, where `big` steps of `small` channels stay within a
 * block of both layouts. */
static void add_channels(reorder *r, int64_t begin, int64_t groups, int64_t big, int64_t small) {
  const tn_layout layouts[2] = {r->from, r->to};
  const int64_t size[5] = {r->n, groups, big, small, r->x};
  int64_t stride[2][5];
  tn_loop loop;
  if (groups == 0) return;
  for (int k = 0; k < 2; k++) {
    tn_layout l = layouts[k];
    stride[k][0] = n_stride(r, l);
    stride[k][1] = channel_offset(r, l, big * small);
    stride[k][2] = channel_offset(r, l, small);
    stride[k][3] = l == TN_PLAIN ? r->x : 1;
    stride[k][4] = l == TN_PLAIN ? 1 : l == TN_CHANNELS_LAST ? r->c : block_of(l);
  }
  tn_loop_init(&loop, r->element, 5, size, stride[0], stride[1], channel_offset(r, r->from, begin),
               channel_offset(r, r->to, begin));
  keep(r, &loop, false);
}

static void add_pad(reorder *r) {
  int64_t b = block_of(r->to), lanes = (b - r->c % b) % b;
  const int64_t size[3] = {r->n, r->x, lanes}, zero[3] = {0};
  const int64_t stride[3] = {n_stride(r, r->to), b, 1};
  tn_loop loop;
  if (lanes == 0) return;
  tn_loop_init(&loop, r->element, 3, size, zero, stride, 0, channel_offset(r, r->to, r->c));
  keep(r, &loop, true);
}

static void build(const tn_call *call, reorder *r) {
  const tn_tensor *in = call->inputs[0], *out = call->outputs[0];
  const reorder empty = {.n = 1,
                         .c = 1,
                         .x = 1,
                         .element = tn_dtype(out->dtype)->bits / 8,
                         .from = in->layout,
                         .to = out->layout};
  *r = empty;
  for (int32_t k = 0; k < out->rank; k++)
    *(k == 0 ? &r->n : k == 1 ? &r->c : &r->x) *= out->shape[k];
  int64_t a = block_of(r->from), b = block_of(r->to), small = tn_min_i64(a, b),
          big = tn_max_i64(a, b) / small;
  int64_t full = r->c / (big * small), rest = full * big * small, halves = (r->c - rest) / small;
  add_channels(r, 0, full, big, small);
  if (halves > 0) add_channels(r, rest, 1, halves, small);
  rest += halves * small;
  if (rest < r->c) add_channels(r, rest, 1, 1, r->c - rest);
  add_pad(r);
}

const char *reorder_refuse(const tn_call *call) {
  return call->outputs[0]->dtype == TN_STRING ? "strings have plain layout only" : NULL;
}

const char *reorder_transpose_refuse(const tn_call *call) {
  reorder r;
  if (call->outputs[0]->dtype == TN_STRING) return "strings have plain layout only";
  build(call, &r);
  for (int32_t k = 0; k < r.n_loops; k++)
    if (tn_loop_transposes_fast(&r.loops[k])) return NULL;
  return "transposes nothing that vectors speed up";
}

tn_status reorder_plan(const tn_call *call, tn_kernel_plan *out) {
  reorder r;
  build(call, &r);
  out->items[0] = r.pieces;
  out->cost_ns = tn_loop_cost_ns(r.bytes, true);
  if (r.bytes > 0)
    out->grain[0] =
        tn_max_i64(1, (int64_t)((double)GRAIN_BYTES * (double)r.pieces / (double)r.bytes));
  return TN_OK;
}

tn_status reorder_run(const tn_call *call, tn_transpose_fn transpose, int64_t begin, int64_t end) {
  static const uint8_t zeros[16] = {0};
  reorder r;
  build(call, &r);
  for (int32_t k = 0; k < r.n_loops; k++) {
    int64_t before = r.loops[k].first_piece, first = tn_max_i64(begin, before),
            last = tn_min_i64(end, before + r.loops[k].n_pieces);
    if (first < last)
      tn_loop_run(&r.loops[k], transpose, call->outputs[0]->data,
                  r.is_pad[k] ? zeros : call->inputs[0]->data, first - before, last - before);
  }
  return TN_OK;
}

tn_status reorder_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                    uint32_t worker) {
  (void)stage, (void)worker;
  return reorder_run(call, NULL, begin, end);
}
