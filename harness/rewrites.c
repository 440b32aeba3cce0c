/* Rewrites: what one makes of a graph computes the same.
 *
 * Nobody says which pattern a rewrite looks for. So it is shown graphs around its root, one after
 * the other, each a small change of an earlier one: first those that made it look further than any
 * before (it is seen through the functions that it calls), with the operators first whose names
 * stand in its file. Each graph that it changes is run as it was and as it is then. */
#include <math.h>
#include <string.h>
#include <time.h>

#include "base/abi.h"
#include "base/cpu.h"
#include "harness/harness.h"
#include "harness/rewrites.h"
#include "harness/vet.h"
#include "plan/passes/passes.h"

enum { MAX_KEPT = 48, MAX_TRACES = 1024, MAX_FIRED = 8, MAX_MS = 6000, MAX_TRIED = 200000 };

/* ---- what it asks for ------------------------------------------------------------------------ */

typedef struct record {
  uint64_t trace; /* of the functions that it called, and whether there was an answer */
  bool edits;
} record;

static record seen; /* one rewrite is called at a time */

static void note(uint32_t function, bool answered) {
  const uint64_t words[] = {seen.trace, function * 2u + answered};
  seen.trace = tn_hash_bytes((const char *)words, sizeof words, 1);
}

#define READS(name, type, arguments, pass, answered)          \
  static type name arguments {                                \
    const type answer = tn_graph_show_table.name pass;        \
    note((uint32_t)offsetof(tn_graph_api, name), (answered)); \
    return answer;                                            \
  }
#define EDITS(name, arguments, pass)                      \
  static int32_t name arguments {                         \
    const int32_t answer = tn_graph_show_table.name pass; \
    seen.edits = seen.edits || answer >= 0;               \
    return answer;                                        \
  }
typedef const tn_tensor *tensor_pointer;
typedef const tn_node *node_pointer;
typedef const void *pointer;
READS(value_producer, int32_t, (const tn_graph *g, int32_t v), (g, v), answer >= 0)
READS(value_n_users, int32_t, (const tn_graph *g, int32_t v), (g, v), answer == 1)
READS(value_user, int32_t, (const tn_graph *g, int32_t v, int32_t k), (g, v, k), answer >= 0)
READS(value_flags, uint32_t, (const tn_graph *g, int32_t v), (g, v), (answer & TN_VALUE_CONST) != 0)
READS(value_type, tensor_pointer, (const tn_graph *g, int32_t v), (g, v), answer && answer->data)
READS(node, node_pointer, (const tn_graph *g, int32_t n), (g, n), answer != NULL)
READS(node_attrs, pointer, (const tn_graph *g, int32_t n), (g, n), answer != NULL)
READS(node_n_formal, uint32_t, (const tn_graph *g, int32_t n), (g, n), answer > 1)
EDITS(add_node, (tn_graph * g, const tn_node *n), (g, n))
EDITS(replace_value, (tn_graph * g, int32_t a, int32_t b), (g, a, b))
EDITS(remove_node, (tn_graph * g, int32_t n), (g, n))
EDITS(replace_node, (tn_graph * g, int32_t n, const int32_t *v, uint32_t k), (g, n, v, k))
EDITS(set_regions,
      (tn_graph * g, int32_t n, const int32_t *in, uint32_t n_in, const tn_region *const *r,
       uint32_t n_r, int32_t fill),
      (g, n, in, n_in, r, n_r, fill))
#undef READS
#undef EDITS

static tn_graph_api watched_graph;
static tn_host watched_host;

static void watch(void) {
  watched_graph = tn_graph_show_table;
  watched_graph.value_producer = value_producer;
  watched_graph.value_n_users = value_n_users;
  watched_graph.value_user = value_user;
  watched_graph.value_flags = value_flags;
  watched_graph.value_type = value_type;
  watched_graph.node = node;
  watched_graph.node_attrs = node_attrs;
  watched_graph.node_n_formal = node_n_formal;
  watched_graph.add_node = add_node;
  watched_graph.replace_value = replace_value;
  watched_graph.remove_node = remove_node;
  watched_graph.replace_node = replace_node;
  watched_graph.set_regions = set_regions;
  watched_host = tn_plan_host;
  watched_host.graph = &watched_graph;
}

