/* tenon compare A B: two models, perhaps of different formats, on the same inputs. Inputs and
 * outputs go together by name, or else by their order; values may lie with channels first in one
 * and last in the other. With --bisect all values that nodes make are compared: a value of A is
 * known in B if one of its name, or else any that has the same elements, is there. */
#include <math.h>
#include <string.h>

#include "bisect.h"
#include "graph/graph.h"
#include "tenon/kit/element.h"
#include "tenon/kit/tensor.h"

/* A value of B: where it is, and what all orders of its dims leave as it is. */
typedef struct known {
  int32_t output;
  cli_statistics look;
} known;

typedef struct pair_of_models {
  cli_side a, b;
  const cli_tolerance *tolerance;
  cli_json *json;
  bool quiet;
  tn_arena arena;
  known *values; /* of B, those that nodes make */
  int32_t n_values;
} pair_of_models;

/* ---- layouts ---- */

static bool is_tensor(const tn_tensor *t) { return t && t->kind == TN_KIND_TENSOR; }

/* Is `to` the shape of t with the dims behind the first turned by one, to the left or to the right?
 * Rank 3 to 5: [N, C, space] and [N, space, C]. */
static bool is_turned(const tn_tensor *t, const tn_tensor *to, bool left) {
  if (t->rank != to->rank || t->rank < 3 || t->rank > 5 || t->shape[0] != to->shape[0])
    return false;
  const int32_t n = t->rank - 1;
  for (int32_t k = 0; k < n; k++)
    if (to->shape[1 + k] != t->shape[1 + (left ? k + 1 : k + n - 1) % n]) return false;
  return true;
}

/* Element k of t, which is turned so, lies here. */
static int64_t place_of(const tn_tensor *t, bool left, int64_t k) {
  const int64_t image = tn_elements(t) / t->shape[0], n = k / image, i = k % image;
  const int64_t c = left ? t->shape[1] : image / t->shape[t->rank - 1],
                rest = c ? image / c : 0; /* [c, rest] becomes [rest, c] */
  return n * image + i % c * rest + i / c;
}

/* t with its dims in the other order; elements of a plain size. NULL: no memory, or texts. */
static const tn_tensor *turned(pair_of_models *p, const tn_tensor *t, const tn_tensor *to,
                               bool left) {
  const uint64_t bits = tn_dtype(t->dtype)->bits, size = bits / 8;
  const int64_t n = tn_elements(t);
  if (t->dtype == TN_STRING || bits % 8 || !size) return NULL;
  tn_tensor *y = tn_arena_alloc(&p->arena, sizeof *y);
  char *data = tn_arena_alloc(&p->arena, ((uint64_t)n + 1) * size);
  if (!y || !data) return NULL;
  *y = tn_tensor_make(t->dtype, t->rank, to->shape, data);
  for (int64_t k = 0; k < n; k++)
    memcpy(data + (uint64_t)k * size, (const char *)t->data + (uint64_t)place_of(t, left, k) * size,
           (size_t)size);
  return y;
}

/* t as something of the type of `like`: in its order of dims, or its type of integers. */
static const tn_tensor *as_like(pair_of_models *p, const tn_tensor *t, const tn_tensor *like) {
  if (!is_tensor(t) || !is_tensor(like) || tn_same_shape(t, like)) return t;
  for (int left = 0; left < 2; left++)
    if (is_turned(t, like, left)) {
      const tn_tensor *y = turned(p, t, like, left);
      return y ? y : t;
    }
  return t;
}

static bool same_in_any_order(pair_of_models *p, const tn_tensor *a, const tn_tensor *b, char *why,
                              size_t size) {
  if (cli_same(a, as_like(p, b, a), p->tolerance, why, size)) return true;
  if (!is_tensor(a) || !is_tensor(b)) return false;
  for (int left = 0; left < 2; left++) { /* of equal sizes, the shape does not tell */
    char other[500];
    const tn_tensor *y = is_turned(b, a, left) ? turned(p, b, a, left) : NULL;
    if (y && cli_same(a, y, p->tolerance, other, sizeof other)) return true;
  }
  return false;
}

