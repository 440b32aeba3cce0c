/* LSTM in f32 for AVX-512 and AVX2: the whole of rnn_avx512.c and rnn_avx2.c.
 *
 * Units are worked on in blocks of a vector. W and R are packed so that the gates of a block stand
 * next to each other: [direction][block][k][i o f g][unit]. Stage 0 multiplies all inputs by W as
 * one matrix product, rows of steps per item. Stage 1 walks through time, SEQUENCES sequences of
 * one direction per item: a block's four sums stay in registers from R's weights to the new state.
 *
 * Weights that are not constant are packed in a stage before. */
#ifndef TN_OPS_RNN_SIMD_H
#define TN_OPS_RNN_SIMD_H

#include "base/gemm_simd.h"
#include "base/infer.h"
#include "base/simd_math.h"
#include "cell.h"

enum {
  GATES = 4,
  BLOCK = GATES * TN_VF_LANES, /* columns: two panels of the matrix tile */
  SEQUENCES = TN_VF_LANES == 16 ? 4 : 2,
  ROWS = 4 * TN_TILE_MR, /* of the product by W, of an item */
  AHEAD = 24             /* rows of R's block that are fetched ahead */
};

typedef struct lstm {
  rnn n;
  int64_t blocks, width, padded; /* width: columns, blocks * BLOCK; padded: units, whole vectors */
  int64_t rows, row_blocks;      /* of the product by W: steps * batch */
  int64_t col_blocks, col_step;
  int64_t groups;             /* of sequences */
  int64_t w_floats, r_floats; /* packed, of one direction */
  uint32_t packs;             /* 1: weights are packed at run time, in a stage of its own */
} lstm;

static tn_status lstm_make(const tn_call *call, bool packs, lstm *out) {
  lstm l = {.packs = packs};
  int64_t room;
  tn_status s = rnn_make(call, GATES, &l.n);
  if (s) return s;
  l.blocks = tn_ceil_div(l.n.hidden, TN_VF_LANES);
  l.width = l.blocks * BLOCK;
  l.padded = l.blocks * TN_VF_LANES;
  if (tn_mul_i64(l.n.steps, l.n.batch, &l.rows) ||
      tn_mul_i64(l.width, l.n.input + l.n.hidden + 1, &room) ||
      tn_mul_i64(l.width, l.rows + 1, &room) || tn_mul_i64(room, 16, &room))
    return TN_ERR_OVERFLOW;
  l.row_blocks = tn_ceil_div(l.rows, ROWS);
  const int64_t groups = tn_ceil_div(l.width, TN_TILE_COLUMNS);
  l.col_blocks = call->n_workers > 1 ? tn_min_i64(groups, 4) : 1;
  l.col_step = tn_ceil_div(groups, l.col_blocks) * TN_TILE_COLUMNS;
  l.col_blocks = tn_ceil_div(l.width, l.col_step);
  l.groups = tn_ceil_div(l.n.batch, SEQUENCES);
  l.w_floats = l.width * l.n.input;
  l.r_floats = l.width * l.n.hidden;
  *out = l;
  return TN_OK;
}

/* What the portable kernel is for. */
const char *TN_SIMD_NAME(lstm_refuse)(const tn_call *call) {
  rnn n;
  if (rnn_make(call, GATES, &n)) return NULL; /* plan says why */
  for (int32_t d = 0; d < n.directions; d++)
    if (n.activation[d][0].f != RNN_SIGMOID || n.activation[d][1].f != RNN_TANH ||
        n.activation[d][2].f != RNN_TANH)
      return "it knows the activations Sigmoid, Tanh, Tanh only";
  if (n.clip > 0) return "it does not clip";
  if (n.p) return "it has no peepholes";
  return n.input_forget ? "it does not couple the input and the forget gate" : NULL;
}

tn_status TN_SIMD_NAME(lstm_plan)(const tn_call *call, tn_kernel_plan *out) {
  lstm l;
  const bool packs = !call->inputs[1]->data || !call->inputs[2]->data;
  tn_status s = lstm_make(call, packs, &l);
  if (s) return s;
  const int64_t d = l.n.directions, weights = d * (l.w_floats + l.r_floats);
  out->state_bytes = packs ? 0 : (uint64_t)weights * sizeof(float);
  out->scratch_bytes = (uint64_t)(d * l.rows * l.width + (packs ? weights : 0)) * sizeof(float);
  /* strips of X, or two states h and one c per sequence */
  out->worker_scratch_bytes =
      (uint64_t)tn_max_i64(ROWS * TN_TILE_KC, SEQUENCES * 3 * l.padded) * sizeof(float);
  out->n_stages = 2 + l.packs;
  out->items[0] = d * l.blocks;
  out->items[l.packs] = d * l.row_blocks * l.col_blocks;
  out->items[l.packs + 1] = d * l.groups;
  out->cost_ns = (double)(d * l.rows * l.width) *
                     ((double)l.n.input / (4 * TN_VF_LANES) + (double)l.n.hidden / TN_VF_LANES) +
                 1000;
  return TN_OK;
}

