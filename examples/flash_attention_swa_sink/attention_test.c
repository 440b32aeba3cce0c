/* Tests the plug-in through Tenon's public API against a definition written here anew, in f64 and
 * without a line of the plug-in: seeded random shapes and attributes, all dtypes, 1 to 4 threads,
 * every instruction set; then what must be refused.
 *
 * Keys that no query may see are NaN in K and V, and so are the unused slots of the page pool: one
 * that is read anyway shows in the result.
 *
 * usage: attention_test PLUGIN.so [N-CONFIGURATIONS] [SEED] */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "one_op.h"

#define DOMAIN "tenon.examples"

enum { N_THREADS = 4, N_ISAS = 3, FULL_RUNS = 240 };
static const uint64_t isas[N_ISAS] = {0, TN_ISA_AVX2 | TN_ISA_AVX | TN_ISA_SSE41,
                                      UINT64_C(1) << 63};

typedef struct tester {
  tn_runtime *runtimes[N_THREADS][N_ISAS];
  tn_diag *diag;
  uint64_t random;
  int n_bad;
} tester;

/* ---- numbers ---- */

static uint64_t next(tester *t) { /* xorshift64* (Vigna, 2016) */
  t->random ^= t->random >> 12;
  t->random ^= t->random << 25;
  t->random ^= t->random >> 27;
  return t->random * UINT64_C(2685821657736338717);
}
static int64_t pick(tester *t, int64_t lo, int64_t hi) {
  return lo + (int64_t)((next(t) >> 33) % (uint64_t)(hi - lo + 1));
}
static double uniform(tester *t) { return (double)(next(t) >> 11) * 0x1p-52 - 1; } /* -1 .. 1 */

/* The nearest number that has `digits` binary digits and an exponent of at least `least`. */
static double rounded(double x, int digits, int least) {
  int e;
  if (!isfinite(x) || x == 0) return x;
  frexp(x, &e);
  double unit = ldexp(1, (e > least ? e : least) - digits);
  return nearbyint(x / unit) * unit;
}

static double as_dtype(uint32_t dtype, double x) {
  if (dtype == TN_F16) return rounded(x, 11, -13);
  return dtype == TN_BF16 ? rounded(x, 8, -125) : (double)(float)x;
}

/* Bits of a half float, taken apart with ldexp: slow, and plainly right. */
static double half_value(uint32_t dtype, uint16_t h) {
  int digits = dtype == TN_F16 ? 10 : 7, bias = dtype == TN_F16 ? 15 : 127;
  int exponent = (h & 0x7fff) >> digits, mantissa = h & ((1 << digits) - 1);
  double sign = h & 0x8000 ? -1 : 1;
  if (exponent == 2 * bias + 1) return mantissa ? NAN : sign * INFINITY;
  if (!exponent) return sign * ldexp(mantissa, 1 - bias - digits);
  return sign * ldexp(mantissa + (1 << digits), exponent - bias - digits);
}

static uint16_t half_bits(uint32_t dtype, double x) { /* x is a number of that dtype already */
  int digits = dtype == TN_F16 ? 10 : 7, bias = dtype == TN_F16 ? 15 : 127, e;
  if (isnan(x)) return dtype == TN_F16 ? 0x7e00 : 0x7fc0;
  uint16_t sign = (uint16_t)(signbit(x) ? 0x8000 : 0);
  double m = fabs(frexp(x, &e));
  if (x == 0) return sign;
  if (e - 1 + bias <= 0) return (uint16_t)(sign | (int)ldexp(fabs(x), bias - 1 + digits));
  return (uint16_t)(sign | (e - 1 + bias) << digits |
                    ((int)ldexp(m, digits + 1) & ((1 << digits) - 1)));
}

/* ---- tensors: values in f64, and the same as Tenon gets them ---- */

typedef struct array {
  tn_tensor tensor;
  double *value;
  void *data;
} array;

static int64_t count_of(const int64_t *shape, int rank) {
  int64_t n = 1;
  for (int d = 0; d < rank; d++) n *= shape[d];
  return n;
}

