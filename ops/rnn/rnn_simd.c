/* LSTM, GRU and RNN in f32 for AVX-512, AVX2 and NEON: the whole of rnn_avx512.c and so on.
 *
 * Units are worked on in blocks of a vector. W and R are packed so that the gates of a block stand
 * next to each other: [direction][block][k][i o f g][unit]. Stages: the first states; all inputs by
 * W as one matrix product, rows of steps per item; the walk through time. SEQUENCES sequences of
 * one direction walk together, and where that leaves threads without work, several of them take
 * part in every step, each with blocks of its own: a block's sums stay in registers from R's
 * weights to the new state.
 *
 * Functions that take `gates` are inlined where it is a number. Weights that are not constant are
 * packed in a stage before. */
#include "cell.h"
#include "tenon/kit/gemm_simd.h"
#include "tenon/kit/infer.h"
#include "tenon/kit/simd_math.h"
#include "tenon/kit/team.h"

enum {
  GATES = 4,  /* at most */
  STATES = 4, /* rows of units that a sequence has: two of h, c, scaled; see walk */
  SEQUENCES = TN_VF_LANES == 16 ? 4 : 2,
  ROWS = 4 * TN_TILE_MR, /* of the product by W, of an item */
  AHEAD = 24,            /* rows of R's block that are fetched ahead */
  TEAM_FLOATS = 1 << 16  /* of R, from which on a step is worth handing over parts of it */
};

typedef struct net {
  rnn n;
  int64_t block;                 /* columns: gates * LANES */
  int64_t blocks, width, padded; /* width: columns, whole panels; padded: units, whole vectors */
  int64_t rows, row_blocks;      /* of the product by W: steps * batch */
  int64_t col_blocks, col_step;
  int64_t groups;             /* of sequences */
  int64_t members, parts;     /* of the team that walks with a group, of a step */
  int64_t team_floats;        /* its words, then the states of the sequences */
  int64_t w_floats, r_floats; /* packed, of one direction */
  uint32_t packs;             /* 1: weights are packed at run time, in a stage of its own */
} net;

static tn_status net_make(const tn_call *call, int32_t gates, bool packs, net *out) {
  net l = {.packs = packs};
  int64_t room;
  tn_status s = rnn_make(call, gates, &l.n);
  if (s) return s;
  l.blocks = tn_ceil_div(l.n.hidden, TN_VF_LANES);
  l.block = gates * TN_VF_LANES;
  l.width = tn_ceil_div(l.blocks * gates, 2) * TN_TILE_NR;
  l.padded = l.blocks * TN_VF_LANES;
  if (tn_mul_i64(l.n.steps, l.n.batch, &l.rows) ||
      tn_mul_i64(l.width, l.n.input + l.n.hidden + 1, &room) ||
      tn_mul_i64(l.width, l.rows + 1, &room) || tn_mul_i64(room, 16, &room) ||
      tn_mul_i64(l.padded + 64, l.n.batch + SEQUENCES, &room) || tn_mul_i64(room, 1024, &room))
    return TN_ERR_OVERFLOW;
  l.row_blocks = tn_ceil_div(l.rows, ROWS);
  const int64_t groups = tn_ceil_div(l.width, TN_TILE_COLUMNS);
  l.col_blocks = call->n_workers > 1 ? tn_min_i64(groups, 4) : 1;
  l.col_step = tn_ceil_div(groups, l.col_blocks) * TN_TILE_COLUMNS;
  l.col_blocks = tn_ceil_div(l.width, l.col_step);
  l.w_floats = l.width * l.n.input;
  l.r_floats = l.width * l.n.hidden;
  l.groups = tn_ceil_div(l.n.batch, SEQUENCES);
  const int64_t teams = tn_max_i64(1, l.n.directions * l.groups);
  l.members = l.r_floats < TEAM_FLOATS ? 1 : tn_ceil_div(tn_max_i64(1, call->n_workers), teams);
  l.parts = l.members > 1 ? tn_max_i64(1, tn_min_i64(4 * l.members, l.blocks)) : 1;
  l.team_floats = tn_team_bytes(l.parts) / (int64_t)sizeof(float) + SEQUENCES * STATES * l.padded;
  *out = l;
  return TN_OK;
}

