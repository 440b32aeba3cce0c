/* Graphs in which a rewrite may find its pattern: trees of operators, each called as one of its
 * cases does, with shapes that follow from what is put into it. */
#include <math.h>
#include <string.h>

#include "base/abi.h"
#include "base/cpu.h"
#include "harness/harness.h"
#include "harness/rewrites.h"
#include "harness/vet.h"

/* ---- operators and how they are called ------------------------------------------------------- */

static bool is_usable(const tn_opdef *op) {
  const uint64_t no = TN_OP_LOWER_EARLY | TN_OP_IMPURE;
  if (op->op.until || op->op.flags & no || !op->schema.n_outputs) return false;
  if (op->schema.n_inputs < 1 || op->schema.n_inputs > TREE_SLOTS) return false;
  if (!strcmp(op->op.domain, "tenon")) return false; /* what the host makes of a model */
  for (int32_t k = 0; k < op->schema.n_args; k++)
    if (op->schema.args[k].base == TN_TYPE_GRAPH) return false;
  return true;
}

static bool take_input(tree_ops *o, tree_form *f, const check_problem *p, const check_spec *spec) {
  const uint32_t k = f->n_in++;
  const check_value *v = p->inputs[k];
  if (!v) return true;
  if (v->tensor.kind != TN_KIND_TENSOR || v->tensor.dtype == TN_STRING) return false;
  f->there[k] = true;
  f->constant[k] = v->constant;
  f->in[k] = v->tensor;
  f->in[k].data = NULL;
  f->spec[k] = *spec;
  const int64_t bytes = tn_storage_bytes(&v->tensor);
  if (!v->constant) return true;
  f->in[k].data = check_need(tn_arena_alloc(&o->arena, (uint64_t)bytes + !bytes));
  if (bytes) memcpy(f->in[k].data, v->tensor.data, (size_t)bytes);
  return true;
}

/* False: it is no call that a tree can hold. */
static bool take_form(tree_ops *o, const check_problem *p, tree_form *f) {
  const tn_tensor *out = &p->outputs[0];
  *f = (tree_form){.n_out = p->n_outputs};
  if (p->n_inputs < 1 || p->n_inputs > TREE_SLOTS || out->kind != TN_KIND_TENSOR) return false;
  if (tn_tensor_elements(out) < 1) return false;
  for (int32_t k = 0; k < p->line->n_inputs; k++) { /* lists are inputs one by one */
    const check_input *in = &p->line->inputs[k];
    const int32_t n = in->n ? in->n : !in->list;
    if (in->sequence) return false;
    for (int32_t i = 0; i < n && f->n_in < p->n_inputs; i++)
      if (!take_input(o, f, p, &in->items[i])) return false;
  }
  const tn_node *node = &tn_graph_node(p->graph, p->node)->node;
  const tn_attr **attrs =
      check_need(tn_arena_alloc(&o->arena, (node->n_attrs + 1) * sizeof *attrs));
  for (uint32_t k = 0; k < node->n_attrs; k++) {
    if (node->attrs[k]->kind == TN_ATTR_TENSOR || node->attrs[k]->kind >= TN_ATTR_TENSORS)
      return false;
    attrs[k] = check_need(tn_arena_copy(&o->arena, &p->line->attrs[k].value, sizeof(tn_attr)));
  }
  f->attrs = attrs;
  f->n_attrs = node->n_attrs;
  return true;
}

typedef struct harvest {
  tree_ops *o;
  tree_op *op;
} harvest;

static uint32_t dtype_of(const tn_opdef *op, const char *alias) {
  for (uint32_t k = 0; k < op->op.n_types; k++) {
    const uint64_t dtypes = op->op.types[k]->dtypes;
    if (strcmp(op->op.types[k]->name, alias)) continue;
    return dtypes & TN_MASK(TN_F32) ? TN_F32 : (uint32_t)__builtin_ctzll(dtypes);
  }
  return TN_NONE;
}

static int32_t bind_aliases(const tn_opdef *op, const tn_case *line, check_binding *out) {
  int32_t n = 0;
  for (int32_t k = 0; k < line->n_inputs; k++)
    for (int32_t i = 0; i < line->inputs[k].n; i++) {
      char *type = line->inputs[k].items[i].type;
      bool there = tn_dtype_parse(type) != TN_NONE || n == CHECK_MAX_ALIASES;
      for (int32_t b = 0; b < n; b++) there = there || !strcmp(out[b].alias, type);
      if (!there) out[n++] = (check_binding){type, dtype_of(op, type)};
    }
  return n;
}

