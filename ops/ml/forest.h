/* Decision trees, made of the attributes of three operators into one form that can be walked. */
#ifndef TN_OPS_ML_FOREST_H
#define TN_OPS_ML_FOREST_H

#include "ml.gen.h"
#include "scores.h"

typedef enum branch {
  BRANCH_LEQ,
  BRANCH_LT,
  BRANCH_GTE,
  BRANCH_GT,
  BRANCH_EQ,
  BRANCH_NEQ,
  BRANCH_MEMBER,
  BRANCH_LEAF
} branch;

/* Numbers that stand in one of two attributes. */
typedef struct numbers {
  tn_floats list;
  const tn_tensor *tensor; /* NULL: list */
} numbers;

static inline int64_t numbers_size(const numbers *n) {
  return n->tensor ? tn_elements(n->tensor) : n->list.size;
}
static inline double numbers_at(const numbers *n, int64_t k) {
  return n->tensor ? tn_load_f64(n->tensor->dtype, n->tensor->data, k) : n->list.data[k];
}

/* The attributes. Version 5 (TreeEnsemble) has roots and leaf flags instead of ids, and modes as
 * numbers. */
typedef struct forest_source {
  tn_ints tree_ids, node_ids, features, yes, no, missing;
  tn_ints vote_trees, vote_nodes, vote_targets; /* version 5: targets only, one per leaf */
  tn_strs modes;
  numbers splits, weights, base, members;
  tn_ints roots, yes_leaf, no_leaf; /* version 5 */
  const tn_tensor *mode_numbers;    /* version 5 */
  int64_t n_targets;
  transform how;
  enum { FOREST_AVERAGE, FOREST_SUM, FOREST_MIN, FOREST_MAX } aggregate;
} forest_source;

/* What the three attribute structs say. */
forest_source forest_of_classifier(const tn_call *call);
forest_source forest_of_regressor(const tn_call *call);
forest_source forest_of_ensemble(const tn_call *call);
/* Lists must have one length, targets and features be in range. x: the input. */
tn_status forest_check(const tn_call *call, const forest_source *s, const tn_tensor *x);
branch forest_mode(const forest_source *s, int64_t node);

/* Children and roots: nodes >= 0; leaves as -1 - number. */
typedef struct forest_node {
  double split;
  int32_t feature, yes, no;
  uint8_t mode, missing_is_yes;
  int32_t member_first, member_n; /* MEMBER */
} forest_node;

typedef struct forest_leaf {
  int32_t first, n; /* its votes */
} forest_leaf;

typedef struct forest_vote {
  double weight;
  int64_t target;
} forest_vote;

/* The state of a kernel: this, with the arrays behind it. */
typedef struct forest {
  int64_t n_nodes, n_roots, n_leaves, n_votes;
  int64_t nodes, roots, leaves, votes, members, order; /* bytes from the start */
} forest;

/* One of the arrays: FOREST_PART(f, forest_node, nodes). */
#define FOREST_PART(f, T, member) ((T *)(void *)((char *)(f) + (f)->member))

/* Two classes, of which the trees know one: its score stands for both. */
bool forest_is_one_sided(const forest_source *s);
bool forest_all_positive(const forest_source *s);

uint64_t forest_bytes(const forest_source *s);
/* Fails if children lead nowhere. */
tn_status forest_make(const tn_call *call, const forest_source *s);

/* Scores of one row, n_targets of them, before post_transform; has[k]: something was added to score
 * k. */
tn_status forest_score(const tn_call *call, const forest_source *s, const double *row,
                       double *scores, uint8_t *has);

static inline bool forest_goes_yes(branch mode, double x, double split) {
  switch (mode) {
    case BRANCH_LEQ: return x <= split;
    case BRANCH_LT: return x < split;
    case BRANCH_GTE: return x >= split;
    case BRANCH_GT: return x > split;
    case BRANCH_EQ: return x == split;
    default: return x != split;
  }
}

#endif