/* ---- inputs ---- */

static int32_t partner(int32_t k, const char *name, int32_t n, int32_t n_other,
                       const char *(*name_of)(const tn_model *, int32_t), const tn_model *other) {
  for (int32_t i = 0; i < n_other; i++)
    if (!strcmp(name_of(other, i), name)) return i;
  return n == n_other ? k : -1;
}

/* The inputs of A become those of B. */
static tn_status hand_over(pair_of_models *p) {
  cli_inputs *from = &p->a.s->inputs, *to = &p->b.s->inputs;
  for (int32_t k = 0; k < to->n; k++) {
    const char *name = tn_model_input_name(to->model, k);
    const int32_t at = partner(k, name, to->n, from->n, tn_model_input_name, from->model);
    if (at < 0)
      return tn_fail(p->b.s->diag, TN_ERR_INVALID,
                     "input '%s': %s has no such input, and has %d, not %d", name, p->a.name,
                     from->n, to->n);
    const tn_tensor *value = as_like(p, &from->values[at], &to->values[k]);
    to->values[k] = *value;
    to->from[k] = from->from[at];
  }
  return cli_inputs_set(to, p->b.s->session, false);
}

/* ---- outputs ---- */

/* The output of B that goes with output k of A: of its name; or in its place, if it may be the same
 * value; or the only one that may. -1: none. */
static int32_t output_of_b(const pair_of_models *p, int32_t k, tn_session *a, tn_session *b) {
  const tn_model *to = p->b.s->model;
  const int32_t n = tn_model_n_outputs(p->a.s->model), m = tn_model_n_outputs(to);
  const char *name = tn_model_output_name(p->a.s->model, k);
  const int32_t at = partner(k, name, n, m, tn_model_output_name, to);
  const tn_tensor *want = tn_session_output(a, k);
  int32_t only = -1, count = 0;
  if (at >= 0 && (!strcmp(tn_model_output_name(to, at), name) || n == 1)) return at;
  for (int32_t i = 0; i < m; i++) {
    const tn_tensor *t = tn_session_output(b, i);
    const bool fits =
        is_tensor(t) && is_tensor(want) &&
        (tn_same_shape(t, want) || is_turned(t, want, false) || is_turned(t, want, true));
    if (fits && i == at) return at;
    if (fits) only = i, count++;
  }
  return count == 1 ? only : at;
}

static int compare_outputs(pair_of_models *p) {
  const tn_model *a = p->a.s->model;
  const int32_t n = tn_model_n_outputs(a);
  int code = CLI_OK;
  cli_json *list = cli_json_array(p->json, "outputs");
  for (int32_t k = 0; k < n; k++) {
    char why[500] = "";
    const char *name = tn_model_output_name(a, k);
    const int32_t at = output_of_b(p, k, p->a.s->session, p->b.s->session);
    const bool same =
        at >= 0 && same_in_any_order(p, tn_session_output(p->a.s->session, k),
                                     tn_session_output(p->b.s->session, at), why, sizeof why);
    if (at < 0) snprintf(why, sizeof why, "%s has no such output", p->b.name);
    if (!same) code = CLI_FAILED;
    if (!p->quiet)
      cli_print("%s %s: %s%s\n", same ? "equal " : "DIFFER", name, same ? "as in " : why,
                same ? p->b.name : "");
    cli_json *e = cli_json_object(list, NULL);
    cli_json_text(e, "output", name);
    cli_json_bool(e, "equal", same);
    cli_json_text(e, "difference", same ? NULL : why);
  }
  return code;
}

/* ---- values ---- */