/* False: there are enough. */
static bool add_form(void *arg, const char *text) {
  const harvest *h = arg;
  tree_ops *o = h->o;
  check_binding bindings[CHECK_MAX_ALIASES];
  const char *why;
  tn_case *line = check_need(tn_arena_alloc(&o->arena, sizeof *line));
  text = check_need(tn_arena_str(&o->arena, text));
  if (!check_case_parse(h->op->op, text, &o->arena, line, &why)) return true;
  if (line->bench || line->has_graphs) return true;
  check_problem *p = check_need(tn_alloc(tn_default_allocator(), sizeof *p));
  const int32_t n = bind_aliases(h->op->op, line, bindings);
  if (check_problem_open_quietly(o->env, h->op->op, line, bindings, n, false, p) &&
      check_problem_bytes(p) < 1 << 14) {
    check_problem_fill(p);
    h->op->n_forms += take_form(o, p, &h->op->forms[h->op->n_forms]);
  }
  check_problem_close(p);
  tn_free(tn_default_allocator(), p, sizeof *p);
  return h->op->n_forms < TREE_FORMS;
}

/* A list of one is no pattern: the first form, which most trees take, has two. */
static void prefer_pairs(tree_op *op) {
  for (int32_t k = 1; k < op->n_forms && op->forms[0].n_in < 2; k++) {
    const tree_form first = op->forms[0];
    if (op->forms[k].n_in < 2) continue;
    op->forms[0] = op->forms[k];
    op->forms[k] = first;
  }
}

static void find_forms(tree_ops *o, tree_op *op) {
  harvest h = {o, op};
  op->forms = check_need(tn_arena_alloc(&o->arena, TREE_FORMS * sizeof *op->forms));
  bool more = true;
  for (uint32_t k = 0; more && k < op->op->op.n_cases; k++)
    more = add_form(&h, op->op->op.cases[k]);
  if (!op->n_forms) check_generic(op->op, NULL, 0, add_form, &h);
  if (tn_schema_input(&op->op->schema, op->op->schema.n_inputs - 1)->list) prefer_pairs(op);
}

/* ---- names in the plug-in's file ------------------------------------------------------------- */

static uint8_t *read_file(const char *path, uint64_t *out_bytes) {
  enum { MOST = 1 << 26 };
  FILE *file = path ? fopen(path, "rb") : NULL;
  *out_bytes = 0;
  if (!file) return NULL;
  uint8_t *bytes = check_need(tn_alloc(tn_default_allocator(), MOST));
  *out_bytes = fread(bytes, 1, MOST, file);
  fclose(file);
  return bytes;
}

static bool has_name(const uint8_t *bytes, uint64_t n, const char *name) {
  return bytes && memmem(bytes, (size_t)n, name, strlen(name) + 1);
}

/* What its code compares names with stands in its file, but for the shortest, which compilers put
 * into instructions. */
static void sort_ops(tree_ops *o) {
  enum { MOST = 1 << 26 };
  uint64_t n;
  uint8_t *bytes = read_file(o->env->options.plugin, &n);
  for (int32_t k = 0; k < o->n; k++) {
    if (!has_name(bytes, n, o->ops[k].op->op.name)) continue;
    const tree_op named = o->ops[k];
    o->ops[k] = o->ops[o->n_named];
    o->ops[o->n_named++] = named;
  }
  tn_free(tn_default_allocator(), bytes, MOST);
}

void tree_ops_open(tree_ops *o, check_env *env) {
  const tn_registry *r = env->runtime->registry;
  *o = (tree_ops){.env = env};
  tn_arena_init(&o->arena, tn_default_allocator());
  o->ops =
      check_need(tn_arena_alloc(&o->arena, ((uint64_t)tn_registry_n_ops(r) + 1) * sizeof *o->ops));
  for (int32_t k = 0; k < tn_registry_n_ops(r); k++) {
    const tn_opdef *op = tn_registry_op_at(r, k);
    if (!is_usable(op)) continue;
    o->ops[o->n] = (tree_op){.op = op};
    find_forms(o, &o->ops[o->n]);
    o->n += o->ops[o->n].n_forms > 0;
  }
  sort_ops(o);
}

void tree_ops_close(tree_ops *o) { tn_arena_clear(&o->arena); }

/* ---- building -------------------------------------------------------------------------------- */

typedef struct builder {
  const tree_ops *o;
  const tree *t;
  tn_graph *g;
  tree_built *b;
  bool plain; /* leaves are those of b */
  int32_t n_leaves;
  int32_t read[TREE_NODES][TREE_SLOTS]; /* values that the nodes read; -1: not yet */
} builder;

