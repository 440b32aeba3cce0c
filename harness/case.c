/* Case lines: "input=T[2,3]!{uniform 0 1} axis=1 tol=8" -> tn_case. The grammar stands at the
 * end of docs/op-yaml.md.
 *
 * A recursive-descent parser over one cursor; the first problem stops it. */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/harness.h"

typedef check_parser parser;

bool check_parse_bad(parser *s, const char *what) {
  if (!s->why) s->why = check_need(tn_arena_format(s->arena, "%s, at \"%.40s\"", what, s->p));
  return false;
}

void *check_parse_room(parser *s, uint64_t bytes) {
  return check_need(tn_arena_alloc(s->arena, bytes));
}

bool check_parse_take(parser *s, char c) {
  if (*s->p != c) return false;
  s->p++;
  return true;
}

bool check_parse_expect(parser *s, char c) {
  char text[] = "expected ' '";
  text[10] = c;
  return check_parse_take(s, c) || check_parse_bad(s, text);
}

void check_parse_spaces(parser *s) {
  while (*s->p == ' ') s->p++;
}

char *check_parse_word(parser *s) {
  const char *begin = s->p;
  while (isalnum((unsigned char)*s->p) || *s->p == '_') s->p++;
  return check_need(tn_arena_strn(s->arena, begin, s->p - begin));
}

/* ---- values ---------------------------------------------------------------------------------- */

static bool number(parser *s, double *out, int64_t *out_int) {
  char *end;
  *out = strtod(s->p, &end);
  if (end == s->p) return check_parse_bad(s, "expected a number");
  /* i64 and u64 have values that no double holds */
  *out_int = *s->p == '-' ? strtoll(s->p, NULL, 10) : (int64_t)strtoull(s->p, NULL, 10);
  if (memchr(s->p, '.', (size_t)(end - s->p)) || memchr(s->p, 'e', (size_t)(end - s->p)))
    *out_int = (int64_t)*out;
  s->p = end;
  return true;
}

static bool quoted(parser *s, tn_str *out) {
  char *text = check_parse_room(s, strlen(s->p) + 1);
  const char quote = *s->p == '\'' ? '\'' : '"';
  int64_t n = 0;
  if (!check_parse_expect(s, quote)) return false;
  while (*s->p && *s->p != quote) {
    if (*s->p == '\\' && s->p[1]) s->p++;
    text[n++] = *s->p++;
  }
  *out = (tn_str){text, n};
  return check_parse_expect(s, quote);
}

/* How many elements stand between here and the closing bracket. */
static int64_t count_list(const parser *s, char close) {
  int64_t n = 0;
  int depth = 0;
  for (const char *p = s->p; *p && (depth || *p != close); p++) {
    if (*p == '"')
      for (p++; *p && *p != '"'; p++)
        if (*p == '\\' && p[1]) p++;
    if (!*p) break;
    if (strchr("([{", *p)) depth++;
    if (strchr(")]}", *p)) depth--;
    if (*p == ',' && depth == 0) n++;
  }
  return *s->p == close ? 0 : n + 1;
}

/* ---- tensors --------------------------------------------------------------------------------- */

static bool fill_range(parser *s, check_spec *t, check_fill_kind kind) {
  int64_t ignored;
  t->fill = kind;
  check_parse_spaces(s);
  if (!number(s, &t->low, &ignored)) return false;
  check_parse_spaces(s);
  return number(s, &t->high, &ignored);
}

static bool fill_elements(parser *s, check_spec *t) {
  t->n_elements = count_list(s, '}');
  t->fill = *s->p == '"' ? FILL_STRINGS : FILL_ELEMENTS;
  t->numbers = check_parse_room(s, (uint64_t)t->n_elements * sizeof *t->numbers);
  t->ints = check_parse_room(s, (uint64_t)t->n_elements * sizeof *t->ints);
  t->strings = check_parse_room(s, (uint64_t)t->n_elements * sizeof *t->strings);
  for (int64_t k = 0; k < t->n_elements; k++) {
    if (k && !check_parse_expect(s, ',')) return false;
    bool ok = t->fill == FILL_STRINGS ? quoted(s, &t->strings[k])
                                      : number(s, &t->numbers[k], &t->ints[k]);
    if (!ok) return false;
  }
  return true;
}