static array array_make(uint32_t dtype, int rank, const int64_t *shape) {
  size_t n = (size_t)count_of(shape, rank) + 1; /* never zero bytes */
  array a = {.value = calloc(n, sizeof(double)), .data = calloc(n, 8)};
  if (!a.value || !a.data) exit(2);
  a.tensor = tn_tensor_make(dtype, rank, shape, a.data);
  return a;
}
static void array_free(array *a) { free(a->value), free(a->data); }

/* value -> data */
static void array_pack(array *a) {
  int64_t n = tn_tensor_elements(&a->tensor);
  for (int64_t i = 0; i < n; i++) {
    if (a->tensor.dtype == TN_F32) ((float *)a->data)[i] = (float)a->value[i];
    if (a->tensor.dtype == TN_I32) ((int32_t *)a->data)[i] = (int32_t)a->value[i];
    if (a->tensor.dtype == TN_I64) ((int64_t *)a->data)[i] = (int64_t)a->value[i];
    if (a->tensor.dtype == TN_F16 || a->tensor.dtype == TN_BF16)
      ((uint16_t *)a->data)[i] = half_bits(a->tensor.dtype, a->value[i]);
  }
}

static double element(const tn_tensor *t, int64_t i) {
  return t->dtype == TN_F32 ? (double)((const float *)t->data)[i]
                            : half_value(t->dtype, ((const uint16_t *)t->data)[i]);
}

static array random_array(tester *t, uint32_t dtype, int rank, const int64_t *shape, double scale) {
  array a = array_make(dtype, rank, shape);
  for (int64_t i = 0; i < count_of(shape, rank); i++)
    a.value[i] = as_dtype(dtype, scale * uniform(t));
  return a;
}

/* ---- one configuration ---- */

typedef struct config {
  int64_t b, sq, skv, hq, hkv, dqk, dv;
  bool causal, has_sink, has_scale, has_offsets, paged;
  int64_t window, q_offset, k_offset;
  double scale;
  uint32_t dtype, sink_dtype, index_dtype;
  int64_t pages, page_size, max_pages;
  int threads, isa;
} config;

typedef struct data {
  array q, k, v, sink, table, lengths, offsets;
  int64_t *row; /* [b][key]: where the key lies in k and v */
} data;

static int64_t length_of(const config *c, const data *d, int64_t b) {
  return c->paged ? (int64_t)d->lengths.value[b] : c->skv;
}

/* Position of query 0 (which 0) or key 0 (1) of sequence b. */
static int64_t offset_of(const config *c, const data *d, int64_t b, int which) {
  if (c->has_offsets) return (int64_t)d->offsets.value[2 * b + which];
  return which ? c->k_offset : c->q_offset;
}

/* The definition: does query s of sequence b see key j? */
static bool sees(const config *c, const data *d, int64_t b, int64_t s, int64_t j) {
  int64_t query = s + (c->paged ? length_of(c, d, b) - c->sq : offset_of(c, d, b, 0));
  int64_t key = j + (c->paged ? 0 : offset_of(c, d, b, 1)), distance = query - key;
  if (c->causal && distance < 0) return false;
  if (c->window && (distance >= c->window || -distance >= c->window)) return false;
  return true;
}

/* Output row (b, s, h), and how far f32 arithmetic may be from it. */
static void expect_row(const config *c, const data *d, int64_t b, int64_t s, int64_t h, double *out,
                       double *out_error) {
  int64_t n = length_of(c, d, b), g = h / (c->hq / c->hkv);
  const double *q = d->q.value + ((b * c->sq + s) * c->hq + h) * c->dqk;
  long double sum = c->has_sink ? expl((long double)d->sink.value[h]) : 0;
  double steepest = 0, largest = 0;
  long double acc[64] = {0};
  for (int64_t j = 0; j < n; j++) {
    if (!sees(c, d, b, s, j)) continue;
    const double *k = d->k.value + (d->row[b * c->skv + j] * c->hkv + g) * c->dqk;
    const double *v = d->v.value + (d->row[b * c->skv + j] * c->hkv + g) * c->dv;
    double z = 0, size = 0;
    for (int64_t i = 0; i < c->dqk; i++) z += q[i] * k[i], size += fabs(q[i] * k[i]);
    long double e = expl((long double)(c->scale * z));
    sum += e;
    steepest = fmax(steepest, fabs(c->scale) * size);
    for (int64_t i = 0; i < c->dv; i++) acc[i] += e * v[i], largest = fmax(largest, fabs(v[i]));
  }
  for (int64_t i = 0; i < c->dv; i++) out[i] = sum > 0 ? (double)(acc[i] / sum) : 0;
  /* Each score is wrong by some eps of its terms, which makes its weight wrong by as much; the sums
   * over keys are short and have all weights positive. */
  *out_error = 0x1p-24 * largest * (32 + 8 * steepest);
}

