/* GroupQueryAttention on GPUs: the queries, turned and scaled, into scratch; the new cache; then a
 * group for each query of a head, whose scores lie in scratch, too. How many keys a batch has is
 * data: lengths that do not fit, and positions that the tables do not have, count as the nearest
 * that do. */
#ifdef TN_GPU
/* Keys of batch b before the new ones. */
#define BEFORE(before, b)                                              \
  int before = LDI(TOTAL, 0) == n_q ? 0 : LDI(LENGTHS, b) - (n_q - 1); \
  before = before < 0 ? 0 : before > most_before ? most_before : before;

/* y: channel c of new row `row`, which begins at X[at], turned by the angle of its place. */
#define TURNED(y, at, c, b, row, before)                                   \
  float y = LD1(X, at + c);                                                \
  if (TURNS != 0 && c < 2 * pairs) {                                       \
    int pair = INTERLEAVED != 0 ? c / 2 : c % pairs, place = before + row; \
    int other = INTERLEAVED != 0 ? 1 : pairs;                              \
    bool is_first = INTERLEAVED != 0 ? c % 2 == 0 : c < pairs;             \
    if (HAS_P != 0) place = LDI(P, b * n_q + row);                         \
    place = place < 0 ? 0 : place < places ? place : places - 1;           \
    float cosine = LD1(C, place * pairs + pair);                           \
    float sine = LD1(S, place * pairs + pair);                             \
    float x = LD1(X, at + (is_first ? c + other : c - other));             \
    y = is_first ? y * cosine - x * sine : y * cosine + x * sine;          \
  }

KERNEL(grouped_queries, (IN(X), IN(LENGTHS), IN(TOTAL), IN(C), IN(S), IN(P), OUT(Y)),
       (CONST(TURNS), CONST(INTERLEAVED), CONST(HAS_P), INT(n), INT(heads), INT(n_q), INT(size),
        INT(row_size), INT(most_before), INT(pairs), INT(places), FLOAT(scale)),
       64, 1, 1) {
  int i = GLOBAL(0);
  if (i < n) {
    int c = i % size, head = i / size % heads, item = i / size / heads;
    int b = item / n_q, row = item % n_q, at = item * row_size + head * size;
    BEFORE(before, b)
    TURNED(y, at, c, b, row, before)
    y *= scale;
    ST1(Y, i, y);
  }
}

/* Keys or values: `rows` rows of each head, all of them, or the new ones. */
KERNEL(grouped_cache, (IN(X), IN(PAST), IN(LENGTHS), IN(TOTAL), IN(C), IN(S), IN(P), OUT(Y)),
       (CONST(ALL), CONST(TURNS), CONST(INTERLEAVED), CONST(HAS_P), INT(n), INT(heads), INT(n_q),
        INT(size), INT(row_size), INT(skipped), INT(rows), INT(past), INT(present),
        INT(most_before), INT(pairs), INT(places)),
       64, 1, 1) {
  int i = GLOBAL(0);
  if (i < n) {
    int c = i % size, head = i / size / rows, b = head / heads;
    BEFORE(before, b)
    int j = i / size % rows;
    if (ALL == 0) j += before;
    int row = j - before, to = (head * present + j) * size + c;
    if (row >= 0 && row < n_q) {
      int at = (b * n_q + row) * row_size + skipped + head % heads * size;
      TURNED(y, at, c, b, row, before)
      ST1(Y, to, y);
    } else if (j < past) {
      ST1(Y, to, LD1(PAST, (head * past + j) * size + c));
    } else {
      ST1(Y, to, 0.0f);
    }
  }
}