static bool fill(parser *s, check_spec *t) {
  static const struct {
    const char *name;
    check_fill_kind kind;
  } names[] = {{"uniform", FILL_UNIFORM},
               {"ints", FILL_INTS},
               {"range", FILL_RANGE},
               {"edge", FILL_EDGE},
               {"unique", FILL_UNIQUE}};
  for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
    size_t n = strlen(names[k].name);
    if (strncmp(s->p, names[k].name, n)) continue;
    s->p += n;
    if (names[k].kind == FILL_UNIFORM || names[k].kind == FILL_INTS)
      return fill_range(s, t, names[k].kind);
    t->fill = names[k].kind;
    return true;
  }
  return fill_elements(s, t);
}

static bool dims(parser *s, check_spec *t) {
  if (!check_parse_expect(s, '[')) return false;
  while (!check_parse_take(s, ']')) {
    double ignored;
    if (t->rank && !check_parse_expect(s, ',')) return false;
    if (t->rank == TN_MAX_RANK) return check_parse_bad(s, "too many dims");
    if (!number(s, &ignored, &t->shape[t->rank])) return false;
    if (t->shape[t->rank++] < 0) return check_parse_bad(s, "a negative dim");
  }
  return true;
}

bool check_parse_tensor(parser *s, check_spec *t) {
  t->type = check_parse_word(s);
  if (!dims(s, t)) return false;
  t->constant = check_parse_take(s, '!');
  if (check_parse_take(s, '{') && !(fill(s, t) && check_parse_expect(s, '}'))) return false;
  t->constant = check_parse_take(s, '!') || t->constant;
  return true;
}

/* What stands between two elements of a list. */
static bool comma(parser *s) {
  if (!check_parse_expect(s, ',')) return false;
  check_parse_spaces(s);
  return true;
}

static bool tensors(parser *s, check_spec **out, int32_t *out_n) {
  int64_t n = count_list(s, ')');
  *out = check_parse_room(s, ((uint64_t)n + 1) * sizeof **out);
  *out_n = (int32_t)n;
  for (int64_t k = 0; k < n; k++)
    if ((k && !comma(s)) || !check_parse_tensor(s, &(*out)[k])) return false;
  return check_parse_expect(s, ')');
}

/* What follows '{': keys and values. */
static bool map(parser *s, check_input *in) {
  in->sequence = in->map = true;
  in->n = 2;
  in->items = check_parse_room(s, 2 * sizeof *in->items);
  return check_parse_tensor(s, &in->items[0]) && check_parse_expect(s, ':') &&
         check_parse_tensor(s, &in->items[1]) && check_parse_expect(s, '}');
}

static bool input(parser *s, check_input *in) {
  in->list = in->arg->list;
  if (check_parse_take(s, '(')) {
    in->sequence = !in->list;
    return tensors(s, &in->items, &in->n);
  }
  if (!in->list && check_parse_take(s, '{')) return map(s, in);
  in->items = check_parse_room(s, sizeof *in->items);
  in->n = 1;
  return check_parse_tensor(s, in->items);
}

/* ---- attributes ------------------------------------------------------------------------------ */

static bool is_float(const tn_arg *arg) {
  return arg->base == TN_TYPE_FLOAT || arg->base == TN_TYPE_SCALAR;
}
static bool is_str(const tn_arg *arg) {
  return arg->base == TN_TYPE_STR || arg->base == TN_TYPE_DEVICE || arg->base == TN_TYPE_DIMNAME;
}

/* A number, or what stands for one: true, false, the name of a dtype. */
static bool attr_number(parser *s, double *out, int64_t *out_int) {
  if (!isalpha((unsigned char)*s->p)) return number(s, out, out_int);
  const char *name = check_parse_word(s);
  uint32_t dtype = tn_dtype_parse(name);
  *out_int = !strcmp(name, "true") ? 1 : dtype;
  *out = (double)*out_int;
  if (!strcmp(name, "inf")) *out = (double)INFINITY;
  return dtype || !strcmp(name, "true") || !strcmp(name, "false") || !strcmp(name, "inf") ||
         check_parse_bad(s, "expected a number");
}

