/* Making and walking forests. Nodes named by (tree, node) are looked up in rows sorted by these
 * two. */
#include "forest.h"

#include <math.h>
#include <string.h>

static numbers numbers_of(tn_floats list, bool has_tensor, const tn_tensor *tensor) {
  return (numbers){list, has_tensor ? tensor : NULL};
}

forest_source forest_of_classifier(const tn_call *call) {
  const tn_tree_ensemble_classifier_attrs *a = call->attrs;
  int64_t labels =
      a->classlabels_strings.size ? a->classlabels_strings.size : a->classlabels_int64s.size;
  return (forest_source){
      .tree_ids = a->nodes_treeids,
      .node_ids = a->nodes_nodeids,
      .features = a->nodes_featureids,
      .yes = a->nodes_truenodeids,
      .no = a->nodes_falsenodeids,
      .missing = a->nodes_missing_value_tracks_true,
      .vote_trees = a->class_treeids,
      .vote_nodes = a->class_nodeids,
      .vote_targets = a->class_ids,
      .modes = a->nodes_modes,
      .splits =
          numbers_of(a->nodes_values, a->has_nodes_values_as_tensor, a->nodes_values_as_tensor),
      .weights =
          numbers_of(a->class_weights, a->has_class_weights_as_tensor, a->class_weights_as_tensor),
      .base = numbers_of(a->base_values, a->has_base_values_as_tensor, a->base_values_as_tensor),
      .n_targets = labels,
      .how = transform_of(a->post_transform),
      .aggregate = FOREST_SUM};
}

forest_source forest_of_regressor(const tn_call *call) {
  static const char *const names[] = {"AVERAGE", "SUM", "MIN", "MAX"};
  const tn_tree_ensemble_regressor_attrs *a = call->attrs;
  forest_source s = {
      .tree_ids = a->nodes_treeids,
      .node_ids = a->nodes_nodeids,
      .features = a->nodes_featureids,
      .yes = a->nodes_truenodeids,
      .no = a->nodes_falsenodeids,
      .missing = a->nodes_missing_value_tracks_true,
      .vote_trees = a->target_treeids,
      .vote_nodes = a->target_nodeids,
      .vote_targets = a->target_ids,
      .modes = a->nodes_modes,
      .splits =
          numbers_of(a->nodes_values, a->has_nodes_values_as_tensor, a->nodes_values_as_tensor),
      .weights = numbers_of(a->target_weights, a->has_target_weights_as_tensor,
                            a->target_weights_as_tensor),
      .base = numbers_of(a->base_values, a->has_base_values_as_tensor, a->base_values_as_tensor),
      .n_targets = a->has_n_targets ? a->n_targets : 1,
      .how = transform_of(a->post_transform),
      .aggregate = FOREST_SUM};
  for (int k = 0; k < 4; k++)
    if (tn_str_is(a->aggregate_function, names[k])) s.aggregate = k;
  return s;
}

forest_source forest_of_ensemble(const tn_call *call) {
  const tn_tree_ensemble_attrs *a = call->attrs;
  bool known = a->post_transform >= 0 && a->post_transform < TRANSFORM_COUNT;
  forest_source s = {
      .features = a->nodes_featureids,
      .yes = a->nodes_truenodeids,
      .no = a->nodes_falsenodeids,
      .missing = a->nodes_missing_value_tracks_true,
      .vote_targets = a->leaf_targetids,
      .splits = {{NULL, 0}, a->nodes_splits},
      .weights = {{NULL, 0}, a->leaf_weights},
      .members = numbers_of((tn_floats){NULL, 0}, a->has_membership_values, a->membership_values),
      .roots = a->tree_roots,
      .yes_leaf = a->nodes_trueleafs,
      .no_leaf = a->nodes_falseleafs,
      .mode_numbers = a->nodes_modes,
      .n_targets = a->has_n_targets ? a->n_targets : 1,
      .how = known ? (transform)a->post_transform : TRANSFORM_COUNT};
  s.aggregate = a->aggregate_function >= 0 && a->aggregate_function <= FOREST_MAX
                    ? (int)a->aggregate_function
                    : FOREST_SUM;
  return s;
}

