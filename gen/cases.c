/* Test cases: that their words follow the grammar, and name arguments and types that there are.
 * What a case means is the business of the harness that runs it. */
#include <stdlib.h>
#include <string.h>

#include "gen.h"

typedef struct word {
  const char *name, *value; /* value NULL: the word has no "=" */
} word;

static char closing(char open) { return open == '(' ? ')' : open == '[' ? ']' : '}'; }

/* End of the string that begins at p; NULL: it has none. */
static const char *skip_string(const char *p) {
  for (p++; *p && *p != '"'; p++) {
    if (*p == '\\' && p[1]) p++;
  }
  return *p ? p + 1 : NULL;
}

/* End of the word that begins at p: a space outside of brackets and strings. NULL: brackets do not
 * match. */
static const char *skip_word(const char *p) {
  char open[16];
  size_t depth = 0;
  while (*p && (depth || *p != ' ')) {
    if (*p == '"') {
      p = skip_string(p);
      if (!p) return NULL;
      continue;
    }
    if (strchr("([{", *p)) {
      if (depth == sizeof open) return NULL;
      open[depth++] = closing(*p);
    } else if (strchr(")]}", *p)) {
      if (!depth || open[--depth] != *p) return NULL;
    }
    p++;
  }
  return depth ? NULL : p;
}

/* dtype[dims] of a tensor, or the first of a list in parentheses or a map in braces. */
static void check_tensor(gen *g, const gen_node *at, const gen_op *op, const word *w) {
  const char *type = w->value + (*w->value == '(' || *w->value == '{');
  const size_t n = strcspn(type, "[,)!{ ");
  if (strcmp(w->value, "()") == 0) return;
  const char *name = gen_format_text(g, "%.*s", (int)n, type);
  if (!gen_alias_find(&op->aliases, name) && !gen_dtype_mask(name)) {
    gen_problem_add(g, at, "the case gives '%s' the type '%s', which is no type or type_alias",
                    w->name, name);
  } else if (type[n] != '[') {
    gen_problem_add(g, at, "the case must give '%s' dims, as in %s=%s[2,3]", w->name, w->name,
                    name);
  }
}

static void check_number(gen *g, const gen_node *at, const word *w) {
  char *end = NULL;
  if (w->value) strtod(w->value, &end);
  if (!w->value || end == w->value || *end)
    gen_problem_add(g, at, "the case's %s must be a number", w->name);
}

static void check_word(gen *g, const gen_node *at, const gen_op *op, const word *w) {
  if (strcmp(w->name, "tol") == 0 || strcmp(w->name, "n_outputs") == 0 ||
      strcmp(w->name, "version") == 0 || strcmp(w->name, "int_tol") == 0) {
    check_number(g, at, w);
    return;
  }
  if (strcmp(w->name, "cond") == 0 && w->value && strcmp(w->value, "abs") == 0) return;
  if (strcmp(w->name, "bench") == 0 && !w->value) return;
  if (*w->name == '@' && w->value) { /* a value around the node */
    check_tensor(g, at, op, w);
    return;
  }
  if (strcmp(w->name, "expect") == 0) {
    if (!w->value || *w->value != '(')
      gen_problem_add(g, at, "the case's expect is a list of outputs: expect=(f32[2]{1,2})");
    return;
  }
  const tn_arg *arg = tn_schema_find(&op->schema, w->name);
  if (!arg || arg->role == TN_ROLE_OUT) {
    gen_problem_add(g, at,
                    "the case names '%s', which is no argument of the schema (nor @name, expect, "
                    "tol, cond=abs, int_tol, n_outputs, version, bench)",
                    w->name);
  } else if (!w->value || !*w->value) {
    gen_problem_add(g, at, "the case gives '%s' no value", w->name);
  } else if (arg->base == TN_TYPE_TENSOR) {
    check_tensor(g, at, op, w);
  }
}

static void check_complete(gen *g, const gen_node *at, const gen_op *op, const char *names) {
  for (int32_t k = 0; k < op->schema.n_args; k++) {
    const tn_arg *a = &op->schema.args[k];
    const bool needed = a->role != TN_ROLE_OUT && !a->optional && !a->has_default &&
                        !(a->list && a->base == TN_TYPE_TENSOR) && a->base != TN_TYPE_GRAPH;
    if (needed && !strstr(names, gen_format_text(g, " %s ", a->name))) {
      gen_problem_add(g, at, "the case leaves out '%s', which is required", a->name);
    }
  }
}

void gen_check_case(gen *g, const gen_node *at, const gen_op *op, const char *text) {
  const char *names = " ";
  for (const char *p = text; *p;) {
    if (*p == ' ') {
      p++;
      continue;
    }
    const char *end = skip_word(p);
    if (!end) {
      gen_problem_add(g, at, "the case has brackets or quotes that do not match");
      return;
    }
    const char *whole = gen_format_text(g, "%.*s", (int)(end - p), p);
    const char *equals = strchr(whole, '=');
    const word w = {equals ? gen_format_text(g, "%.*s", (int)(equals - whole), whole) : whole,
                    equals ? equals + 1 : NULL};
    check_word(g, at, op, &w);
    names = gen_format_text(g, "%s%s ", names, w.name);
    p = end;
  }
  check_complete(g, at, op, names);
}