static config random_config(tester *t, int round) {
  static const uint32_t dtypes[] = {TN_F32, TN_F16, TN_BF16};
  config c = {
      .b = pick(t, 1, 2), .hkv = pick(t, 1, 3), .dqk = pick(t, 1, 40), .dv = pick(t, 1, 40)};
  c.hq = c.hkv * pick(t, 1, 5);
  c.sq = round % 4 == 0 ? 1 : round % 7 == 0 ? pick(t, 60, 150) : pick(t, 1, 24);
  c.skv = round % 5 == 0 ? pick(t, 65, 200) : pick(t, 0, 40); /* often shorter than the queries */
  c.causal = pick(t, 0, 3) > 0;
  c.has_sink = pick(t, 0, 1);
  c.has_scale = pick(t, 0, 1);
  c.scale = c.has_scale ? (double)(float)(2 * uniform(t)) : 1 / sqrt((double)c.dqk);
  c.window = pick(t, 0, 2) ? pick(t, 1, 1 + (pick(t, 0, 1) ? 3 : c.skv)) : 0;
  c.q_offset = pick(t, 0, 1) * pick(t, 0, c.skv + 10);
  c.k_offset = pick(t, 0, 2) ? 0 : pick(t, 0, 30);
  c.dtype = dtypes[round % 3];
  c.sink_dtype = pick(t, 0, 1) ? TN_F32 : c.dtype;
  c.paged = round % 3 == round / 3 % 3;
  c.has_offsets = !c.paged && pick(t, 0, 1);
  c.index_dtype = pick(t, 0, 1) ? TN_I32 : TN_I64;
  c.threads = 1 + round % N_THREADS;
  c.isa = (int)pick(t, 0, N_ISAS - 1);
  if (c.paged) {
    c.page_size = pick(t, 1, 9);
    c.max_pages = (c.skv + c.page_size - 1) / c.page_size + pick(t, 0, 2);
    c.skv = c.max_pages * c.page_size;
    c.pages = c.b * c.max_pages + pick(t, 1, 3);
    c.q_offset = c.k_offset = 0;
  }
  return c;
}

/* Pages in shuffled order; entries behind the context's end are out of range, and may be. */
static void fill_table(tester *t, const config *c, data *d) {
  int64_t *deck = calloc((size_t)c->pages, sizeof *deck);
  if (!deck) exit(2);
  for (int64_t k = 0; k < c->pages; k++) {
    int64_t other = pick(t, 0, k);
    deck[k] = deck[other];
    deck[other] = k;
  }
  for (int64_t b = 0; b < c->b; b++) {
    d->lengths.value[b] = (double)pick(t, 0, c->skv);
    for (int64_t k = 0; k < c->max_pages; k++) {
      bool used = (double)(k * c->page_size) < d->lengths.value[b];
      d->table.value[b * c->max_pages + k] = used ? (double)deck[b * c->max_pages + k] : -1;
    }
  }
  free(deck);
}

/* Rows of K and V that no query of their sequence sees become NaN. */
static void poison(const config *c, data *d) {
  int64_t n = d->k.tensor.shape[0] * d->k.tensor.shape[1];
  bool *seen = calloc((size_t)n + 1, 1);
  if (!seen) exit(2);
  for (int64_t b = 0; b < c->b; b++)
    for (int64_t j = 0; j < length_of(c, d, b); j++)
      for (int64_t s = 0; s < c->sq; s++)
        if (sees(c, d, b, s, j)) seen[d->row[b * c->skv + j]] = true;
  for (int64_t row = 0; row < n; row++) {
    if (seen[row]) continue;
    for (int64_t i = 0; i < c->hkv * c->dqk; i++) d->k.value[row * c->hkv * c->dqk + i] = NAN;
    for (int64_t i = 0; i < c->hkv * c->dv; i++) d->v.value[row * c->hkv * c->dv + i] = NAN;
  }
  free(seen);
}

