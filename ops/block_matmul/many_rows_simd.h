/* BlockMatMul of many rows, where bytes have no dot products of their own: three digits take three
 * times the products of f32 then, and a weight is needed so often that taking it back to f32 costs
 * little.
 *
 * Rows of A are packed into strips, a block of TN_TILE_KC numbers after the other. An item is
 * TN_TILE_COLUMNS columns of some strips: for each block of K, the weights become f32 in worker
 * scratch, and the strips meet them by the tiles of tenon/kit/gemm_simd.h. */
#ifndef TN_OPS_BLOCK_MATMUL_MANY_ROWS_SIMD_H
#define TN_OPS_BLOCK_MATMUL_MANY_ROWS_SIMD_H

#include "tenon/kit/gemm_simd.h"

enum { MANY_LEAST = TN_TILE_MR, TILE_PARTS = TN_TILE_KC / DEPTH, UNIT_NUMBERS = 8 };

/* Of more than one digit; each takes as long as f32. */
static bool are_many(const layout *l) { return l->digits > 1 && l->w.m >= MANY_LEAST; }

static int64_t strips_of(const layout *l) { return tn_ceil_div(l->w.m, TN_TILE_MR); }
static int64_t groups_of(const layout *l) { return tn_ceil_div(l->w.n, TN_TILE_COLUMNS); }
static int64_t k_blocks_of(const layout *l) { return tn_ceil_div(l->w.k, TN_TILE_KC); }
static int64_t depth_at(const layout *l, int64_t k_block) {
  return tn_min_i64(TN_TILE_KC, l->w.k - k_block * TN_TILE_KC);
}

/* Strips are cut only as far as workers need it: weights are taken back again for each cut. */
static int64_t cuts_of(const tn_call *call, const layout *l) {
  enum { STRIPS_LEAST = 8 };
  const int64_t wanted = tn_ceil_div(2 * (int64_t)call->n_workers, groups_of(l));
  return tn_max_i64(1, tn_min_i64(wanted, strips_of(l) / STRIPS_LEAST));
}

static tn_status many_plan(const tn_call *call, const layout *l, tn_kernel_plan *out) {
  const int64_t rows = strips_of(l) * TN_TILE_MR;
  int64_t floats;
  if (tn_mul_i64(rows, l->w.k, &floats) || floats > TN_MAX_ELEMENTS) return TN_ERR_OVERFLOW;
  out->scratch_bytes = (uint64_t)floats * sizeof(float);
  out->worker_scratch_bytes = (uint64_t)TN_TILE_COLUMNS * TN_TILE_KC * sizeof(float);
  out->n_stages = 2;
  out->items[0] = k_blocks_of(l) * strips_of(l);
  out->grain[0] = tn_grain(10000, TN_TILE_MR * TN_TILE_KC);
  out->items[1] = groups_of(l) * cuts_of(call, l);
  out->cost_ns = (double)l->w.n * (double)l->w.k * (2 + (double)rows) / (2.5 * LANES) + 500;
  out->grain[1] = tn_grain(TN_THREAD_NS, out->cost_ns / (double)tn_max_i64(1, out->items[1]));
  return TN_OK;
}

/* Strips of block k_block of K. */
static float *strips_at(const tn_call *call, const layout *l, int64_t k_block) {
  return (float *)call->scratch + k_block * TN_TILE_KC * strips_of(l) * TN_TILE_MR;
}

static void pack_strip(const tn_call *call, const layout *l, int64_t item) {
  const int64_t k_block = item / strips_of(l), s = item % strips_of(l), first = s * TN_TILE_MR,
                depth = depth_at(l, k_block);
  const float *a = (const float *)l->w.a->data + first * l->w.k + k_block * TN_TILE_KC;
  tn_pack_rows(a, l->w.k, tn_min_i64(TN_TILE_MR, l->w.m - first), depth, TN_TILE_MR,
               strips_at(call, l, k_block) + s * depth * TN_TILE_MR);
}

