/* If and While: parts of the network as graphs of their own. A part is a list of operators with
 * tensors, inputs and outputs of its own; which value of the network is which input, and which
 * output of a part becomes which input of its next turn, is told by names. */
#include <stdio.h>

#include "nodes.h"

enum { PART_NAME, PART_INPUTS, PART_OUTPUTS, PART_TENSORS, PART_OPS, PART_DESCRIBED };
enum { MOST_DEPTH = 16, MOST_VALUES = 1024 };

static const char *const part_fields[] = {
    "name", "inputs", "outputs", "tensors", "nodes", "extraTensorDescribe", NULL};
static const tn_flat_type part_type = {"SubGraphProto", part_fields};
static const char *const names_fields[] = {"data", NULL};
static const tn_flat_type names_type = {"StringVec", names_fields};

typedef struct part {
  tn_flat_table table;
  tn_flat_vector inputs, outputs, tensors;
} part;

/* ---- parts ---- */

static bool same(tn_str a, tn_str b) {
  return a.size == b.size && !memcmp(a.data, b.data, (size_t)a.size);
}

static bool find_part(mnn_reader *r, tn_str name, part *out) {
  const tn_flat_vector list = tn_flat_vec(&r->net, NET_SUBGRAPHS, 4);
  for (uint64_t k = 0; k < list.n && !mnn_status(r); k++) {
    const tn_flat_table t = tn_flat_item(&list, k, &part_type);
    if (!same(tn_flat_text(&t, PART_NAME), name)) continue;
    *out = (part){.table = t,
                  .inputs = tn_flat_vec(&t, PART_INPUTS, 4),
                  .outputs = tn_flat_vec(&t, PART_OUTPUTS, 4),
                  .tensors = tn_flat_vec(&t, PART_TENSORS, 4)};
    if (out->inputs.n > MOST_VALUES || out->outputs.n > MOST_VALUES)
      mnn_refuse(r, "a part of so many inputs or outputs");
    return !mnn_status(r);
  }
  if (!mnn_status(r)) mnn_invalid(r, "names a part that the network does not have");
  return false;
}

/* The number of the input (output) of that name; -1: there is none. */
static int64_t place_of(const part *p, const tn_flat_vector *list, tn_str name) {
  for (uint64_t k = 0; k < list->n; k++)
    if (same(tn_flat_item_text(&p->tensors, (uint64_t)tn_flat_int_at(list, k)), name))
      return (int64_t)k;
  return -1;
}

static void set_inputs(mnn_reader *r, const part *p, const int32_t *in) {
  for (uint64_t k = 0; k < p->tensors.n; k++) r->values[k] = (mnn_value){.id = TN_NO_ID};
  for (uint64_t k = 0; k < p->inputs.n; k++) {
    const int64_t index = tn_flat_int_at(&p->inputs, k);
    if (index < 0 || (uint64_t)index >= p->tensors.n)
      mnn_invalid(r, "a part whose input is none of its tensors");
    else
      r->values[index].id = in[k];
  }
}

static void get_outputs(mnn_reader *r, const part *p, int32_t *out) {
  for (uint64_t k = 0; k < p->outputs.n && !mnn_status(r); k++) {
    const int64_t index = tn_flat_int_at(&p->outputs, k);
    const bool is_there = index >= 0 && (uint64_t)index < p->tensors.n;
    out[k] = is_there ? r->values[index].id : TN_NO_ID;
    if (out[k] == TN_NO_ID) mnn_invalid(r, "a part does not make one of its outputs");
  }
}

