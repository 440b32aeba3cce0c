/* The smallest sizes of open dims that a model allows: a reader writes what it demands of them as
 * conditions, GreaterOrEqual of a dim and a number, Equal of a dim and a size made of others. */
#include <string.h>

#include "feed.h"
#include "tenon/kit/checked.h"
#include "tenon/kit/pattern.h"

enum { MOST_DEPTH = 16 };

typedef struct sizes {
  const cli_inputs *in;
  const tn_graph_api *api;
  const tn_graph *g;
} sizes;

static const tn_node *producer(const sizes *s, int32_t value) {
  const int32_t id = value < 0 ? TN_NO_ID : s->api->value_producer(s->g, value);
  return id < 0 ? NULL : s->api->node(s->g, id);
}

/* The dim of an input whose size the value is; NULL: it is no such size. */
static int64_t *dim_of(const sizes *s, int32_t value) {
  const tn_node *n = producer(s, value);
  if (!n || strcmp(n->op, "Shape") || n->n_inputs != 1) return NULL;
  const int64_t d = tn_pattern_int(n, "start", 0), end = tn_pattern_int(n, "end", INT64_MAX);
  int32_t k = 0;
  while (k < s->in->n && s->api->input(s->g, k) != n->inputs[0]) k++;
  if (k == s->in->n) return NULL;
  tn_tensor *t = &s->in->values[k];
  return t->kind == TN_KIND_TENSOR && d >= 0 && d < t->rank && end == d + 1 ? &t->shape[d] : NULL;
}

static bool number(const sizes *s, int32_t value, int64_t *out) {
  const bool is_const = value >= 0 && s->api->value_flags(s->g, value) & TN_VALUE_CONST;
  const tn_tensor *t = is_const ? s->api->value_type(s->g, value) : NULL;
  if (!t || t->dtype != TN_I64 || !t->data || tn_tensor_bytes(t) != sizeof *out) return false;
  memcpy(out, t->data, sizeof *out);
  return true;
}

/* The value of a size, with 1 for dims that are still open. */
static bool size_of(const sizes *s, int32_t value, int depth, int64_t *out) {
  const int64_t *dim = dim_of(s, value);
  if (dim) *out = *dim < 0 ? 1 : *dim;
  if (dim || number(s, value, out)) return true;
  const tn_node *n = producer(s, value);
  int64_t a, b;
  if (!n || n->n_inputs != 2 || depth == MOST_DEPTH) return false;
  const bool is_sum = !strcmp(n->op, "Add");
  if (!is_sum && strcmp(n->op, "Mul")) return false;
  if (!size_of(s, n->inputs[0], depth + 1, &a) || !size_of(s, n->inputs[1], depth + 1, &b))
    return false;
  return !(is_sum ? tn_add_i64(a, b, out) : tn_mul_i64(a, b, out));
}

/* Gives open dims the sizes that conditions of this operator ask for. */
static void give_sizes(const sizes *s, const char *condition) {
  for (int32_t k = 0; k < s->api->n_nodes(s->g); k++) {
    const tn_node *assert = s->api->node(s->g, s->api->node_at(s->g, k));
    if (strcmp(assert->op, "Assert") || assert->n_inputs != 2) continue;
    const tn_node *n = producer(s, assert->inputs[1]);
    if (!n || strcmp(n->op, condition) || n->n_inputs != 2) continue;
    int64_t size, *dim = dim_of(s, n->inputs[0]);
    if (dim && *dim < 0 && size_of(s, n->inputs[1], 0, &size) && size > 0) *dim = size;
  }
}

void cli_inputs_least_dims(cli_inputs *in) {
  const sizes s = {in, tn_graph_functions(), tn_model_graph(in->model)};
  give_sizes(&s, "GreaterOrEqual");
  give_sizes(&s, "Equal");
}