static int32_t version_of(const tree_ops *o, const tn_opdef *op) {
  return *op->op.domain ? op->op.since : o->env->newest;
}

/* Dims of the form that it shares with what is put into slot `known` become those of that. */
static void adapt(const tree_form *f, uint32_t known, const tn_tensor *now, tn_tensor *t) {
  const tn_tensor *was = &f->in[known];
  for (int32_t d = 0; d < t->rank; d++)
    for (int32_t i = 0; i < was->rank && i < now->rank; i++)
      if (t->shape[d] == was->shape[was->rank - 1 - i]) {
        t->shape[d] = now->shape[now->rank - 1 - i];
        break;
      }
}

/* Among numbers: what is none, and none that is finite. */
static void put_unbounded(const tn_tensor *t, int32_t index) {
  static const double some[] = {INFINITY, NAN, 0, -INFINITY};
  const int64_t n = tn_tensor_elements(t);
  for (int64_t k = index % 2; k < n; k += 2)
    tn_store_f64(t->dtype, t->data, k, some[(k / 2 + index) % 4]);
}

static void fill_leaf(tree_built *b, tree_leaf *leaf, check_spec spec, int32_t index) {
  const int64_t bytes = tn_storage_bytes(&leaf->type);
  const bool is_float = tn_dtype(leaf->type.dtype)->is_float != 0;
  for (int32_t k = 0; k < TREE_FILLS; k++) {
    if (is_float) spec.fill = k ? FILL_UNIFORM : FILL_DESIGNED;
    spec.low = is_float ? (k == 2 ? -1.5 : 0.5) : spec.low;
    spec.high = is_float ? (k == 2 ? -0.5 : 1.5) : spec.high;
    leaf->data[k] = leaf->type.data =
        check_need(tn_arena_alloc(&b->arena, (uint64_t)bytes + !bytes));
    check_fill(&spec, &leaf->type, (uint64_t)index * TREE_FILLS + (uint64_t)k + 1);
    if (is_float && k == TREE_FILLS - 1) put_unbounded(&leaf->type, index);
  }
  leaf->type.data = leaf->data[0];
}

/* A value that nothing in the tree makes. */
static int32_t make_leaf(builder *x, const tree_form *f, uint32_t slot, bool constant,
                         int32_t known, const tn_tensor *now) {
  const tn_graph_api *api = tn_graph_functions();
  const int32_t index = x->n_leaves++;
  char name[16];
  if (index == TREE_LEAVES) return TN_ERR_OVERFLOW;
  tree_leaf *leaf = &x->b->leaves[index];
  if (!x->plain) {
    *leaf = (tree_leaf){.type = f->in[slot], .constant = constant || f->constant[slot]};
    if (known >= 0 && !f->constant[slot]) {
      if (f->in[slot].rank == f->in[known].rank && tn_same_shape(&f->in[slot], &f->in[known])) {
        leaf->type.rank = now->rank;
        memcpy(leaf->type.shape, now->shape, sizeof now->shape);
      } else {
        adapt(f, (uint32_t)known, now, &leaf->type);
      }
    }
    if (tn_storage_bytes(&leaf->type) < 0 || tn_storage_bytes(&leaf->type) > 1 << 16)
      return TN_ERR_OVERFLOW;
    if (f->constant[slot])
      leaf->type.data = leaf->data[0] = f->in[slot].data;
    else
      fill_leaf(x->b, leaf, f->spec[slot], index);
    x->b->n_leaves = x->n_leaves;
  }
  snprintf(name, sizeof name, "x%d", index);
  const int32_t value = api->value(x->g, name);
  if (value < 0) return value;
  tn_status s = leaf->constant ? api->value_set_const(x->g, value, &leaf->type, 1)
                               : api->value_set_type(x->g, value, &leaf->type);
  if (!s && !leaf->constant) s = api->add_input(x->g, value);
  if (!x->plain) tn_graph_val(x->g, value)->known = true;
  return s ? s : value;
}

static int32_t build_node(builder *x, int32_t index);

/* What is put into the slots by other nodes; *out_known: the first such slot. */
static tn_status connect(builder *x, const tree_node *n, const tree_form *f, int32_t *values,
                         int32_t *out_known) {
  *out_known = -1;
  for (int pass = 0; pass < 2; pass++)
    for (uint32_t k = 0; k < f->n_in; k++) {
      if (n->slots[k].kind != (pass ? SLOT_SAME : SLOT_NODE)) continue;
      if (pass && n->slots[k].node == (int32_t)(n - x->t->nodes)) continue;
      values[k] =
          pass ? x->read[n->slots[k].node][n->slots[k].slot] : build_node(x, n->slots[k].node);
      if (values[k] < 0) return TN_ERR_INVALID;
      if (*out_known < 0) *out_known = (int32_t)k;
      if (!x->plain && tn_graph_val(x->g, values[k])->type->dtype != f->in[k].dtype)
        return TN_ERR_SHAPE;
    }
  return TN_OK;
}

