/* Binding arguments to schemas and making nodes; see aten.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "torch/aten.h"

enum { MOST_INPUTS = 1024, NO_FIT = 1000000 };

typedef struct binding {
  const tn_format_op *row;
  aten_param params[ATEN_MAX_PARAMS];
  const aten_arg *args[ATEN_MAX_PARAMS]; /* NULL: left out */
  int32_t n, cost;
} binding;

static tn_status reject(const aten_emitter *e, tn_status code, const char *op, const char *what) {
  char text[400];
  snprintf(text, sizeof text, "%.100s: %s", op, what);
  return e->fail(e->ctx, code, text);
}

static tn_status no_memory(const aten_emitter *e) {
  return e->fail(e->ctx, TN_ERR_MEMORY, "there is not enough memory");
}

uint32_t aten_dtype_numbered(int64_t number) {
  static const uint32_t dtypes[] = {TN_U8,   TN_I8,   TN_I16,  TN_I32, TN_I64,  TN_F16,
                                    TN_F32,  TN_F64,  TN_NONE, TN_C64, TN_C128, TN_BOOL,
                                    TN_NONE, TN_NONE, TN_NONE, TN_BF16};
  const int64_t n = sizeof dtypes / sizeof *dtypes;
  if (number >= 27 && number <= 29) return number == 27 ? TN_U16 : number == 28 ? TN_U32 : TN_U64;
  return number >= 0 && number < n ? dtypes[number] : TN_NONE;
}

/* ---- does an argument fit a parameter? What it costs; NO_FIT: it does not ---- */

static int32_t cost_of_one(const aten_param *p, const aten_arg *a) {
  const bool is_number = a->kind == ATEN_INT || a->kind == ATEN_FLOAT || a->kind == ATEN_BOOL;
  switch (p->type) {
    case 'T': return a->kind == ATEN_TENSOR ? 0 : is_number ? 50 : NO_FIT;
    case 'i':
      return a->kind == ATEN_INT      ? 0
             : a->kind == ATEN_BOOL   ? 1
             : a->kind == ATEN_TENSOR ? 10
                                      : NO_FIT;
    case 'f':
      return a->kind == ATEN_FLOAT    ? 0
             : a->kind == ATEN_INT    ? 1
             : a->kind == ATEN_TENSOR ? 10
                                      : NO_FIT;
    case 'n': return is_number ? 0 : a->kind == ATEN_TENSOR ? 10 : NO_FIT;
    case 'b':
      return a->kind == ATEN_BOOL     ? 0
             : a->kind == ATEN_INT    ? 1
             : a->kind == ATEN_TENSOR ? 10
                                      : NO_FIT;
    case 's': return a->kind == ATEN_STRING ? 0 : NO_FIT;
    case 'd': return a->kind == ATEN_DTYPE || a->kind == ATEN_INT ? 0 : NO_FIT;
    default: return 0;
  }
}

static int32_t cost_of(const aten_param *p, const aten_arg *a) {
  if (a->kind == ATEN_NONE) return p->optional ? 0 : p->type == 'x' ? 0 : NO_FIT;
  if (p->type == 'x') return 0;
  if (!p->list) return a->kind == ATEN_LIST ? NO_FIT : cost_of_one(p, a);
  if (a->kind != ATEN_LIST) return p->type == 'T' ? NO_FIT : 1 + cost_of_one(p, a);
  int32_t cost = 0;
  for (uint32_t k = 0; k < a->n_items && cost < NO_FIT; k++) {
    const bool hole = a->items[k].kind == ATEN_NONE && p->type == 'T';
    const int32_t one = a->items[k].kind == ATEN_LIST ? NO_FIT : cost_of_one(p, &a->items[k]);
    if (!hole && one > cost) cost = one;
  }
  return cost;
}

/* In-place forms call their first argument self, whatever it is called otherwise. */
static int32_t find_param(const binding *b, const char *name) {
  for (int32_t k = 0; k < b->n; k++)
    if (tn_str_is(b->params[k].name, name)) return k;
  return !strcmp(name, "self") ? 0 : -1;
}

/* Destinations say where results go: that is the caller's. */
static bool is_destination(const aten_arg *a) { return a->name && !strcmp(a->name, "out"); }

