/* TreeEnsembleClassifier, TreeEnsembleRegressor and TreeEnsemble as C: the nodes that branch as
 * arrays, and one loop that goes down from a root. */
#include "forest.h"
#include "scores_emit.h"

/* Indices fit 16 bits in most forests, and numbers f32. */
typedef struct shape {
  const forest *f;
  const forest_source *s;
  int64_t n_nodes, n_votes;  /* that branch; of leaves, each its own */
  int32_t *place;            /* of each node of the forest, among those that branch */
  uint32_t x, split, weight; /* dtypes */
  bool is_wide;              /* indices of 32 bits */
  int mode;                  /* of all nodes; -1: they differ, or NaN has a way of its own */
  char name[64];
} shape;

static const forest_node *nodes_of(const forest *f) { return FOREST_PART(f, forest_node, nodes); }

static const char *refuse(const tn_call *call, const forest_source *s) {
  const forest *f = call->state;
  if (!f) return "its trees are not made";
  for (int64_t k = 0; k < f->n_nodes; k++)
    if (nodes_of(f)[k].mode == BRANCH_MEMBER) return "takes no tests of membership";
  if (!tn_emit_c_type(call->inputs[0]->dtype)) return "takes no half floats";
  return scoring_refuse(s->how);
}

static bool has_mode(const forest_node *n) { return n->mode != BRANCH_LEAF; }

static int mode_of(const forest *f) {
  int mode = -1;
  for (int64_t k = 0; k < f->n_nodes; k++) {
    const forest_node *n = &nodes_of(f)[k];
    if (!has_mode(n)) continue;
    if (n->missing_is_yes || (mode >= 0 && mode != n->mode)) return -1;
    mode = n->mode;
  }
  return mode;
}

static bool splits_fit(const forest *f) {
  int64_t k = 0;
  while (k < f->n_nodes && scoring_fits_f32(&nodes_of(f)[k].split, 1)) k++;
  return k == f->n_nodes;
}

static bool weights_fit(const forest *f) {
  const forest_vote *v = FOREST_PART(f, forest_vote, votes);
  int64_t k = 0;
  while (k < f->n_votes && scoring_fits_f32(&v[k].weight, 1)) k++;
  return k == f->n_votes;
}

static bool shape_make(const tn_emit *e, const forest_source *s, shape *out) {
  static const char *const names[] = {"mean", "sum", "least", "most"};
  const forest *f = e->call->state;
  const tn_tensor *x = e->call->inputs[0];
  shape h = {.f = f, .s = s, .x = x->dtype, .mode = mode_of(f)};
  h.place = e->memory(e, (uint64_t)tn_max_i64(f->n_nodes, 1) * sizeof *h.place);
  if (!h.place) return false;
  for (int64_t k = 0; k < f->n_nodes; k++)
    h.place[k] = has_mode(&nodes_of(f)[k]) ? (int32_t)h.n_nodes++ : -1;
  for (int64_t k = 0; k < f->n_leaves; k++) h.n_votes += FOREST_PART(f, forest_leaf, leaves)[k].n;
  h.split = x->dtype == TN_F32 && splits_fit(f) ? TN_F32 : TN_F64;
  h.weight = weights_fit(f) ? TN_F32 : TN_F64;
  h.is_wide = tn_max_i64(tn_max_i64(h.n_nodes, f->n_leaves),
                         tn_max_i64(h.n_votes, x->shape[x->rank - 1])) > INT16_MAX ||
              s->n_targets > INT16_MAX;
  snprintf(
      h.name, sizeof h.name, "trees_%s_%s_%s_%s_%s_%s", names[s->aggregate], tn_dtype(h.x)->name,
      tn_dtype(h.split)->name, tn_dtype(h.weight)->name, h.is_wide ? "i32" : "i16",
      h.mode < 0 ? "any" : (const char *const[]){"leq", "lt", "gte", "gt", "eq", "neq"}[h.mode]);
  *out = h;
  return true;
}

/* ---- arrays ---- */