/* A part of one panel as f32; its LANES columns are TN_TILE_NR apart. n: numbers of a column,
 * rounded up to whole units. */
static void unpack_part(const layout *l, const char *part, int64_t n, float *to) {
  const tn_vi middle = (tn_vi){0} + blocks_middle(&l->w), low = (tn_vi){0} + 15;
  const char *unit = part;
  for (int64_t k = 0; k < n; k += UNIT_NUMBERS, unit += UNIT, to += UNIT_NUMBERS * TN_TILE_NR) {
    const int64_t block = k / l->block;
    const tn_vf scale = scale_at(l, part, block);
    tn_vi v, zero = middle;
    if (l->zeros_at) {
      lane_bytes z;
      memcpy(&z, part + l->zeros_at + block * LANES, sizeof z);
      zero += __builtin_convertvector(z, tn_vi);
    }
    memcpy(&v, unit, sizeof v);
    TN_UNROLL for (int q = 0; q < UNIT_NUMBERS; q++) { /* bytes 0 .. 3, then their upper halves */
      const tn_vi number = (v >> (q % 4 * 8 + q / 4 * 4) & low) - zero;
      tn_vf_store(to + q * TN_TILE_NR, tn_vf_mul(tn_vf_of_int(number), scale));
    }
  }
}

/* Block k_block of `n` columns from j on, in panels of TN_TILE_NR. */
static void unpack(const tn_call *call, const layout *l, int64_t k_block, int64_t j, int64_t n,
                   float *to) {
  char *weights = (char *)call->state + STATE_HEAD;
  const int64_t depth = depth_at(l, k_block), panels = tn_ceil_div(n, TN_TILE_NR);
  for (int64_t p = 0; p < 2 * panels; p++)
    for (int64_t k = 0; k < depth; k += DEPTH)
      unpack_part(l, part_at(l, weights, j / LANES + p, k_block * TILE_PARTS + k / DEPTH),
                  round_up(tn_min_i64(DEPTH, depth - k), UNIT_NUMBERS),
                  to + p / 2 * TN_TILE_KC * TN_TILE_NR + k * TN_TILE_NR + p % 2 * LANES);
}

/* Bias and operators that follow, of n columns from j on. */
static void finish_rows(const tn_call *call, const layout *l, int64_t i0, int64_t i1, int64_t j,
                        int64_t n) {
  const float *bias = l->w.bias ? (const float *)l->w.bias->data + j : NULL;
  for (int64_t i = i0; i < i1 && (bias || call->n_epilogue); i++) {
    float *y = (float *)call->outputs[0]->data + i * l->w.n + j;
    for (int64_t c = 0; bias && c < n; c++) y[c] += bias[c];
    if (call->n_epilogue) tn_epilogue_f32(call, y, n, i * l->w.n + j, j, 1);
  }
}

static void many_item(const tn_call *call, const layout *l, int64_t item, float *room) {
  const int64_t cuts = cuts_of(call, l), cut = item % cuts, strips = strips_of(l),
                j = item / cuts * TN_TILE_COLUMNS, n = tn_min_i64(TN_TILE_COLUMNS, l->w.n - j),
                s0 = strips * cut / cuts, s1 = strips * (cut + 1) / cuts, i0 = s0 * TN_TILE_MR,
                i1 = tn_min_i64(l->w.m, s1 * TN_TILE_MR);
  tn_tiles t = {.b = room, .b_panel = TN_TILE_KC * TN_TILE_NR, .ldc = l->w.n, .m = i1 - i0, .n = n};
  t.c = (float *)call->outputs[0]->data + i0 * l->w.n + j;
  for (int64_t k_block = 0; k_block < k_blocks_of(l); k_block++) {
    unpack(call, l, k_block, j, n, room);
    t.k = depth_at(l, k_block);
    t.a_strip = t.k * TN_TILE_MR;
    t.a = strips_at(call, l, k_block) + s0 * t.a_strip;
    t.first = k_block == 0;
    tn_tiles_run(&t);
  }
  finish_rows(call, l, i0, i1, j, n);
}

#endif
