/* Compilers that are vetted: what they claim of small graphs, and what becomes of that. */
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

enum { MAX_NODES = 8 };

static void look_at_claims(check_env *env, const tn_graph *g, const tn_claim *claims, int32_t n) {
  for (int32_t id = 0; id < n; id++) {
    const tn_claim *c = &claims[id];
    const char *op = tn_graph_node(g, id)->node.op;
    if (!tn_claim_is_sound(c))
      check_fail(env, "partition() claims %s with group %d and costs of %g ns", op, (int)c->group,
                 c->cost_native_ns);
    else if (c->group < 0 && c->reason && strnlen(c->reason, 1000) == 1000)
      check_fail(env, "partition() declines %s with a reason that does not end", op);
  }
}

/* It may: the kit that it needs is not here, say. Nobody has seen what it claims then. */
static void tell_failure(check_env *env, const char *why) {
  char rule[CHECK_TEXT];
  snprintf(rule, sizeof rule, "partition() fails, and claims nothing: %.300s", why);
  check_found(env, "note", rule);
}

/* partition() with memory of its own, and a graph that is closed. */
static tn_status answer_of(check_env *env, tn_accelerator_talk *talk, const tn_accelerator *x,
                           const tn_graph *g, tn_claim *const *list) {
  check_allocator counted;
  check_allocator_init(&counted);
  talk->a = &counted.base;
  tn_graph_close(g);
  const tn_status answer =
      x->compiler->compiler.partition(&talk->call, g, list, (int32_t)g->nodes.n);
  const char *rule = tn_graph_open(g);
  if (rule) check_fail(env, "partition(): %s", rule);
  if (atomic_load(&counted.n_live) < 0)
    check_fail(env, "partition() gives memory to host->free() that is not the host's");
  return answer;
}

/* False: its claims were not seen. list: MAX_NODES of them, in memory of claims. */
static bool ask(check_env *env, const tn_accelerator *x, const tn_graph *g, tn_claim *claims,
                tn_claim **list) {
  tn_accelerator_talk talk;
  const int32_t n = (int32_t)g->nodes.n;
  if (n > MAX_NODES) check_die("too many nodes");
  for (int32_t id = 0; id < n; id++) {
    claims[id] = (tn_claim){.head = TN_HEAD(tn_claim), .group = -1, .cost_host_ns = 1000};
    if (tn_graph_node(g, id)->alive) list[id] = &claims[id];
  }
  tn_accelerator_talk_open(&talk, x, x->compiler->owner, NULL);
  check_doing(env, "partition()");
  const tn_status answer = answer_of(env, &talk, x, g, list);
  const tn_status status = tn_accelerator_answer(&talk, answer);
  if (!tn_is_status(answer))
    check_fail(env, "partition(): %s", talk.text);
  else if (status)
    tell_failure(env, talk.text);
  else
    look_at_claims(env, g, claims, n);
  check_doing(env, "%s", "");
  return status == TN_OK;
}

/* What it claims and what it makes of that is one unit: after a crash nothing of it is repeated. */
static void try_graph(check_env *env, const tn_accelerator *x, const struct small_graph *small,
                      bool *out_ran) {
  tn_claim claims[MAX_NODES], *list[MAX_NODES] = {0};
  if (!check_unit_begin(env, "%s for '%s'", small->text, x->name)) return;
  check_around_library(env);
  tn_model *model = make_model(env, small);
  const bool seen = ask(env, x, model->loaded, claims, list);
  if (seen && check_unit_ok(env) && check_module(env, x, model->loaded, list)) *out_ran = true;
  tn_model_destroy(model);
  check_around_library(env);
  if (seen)
    check_unit_end(env);
  else
    check_step_end(env);
}

static void try_target(check_env *env, const tn_registry *r, const char *target, bool *out_ran) {
  tn_accelerator *x = NULL;
  if (tn_accelerator_open(tn_default_allocator(), r, target, NULL, true, NULL, &x))
    check_die("no accelerator");
  for (size_t k = 0; k < sizeof graphs / sizeof *graphs; k++)
    try_graph(env, x, &graphs[k], out_ran);
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