static const char *indices(const tn_emit *e, const shape *h, const int32_t *values, int64_t n) {
  const uint32_t dtype = h->is_wide ? TN_I32 : TN_I16;
  void *data = e->memory(e, (uint64_t)tn_max_i64(n, 1) * sizeof(int32_t));
  const tn_tensor t = tn_tensor_make(dtype, 1, &n, data);
  for (int64_t k = 0; data && k < n; k++) tn_store_i64(dtype, data, k, values[k]);
  return data ? e->constant(e, &t) : "NULL";
}

/* Nodes by their new places; leaves stay as they are. */
static int32_t moved(const shape *h, int64_t at) { return at < 0 ? (int32_t)at : h->place[at]; }

/* How many nodes the longest way from a root has, if children stand behind their parents; else
 * that of all of them. */
static int64_t depth_of(const shape *h, int32_t *level) {
  const forest *f = h->f;
  const int64_t *roots = FOREST_PART(f, int64_t, roots);
  int32_t most = 0;
  for (int64_t k = 0; k < f->n_roots; k++)
    if (roots[k] >= 0) level[roots[k]] = 1;
  for (int64_t k = 0; k < f->n_nodes; k++) {
    const forest_node *n = &nodes_of(f)[k];
    if (!has_mode(n) || !level[k]) continue;
    const int32_t to[] = {n->yes, n->no};
    most = level[k] > most ? level[k] : most;
    for (int side = 0; side < 2; side++) {
      if (to[side] < 0) continue;
      if (to[side] <= k) return h->n_nodes;
      if (level[to[side]] <= level[k]) level[to[side]] = level[k] + 1;
    }
  }
  return most;
}

typedef struct columns { /* of the nodes that branch */
  int32_t *feature, *yes, *no, *rule;
  double *split;
} columns;

static bool columns_make(const tn_emit *e, const shape *h, columns *out) {
  const uint64_t n = (uint64_t)tn_max_i64(h->n_nodes, 1), bytes = n * sizeof(int32_t);
  columns c = {e->memory(e, bytes), e->memory(e, bytes), e->memory(e, bytes), e->memory(e, bytes),
               e->memory(e, n * sizeof(double))};
  if (!c.feature || !c.yes || !c.no || !c.rule || !c.split) return false;
  for (int64_t k = 0; k < h->f->n_nodes; k++) {
    const forest_node *node = &nodes_of(h->f)[k];
    const int32_t at = h->place[k];
    if (at < 0) continue;
    c.feature[at] = node->feature;
    c.yes[at] = moved(h, node->yes);
    c.no[at] = moved(h, node->no);
    c.rule[at] = node->mode | (node->missing_is_yes ? 8 : 0);
    c.split[at] = node->split;
  }
  *out = c;
  return true;
}

/* Leaves one behind the other, each with its votes. */
static void write_votes(const tn_emit *e, const shape *h) {
  const forest *f = h->f;
  const forest_leaf *leaves = FOREST_PART(f, forest_leaf, leaves);
  const forest_vote *votes = FOREST_PART(f, forest_vote, votes);
  const uint64_t n = (uint64_t)tn_max_i64(h->n_votes, 1);
  int32_t *first = e->memory(e, ((uint64_t)f->n_leaves + 1) * sizeof *first);
  int32_t *target = e->memory(e, n * sizeof *target), at = 0;
  double *weight = e->memory(e, n * sizeof *weight);
  if (!first || !target || !weight) return;
  for (int64_t k = 0; k < f->n_leaves; k++) {
    for (int32_t v = 0; v < leaves[k].n; v++, at++) {
      target[at] = (int32_t)votes[leaves[k].first + v].target;
      weight[at] = votes[leaves[k].first + v].weight;
    }
    first[k + 1] = at;
  }
  e->table(e, ",\n    .first = %s", indices(e, h, first, f->n_leaves + 1));
  e->table(e, ", .target = %s", indices(e, h, target, h->n_votes));
  e->table(e, ", .weight = %s", scoring_constant(e, h->weight, weight, h->n_votes));
}

