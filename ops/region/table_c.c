/* Tables of loops: planning and running. */
#include "table.h"

enum { STAGE_BUILD, STAGE_FILL, STAGE_COPY, N_STAGES, GRAIN_BYTES = 32768, ROUND_BYTES = 1024 };

typedef struct loop_table { /* the scratch */
  loop_count count;
  tn_loop loops[];
} loop_table;

/* Loops whose slowest dim is the same go round by round. */
static void count_round(loop_count *c, const tn_loop *loop) {
  const tn_axis none = {0, 0, 0}, slowest = loop->rank > 0 ? loop->outer[0] : none;
  if (c->pieces == 0)
    c->rounds = slowest.size, c->round_dst = slowest.dst;
  else if (c->rounds != slowest.size || c->round_dst != slowest.dst)
    c->rounds = 0;
}

/* Whether they do: where a round is worth finding. */
static bool goes_round(const loop_count *c) {
  const int64_t n = c->n - c->n_fill;
  return c->rounds > 1 && n > 1 && c->bytes / c->rounds / n >= ROUND_BYTES;
}

void loop_add(loop_builder *b, tn_loop *loop, int32_t input) {
  if (loop->n_pieces > 0) count_round(&b->count, loop);
  loop->input = input;
  loop->first_piece = b->count.pieces;
  b->count.pieces += loop->n_pieces;
  b->count.bytes += tn_loop_bytes(loop);
  b->count.transposes = b->count.transposes || loop->kind != LOOP_RUN;
  b->count.transposes_fast = b->count.transposes_fast || tn_loop_transposes_fast(loop);
  if (b->loops) b->loops[b->count.n] = *loop;
  b->count.n++;
}

void loop_end_fill(loop_builder *b) {
  b->count.n_fill = b->count.n;
  b->count.pieces = b->count.bytes = b->count.rounds = 0;
}

tn_status loop_table_plan(const tn_call *call, loop_build_fn build, tn_kernel_plan *out) {
  loop_builder b = {.loops = NULL};
  build(call, &b);
  out->n_stages = N_STAGES;
  out->scratch_bytes = sizeof(loop_table) + (uint64_t)b.count.n * sizeof(tn_loop);
  out->items[STAGE_FILL] = b.count.n_fill;
  out->items[STAGE_COPY] = goes_round(&b.count) ? b.count.rounds : b.count.pieces;
  if (b.count.bytes > 0)
    out->grain[STAGE_COPY] = tn_max_i64(
        1, (int64_t)((double)GRAIN_BYTES * (double)out->items[STAGE_COPY] / (double)b.count.bytes));
  out->cost_ns = tn_loop_cost_ns(b.count.bytes, b.count.transposes);
  return TN_OK;
}

static void run_loop(const tn_call *call, const tn_loop *loop, tn_transpose_fn transpose,
                     int64_t begin, int64_t end) {
  static const uint8_t zeros[16] = {0};
  const uint8_t *src = zeros;
  if (loop->input >= 0)
    src = call->inputs[loop->input]->data;
  else if (loop->input == FROM_FILL && call->region_fill >= 0)
    src = call->inputs[call->region_fill]->data;
  tn_loop_run(loop, transpose, call->outputs[0]->data, src, begin, end);
}

/* What the loops write of rounds begin .. end-1 is near. */
static void run_rounds(const tn_call *call, const loop_table *table, tn_transpose_fn transpose,
                       int64_t begin, int64_t end) {
  for (int64_t r = begin; r < end; r++)
    for (int64_t k = table->count.n_fill; k < table->count.n; k++) {
      const int64_t each = table->loops[k].n_pieces / table->count.rounds;
      run_loop(call, &table->loops[k], transpose, r * each, (r + 1) * each);
    }
}

tn_status loop_table_run(const tn_call *call, loop_build_fn build, tn_transpose_fn transpose,
                         uint32_t stage, int64_t begin, int64_t end) {
  loop_table *table = call->scratch;
  if (stage == STAGE_BUILD) {
    loop_builder b = {.loops = table->loops};
    build(call, &b);
    table->count = b.count;
    return TN_OK;
  }
  if (stage == STAGE_FILL) {
    for (int64_t k = 0; k < table->count.n_fill; k++)
      run_loop(call, &table->loops[k], transpose, 0, table->loops[k].n_pieces);
    return TN_OK;
  }
  if (goes_round(&table->count)) {
    run_rounds(call, table, transpose, begin, end);
    return TN_OK;
  }
  for (int64_t k = table->count.n_fill; k < table->count.n; k++) {
    const tn_loop *loop = &table->loops[k];
    int64_t first = tn_max_i64(begin, loop->first_piece),
            last = tn_min_i64(end, loop->first_piece + loop->n_pieces);
    if (first < last)
      run_loop(call, loop, transpose, first - loop->first_piece, last - loop->first_piece);
  }
  return TN_OK;
}
