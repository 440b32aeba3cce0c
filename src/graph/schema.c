/* The parser of the schema language: names, types, arguments and returns, by recursive descent over
 * the text.
 *
 * Defaults are read in schema_default.c; roles and the layout of the attribute struct are computed
 * in schema_layout.c; schema_check.c says what a right text may not ask for. */
#include "graph/schema_parse.h"

#include <string.h>

typedef TN_VEC(tn_arg) arg_vec;

static const struct base_name {
  const char *name;
  tn_base_type base;
} base_names[] = {
    /* the first name of a type is the one that is printed */
    {"Tensor", TN_TYPE_TENSOR},
    {"int", TN_TYPE_INT},
    {"bool", TN_TYPE_BOOL},
    {"float", TN_TYPE_FLOAT},
    {"str", TN_TYPE_STR},
    {"Scalar", TN_TYPE_SCALAR},
    {"ScalarType", TN_TYPE_SCALAR_TYPE},
    {"MemoryFormat", TN_TYPE_MEMORY_FORMAT},
    {"Device", TN_TYPE_DEVICE},
    {"Layout", TN_TYPE_LAYOUT},
    {"Dimname", TN_TYPE_DIMNAME},
    {"Generator", TN_TYPE_GENERATOR},
    {"Graph", TN_TYPE_GRAPH},
    {"Storage", TN_TYPE_STORAGE},
    {"Stream", TN_TYPE_STREAM},
    {"QScheme", TN_TYPE_QSCHEME},
    {"SymInt", TN_TYPE_INT},
    {"DeviceIndex", TN_TYPE_INT},
    {"SymBool", TN_TYPE_BOOL},
    {"SymFloat", TN_TYPE_FLOAT},
    {"number", TN_TYPE_SCALAR},
    {"GraphModule", TN_TYPE_GRAPH},
};
enum { N_BASE_NAMES = sizeof base_names / sizeof base_names[0] };
enum { MAX_LIST_SIZE = 4096 }; /* a default is written out that often */

const char *tn_base_type_name(tn_base_type base) {
  for (int k = 0; k < N_BASE_NAMES; k++) {
    if (base_names[k].base == base) return base_names[k].name;
  }
  return "?";
}

static tn_status parse_base(tn_scan *s, tn_arg *arg) {
  tn_scan_space(s);
  const char *begin = s->at;
  tn_str word;
  if (!tn_scan_word(s, &word)) return tn_scan_expected(s, "a type");
  for (int k = 0; k < N_BASE_NAMES; k++) {
    if (*word.data != *base_names[k].name || !tn_str_is(word, base_names[k].name)) continue;
    arg->base = base_names[k].base;
    return TN_OK;
  }
  if (tn_str_is(word, "DimVector")) {
    arg->base = TN_TYPE_INT;
    arg->list = true;
    return TN_OK;
  }
  s->at = begin;
  return tn_scan_expected(s, "a type such as Tensor, int or float");
}

/* One of the two sides of an alias: names with "|" between, or any set: "*", "?". */
static tn_status parse_alias_set(tn_scan *s, tn_text *out) {
  do {
    if (out->n > 0 && out->data[out->n - 1] != ' ') tn_text_add(out, "|");
    tn_str word;
    if (tn_scan_take(s, "*") || tn_scan_take(s, "?")) {
      tn_text_add(out, "*"); /* ExecuTorch writes "?" for any set */
    } else if (tn_scan_word(s, &word)) {
      tn_text_add_bytes(out, word.data, word.size);
    } else {
      return tn_scan_expected(s, "the name of an alias set");
    }
  } while (tn_scan_take(s, "|"));
  return TN_OK;
}

static tn_status parse_alias_text(tn_scan *s, tn_arg *arg, tn_text *out) {
  tn_status status = parse_alias_set(s, out);
  if (status) return status;
  if (tn_scan_take(s, "!")) {
    tn_text_add(out, "!");
    arg->written = true;
  }
  if (tn_scan_take(s, "->")) {
    tn_text_add(out, " -> ");
    status = parse_alias_set(s, out);
    if (status) return status;
  }
  return tn_scan_take(s, ")") ? TN_OK : tn_scan_expected(s, "')' after the alias set");
}