static void write_roots(const tn_emit *e, const shape *h) {
  const int64_t n = h->f->n_roots;
  int32_t *roots = e->memory(e, (uint64_t)tn_max_i64(n, 1) * sizeof *roots);
  if (!roots) return;
  for (int64_t k = 0; k < n; k++) roots[k] = moved(h, FOREST_PART(h->f, int64_t, roots)[k]);
  e->table(e, ", .root = %s", indices(e, h, roots, n));
}

static const char *base_of(const tn_emit *e, const forest_source *s) {
  const int64_t n = numbers_size(&s->base);
  double *base = e->memory(e, (uint64_t)tn_max_i64(n, 1) * sizeof *base);
  for (int64_t k = 0; base && k < n; k++) base[k] = numbers_at(&s->base, k);
  return base && n ? scoring_constant(e, TN_F64, base, n) : "NULL";
}

static void write_table(const tn_emit *e, const shape *h) {
  int32_t *level = e->memory(e, (uint64_t)tn_max_i64(h->f->n_nodes, 1) * sizeof *level);
  columns c;
  if (!level || !columns_make(e, h, &c)) return;
  const char *base = base_of(e, h->s);
  e->table(e,
           "static const struct %s forest_%u = {\n"
           "    .trees = %d, .depth = %d, .targets = %d, .n_base = %d, .base = %s",
           h->name, e->step, (int)h->f->n_roots, (int)depth_of(h, level), (int)h->s->n_targets,
           (int)numbers_size(&h->s->base), base);
  write_roots(e, h);
  e->table(e, ",\n    .feature = %s", indices(e, h, c.feature, h->n_nodes));
  e->table(e, ", .yes = %s", indices(e, h, c.yes, h->n_nodes));
  e->table(e, ", .no = %s", indices(e, h, c.no, h->n_nodes));
  if (h->mode < 0) e->table(e, ", .rule = %s", indices(e, h, c.rule, h->n_nodes));
  e->table(e, ", .split = %s", scoring_constant(e, h->split, c.split, h->n_nodes));
  write_votes(e, h);
  e->table(e, "};\n");
}

/* ---- functions ---- */

static void rule_function(const tn_emit *e, const shape *h, char *name, size_t size) {
  const char *type = tn_emit_c_type(h->split);
  snprintf(name, size, "goes_yes_%s", tn_dtype(h->split)->name);
  e->function(e, name,
              "/* rule: 0 <=, 1 <, 2 >=, 3 >, 4 ==, 5 !=; 8 more: NaN says yes, too. */\n"
              "static int32_t %s(int32_t rule, %s v, %s split) {\n"
              "  int32_t yes = 0;\n"
              "  switch (rule & 7) {\n"
              "    case 0: yes = v <= split ? 1 : 0; break;\n"
              "    case 1: yes = v < split ? 1 : 0; break;\n"
              "    case 2: yes = v >= split ? 1 : 0; break;\n"
              "    case 3: yes = v > split ? 1 : 0; break;\n"
              "    case 4: yes = v == split ? 1 : 0; break;\n"
              "    default: yes = v != split ? 1 : 0; break;\n"
              "  }\n"
              "  return v != v && rule >= 8 ? 1 : yes;\n"
              "}\n",
              name, type, type);
}

static void struct_function(const tn_emit *e, const shape *h) {
  const char *index = h->is_wide ? "int32_t" : "int16_t";
  char text[80];
  snprintf(text, sizeof text, "struct %s", h->name);
  e->function(
      e, text,
      "/* Trees. A node is a number from 0 on, a leaf -1, -2 ...; leaf -1 - k has the votes from\n"
      " * first[k] to first[k + 1], not with it. No way down has more nodes than `depth`. */\n"
      "struct %s {\n"
      "  int32_t trees, depth, targets, n_base;\n"
      "  const double *base; /* for all targets, or the first; NULL: none */\n"
      "  const %s *root, *feature, *yes, *no%s;\n"
      "  const %s *split;\n"
      "  const %s *first, *target;\n"
      "  const %s *weight;\n"
      "};\n",
      h->name, index, h->mode < 0 ? ", *rule" : "", tn_emit_c_type(h->split), index,
      tn_emit_c_type(h->weight));
}