static void bind(binding *b, const tn_format_op *row, const aten_arg *args, uint32_t n) {
  *b = (binding){.row = row, .cost = NO_FIT};
  b->n = aten_schema_read(row->attrs ? row->attrs : "", b->params);
  int32_t place = 0, cost = 0;
  if (b->n < 0) return;
  for (uint32_t k = 0; k < n; k++) {
    const int32_t at = args[k].name ? find_param(b, args[k].name) : place++;
    if (at < 0 && is_destination(&args[k])) continue;
    if (at < 0 || at >= b->n || b->args[at] || (!args[k].name && b->params[at].by_name)) return;
    b->args[at] = &args[k];
    cost += cost_of(&b->params[at], &args[k]);
    if (cost >= NO_FIT) return;
  }
  for (int32_t k = 0; k < b->n; k++)
    if (!b->args[k] && !b->params[k].has_default) return;
  b->cost = cost;
}

/* ---- which overload ---- */

/* Is the row the operator, of any overload? */
static bool is_of(const tn_format_op *row, const char *op, size_t n) {
  return !strncmp(row->name, op, n) && (row->name[n] == '\0' || row->name[n] == '.');
}

static uint32_t first_row(const char *op, size_t n) {
  uint32_t count, lo = 0;
  const tn_format_op *const *rows = aten_rows(&count);
  for (uint32_t hi = count; lo < hi;) {
    const uint32_t mid = lo + (hi - lo) / 2;
    if (strncmp(rows[mid]->name, op, n) < 0)
      lo = mid + 1;
    else
      hi = mid;
  }
  return lo;
}

bool aten_knows(const char *op) {
  uint32_t count;
  const tn_format_op *const *rows = aten_rows(&count);
  const size_t n = strlen(op);
  for (uint32_t k = first_row(op, n); k < count && !strncmp(rows[k]->name, op, n); k++)
    if (is_of(rows[k], op, n)) return true;
  return false;
}

static void choose(const char *op, size_t n, const char *overload, const aten_arg *args,
                   uint32_t n_args, binding *out) {
  uint32_t count;
  const tn_format_op *const *rows = aten_rows(&count);
  *out = (binding){.cost = NO_FIT};
  for (uint32_t k = first_row(op, n); k < count && !strncmp(rows[k]->name, op, n); k++) {
    if (!is_of(rows[k], op, n)) continue;
    const char *own = rows[k]->name[n] ? rows[k]->name + n + 1 : "";
    if (!out->row) out->row = rows[k];
    if (rows[k]->how == TN_FORMAT_REFUSED) continue;
    binding b;
    bind(&b, rows[k], args, n_args);
    const bool named = overload && !strcmp(own, overload);
    if (named && b.cost < 50) {
      *out = b;
      return;
    }
    if (b.cost < out->cost) *out = b;
  }
}

/* ---- what goes into the node ---- */

typedef struct maker {
  const aten_emitter *e;
  const binding *b;
  int32_t in[MOST_INPUTS];
  uint32_t n_in, n_tensors;
  tn_attr attrs[ATEN_MAX_PARAMS];
  uint32_t n_attrs;
  bool dynamic;
  tn_status status;
} maker;

static void push_in(maker *m, int32_t value) {
  if (m->status) return;
  if (m->n_in == MOST_INPUTS)
    m->status = reject(m->e, TN_ERR_UNSUPPORTED, m->b->row->name, "it has more than 1024 inputs");
  else
    m->in[m->n_in++] = value;
}

/* A number where a tensor is wanted: of rank 0. */
static int32_t constant(maker *m, const aten_arg *a) {
  if (a->kind != ATEN_INT && a->kind != ATEN_FLOAT && a->kind != ATEN_BOOL) {
    m->status =
        reject(m->e, TN_ERR_UNSUPPORTED, m->b->row->name,
               "not supported: what is neither a tensor nor a number, where a tensor is wanted");
    return TN_NO_ID;
  }
  int64_t i = a->i;
  float f = (float)a->f;
  uint8_t b = a->i != 0;
  const tn_graph_api *api = m->e->api;
  const tn_tensor t = a->kind == ATEN_INT     ? tn_tensor_make(TN_I64, 0, NULL, &i)
                      : a->kind == ATEN_FLOAT ? tn_tensor_make(TN_F32, 0, NULL, &f)
                                              : tn_tensor_make(TN_BOOL, 0, NULL, &b);
  const int32_t id = api->value(m->e->graph, NULL);
  const tn_status s = id < 0 ? id : api->value_set_const(m->e->graph, id, &t, 1);
  if (s) m->status = s == TN_ERR_MEMORY ? no_memory(m->e) : s;
  return id;
}