/* ---- packing ---- */

/* Block `block` of one direction; from: [gates * hidden][depth], to: [depth][BLOCK] if wide, else
 * two panels [depth][NR]. */
static void pack_block(const lstm *l, int64_t block, const float *from, int64_t depth, bool wide,
                       float *to) {
  const int64_t u = block * TN_VF_LANES, n = tn_min_i64(TN_VF_LANES, l->n.hidden - u);
  for (int g = 0; g < GATES; g++) {
    const float *rows = from + (g * l->n.hidden + u) * depth;
    float *at = wide ? to + g * TN_VF_LANES : to + g / 2 * TN_TILE_NR * depth + g % 2 * TN_VF_LANES;
    const int64_t step = wide ? BLOCK : TN_TILE_NR;
    for (int64_t k = 0; k < depth; k++) {
      for (int64_t r = 0; r < n; r++) at[k * step + r] = rows[r * depth + k];
      for (int64_t r = n; r < TN_VF_LANES; r++) at[k * step + r] = 0;
    }
  }
}

static void pack_item(const lstm *l, int64_t item, float *packed) {
  const int64_t d = item / l->blocks, block = item % l->blocks, rows = GATES * l->n.hidden;
  pack_block(l, block, (const float *)l->n.w->data + d * rows * l->n.input, l->n.input, false,
             packed + d * l->w_floats + block * BLOCK * l->n.input);
  pack_block(
      l, block, (const float *)l->n.r->data + d * rows * l->n.hidden, l->n.hidden, true,
      packed + l->n.directions * l->w_floats + d * l->r_floats + block * BLOCK * l->n.hidden);
}

tn_status TN_SIMD_NAME(lstm_prepare)(const tn_call *call) {
  lstm l;
  tn_status s = lstm_make(call, false, &l);
  for (int64_t k = 0; !s && k < l.n.directions * l.blocks; k++) pack_item(&l, k, call->state);
  return s;
}

/* ---- all inputs by W ---- */

/* X's rows in the order of xw, (step, sequence); of a block they may lie apart. */
static void project_item(const lstm *l, int64_t item, const float *w, float *xw, float *strips) {
  const rnn *n = &l->n;
  const int64_t j0 = item % l->col_blocks * l->col_step,
                j1 = tn_min_i64(l->width, j0 + l->col_step),
                d = item / l->col_blocks / l->row_blocks,
                i0 = item / l->col_blocks % l->row_blocks * ROWS,
                m = tn_min_i64(ROWS, l->rows - i0);
  tn_tiles t = {
      .a = strips, .ldc = l->width, .m = m, .b_panel = TN_TILE_NR * n->input, .first = true};
  for (int64_t k0 = 0; k0 < n->input; k0 += TN_TILE_KC, t.first = false) {
    t.k = tn_min_i64(TN_TILE_KC, n->input - k0);
    t.a_strip = TN_TILE_MR * t.k;
    for (int64_t r = 0; r < m; r++) {
      const int64_t row = i0 + r;
      const float *x = (const float *)n->x->data + rnn_x_row(n, row / n->batch, row % n->batch);
      float *to = strips + r / TN_TILE_MR * t.a_strip + r % TN_TILE_MR;
      for (int64_t k = 0; k < t.k; k++) to[k * TN_TILE_MR] = x[k0 + k];
    }
    for (int64_t j = j0; j < j1; j += TN_TILE_COLUMNS) {
      t.n = tn_min_i64(TN_TILE_COLUMNS, j1 - j);
      t.b = w + d * l->w_floats + j * n->input + k0 * TN_TILE_NR;
      t.c = xw + (d * l->rows + i0) * l->width + j;
      tn_tiles_run(&t);
    }
  }
  for (int64_t r = 0; n->input == 0 && r < m; r++)
    memset(xw + (d * l->rows + i0 + r) * l->width + j0, 0, (size_t)(j1 - j0) * sizeof *xw);
}

/* ---- through time ---- */

typedef struct walk { /* a group of sequences of one direction */
  const lstm *l;
  const float *r, *xw, *bias; /* bias: Wb, Rb of the direction; NULL: none */
  float *h[SEQUENCES], *next[SEQUENCES], *c[SEQUENCES];
  const float *x[SEQUENCES];      /* rows of xw of the current step */
  int64_t direction, first, live; /* live: sequences of the group */
} walk;