/* Rows from `first` on. lanes: fours of a head. Q and S have no batch of rows but these. */
KERNEL(grouped_attention,
       (IN(Q), IN(K), IN(V), IN(LENGTHS), IN(TOTAL), IN(BIAS), IN(SINK), OUT(S), OUT(Y)),
       (CONST(HAS_BIAS), CONST(HAS_SINK), CONST(SINKS), INT(first), INT(rows), INT(heads),
        INT(sharing), INT(n_q), INT(lanes), INT(present), INT(most_before), INT(window),
        INT(columns), INT(bias_batch), INT(bias_head), FLOAT(softcap)),
       64, 1, 1) {
  LOCAL(float, part, 256);
  int t = LOCAL_ID(0), row = first + GROUP(0), head = GROUP(1), b = GROUP(2);
  int q = ((b * n_q + row) * heads + head) * lanes * 4;
  int kv = (b * (heads / sharing) + head / sharing) * present * lanes * 4;
  int s = ((b * heads + head) * rows + GROUP(0)) * present;
  int bias = (b * bias_batch + head * bias_head + row) * columns;
  BEFORE(before, b)
  int end = before + row + 1, begin = 0;
  if (window > 0 && end > window) begin = end - window;
  if (HAS_BIAS != 0 && end > columns) end = columns;
  float top = -INFINITY, sink = 0.0f, sum = 0.0f;
  if (HAS_SINK != 0) sink = LD1(SINK, head);
  if (SINKS != 0) top = sink;
  for (int j = begin + t; j < end; j += 64) {
    f32x4 four = F32X4(0.0f);
    for (int c = 0; c < lanes; c++) four += LD4(Q, q + c * 4) * LD4(K, kv + (j * lanes + c) * 4);
    float x = four.x + four.y + (four.z + four.w);
    if (softcap > 0.0f) x = softcap * tanh(x / softcap);
    if (HAS_BIAS != 0) {
      float more = LD1(BIAS, bias + j);
      x = more == -INFINITY ? more : x + more;
    }
    ST1(S, s + j, x);
    top = x > top || IS_NAN(x) ? x : top;
  }
  part[t] = top;
  BARRIER();
  for (int i = 0; i < 64; i++) top = part[i] > top || IS_NAN(part[i]) ? part[i] : top;
  BARRIER();
  for (int j = begin + t; j < end; j += 64) {
    float x = top == -INFINITY ? 0.0f : exp(LD1(S, s + j) - top);
    ST1(S, s + j, x);
    sum += x;
  }
  part[t] = sum;
  BARRIER();
  sum = SINKS != 0 && top != -INFINITY ? exp(sink - top) : 0.0f;
  for (int i = 0; i < 64; i++) sum += part[i];
  BARRIER();
  int lane = t % lanes, slot = t / lanes, slots = 64 / lanes;
  f32x4 y = F32X4(0.0f);
  for (int j = begin + slot; slot < slots && j < end; j += slots) {
    float p = LD1(S, s + j);
    if (p != 0.0f) y += p * LD4(V, kv + (j * lanes + lane) * 4);
  }
  part[t * 4] = y.x;
  part[t * 4 + 1] = y.y;
  part[t * 4 + 2] = y.z;
  part[t * 4 + 3] = y.w;
  BARRIER();
  if (slot == 0) {
    y = LOCAL4(part, lane * 4);
    for (int i = 1; i < slots; i++) y += LOCAL4(part, (i * lanes + lane) * 4);
    y = y * (sum == 0.0f ? 0.0f : 1.0f / sum);
    ST4(Y, q + lane * 4, y);
  }
}
#else
#include <math.h>

#include "group_query.h"
#include "tenon/experimental/gpu.h"

enum {
  LARGEST = 256,         /* elements of a head: 64 threads have four each */
  MOST_SCORES = 16 << 20 /* in scratch, where that is a row at least */
};

/* What the dispatches share. */
typedef struct grouped_gpu {
  grouped g;
  int64_t most_before, places, window;
  int64_t rows; /* queries of a dispatch of grouped_attention */
  uint64_t queries_bytes;
} grouped_gpu;

static tn_status make(const tn_call *call, grouped_gpu *out) {
  grouped_gpu w = {0};
  const tn_status status = grouped_sizes(call, &w.g);
  if (status) return status;
  w.g.present = call->outputs[1]->shape[2];
  w.most_before = tn_min_i64(w.g.past, w.g.present - w.g.n_q);
  w.places = w.g.rotated ? call->inputs[COSINES]->shape[0] : 0;
  w.window = tn_min_i64(w.g.window, INT32_MAX);
  const int64_t scores = tn_max_i64(1, w.g.batch * w.g.heads * w.g.present);
  w.rows = tn_max_i64(1, tn_min_i64(tn_min_i64(w.g.n_q, UINT16_MAX), MOST_SCORES / scores));
  const uint64_t queries = (uint64_t)(w.g.batch * w.g.n_q * w.g.heads * w.g.size) * sizeof(float);
  w.queries_bytes = (queries + 255) / 256 * 256;
  *out = w;
  return TN_OK;
}