static bool attr_list(parser *s, check_attr *a) {
  if (!check_parse_expect(s, '[')) return false;
  const int64_t n = count_list(s, ']');
  int64_t *ints = check_parse_room(s, (uint64_t)n * sizeof *ints);
  double *floats = check_parse_room(s, (uint64_t)n * sizeof *floats);
  tn_str *strs = check_parse_room(s, (uint64_t)n * sizeof *strs);
  for (int64_t k = 0; k < n; k++) {
    if (k && !check_parse_expect(s, ',')) return false;
    if (!(is_str(a->arg) ? quoted(s, &strs[k]) : attr_number(s, &floats[k], &ints[k])))
      return false;
  }
  a->value.kind = is_str(a->arg) ? TN_ATTR_STRS : is_float(a->arg) ? TN_ATTR_FLOATS : TN_ATTR_INTS;
  a->value.ints = (tn_ints){ints, n};
  a->value.floats = (tn_floats){floats, n};
  a->value.strs = (tn_strs){strs, n};
  return check_parse_expect(s, ']');
}

static bool attr_tensors(parser *s, check_attr *a) {
  a->value.kind = a->arg->list ? TN_ATTR_TENSORS : TN_ATTR_TENSOR;
  if (a->arg->list) return check_parse_expect(s, '(') && tensors(s, &a->specs, &a->n_specs);
  a->specs = check_parse_room(s, sizeof *a->specs);
  a->n_specs = 1;
  return check_parse_tensor(s, a->specs);
}

/* What looks like a float is one: 1.0, 1e3, inf. */
static bool looks_like_float(const char *p) {
  p += *p == '-' || *p == '+';
  if (!strncmp(p, "inf", 3) || !strncmp(p, "nan", 3)) return true;
  while (isdigit((unsigned char)*p)) p++;
  return *p == '.' || *p == 'e';
}

bool check_parse_value(parser *s, tn_attr *a) {
  const tn_arg integer = {.base = TN_TYPE_INT}, real = {.base = TN_TYPE_FLOAT},
               text = {.base = TN_TYPE_STR};
  const bool list = *s->p == '[';
  const char *first = s->p + list;
  check_attr typed = {.arg = *first == '"' || *first == '\'' ? &text
                             : looks_like_float(first)       ? &real
                                                             : &integer,
                      .value = *a};
  bool ok;
  if (list) {
    ok = attr_list(s, &typed);
  } else {
    typed.value.kind = typed.arg == &text   ? TN_ATTR_STR
                       : typed.arg == &real ? TN_ATTR_FLOAT
                                            : TN_ATTR_INT;
    ok = typed.arg == &text ? quoted(s, &typed.value.s)
                            : attr_number(s, &typed.value.f, &typed.value.i);
  }
  *a = typed.value;
  return ok;
}

static bool attr(parser *s, check_attr *a) {
  a->value.head = (tn_head)TN_HEAD(tn_attr);
  a->value.name = a->arg->name;
  if (a->arg->base == TN_TYPE_GRAPH) {
    a->value.kind = TN_ATTR_GRAPH;
    s->out->has_graphs = true;
    return !a->arg->list ? check_parse_graph(s, &a->graph)
                         : check_parse_bad(s, "a case cannot hold a list of graphs");
  }
  if (a->arg->base == TN_TYPE_TENSOR) return attr_tensors(s, a);
  if (a->arg->list) return attr_list(s, a);
  a->value.kind = is_str(a->arg) ? TN_ATTR_STR : is_float(a->arg) ? TN_ATTR_FLOAT : TN_ATTR_INT;
  return is_str(a->arg) ? quoted(s, &a->value.s) : attr_number(s, &a->value.f, &a->value.i);
}

/* ---- around the node ------------------------------------------------------------------------- */

static bool outer(parser *s) {
  check_outer *o = &s->out->outer[s->out->n_outer++];
  o->name = check_parse_word(s);
  return check_parse_expect(s, '=') && check_parse_tensor(s, &o->spec);
}

