/* tenon::Region, portable: every region and every uncovered box becomes a loop; loops are cut into
 * pieces; threads take pieces. Stage 0 builds the loops in scratch, stage 1 fills the whole output
 * where the uncovered part is no small number of boxes, stage 2 copies. Strings and types below a
 * byte go element by element (region_odd.c). */
#include "cover.h"
#include "loop.h"
#include "region.gen.h"
#include "region.h"

enum { STAGE_BUILD, STAGE_FILL, STAGE_COPY, N_STAGES, FROM_FILL = -1, GRAIN_BYTES = 32768 };

/* The loops of a call in order; where there is one for STAGE_FILL, it is the first. */
typedef struct loop_count {
  int64_t n;             /* loops */
  int64_t n_fill;        /* of these, in STAGE_FILL: 0 or 1 */
  int64_t pieces, bytes; /* of STAGE_COPY */
} loop_count;

typedef struct loop_table { /* the scratch */
  loop_count count;
  tn_loop loops[];
} loop_table;

typedef struct builder {
  loop_count count;
  tn_loop *loops; /* NULL: count only */
} builder;

static void keep(builder *b, tn_loop *loop, int32_t input) {
  loop->input = input;
  loop->first_piece = b->count.pieces;
  b->count.pieces += loop->n_pieces;
  b->count.bytes += tn_loop_bytes(loop);
  if (b->loops) b->loops[b->count.n] = *loop;
  b->count.n++;
}

static void add_fill(builder *b, const tn_tensor *out, int64_t element, const tn_box *box) {
  const int64_t zero[TN_MAX_RANK] = {0};
  int64_t strides[TN_MAX_RANK], offset = 0;
  tn_loop loop;
  tn_plain_strides(out, strides);
  for (int32_t k = 0; k < out->rank; k++) offset += box->start[k] * strides[k];
  tn_loop_init(&loop, element, out->rank, box->count, zero, strides, 0, offset);
  keep(b, &loop, FROM_FILL);
}

static void build(const tn_call *call, builder *b) {
  const tn_tensor *out = call->outputs[0];
  const int64_t element = tn_dtype(out->dtype)->bits / 8;
  tn_cover cover;
  tn_loop loop;
  tn_cover_find(out, call->regions, call->n_regions, &cover);
  if (cover.everything) {
    tn_box whole = {{0}, {0}};
    for (int32_t k = 0; k < out->rank; k++) whole.count[k] = out->shape[k];
    add_fill(b, out, element, &whole);
    b->count.n_fill = 1;
    b->count.pieces = b->count.bytes = 0;
  }
  for (int32_t k = 0; k < cover.n && !cover.everything; k++)
    add_fill(b, out, element, &cover.boxes[k]);
  for (uint32_t k = 0; k < call->n_regions; k++) {
    const tn_region *r = call->regions[k];
    tn_loop_init(&loop, element, r->rank, r->size, r->src_stride, r->dst_stride, r->src_offset,
                 r->dst_offset);
    keep(b, &loop, r->input);
  }
}

tn_status region_plan(const tn_call *call, tn_kernel_plan *out) {
  if (region_is_odd(call->outputs[0]->dtype)) return TN_OK;
  builder b = {.loops = NULL};
  build(call, &b);
  out->n_stages = N_STAGES;
  out->scratch_bytes = sizeof(loop_table) + (uint64_t)b.count.n * sizeof(tn_loop);
  out->items[STAGE_FILL] = b.count.n_fill;
  out->items[STAGE_COPY] = b.count.pieces;
  if (b.count.bytes > 0)
    out->grain[STAGE_COPY] = tn_max_i64(
        1, (int64_t)((double)GRAIN_BYTES * (double)b.count.pieces / (double)b.count.bytes));
  return TN_OK;
}

static void run_loop(const tn_call *call, const tn_loop *loop, int64_t begin, int64_t end) {
  static const uint8_t zeros[16] = {0};
  const uint8_t *src = zeros;
  if (loop->input >= 0)
    src = call->inputs[loop->input]->data;
  else if (call->region_fill >= 0)
    src = call->inputs[call->region_fill]->data;
  tn_loop_run(loop, call->outputs[0]->data, src, begin, end);
}

tn_status region_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                   uint32_t worker) {
  (void)worker;
  if (region_is_odd(call->outputs[0]->dtype)) return region_odd(call);
  loop_table *table = call->scratch;
  if (stage == STAGE_BUILD) {
    builder b = {.loops = table->loops};
    build(call, &b);
    table->count = b.count;
    return TN_OK;
  }
  if (stage == STAGE_FILL) {
    run_loop(call, &table->loops[0], 0, table->loops[0].n_pieces);
    return TN_OK;
  }
  for (int64_t k = table->count.n_fill; k < table->count.n; k++) {
    const tn_loop *loop = &table->loops[k];
    int64_t first = tn_max_i64(begin, loop->first_piece),
            last = tn_min_i64(end, loop->first_piece + loop->n_pieces);
    if (first < last) run_loop(call, loop, first - loop->first_piece, last - loop->first_piece);
  }
  return TN_OK;
}