static tn_status list_values(pair_of_models *p) {
  const int32_t first = tn_model_n_outputs(p->b.s->model), n = tn_model_n_outputs(p->b.model);
  p->values = tn_arena_alloc(&p->arena, (uint64_t)(n - first + 1) * sizeof *p->values);
  if (!p->values) return tn_fail(p->b.s->diag, TN_ERR_MEMORY, "no memory");
  for (int32_t k = first; k < n; k++)
    p->values[p->n_values++] =
        (known){.output = k, .look = cli_look_at(tn_session_output(p->b.session, k))};
  return TN_OK;
}

static bool is_near(const pair_of_models *p, double a, double b) {
  return a == b || fabs(a - b) <= p->tolerance->atol + p->tolerance->rtol * fabs(b);
}

/* The output of B that has this value; -1: none. */
static int32_t find_value(pair_of_models *p, const char *name, const tn_tensor *t) {
  char why[500];
  const int32_t named = tn_model_find_output(p->b.model, name);
  const cli_statistics look = cli_look_at(t);
  if (named >= 0 &&
      same_in_any_order(p, t, tn_session_output(p->b.session, named), why, sizeof why))
    return named;
  for (int32_t k = 0; k < p->n_values; k++) {
    const known *v = &p->values[k];
    if (v->look.n != look.n || v->look.n_nan != look.n_nan || !is_near(p, look.min, v->look.min) ||
        !is_near(p, look.max, v->look.max))
      continue;
    const tn_tensor *other = tn_session_output(p->b.session, v->output);
    tn_tensor flat = *other;
    if (is_tensor(t) && is_tensor(other) && t->rank != other->rank)
      flat = tn_tensor_make(other->dtype, t->rank, t->shape, other->data);
    if (same_in_any_order(p, t, &flat, why, sizeof why)) return v->output;
  }
  return -1;
}

static void show_first(const pair_of_models *p, const tn_graph *g, int32_t id, uint32_t i,
                       const tn_tensor *t, int64_t n_known) {
  const tn_gnode *node = tn_graph_node(g, id);
  const char *name = tn_graph_functions()->value_name(g, node->node.outputs[i]);
  const int32_t named = tn_model_find_output(p->b.model, name);
  char text[TN_NODE_TEXT];
  tn_node_text(g, node, text, sizeof text);
  cli_json_text(p->json, "node", text);
  cli_json_text(p->json, "value", name);
  cli_json_int(p->json, "values_before", n_known);
  if (!p->quiet)
    cli_print("FIRST  %s, output %u '%s': %s has no such value\n", text, i, name, p->b.name);
  cli_show_statistics(p->a.name, t, "got", p->json, p->quiet);
  if (named >= 0)
    cli_show_statistics(p->b.name, tn_session_output(p->b.session, named), "expected", p->json,
                        p->quiet);
  if (!p->quiet) cli_print("  %lld values before it are in both\n", (long long)n_known);
}

/* Which values of A are in B: has[value]. Constants and inputs are. */
static void mark_known(pair_of_models *p, const tn_graph *g, bool *has) {
  const tn_graph_api *api = tn_graph_functions();
  int32_t output = tn_model_n_outputs(p->a.s->model);
  for (int32_t v = 0; v < api->n_values(g); v++) has[v] = api->value_producer(g, v) < 0;
  for (int32_t k = 0; k < api->n_nodes(g); k++) {
    const tn_node *node = api->node(g, api->node_at(g, k));
    for (uint32_t i = 0; i < node->n_outputs; i++) {
      const int32_t v = node->outputs[i];
      if (v < 0) continue;
      const tn_tensor *t = tn_session_output(p->a.session, output++);
      has[v] = !t || find_value(p, api->value_name(g, v), t) >= 0;
    }
  }
}

/* wanted[v]: an output that differs depends on v by way of values that B does not have. What only
 * one of the two spells out, a pad or a transpose, say, leads to values that both have. */