/* What the portable kernel is for. */
static const char *refuse(const tn_call *call, int32_t gates) {
  rnn n;
  if (rnn_make(call, gates, &n)) return NULL; /* plan says why */
  for (int32_t d = 0; d < n.directions; d++) {
    const rnn_activation *a = n.activation[d];
    if (gates == 1 && a[0].f != RNN_TANH && a[0].f != RNN_RELU)
      return "it knows the activations Tanh and Relu only";
    if (gates == 3 && (a[0].f != RNN_SIGMOID || a[1].f != RNN_TANH))
      return "it knows the activations Sigmoid, Tanh only";
    if (gates == 4 && (a[0].f != RNN_SIGMOID || a[1].f != RNN_TANH || a[2].f != RNN_TANH))
      return "it knows the activations Sigmoid, Tanh, Tanh only";
  }
  if (n.clip > 0) return "it does not clip";
  if (n.p) return "it has no peepholes";
  return n.input_forget ? "it does not couple the input and the forget gate" : NULL;
}

static tn_status plan(const tn_call *call, int32_t gates, tn_kernel_plan *out) {
  net l;
  const bool packs = !call->inputs[1]->data || !call->inputs[2]->data;
  tn_status s = net_make(call, gates, packs, &l);
  if (s) return s;
  const int64_t d = l.n.directions, weights = d * (l.w_floats + l.r_floats);
  out->state_bytes = packs ? 0 : (uint64_t)weights * sizeof(float);
  out->scratch_bytes =
      (uint64_t)(d * (l.groups * l.team_floats + l.rows * l.width) + (packs ? weights : 0)) *
      sizeof(float);
  out->worker_scratch_bytes = (uint64_t)ROWS * TN_TILE_KC * sizeof(float); /* strips of X */
  out->n_stages = 3 + l.packs;
  out->items[0] = d * l.blocks;
  out->items[l.packs] = out->grain[l.packs] = d * l.groups;
  out->items[l.packs + 1] = d * l.row_blocks * l.col_blocks;
  out->items[l.packs + 2] = d * l.groups * l.members;
  out->cost_ns = (double)(d * l.rows * l.width) *
                     ((double)l.n.input / (4 * TN_VF_LANES) + (double)l.n.hidden / TN_VF_LANES) +
                 1000;
  return TN_OK;
}

/* ---- packing ---- */

/* Gate g of a block: rows of `from`, [gates * hidden][depth], to columns of `to`, step apart. */
static void pack_gate(const net *l, int64_t block, int64_t g, const float *from, int64_t depth,
                      int64_t step, float *to) {
  const int64_t u = block * TN_VF_LANES, n = tn_min_i64(TN_VF_LANES, l->n.hidden - u);
  const float *rows = from + (g * l->n.hidden + u) * depth;
  for (int64_t k = 0; k < depth; k++) {
    for (int64_t r = 0; r < n; r++) to[k * step + r] = rows[r * depth + k];
    for (int64_t r = n; r < TN_VF_LANES; r++) to[k * step + r] = 0;
  }
}

