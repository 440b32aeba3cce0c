/* What one call of Attention computes: sizes, and where rows lie. Inputs of rank 3 hold the heads
 * next to each other in each row
 * ([batch][row][head][size]); of rank 4, [batch][head][row][size]. Keys and values are those of the
 * cache, then the new ones. */
#ifndef TN_OPS_ATTENTION_ATTENTION_H
#define TN_OPS_ATTENTION_ATTENTION_H

#include <stdbool.h>

#include "attention.gen.h"
#include "tenon/kit/infer.h"

typedef struct attention_steps {
  int64_t batch, head, row;
} attention_steps; /* in elements */

typedef struct attention {
  int64_t batch, heads, kv_heads, n_q, n_new, past, total; /* total = past + n_new, keys */
  int64_t size, v_size;                                    /* of a head of Q and K; of V */
  attention_steps q, k, v, y, mask;                        /* past and present: packed, rank 4 */
  int64_t mask_columns; /* keys beyond them are masked; 0: there is no mask */
  double scale, softcap;
  bool causal;
  int64_t left, right;    /* window, at most total + n_q; -1: open */
  const int64_t *lengths; /* valid keys per batch; NULL: all, or not known yet */
} attention;

enum {
  ATTENTION_Q,
  ATTENTION_K,
  ATTENTION_V,
  ATTENTION_MASK,
  ATTENTION_PAST_KEY,
  ATTENTION_PAST_VALUE,
  ATTENTION_LENGTHS
};

/* Checks the shapes, too. */
tn_status attention_make(const tn_call *call, attention *out);

/* Stage 0 of all kernels: writes present_key and present_value; items: batch * kv_heads. */
tn_status attention_plan_present(const tn_call *call, const attention *a, tn_kernel_plan *out);
void attention_copy_present(const tn_call *call, const attention *a, int64_t begin, int64_t end);

/* Whether the stage behind that has anything to write: 2^50 keys are not walked for rows of no
 * elements. */
static inline bool attention_writes(const tn_call *call, const attention *a) {
  return a->v_size > 0 || (a->total > 0 && tn_has_output(call, 3));
}

/* Row j of the keys (input ATTENTION_K) or values (ATTENTION_V) of a head, as bytes; elem: bytes of
 * an element. */
static inline const void *attention_row(const tn_call *call, const attention *a, uint32_t which,
                                        int64_t batch, int64_t head, int64_t j, int64_t elem) {
  const bool keys = which == ATTENTION_K;
  const int64_t size = keys ? a->size : a->v_size;
  const attention_steps *s = keys ? &a->k : &a->v;
  if (j < a->past) {
    const char *past = call->inputs[keys ? ATTENTION_PAST_KEY : ATTENTION_PAST_VALUE]->data;
    return past + ((batch * a->kv_heads + head) * a->past + j) * size * elem;
  }
  return (const char *)call->inputs[which]->data +
         (batch * s->batch + head * s->head + (j - a->past) * s->row) * elem;
}

/* The keys [*out_begin, *out_end) that row i may attend to, as far as causality, window and lengths
 * say. */
static inline void attention_keys(const attention *a, int64_t batch, int64_t i, int64_t *out_begin,
                                  int64_t *out_end) {
  const int64_t valid =
      a->lengths ? tn_max_i64(0, tn_min_i64(a->lengths[batch], a->total)) : a->total;
  const int64_t place = i + (a->lengths ? valid - a->n_q : a->past);
  int64_t begin = 0, end = valid;
  if (a->causal) end = tn_min_i64(end, place + 1);
  if (a->right >= 0) end = tn_min_i64(end, place + a->right + 1);
  if (a->left >= 0) begin = tn_max_i64(0, place - a->left);
  if (a->mask_columns) end = tn_min_i64(end, a->mask_columns);
  *out_begin = begin;
  *out_end = tn_max_i64(begin, end);
}

static inline int64_t attention_mask_row(const attention *a, int64_t batch, int64_t head,
                                         int64_t i) {
  return batch * a->mask.batch + head * a->mask.head + i * a->mask.row;
}

#endif
