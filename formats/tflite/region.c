/* Operators of StableHLO that combine values by a subgraph of one operator: it becomes the
 * attribute `computation`. */
#include "reader.h"

/* A body (a, b) -> a op b, and what it is called here. */
static const struct {
  const char *op, *computation;
} computations[] = {{"STABLEHLO_ADD", "add"},      {"ADD", "add"},
                    {"STABLEHLO_MULTIPLY", "mul"}, {"MUL", "mul"},
                    {"STABLEHLO_MAXIMUM", "max"},  {"MAXIMUM", "max"},
                    {"STABLEHLO_MINIMUM", "min"},  {"MINIMUM", "min"},
                    {"STABLEHLO_AND", "min"},      {"LOGICAL_AND", "min"},
                    {"STABLEHLO_OR", "max"},       {"LOGICAL_OR", "max"}};

/* The one operator's number in the model's list of codes. */
static const char *computation_of(const tflite_reader *r, const tn_flat_table *op) {
  const uint64_t code = (uint64_t)tn_flat_uint(op, OPERATOR_CODE, 4, 0);
  const char *name = code < r->n_codes ? r->codes[code].name : "";
  for (size_t k = 0; k < sizeof computations / sizeof *computations; k++)
    if (!strcmp(name, computations[k].op)) return computations[k].computation;
  return NULL;
}

/* Do both lists hold the same tensors? Either order will do: all computations commute. */
static bool same_pair(const tn_flat_vector *a, const tn_flat_vector *b) {
  if (a->n != 2 || b->n != 2) return false;
  const int64_t p = tn_flat_int_at(a, 0), q = tn_flat_int_at(a, 1);
  const int64_t v = tn_flat_int_at(b, 0), w = tn_flat_int_at(b, 1);
  return (p == v && q == w) || (p == w && q == v);
}

/* What subgraph `index` computes; of one without operators, which answers its second value,
 * "none". NULL: something else. */
static const char *body_of(const tflite_reader *r, int64_t index) {
  const tn_flat_table g = tn_flat_item(&r->subgraphs, (uint64_t)index, &tflite_subgraph_type);
  const tn_flat_vector ops = tn_flat_vec(&g, SUBGRAPH_OPERATORS, 4),
                       inputs = tn_flat_vec(&g, SUBGRAPH_INPUTS, 4),
                       outputs = tn_flat_vec(&g, SUBGRAPH_OUTPUTS, 4);
  if (tflite_status(r) || inputs.n != 2 || outputs.n != 1 || ops.n > 1) return NULL;
  const int64_t y = tn_flat_int_at(&outputs, 0);
  if (!ops.n) return y == tn_flat_int_at(&inputs, 1) ? "none" : NULL;
  const tn_flat_table op = tn_flat_item(&ops, 0, &tflite_operator_type);
  const tn_flat_vector read = tn_flat_vec(&op, OPERATOR_INPUTS, 4),
                       made = tn_flat_vec(&op, OPERATOR_OUTPUTS, 4);
  if (!same_pair(&read, &inputs) || made.n != 1 || tn_flat_int_at(&made, 0) != y) return NULL;
  return computation_of(r, &op);
}

tn_status tflite_region(const tflite_node *n) {
  tflite_reader *r = n->s->r;
  const tn_attr *attrs[TFLITE_MAX_ATTRS];
  tn_attr computation = {
      .head = TN_HEAD(tn_attr), .name = "computation", .kind = TN_ATTR_STR, .s = {"", 0}};
  int64_t index = -1;
  for (uint32_t k = 0; k < n->attrs->n; k++) {
    const bool is_body = !strcmp(n->attrs->attrs[k].name, "body_subgraph_index");
    if (is_body) index = n->attrs->attrs[k].i;
    attrs[k] = is_body ? &computation : &n->attrs->attrs[k];
  }
  if (index < 0 || (uint64_t)index >= r->subgraphs.n)
    return tflite_fail(r, TN_ERR_INVALID, n->at, "runs subgraph %lld of %llu", (long long)index,
                       (unsigned long long)r->subgraphs.n);
  const char *body = body_of(r, index);
  if (tflite_status(r)) return tflite_status(r);
  if (!body)
    return tflite_fail(r, TN_ERR_UNSUPPORTED, n->at,
                       "not supported: subgraph %lld, by which it combines values, is not one sum, "
                       "product, minimum or maximum of its two inputs",
                       (long long)index);
  computation.s = (tn_str){body, (int64_t)strlen(body)};
  return tflite_node_add(n, "tflite", n->name, n->inputs, n->n_inputs, attrs, n->attrs->n);
}