/* ---- one graph ------------------------------------------------------------------------------- */

typedef struct search {
  check_env *env;
  const tn_rewritedef *rewrite;
  tree_ops ops;
  tree kept[MAX_KEPT]; /* that made it look further */
  int32_t n_kept, n_fired;
  uint64_t traces[MAX_TRACES];
  int32_t n_traces;
  int64_t n_tried, n_shown, n_run; /* graphs, and runs of them */
  uint64_t until_ns, until_cpu_ns; /* by the clock, and of the processor */
  char fired[MAX_FIRED][CHECK_DOING];
} search;

static bool is_new(search *s, uint64_t trace) {
  for (int32_t k = 0; k < s->n_traces; k++)
    if (s->traces[k] == trace) return false;
  if (s->n_traces == MAX_TRACES) return false;
  s->traces[s->n_traces++] = trace;
  return true;
}

/* As the host does it (nodes/plugin_edit.c), but watched. */
static tn_status apply(const search *s, tree_built *b, tn_diag *diag) {
  tn_call_frame f;
  tn_graph *g = b->graph;
  const int32_t first = (int32_t)g->nodes.n;
  tn_edit e = {&b->planner,       g,    b->root,       "rewrite", s->rewrite->rewrite.name,
               s->rewrite->owner, diag, g->promises.n, -1};
  if (tn_call_open(&f, &b->planner, g, b->root, diag)) check_die("no call");
  f.call.host = &watched_host;
  f.call.self = s->rewrite->owner->self;
  g->complaint = NULL;
  g->lowering = b->root;
  g->old_nodes = first;
  g->old_values = (int32_t)g->values.n;
  seen = (record){0, false};
  tn_status status = s->rewrite->rewrite.apply(&f.call, g, b->root);
  g->lowering = -1;
  tn_call_close(&f);
  if (!status && seen.edits) status = tn_settle_from(&b->planner, g, first, diag);
  if (!status && seen.edits) status = tn_edit_check(&e);
  return status;
}

/* ---- before and after ------------------------------------------------------------------------ */

typedef struct outputs {
  check_model model;
  const tn_tensor *y;
} outputs;

static tn_status open_outputs(const search *s, tn_graph *g, uint32_t flags, outputs *out) {
  const tn_model_options options = {.head = TN_HEAD(tn_model_options), .flags = flags};
  *out = (outputs){.model = {NULL, NULL}};
  tn_status status =
      tn_model_from_graph_take(s->env->runtime, g, &options, NULL, &out->model.model);
  return status ? status : tn_session_create(out->model.model, NULL, &out->model.session);
}

static tn_status run(const tree_built *b, int32_t fill, outputs *out) {
  tn_status s = TN_OK;
  int32_t index = 0;
  for (int32_t k = 0; k < b->n_leaves && !s; k++) {
    tn_tensor t = b->leaves[k].type;
    if (b->leaves[k].constant) continue;
    t.data = b->leaves[k].data[fill];
    s = tn_session_set_input(out->model.session, index++, &t, NULL);
  }
  if (!s) s = tn_session_run(out->model.session, NULL);
  out->y = s ? NULL : tn_session_output(out->model.session, 0);
  return s;
}

static double scale_of(const tn_tensor *t) {
  double scale = 0;
  for (int64_t k = 0; tn_dtype(t->dtype)->is_float && k < tn_tensor_elements(t); k++) {
    const double x = fabs(tn_load_f64(t->dtype, t->data, k));
    if (isfinite(x)) scale = fmax(scale, x);
  }
  return scale;
}

/* Sums in another order, and products of rounded constants, are the same. */
static void compare(const search *s, const outputs *before, const outputs *after, const char *how,
                    const char *graph) {
  const check_tolerance tolerance = {.k = 1024, .ints = 1, .scale = scale_of(before->y)};
  char why[CHECK_TEXT];
  if (!check_compare(before->y, after->y, tolerance, "the result", why, sizeof why))
    check_fail(s->env, "makes something else of %s%s: %s", graph, how, why);
}