/* The part's operators as nodes of g, on these inputs. */
static bool inline_part(mnn_reader *r, const part *p, tn_graph *g, const int32_t *in,
                        int32_t *out) {
  const mnn_reader before = *r;
  if (mnn_status(r)) return false;
  if (r->depth == MOST_DEPTH) return mnn_refuse(r, "parts that are so deep in others"), false;
  r->values = tn_arena_alloc(&r->arena, (p->tensors.n + 1) * sizeof *r->values);
  if (!r->values) r->status = mnn_fail(r, TN_ERR_MEMORY, "out of memory");
  r->names = p->tensors;
  r->g = g;
  r->depth++;
  const tn_flat_vector ops = tn_flat_vec(&p->table, PART_OPS, 4);
  const tn_flat_vector described = tn_flat_vec(&p->table, PART_DESCRIBED, 4);
  if (!r->status) set_inputs(r, p, in);
  if (!r->status) r->status = mnn_read_steps(r, &described);
  if (!r->status && !mnn_status(r)) r->status = mnn_read_ops(r, &ops);
  if (!r->status) get_outputs(r, p, out);
  r->names = before.names, r->values = before.values, r->g = before.g, r->depth = before.depth;
  r->op = before.op, r->row = before.row, r->name = before.name, r->at = before.at;
  r->param = before.param, r->in = before.in, r->out = before.out, r->how = before.how;
  return !mnn_status(r);
}

/* ---- graphs ---- */

static tn_graph *new_graph(mnn_reader *r) {
  tn_graph *g = r->status ? NULL : r->api->subgraph_new(r->g);
  if (!g && !r->status) r->status = mnn_fail(r, TN_ERR_MEMORY, "out of memory");
  return g;
}

static int32_t new_value(mnn_reader *r, tn_graph *g) {
  const int32_t id = r->status ? TN_NO_ID : r->api->value(g, NULL);
  if (id < 0 && !r->status) r->status = mnn_fail(r, id, "it needs one more value");
  return id;
}

static int32_t new_input(mnn_reader *r, tn_graph *g) {
  const int32_t id = new_value(r, g);
  const tn_status s = r->status ? TN_OK : r->api->add_input(g, id);
  if (s) r->status = mnn_fail(r, s, "a part cannot have one more input");
  return id;
}

/* The value of r->g, as g, which is in it, sees it: by name. */
static int32_t seen(mnn_reader *r, tn_graph *g, int32_t id) {
  char name[40];
  if (r->status || id == TN_NO_ID) return TN_NO_ID;
  const char *text = r->api->value_name(r->g, id);
  if (!*text) {
    snprintf(name, sizeof name, "part %u", ++r->n_seen);
    const int32_t copy = r->api->value(r->g, name);
    if (copy < 0 || !mnn_add(r, "", "Identity", &id, 1, &copy, 1, NULL, 0)) return TN_NO_ID;
    text = name;
  }
  const int32_t found = r->api->value(g, text);
  if (found < 0 && !r->status) r->status = mnn_fail(r, found, "a part cannot read a value");
  return found;
}

static void add_output(mnn_reader *r, tn_graph *g, int32_t id) {
  tn_graph *outer = r->g;
  const int32_t out = new_value(r, g);
  r->g = g;
  if (!r->status && mnn_add(r, "", "Identity", &id, 1, &out, 1, NULL, 0) &&
      r->api->add_output(g, out))
    r->status = mnn_fail(r, TN_ERR_MEMORY, "out of memory");
  r->g = outer;
}

static int32_t truth(mnn_reader *r, tn_graph *g, int32_t number) {
  tn_graph *outer = r->g;
  const int64_t none = 0;
  r->g = g;
  const int32_t one = mnn_emit_2(r, "Reshape", number, mnn_i64s(r, &none, 0));
  const int32_t bit = mnn_cast(r, one, TN_BOOL);
  r->g = outer;
  return bit;
}

/* Outputs of the operator, which the node makes. */
static void add_node(mnn_reader *r, const char *op, const int32_t *in, uint32_t n_in,
                     const tn_attr *attrs, uint32_t n_attrs, uint32_t n_out) {
  int32_t out[MOST_VALUES];
  for (uint32_t k = 0; k < n_out && !r->status; k++)
    out[k] = k < r->out.n ? mnn_out(r, k) : new_value(r, r->g);
  if (!r->status && mnn_add(r, "", op, in, n_in, out, n_out, attrs, n_attrs))
    for (uint32_t k = 0; k < n_out && k < r->out.n; k++) mnn_set(r, k, out[k]);
}