static int64_t max_zero(int64_t n) { return n > 0 ? n : 0; }

static data random_data(tester *t, const config *c) {
  int64_t n = c->paged ? c->pages : c->b, m = c->paged ? c->page_size : c->skv;
  data d = {.q = random_array(t, c->dtype, 4, (int64_t[]){c->b, c->sq, c->hq, c->dqk}, 2),
            .k = random_array(t, c->dtype, 4, (int64_t[]){n, m, c->hkv, c->dqk}, 2),
            .v = random_array(t, c->dtype, 4, (int64_t[]){n, m, c->hkv, c->dv}, 3),
            .sink = random_array(t, c->sink_dtype, 1, &c->hq, 3),
            .table = array_make(c->index_dtype, 2, (int64_t[]){c->b, c->max_pages}),
            .lengths = array_make(c->index_dtype, 1, &c->b),
            .offsets = array_make(c->index_dtype, 2, (int64_t[]){c->b, 2}),
            .row = calloc((size_t)(c->b * c->skv) + 1, sizeof(int64_t))};
  if (!d.row) exit(2);
  if (c->paged) fill_table(t, c, &d);
  for (int64_t b = 0; b < c->b; b++) { /* the last positions, or any */
    d.offsets.value[2 * b] = (double)(pick(t, 0, 1) ? max_zero(c->skv - c->sq) : pick(t, 0, 50));
    d.offsets.value[2 * b + 1] = (double)(pick(t, 0, 1) ? 0 : pick(t, 0, 30));
  }
  for (int64_t b = 0; b < c->b; b++)
    for (int64_t j = 0; j < length_of(c, &d, b); j++)
      d.row[b * c->skv + j] =
          c->paged ? (int64_t)d.table.value[b * c->max_pages + j / c->page_size] * c->page_size +
                         j % c->page_size
                   : b * c->skv + j;
  poison(c, &d);
  array *all[] = {&d.q, &d.k, &d.v, &d.sink, &d.table, &d.lengths, &d.offsets};
  for (int k = 0; k < 7; k++) array_pack(all[k]);
  return d;
}

static void data_free(data *d) {
  array *all[] = {&d->q, &d->k, &d->v, &d->sink, &d->table, &d->lengths, &d->offsets};
  for (int k = 0; k < 7; k++) array_free(all[k]);
  free(d->row);
}

/* ---- running ---- */

static tn_status make_model(tester *t, const config *c, const data *d, one_op *out) {
  tn_attr attrs[] = {one_op_int("causal", c->causal), one_op_int("window", c->window),
                     one_op_int("q_offset", c->q_offset), one_op_int("k_offset", c->k_offset),
                     one_op_float("scale", c->scale)};
  const tn_attr *list[5] = {&attrs[0], &attrs[1]};
  uint32_t n = 2;
  if (!c->paged) list[n++] = &attrs[2], list[n++] = &attrs[3];
  if (c->has_scale) list[n++] = &attrs[4];
  const tn_tensor *sink = c->has_sink ? &d->sink.tensor : NULL;
  const tn_tensor *offsets = c->has_offsets ? &d->offsets.tensor : NULL;
  const tn_tensor *flat[] = {&d->q.tensor, &d->k.tensor, &d->v.tensor, sink, offsets};
  const tn_tensor *paged[] = {&d->q.tensor,     &d->k.tensor,       &d->v.tensor,
                              &d->table.tensor, &d->lengths.tensor, sink};
  const uint32_t more = c->has_offsets ? 2 : c->has_sink;
  tn_runtime *runtime = t->runtimes[c->threads - 1][c->isa];
  return one_op_create(runtime, DOMAIN, c->paged ? "paged_attention" : "flash_attention_2_swa_sink",
                       c->paged ? paged : flat, (c->paged ? 5 : 3) + more, list, n, t->diag, out);
}

