/* Binding a node to its operator: arity, attribute names and kinds are checked against the schema
 * once, and the attribute struct that kernels read is built (see "Attributes" in plugin.h). */
#include <string.h>

#include "graph/graph.h"

typedef struct binder {
  tn_graph *g;
  tn_gnode *n;
  const tn_opdef *def;
  tn_diag *diag;
  tn_status status;
  char *attrs;
} binder;

static void problem(binder *b, const char *what, const char *name, const char *rule) {
  char text[TN_NODE_TEXT];
  b->status = tn_fail(b->diag, TN_ERR_INVALID, "%s: %s '%s' %s",
                      tn_node_text(b->g, b->n, text, sizeof text), what, name, rule);
}

int32_t tn_node_n_given(const tn_gnode *n, const tn_opdef *def) {
  const bool trim = tn_schema_may_end_early(&def->schema);
  int32_t given = (int32_t)n->n_formal;
  while (trim && given > 0 && n->node.inputs[given - 1] < 0) given--;
  return given;
}

static void check_inputs(binder *b) {
  const tn_schema *s = &b->def->schema;
  const int32_t n = tn_node_n_given(b->n, b->def);
  for (int32_t k = 0; k < n; k++) {
    const tn_arg *arg = tn_schema_input_of(s, k, n);
    char text[TN_NODE_TEXT];
    if (!arg) {
      b->status = tn_fail(
          b->diag, TN_ERR_INVALID,
          s->input_lists ? "%s has %d inputs, which the lists among the operator's %d cannot share "
                           "in equal parts"
                         : "%s has %d inputs; the operator takes at most %d",
          tn_node_text(b->g, b->n, text, sizeof text), n, s->n_inputs);
      return;
    }
    bool may_miss = arg->optional || arg->optional_element || arg->has_default;
    if (b->n->node.inputs[k] < 0 && !may_miss)
      problem(b, "input", arg->name, "is required but left out");
  }
  for (int32_t k = 0, place = 0; k < s->n_inputs; k++) { /* lists may be empty */
    const tn_arg *arg = tn_schema_input(s, k);
    if (arg->list) continue;
    if (place++ >= n && !arg->optional && !arg->has_default)
      problem(b, "input", arg->name, "is required but missing");
  }
}

static void check_outputs(binder *b) {
  const tn_schema *s = &b->def->schema;
  int32_t n = (int32_t)b->n->node.n_outputs;
  while (n > 0 && b->n->node.outputs[n - 1] < 0) n--;
  char text[TN_NODE_TEXT];
  if (n > 0 && !tn_schema_output_of(s, n - 1, n))
    b->status = tn_fail(b->diag, TN_ERR_INVALID, "%s has %d outputs; the operator gives at most %d",
                        tn_node_text(b->g, b->n, text, sizeof text), n, s->n_outputs);
}

static void *slot(binder *b, const tn_arg *arg) { return b->attrs + arg->offset; }

static void put_int(binder *b, const tn_arg *arg, int64_t v) { memcpy(slot(b, arg), &v, sizeof v); }
static void put_float(binder *b, const tn_arg *arg, double v) {
  memcpy(slot(b, arg), &v, sizeof v);
}

static tn_floats floats_of_ints(binder *b, tn_ints ints) {
  double *data = tn_arena_alloc(&b->g->arena, (uint64_t)ints.size * sizeof *data);
  if (!data) b->status = TN_ERR_MEMORY;
  for (int64_t k = 0; data && k < ints.size; k++) data[k] = (double)ints.data[k];
  return (tn_floats){data, data ? ints.size : 0};
}

static bool put_list(binder *b, const tn_arg *arg, const tn_attr *a) {
  switch (arg->base) {
    case TN_TYPE_FLOAT:
    case TN_TYPE_SCALAR: {
      tn_floats v = a->kind == TN_ATTR_INTS ? floats_of_ints(b, a->ints) : a->floats;
      memcpy(slot(b, arg), &v, sizeof v);
      return a->kind == TN_ATTR_FLOATS || a->kind == TN_ATTR_INTS;
    }
    case TN_TYPE_STR:
    case TN_TYPE_DIMNAME:
      memcpy(slot(b, arg), &a->strs, sizeof a->strs);
      return a->kind == TN_ATTR_STRS;
    case TN_TYPE_TENSOR:
      memcpy(slot(b, arg), &a->tensors, sizeof a->tensors);
      return a->kind == TN_ATTR_TENSORS;
    default: {
      tn_ints one = {&a->i, 1}, v = a->kind == TN_ATTR_INT
                                        ? one
                                        : a->ints; /* a single number stands for a list of one */
      memcpy(slot(b, arg), &v, sizeof v);
      return a->kind == TN_ATTR_INTS || a->kind == TN_ATTR_INT;
    }
  }
}