static tn_status bind(const builder *x, const tn_opdef *op, int32_t node) {
  int32_t input;
  tn_status s = tn_node_bind(x->g, node, op, NULL);
  if (!s) s = tn_infer_node(&x->b->planner, x->g, node, &input, NULL);
  return s;
}

/* Value id of its first output, or an error. */
static int32_t build_node(builder *x, int32_t index) {
  const tn_graph_api *api = tn_graph_functions();
  const tree_node *n = &x->t->nodes[index];
  const tn_opdef *op = x->o->ops[n->op].op;
  const tree_form *f = &x->o->ops[n->op].forms[n->form];
  int32_t values[TREE_SLOTS], outputs[CHECK_MAX_IO], known;
  for (uint32_t k = 0; k < TREE_SLOTS; k++) values[k] = TN_NO_ID;
  if (connect(x, n, f, values, &known)) return TN_ERR_SHAPE;
  const tn_tensor now = known < 0 ? f->in[0] : *tn_graph_val(x->g, values[known])->type;
  for (uint32_t k = 0; k < f->n_in; k++) {
    const bool is_own = n->slots[k].kind == SLOT_SAME && n->slots[k].node == index;
    if (is_own) values[k] = values[n->slots[k].slot]; /* Sub(x, x) */
    if (values[k] >= 0 || !f->there[k] || is_own) continue;
    values[k] = make_leaf(x, f, k, n->slots[k].kind == SLOT_CONST, known, &now);
    if (values[k] < 0) return values[k];
  }
  memcpy(x->read[index], values, sizeof values);
  for (uint32_t k = 0; k < f->n_out; k++)
    if ((outputs[k] = api->value(x->g, "")) < 0) return outputs[k];
  const tn_node node = {.head = TN_HEAD(tn_node),
                        .domain = op->op.domain,
                        .op = op->op.name,
                        .name = index == x->t->root ? "root" : "around",
                        .version = version_of(x->o, op),
                        .n_inputs = f->n_in,
                        .n_outputs = f->n_out,
                        .n_attrs = f->n_attrs,
                        .inputs = values,
                        .outputs = outputs,
                        .attrs = f->attrs,
                        .offset = -1};
  const int32_t id = api->add_node(x->g, &node);
  if (id < 0 || api->set_opset(x->g, op->op.domain, version_of(x->o, op))) return TN_ERR_INVALID;
  if (index == x->t->root && !x->plain) x->b->root = id;
  return x->plain || !bind(x, op, id) ? outputs[0] : TN_ERR_SHAPE;
}

static bool build(builder *x) {
  for (int32_t k = 0; k < TREE_NODES; k++)
    for (int32_t i = 0; i < TREE_SLOTS; i++) x->read[k][i] = TN_NO_ID;
  if (tn_graph_create(x->o->env->runtime, &x->g)) check_die("no graph");
  const int32_t out = build_node(x, x->t->top);
  return out >= 0 && !tn_graph_functions()->add_output(x->g, out);
}

bool tree_build(const tree_ops *o, const tree *t, tree_built *out) {
  memset(out, 0, sizeof *out);
  tn_arena_init(&out->arena, tn_default_allocator());
  out->planner = (tn_planner){.a = tn_default_allocator(),
                              .registry = o->env->runtime->registry,
                              .isa = tn_cpu_isa(),
                              .model_flags = TN_MODEL_NO_OPTIMIZE};
  builder x = {.o = o, .t = t, .b = out};
  const bool ok = build(&x);
  out->graph = x.g;
  return ok && !tn_graph_sort(x.g, NULL);
}

void tree_close(tree_built *b) {
  tn_graph_destroy(b->graph);
  tn_arena_clear(&b->arena);
}

tn_graph *tree_plain(const tree_ops *o, const tree *t, const tree_built *b) {
  tree_built copy = *b; /* leaves alone are read */
  builder x = {.o = o, .t = t, .b = &copy, .plain = true};
  if (build(&x)) return x.g;
  tn_graph_destroy(x.g);
  return NULL;
}

/* ---- text ------------------------------------------------------------------------------------ */