/* (a!), (a|b), (a -> *) after a type. */
static tn_status parse_alias(tn_scan *s, tn_arg *arg) {
  if (!tn_scan_take(s, "(")) return TN_OK;
  tn_text text;
  tn_text_init(&text, s->arena->a);
  tn_status status = parse_alias_text(s, arg, &text);
  if (!status) {
    arg->alias = tn_arena_str(s->arena, tn_text_get(&text));
    if (!arg->alias || text.status) status = tn_scan_no_memory(s);
  }
  tn_text_free(&text);
  return status;
}

static tn_status parse_list_suffix(tn_scan *s, tn_arg *arg) {
  if (arg->list) return tn_scan_fail(s, s->at - 1, "lists of lists are not part of the language");
  arg->list = true;
  arg->optional_element = arg->optional;
  arg->optional = false;
  if (tn_scan_take(s, "]")) return TN_OK;
  tn_scan_space(s);
  const char *begin = s->at;
  const tn_status status = tn_scan_int(s, &arg->list_size);
  if (status) return status;
  if (arg->list_size < 1 || arg->list_size > MAX_LIST_SIZE)
    return tn_scan_fail(s, begin, "the size of a list is 1 to %d", MAX_LIST_SIZE);
  return tn_scan_take(s, "]") ? TN_OK : tn_scan_expected(s, "']'");
}

static tn_status parse_type(tn_scan *s, tn_arg *arg) {
  arg->list_size = -1;
  arg->present_offset = -1;
  tn_status status = parse_base(s, arg);
  if (!status) status = parse_alias(s, arg);
  while (!status) {
    if (tn_scan_take(s, "[")) {
      status = parse_list_suffix(s, arg);
    } else if (tn_scan_take(s, "?")) {
      if (arg->optional) return tn_scan_fail(s, s->at - 1, "the type is optional already");
      arg->optional = true;
    } else {
      break;
    }
  }
  return status;
}

static tn_status parse_arg(tn_scan *s, tn_arg *arg) {
  tn_status status = parse_type(s, arg);
  if (status) return status;
  tn_str word;
  if (!tn_scan_word(s, &word)) return tn_scan_expected(s, "the argument's name");
  arg->name = tn_arena_strn(s->arena, word.data, word.size);
  if (!arg->name) return tn_scan_no_memory(s);
  return tn_scan_take(s, "=") ? tn_schema_parse_default(s, arg) : TN_OK;
}

static tn_status check_unique(const tn_scan *s, const char *at, const arg_vec *args) {
  const tn_arg *last = &args->data[args->n - 1];
  for (const tn_arg *a = args->data; a < last; a++) {
    if (strcmp(a->name, last->name) == 0) {
      return tn_scan_fail(s, at, "there are two of the name '%s'", last->name);
    }
  }
  return TN_OK;
}

static tn_status append(const tn_scan *s, const char *at, arg_vec *args, tn_arg arg) {
  if (tn_vec_push(s->arena->a, args, arg)) return tn_scan_no_memory(s);
  return check_unique(s, at, args);
}

static tn_status parse_star(const tn_scan *s, const char *at, bool *keyword_only) {
  if (*keyword_only) return tn_scan_fail(s, at, "'*' may stand once only");
  *keyword_only = true;
  return TN_OK;
}

/* What stands between the parentheses of the arguments; takes the closing one. */
static tn_status parse_args(tn_scan *s, arg_vec *args) {
  bool keyword_only = false;
  if (tn_scan_take(s, ")")) return TN_OK;
  for (;;) {
    tn_scan_space(s);
    const char *begin = s->at;
    tn_status status;
    if (tn_scan_take(s, "*")) {
      status = parse_star(s, begin, &keyword_only);
    } else {
      tn_arg arg = {.keyword_only = keyword_only};
      status = parse_arg(s, &arg);
      if (!status) status = append(s, begin, args, arg);
    }
    if (status) return status;
    if (tn_scan_take(s, ")")) break;
    if (!tn_scan_take(s, ",")) return tn_scan_expected(s, "',' or ')'");
  }
  if (keyword_only && (args->n == 0 || !args->data[args->n - 1].keyword_only)) {
    return tn_scan_fail(s, s->at - 1, "no argument follows '*'");
  }
  return TN_OK;
}