static int32_t tensor_of(maker *m, const aten_arg *a) {
  if (!a || a->kind == ATEN_NONE) return TN_NO_ID;
  return a->kind == ATEN_TENSOR ? a->value : constant(m, a);
}

/* Inputs in the order of the schema. What is missing at the end is left out, unless a list stands
 * before it, which would take its place. */
static void put_tensors(maker *m) {
  bool has_list = false;
  for (int32_t k = 0; k < m->b->n; k++) {
    const aten_param *p = &m->b->params[k];
    const aten_arg *a = m->b->args[k];
    if (p->type != 'T') continue;
    if (p->by_name) {
      if (a && a->kind != ATEN_NONE)
        m->status = reject(m->e, TN_ERR_UNSUPPORTED, m->b->row->name,
                           "not supported: a tensor that is given by name alone");
      continue;
    }
    has_list |= p->list;
    if (p->list && a)
      for (uint32_t i = 0; i < a->n_items; i++) push_in(m, tensor_of(m, &a->items[i]));
    else if (!p->list)
      push_in(m, tensor_of(m, a));
  }
  while (!has_list && m->n_in && m->in[m->n_in - 1] == TN_NO_ID) m->n_in--;
  m->n_tensors = m->n_in;
}

static bool is_dynamic(const aten_param *p, const aten_arg *a) {
  if (p->type == 'T' || p->type == 'x') return false;
  if (a->kind == ATEN_TENSOR) return true;
  for (uint32_t k = 0; a->kind == ATEN_LIST && k < a->n_items; k++)
    if (a->items[k].kind == ATEN_TENSOR) return true;
  return false;
}

static int64_t int_of(const aten_param *p, const aten_arg *a) {
  if (p->type == 'd' && a->kind == ATEN_INT) return aten_dtype_numbered(a->i);
  return a->i;
}

static double float_of(const aten_arg *a) { return a->kind == ATEN_FLOAT ? a->f : (double)a->i; }

static void put_list(maker *m, const aten_param *p, const aten_arg *a, tn_attr *out) {
  const uint32_t n = a->kind == ATEN_LIST ? a->n_items : 1;
  const aten_arg *items = a->kind == ATEN_LIST ? a->items : a;
  const bool floats = p->type == 'f' || p->type == 'n';
  int64_t *ints = tn_arena_alloc(m->e->arena, ((uint64_t)n + 1) * sizeof *ints);
  double *reals = tn_arena_alloc(m->e->arena, ((uint64_t)n + 1) * sizeof *reals);
  if (!ints || !reals) {
    m->status = no_memory(m->e);
    return;
  }
  for (uint32_t k = 0; k < n; k++)
    if (floats)
      reals[k] = float_of(&items[k]);
    else
      ints[k] = int_of(p, &items[k]);
  out->kind = floats ? TN_ATTR_FLOATS : TN_ATTR_INTS;
  if (floats)
    out->floats = (tn_floats){reals, n};
  else
    out->ints = (tn_ints){ints, n};
}

static void put_one(const aten_param *p, const aten_arg *a, tn_attr *out) {
  const bool is_float = p->type == 'f' || (p->type == 'n' && a->kind == ATEN_FLOAT);
  if (p->type == 's') {
    out->kind = TN_ATTR_STR;
    out->s = a->s;
  } else if (is_float) {
    out->kind = TN_ATTR_FLOAT;
    out->f = float_of(a);
  } else {
    out->kind = TN_ATTR_INT;
    out->i = int_of(p, a);
  }
}

static const char *name_of(maker *m, tn_str name) {
  const char *text = tn_arena_strn(m->e->arena, name.data, name.size);
  if (!text) m->status = no_memory(m->e);
  return text;
}

static tn_attr *new_attr(maker *m, tn_str name) {
  tn_attr *a = &m->attrs[m->n_attrs++];
  *a = (tn_attr){.head = TN_HEAD(tn_attr), .name = name_of(m, name)};
  return a;
}

/* full(size, True) makes bools, which a number that is an attribute does not say. */
static bool fills_with_bool(const maker *m) {
  bool fills = false;
  for (int32_t k = 0; k < m->b->n; k++) {
    const aten_arg *a = m->b->args[k];
    if (!a || a->kind == ATEN_NONE) continue;
    if (m->b->params[k].type == 'd') return false;
    fills |= m->b->params[k].type == 'n' && a->kind == ATEN_BOOL;
  }
  return fills && !strcmp(m->b->row->name, "aten::full");
}