static size_t put(char *buf, size_t size, size_t at, const char *text) {
  if (at < size) snprintf(buf + at, size - at, "%s", text);
  return at + strlen(text);
}

static size_t node_text(const tree_ops *o, const tree *t, int32_t index, char *buf, size_t size,
                        size_t at) {
  const tree_node *n = &t->nodes[index];
  const tree_form *f = &o->ops[n->op].forms[n->form];
  at = put(buf, size, at, o->ops[n->op].op->op.name);
  at = put(buf, size, at, "(");
  for (uint32_t k = 0; k < f->n_in; k++) {
    const tree_slot s = n->slots[k];
    if (k) at = put(buf, size, at, ", ");
    if (s.kind == SLOT_NODE)
      at = node_text(o, t, s.node, buf, size, at);
    else if (s.kind == SLOT_SAME)
      at = put(buf, size, at, s.slot ? "y" : "x");
    else
      at = put(buf, size, at, !f->there[k] ? "_" : f->constant[k] || s.kind ? "c" : k ? "y" : "x");
  }
  return put(buf, size, at, ")");
}

void tree_text(const tree_ops *o, const tree *t, char *buf, size_t size) {
  buf[0] = 0;
  node_text(o, t, t->top, buf, size, 0);
}

/* ---- changes --------------------------------------------------------------------------------- */

tree tree_of(int32_t op, int32_t form) {
  tree t = {.n = 1};
  t.nodes[0] = (tree_node){.op = op, .form = form};
  return t;
}

static int32_t add_node(tree *t, int32_t op, int32_t form) {
  t->nodes[t->n] = (tree_node){.op = op, .form = form};
  return t->n++;
}

int64_t tree_n_changes(const tree_ops *o, const tree *from, int32_t ops) {
  (void)o;
  const int64_t slots = (int64_t)from->n * TREE_SLOTS;
  return slots * (1 + TREE_NODES * TREE_SHARED) + (int64_t)ops * (slots + TREE_SLOTS);
}

/* Whether the input that the slot names is one of an earlier slot or of another node. */
static bool is_shared(const tree_ops *o, const tree *t, const tree_node *n, int32_t slot) {
  const tree_slot s = n->slots[slot];
  if (s.node >= t->n) return false;
  const tree_node *other = &t->nodes[s.node];
  const tree_form *f = &o->ops[other->op].forms[other->form];
  return (uint32_t)s.slot < f->n_in && f->there[s.slot] && (n != other || s.slot < slot);
}

/* In this order: a slot becomes a constant, or what some node reads first, second or third; then for each operator a
 * node in front of each slot, and behind the top. */
bool tree_change(const tree_ops *o, const tree *from, int64_t number, int32_t ops, tree *out) {
  const int64_t slots = (int64_t)from->n * TREE_SLOTS;
  *out = *from;
  if (number < slots * (1 + TREE_NODES * TREE_SHARED)) {
    tree_node *n = &out->nodes[number % slots / TREE_SLOTS];
    tree_slot *s = &n->slots[number % TREE_SLOTS];
    if (s->kind != SLOT_FORM ||
        (uint32_t)(number % TREE_SLOTS) >= o->ops[n->op].forms[n->form].n_in)
      return false;
    const int64_t what = number / slots - 1;
    if (what < 0) {
      s->kind = SLOT_CONST;
      return true;
    }
    *s = (tree_slot){SLOT_SAME, (int32_t)(what % TREE_NODES), (int32_t)(what / TREE_NODES)};
    return is_shared(o, out, n, (int32_t)(number % TREE_SLOTS));
  }
  number -= slots * (1 + TREE_NODES * TREE_SHARED);
  const int32_t op = (int32_t)(number / (slots + TREE_SLOTS));
  const int64_t place = number % (slots + TREE_SLOTS);
  if (op >= ops || from->n == TREE_NODES) return false;
  const int32_t added = add_node(out, op, 0);
  if (place >= slots) {
    if ((uint32_t)(place - slots) >= o->ops[op].forms[0].n_in) return false;
    out->nodes[added].slots[place - slots] = (tree_slot){SLOT_NODE, from->top, 0};
    out->top = added;
    return true;
  }
  tree_node *n = &out->nodes[place / TREE_SLOTS];
  const tree_form *f = &o->ops[n->op].forms[n->form];
  tree_slot *s = &n->slots[place % TREE_SLOTS];
  if (s->kind != SLOT_FORM || (uint32_t)(place % TREE_SLOTS) >= f->n_in ||
      !f->there[place % TREE_SLOTS])
    return false;
  *s = (tree_slot){SLOT_NODE, added, 0};
  return true;
}