static void describe(const config *c) {
  printf(
      "%s %s B=%lld Sq=%lld Skv=%lld Hq=%lld Hkv=%lld Dqk=%lld Dv=%lld causal=%d window=%lld "
      "offsets=%lld,%lld,%d sink=%d page_size=%lld threads=%d isa=%d: ",
      c->paged ? "paged" : "flash", tn_dtype_name(c->dtype), (long long)c->b, (long long)c->sq,
      (long long)c->skv, (long long)c->hq, (long long)c->hkv, (long long)c->dqk, (long long)c->dv,
      c->causal, (long long)c->window, (long long)c->q_offset, (long long)c->k_offset,
      c->has_offsets, c->has_sink, (long long)c->page_size, c->threads, c->isa);
}

static int compare(const config *c, const data *d, const tn_tensor *got) {
  double eps = c->dtype == TN_F32   ? 0x1p-24
               : c->dtype == TN_F16 ? 0x1p-11
                                    : 0x1p-8,
         want[64], error;
  double tiny = c->dtype == TN_F16 ? 0x1p-25 : 0x1p-133;
  int64_t shape[] = {c->b, c->sq, c->hq, c->dv};
  if (!got || got->rank != 4 || memcmp(got->shape, shape, sizeof shape) || got->dtype != c->dtype) {
    describe(c);
    return puts("the output has the wrong type"), 1;
  }
  for (int64_t row = 0; row < c->b * c->sq * c->hq; row++) {
    expect_row(c, d, row / c->hq / c->sq, row / c->hq % c->sq, row % c->hq, want, &error);
    for (int64_t i = 0; i < c->dv; i++) {
      double y = element(got, row * c->dv + i);
      if (fabs(y - want[i]) <= error + eps * (fabs(want[i]) + error) + tiny) continue;
      describe(c);
      printf("row %lld, channel %lld is %.9g, not %.9g\n", (long long)row, (long long)i, y,
             want[i]);
      return 1;
    }
  }
  return 0;
}

static void run_config(tester *t, const config *c) {
  data d = random_data(t, c);
  one_op o = {NULL, NULL};
  tn_diag_clear(t->diag);
  tn_status status = make_model(t, c, &d, &o);
  if (!status) status = tn_session_run(o.session, t->diag);
  if (status) {
    describe(c);
    printf("%s\n", tn_diag_text(t->diag));
  }
  t->n_bad += status || compare(c, &d, tn_session_output(o.session, 0));
  one_op_destroy(&o);
  data_free(&d);
}

/* ---- what must be refused ---- */

/* The configuration fails, and the message has `words`. */
static void refuse(tester *t, const config *c, const data *d, const char *words) {
  one_op o = {NULL, NULL};
  tn_diag_clear(t->diag);
  tn_status status = make_model(t, c, d, &o);
  if (!status) status = tn_session_run(o.session, t->diag);
  if (!status || !strstr(tn_diag_text(t->diag), words)) {
    printf("expected the error '%s', got %s: %s\n", words, tn_status_text(status),
           tn_diag_text(t->diag));
    t->n_bad++;
  }
  one_op_destroy(&o);
}