static void put_attrs(maker *m) {
  for (int32_t k = 0; k < m->b->n && !m->status; k++) {
    const aten_param *p = &m->b->params[k];
    const aten_arg *a = m->b->args[k];
    if (!a || a->kind == ATEN_NONE || p->type == 'T' || p->type == 'x') continue;
    if (is_dynamic(p, a)) {
      m->dynamic = true;
      continue;
    }
    tn_attr *out = new_attr(m, p->name);
    if (p->list)
      put_list(m, p, a, out);
    else
      put_one(p, a, out);
  }
  if (fills_with_bool(m)) {
    tn_attr *out = new_attr(m, (tn_str){"dtype", 5});
    out->kind = TN_ATTR_INT;
    out->i = TN_BOOL;
  }
}

/* ---- numbers that only a run knows ---- */

static void say_number(maker *m, tn_text *text, const aten_param *p, const aten_arg *a) {
  if (a->kind == ATEN_TENSOR) {
    tn_text_add(text, " $");
    push_in(m, a->value);
  } else if (p->type == 'f' || (p->type == 'n' && a->kind == ATEN_FLOAT)) {
    tn_text_add(text, " %.17g", float_of(a));
  } else {
    tn_text_add(text, " %lld", (long long)int_of(p, a));
  }
}

/* As torch::Dynamic reads it: a line for each attribute (ops/aten/dynamic.c). */
static void say_param(maker *m, tn_text *text, const aten_param *p, const aten_arg *a) {
  const bool floats = p->type == 'f' || p->type == 'n';
  tn_text_add(text, "%.*s", (int)p->name.size, p->name.data);
  if (p->list) {
    const uint32_t n = a->kind == ATEN_LIST ? a->n_items : 1;
    tn_text_add(text, floats ? " F" : " I");
    for (uint32_t k = 0; k < n; k++)
      say_number(m, text, p, a->kind == ATEN_LIST ? &a->items[k] : a);
  } else if (p->type == 's') {
    tn_text_add(text, " s %.*s", (int)a->s.size, a->s.data);
  } else {
    const bool open = p->type == 'n' && a->kind == ATEN_TENSOR;
    const bool is_float = p->type == 'f' || (p->type == 'n' && a->kind == ATEN_FLOAT);
    tn_text_add(text, open ? " n" : is_float ? " f" : " i");
    say_number(m, text, p, a);
  }
  tn_text_add(text, "\n");
}

static const char *say_attrs(maker *m) {
  tn_text text;
  tn_text_init(&text, m->e->arena->a);
  for (int32_t k = 0; k < m->b->n; k++) {
    const aten_param *p = &m->b->params[k];
    const aten_arg *a = m->b->args[k];
    if (a && a->kind != ATEN_NONE && p->type != 'T' && p->type != 'x') say_param(m, &text, p, a);
  }
  if (fills_with_bool(m)) tn_text_add(&text, "dtype i %d\n", (int)TN_BOOL);
  const char *copy = text.status ? NULL : tn_arena_str(m->e->arena, tn_text_get(&text));
  tn_text_free(&text);
  if (!copy) m->status = no_memory(m->e);
  return copy;
}

static void make_dynamic(maker *m) {
  const char *text = say_attrs(m);
  if (m->status) return;
  m->n_attrs = 0;
  tn_attr *op = new_attr(m, (tn_str){"op", 2});
  op->kind = TN_ATTR_STR;
  op->s = (tn_str){m->b->row->to, (int64_t)strlen(m->b->row->to)};
  tn_attr *attrs = new_attr(m, (tn_str){"attrs", 5});
  attrs->kind = TN_ATTR_STR;
  attrs->s = (tn_str){text, (int64_t)strlen(text)};
  tn_attr *n = new_attr(m, (tn_str){"n_tensors", 9});
  n->kind = TN_ATTR_INT;
  n->i = m->n_tensors;
}

/* ---- the node ---- */

