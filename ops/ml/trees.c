/* TreeEnsembleClassifier, TreeEnsembleRegressor, TreeEnsemble: an item is a row. */
#include "forest.h"

#include <math.h>
#include <string.h>

static int64_t n_rows(const tn_tensor *x) { return x->rank == 1 ? 1 : x->shape[0]; }

/* ---- inference ---- */

static tn_status infer_scores(const tn_call *call, uint32_t output, const forest_source *s,
                              uint32_t dtype) {
  const tn_tensor *x = call->inputs[0];
  int64_t dims[2] = {x->rank == 1 ? 1 : x->shape[0], s->n_targets};
  tn_infer_shape(call, output, dtype, 2, dims);
  return forest_check(call, s, x);
}

tn_status tree_ensemble_classifier_infer(const tn_call *call) {
  const tn_tree_ensemble_classifier_attrs *a = call->attrs;
  forest_source s = forest_of_classifier(call);
  tn_status status = infer_scores(call, 1, &s, TN_F32);
  int64_t n = status ? 0 : n_rows(call->inputs[0]);
  tn_infer_shape(call, 0, a->classlabels_strings.size ? TN_STRING : TN_I64, 1, &n);
  return status;
}

tn_status tree_ensemble_regressor_infer(const tn_call *call) {
  forest_source s = forest_of_regressor(call);
  return infer_scores(call, 0, &s, TN_F32);
}

tn_status tree_ensemble_infer(const tn_call *call) {
  forest_source s = forest_of_ensemble(call);
  return infer_scores(call, 0, &s, call->inputs[0]->dtype);
}

/* ---- classes ---- */

/* Finishes the scores of a row; answers its class. One-sided: positive weights are probabilities,
 * others lie around 0. */
static int64_t decide(const forest_source *s, double *scores) {
  if (!forest_is_one_sided(s)) {
    int64_t best = score_best(scores, s->n_targets);
    transform_apply(s->how, scores, s->n_targets);
    return best;
  }
  const int64_t side = s->vote_targets.data[0];
  const bool probability = forest_all_positive(s);
  const double score = scores[side];
  if (side == 1) {
    transform_apply(s->how, scores, 2);
  } else if (s->how == TRANSFORM_LOGISTIC) {
    scores[0] = score_logistic(-score);
    scores[1] = score_logistic(score);
  } else {
    scores[0] = probability ? 1 - score : -score;
    scores[1] = score;
    if (s->how == TRANSFORM_PROBIT) transform_apply(s->how, scores, 2);
  }
  return score > (probability ? 0.5 : 0);
}

static tn_status write_row(const tn_call *call, uint32_t output, int64_t row,
                           const forest_source *s, const double *scores) {
  const tn_tensor *y = tn_has_output(call, output) ? call->outputs[output] : NULL;
  for (int64_t k = 0; y && k < s->n_targets; k++)
    tn_store_f64(y->dtype, y->data, row * s->n_targets + k, scores[k]);
  return TN_OK;
}

static tn_status write_class(const tn_call *call, int64_t row, const forest_source *s,
                             double *scores) {
  const tn_tree_ensemble_classifier_attrs *a = call->attrs;
  const int64_t c = decide(s, scores);
  tn_status status = tn_has_output(call, 0)
                         ? score_label(call, row, a->classlabels_int64s, a->classlabels_strings, c)
                         : TN_OK;
  return status ? status : write_row(call, 1, row, s, scores);
}

/* ---- kernels; scratch of a worker: a row of the input, scores, and which of them are there ----
 */

static tn_status plan(const tn_call *call, const forest_source *s, tn_kernel_plan *out) {
  const tn_tensor *x = call->inputs[0];
  out->items[0] = n_rows(x);
  out->grain[0] = 4;
  out->state_bytes = forest_bytes(s);
  out->worker_scratch_bytes =
      (uint64_t)(x->shape[x->rank - 1] + s->n_targets) * sizeof(double) + (uint64_t)s->n_targets;
  return TN_OK;
}

typedef tn_status (*row_writer)(const tn_call *call, int64_t row, const forest_source *s,
                                double *scores);

static tn_status run(const tn_call *call, const forest_source *s, int64_t begin, int64_t end,
                     uint32_t worker, row_writer write) {
  const tn_tensor *x = call->inputs[0];
  const int64_t width = x->shape[x->rank - 1];
  double *row =
             (double *)(void *)((char *)call->worker_scratch + worker * call->worker_scratch_bytes),
         *scores = row + width;
  uint8_t *has = (uint8_t *)(scores + s->n_targets);
  tn_status status = TN_OK;
  for (int64_t k = begin; k < end && !status; k++) {
    for (int64_t i = 0; i < width; i++) row[i] = tn_load_f64(x->dtype, x->data, k * width + i);
    status = forest_score(call, s, row, scores, has);
    if (!status) status = write(call, k, s, scores);
  }
  return status;
}

static tn_status write_target(const tn_call *call, int64_t row, const forest_source *s,
                              double *scores) {
  transform_apply(s->how, scores, s->n_targets);
  return write_row(call, 0, row, s, scores);
}

