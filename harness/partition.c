/* Compilers that are vetted: what they claim of small graphs, and what becomes of that. */
#include <stdlib.h>
#include <string.h>

#include "accelerator/accelerator.h"
#include "exec/model.h"
#include "harness/harness.h"
#include "harness/vet.h"

/* ---- graphs ---------------------------------------------------------------------------------- */

typedef struct small_node {
  const char *op, *in[2], *out;
} small_node;

/* x and z are inputs, w is a constant, all f32[4,4]; y is the output. */
static const struct small_graph {
  const char *text;
  small_node nodes[4];
  int n;
} graphs[] = {{"a chain", {{"Add", {"x", "w"}, "a"}, {"Relu", {"a"}, "y"}}, 2},
              {"two branches",
               {{"MatMul", {"x", "w"}, "a"},
                {"Tanh", {"a"}, "b"},
                {"Sigmoid", {"a"}, "c"},
                {"Mul", {"b", "c"}, "y"}},
               4},
              {"a single node", {{"Identity", {"x"}, "y"}}, 1},
              {"two inputs", {{"Add", {"x", "z"}, "y"}}, 1}};

/* All values have the type of x, as if they had been inferred. */
static void add_node(tn_graph *g, const small_node *n, const tn_tensor *type) {
  const tn_graph_api *api = tn_graph_functions();
  const int32_t in[] = {api->value(g, n->in[0]), n->in[1] ? api->value(g, n->in[1]) : TN_NO_ID};
  const int32_t out = api->value(g, n->out);
  const tn_node node = {.head = TN_HEAD(tn_node),
                        .domain = "",
                        .op = n->op,
                        .name = n->out,
                        .n_inputs = n->in[1] ? 2 : 1,
                        .n_outputs = 1,
                        .inputs = in,
                        .outputs = &out,
                        .offset = -1};
  if (api->value_set_type(g, out, type) || api->add_node(g, &node) < 0) check_die("no node");
}

static tn_status add_input(tn_graph *g, const char *name, const tn_tensor *type) {
  const tn_graph_api *api = tn_graph_functions();
  const int32_t value = api->value(g, name);
  const tn_status s = api->value_set_type(g, value, type);
  return s ? s : api->add_input(g, value);
}

static tn_model *make_model(check_env *env, const struct small_graph *small) {
  static float weights[16] = {1, 2, 3, 4, 5, 6, 7, 8};
  const tn_model_options options = {.head = TN_HEAD(tn_model_options), .flags = TN_MODEL_CHECKED};
  const tn_graph_api *api = tn_graph_functions();
  const int64_t dims[] = {4, 4};
  const tn_tensor type = tn_tensor_make(TN_F32, 2, dims, NULL),
                  w = tn_tensor_make(TN_F32, 2, dims, weights);
  tn_model *model = NULL;
  tn_graph *g = NULL;
  if (tn_graph_create(env->runtime, &g)) check_die("no graph");
  const char *second = small->nodes[0].in[1];
  tn_status s = api->set_opset(g, "", env->newest);
  if (!s) s = add_input(g, "x", &type);
  if (!s && second && !strcmp(second, "z")) s = add_input(g, second, &type);
  if (!s && second && !strcmp(second, "w")) s = api->value_set_const(g, api->value(g, "w"), &w, 1);
  for (int k = 0; k < small->n; k++) add_node(g, &small->nodes[k], &type);
  if (!s) s = api->add_output(g, api->value(g, "y"));
  if (s || tn_model_from_graph_take(env->runtime, g, &options, NULL, &model)) check_die("no model");
  return model;
}

/* ---- the compiler's answer ------------------------------------------------------------------- */

enum { MAX_NODES = 8, MAX_REASON = 1000 };

/* What partition() answered, and what it keeps from graph to graph. */
typedef struct question {
  check_env *env;
  const tn_accelerator *x;
  const tn_graph *graph;
  int32_t n;
  check_allocator *memory;
  check_buffer *shown; /* the claims that partition() wrote to: nobody writes there afterwards */
} question;

/* NULL: there is no such node. */
static tn_claim *claim_of(const question *q, int32_t id) {
  tn_claim *claims = (tn_claim *)(void *)q->shown->data;
  return tn_graph_node(q->graph, id)->alive ? &claims[id] : NULL;
}

