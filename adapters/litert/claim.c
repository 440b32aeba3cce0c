/* Which nodes of LiteRT's graph are taken where the graph cannot be as a whole: all whose operators
 * Tenon has. LiteRT says in which parts they can be run, and each part is made an island before it
 * is taken. What Tenon refuses is left to LiteRT. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "island.h"
#include "tenon/kit/tensor.h"

enum { LEAST_NODES = 2 /* of a part of builtin operators that is not the whole graph */ };

typedef struct survey {
  tn_runtime *runtime;
  lrt_delegate *delegate;
  char why[WHY_BYTES + 100]; /* of the first node that is left */
  lrt_context *context;
  host_node *nodes; /* in LiteRT's order */
  int n_nodes;
  lrt_ints *taken; /* indices of nodes */
  island **islands;
  int n_islands;
} survey;

/* Islands that were made while nodes were claimed, for init: it runs within `replace`. */
static _Thread_local survey *current;

/* Keeps the first reason. */
static void say(survey *s, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void say(survey *s, const char *format, ...) {
  va_list args;
  if (*s->why) return;
  va_start(args, format);
  vsnprintf(s->why, sizeof s->why, format, args);
  va_end(args);
}

static const char *name_of(const host_node *n) {
  return n->op->custom_name ? n->op->custom_name : "builtin";
}

/* ---- is the host what is declared? ---- */

static bool is_tensor(const lrt_tensor *t) {
  if (t->type < 0 || t->type > LRT_MOST_TYPES || t->allocation < 0 ||
      t->allocation > LRT_MOST_ALLOCATIONS ||
      (t->dims && (t->dims->size < 0 || t->dims->size > 64)))
    return false;
  if (!file_is_constant(t) || type_dtype(t->type) == TN_NONE || !t->dims || t->sparsity)
    return true;
  const tn_tensor type = island_view(t);
  return t->dims->size > TN_MAX_RANK || tn_tensor_bytes(&type) == (int64_t)t->bytes;
}

const char *litert_layout(const lrt_context *c) {
  if (!c->get_execution_plan || !c->get_node || !c->replace_nodes || !c->resize_tensor ||
      !c->report_error)
    return "this LiteRT lacks functions for delegates";
  if (c->n_threads < -1 || c->n_threads > 4096 || (c->n_tensors && !c->tensors))
    return "the interface of this LiteRT is not the one that is published";
  for (size_t k = 0; k < c->n_tensors; k++)
    if (!is_tensor(&c->tensors[k]))
      return "tensors of this LiteRT are not laid out as it is published";
  return NULL;
}

/* ---- which nodes ---- */

static const char *tensor_refusal(const lrt_context *context, const lrt_ints *list, bool is_input) {
  for (int k = 0; list && k < list->size; k++) {
    const int index = list->data[k];
    if (index < 0) continue;
    if ((size_t)index >= context->n_tensors) return "it names tensors that are not there";
    const lrt_tensor *t = &context->tensors[index];
    const bool is_constant = is_input && file_is_constant(t);
    if (t->is_variable) return "variables stay with LiteRT";
    if (t->sparsity) return "sparse constants stay with LiteRT";
    if (!t->dims) return "a tensor has no dims";
    if (is_constant ? type_in_file(t->type) < 0 || t->type == LRT_STRING
                    : type_dtype(t->type) == TN_NONE)
      return "values of such types stay with LiteRT";
  }
  return NULL;
}

/* The operator of Tenon that a custom operator's name means: "acme::Foo", or one of TFLite's. */
static bool has_custom(const tn_runtime *runtime, const char *name) {
  char domain[200];
  const char *colons = strstr(name, "::");
  if (!colons) return tn_runtime_find_op(runtime, "tflite", name, 0);
  snprintf(domain, sizeof domain, "%.*s", (int)(colons - name), name);
  return tn_runtime_find_op(runtime, domain, colons + 2, 0);
}

static const char *node_refusal(const survey *s, const host_node *n) {
  if (!n->node->inputs || !n->node->outputs || n->node->delegate) return "it is no plain node";
  if (n->op->builtin_code == LRT_CUSTOM &&
      (!n->op->custom_name || !has_custom(s->runtime, n->op->custom_name)))
    return "Tenon has no such operator";
  if (!options_known(n->op->builtin_code, n->node->builtin_data))
    return "its options stay with LiteRT";
  const char *why = tensor_refusal(s->context, n->node->inputs, true);
  return why ? why : tensor_refusal(s->context, n->node->outputs, false);
}

static bool see_nodes(survey *s) {
  lrt_ints *plan = NULL;
  if (s->context->get_execution_plan(s->context, &plan) != LRT_OK || !plan || plan->size < 0)
    return false;
  const size_t n = (size_t)plan->size;
  s->nodes = calloc(n + 1, sizeof *s->nodes);
  s->taken = malloc(sizeof *s->taken + (n + 1) * sizeof *s->taken->data);
  s->islands = calloc(n + 1, sizeof *s->islands);
  if (!s->nodes || !s->taken || !s->islands) return false;
  s->taken->size = 0;
  for (size_t k = 0; k < n; k++) {
    host_node *h = &s->nodes[k];
    lrt_node *node = NULL;
    lrt_registration *op = NULL;
    if (s->context->get_node(s->context, plan->data[k], &node, &op) != LRT_OK || !node || !op)
      return false;
    *h = (host_node){plan->data[k], node, op};
    const char *why = node_refusal(s, h);
    if (why)
      say(s, "node %d (%s %d): %s", h->index, name_of(h), h->op->builtin_code, why);
    else
      s->taken->data[s->taken->size++] = h->index;
    s->n_nodes++;
  }
  return true;
}

/* ---- parts ---- */

static const host_node *find_node(const survey *s, int index) {
  for (int k = 0; k < s->n_nodes; k++)
    if (s->nodes[k].index == index) return &s->nodes[k];
  return NULL;
}

static void leave(survey *s, int index) {
  int n = 0;
  for (int k = 0; k < s->taken->size; k++)
    if (s->taken->data[k] != index) s->taken->data[n++] = s->taken->data[k];
  s->taken->size = n;
}

static island *make_island(const survey *s, const lrt_ints *indices, const lrt_ints *outputs,
                           char *why) {
  host_node *nodes = calloc((size_t)indices->size + 1, sizeof *nodes);
  snprintf(why, WHY_BYTES, "no memory");
  for (int k = 0; nodes && k < indices->size; k++) nodes[k] = *find_node(s, indices->data[k]);
  island *i =
      nodes ? island_make(s->runtime, s->context, nodes, indices->size, outputs, why) : NULL;
  free(nodes);
  return i;
}

/* Leaves the nodes of a part that Tenon does not run by themselves, or, if there are none, all. */
static void leave_part(survey *s, const lrt_part *part, const char *part_why) {
  struct {
    int n, data[1];
  } one = {1, {0}};
  char why[WHY_BYTES];
  int n_left = 0;
  for (int k = 0; k < part->nodes->size; k++) {
    const host_node *h = find_node(s, part->nodes->data[k]);
    one.data[0] = h->index;
    island *i = make_island(s, (const lrt_ints *)(const void *)&one, h->node->outputs, why);
    if (!i) {
      say(s, "node %d (%s %d): %s", h->index, name_of(h), h->op->builtin_code, why);
      leave(s, h->index);
      n_left++;
    }
    island_free(i);
  }
  if (n_left) return;
  say(s, "%d nodes from %d on: %s", part->nodes->size, part->nodes->data[0], part_why);
  for (int k = 0; k < part->nodes->size; k++) leave(s, part->nodes->data[k]);
}

static bool is_worth_it(const survey *s, const lrt_part *part) {
  if (part->nodes->size >= LEAST_NODES || part->nodes->size == s->n_nodes) return true;
  return find_node(s, part->nodes->data[0])->op->builtin_code == LRT_CUSTOM;
}

static void free_islands(survey *s) {
  for (int k = 0; k < s->n_islands; k++) island_free(s->islands[k]);
  s->n_islands = 0;
}

/* Makes islands of the parts; false: nodes were left, and parts are others now. */
static bool make_islands(survey *s, const lrt_part *parts, int n) {
  char why[WHY_BYTES];
  const int before = s->taken->size;
  for (int k = 0; k < n; k++) {
    if (!is_worth_it(s, &parts[k])) {
      say(s, "node %d: by itself it is not worth it", parts[k].nodes->data[0]);
      leave(s, parts[k].nodes->data[0]);
      continue;
    }
    island *i = make_island(s, parts[k].nodes, parts[k].outputs, why);
    if (i)
      s->islands[s->n_islands++] = i;
    else
      leave_part(s, &parts[k], why);
  }
  return s->taken->size == before;
}

/* False: the host failed. */
static bool claim(survey *s) {
  lrt_part *parts;
  int n;
  for (;;) {
    parts = NULL;
    n = 0;
    if (!s->taken->size) return true;
    if (s->context->preview_parts(s->context, s->taken, &parts, &n) != LRT_OK) return false;
    if (make_islands(s, parts, n)) return true;
    free_islands(s);
  }
}

/* ---- the functions of LiteRT's structs ---- */

/* What init answers if it failed, as TFLite has it. */
static void *kernel_failed(void) { return (void *)(intptr_t)-1; }

static void *init(lrt_context *context, const char *data, size_t size) {
  const lrt_part *part = (const lrt_part *)(const void *)data;
  (void)size;
  for (int k = 0; current && k < current->n_islands; k++) {
    island *i = current->islands[k];
    if (!island_is_of(i, part->nodes)) continue;
    current->islands[k] = current->islands[--current->n_islands];
    return i;
  }
  context->report_error(context, "Tenon: %s", "LiteRT made other parts than it had said");
  return kernel_failed();
}

static void release(lrt_context *context, void *user_data) {
  (void)context;
  if (user_data != kernel_failed()) island_free(user_data);
}

static int prepare_kernel(lrt_context *context, lrt_node *node) {
  char why[WHY_BYTES];
  if (island_prepare(node->user_data, context, why)) return LRT_OK;
  context->report_error(context, "Tenon: %s", why);
  return LRT_ERROR;
}

static int invoke_kernel(lrt_context *context, lrt_node *node) {
  char why[WHY_BYTES];
  if (island_run(node->user_data, context, why)) return LRT_OK;
  context->report_error(context, "Tenon: %s", why);
  return LRT_ERROR;
}

static const lrt_registration kernel = {.init = init,
                                        .free = release,
                                        .prepare = prepare_kernel,
                                        .invoke = invoke_kernel,
                                        .custom_name = "Tenon",
                                        .version = 1};

static int32_t replace(survey *s) {
  current = s;
  const int32_t status = s->context->replace_nodes(s->context, kernel, s->taken, s->delegate);
  current = NULL;
  return status;
}

int32_t litert_claim(lrt_context *context, tn_runtime *runtime, lrt_delegate *self, int *out_n,
                     char *text, size_t size) {
  survey s = {.runtime = runtime, .delegate = self, .context = context};
  const char *why = context->preview_parts
                        ? NULL
                        : "this LiteRT is too old: it cannot say which parts nodes make";
  int32_t status = LRT_OK;
  *out_n = 0;
  if (!why && (!see_nodes(&s) || !claim(&s)))
    why = "LiteRT does not say its nodes, or there is no memory";
  if (!why && s.taken->size) {
    *out_n = s.taken->size;
    snprintf(text, size, "%d of %d nodes, in %d part%s; the first that is left: %s", s.taken->size,
             s.n_nodes, s.n_islands, s.n_islands == 1 ? "" : "s", *s.why ? s.why : "none");
    status = replace(&s);
  }
  free_islands(&s);
  free(s.islands);
  free(s.nodes);
  free(s.taken);
  return status;
}