/* What a vote does to its score, and what is done when all have voted. */
static const char *vote_text(const forest_source *s) {
  switch (s->aggregate) {
    case FOREST_MIN: return "is_there[to] != 0.0 ? fmin(scores[to], vote) : vote";
    case FOREST_MAX: return "is_there[to] != 0.0 ? fmax(scores[to], vote) : vote";
    default: return "scores[to] + vote";
  }
}

static bool marks(const forest_source *s) {
  return s->aggregate == FOREST_MIN || s->aggregate == FOREST_MAX;
}

static void scores_function(const tn_emit *e, const shape *h) {
  static const char *const than[] = {"<=", "<", ">=", ">", "==", "!="};
  const char *split = tn_emit_c_type(h->split);
  char rule[32], condition[80];
  if (h->mode < 0) {
    rule_function(e, h, rule, sizeof rule);
    snprintf(condition, sizeof condition, "%s(f->rule[at], v, f->split[at]) != 0", rule);
  } else {
    snprintf(condition, sizeof condition, "v %s f->split[at]", than[h->mode]);
  }
  struct_function(e, h);
  e->function(
      e, h->name,
      "/* What the trees say of one row of features, of each target. */\n"
      "static void %s(const struct %s *f, const %s *x, double *scores) {\n"
      "%s"
      "  for (int32_t k = 0; k < f->targets; k++) {\n"
      "    scores[k] = 0.0;\n"
      "%s"
      "  }\n"
      "  for (int32_t t = 0; t < f->trees; t++) {\n"
      "    int32_t at = f->root[t];\n"
      "    for (int32_t level = 0; at >= 0 && level < f->depth; level++) {\n"
      "      const %s v = (%s)x[f->feature[at]];\n"
      "      at = %s ? f->yes[at] : f->no[at];\n"
      "    }\n"
      "    const int32_t leaf = at < 0 ? -1 - at : 0;\n"
      "    for (int32_t k = f->first[leaf]; k < f->first[leaf + 1]; k++) {\n"
      "      const double vote = (double)f->weight[k];\n"
      "      const int32_t to = f->target[k];\n"
      "      scores[to] = %s;\n"
      "%s"
      "    }\n"
      "  }\n"
      "%s"
      "  for (int32_t k = 0; k < f->n_base; k++) {\n"
      "    scores[k] += f->base[k];\n"
      "  }\n"
      "}\n",
      h->name, h->name, tn_emit_c_type(h->x),
      marks(h->s) ? "  double *is_there = scores + f->targets; /* 1: there was a vote */\n" : "",
      marks(h->s) ? "    is_there[k] = 0.0;\n" : "", split, split, condition, vote_text(h->s),
      marks(h->s) ? "      is_there[to] = 1.0;\n" : "",
      h->s->aggregate == FOREST_AVERAGE && h->f->n_roots
          ? "  for (int32_t k = 0; k < f->targets; k++) {\n"
            "    scores[k] /= (double)f->trees;\n"
            "  }\n"
          : "");
}

/* ---- the three operators ---- */

static uint64_t scratch(const forest_source *s) {
  return (uint64_t)s->n_targets * (marks(s) ? 2 : 1) * sizeof(double);
}

/* Two classes of which the trees know one. */
static void one_sided(const tn_emit *e, const forest_source *s, char *best, size_t best_size,
                      char *finish, size_t size) {
  const bool probability = forest_all_positive(s);
  const int side = (int)s->vote_targets.data[0];
  snprintf(best, best_size, "scores[%d] > %s ? 1 : 0", side, probability ? "0.5" : "0.0");
  if (side == 1) {
    scoring_transform(e, s->how, 2, finish, size);
  } else if (s->how == TRANSFORM_LOGISTIC) {
    e->code(e, "emit/logistic.c");
    snprintf(finish, size,
             "    scores[1] = score_logistic(scores[0]);\n"
             "    scores[0] = score_logistic(-scores[0]);\n");
  } else {
    snprintf(finish, size,
             "    scores[1] = scores[0];\n"
             "    scores[0] = %s;\n",
             probability ? "1.0 - scores[1]" : "-scores[1]");
  }
}