/* sums[s][g] += sum over k of h[s][k] R[k][g] */
static inline void lstm_sums(const float *r, float *const *h, int64_t depth,
                             tn_vf sums[SEQUENCES][GATES]) {
  tn_vf acc[SEQUENCES][GATES];
  TN_UNROLL for (int s = 0; s < SEQUENCES; s++) TN_UNROLL for (int g = 0; g < GATES; g++)
      acc[s][g] = sums[s][g];
  for (int64_t k = 0; k < depth; k++, r += BLOCK) {
    TN_UNROLL for (int g = 0; g < GATES; g++) tn_prefetch_l1(r + AHEAD * BLOCK + g * TN_VF_LANES);
    TN_UNROLL for (int s = 0; s < SEQUENCES; s++) {
      const tn_vf x = tn_vf_set1(h[s][k]);
      TN_UNROLL for (int g = 0; g < GATES; g++) acc[s][g] =
          tn_vf_fma(x, tn_vf_load(r + g * TN_VF_LANES), acc[s][g]);
    }
  }
  TN_UNROLL for (int s = 0; s < SEQUENCES; s++) TN_UNROLL for (int g = 0; g < GATES; g++)
      sums[s][g] = acc[s][g];
}

/* One sequence: two chains per gate, since one would wait for itself. */
static inline void lstm_sums_alone(const float *r, const float *h, int64_t depth,
                                   tn_vf sums[GATES]) {
  tn_vf acc[2][GATES];
  TN_UNROLL for (int g = 0; g < GATES; g++) acc[0][g] = sums[g], acc[1][g] = tn_vf_set1(0);
  int64_t k = 0;
  for (; k + 2 <= depth; k += 2, r += 2 * BLOCK) {
    TN_UNROLL for (int p = 0; p < 2; p++) {
      const tn_vf x = tn_vf_set1(h[k + p]);
      TN_UNROLL for (int g = 0; g < GATES; g++) {
        const float *at = r + p * BLOCK + g * TN_VF_LANES;
        tn_prefetch_l1(at + AHEAD * BLOCK);
        acc[p][g] = tn_vf_fma(x, tn_vf_load(at), acc[p][g]);
      }
    }
  }
  TN_UNROLL for (int g = 0; g < GATES; g++) {
    if (k < depth)
      acc[0][g] = tn_vf_fma(tn_vf_set1(h[k]), tn_vf_load(r + g * TN_VF_LANES), acc[0][g]);
    sums[g] = tn_vf_add(acc[0][g], acc[1][g]);
  }
}

/* Gates of a block to the new state: the order in memory is that of the operator, i o f g. */
static void lstm_state(const walk *w, int64_t s, int64_t at, const tn_vf sums[GATES]) {
  const tn_vf i = tn_vf_sigmoid(sums[0]), o = tn_vf_sigmoid(sums[1]), f = tn_vf_sigmoid(sums[2]),
              g = tn_vf_tanh(sums[3]);
  const tn_vf c = tn_vf_fma(f, tn_vf_load(w->c[s] + at), tn_vf_mul(i, g));
  tn_vf_store(w->c[s] + at, c);
  tn_vf_store(w->next[s] + at, tn_vf_mul(o, tn_vf_tanh(c)));
}

static void lstm_block(const walk *w, int64_t block) {
  const rnn *n = &w->l->n;
  const float *r = w->r + block * BLOCK * n->hidden;
  const int64_t at = block * TN_VF_LANES,
                units = n->hidden - at < TN_VF_LANES ? n->hidden - at : TN_VF_LANES;
  const tn_vf_mask m = tn_vf_mask_first(units);
  tn_vf sums[SEQUENCES][GATES];
  for (int64_t s = 0; s < SEQUENCES; s++)
    for (int64_t g = 0; g < GATES; g++) {
      tn_vf v = tn_vf_set1(0);
      if (s < w->live) v = tn_vf_load(w->x[s] + block * BLOCK + g * TN_VF_LANES);
      if (w->bias) {
        const float *b = w->bias + g * n->hidden + at;
        v = tn_vf_add(v,
                      tn_vf_add(tn_vf_load_mask(m, b), tn_vf_load_mask(m, b + GATES * n->hidden)));
      }
      sums[s][g] = v;
    }
  if (w->live == 1)
    lstm_sums_alone(r, w->h[0], n->hidden, sums[0]);
  else
    lstm_sums(r, w->h, n->hidden, sums);
  for (int64_t s = 0; s < w->live; s++) lstm_state(w, s, at, sums[s]);
}