static const char *op_of(const question *q, int32_t id) {
  return tn_graph_node(q->graph, id)->node.op;
}

static bool is_text(const char *text, size_t n) {
  for (size_t k = 0; k < n; k++)
    if ((unsigned char)text[k] < 0x20 || text[k] == 0x7F) return false;
  return tn_utf8_valid(text, (int64_t)n);
}

/* Memory that was given back may hold anything soon: here it does. */
static void churn(size_t bytes) {
  enum { BLOCKS = 16 };
  void *blocks[BLOCKS];
  for (int k = 0; k < BLOCKS; k++)
    if ((blocks[k] = malloc(bytes))) memset(blocks[k], '\n', bytes);
  for (int k = 0; k < BLOCKS; k++) free(blocks[k]);
}

static void look_at_reason(const question *q, int32_t id, const char *reason) {
  const size_t n = strnlen(reason, MAX_REASON);
  if (n < MAX_REASON) churn(n + 1);
  if (n == MAX_REASON)
    check_fail(q->env, "partition() declines %s with a reason that does not end", op_of(q, id));
  else if (strnlen(reason, MAX_REASON) != n || !is_text(reason, n))
    check_fail(q->env, "partition() declines %s with a reason that is no text, or does not stay",
               op_of(q, id));
}

static void look_at_claims(const question *q) {
  for (int32_t id = 0; id < q->n; id++) {
    const tn_claim *c = claim_of(q, id);
    if (!c) continue;
    if (!tn_claim_is_sound(c))
      check_fail(q->env, "partition() claims %s with group %d and costs of %g ns", op_of(q, id),
                 (int)c->group, c->cost_native_ns);
    else if (c->group < 0 && c->reason)
      look_at_reason(q, id, c->reason);
  }
}

/* It may: the kit that it needs is not here, say. Nobody has seen what it claims then. */
static void tell_failure(check_env *env, const char *why) {
  char rule[CHECK_TEXT];
  snprintf(rule, sizeof rule, "partition() fails, and claims nothing: %.300s", why);
  check_found(env, "note", rule);
}

static void look_at_list(const question *q, tn_claim *const *list) {
  for (int32_t id = 0; id < q->n; id++)
    if (list[id] != claim_of(q, id))
      check_fail(q->env, "partition() changes the list of claims, not the claims");
}

uint64_t check_constants_sum(const tn_graph *g) {
  uint64_t sum = UINT64_C(14695981039346656037); /* FNV-1a */
  for (int64_t v = 0; v < g->values.n; v++) {
    const tn_tensor *type = tn_graph_functions()->value_type(g, (int32_t)v);
    const uint8_t *data = type ? type->data : NULL;
    const int64_t bytes = data ? tn_tensor_bytes(type) : 0;
    for (int64_t k = 0; k < bytes; k++) sum = (sum ^ data[k]) * UINT64_C(1099511628211);
  }
  return sum;
}

/* partition() with memory that is counted, and a graph that is closed. */
static tn_status answer_of(const question *q, tn_accelerator_talk *talk) {
  tn_claim *list[MAX_NODES] = {0};
  for (int32_t id = 0; id < q->n; id++)
    if ((list[id] = claim_of(q, id)))
      *list[id] = (tn_claim){.head = TN_HEAD(tn_claim), .group = -1, .cost_host_ns = 1000};
  tn_accelerator_talk_open(talk, q->x, q->x->compiler->owner, NULL);
  talk->a = &q->memory->base;
  const uint64_t sum = check_constants_sum(q->graph);
  tn_graph_close(q->graph);
  check_doing(q->env, "partition()");
  const tn_status answer = q->x->compiler->compiler.partition(&talk->call, q->graph, list, q->n);
  check_doing(q->env, "%s", "");
  look_at_list(q, list);
  if (check_constants_sum(q->graph) != sum)
    check_fail(q->env, "partition() changes constants of the graph");
  const char *rule = tn_graph_open(q->graph);
  if (rule) check_fail(q->env, "partition(): %s", rule);
  if (atomic_load(&q->memory->n_live) < 0)
    check_fail(q->env, "partition() gives memory to host->free() that is not the host's");
  return answer;
}

