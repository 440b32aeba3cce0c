/* What a program demands of the sizes of its inputs: that symbols lie in their ranges, and that
 * dims which are sums and products of symbols have that size. As PyTorch, a lower bound of 2 or
 * less is not looked at: it says no more than that the exporter took sizes 0 and 1 for special.
 *
 * The conditions become nodes beside those of the program, and its first output hangs on them by
 * torch::Assert. */
#include <stdio.h>
#include <string.h>

#include "reader.h"

enum { MOST_DEPTH = 16, MOST_TERMS = 16, SPECIAL = 2 };

/* Earlier versions of PyTorch wrote sys.maxsize - 1 where later ones write nothing. */
#define NO_BOUND (INT64_MAX - 1)

/* A size as a value of rank 0 or 1 with one element, and as a text. id TN_NO_ID: it is not known,
 * because it is written in a form that is not read, or no input has its symbols. */
typedef struct size_of {
  int32_t id;
  const char *text;
  bool is_sum;
} size_of;

/* A dim of an input; dim below 0: the input itself is the size. */
typedef struct place {
  const char *input;
  int32_t dim;
  const char *expr;
} place;

typedef struct checker {
  pt2_scope *s;
  tn_map symbols; /* to places */
  TN_VEC(place) places;
  const char *at; /* of the expression that is read */
} checker;

static const size_of unknown = {.id = TN_NO_ID, .text = ""};

/* ---- nodes ---- */

static tn_status add_node(pt2_scope *s, const char *domain, const char *op, const int32_t *in,
                          uint32_t n_in, const tn_attr *const *attrs, uint32_t n_attrs,
                          int32_t *out) {
  const tn_graph_api *api = s->r->api;
  *out = api->value(s->g, NULL);
  const tn_node node = {.head = TN_HEAD(tn_node),
                        .domain = domain,
                        .op = op,
                        .inputs = in,
                        .n_inputs = n_in,
                        .outputs = out,
                        .n_outputs = 1,
                        .attrs = attrs,
                        .n_attrs = n_attrs,
                        .offset = -1};
  const int32_t id = *out < 0 ? *out : api->add_node(s->g, &node);
  return id < 0 ? pt2_graph_fail(s->r, id, "what sizes have to be cannot be a node") : TN_OK;
}

static tn_status add_number(checker *c, int64_t number, int32_t *out) {
  const aten_arg a = aten_int(NULL, number);
  return pt2_number(c->s, c->s->g, NULL, &a, out);
}

static tn_status size_at(checker *c, const place *p, int32_t *out) {
  const int32_t input = c->s->r->api->value(c->s->g, p->input);
  const tn_attr
      start = {.head = TN_HEAD(tn_attr), .name = "start", .kind = TN_ATTR_INT, .i = p->dim},
      end = {.head = TN_HEAD(tn_attr), .name = "end", .kind = TN_ATTR_INT, .i = p->dim + 1},
      *attrs[] = {&start, &end};
  *out = input;
  if (input < 0) return pt2_graph_fail(c->s->r, input, "an input cannot be a value");
  return p->dim < 0 ? TN_OK : add_node(c->s, "", "Shape", &input, 1, attrs, 2, out);
}

/* ---- expressions: "Add(Mul(Integer(2), Symbol('s0', integer=True)), Integer(1))" ---- */

static bool takes(checker *c, const char *text) {
  const size_t n = strlen(text);
  while (*c->at == ' ') c->at++;
  const bool is = !strncmp(c->at, text, n);
  if (is) c->at += n;
  return is;
}

static bool read_integer(checker *c, int64_t *out) {
  const bool is_negative = takes(c, "-");
  int64_t n = 0;
  int digits = 0;
  for (; *c->at >= '0' && *c->at <= '9' && digits < 18; digits++) n = 10 * n + (*c->at++ - '0');
  *out = is_negative ? -n : n;
  return digits > 0 && (*c->at < '0' || *c->at > '9');
}

static tn_status read_size(checker *c, int depth, size_of *out);