/* (f32[2]{1,2}, (f32[1]{3}, f32[1]{4})): a tensor, then a sequence of two. */
static bool expected(parser *s) {
  if (!check_parse_expect(s, '=') || !check_parse_expect(s, '(')) return false;
  const int64_t n = count_list(s, ')');
  s->out->n_expect = (int32_t)n;
  s->out->expect = check_parse_room(s, ((uint64_t)n + 1) * sizeof *s->out->expect);
  for (int64_t k = 0; k < n; k++) {
    static const tn_arg one = {.name = "expect"};
    s->out->expect[k].arg = &one;
    if ((k && !comma(s)) || !input(s, &s->out->expect[k])) return false;
  }
  return check_parse_expect(s, ')');
}

/* ---- the line -------------------------------------------------------------------------------- */

/* cond=abs; operators may have an argument of that name, too. */
static bool condition(parser *s, const char *name) {
  const bool found =
      !strcmp(name, "cond") && !strncmp(s->p, "=abs", 4) && (!s->p[4] || s->p[4] == ' ');
  if (found) s->p += 4;
  return found;
}

static bool setting(parser *s, const char *name, bool *out_known) {
  double value;
  int64_t whole;
  *out_known = true;
  if (!strcmp(name, "bench")) return s->out->bench = true;
  if (!strcmp(name, "expect")) return expected(s);
  s->compares = !strcmp(name, "tol") || !strcmp(name, "int_tol");
  if (condition(s, name)) return s->compares = s->out->magnitudes = true;
  *out_known = !strcmp(name, "tol") || !strcmp(name, "int_tol") || !strcmp(name, "n_outputs") ||
               !strcmp(name, "version");
  if (!*out_known) return true;
  if (!check_parse_expect(s, '=') || !number(s, &value, &whole)) return false;
  if (!strcmp(name, "tol")) s->out->tolerance = value;
  if (!strcmp(name, "int_tol")) s->out->int_tolerance = value;
  if (!strcmp(name, "n_outputs")) s->out->n_outputs = (int32_t)whole;
  if (!strcmp(name, "version")) s->out->version = (int32_t)whole;
  return true;
}

static bool assignment(parser *s) {
  bool known;
  s->compares = false;
  if (check_parse_take(s, '@')) return outer(s);
  const char *name = check_parse_word(s);
  if (!setting(s, name, &known)) return false;
  if (known) return true;
  const tn_arg *arg = tn_schema_find(&s->op->schema, name);
  if (!arg || arg->role == TN_ROLE_OUT) return check_parse_bad(s, "no such argument");
  if (!check_parse_expect(s, '=')) return false;
  for (int32_t k = 0; k < s->out->n_inputs; k++)
    if (s->out->inputs[k].arg == arg) return input(s, &s->out->inputs[k]);
  check_attr *a = &s->out->attrs[s->out->n_attrs++];
  a->arg = arg;
  return attr(s, a);
}

bool check_case_parse(const tn_opdef *op, const char *text, tn_arena *arena, tn_case *out,
                      const char **out_why) {
  parser s = {.op = op, .p = text, .arena = arena, .out = out};
  *out = (tn_case){.text = text, .n_outputs = -1, .tolerance = -1, .n_inputs = op->schema.n_inputs};
  out->inputs = check_parse_room(&s, ((uint64_t)out->n_inputs + 1) * sizeof *out->inputs);
  out->attrs = check_parse_room(&s, ((uint64_t)strlen(text) + 1) * sizeof *out->attrs);
  out->outer = check_parse_room(&s, ((uint64_t)strlen(text) + 1) * sizeof *out->outer);
  for (int32_t k = 0; k < out->n_inputs; k++) out->inputs[k].arg = tn_schema_input(&op->schema, k);
  char *drawn_by = check_parse_room(&s, (uint64_t)strlen(text) + 1), *to = drawn_by;
  bool ok = true;
  for (const char *begin = s.p; ok && *s.p; begin = s.p) {
    check_parse_spaces(&s);
    ok = !*s.p || assignment(&s);
    if (ok && *s.p && *s.p != ' ') ok = check_parse_bad(&s, "expected a space");
    if (to == drawn_by) begin += strspn(begin, " ");
    for (; ok && !s.compares && begin < s.p; begin++) *to++ = *begin;
  }
  out->drawn_by = drawn_by;
  *out_why = s.why;
  return ok;
}