/* Subgraphs are numbered in the order of the attributes. The attributes themselves may still show
 * the graphs of the original that this graph was cloned from. */
static int64_t subgraph_index(const binder *b, const tn_attr *a) {
  int64_t index = 0;
  for (uint32_t k = 0; b->n->node.attrs[k] != a; k++) index += b->n->node.attrs[k]->n_graphs;
  return index;
}

static bool put_one(binder *b, const tn_arg *arg, const tn_attr *a) {
  switch (arg->base) {
    case TN_TYPE_FLOAT:
    case TN_TYPE_SCALAR:
      put_float(b, arg, a->kind == TN_ATTR_INT ? (double)a->i : a->f);
      return a->kind == TN_ATTR_FLOAT || a->kind == TN_ATTR_INT;
    case TN_TYPE_STR:
    case TN_TYPE_DIMNAME: memcpy(slot(b, arg), &a->s, sizeof a->s); return a->kind == TN_ATTR_STR;
    case TN_TYPE_DEVICE: /* a number in the struct; names of devices mean nothing here */
      return a->kind == TN_ATTR_STR;
    case TN_TYPE_TENSOR: {
      bool fits = (a->kind == TN_ATTR_TENSOR || a->kind == TN_ATTR_TYPE) && a->tensors.size == 1;
      const tn_tensor *t = fits ? a->tensors.data[0] : NULL;
      memcpy(slot(b, arg), &t, sizeof t);
      return t != NULL;
    }
    case TN_TYPE_GRAPH:
      put_int(b, arg, subgraph_index(b, a));
      return a->kind == TN_ATTR_GRAPH && a->n_graphs == 1;
    default: put_int(b, arg, a->i); return a->kind == TN_ATTR_INT;
  }
}

static int64_t list_size(const tn_attr *a) {
  switch (a->kind) {
    case TN_ATTR_INTS: return a->ints.size;
    case TN_ATTR_FLOATS: return a->floats.size;
    case TN_ATTR_STRS: return a->strs.size;
    case TN_ATTR_TENSORS: return a->tensors.size;
    default: return 1;
  }
}

static void put_default_list(binder *b, const tn_arg *arg) {
  tn_floats floats = {arg->default_floats, arg->n_default};
  tn_strs strs = {arg->default_strs, arg->n_default};
  tn_ints ints = {arg->default_ints, arg->n_default};
  switch (arg->base) {
    case TN_TYPE_FLOAT:
    case TN_TYPE_SCALAR: memcpy(slot(b, arg), &floats, sizeof floats); break;
    case TN_TYPE_STR:
    case TN_TYPE_DIMNAME: memcpy(slot(b, arg), &strs, sizeof strs); break;
    case TN_TYPE_TENSOR: break;
    default: memcpy(slot(b, arg), &ints, sizeof ints);
  }
}

/* The parser makes room for a default of each type: only the argument's own counts. */
static void put_default(binder *b, const tn_arg *arg) {
  if (!arg->has_default || arg->n_default < 0) return;
  if (arg->list) {
    put_default_list(b, arg);
    return;
  }
  if (arg->n_default != 1) return;
  switch (arg->base) {
    case TN_TYPE_FLOAT:
    case TN_TYPE_SCALAR: put_float(b, arg, arg->default_floats[0]); break;
    case TN_TYPE_STR:
    case TN_TYPE_DIMNAME: memcpy(slot(b, arg), arg->default_strs, sizeof(tn_str)); break;
    case TN_TYPE_TENSOR:
    case TN_TYPE_DEVICE: break;
    default: put_int(b, arg, arg->default_ints[0]);
  }
}