branch forest_mode(const forest_source *s, int64_t node) {
  static const char *const names[] = {"BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE",
                                      "BRANCH_GT",  "BRANCH_EQ", "BRANCH_NEQ"};
  if (s->mode_numbers)
    return (branch)tn_load_i64(s->mode_numbers->dtype, s->mode_numbers->data, node);
  int k = 0;
  while (k < BRANCH_MEMBER && !tn_str_is(s->modes.data[node], names[k])) k++;
  return k < BRANCH_MEMBER ? (branch)k : BRANCH_LEAF;
}

/* ---- checking ---- */

static tn_status check_lengths(const tn_call *call, const forest_source *s) {
  int64_t n = s->features.size, votes = s->vote_targets.size,
          modes = s->mode_numbers ? tn_elements(s->mode_numbers) : s->modes.size;
  bool nodes = modes == n && s->yes.size == n && s->no.size == n && numbers_size(&s->splits) == n &&
               (!s->missing.size || s->missing.size == n);
  if (s->mode_numbers)
    nodes = nodes && s->yes_leaf.size == n && s->no_leaf.size == n;
  else
    nodes = nodes && s->tree_ids.size == n && s->node_ids.size == n &&
            s->vote_trees.size == votes && s->vote_nodes.size == votes;
  if (!nodes || numbers_size(&s->weights) != votes || n > INT32_MAX || votes > INT32_MAX)
    return call->host->fail(
        call->ctx, TN_ERR_INVALID,
        "the attributes that describe nodes, or those that describe leaves, differ in length");
  if (s->n_targets < 1 || s->n_targets > INT32_MAX)
    return call->host->fail(call->ctx, TN_ERR_INVALID, "there are %lld classes or targets",
                            (long long)s->n_targets);
  if (numbers_size(&s->base) > 1 && numbers_size(&s->base) != s->n_targets)
    return call->host->fail(call->ctx, TN_ERR_INVALID,
                            "there are %lld base values for %lld classes or targets",
                            (long long)numbers_size(&s->base), (long long)s->n_targets);
  return s->how == TRANSFORM_COUNT
             ? call->host->fail(call->ctx, TN_ERR_INVALID,
                                "post_transform is none of those that are known")
             : TN_OK;
}

tn_status forest_check(const tn_call *call, const forest_source *s, const tn_tensor *x) {
  tn_status status = check_lengths(call, s);
  if (status) return status;
  if (x->rank < 1 || x->rank > 2)
    return call->host->fail(call->ctx, TN_ERR_SHAPE, "X has rank %d; [N, F] is needed", x->rank);
  for (int64_t k = 0; k < s->features.size; k++) {
    branch mode = forest_mode(s, k);
    if ((uint32_t)mode > BRANCH_LEAF || (s->mode_numbers && mode == BRANCH_LEAF))
      return call->host->fail(call->ctx, TN_ERR_INVALID, "the mode of node %lld is unknown",
                              (long long)k);
    if (mode != BRANCH_LEAF &&
        (s->features.data[k] < 0 || s->features.data[k] >= x->shape[x->rank - 1]))
      return call->host->fail(call->ctx, TN_ERR_SHAPE,
                              "node %lld looks at feature %lld; X has %lld", (long long)k,
                              (long long)s->features.data[k], (long long)x->shape[x->rank - 1]);
  }
  for (int64_t k = 0; k < s->vote_targets.size; k++)
    if (s->vote_targets.data[k] < 0 || s->vote_targets.data[k] >= s->n_targets)
      return call->host->fail(call->ctx, TN_ERR_INVALID,
                              "leaf %lld is for class or target %lld of %lld", (long long)k,
                              (long long)s->vote_targets.data[k], (long long)s->n_targets);
  return TN_OK;
}

/* ---- classes ---- */

bool forest_is_one_sided(const forest_source *s) {
  for (int64_t k = 1; k < s->vote_targets.size; k++)
    if (s->vote_targets.data[k] != s->vote_targets.data[0]) return false;
  return s->n_targets == 2 && s->vote_targets.size && numbers_size(&s->base) < 2;
}