static tn_status read_symbol(checker *c, size_of *out) {
  const size_t n = strcspn(c->at, "'");
  const char *name = tn_arena_strn(&c->s->r->arena, c->at, (int64_t)n), *end = strchr(c->at, ')');
  const int64_t k = name ? tn_map_get(&c->symbols, name, -1) : -1;
  if (!name) return pt2_no_memory(c->s->r);
  *out = unknown;
  if (!end || k < 0) return TN_OK;
  c->at = end + 1;
  out->text = name;
  return size_at(c, &c->places.data[k], &out->id);
}

static tn_status add_number_size(checker *c, size_of *out) {
  int64_t number;
  *out = unknown;
  if (!read_integer(c, &number) || !takes(c, ")")) return TN_OK;
  out->text = tn_arena_format(&c->s->r->arena, "%lld", (long long)number);
  return out->text ? add_number(c, number, &out->id) : pt2_no_memory(c->s->r);
}

/* The terms of a sum or product, of which there is at least one. */
static tn_status read_terms(checker *c, bool is_sum, int depth, size_of *out) {
  tn_status s = read_size(c, depth, out);
  for (int k = 1; !s && out->id != TN_NO_ID && takes(c, ","); k++) {
    size_of next;
    s = k < MOST_TERMS ? read_size(c, depth, &next) : (next = unknown, TN_OK);
    const int32_t in[] = {out->id, next.id};
    const char *form = is_sum        ? "%s + %s"
                       : out->is_sum ? "(%s)*%s"
                       : next.is_sum ? "%s*(%s)"
                                     : "%s*%s";
    const char *text = s ? NULL : tn_arena_format(&c->s->r->arena, form, out->text, next.text);
    if (!s && !text) s = pt2_no_memory(c->s->r);
    if (s) return s;
    *out = (size_of){.id = TN_NO_ID, .text = text, .is_sum = is_sum};
    if (next.id != TN_NO_ID)
      s = add_node(c->s, "", is_sum ? "Add" : "Mul", in, 2, NULL, 0, &out->id);
  }
  if (!s && out->id != TN_NO_ID && !takes(c, ")")) *out = unknown;
  return s;
}

static tn_status read_size(checker *c, int depth, size_of *out) {
  *out = unknown;
  if (depth == MOST_DEPTH) return TN_OK;
  if (takes(c, "Symbol('")) return read_symbol(c, out);
  if (takes(c, "Integer(")) return add_number_size(c, out);
  if (takes(c, "Add(")) return read_terms(c, true, depth + 1, out);
  if (takes(c, "Mul(")) return read_terms(c, false, depth + 1, out);
  return TN_OK;
}

/* ---- conditions ---- */

static tn_status demand(checker *c, const char *op, int32_t a, int32_t b, const char *text) {
  const int32_t in[] = {a, b};
  int32_t holds;
  if (!text) return pt2_no_memory(c->s->r);
  const tn_status s = add_node(c->s, "", op, in, 2, NULL, 0, &holds);
  if (s) return s;
  const pt2_condition made = {holds, text};
  const bool failed = tn_vec_push(&c->s->r->allocator, &c->s->r->conditions, made);
  return failed ? pt2_no_memory(c->s->r) : TN_OK;
}

static const char *place_text(checker *c, const place *p) {
  tn_arena *arena = &c->s->r->arena;
  return p->dim < 0 ? tn_arena_format(arena, "'%s'", p->input)
                    : tn_arena_format(arena, "dim %d of '%s'", (int)p->dim, p->input);
}

static const char *range_text(checker *c, const place *p, const char *symbol, int64_t min,
                              int64_t max) {
  tn_arena *arena = &c->s->r->arena;
  const char *where = place_text(c, p);
  if (!where) return NULL;
  if (max >= NO_BOUND)
    return tn_arena_format(arena, "%s (%s) has to be at least %lld", where, symbol, (long long)min);
  return tn_arena_format(arena, "%s (%s) has to be from %lld to %lld", where, symbol,
                         (long long)min, (long long)max);
}

static tn_status demand_range(checker *c, const place *p, const char *symbol) {
  const json_value *all = json_object(c->s->r->root, "range_constraints"),
                   *range = json_object(all, symbol);
  const int64_t min = json_int(range, "min_val", 0), max = json_int(range, "max_val", NO_BOUND);
  int32_t size, bound;
  if (min <= SPECIAL && max >= NO_BOUND) return TN_OK;
  const char *text = range_text(c, p, symbol, min, max);
  tn_status s = size_at(c, p, &size);
  if (!s && min > SPECIAL) s = add_number(c, min, &bound);
  if (!s && min > SPECIAL) s = demand(c, "GreaterOrEqual", size, bound, text);
  if (!s && max < NO_BOUND) s = add_number(c, max, &bound);
  if (!s && max < NO_BOUND) s = demand(c, "LessOrEqual", size, bound, text);
  return s;
}