/* A block: of W into panels of two gates, [panel][k][NR], of R as [k][gates][LANES]. */
static void pack_item(const net *l, int64_t item, float *packed) {
  const rnn *n = &l->n;
  const int64_t d = item / l->blocks, block = item % l->blocks, rows = n->gates * n->hidden;
  const float *w = (const float *)n->w->data + d * rows * n->input,
              *r = (const float *)n->r->data + d * rows * n->hidden;
  float *to_w = packed + d * l->w_floats, *to_r = packed + n->directions * l->w_floats +
                                                  d * l->r_floats + block * l->block * n->hidden;
  int64_t v = block * n->gates;
  for (int64_t g = 0; g < n->gates; g++, v++) {
    pack_gate(l, block, g, w, n->input, TN_TILE_NR,
              to_w + v / 2 * TN_TILE_NR * n->input + v % 2 * TN_VF_LANES);
    pack_gate(l, block, g, r, n->hidden, l->block, to_r + g * TN_VF_LANES);
  }
  if (block + 1 < l->blocks || v % 2 == 0) return;
  for (int64_t k = 0; k < n->input; k++) /* the last panel is half full */
    memset(to_w + (v / 2 * n->input + k) * TN_TILE_NR + TN_VF_LANES, 0, TN_VF_LANES * sizeof *to_w);
}

static tn_status prepare(const tn_call *call, int32_t gates) {
  net l;
  tn_status s = net_make(call, gates, false, &l);
  for (int64_t k = 0; !s && k < l.n.directions * l.blocks; k++) pack_item(&l, k, call->state);
  return s;
}

/* ---- all inputs by W ---- */

