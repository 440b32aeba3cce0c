/* What stands between the product Q K' and its softmax: scales and masks, in the forms that
 * exporters write. */
#ifndef TN_OPS_ATTENTION_SCORES_H
#define TN_OPS_ATTENTION_SCORES_H

#include "tenon/kit/lower.h"
#include "views.h"

enum { SCORES_MAX_MASKS = 4 };

typedef enum mask_kind {
  MASK_ADD,   /* score + value */
  MASK_KEEP,  /* value ? score : number */
  MASK_DROP,  /* value ? number : score */
  MASK_FLOOR, /* max(score, number) */
} mask_kind;

typedef struct score_mask {
  mask_kind kind;
  int32_t value, rank;  /* of the scores that it stands at */
  double number, scale; /* of what the mask adds or fills in: 1 where it follows all scales */
} score_mask;

typedef struct scores {
  const tn_node *product; /* Q K' */
  int64_t size[4];        /* in the order of BATCH, HEAD, ROW and COLUMN: the last is the keys */
  double scale;
  double cap; /* scores are cap tanh(score / cap) before masks are added; 0: as they are */
  score_mask masks[SCORES_MAX_MASKS]; /* the last is next to the product */
  int32_t n_masks, n_steps;
  int64_t band; /* a constant mask said that score j of row i counts if j <= i + band; -1: none */
  bool guarded; /* what is NaN behind the softmax becomes 0: the caller says so */
} scores;

/* The value, which the softmax reads, is made of a product in these ways. */
bool scores_match(const tn_pattern *p, int32_t value, scores *out);

/* Finds the band that a lone constant mask leaves, if it does, and drops that mask. */
tn_status scores_find_band(const tn_call *call, const tn_pattern *p, scores *s);

/* All masks as one, made by nodes of this name: -1: there is none; < -1: a status. */
int32_t scores_mask(const tn_call *call, const tn_pattern *p, const scores *s, const char *name);

/* The value, or what it is a reshaped copy of, if nobody else reads it. */
int32_t scores_reshaped(const tn_pattern *p, int32_t value);

#endif