static void trace_back(const tn_graph *g, const bool *has, bool *wanted) {
  const tn_graph_api *api = tn_graph_functions();
  for (int32_t k = api->n_nodes(g) - 1; k >= 0; k--) {
    const tn_node *node = api->node(g, api->node_at(g, k));
    bool is = false;
    for (uint32_t i = 0; i < node->n_outputs; i++)
      is = is || (node->outputs[i] >= 0 && wanted[node->outputs[i]]);
    for (uint32_t i = 0; i < node->n_inputs && is; i++)
      if (node->inputs[i] >= 0 && !has[node->inputs[i]]) wanted[node->inputs[i]] = true;
  }
}

/* The first node, by the order of A, with such a value; false: none. */
static bool show_first_wanted(pair_of_models *p, const tn_graph *g, const bool *has,
                              const bool *wanted) {
  const tn_graph_api *api = tn_graph_functions();
  int32_t output = tn_model_n_outputs(p->a.s->model);
  int64_t n_known = 0;
  for (int32_t k = 0; k < api->n_nodes(g); k++) {
    const int32_t id = api->node_at(g, k);
    const tn_node *node = api->node(g, id);
    for (uint32_t i = 0; i < node->n_outputs; i++) {
      const int32_t v = node->outputs[i];
      if (v < 0) continue;
      if (wanted[v]) {
        show_first(p, g, id, i, tn_session_output(p->a.session, output), n_known);
        return true;
      }
      n_known += has[v];
      output++;
    }
  }
  return false;
}

static int bisect(pair_of_models *p) {
  const tn_graph *g = tn_model_graph(p->a.s->model);
  const tn_graph_api *api = tn_graph_functions();
  const int32_t n = tn_model_n_outputs(p->a.s->model);
  tn_status s = cli_side_open(&p->a);
  if (s) return cli_session_fail(p->a.s, s);
  s = cli_side_open(&p->b);
  if (!s) s = list_values(p);
  if (s) return cli_session_fail(p->b.s, s);
  const uint64_t bytes = (uint64_t)api->n_values(g) + 1;
  bool *wanted = tn_arena_alloc(&p->arena, bytes), *has = tn_arena_alloc(&p->arena, bytes);
  if (!wanted || !has)
    return cli_session_fail(p->a.s, tn_fail(p->a.s->diag, TN_ERR_MEMORY, "no memory"));
  memset(wanted, 0, bytes);
  mark_known(p, g, has);
  bool differs = false;
  for (int32_t k = 0; k < n; k++) {
    char why[500];
    const int32_t at = output_of_b(p, k, p->a.session, p->b.session);
    if (at >= 0 && same_in_any_order(p, tn_session_output(p->a.session, k),
                                     tn_session_output(p->b.session, at), why, sizeof why))
      continue;
    differs = wanted[api->output(g, k)] = true;
  }
  if (differs) trace_back(g, has, wanted);
  if (!differs && !p->quiet) cli_print("equal  all outputs\n");
  if (differs && !show_first_wanted(p, g, has, wanted) && !p->quiet)
    cli_print("DIFFER: each value before the outputs that differ is in both models\n");
  return differs ? CLI_FAILED : CLI_OK;
}

int cli_compare_models(cli_session *s, const char *path, const char *other, bool bisect_it,
                       const cli_tolerance *tolerance, cli_json *json, bool quiet) {
  static const cli_feed nothing = CLI_FEED_INIT;
  cli_session second;
  int code;
  pair_of_models p = {.a = {.name = path, .s = s},
                      .b = {.name = other, .s = &second},
                      .tolerance = tolerance,
                      .json = json,
                      .quiet = quiet};
  tn_arena_init(&p.arena, tn_default_allocator());
  if (cli_session_open(&second, s->common, &nothing, other, &code)) {
    tn_status status = hand_over(&p);
    if (!status && !bisect_it) status = tn_session_run(second.session, second.diag);
    code = status      ? cli_session_fail(&second, status)
           : bisect_it ? bisect(&p)
                       : compare_outputs(&p);
  }
  cli_side_close(&p.a);
  cli_side_close(&p.b);
  cli_session_close(&second);
  tn_arena_clear(&p.arena);
  return code;
}