/* Names that belong to input or output k; none: an empty list. */
static tn_flat_vector names_at(const tn_flat_vector *list, uint64_t k) {
  const tn_flat_table t = tn_flat_item(list, k, &names_type);
  return tn_flat_vec(&t, 0, 4);
}

/* Which values of the operator are inputs of the part; what it does not say is none. */
static void bind(mnn_reader *r, const part *p, const tn_flat_vector *aliases, int32_t *in) {
  for (uint64_t k = 0; k < p->inputs.n; k++) in[k] = TN_NO_ID;
  for (uint64_t k = 0; k < aliases->n && k < r->in.n && !mnn_status(r); k++) {
    const tn_flat_vector names = names_at(aliases, k);
    for (uint64_t j = 0; j < names.n; j++) {
      const int64_t at = place_of(p, &p->inputs, tn_flat_item_text(&names, j));
      if (at >= 0) in[at] = mnn_in(r, k);
    }
  }
}

/* ---- If ---- */

enum { IF_THEN, IF_ELSE, IF_INPUTS, IF_OUTPUTS };

static tn_graph *branch(mnn_reader *r, uint32_t which, const tn_flat_vector *aliases,
                        const tn_flat_vector *outputs) {
  part p;
  int32_t in[MOST_VALUES], out[MOST_VALUES];
  if (!find_part(r, tn_flat_text(&r->param, which), &p)) return NULL;
  tn_graph *g = new_graph(r);
  if (!g) return NULL;
  bind(r, &p, aliases, in);
  for (uint64_t k = 0; k < p.inputs.n; k++) in[k] = seen(r, g, in[k]);
  if (!inline_part(r, &p, g, in, out)) return NULL;
  for (uint64_t k = 0; k < outputs->n && !r->status; k++) {
    const tn_flat_vector names = names_at(outputs, k);
    const int64_t at =
        which < names.n ? place_of(&p, &p.outputs, tn_flat_item_text(&names, which)) : -1;
    if (at < 0)
      mnn_invalid(r, "names an output that its part does not have");
    else
      add_output(r, g, out[at]);
  }
  return g;
}

static int32_t make_if(mnn_reader *r) {
  const tn_flat_vector aliases = tn_flat_vec(&r->param, IF_INPUTS, 4),
                       outputs = tn_flat_vec(&r->param, IF_OUTPUTS, 4);
  if (mnn_status(r)) return TN_NO_ID;
  if (outputs.n > MOST_VALUES) return mnn_refuse(r, "so many outputs");
  const int32_t condition = truth(r, r->g, mnn_in(r, 0));
  tn_graph *yes = branch(r, IF_THEN, &aliases, &outputs),
           *no = yes ? branch(r, IF_ELSE, &aliases, &outputs) : NULL;
  const tn_attr attrs[] = {tn_attr_graph("then_branch", &yes), tn_attr_graph("else_branch", &no)};
  if (no && !r->status) add_node(r, "If", &condition, 1, attrs, 2, (uint32_t)outputs.n);
  return TN_NO_ID;
}

/* ---- While of ONNX's Loop: a count, a condition, what is carried ---- */

static int32_t make_counted(mnn_reader *r, const part *body) {
  const uint64_t n = body->inputs.n, n_out = body->outputs.n;
  int32_t in[MOST_VALUES], inner[MOST_VALUES], out[MOST_VALUES];
  if (n < 2 || n != r->in.n || n_out + 1 < n)
    return mnn_invalid(r, "a loop's body takes or gives another number of values");
  tn_graph *g = new_graph(r);
  for (uint64_t k = 0; k < n && !r->status; k++) {
    in[k] = mnn_in(r, k);
    inner[k] = new_input(r, g);
  }
  if (r->status) return TN_NO_ID;
  const int64_t none = 0;
  in[0] = mnn_cast(r, mnn_emit_2(r, "Reshape", in[0], mnn_i64s(r, &none, 0)), TN_I64);
  in[1] = truth(r, r->g, in[1]);
  tn_graph *outer = r->g;
  r->g = g;
  for (int k = 0; k < 2; k++) inner[k] = mnn_cast(r, inner[k], TN_I32);
  r->g = outer;
  if (!inline_part(r, body, g, inner, out)) return TN_NO_ID;
  add_output(r, g, truth(r, g, out[0]));
  for (uint64_t k = 1; k < n_out; k++) add_output(r, g, out[k]);
  const tn_attr attr = tn_attr_graph("body", &g);
  add_node(r, "Loop", in, (uint32_t)n, &attr, 1, (uint32_t)n_out - 1);
  return TN_NO_ID;
}