#define TREES(name, source, write)                                                    \
  tn_status name##_plan(const tn_call *call, tn_kernel_plan *out) {                   \
    forest_source s = source(call);                                                   \
    return plan(call, &s, out);                                                       \
  }                                                                                   \
  tn_status name##_prepare(const tn_call *call) {                                     \
    forest_source s = source(call);                                                   \
    return forest_make(call, &s);                                                     \
  }                                                                                   \
  tn_status name##_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t end, \
                     uint32_t worker) {                                               \
    forest_source s = source(call);                                                   \
    (void)stage;                                                                      \
    return run(call, &s, begin, end, worker, write);                                  \
  }
TREES(tree_ensemble_classifier, forest_of_classifier, write_class)
TREES(tree_ensemble_regressor, forest_of_regressor, write_target)
TREES(tree_ensemble, forest_of_ensemble, write_target)

/* ---- references: walk the attributes as they stand ---- */

typedef struct place {
  int64_t node;
  bool leaf;
} place;

static place child_by_id(const forest_source *s, int64_t from, int64_t id) {
  int64_t k = 0;
  while (s->tree_ids.data[k] != s->tree_ids.data[from] || s->node_ids.data[k] != id) k++;
  return (place){k, forest_mode(s, k) == BRANCH_LEAF};
}

static bool in_set(const forest_source *s, int64_t node, double x) {
  int64_t sets = 0, at = 0;
  for (int64_t k = 0; k < node; k++) sets += forest_mode(s, k) == BRANCH_MEMBER;
  for (; sets > 0; at++) sets -= isnan(numbers_at(&s->members, at)) != 0;
  for (; at < numbers_size(&s->members) && !isnan(numbers_at(&s->members, at)); at++)
    if (numbers_at(&s->members, at) == x) return true;
  return false;
}

static place step(const forest_source *s, const tn_tensor *x, int64_t row, int64_t node) {
  double v = tn_load_f64(x->dtype, x->data, row * x->shape[x->rank - 1] + s->features.data[node]);
  branch mode = forest_mode(s, node);
  bool yes = mode == BRANCH_MEMBER ? in_set(s, node, v)
                                   : forest_goes_yes(mode, v, numbers_at(&s->splits, node));
  if (v != v && s->missing.size && s->missing.data[node]) yes = true;
  int64_t to = yes ? s->yes.data[node] : s->no.data[node];
  if (s->mode_numbers) return (place){to, (yes ? s->yes_leaf : s->no_leaf).data[node] != 0};
  return child_by_id(s, node, to);
}

/* What a tree says of a target: the sum of the votes at the leaf; *any: there is one. */
static double tree_says(const forest_source *s, const tn_tensor *x, int64_t row, place at,
                        int64_t target, bool *any) {
  double sum = 0;
  while (!at.leaf) at = step(s, x, row, at.node);
  for (int64_t k = 0; k < s->vote_targets.size; k++) {
    bool here = s->mode_numbers ? k == at.node
                                : s->vote_trees.data[k] == s->tree_ids.data[at.node] &&
                                      s->vote_nodes.data[k] == s->node_ids.data[at.node];
    if (!here || s->vote_targets.data[k] != target) continue;
    sum += numbers_at(&s->weights, k);
    *any = true;
  }
  return sum;
}

static double reference_score(const forest_source *s, const tn_tensor *x, int64_t row,
                              int64_t target) {
  double sum = 0, least = 0, most = 0;
  bool seen = false;
  int64_t trees = 0, n_base = numbers_size(&s->base),
          end = s->mode_numbers ? s->roots.size : s->tree_ids.size;
  for (int64_t k = 0; k < end; k++) {
    if (!s->mode_numbers && k && s->tree_ids.data[k] == s->tree_ids.data[k - 1]) continue;
    place root = s->mode_numbers ? (place){s->roots.data[k], false}
                                 : (place){k, forest_mode(s, k) == BRANCH_LEAF};
    bool any = false;
    double v = tree_says(s, x, row, root, target, &any);
    trees++;
    sum += v;
    if (!any) continue;
    least = seen && least < v ? least : v;
    most = seen && most > v ? most : v;
    seen = true;
  }
  double score = s->aggregate == FOREST_MIN       ? least
                 : s->aggregate == FOREST_MAX     ? most
                 : s->aggregate == FOREST_AVERAGE ? sum / (double)trees
                                                  : sum;
  if (n_base == s->n_targets) return score + numbers_at(&s->base, target);
  return n_base && target == 0 ? score + numbers_at(&s->base, 0) : score;
}

static tn_status reference(const tn_call *call, const forest_source *s, row_writer write) {
  double *scores = call->host->alloc(call->ctx, (uint64_t)s->n_targets * sizeof *scores);
  tn_status status = scores ? TN_OK : TN_ERR_MEMORY;
  for (int64_t row = 0; row < n_rows(call->inputs[0]) && !status; row++) {
    for (int64_t k = 0; k < s->n_targets; k++)
      scores[k] = reference_score(s, call->inputs[0], row, k);
    status = write(call, row, s, scores);
  }
  call->host->free(call->ctx, scores);
  return status;
}

tn_status tree_ensemble_classifier_reference(const tn_call *call) {
  forest_source s = forest_of_classifier(call);
  return reference(call, &s, write_class);
}

tn_status tree_ensemble_regressor_reference(const tn_call *call) {
  forest_source s = forest_of_regressor(call);
  return reference(call, &s, write_target);
}

tn_status tree_ensemble_reference(const tn_call *call) {
  forest_source s = forest_of_ensemble(call);
  return reference(call, &s, write_target);
}
