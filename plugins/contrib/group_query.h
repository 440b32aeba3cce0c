/* What one call of GroupQueryAttention computes: sizes, and where rows lie. */
#ifndef CONTRIB_GROUP_QUERY_H
#define CONTRIB_GROUP_QUERY_H

#include "attention.gen.h"
#include "elements.h"

enum {
  QUERY,
  KEY,
  VALUE,
  PAST_KEY,
  PAST_VALUE,
  LENGTHS,
  TOTAL,
  COSINES,
  SINES,
  POSITIONS,
  BIAS,
  SINK
};

typedef struct grouped {
  int64_t batch, n_q, heads, kv_heads, size, past, total,
      present; /* present: rows of the cache that comes out */
  int64_t rotated,
      window;            /* rotated: elements of a head; window: keys that a query sees; -1: all */
  int64_t q_row, kv_row; /* elements of a row of queries; of keys or values */
  double scale, softcap;
  bool packed, interleaved, sinking; /* sinking: weights need not add up to 1, see sink_of */
} grouped;

/* All but total and present, which are data. */
tn_status grouped_sizes(const tn_call *call, grouped *out);
tn_status grouped_of(const tn_call *call, grouped *out);

/* Keys that batch b had before: those of the cache that count. */
tn_status grouped_before(const tn_call *call, const grouped *g, int64_t b, int64_t *out);

/* Row of the tables for new row i. */
tn_status grouped_table_row(const tn_call *call, const grouped *g, int64_t b, int64_t before,
                            int64_t i, int64_t *out);

/* Where head h of new row i begins: of the queries (which = 0), keys or values. */
static inline int64_t new_row(const grouped *g, int which, int64_t b, int64_t h, int64_t i) {
  if (which == 0) return (b * g->n_q + i) * g->q_row + h * g->size;
  const int64_t skipped = g->packed ? g->heads + (which - 1) * g->kv_heads : 0;
  return (b * g->n_q + i) * g->kv_row + (skipped + h) * g->size;
}

static inline const tn_tensor *new_tensor(const tn_call *call, const grouped *g, int which) {
  return call->inputs[g->packed ? QUERY : which];
}

/* First key that a query with `seen` keys up to itself may attend to. */
static inline int64_t first_key(const grouped *g, int64_t seen) {
  return g->window > 0 ? tn_max_i64(0, seen - tn_min_i64(g->window, seen)) : 0;
}

static inline int64_t bias_row(const tn_call *call, const grouped *g, int64_t b, int64_t h,
                               int64_t i) {
  const tn_tensor *t = call->inputs[BIAS];
  return (((t->shape[0] == 1 ? 0 : b) * t->shape[1] + (t->shape[1] == 1 ? 0 : h)) * g->n_q + i) *
         t->shape[3];
}

/* The score of a key that every query sees and that has no value: head_sink of the head, or 0. */
static inline double sink_of(const tn_call *call, int64_t h) {
  return tn_input(call, SINK) ? load(call->inputs[SINK], h) : 0;
}

#endif
