/* Resize as it runs over the storage: the dims as they lie in memory, of which neighbours that keep
 * their size are one; an output row is made of the taps of input rows, and then along the row. What
 * the kernels share; an ISA file brings the inner loops. */
#ifndef TN_RESIZE_ROWS_H
#define TN_RESIZE_ROWS_H

#include "resize.h"

enum { RESIZE_MAX_DIMS = TN_MAX_RANK + 1, RESIZE_MAX_TAPS = 16 };

/* For vectors of f32: the elements that a vector of a row is made of, and their weights. */
typedef struct resize_lanes {
  int32_t loads;  /* vectors that hold all of them: 1, 2 or 4; 0: more */
  int32_t *first; /* [vectors] where the loads begin in the row; 0 without */
  uint32_t *at;   /* [vectors][taps][lanes], from there on */
  float *weight;  /* the same */
} resize_lanes;

typedef struct resize_state {
  resize_spec spec;
  int32_t rank, last; /* dims of the storage; the innermost resized one */
  resize_axis axes[RESIZE_MAX_DIMS];
  int64_t in_stride[RESIZE_MAX_DIMS];   /* elements */
  int64_t inner;                        /* elements after `last` */
  int64_t rows;                         /* output places before `last` */
  resize_table tables[RESIZE_MAX_DIMS]; /* of `last` and of what is resized */
  resize_lanes lanes;                   /* where inner is less than a vector */
} resize_state;

/* Elements of a row of the input and of the output. */
static inline int64_t resize_row_in(const resize_state *st) {
  return st->axes[st->last].in * st->inner;
}
static inline int64_t resize_row_out(const resize_state *st) {
  return st->axes[st->last].out * st->inner;
}

/* lanes: of the kernel's vectors; 0: it has none. wide_bytes: of an element of the input row in
 * scratch. row_ns: what an output row costs. */
typedef double (*resize_row_ns_fn)(const resize_state *st);
tn_status resize_rows_plan(const tn_call *call, int64_t lanes, int64_t wide_bytes,
                           resize_row_ns_fn row_ns, tn_kernel_plan *out);
tn_status resize_rows_prepare(const tn_call *call, int64_t lanes);

/* Which taps of which places an output row is made of. */
typedef struct resize_walk {
  int64_t place[RESIZE_MAX_DIMS], tap[RESIZE_MAX_DIMS];
} resize_walk;

/* Input rows with weights. */
typedef struct resize_row_taps {
  int64_t n;
  const float *row[RESIZE_MAX_TAPS];
  float weight[RESIZE_MAX_TAPS];
} resize_row_taps;

typedef struct resize_mix {
  /* sum[k] = the weighted rows' k-th elements (first), or += them; k in 0 .. n-1 */
  void (*rows)(const resize_row_taps *taps, int64_t n, bool first, float *sum);
  /* An output row of a row as wide as the input. */
  void (*places)(const resize_state *st, const float *row, float *out);
} resize_mix;

tn_status resize_mixed_run(const tn_call *call, const resize_mix *mix, int64_t begin, int64_t end,
                           uint32_t worker);

/* An output row of nearest neighbours, of elements of `bytes`, as many times as `copies` says. */
typedef void (*resize_pick_fn)(const resize_state *st, const uint8_t *row, int64_t bytes,
                               int64_t copies, uint8_t *out);
tn_status resize_nearest_run(const tn_call *call, resize_pick_fn pick, int64_t begin, int64_t end);

/* The first taps of an output row, of the row after it, and the next taps of the same row (false:
 * there are none). */
void resize_walk_begin(const resize_state *st, int64_t row, resize_walk *w);
void resize_walk_on(const resize_state *st, resize_walk *w);
bool resize_walk_tap(const resize_state *st, resize_walk *w);
/* Offset of the input row at the present taps, and its weight. */
int64_t resize_walk_at(const resize_state *st, const resize_walk *w, double *weight);
/* The row gets the extrapolation value. */
bool resize_walk_outside(const resize_state *st, const resize_walk *w);

/* Taps of an output row in all dims but the last. */
double resize_mixed_taps(const resize_state *st);

/* Writes the extrapolation value where a row of tf_crop_and_resize lies outside; outside: it all
 * does. */
void resize_fill_cropped(const tn_call *call, int64_t row, bool outside);

/* A number as the element type takes it. */
void resize_store(uint32_t dtype, void *out, int64_t at, double x);

#endif