bool forest_all_positive(const forest_source *s) {
  for (int64_t k = 0; k < s->vote_targets.size; k++)
    if (numbers_at(&s->weights, k) < 0) return false;
  return true;
}

/* ---- making ---- */

static forest layout_of(const forest_source *s, int64_t *out_bytes) {
  int64_t n = s->features.size, votes = s->vote_targets.size, members = numbers_size(&s->members);
  forest f = {.n_nodes = n, .n_votes = votes, .nodes = (int64_t)sizeof(forest)};
  f.roots = f.nodes + n * (int64_t)sizeof(forest_node);
  f.votes = f.roots + (n + s->roots.size) * (int64_t)sizeof(int64_t);
  f.leaves = f.votes + votes * (int64_t)sizeof(forest_vote);
  f.members = f.leaves + (n + votes) * (int64_t)sizeof(forest_leaf);
  f.order = f.members + members * (int64_t)sizeof(double);
  *out_bytes = f.order + (n + votes) * (int64_t)sizeof(int64_t);
  return f;
}

uint64_t forest_bytes(const forest_source *s) {
  int64_t bytes;
  (void)layout_of(s, &bytes);
  return (uint64_t)bytes;
}

#define PART FOREST_PART

static int compare_ids(tn_ints trees, tn_ints nodes, int64_t a, int64_t b) {
  if (trees.data[a] != trees.data[b]) return trees.data[a] < trees.data[b] ? -1 : 1;
  return nodes.data[a] < nodes.data[b] ? -1 : nodes.data[a] > nodes.data[b];
}

static void sift(tn_ints trees, tn_ints nodes, int64_t *order, int64_t root, int64_t n) {
  for (int64_t child; (child = 2 * root + 1) < n; root = child) {
    if (child + 1 < n && compare_ids(trees, nodes, order[child], order[child + 1]) < 0) child++;
    if (compare_ids(trees, nodes, order[root], order[child]) >= 0) return;
    int64_t swap = order[root];
    order[root] = order[child];
    order[child] = swap;
  }
}

/* Rows in the order of their ids. */
static void sort_rows(tn_ints trees, tn_ints nodes, int64_t *order) {
  int64_t n = trees.size, k = 1;
  for (int64_t i = 0; i < n; i++) order[i] = i;
  while (k < n && compare_ids(trees, nodes, k - 1, k) <= 0) k++;
  if (k >= n) return; /* as files mostly have them */
  for (int64_t i = n / 2; i-- > 0;) sift(trees, nodes, order, i, n);
  for (int64_t i = n; i-- > 1;) {
    int64_t swap = order[0];
    order[0] = order[i];
    order[i] = swap;
    sift(trees, nodes, order, 0, i);
  }
}