static void bind_attr(binder *b, const tn_arg *arg) {
  const tn_attr *a = tn_node_attr(&b->n->node, arg->name);
  if (a && a->kind == TN_ATTR_REF) {
    problem(b, "attribute", arg->name, "refers to an attribute outside a function");
    return;
  }
  if (!a && !arg->has_default && !arg->optional) {
    problem(b, "attribute", arg->name, "is required but missing");
    return;
  }
  put_default(b, arg);
  if (!a) return;
  int64_t one = 1;
  if (arg->present_offset >= 0) memcpy(b->attrs + arg->present_offset, &one, sizeof one);
  if (!(arg->list ? put_list(b, arg, a) : put_one(b, arg, a)))
    problem(b, "attribute", arg->name, "is of the wrong kind");
  else if (arg->list && arg->list_size > 0 && list_size(a) != arg->list_size)
    problem(b, "attribute", arg->name, "has another number of values than the schema says");
}

/* All attributes of the node, as they are, for an operator that says it knows them. */
static void put_open(binder *b) {
  const tn_node *n = &b->n->node;
  const tn_attrs all = {n->attrs, n->n_attrs};
  memcpy(b->attrs + b->def->schema.open_offset, &all, sizeof all);
  for (uint32_t k = 0; k < n->n_attrs; k++) {
    if (n->attrs[k]->kind == TN_ATTR_REF)
      problem(b, "attribute", n->attrs[k]->name, "refers to an attribute outside a function");
  }
}

static void check_unknown(binder *b) {
  for (uint32_t k = 0; k < b->n->node.n_attrs; k++) {
    const tn_arg *arg = tn_schema_find(&b->def->schema, b->n->node.attrs[k]->name);
    if (!arg || arg->role != TN_ROLE_ATTR)
      problem(b, "attribute", b->n->node.attrs[k]->name, "is unknown to the operator");
  }
}

/* What subgraphs capture stands behind the inputs that the operator describes: where the node
 * leaves out some of those, it moves up, so that none of it is taken for one of them. */
static tn_status move_captures(tn_graph *g, int32_t node, const tn_opdef *def) {
  tn_gnode *n = tn_graph_node(g, node);
  uint32_t formal = n->n_formal, args = (uint32_t)def->schema.n_inputs;
  if (n->node.n_inputs == formal || formal >= args) return TN_OK;
  for (uint32_t k = 0; k < args; k++)
    if (tn_schema_input(&def->schema, (int32_t)k)->list) return TN_OK;
  uint32_t gap = args - formal, total = n->node.n_inputs + gap;
  int32_t *ids = tn_arena_alloc(&g->arena, total * sizeof *ids);
  if (!ids) return TN_ERR_MEMORY;
  for (uint32_t k = 0; k < total; k++)
    ids[k] = k < formal ? n->node.inputs[k] : k < args ? -1 : n->node.inputs[k - gap];
  for (uint32_t s = 0; s < n->n_subgraphs; s++)
    for (int64_t k = 0; k < n->subgraphs[s]->captures.n; k++)
      n->subgraphs[s]->captures.data[k].input += (int32_t)gap;
  n->node.inputs = ids;
  n->node.n_inputs = n->input_room = total;
  n->n_formal = args;
  return TN_OK;
}

tn_status tn_node_bind(tn_graph *g, int32_t node, const tn_opdef *def, tn_diag *diag) {
  if (def->is_unsettled) return TN_ERR_MEMORY;
  binder b = {.g = g, .n = tn_graph_node(g, node), .def = def, .diag = diag};
  b.attrs = tn_arena_alloc(&g->arena, (uint64_t)def->schema.attrs_size);
  if (!b.attrs) return TN_ERR_MEMORY;
  check_inputs(&b);
  check_outputs(&b);
  if (def->schema.open_offset < 0)
    check_unknown(&b);
  else
    put_open(&b);
  for (int32_t k = 0; k < def->schema.n_args; k++)
    if (def->schema.args[k].role == TN_ROLE_ATTR) bind_attr(&b, &def->schema.args[k]);
  if (!b.status) b.status = move_captures(g, node, def);
  if (b.status) return b.status;
  tn_note_use(&def->uses, TN_USE_TAKEN);
  b.n->def = def;
  b.n->attrs = b.attrs;
  return TN_OK;
}