/* Lengths and positions that are known have to fit: the CPU says that they do not. */
static bool fits_data(const tn_call *call, const grouped *g) {
  const tn_tensor *positions = tn_input(call, POSITIONS);
  const bool is_placed = g->rotated && (!positions || positions->data);
  grouped known;
  if (!call->inputs[LENGTHS]->data || !call->inputs[TOTAL]->data) return true;
  if (grouped_of(call, &known)) return false;
  for (int64_t b = 0; b < g->batch; b++) {
    int64_t before, row;
    if (grouped_before(call, &known, b, &before)) return false;
    for (int64_t i = 0; is_placed && i < g->n_q; i++)
      if (grouped_table_row(call, &known, b, before, i, &row)) return false;
  }
  return true;
}

/* At most, of the loops of a thread of grouped_attention. */
static int64_t rounds_of(const grouped *g) {
  enum { OTHERS = 3 * 64 }; /* tops, sums, parts of a value */
  const int64_t lanes = tn_max_i64(1, g->size / 4), scores = tn_ceil_div(g->present, 64);
  return scores * (lanes + 2) + tn_ceil_div(g->present, 64 / lanes) + OTHERS;
}

const char *group_query_attention_gpu_refuse(const tn_call *call) {
  grouped_gpu w;
  if (!tn_has_output(call, 1) || !tn_has_output(call, 2))
    return "takes calls that ask for present_key and present_value";
  if (make(call, &w)) return "its shapes do not fit";
  if (w.g.size % 4 || w.g.size > LARGEST) return "takes heads of 4, 8, 12 ... 256 elements";
  if (w.g.heads > UINT16_MAX || w.g.batch > UINT16_MAX) return "takes heads and batches to 65535";
  if (w.g.batch * w.g.heads * w.g.present > INT32_MAX) return "takes up to 2^31 scores of a row";
  const char *reason = tn_gpu_refuse_rounds(call, rounds_of(&w.g));
  if (reason) return reason;
  if (w.g.rotated && !w.places) return "a position is beyond the rows of cos_cache";
  if (!fits_data(call, &w.g)) return "lengths or positions do not fit";
  return tn_gpu_refuse_size(call);
}

tn_status group_query_attention_gpu_plan(const tn_call *call, tn_kernel_plan *out) {
  grouped_gpu w;
  const tn_status status = make(call, &w);
  if (status) return status;
  for (int32_t k = 1; k <= 2; k++)
    if (w.g.past == w.g.present) out->in_place[k] = k == 1 ? PAST_KEY : PAST_VALUE;
  out->scratch_bytes = w.queries_bytes +
                       (uint64_t)(w.g.batch * w.g.heads * w.rows * w.g.present + 1) * sizeof(float);
  return TN_OK;
}

static void add_angles(tn_gpu *g, bool turns) {
  tn_gpu_in(g, LENGTHS);
  tn_gpu_in(g, TOTAL);
  tn_gpu_in(g, turns ? COSINES : -1);
  tn_gpu_in(g, turns ? SINES : -1);
  tn_gpu_in(g, turns ? POSITIONS : -1);
}

static void add_turn_consts(tn_gpu *g, const grouped_gpu *w, bool turns) {
  tn_gpu_const(g, turns);
  tn_gpu_const(g, w->g.interleaved);
  tn_gpu_const(g, tn_has_input(g->call, POSITIONS));
}

static void add_ints(tn_gpu *g, const int64_t *ints, size_t n) {
  for (size_t k = 0; k < n; k++) tn_gpu_int(g, ints[k]);
}

static void add_queries(tn_gpu *g, const grouped_gpu *w) {
  tn_gpu_buffer(g, TN_BIND_SCRATCH, 0, TN_F32, 0, w->queries_bytes);
}

static tn_status record_queries(const tn_call *call, tn_recorder *r, const grouped_gpu *w) {
  const int64_t n = w->g.batch * w->g.n_q * w->g.heads * w->g.size;
  const int64_t ints[] = {n,          w->g.heads,     w->g.n_q,         w->g.size,
                          w->g.q_row, w->most_before, w->g.rotated / 2, w->places};
  tn_gpu g;
  tn_gpu_begin(&g, call, GPU_grouped_queries);
  tn_gpu_in(&g, QUERY);
  add_angles(&g, w->g.rotated > 0);
  add_queries(&g, w);
  add_turn_consts(&g, w, w->g.rotated > 0);
  add_ints(&g, ints, sizeof ints / sizeof *ints);
  tn_gpu_float(&g, w->g.scale);
  return tn_gpu_run(&g, r, tn_gpu_groups(n, 64), 1, 1);
}