static void refuse_shapes(tester *t) {
  config c = {.b = 1,
              .sq = 3,
              .skv = 4,
              .hq = 4,
              .hkv = 2,
              .dqk = 8,
              .dv = 6,
              .causal = true,
              .has_sink = true,
              .dtype = TN_F32,
              .sink_dtype = TN_F32,
              .index_dtype = TN_I64,
              .threads = 1};
  data d = random_data(t, &c);
  tn_tensor *types[] = {&d.q.tensor, &d.k.tensor, &d.sink.tensor, &d.v.tensor};
  static const struct {
    int which, dim;
    int64_t size;
    const char *words;
  } shapes[] = {{0, 3, 7, "the last dims of Q and K must be equal"},
                {0, 2, 3, "must be a multiple of that of K"},
                {1, 1, 3, "dim 1 of K and V must be equal"},
                {1, 2, 1, "K and V must have as many heads"},
                {0, 0, 0, "dim 0 of Q and K must be equal"},
                {2, 0, 3, "sink must have one element per head"},
                {3, 3, 0, "must lie in 1 .."}};
  for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++) {
    int64_t *dim = &types[shapes[k].which]->shape[shapes[k].dim], was = *dim;
    *dim = shapes[k].size;
    refuse(t, &c, &d, shapes[k].words);
    *dim = was;
  }
  d.q.tensor.rank = 3;
  refuse(t, &c, &d, "Q has rank 3");
  d.q.tensor.rank = 4;
  c.window = -1;
  refuse(t, &c, &d, "attribute 'window' is -1");
  c.window = 0, c.q_offset = INT64_MAX;
  refuse(t, &c, &d, "attribute 'q_offset'");
  c.q_offset = 0, c.has_offsets = true;
  ((int64_t *)d.offsets.data)[1] = -1;
  refuse(t, &c, &d, "offsets[0, 1] is -1");
  d.offsets.tensor.shape[1] = 1;
  refuse(t, &c, &d, "offsets has two columns");
  data_free(&d);
}

static void refuse_pages(tester *t) {
  config c = {.b = 1,
              .sq = 1,
              .skv = 6,
              .hq = 2,
              .hkv = 2,
              .dqk = 4,
              .dv = 4,
              .causal = true,
              .paged = true,
              .pages = 3,
              .page_size = 2,
              .max_pages = 3,
              .dtype = TN_F32,
              .sink_dtype = TN_F32,
              .index_dtype = TN_I64,
              .threads = 2};
  static const struct {
    int64_t length, page;
    const char *words;
  } bad[] = {{6, 3, "block_table[0, 1] is 3, but there are 3 pages"},
             {6, -1, "block_table[0, 1] is -1"},
             {6, INT64_MAX, "block_table[0, 1] is 9223372036854775807"},
             {7, 1, "context_lengths[0] is 7"},
             {-1, 1, "context_lengths[0] is -1"}};
  data d = random_data(t, &c);
  for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
    int64_t *table = d.table.data;
    table[0] = 0, table[1] = bad[k].page, table[2] = 2;
    *(int64_t *)d.lengths.data = bad[k].length;
    refuse(t, &c, &d, bad[k].words);
  }
  data_free(&d);
}

/* ---- all of it ---- */

static int create_runtimes(tester *t, const char *plugin) {
  for (int threads = 0; threads < N_THREADS; threads++)
    for (int isa = 0; isa < N_ISAS; isa++) {
      tn_runtime_options options = TN_RUNTIME_OPTIONS_INIT;
      tn_runtime **runtime = &t->runtimes[threads][isa];
      options.n_threads = threads + 1;
      options.isa_mask = isas[isa];
      tn_status status = tn_runtime_create(&options, t->diag, runtime);
      if (!status) status = tn_runtime_load_plugin(*runtime, plugin, NULL, 0, t->diag);
      if (status) return fprintf(stderr, "%s\n", tn_diag_text(t->diag)), 1;
    }
  return 0;
}

int main(int argc, char **argv) {
  if (argc < 2) return fprintf(stderr, "usage: attention_test PLUGIN.so [N] [SEED]\n"), 2;
  int n = argc > 2 ? atoi(argv[2]) : FULL_RUNS;
  tester t = {.diag = tn_diag_create(), .random = argc > 3 ? strtoull(argv[3], NULL, 0) : 20240607};
  if (!t.diag || !t.random || create_runtimes(&t, argv[1])) return 2;
  for (int round = 0; round < n; round++) {
    config c = random_config(&t, round);
    run_config(&t, &c);
  }
  refuse_shapes(&t);
  refuse_pages(&t);
  printf("%d configurations and 17 errors: %d wrong\n", n, t.n_bad);
  for (int k = 0; k < N_THREADS * N_ISAS; k++)
    tn_runtime_destroy(t.runtimes[k / N_ISAS][k % N_ISAS]);
  tn_diag_destroy(t.diag);
  return t.n_bad ? 1 : 0;
}