static tn_status add_node(const aten_emitter *e, const char *op, const int32_t *in, uint32_t n_in,
                          const tn_attr *attrs, uint32_t n_attrs, int32_t *outs, uint32_t n_outs) {
  const tn_attr *list[ATEN_MAX_PARAMS];
  char domain[32] = "";
  const char *colons = strstr(op, "::");
  if (colons) snprintf(domain, sizeof domain, "%.*s", (int)(colons - op), op);
  for (uint32_t k = 0; k < n_attrs; k++) list[k] = &attrs[k];
  for (uint32_t k = 0; k < n_outs; k++) {
    if (outs[k] == TN_NO_ID) outs[k] = e->api->value(e->graph, NULL);
    if (outs[k] < 0) return no_memory(e);
  }
  const tn_node node = {.head = TN_HEAD(tn_node),
                        .domain = domain,
                        .op = colons ? colons + 2 : op,
                        .name = e->node,
                        .inputs = in,
                        .n_inputs = n_in,
                        .outputs = outs,
                        .n_outputs = n_outs,
                        .attrs = list,
                        .n_attrs = n_attrs,
                        .offset = e->offset};
  const int32_t id = e->api->add_node(e->graph, &node);
  if (id >= 0) return TN_OK;
  return id == TN_ERR_MEMORY ? no_memory(e) : reject(e, id, op, "it cannot be a node");
}

static tn_status refuse(const aten_emitter *e, const char *op, const char *overload,
                        const binding *b) {
  char name[160];
  snprintf(name, sizeof name, "%.100s%s%.40s", op, overload && *overload ? "." : "",
           overload ? overload : "");
  if (!b->row)
    return reject(e, TN_ERR_UNSUPPORTED, name, "not supported: no such operator is known");
  if (b->row->how == TN_FORMAT_REFUSED) {
    char why[240];
    snprintf(why, sizeof why, "not supported: %s", b->row->note ? b->row->note : "it is refused");
    return reject(e, TN_ERR_UNSUPPORTED, name, why);
  }
  return reject(e, TN_ERR_UNSUPPORTED, name,
                "not supported: these arguments fit none of the overloads that are known");
}

static tn_status make_node(maker *m, bool in_place, int32_t *outs, uint32_t n_outs) {
  const aten_emitter *e = m->e;
  put_tensors(m);
  put_attrs(m);
  if (m->dynamic && !m->status) make_dynamic(m);
  if (m->status) return m->status;
  const bool casts = in_place && n_outs == 1 && m->n_tensors;
  int32_t own = TN_NO_ID, *made = casts ? &own : outs;
  const tn_status s = add_node(e, m->dynamic ? "torch::Dynamic" : m->b->row->to, m->in, m->n_in,
                               m->attrs, m->n_attrs, made, n_outs);
  if (s || !casts) return s;
  const int32_t in[] = {own, m->in[0]};
  aten_emitter nameless = *e; /* names of nodes are to be unique */
  nameless.node = NULL;
  return add_node(&nameless, "CastLike", in, 2, NULL, 0, outs, 1);
}

tn_status aten_emit(const aten_emitter *e, const char *op, const char *overload,
                    const aten_arg *args, uint32_t n_args, int32_t *outs, uint32_t n_outs) {
  binding b;
  size_t n = strlen(op);
  choose(op, n, overload, args, n_args, &b);
  const bool in_place = !b.row && n > 1 && op[n - 1] == '_';
  if (in_place) choose(op, n - 1, overload, args, n_args, &b);
  if (b.cost >= NO_FIT) return refuse(e, op, overload, &b);
  maker *m = tn_alloc(e->arena->a, sizeof *m);
  if (!m) return no_memory(e);
  *m = (maker){.e = e, .b = &b};
  const tn_status s = make_node(m, in_place, outs, n_outs);
  tn_free(e->arena->a, m, sizeof *m);
  return s;
}

const char *aten_of_augmented(const char *op) {
  static const char *const all[][2] = {{"aten::__iand__", "aten::__and__"},
                                       {"aten::__ior__", "aten::__or__"},
                                       {"aten::__ixor__", "aten::__xor__"},
                                       {"aten::__ilshift__", "aten::__lshift__"},
                                       {"aten::__irshift__", "aten::__rshift__"}};
  for (size_t k = 0; k < sizeof all / sizeof *all; k++)
    if (!strcmp(op, all[k][0])) return all[k][1];
  return NULL;
}

int32_t aten_n_results(const char *op, const char *overload, const aten_arg *args,
                       uint32_t n_args) {
  binding b;
  choose(op, strlen(op), overload, args, n_args, &b);
  const char *arrow = b.row && b.row->attrs ? strstr(b.row->attrs, "->") : NULL;
  if (arrow && strstr(arrow, "[]")) return 0;
  int32_t n = 0;
  for (const char *p = arrow; p && (p = strstr(p, "Tensor")); p += 6) n++;
  return n ? n : 1;
}