/* ---- While: a part that is its condition, and one that is its body ---- */

enum { WHILE_COND, WHILE_BODY, WHILE_INPUTS, WHILE_OUTPUTS, WHILE_UPDATES };

/* An input of both parts, or of one. */
typedef struct variable {
  int64_t in_cond, in_body; /* inputs; -1: none */
  int64_t from;             /* output of the body that it is next; -1: it stays what it is */
  int32_t first, now;
} variable;

typedef struct loop {
  part cond, body;
  variable v[2 * MOST_VALUES];
  uint64_t n;
} loop;

static tn_str input_name(const part *p, uint64_t k) {
  return tn_flat_item_text(&p->tensors, (uint64_t)tn_flat_int_at(&p->inputs, k));
}

/* Which output of the body an input is next. */
static int64_t find_update(mnn_reader *r, const loop *l, const tn_flat_vector *updates,
                           tn_str input) {
  for (uint64_t k = 0; k < updates->n; k++) {
    const tn_flat_vector pair = names_at(updates, k);
    if (pair.n < 2 || !same(tn_flat_item_text(&pair, 1), input)) continue;
    const tn_str output = tn_flat_item_text(&pair, 0);
    const int64_t at = place_of(&l->body, &l->body.outputs, output);
    if (at >= 0) return at;
    if (place_of(&l->cond, &l->cond.outputs, output) >= 0)
      mnn_refuse(r, "a loop whose condition is carried");
  }
  return -1;
}

static void find_variables(mnn_reader *r, loop *l, const tn_flat_vector *updates) {
  const tn_flat_vector aliases = tn_flat_vec(&r->param, WHILE_INPUTS, 4);
  int32_t of_cond[MOST_VALUES], of_body[MOST_VALUES];
  bind(r, &l->cond, &aliases, of_cond);
  bind(r, &l->body, &aliases, of_body);
  for (uint64_t k = 0; k < l->body.inputs.n && !mnn_status(r); k++) {
    const tn_str name = input_name(&l->body, k);
    l->v[l->n++] = (variable){.in_body = (int64_t)k,
                              .in_cond = place_of(&l->cond, &l->cond.inputs, name),
                              .first = of_body[k],
                              .from = find_update(r, l, updates, name)};
  }
  for (uint64_t k = 0; k < l->cond.inputs.n && !mnn_status(r); k++) {
    const tn_str name = input_name(&l->cond, k);
    if (place_of(&l->body, &l->body.inputs, name) < 0)
      l->v[l->n++] = (variable){.in_body = -1,
                                .in_cond = (int64_t)k,
                                .first = of_cond[k],
                                .from = find_update(r, l, updates, name)};
  }
  for (uint64_t k = 0; k < l->n; k++)
    if (l->v[k].first == TN_NO_ID) mnn_invalid(r, "a loop begins without one of its values");
}

/* Does the loop go on, with the variables as they are now? As a truth value of g. */
static int32_t goes_on(mnn_reader *r, const loop *l, tn_graph *g) {
  int32_t in[MOST_VALUES], out[MOST_VALUES];
  for (uint64_t k = 0; k < l->cond.inputs.n; k++)
    in[k] = TN_NO_ID; /* of one name the first is bound */
  for (uint64_t k = 0; k < l->n; k++)
    if (l->v[k].in_cond >= 0) in[l->v[k].in_cond] = l->v[k].now;
  if (!l->cond.outputs.n) return mnn_invalid(r, "a condition without an output");
  return inline_part(r, &l->cond, g, in, out) ? truth(r, g, out[0]) : TN_NO_ID;
}