static void write_forest(const tn_emit *e, const forest_source *s, const char *best,
                         const char *finish, tn_ints labels) {
  const tn_tensor *x = e->call->inputs[0];
  char type[80], model[32];
  shape h;
  if (!shape_make(e, s, &h)) return;
  scores_function(e, &h);
  write_table(e, &h);
  snprintf(type, sizeof type, "const struct %s *", h.name);
  snprintf(model, sizeof model, "&forest_%u", e->step);
  const scoring all = {.function = h.name,
                       .type = type,
                       .model = model,
                       .rows = x->rank == 1 ? 1 : x->shape[0],
                       .width = x->shape[x->rank - 1],
                       .n = s->n_targets,
                       .finish = finish,
                       .best = best,
                       .labels = labels};
  scoring_write(e, &all);
}

static void emit_targets(const tn_emit *e, const forest_source *s) {
  char finish[SCORING_LINES];
  scoring_transform(e, s->how, s->n_targets, finish, sizeof finish);
  write_forest(e, s, NULL, finish, (tn_ints){NULL, 0});
}

static void classifier_emit(const tn_emit *e) {
  const forest_source s = forest_of_classifier(e->call);
  char best[64], finish[SCORING_LINES];
  if (forest_is_one_sided(&s)) {
    one_sided(e, &s, best, sizeof best, finish, sizeof finish);
  } else {
    e->code(e, "emit/best_score.c");
    snprintf(best, sizeof best, "best_score(scores, %d)", (int)s.n_targets);
    scoring_transform(e, s.how, s.n_targets, finish, sizeof finish);
  }
  write_forest(e, &s, best, finish,
               ((const tn_tree_ensemble_classifier_attrs *)e->call->attrs)->classlabels_int64s);
}

static void regressor_emit(const tn_emit *e) {
  const forest_source s = forest_of_regressor(e->call);
  emit_targets(e, &s);
}

static void ensemble_emit(const tn_emit *e) {
  const forest_source s = forest_of_ensemble(e->call);
  emit_targets(e, &s);
}

static const char *classifier_refuse(const tn_call *call) {
  const forest_source s = forest_of_classifier(call);
  return refuse(call, &s);
}

static const char *regressor_refuse(const tn_call *call) {
  const forest_source s = forest_of_regressor(call);
  return refuse(call, &s);
}

static const char *ensemble_refuse(const tn_call *call) {
  const forest_source s = forest_of_ensemble(call);
  return call->outputs[0]->dtype == TN_F32 ? refuse(call, &s) : "gives f32 only";
}

static uint64_t classifier_scratch(const tn_call *call) {
  const forest_source s = forest_of_classifier(call);
  return scratch(&s);
}

static uint64_t regressor_scratch(const tn_call *call) {
  const forest_source s = forest_of_regressor(call);
  return scratch(&s);
}

static uint64_t ensemble_scratch(const tn_call *call) {
  const forest_source s = forest_of_ensemble(call);
  return scratch(&s);
}

#define EMITTER(name, of)                                                \
  static const tn_emitter name##_emitter = {.head = TN_HEAD(tn_emitter), \
                                            .kernel = of,                \
                                            .refuse = name##_refuse,     \
                                            .scratch = name##_scratch,   \
                                            .scratch_type = TN_F64,      \
                                            .emit = name##_emit};
EMITTER(classifier, "tree_ensemble_classifier_c")
EMITTER(regressor, "tree_ensemble_regressor_c")
EMITTER(ensemble, "tree_ensemble_c")

const tn_emitter *const forest_emitters[] = {&classifier_emitter, &regressor_emitter,
                                             &ensemble_emitter, NULL};