static void compare_with(search *s, const tree_built *b, outputs *before, tn_graph *g,
                         uint32_t flags, const char *how, const char *graph) {
  outputs after;
  tn_status status = g ? open_outputs(s, g, flags, &after) : TN_ERR_MEMORY;
  if (!g) return;
  for (int32_t fill = 0; !status && fill < TREE_FILLS && check_unit_ok(s->env); fill++) {
    if (run(b, fill, before)) break;
    status = run(b, fill, &after);
    if (!status) compare(s, before, &after, how, graph);
    s->n_run += !status;
  }
  if (status && status != TN_ERR_UNSUPPORTED)
    check_fail(s->env, "what it makes of %s%s does not run: %s", graph, how,
               tn_status_text(status));
  check_model_close(&after.model);
}

/* The edited graph as it is, and the whole way of a model. */
static void run_both(search *s, const tree *t, tree_built *b, const char *graph) {
  outputs before;
  tn_graph *plain = tree_plain(&s->ops, t, b), *edited = b->graph;
  b->graph = NULL;
  check_doing(s->env, "a session");
  if (!plain || open_outputs(s, plain, TN_MODEL_NO_OPTIMIZE, &before) || run(b, 0, &before)) {
    if (plain) check_model_close(&before.model);
    tn_graph_destroy(edited);
    return;
  }
  compare_with(s, b, &before, edited, TN_MODEL_NO_OPTIMIZE, "", graph);
  if (check_unit_ok(s->env))
    compare_with(s, b, &before, tree_plain(&s->ops, t, b), 0, ", in a model", graph);
  check_model_close(&before.model);
}

static bool is_told(search *s, const char *graph) {
  for (int32_t k = 0; k < s->n_fired; k++)
    if (!strcmp(s->fired[k], graph)) return true;
  if (s->n_fired < MAX_FIRED)
    snprintf(s->fired[s->n_fired], sizeof s->fired[0], "%.*s", CHECK_DOING - 1, graph);
  s->n_fired += s->n_fired < MAX_FIRED;
  return false;
}

/* Nodes, attributes and constants, the first so many: new ones that nobody uses change nothing. */
static uint64_t hash_graph(const tn_graph *g, int64_t n_nodes, int64_t n_values) {
  uint64_t hash = 1;
  for (int64_t k = 0; k < n_nodes; k++) {
    const tn_gnode *n = &g->nodes.data[k];
    hash = tn_hash_bytes((const char *)&n->node, sizeof n->node, hash);
    hash =
        tn_hash_bytes((const char *)n->attrs, n->def ? (size_t)n->def->schema.attrs_size : 0, hash);
  }
  for (int64_t k = 0; k < n_values; k++) {
    const tn_value *v = &g->values.data[k];
    const int64_t bytes = v->constant ? tn_storage_bytes(v->type) : 0;
    hash = tn_hash_bytes((const char *)v->type->shape, sizeof v->type->shape, hash);
    if (bytes > 0 && v->type->data) hash = tn_hash_bytes(v->type->data, (size_t)bytes, hash);
  }
  return hash;
}

static void show(search *s, const tree *t) {
  tree_built b;
  char graph[CHECK_DOING - 20];
  s->n_tried++;
  if (tree_build(&s->ops, t, &b)) {
    tn_diag *diag = check_need(tn_diag_create());
    tree_text(&s->ops, t, graph, sizeof graph);
    check_doing(s->env, "apply() on %s", graph);
    const int64_t n_nodes = b.graph->nodes.n, n_values = b.graph->values.n;
    const uint64_t before = hash_graph(b.graph, n_nodes, n_values);
    const tn_status status = apply(s, &b, diag);
    s->n_shown++;
    if (!seen.edits && hash_graph(b.graph, n_nodes, n_values) != before)
      check_fail(s->env, "apply() on %s writes into the graph, not through its functions", graph);
    if (!tn_is_status(status))
      check_fail(s->env, "apply() on %s answers %d, which is no status", graph, status);
    else if (status)
      check_fail(s->env, "apply() on %s fails: %s", graph,
                 tn_diag_count(diag) ? tn_diag_text(diag) : tn_status_text(status));
    else if (seen.edits && !is_told(s, graph))
      run_both(s, t, &b, graph);
    if (is_new(s, seen.trace * 2 + seen.edits) && s->n_kept < MAX_KEPT) s->kept[s->n_kept++] = *t;
    tn_diag_destroy(diag);
  }
  tree_close(&b);
}