/* The step at which sequence s is in turn k; -1: it is over. */
static int64_t step_of(const walk *w, int64_t s, int64_t k) {
  const int64_t length = rnn_length(&w->l->n, w->first + s);
  if (k >= length) return -1;
  return w->direction == 1 || w->l->n.reverse ? length - 1 - k : k;
}

/* The state that sequence s has now is its last. */
static void lstm_end(const walk *w, const tn_call *call, int64_t s) {
  const rnn *n = &w->l->n;
  const int64_t at = rnn_state_row(n, w->direction, w->first + s);
  const size_t bytes = (size_t)n->hidden * sizeof(float);
  if (tn_has_output(call, 1)) memcpy((float *)call->outputs[1]->data + at, w->h[s], bytes);
  if (tn_has_output(call, 2)) memcpy((float *)call->outputs[2]->data + at, w->c[s], bytes);
}

/* Turn k of all sequences. Those that are over go along, and nobody reads what becomes of them.
 * Every other turn goes through R backwards, so that what of it the cache still holds is used. */
static void lstm_turn(walk *w, const tn_call *call, int64_t k) {
  const rnn *n = &w->l->n;
  int64_t steps[SEQUENCES];
  for (int64_t s = 0; s < w->live; s++) {
    steps[s] = step_of(w, s, k);
    w->x[s] = w->xw + (tn_max_i64(steps[s], 0) * n->batch + w->first + s) * w->l->width;
    if (k == rnn_length(n, w->first + s)) lstm_end(w, call, s);
  }
  for (int64_t block = 0; block < w->l->blocks; block++)
    lstm_block(w, k % 2 ? w->l->blocks - 1 - block : block);
  for (int64_t s = 0; s < w->live; s++) {
    float *h = w->next[s];
    w->next[s] = w->h[s];
    w->h[s] = h;
    if (!tn_has_output(call, 0)) continue;
    float *y = (float *)call->outputs[0]->data +
               rnn_y_row(n, steps[s] < 0 ? k : steps[s], w->direction, w->first + s);
    if (steps[s] < 0)
      memset(y, 0, (size_t)n->hidden * sizeof *y);
    else
      memcpy(y, h, (size_t)n->hidden * sizeof *y);
  }
}

static void lstm_begin(walk *w, float *room) {
  const lstm *l = w->l;
  const size_t bytes = (size_t)l->n.hidden * sizeof *room;
  memset(room, 0, (size_t)(SEQUENCES * 3 * l->padded) * sizeof *room);
  for (int64_t s = 0; s < SEQUENCES; s++, room += 3 * l->padded) {
    w->h[s] = room;
    w->next[s] = room + l->padded;
    w->c[s] = room + 2 * l->padded;
    if (s >= w->live) continue;
    const int64_t at = rnn_state_row(&l->n, w->direction, w->first + s);
    if (l->n.h0) memcpy(w->h[s], (const float *)l->n.h0->data + at, bytes);
    if (l->n.c0) memcpy(w->c[s], (const float *)l->n.c0->data + at, bytes);
  }
}

static void walk_item(const tn_call *call, const lstm *l, int64_t item, const float *r,
                      const float *xw, float *room) {
  const int64_t d = item / l->groups;
  walk w = {.l = l,
            .direction = d,
            .first = item % l->groups * SEQUENCES,
            .r = r + d * l->r_floats,
            .xw = xw + d * l->rows * l->width};
  w.live = tn_min_i64(SEQUENCES, l->n.batch - w.first);
  if (l->n.b) w.bias = (const float *)l->n.b->data + d * 2 * GATES * l->n.hidden;
  lstm_begin(&w, room);
  for (int64_t k = 0; k < l->n.steps; k++) lstm_turn(&w, call, k);
  for (int64_t s = 0; s < w.live; s++)
    if (rnn_length(&l->n, w.first + s) == l->n.steps) lstm_end(&w, call, s);
}

tn_status TN_SIMD_NAME(lstm_f32)(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                                 uint32_t worker) {
  lstm l;
  tn_status s = lstm_make(call, call->state == NULL, &l);
  if (s) return s;
  float *xw = call->scratch;
  float *packed = l.packs ? xw + l.n.directions * l.rows * l.width : call->state;
  float *room =
      (float *)(void *)((char *)call->worker_scratch + worker * call->worker_scratch_bytes);
  for (int64_t item = begin; item < end; item++) {
    if (stage < l.packs)
      pack_item(&l, item, packed);
    else if (stage == l.packs)
      project_item(&l, item, packed, xw, room);
    else
      walk_item(call, &l, item, packed + l.n.directions * l.w_floats, xw, room);
  }
  return TN_OK;
}

#endif