/* which: 1 (keys) or 2 (values). A cache that does not grow is there already, but for the new
 * rows. */
static tn_status record_cache(const tn_call *call, tn_recorder *r, const grouped_gpu *w,
                              uint32_t which) {
  const uint32_t past = which == 1 ? PAST_KEY : PAST_VALUE;
  const bool turns = which == 1 && w->g.rotated > 0, grows = w->g.past != w->g.present;
  const tn_binding from = {TN_HEAD(tn_binding), TN_BIND_INPUT, past, 0, 0},
                   to = {TN_HEAD(tn_binding), TN_BIND_OUTPUT, which, 0, 0};
  const tn_status status = grows ? TN_OK : r->copy(r->ctx, &from, &to);
  const int64_t rows = grows ? w->g.present : w->g.n_q,
                n = w->g.batch * w->g.kv_heads * rows * w->g.size;
  const int64_t ints[] = {n,
                          w->g.kv_heads,
                          w->g.n_q,
                          w->g.size,
                          w->g.kv_row,
                          new_row(&w->g, (int)which, 0, 0, 0),
                          rows,
                          w->g.past,
                          w->g.present,
                          w->most_before,
                          w->g.rotated / 2,
                          w->places};
  tn_gpu g;
  if (status || !n) return status;
  tn_gpu_begin(&g, call, GPU_grouped_cache);
  tn_gpu_in(&g, w->g.packed ? QUERY : (int32_t)which);
  tn_gpu_in(&g, grows ? (int32_t)past : -1);
  add_angles(&g, turns);
  tn_gpu_out(&g, (int32_t)which);
  tn_gpu_const(&g, grows);
  add_turn_consts(&g, w, turns);
  add_ints(&g, ints, sizeof ints / sizeof *ints);
  return tn_gpu_run(&g, r, tn_gpu_groups(n, 64), 1, 1);
}

/* Queries from `first` on, `rows` of them. */
static tn_status record_attention(const tn_call *call, tn_recorder *r, const grouped_gpu *w,
                                  int64_t first) {
  const tn_tensor *bias = tn_input(call, BIAS);
  const int64_t rows = tn_min_i64(w->rows, w->g.n_q - first);
  const int64_t bias_head = bias && bias->shape[1] > 1 ? w->g.n_q : 0,
                bias_batch = bias && bias->shape[0] > 1 ? bias->shape[1] * w->g.n_q : 0;
  const int64_t ints[] = {first,        rows,
                          w->g.heads,   w->g.heads / w->g.kv_heads,
                          w->g.n_q,     w->g.size / 4,
                          w->g.present, w->most_before,
                          w->window,    bias ? bias->shape[3] : 0,
                          bias_batch,   bias_head};
  tn_gpu g;
  tn_gpu_begin(&g, call, GPU_grouped_attention);
  add_queries(&g, w);
  tn_gpu_out(&g, 1);
  tn_gpu_out(&g, 2);
  tn_gpu_in(&g, LENGTHS);
  tn_gpu_in(&g, TOTAL);
  tn_gpu_in(&g, BIAS);
  tn_gpu_in(&g, SINK);
  tn_gpu_buffer(&g, TN_BIND_SCRATCH, 0, TN_F32, w->queries_bytes, 0);
  tn_gpu_out(&g, 0);
  tn_gpu_const(&g, bias != NULL);
  tn_gpu_const(&g, tn_has_input(call, SINK));
  tn_gpu_const(&g, w->g.sinking);
  add_ints(&g, ints, sizeof ints / sizeof *ints);
  tn_gpu_float(&g, w->g.softcap);
  return tn_gpu_run(&g, r, (uint32_t)rows, (uint32_t)w->g.heads, (uint32_t)w->g.batch);
}

tn_status group_query_attention_gpu_record(const tn_call *call, tn_recorder *recorder) {
  grouped_gpu w;
  tn_status status = make(call, &w);
  for (uint32_t which = 1; which <= 2 && !status; which++)
    status = record_cache(call, recorder, &w, which);
  if (status || tn_elements(call->outputs[0]) == 0) return status;
  status = record_queries(call, recorder, &w);
  for (int64_t first = 0; first < w.g.n_q && !status; first += w.rows)
    status = record_attention(call, recorder, &w, first);
  return status;
}
#endif