/* X's rows in the order of xw, (step, sequence); of a block they may lie apart. */
static void project_item(const net *l, int64_t item, const float *w, float *xw, float *strips) {
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

typedef struct walk { /* a group of sequences of one direction, at one step */
  const net *l;
  const float *r, *xw, *bias; /* bias: Wb, Rb of the direction; NULL: none */
  /* c: of LSTM; of GRU the gate z, where r comes before the product, and then `scaled` is r h */
  float *h[SEQUENCES], *next[SEQUENCES], *c[SEQUENCES], *scaled[SEQUENCES];
  const float *x[SEQUENCES];      /* rows of xw */
  int64_t direction, first, live; /* live: sequences of the group */
  tn_team team;
  float *states; /* [sequence][STATES][padded] */
} walk;

/* How far ahead of row k rows are fetched, of so many that there are: to fetch what is not mapped
 * takes far longer than to wait for what is. */
static inline int64_t ahead_of(int64_t k, int64_t rows, int64_t step) {
  return k + AHEAD < rows ? AHEAD * step : 0;
}

/* sums[s][g] += sum over k of h[s][k] R[k][g] for g < gates; rows of R are step apart, and so many
 * from r on. */
static inline void gate_sums(const float *r, int64_t step, int64_t rows, float *const *h,
                             int64_t depth, int gates, tn_vf sums[SEQUENCES][GATES]) {
  tn_vf acc[SEQUENCES][GATES];
  TN_UNROLL for (int s = 0; s < SEQUENCES; s++) TN_UNROLL for (int g = 0; g < gates; g++)
      acc[s][g] = sums[s][g];
  for (int64_t k = 0; k < depth; k++, r += step) {
    const int64_t ahead = ahead_of(k, rows, step);
    TN_UNROLL for (int g = 0; g < gates; g++) tn_prefetch_l1(r + ahead + g * TN_VF_LANES);
    TN_UNROLL for (int s = 0; s < SEQUENCES; s++) {
      const tn_vf x = tn_vf_set1(h[s][k]);
      TN_UNROLL for (int g = 0; g < gates; g++) acc[s][g] =
          tn_vf_fma(x, tn_vf_load(r + g * TN_VF_LANES), acc[s][g]);
    }
  }
  TN_UNROLL for (int s = 0; s < SEQUENCES; s++) TN_UNROLL for (int g = 0; g < gates; g++)
      sums[s][g] = acc[s][g];
}

/* One sequence: two chains per gate, since one would wait for itself; of few gates, four. */
static inline void gate_sums_alone(const float *r, int64_t step, int64_t rows, const float *h,
                                   int64_t depth, int gates, tn_vf sums[GATES]) {
  const int chains = gates > 2 ? 2 : 4;
  tn_vf acc[4][GATES];
  TN_UNROLL for (int p = 0; p < chains; p++) TN_UNROLL for (int g = 0; g < gates; g++) acc[p][g] =
      p ? tn_vf_set1(0) : sums[g];
  int64_t k = 0;
  for (; k + chains <= depth; k += chains, r += chains * step) {
    const int64_t ahead = ahead_of(k + chains - 1, rows, step);
    TN_UNROLL for (int p = 0; p < chains; p++) {
      const tn_vf x = tn_vf_set1(h[k + p]);
      TN_UNROLL for (int g = 0; g < gates; g++) {
        const float *at = r + p * step + g * TN_VF_LANES;
        tn_prefetch_l1(at + ahead);
        acc[p][g] = tn_vf_fma(x, tn_vf_load(at), acc[p][g]);
      }
    }
  }
  for (; k < depth; k++, r += step)
    TN_UNROLL for (int g = 0; g < gates; g++) acc[0][g] =
        tn_vf_fma(tn_vf_set1(h[k]), tn_vf_load(r + g * TN_VF_LANES), acc[0][g]);
  TN_UNROLL for (int g = 0; g < gates; g++) {
    if (chains == 4) acc[0][g] = tn_vf_add(acc[0][g], tn_vf_add(acc[2][g], acc[3][g]));
    sums[g] = tn_vf_add(acc[0][g], acc[1][g]);
  }
}

/* Gates [from, from + gates) of a block, which begin with what sums holds. */
static inline void block_sums(const walk *w, int64_t block, int from, int gates, float *const *h,
                              tn_vf sums[SEQUENCES][GATES]) {
  const net *l = w->l;
  const float *r = w->r + block * l->block * l->n.hidden + from * TN_VF_LANES;
  const int64_t rows = (l->blocks - block) * l->n.hidden;
  if (w->live == 1)
    gate_sums_alone(r, l->block, rows, h[0], l->n.hidden, gates, sums[0]);
  else
    gate_sums(r, l->block, rows, h, l->n.hidden, gates, sums);
}

static tn_vf_mask units_of(const walk *w, int64_t block) {
  const int64_t left = w->l->n.hidden - block * TN_VF_LANES;
  return tn_vf_mask_first(left < TN_VF_LANES ? left : TN_VF_LANES);
}

/* The bias of a gate: row 0 that of W, 1 that of R. */
static tn_vf bias_of(const walk *w, int64_t block, int row, int gate) {
  const rnn *n = &w->l->n;
  if (!w->bias) return tn_vf_set1(0);
  return tn_vf_load_mask(units_of(w, block),
                         w->bias + (row * n->gates + gate) * n->hidden + block * TN_VF_LANES);
}

/* What W makes of the input of sequence s for a gate; sequences beyond the live ones have none. */
static tn_vf input_of(const walk *w, int64_t block, int64_t s, int gate) {
  if (s >= w->live) return tn_vf_set1(0);
  return tn_vf_load(w->x[s] + block * w->l->block + gate * TN_VF_LANES);
}

/* sums[s][g] for gates [from, from + gates): input and both biases. */
static inline void begin_sums(const walk *w, int64_t block, int from, int gates,
                              tn_vf sums[SEQUENCES][GATES]) {
  for (int g = 0; g < gates; g++) {
    const tn_vf b = tn_vf_add(bias_of(w, block, 0, from + g), bias_of(w, block, 1, from + g));
    for (int64_t s = 0; s < SEQUENCES; s++)
      sums[s][g] = tn_vf_add(input_of(w, block, s, from + g), b);
  }
}

/* The order of the gates in memory is that of the operator, i o f g. */
static void lstm_block(const walk *w, int64_t block) {
  const int64_t at = block * TN_VF_LANES;
  tn_vf sums[SEQUENCES][GATES];
  begin_sums(w, block, 0, 4, sums);
  block_sums(w, block, 0, 4, w->h, sums);
  for (int64_t s = 0; s < w->live; s++) {
    const tn_vf i = tn_vf_sigmoid(sums[s][0]), o = tn_vf_sigmoid(sums[s][1]),
                f = tn_vf_sigmoid(sums[s][2]), g = tn_vf_tanh(sums[s][3]);
    const tn_vf c = tn_vf_fma(f, tn_vf_load(w->c[s] + at), tn_vf_mul(i, g));
    tn_vf_store(w->c[s] + at, c);
    tn_vf_store(w->next[s] + at, tn_vf_mul(o, tn_vf_tanh(c)));
  }
}

static void rnn_block(const walk *w, int64_t block) {
  tn_vf sums[SEQUENCES][GATES];
  begin_sums(w, block, 0, 1, sums);
  block_sums(w, block, 0, 1, w->h, sums);
  for (int64_t s = 0; s < w->live; s++) {
    const bool relu = w->l->n.activation[w->direction][0].f == RNN_RELU;
    tn_vf_store(w->next[s] + block * TN_VF_LANES,
                relu ? tn_vf_max(tn_vf_set1(0), sums[s][0]) : tn_vf_tanh(sums[s][0]));
  }
}

/* (1 - z) g + z h */
static tn_vf gru_mix(tn_vf z, tn_vf g, tn_vf h) {
  return tn_vf_fma(tn_vf_sub(tn_vf_set1(1), z), g, tn_vf_mul(z, h));
}

/* linear_before_reset: g = tanh(x Wh + Wbh + r (h Rh + Rbh)), gates z r h in one pass. */
static void gru_block_linear(const walk *w, int64_t block) {
  const int64_t at = block * TN_VF_LANES;
  tn_vf sums[SEQUENCES][GATES];
  begin_sums(w, block, 0, 2, sums);
  for (int s = 0; s < SEQUENCES; s++) sums[s][2] = bias_of(w, block, 1, 2);
  block_sums(w, block, 0, 3, w->h, sums);
  for (int64_t s = 0; s < w->live; s++) {
    const tn_vf z = tn_vf_sigmoid(sums[s][0]), r = tn_vf_sigmoid(sums[s][1]),
                x = tn_vf_add(input_of(w, block, s, 2), bias_of(w, block, 0, 2)),
                g = tn_vf_tanh(tn_vf_fma(r, sums[s][2], x));
    tn_vf_store(w->next[s] + at, gru_mix(z, g, tn_vf_load(w->h[s] + at)));
  }
}

/* Otherwise g = tanh(x Wh + (r h) Rh + biases), which needs r of all units: first z and r h ... */
static void gru_block_gates(const walk *w, int64_t block) {
  const int64_t at = block * TN_VF_LANES;
  tn_vf sums[SEQUENCES][GATES];
  begin_sums(w, block, 0, 2, sums);
  block_sums(w, block, 0, 2, w->h, sums);
  for (int64_t s = 0; s < w->live; s++) {
    tn_vf_store(w->c[s] + at, tn_vf_sigmoid(sums[s][0]));
    tn_vf_store(w->scaled[s] + at, tn_vf_mul(tn_vf_sigmoid(sums[s][1]), tn_vf_load(w->h[s] + at)));
  }
}

/* ... then the rest. */
static void gru_block_state(const walk *w, int64_t block) {
  const int64_t at = block * TN_VF_LANES;
  tn_vf sums[SEQUENCES][GATES];
  begin_sums(w, block, 2, 1, sums);
  block_sums(w, block, 2, 1, w->scaled, sums);
  for (int64_t s = 0; s < w->live; s++)
    tn_vf_store(w->next[s] + at, gru_mix(tn_vf_load(w->c[s] + at), tn_vf_tanh(sums[s][0]),
                                         tn_vf_load(w->h[s] + at)));
}

/* Steps of GRU with r before the product need r h of all units first. */
static int64_t turns_per_step(const rnn *n) {
  return n->gates == 3 && !n->linear_before_reset ? 2 : 1;
}

/* The function for a block in a turn. */
typedef void (*block_fn)(const walk *w, int64_t block);
static block_fn block_of_turn(const rnn *n, int64_t turn) {
  if (n->gates == 4) return lstm_block;
  if (n->gates == 1) return rnn_block;
  if (n->linear_before_reset) return gru_block_linear;
  return turn % 2 ? gru_block_state : gru_block_gates;
}

/* Where in time sequence s is at its step k; -1: it is over. */
static int64_t time_of(const walk *w, int64_t s, int64_t k) {
  const int64_t length = rnn_length(&w->l->n, w->first + s);
  if (k >= length) return -1;
  return w->direction == 1 || w->l->n.reverse ? length - 1 - k : k;
}

static float *state_row(const walk *w, int64_t s, int64_t row) {
  return w->states + (s * STATES + row) * w->l->padded;
}

static void walk_to(walk *w, int64_t k) {
  const rnn *n = &w->l->n;
  for (int64_t s = 0; s < SEQUENCES; s++) {
    w->h[s] = state_row(w, s, k % 2);
    w->next[s] = state_row(w, s, 1 - k % 2);
    w->c[s] = state_row(w, s, 2);
    w->scaled[s] = state_row(w, s, 3);
    if (s < w->live)
      w->x[s] = w->xw + (tn_max_i64(time_of(w, s, k), 0) * n->batch + w->first + s) * w->l->width;
  }
}

/* The last states of sequence s, units [u, u + count). */
static void put_last(const walk *w, const tn_call *call, int64_t s, const float *h, int64_t u,
                     int64_t count) {
  const int64_t at = rnn_state_row(&w->l->n, w->direction, w->first + s) + u;
  const size_t bytes = (size_t)count * sizeof(float);
  if (tn_has_output(call, 1)) memcpy((float *)call->outputs[1]->data + at, h + u, bytes);
  if (tn_has_output(call, 2)) memcpy((float *)call->outputs[2]->data + at, w->c[s] + u, bytes);
}

/* What step k gives, units [u, u + count). Sequences that are over go along, and nobody reads what
 * becomes of them. */
static void put_step(const walk *w, const tn_call *call, int64_t k, int64_t u, int64_t count) {
  const rnn *n = &w->l->n;
  for (int64_t s = 0; s < w->live; s++) {
    const int64_t time = time_of(w, s, k);
    if (k + 1 == rnn_length(n, w->first + s)) put_last(w, call, s, w->next[s], u, count);
    if (!tn_has_output(call, 0)) continue;
    float *y = (float *)call->outputs[0]->data +
               rnn_y_row(n, time < 0 ? k : time, w->direction, w->first + s) + u;
    if (time < 0)
      memset(y, 0, (size_t)count * sizeof *y);
    else
      memcpy(y, w->next[s] + u, (size_t)count * sizeof *y);
  }
}

/* Whether a sequence of the group is not over at step k. */
static bool any_at(const walk *w, int64_t k) {
  for (int64_t s = 0; s < w->live; s++)
    if (time_of(w, s, k) >= 0) return true;
  return false;
}

/* Every other turn goes through R backwards, so that what of it the cache still holds is used. */
static void walk_part(const walk *w, const tn_call *call, int64_t turn, int64_t part) {
  const net *l = w->l;
  const int64_t per_step = turns_per_step(&l->n), begin = part * l->blocks / l->parts,
                end = (part + 1) * l->blocks / l->parts, u = begin * TN_VF_LANES;
  const block_fn block = block_of_turn(&l->n, turn);
  if (any_at(w, turn / per_step))
    for (int64_t b = begin; b < end; b++) block(w, turn % 2 ? begin + end - 1 - b : b);
  if ((turn + 1) % per_step == 0)
    put_step(w, call, turn / per_step, u, tn_min_i64(end * TN_VF_LANES, l->n.hidden) - u);
}

/* A group: its index counts directions and groups. room: of all teams. */
static walk walk_make(const net *l, int64_t index, float *room) {
  walk w = {.l = l, .direction = index / l->groups, .first = index % l->groups * SEQUENCES};
  w.live = tn_min_i64(SEQUENCES, l->n.batch - w.first);
  w.team = (tn_team){.words = (tn_team_word *)(void *)(room + index * l->team_floats),
                     .parts = l->parts,
                     .members = l->members};
  w.states = (float *)(void *)((char *)w.team.words + tn_team_bytes(l->parts));
  return w;
}

static void begin_item(const tn_call *call, const net *l, int64_t item, float *room) {
  walk w = walk_make(l, item, room);
  const size_t bytes = (size_t)l->n.hidden * sizeof *room;
  tn_team_begin(w.team.words, l->parts);
  memset(w.states, 0, (size_t)(SEQUENCES * STATES * l->padded) * sizeof *room);
  walk_to(&w, 0);
  for (int64_t s = 0; s < w.live; s++) {
    const int64_t at = rnn_state_row(&l->n, w.direction, w.first + s);
    if (l->n.h0) memcpy(w.h[s], (const float *)l->n.h0->data + at, bytes);
    if (l->n.c0) memcpy(w.c[s], (const float *)l->n.c0->data + at, bytes);
    if (rnn_length(&l->n, w.first + s) == 0) put_last(&w, call, s, w.h[s], 0, l->n.hidden);
  }
}

static void walk_item(const tn_call *call, const net *l, int64_t item, const float *r,
                      const float *xw, float *room) {
  walk w = walk_make(l, item / l->members, room);
  const int64_t turns = l->n.steps * turns_per_step(&l->n);
  w.team.member = item % l->members;
  w.r = r + w.direction * l->r_floats;
  w.xw = xw + w.direction * l->rows * l->width;
  if (l->n.b) w.bias = (const float *)l->n.b->data + w.direction * 2 * l->n.gates * l->n.hidden;
  for (int64_t turn = 0, part; turn < turns; turn++) {
    walk_to(&w, turn / turns_per_step(&l->n));
    while ((part = tn_team_claim(&w.team, turn)) >= 0) {
      tn_team_wait(&w.team, turn);
      walk_part(&w, call, turn, part);
      tn_team_finish(&w.team);
    }
  }
}

static tn_status run(const tn_call *call, int32_t gates, uint32_t stage, int64_t begin, int64_t end,
                     uint32_t worker) {
  net l;
  tn_status s = net_make(call, gates, call->state == NULL, &l);
  if (s) return s;
  float *teams = call->scratch, *xw = teams + l.n.directions * l.groups * l.team_floats;
  float *packed = l.packs ? xw + l.n.directions * l.rows * l.width : call->state;
  float *strips =
      (float *)(void *)((char *)call->worker_scratch + worker * call->worker_scratch_bytes);
  for (int64_t item = begin; item < end; item++) {
    if (stage < l.packs)
      pack_item(&l, item, packed);
    else if (stage == l.packs)
      begin_item(call, &l, item, teams);
    else if (stage == l.packs + 1)
      project_item(&l, item, packed, xw, strips);
    else
      walk_item(call, &l, item, packed + l.n.directions * l.w_floats, xw, teams);
  }
  return TN_OK;
}

/* name_f32_<isa>, name_refuse_<isa>, name_plan_<isa> and name_prepare_<isa>. */
#define CELL_KERNEL(name, gates)                                                               \
  const char *TN_SIMD_NAME(name##_refuse)(const tn_call *call) { return refuse(call, gates); } \
  tn_status TN_SIMD_NAME(name##_plan)(const tn_call *call, tn_kernel_plan *out) {              \
    return plan(call, gates, out);                                                             \
  }                                                                                            \
  tn_status TN_SIMD_NAME(name##_prepare)(const tn_call *call) { return prepare(call, gates); } \
  tn_status TN_SIMD_NAME(name##_f32)(const tn_call *call, uint32_t stage, int64_t begin,       \
                                     int64_t end, uint32_t worker) {                           \
    return run(call, gates, stage, begin, end, worker);                                        \
  }
CELL_KERNEL(rnn, 1)
CELL_KERNEL(gru, 3)
CELL_KERNEL(lstm, 4)