static tn_graph *loop_body(mnn_reader *r, loop *l) {
  int32_t in[MOST_VALUES], out[MOST_VALUES];
  tn_graph *g = new_graph(r);
  if (!g) return NULL;
  new_input(r, g);
  new_input(r, g);
  for (uint64_t k = 0; k < l->n; k++) {
    variable *v = &l->v[k];
    v->now = v->from < 0 ? seen(r, g, v->first) : new_input(r, g);
    if (v->in_body >= 0) in[v->in_body] = v->now;
  }
  if (!inline_part(r, &l->body, g, in, out)) return NULL;
  for (uint64_t k = 0; k < l->n; k++)
    if (l->v[k].from >= 0) l->v[k].now = out[l->v[k].from];
  add_output(r, g, goes_on(r, l, g));
  for (uint64_t k = 0; k < l->n; k++)
    if (l->v[k].from >= 0) add_output(r, g, l->v[k].now);
  return g;
}

/* What the loop leaves as the output of that name: an input of the body as it is next, or what is
 * next of an output. */
static int32_t left_as(mnn_reader *r, const loop *l, tn_str name, const int32_t *ends) {
  int64_t at = place_of(&l->body, &l->body.outputs, name);
  for (uint64_t k = 0; k < l->n; k++)
    if (l->v[k].in_body >= 0 && same(input_name(&l->body, (uint64_t)l->v[k].in_body), name))
      return ends[k];
  for (uint64_t k = 0; at >= 0 && k < l->n; k++)
    if (l->v[k].from == at) return ends[k];
  return mnn_refuse(r, "an output of a loop that it does not carry");
}

static void end_loop(mnn_reader *r, loop *l, tn_graph *g, int32_t begins) {
  int32_t in[2 * MOST_VALUES + 2] = {TN_NO_ID, begins}, ends[2 * MOST_VALUES], out[2 * MOST_VALUES];
  uint32_t n = 0;
  for (uint64_t k = 0; k < l->n && !r->status; k++) {
    ends[k] = l->v[k].first;
    if (l->v[k].from < 0) continue;
    in[2 + n] = l->v[k].first;
    out[n++] = ends[k] = new_value(r, r->g);
  }
  const tn_attr attr = tn_attr_graph("body", &g);
  if (r->status || !mnn_add(r, "", "Loop", in, n + 2, out, n, &attr, 1)) return;
  const tn_flat_vector outputs = tn_flat_vec(&r->param, WHILE_OUTPUTS, 4);
  for (uint64_t k = 0; k < outputs.n && k < r->out.n && !mnn_status(r); k++) {
    const int32_t left = left_as(r, l, tn_flat_item_text(&outputs, k), ends), id = mnn_out(r, k);
    if (!r->status && mnn_add(r, "", "Identity", &left, 1, &id, 1, NULL, 0)) mnn_set(r, k, id);
  }
}

static int32_t make_while(mnn_reader *r) {
  const tn_str cond = tn_flat_text(&r->param, WHILE_COND);
  const tn_flat_vector updates = tn_flat_vec(&r->param, WHILE_UPDATES, 4);
  loop *l = tn_arena_alloc(&r->arena, sizeof *l);
  if (!l) return mnn_refuse(r, "a loop, for which there is no memory");
  *l = (loop){0};
  if (!find_part(r, tn_flat_text(&r->param, WHILE_BODY), &l->body)) return TN_NO_ID;
  if (!cond.size) return make_counted(r, &l->body);
  if (!find_part(r, cond, &l->cond)) return TN_NO_ID;
  find_variables(r, l, &updates);
  if (mnn_status(r)) return TN_NO_ID;
  for (uint64_t k = 0; k < l->n; k++) l->v[k].now = l->v[k].first;
  const int32_t begins = goes_on(r, l, r->g);
  tn_graph *g = r->status ? NULL : loop_body(r, l);
  if (g && !r->status) end_loop(r, l, g, begins);
  return TN_NO_ID;
}

const mnn_maker mnn_control[] = {{"If", make_if}, {"While", make_while}, {NULL, NULL}};
