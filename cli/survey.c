/* Walking a graph and what belongs to it, counting. */
#include "survey.h"

#include <stdlib.h>
#include <string.h>

#include "tenon/kit/dtype.h"

enum { MAX_DEPTH = 64 };

static void keep(cli_survey *s, tn_status status) {
  if (status) s->status = status;
}

/* ---- functions ---- */

/* The function of the model that a node calls; false: none. */
static bool find_function(const tn_graph *g, const tn_node *n, tn_function_info *out) {
  const tn_graph_api *api = tn_graph_functions();
  const char *overload = n->overload ? n->overload : "";
  for (int32_t k = 0; k < api->n_functions(g); k++) {
    *out = (tn_function_info){.head = TN_HEAD(tn_function_info)};
    if (api->function_at(g, k, out)) return false;
    if (!strcmp(out->domain, n->domain) && !strcmp(out->name, n->op) &&
        !strcmp(out->overload ? out->overload : "", overload))
      return true;
  }
  return false;
}

static bool enter(cli_survey *s, const tn_graph *body) {
  for (int64_t k = 0; k < s->bodies.n; k++)
    if (s->bodies.data[k] == body) return false;
  keep(s, tn_vec_push(s->arena.a, &s->bodies, body));
  return !s->status;
}

/* ---- nodes ---- */

static cli_use *find_use(cli_survey *s, const tn_node *n, int32_t version, bool is_function) {
  for (int64_t k = 0; k < s->uses.n; k++) {
    cli_use *u = &s->uses.data[k];
    if (u->version == version && u->is_function == is_function && !strcmp(u->name, n->op) &&
        !strcmp(u->domain, n->domain))
      return u;
  }
  cli_use use = {.domain = n->domain,
                 .name = n->op,
                 .version = version,
                 .first = n->name,
                 .is_function = is_function};
  use.op = version ? tn_runtime_find_op(s->runtime, n->domain, n->op, version) : NULL;
  keep(s, tn_vec_push(s->arena.a, &s->uses, use));
  return s->status ? NULL : &s->uses.data[s->uses.n - 1];
}

typedef struct walk {
  cli_survey *s;
  const tn_graph *model; /* whose functions count */
  int depth;
} walk;

static void walk_graph(const walk *w, const tn_graph *g);

static void walk_node(const walk *w, const tn_graph *g, int32_t id) {
  const tn_graph_api *api = tn_graph_functions();
  const tn_node *n = api->node(g, id);
  const walk inner = {w->s, w->model, w->depth + 1};
  tn_function_info f;
  int32_t version = n->version ? n->version : api->opset(g, n->domain);
  const tn_op *op = version ? tn_runtime_find_op(w->s->runtime, n->domain, n->op, version) : NULL;
  bool is_function = !op && find_function(w->model, n, &f);
  cli_use *use = find_use(w->s, n, version, is_function);
  if (!use) return;
  use->n_nodes++;
  w->s->n_nodes++;
  if (is_function && enter(w->s, f.body)) walk_graph(&inner, f.body);
  const tn_graph *sub;
  for (uint32_t k = 0; (sub = api->node_graph(g, id, k)); k++) {
    w->s->n_subgraphs++;
    walk_graph(&inner, sub);
  }
}

static void add_weights(cli_survey *s, const tn_graph *g) {
  const tn_graph_api *api = tn_graph_functions();
  for (int32_t k = 0; k < api->n_values(g); k++) {
    if (!(api->value_flags(g, k) & TN_VALUE_CONST)) continue;
    const tn_tensor *t = api->value_type(g, k);
    int64_t n = tn_tensor_elements(t), bytes = tn_tensor_bytes(t);
    if (n < 0 || bytes < 0) continue;
    s->n_parameters += n;
    s->weight_bytes += (uint64_t)bytes;
  }
}

static void walk_graph(const walk *w, const tn_graph *g) {
  const tn_graph_api *api = tn_graph_functions();
  if (w->depth > MAX_DEPTH) return;
  add_weights(w->s, g);
  for (int32_t k = 0; k < api->n_nodes(g) && !w->s->status; k++)
    walk_node(w, g, api->node_at(g, k));
}

/* ---- order ---- */

static int by_nodes(const void *x, const void *y) {
  const cli_use *a = x, *b = y;
  if (a->n_nodes != b->n_nodes) return a->n_nodes < b->n_nodes ? 1 : -1;
  int order = strcmp(a->domain, b->domain);
  if (!order) order = strcmp(a->name, b->name);
  return order ? order : (a->version > b->version) - (a->version < b->version);
}

tn_status cli_survey_graph(cli_survey *survey, tn_runtime *runtime, const tn_graph *graph) {
  *survey = (cli_survey){.runtime = runtime};
  tn_arena_init(&survey->arena, tn_default_allocator());
  const walk w = {survey, graph, 0};
  walk_graph(&w, graph);
  if (survey->uses.n)
    qsort(survey->uses.data, (size_t)survey->uses.n, sizeof *survey->uses.data, by_nodes);
  return survey->status;
}

void cli_survey_free(cli_survey *survey) {
  if (!survey->arena.a) return;
  tn_vec_free(survey->arena.a, &survey->uses);
  tn_vec_free(survey->arena.a, &survey->bodies);
  tn_arena_clear(&survey->arena);
}