/* The dim is another one's, or a sum or product of them. */
static tn_status demand_size(checker *c, const place *p) {
  size_of wanted;
  int32_t size;
  c->at = p->expr;
  tn_status s = read_size(c, 0, &wanted);
  if (s || wanted.id == TN_NO_ID || *c->at) return s;
  s = size_at(c, p, &size);
  const char *where = place_text(c, p);
  if (s || !where) return s ? s : pt2_no_memory(c->s->r);
  return demand(c, "Equal", size, wanted.id,
                tn_arena_format(&c->s->r->arena, "%s has to be %s", where, wanted.text));
}

static tn_status demand_all(checker *c) {
  tn_status s = TN_OK;
  for (int64_t k = 0; k < c->places.n && !s; k++) {
    const place *p = &c->places.data[k];
    const char *symbol = pt2_symbol_name(c->s->r, p->expr);
    const bool is_first = symbol && tn_map_get(&c->symbols, symbol, -1) == k;
    s = is_first ? demand_range(c, p, symbol) : demand_size(c, p);
  }
  return s;
}

/* ---- the dims of inputs ---- */

static tn_status note_place(checker *c, const char *input, int32_t dim, const json_value *size) {
  const char *expr = json_text(json_object(size, "as_expr"), "expr_str");
  const char *symbol = expr ? pt2_symbol_name(c->s->r, expr) : NULL;
  if (!expr) return TN_OK;
  if (symbol && tn_map_get(&c->symbols, symbol, -1) < 0 &&
      tn_map_set(&c->symbols, symbol, c->places.n))
    return pt2_no_memory(c->s->r);
  const place p = {input, dim, expr};
  return tn_vec_push(&c->s->r->allocator, &c->places, p) ? pt2_no_memory(c->s->r) : TN_OK;
}

static tn_status note_input(checker *c, const json_value *graph, const json_value *arg) {
  const json_value *v = json_union(arg);
  const char *name = json_text(v, "name");
  if (!name) name = json_text(v, "as_name");
  if (!name) return TN_OK;
  if (json_is(v, "as_sym_int"))
    return note_place(c, name, -1, json_object(json_object(graph, "sym_int_values"), name));
  if (!json_is(v, "as_tensor")) return TN_OK;
  const json_value *meta = json_object(json_object(graph, "tensor_values"), name),
                   *sizes = json_list(meta, "sizes");
  tn_status s = TN_OK;
  int32_t dim = 0;
  for (const json_value *d = sizes ? sizes->first : NULL; d && !s; d = d->next)
    s = note_place(c, name, dim++, d);
  return s;
}

tn_status pt2_find_conditions(pt2_scope *s, const json_value *specs) {
  const json_value *graph = json_object(json_object(s->r->root, "graph_module"), "graph");
  checker c = {.s = s};
  tn_status status = TN_OK;
  tn_map_init(&c.symbols, &s->r->allocator);
  for (const json_value *v = specs->first; v && !status; v = v->next)
    if (json_is(json_union(v), "user_input"))
      status = note_input(&c, graph, json_get(json_union(v), "arg"));
  if (!status) status = demand_all(&c);
  tn_map_free(&c.symbols);
  tn_vec_free(&s->r->allocator, &c.places);
  return status;
}

tn_status pt2_require(pt2_scope *s, int32_t *io_value) {
  tn_status status = TN_OK;
  for (int64_t k = 0; k < s->r->conditions.n && !status; k++) {
    const pt2_condition *c = &s->r->conditions.data[k];
    const int32_t in[] = {*io_value, c->id};
    const tn_attr text = {.head = TN_HEAD(tn_attr),
                          .name = "text",
                          .kind = TN_ATTR_STR,
                          .s = {c->text, (int64_t)strlen(c->text)}},
                  *attrs = &text;
    status = add_node(s, "torch", "Assert", in, 2, &attrs, 1, io_value);
  }
  s->r->conditions.n = 0;
  return status;
}