/* Twice: what it keeps of a graph it has, and need not keep again. */
static tn_status answer_again(const question *q, tn_accelerator_talk *talk) {
  tn_claim before[MAX_NODES];
  const long long live = atomic_load(&q->memory->n_live);
  memcpy(before, q->shown->data, sizeof before);
  const tn_status answer = answer_of(q, talk);
  if (atomic_load(&q->memory->n_live) > live)
    check_fail(q->env, "partition() takes memory of the host each time, and does not give it back");
  for (int32_t id = 0; id < q->n && !answer; id++)
    if (claim_of(q, id) && (claim_of(q, id)->group < 0) != (before[id].group < 0))
      check_fail(q->env, "partition() claims %s, and the next time it does not", op_of(q, id));
  return answer;
}

/* False: its claims were not seen. list: MAX_NODES of them, in memory of claims. */
static bool ask(const question *q, tn_claim *claims, tn_claim **list) {
  tn_accelerator_talk talk;
  if (q->n > MAX_NODES) check_die("too many nodes");
  tn_status answer = answer_of(q, &talk);
  if (!answer) answer = answer_again(q, &talk);
  check_buffer_protect(q->shown, true);
  const tn_status status = tn_accelerator_answer(&talk, answer);
  if (!tn_is_status(answer))
    check_fail(q->env, "partition(): %s", talk.text);
  else if (status)
    tell_failure(q->env, talk.text);
  else
    look_at_claims(q);
  for (int32_t id = 0; id < q->n && !status; id++)
    if (claim_of(q, id)) *(list[id] = &claims[id]) = *claim_of(q, id);
  return status == TN_OK;
}

/* What it claims and what it makes of that is one unit: after a crash nothing of it is repeated. */
static void try_graph(check_env *env, const tn_accelerator *x, const struct small_graph *small,
                      check_allocator *memory, bool *out_ran) {
  tn_claim claims[MAX_NODES], *list[MAX_NODES] = {0};
  if (!check_unit_begin(env, "%s for '%s'", small->text, x->name)) return;
  check_around_library(env);
  tn_model *model = make_model(env, small);
  const question q = {.env = env,
                      .x = x,
                      .graph = model->loaded,
                      .n = (int32_t)model->loaded->nodes.n,
                      .memory = memory,
                      .shown = check_buffer_new(env, sizeof claims, 64, true, "claims")};
  const bool seen = ask(&q, claims, list);
  if (seen && check_unit_ok(env) && check_module(env, x, model->loaded, list)) *out_ran = true;
  check_buffer_free(env, q.shown);
  tn_model_destroy(model);
  check_around_library(env);
  if (seen)
    check_unit_end(env);
  else
    check_step_end(env);
}

static void try_target(check_env *env, const tn_registry *r, const char *target, bool *out_ran) {
  tn_accelerator *x = NULL;
  check_allocator memory;
  check_allocator_init(&memory);
  if (tn_accelerator_open(tn_default_allocator(), r, target, NULL, true, NULL, &x))
    check_die("no accelerator");
  for (size_t k = 0; k < sizeof graphs / sizeof *graphs; k++)
    try_graph(env, x, &graphs[k], &memory, out_ran);
  tn_accelerator_close(x);
}

void check_compiler(check_env *env, const tn_compiler *c) {
  const tn_registry *r = env->runtime->registry;
  bool ran = false;
  check_part(env, "compiler '%s'", c->name);
  for (uint32_t k = 0; k < c->n_targets; k++) try_target(env, r, c->targets[k]->name, &ran);
  if (!ran && !env->totals->failed)
    check_skip(env,
               "no module of it was run: it claims nothing of four small graphs, or lacks its "
               "kit or device");
}

void check_dispatcher(check_env *env, const tn_dispatcher *d) {
  const tn_registry *r = env->runtime->registry;
  check_part(env, "dispatcher '%s'", d->name);
  for (int32_t k = 0; k < tn_registry_n_compilers(r); k++)
    if (!strcmp(tn_registry_compiler_at(r, k)->compiler.format, d->format)) return;
  check_skip(env, "none of its functions was called: no compiler here makes modules of format '%s'",
             d->format);
}