/* Place in order of the first row that is not before (tree, node). */
static int64_t find(tn_ints trees, tn_ints nodes, const int64_t *order, int64_t tree,
                    int64_t node) {
  int64_t low = 0, high = trees.size;
  while (low < high) {
    int64_t middle = (low + high) / 2, row = order[middle];
    if (trees.data[row] < tree || (trees.data[row] == tree && nodes.data[row] < node))
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

static void make_votes(forest *f, const forest_source *s, const int64_t *order) {
  for (int64_t k = 0; k < f->n_votes; k++) {
    int64_t row = order ? order[k] : k;
    PART(f, forest_vote, votes)
    [k] = (forest_vote){numbers_at(&s->weights, row), s->vote_targets.data[row]};
  }
}

/* Reference to node `row`: itself, or a new leaf with its votes. */
static int32_t refer(forest *f, const forest_source *s, const int64_t *vote_order, int64_t row) {
  if (forest_mode(s, row) != BRANCH_LEAF) return (int32_t)row;
  int64_t tree = s->tree_ids.data[row], node = s->node_ids.data[row],
          first = find(s->vote_trees, s->vote_nodes, vote_order, tree, node), n = 0;
  while (first + n < f->n_votes && s->vote_trees.data[vote_order[first + n]] == tree &&
         s->vote_nodes.data[vote_order[first + n]] == node)
    n++;
  PART(f, forest_leaf, leaves)[f->n_leaves] = (forest_leaf){(int32_t)first, (int32_t)n};
  return -1 - (int32_t)f->n_leaves++;
}

static tn_status bad_child(const tn_call *call, int64_t node) {
  return call->host->fail(call->ctx, TN_ERR_INVALID, "a child of node %lld does not exist",
                          (long long)node);
}

/* Nodes named by ids. A tree begins with the node of it that comes first. A leaf has room for each
 * time it is referred to, which is once. */
static tn_status make_by_ids(const tn_call *call, forest *f, const forest_source *s) {
  int64_t *order = PART(f, int64_t, order), *vote_order = order + f->n_nodes;
  sort_rows(s->tree_ids, s->node_ids, order);
  sort_rows(s->vote_trees, s->vote_nodes, vote_order);
  make_votes(f, s, vote_order);
  for (int64_t k = 0; k < f->n_nodes; k++) {
    int64_t tree = s->tree_ids.data[k];
    if (k && tree == s->tree_ids.data[k - 1]) continue;
    PART(f, int64_t, roots)[f->n_roots++] = refer(f, s, vote_order, k);
  }
  for (int64_t k = 0; k < f->n_nodes; k++) {
    forest_node *node = &PART(f, forest_node, nodes)[k];
    node->mode = (uint8_t)forest_mode(s, k);
    for (int side = 0; node->mode != BRANCH_LEAF && side < 2; side++) {
      int64_t tree = s->tree_ids.data[k], id = side ? s->no.data[k] : s->yes.data[k],
              at = find(s->tree_ids, s->node_ids, order, tree, id);
      int64_t row = at < f->n_nodes ? order[at] : -1;
      if (row < 0 || s->tree_ids.data[row] != tree || s->node_ids.data[row] != id ||
          f->n_leaves >= f->n_nodes + f->n_votes)
        return bad_child(call, k);
      *(side ? &node->no : &node->yes) = refer(f, s, vote_order, row);
    }
  }
  return TN_OK;
}

/* Nodes named by their places (TreeEnsemble-5). */
static tn_status make_by_places(const tn_call *call, forest *f, const forest_source *s) {
  f->n_leaves = f->n_votes;
  make_votes(f, s, NULL);
  for (int64_t k = 0; k < f->n_votes; k++)
    PART(f, forest_leaf, leaves)[k] = (forest_leaf){(int32_t)k, 1};
  for (f->n_roots = 0; f->n_roots < s->roots.size; f->n_roots++) {
    int64_t root = s->roots.data[f->n_roots];
    if (root < 0 || root >= f->n_nodes)
      return call->host->fail(call->ctx, TN_ERR_INVALID, "tree_roots has %lld", (long long)root);
    PART(f, int64_t, roots)[f->n_roots] = root;
  }
  for (int64_t k = 0; k < f->n_nodes; k++) {
    forest_node *node = &PART(f, forest_node, nodes)[k];
    node->mode = (uint8_t)forest_mode(s, k);
    for (int side = 0; side < 2; side++) {
      int64_t to = side ? s->no.data[k] : s->yes.data[k],
              leaf = side ? s->no_leaf.data[k] : s->yes_leaf.data[k];
      if (to < 0 || to >= (leaf ? f->n_leaves : f->n_nodes)) return bad_child(call, k);
      *(side ? &node->no : &node->yes) = (int32_t)(leaf ? -1 - to : to);
    }
  }
  return TN_OK;
}

/* Sets of members stand one after the other, in the order of the nodes that have one, each with a
 * NaN behind it. */
static tn_status make_members(const tn_call *call, forest *f, const forest_source *s) {
  int64_t at = 0, n = numbers_size(&s->members);
  for (int64_t k = 0; k < n; k++) PART(f, double, members)[k] = numbers_at(&s->members, k);
  for (int64_t k = 0; k < f->n_nodes; k++) {
    forest_node *node = &PART(f, forest_node, nodes)[k];
    if (node->mode != BRANCH_MEMBER) continue;
    if (at >= n)
      return call->host->fail(call->ctx, TN_ERR_INVALID,
                              "membership_values has no set for node %lld", (long long)k);
    for (node->member_first = (int32_t)at; at < n && !isnan(PART(f, double, members)[at]); at++)
      node->member_n++;
    at++;
  }
  return TN_OK;
}

tn_status forest_make(const tn_call *call, const forest_source *s) {
  int64_t bytes;
  forest *f = call->state;
  *f = layout_of(s, &bytes);
  tn_status status = s->mode_numbers ? make_by_places(call, f, s) : make_by_ids(call, f, s);
  for (int64_t k = 0; k < f->n_nodes && !status; k++) {
    forest_node *node = &PART(f, forest_node, nodes)[k];
    node->split = numbers_at(&s->splits, k);
    node->feature = (int32_t)s->features.data[k];
    node->missing_is_yes = s->missing.size && s->missing.data[k];
  }
  return status ? status : make_members(call, f, s);
}

/* ---- walking ---- */

static bool is_member(const forest *f, const forest_node *node, double x) {
  const double *set =
      (const double *)(const void *)((const char *)f + f->members) + node->member_first;
  int32_t k = 0;
  while (k < node->member_n && set[k] != x) k++;
  return k < node->member_n;
}

/* The leaf that a row comes to; -1: the nodes go round in a circle. */
static int64_t walk(const forest *f, int64_t at, const double *row) {
  const forest_node *nodes = (const forest_node *)(const void *)((const char *)f + f->nodes);
  for (int64_t steps = 0; at >= 0; steps++) {
    const forest_node *node = &nodes[at];
    const double x = row[node->feature];
    bool yes = node->mode == BRANCH_MEMBER ? is_member(f, node, x)
                                           : forest_goes_yes((branch)node->mode, x, node->split);
    if (isnan(x) && node->missing_is_yes) yes = true;
    if (steps > f->n_nodes) return -1;
    at = yes ? node->yes : node->no;
  }
  return -1 - at;
}

static void add_vote(const forest_source *s, const forest_vote *v, double *scores, uint8_t *has) {
  double *score = &scores[v->target];
  if (s->aggregate == FOREST_MIN)
    *score = has[v->target] ? fmin(*score, v->weight) : v->weight;
  else if (s->aggregate == FOREST_MAX)
    *score = has[v->target] ? fmax(*score, v->weight) : v->weight;
  else
    *score += v->weight;
  has[v->target] = 1;
}

tn_status forest_score(const tn_call *call, const forest_source *s, const double *row,
                       double *scores, uint8_t *has) {
  const forest *f = call->state;
  const int64_t *roots = (const int64_t *)(const void *)((const char *)f + f->roots),
                n_base = numbers_size(&s->base);
  const forest_leaf *leaves = (const forest_leaf *)(const void *)((const char *)f + f->leaves);
  const forest_vote *votes = (const forest_vote *)(const void *)((const char *)f + f->votes);
  memset(scores, 0, (size_t)s->n_targets * sizeof *scores);
  memset(has, 0, (size_t)s->n_targets);
  for (int64_t k = 0; k < f->n_roots; k++) {
    const int64_t leaf = walk(f, roots[k], row);
    if (leaf < 0)
      return call->host->fail(call->ctx, TN_ERR_INVALID,
                              "the nodes of tree %lld go round in a circle", (long long)k);
    for (int32_t v = 0; v < leaves[leaf].n; v++)
      add_vote(s, &votes[leaves[leaf].first + v], scores, has);
  }
  for (int64_t k = 0; k < s->n_targets; k++) {
    if (s->aggregate == FOREST_AVERAGE && f->n_roots) scores[k] /= (double)f->n_roots;
    if (n_base && (n_base == s->n_targets || k == 0))
      scores[k] += numbers_at(&s->base, n_base == s->n_targets ? k : 0);
  }
  return TN_OK;
}