static tn_status parse_return(tn_scan *s, arg_vec *returns) {
  tn_scan_space(s);
  const char *begin = s->at;
  tn_arg arg = {.role = TN_ROLE_OUT};
  const tn_status status = parse_type(s, &arg);
  if (status) return status;
  tn_str word;
  if (tn_scan_word(s, &word)) {
    arg.name = tn_arena_strn(s->arena, word.data, word.size);
  } else {
    arg.name =
        returns->n == 0 ? "out" : tn_arena_format(s->arena, "out%lld", (long long)returns->n);
  }
  return arg.name ? append(s, begin, returns, arg) : tn_scan_no_memory(s);
}

static tn_status parse_returns(tn_scan *s, arg_vec *returns) {
  if (!tn_scan_take(s, "(")) return parse_return(s, returns);
  if (tn_scan_take(s, ")")) return TN_OK;
  for (;;) {
    const tn_status status = parse_return(s, returns);
    if (status) return status;
    if (tn_scan_take(s, ")")) return TN_OK;
    if (!tn_scan_take(s, ",")) return tn_scan_expected(s, "',' or ')'");
  }
}

/* add, add.out, aten::add.out */
static tn_status parse_name(tn_scan *s, tn_schema *out) {
  tn_str word = {"", 0};
  tn_scan_space(s);
  const char *begin = s->at;
  if (tn_scan_word(s, &word) && strncmp(s->at, "::", 2) == 0) {
    s->at += 2;
    if (!tn_scan_word(s, &word)) return tn_scan_expected(s, "a name after '::'");
  }
  out->name = tn_arena_strn(s->arena, begin, s->at - begin);
  out->overload = "";
  if (s->at != begin && *s->at == '.') {
    s->at++;
    if (!tn_scan_word(s, &word)) return tn_scan_expected(s, "an overload name after '.'");
    out->overload = tn_arena_strn(s->arena, word.data, word.size);
  }
  return out->name && out->overload ? TN_OK : tn_scan_no_memory(s);
}

static tn_status parse_schema(tn_scan *s, tn_schema *out, arg_vec *args, arg_vec *returns) {
  tn_status status = parse_name(s, out);
  if (status) return status;
  if (!tn_scan_take(s, "(")) return tn_scan_expected(s, "'(' before the arguments");
  status = parse_args(s, args);
  if (status) return status;
  if (!tn_scan_take(s, "->")) return tn_scan_expected(s, "'->' before the returns");
  status = parse_returns(s, returns);
  if (status) return status;
  tn_scan_space(s);
  return *s->at ? tn_scan_expected(s, "the end of the schema") : TN_OK;
}

static tn_arg *keep(tn_arena *arena, const arg_vec *args) {
  return tn_arena_copy(arena, args->data, (uint64_t)args->n * sizeof *args->data);
}

tn_status tn_schema_parse(const char *text, tn_arena *arena, const char *what, tn_diag *diag,
                          tn_schema *out_schema) {
  tn_scan s = {.text = text, .at = text, .what = what, .arena = arena, .diag = diag};
  arg_vec args = {NULL, 0, 0}, returns = {NULL, 0, 0};
  tn_schema schema = {.name = ""};
  tn_status status = parse_schema(&s, &schema, &args, &returns);
  if (!status) {
    schema.args = keep(arena, &args);
    schema.n_args = (int32_t)args.n;
    schema.returns = keep(arena, &returns);
    schema.n_returns = (int32_t)returns.n;
    status = (args.n && !schema.args) || (returns.n && !schema.returns)
                 ? tn_scan_no_memory(&s)
                 : tn_schema_settle(&s, &schema);
  }
  tn_vec_free(arena->a, &args);
  tn_vec_free(arena->a, &returns);
  if (!status) *out_schema = schema;
  return status;
}