/* ---- the search ------------------------------------------------------------------------------ */

static uint64_t cpu_ns(void) {
  struct timespec now;
  if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now)) return 0;
  return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

static bool is_over(const search *s) {
  return !check_unit_ok(s->env) || s->n_fired == MAX_FIRED || s->n_tried >= MAX_TRIED ||
         cpu_ns() > s->until_cpu_ns || tn_now_ns() > s->until_ns;
}

static void show_root(search *s, const tn_opdef *root) {
  for (int32_t k = 0; k < s->ops.n; k++) {
    if (s->ops.ops[k].op != root) continue;
    for (int32_t form = 0; form < s->ops.ops[k].n_forms && !is_over(s); form++) {
      const tree t = tree_of(k, form);
      show(s, &t);
      if (!s->n_kept) s->kept[s->n_kept++] = t;
    }
  }
}

static void show_changes(search *s, int32_t from, int32_t n_ops) {
  const tree t = s->kept[from];
  const int64_t n = tree_n_changes(&s->ops, &t, n_ops);
  tree changed;
  for (int64_t k = 0; k < n && !is_over(s); k++)
    if (tree_change(&s->ops, &t, k, n_ops, &changed)) show(s, &changed);
}

/* Several changes at once, of which none alone made it look further. */
static void show_chance(search *s, uint64_t *seed) {
  tree t = s->kept[check_random(seed) % (uint64_t)s->n_kept], changed;
  const int32_t named = s->ops.n_named ? s->ops.n_named : s->ops.n;
  const int32_t n_ops = check_random(seed) % 4 ? named : s->ops.n;
  for (uint64_t times = 2 + check_random(seed) % 2; times; times--) {
    const int64_t n = tree_n_changes(&s->ops, &t, n_ops);
    for (int tries = 0; tries < 16; tries++) {
      if (!tree_change(&s->ops, &t, (int64_t)(check_random(seed) % (uint64_t)n), n_ops, &changed))
        continue;
      t = changed;
      break;
    }
  }
  show(s, &t);
}

static void look_for_patterns(search *s, const tn_opdef *root) {
  uint64_t seed = 1;
  show_root(s, root);
  for (int32_t k = 0; k < s->n_kept && !is_over(s); k++) show_changes(s, k, s->ops.n_named);
  for (int32_t k = 0; k < s->n_kept && !is_over(s); k++) show_changes(s, k, s->ops.n);
  while (s->n_kept && !is_over(s)) show_chance(s, &seed);
}

static void report(search *s) {
  if (!s->n_fired)
    check_skip(s->env, "not checked: it changes none of %lld graphs that were tried around %s",
               (long long)s->n_shown, s->rewrite->rewrite.root);
  else if (!s->n_run)
    check_skip(s->env, "not checked: it changes %s, but no kernels run that", s->fired[0]);
  else
    check_skip(s->env, "checked where it changes %s%s; not with other patterns that it may know",
               s->fired[0], s->n_fired > 1 ? " and graphs like it" : "");
}

void check_rewrite(check_env *env, const tn_opdef *root, const tn_rewritedef *rewrite) {
  check_part(env, "rewrite '%s'", rewrite->rewrite.name);
  search *s = check_need(tn_alloc(tn_default_allocator(), sizeof *s));
  s->env = env;
  s->rewrite = rewrite;
  watch();
  const bool fresh = check_unit_begin(env, "graphs around %s", rewrite->rewrite.root);
  if (fresh) {
    tree_ops_open(&s->ops, env);
    s->until_ns = tn_now_ns() + (uint64_t)(1e9 * env->limits->unit_seconds * 2 / 3);
    s->until_cpu_ns =
        cpu_ns() + (uint64_t)(1e9 * fmin(MAX_MS / 1e3, env->limits->unit_seconds / 3));
    look_for_patterns(s, root);
    check_unit_end(env);
    report(s);
    tree_ops_close(&s->ops);
  } else {
    check_skip(env, "not checked further: it crashed"); /* told only if it did */
  }
  tn_free(tn_default_allocator(), s, sizeof *s);
}
