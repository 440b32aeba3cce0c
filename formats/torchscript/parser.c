/* The parser of the source: recursive descent over its tokens. */
#include <string.h>

#include "source.h"

enum { MAX_DEPTH = 256, MAX_HEIGHT = 1000, LEVELS = 8 };

typedef struct parser {
  ts_parser *p;
  const ts_token *at;
  int32_t depth;
  tn_status status;
  ts_node nothing; /* after an error all answers are this one, and are thrown away in the end */
} parser;

typedef TN_VEC(ts_node *) list;

/* ---- small things ---- */

static ts_node *fails(parser *p, const ts_token *t, const char *what) {
  if (!p->status)
    p->status = ts_source_fail(p->p, t->line, t->column, "%s%s%.60s%s", what,
                               *t->text ? ", where it says '" : "", t->text, *t->text ? "'" : "");
  return &p->nothing;
}

static ts_node *no_memory(parser *p) {
  if (!p->status) p->status = ts_source_no_memory(p->p);
  return &p->nothing;
}

static ts_node *make(parser *p, ts_kind kind, const ts_token *t) {
  ts_node *n = tn_arena_alloc(p->p->arena, sizeof *n);
  if (!n) return no_memory(p);
  n->kind = kind;
  n->line = t->line;
  n->column = t->column;
  n->name = "";
  return n;
}

/* a + b + c is a tree of height 3, though it was read without recursion. */
static void set_height(parser *p, ts_node *n, const list *items) {
  for (int64_t k = 0; k < items->n; k++)
    if (items->data[k] && n->height <= items->data[k]->height)
      n->height = items->data[k]->height + 1;
  if (n->height > MAX_HEIGHT) fails(p, p->at, "the source is nested too deep");
}

/* Makes the list the node's items, and frees it. */
static ts_node *with(parser *p, ts_node *n, list *items) {
  if (n != &p->nothing && !p->status) {
    n->n = (int32_t)items->n;
    set_height(p, n, items);
    n->items = tn_arena_copy(p->p->arena, items->data, (uint64_t)items->n * sizeof *items->data);
    if (!n->items) no_memory(p);
  }
  tn_vec_free(p->p->arena->a, items);
  return p->status ? &p->nothing : n;
}

static void push(parser *p, list *items, ts_node *n) {
  if (tn_vec_push(p->p->arena->a, items, n)) no_memory(p);
}

static ts_node *with_two(parser *p, ts_node *n, ts_node *a, ts_node *b) {
  list items = {0};
  push(p, &items, a);
  if (b) push(p, &items, b);
  return with(p, n, &items);
}

static bool is(const parser *p, ts_token_kind kind, const char *text) {
  return p->at->kind == kind && !strcmp(p->at->text, text);
}
static bool is_sign(const parser *p, const char *text) { return is(p, TS_SIGN, text); }
static bool is_word(const parser *p, const char *text) { return is(p, TS_WORD, text); }

static bool take(parser *p, ts_token_kind kind, const char *text) {
  if (p->status || !is(p, kind, text)) return false;
  p->at++;
  return true;
}
static bool take_sign(parser *p, const char *text) { return take(p, TS_SIGN, text); }
static bool take_word(parser *p, const char *text) { return take(p, TS_WORD, text); }

static void want(parser *p, ts_token_kind kind, const char *text, const char *what) {
  if (p->status) return;
  if (p->at->kind != kind || (*text && strcmp(p->at->text, text)))
    fails(p, p->at, what);
  else
    p->at++;
}

static const char *want_name(parser *p) {
  const ts_token *t = p->at;
  want(p, TS_WORD, "", "a name is missing");
  return p->status ? "" : t->text;
}

static bool enter(parser *p) {
  if (p->status) return false;
  if (p->depth == MAX_DEPTH) {
    fails(p, p->at, "the source is nested too deep");
    return false;
  }
  p->depth++;
  return true;
}

/* ---- expressions ---- */

static ts_node *expression(parser *p);

/* Expressions up to the closing bracket, which is taken; is_tuple: a comma was seen. */
static void items_until(parser *p, const char *close, list *items, bool *is_tuple) {
  while (!p->status && !is_sign(p, close)) {
    push(p, items, expression(p));
    if (!take_sign(p, ",")) break;
    *is_tuple = true;
  }
  want(p, TS_SIGN, close, "a closing bracket is missing");
}

static ts_node *dict(parser *p, const ts_token *t) {
  list items = {0};
  while (!p->status && !is_sign(p, "}")) {
    push(p, &items, expression(p));
    want(p, TS_SIGN, ":", "a ':' is missing");
    push(p, &items, expression(p));
    if (!take_sign(p, ",")) break;
  }
  want(p, TS_SIGN, "}", "a closing bracket is missing");
  return with(p, make(p, TS_DICT, t), &items);
}

static ts_node *bracketed(parser *p, const ts_token *t) {
  list items = {0};
  bool is_tuple = false;
  p->at++;
  if (!strcmp(t->text, "{")) return dict(p, t);
  if (!strcmp(t->text, "[")) {
    items_until(p, "]", &items, &is_tuple);
    return with(p, make(p, TS_LIST, t), &items);
  }
  items_until(p, ")", &items, &is_tuple);
  if (is_tuple || !items.n) return with(p, make(p, TS_TUPLE, t), &items);
  ts_node *inner = p->status ? &p->nothing : items.data[0];
  tn_vec_free(p->p->arena->a, &items);
  return inner;
}

static ts_node *word(parser *p, const ts_token *t) {
  static const struct {
    const char *word;
    ts_kind kind;
    int64_t i;
    double f;
  } literals[] = {{"True", TS_BOOL, 1, 0},
                  {"False", TS_BOOL, 0, 0},
                  {"None", TS_NONE, 0, 0},
                  {"inf", TS_FLOAT, 0, __builtin_inf()},
                  {"nan", TS_FLOAT, 0, __builtin_nan("")}};
  p->at++;
  ts_node *n = make(p, TS_NAME, t);
  if (n == &p->nothing) return n;
  n->name = t->text;
  for (size_t k = 0; k < sizeof literals / sizeof *literals; k++) {
    if (strcmp(literals[k].word, t->text)) continue;
    n->kind = literals[k].kind;
    n->i = literals[k].i;
    n->f = literals[k].f;
  }
  return n;
}

static ts_node *atom(parser *p) {
  const ts_token *t = p->at;
  if (t->kind == TS_WORD) return word(p, t);
  if (t->kind == TS_SIGN && strchr("([{", *t->text)) return bracketed(p, t);
  if (t->kind != TS_NUMBER && t->kind != TS_REAL && t->kind != TS_TEXT)
    return fails(p, t, "an expression is missing");
  p->at++;
  ts_node *n = make(p, t->kind == TS_NUMBER ? TS_INT : t->kind == TS_REAL ? TS_FLOAT : TS_STR, t);
  if (n == &p->nothing) return n;
  n->i = t->kind == TS_TEXT ? t->n_text : t->i;
  n->f = t->f;
  n->name = t->kind == TS_TEXT ? t->text : "";
  return n;
}

static ts_node *call(parser *p, ts_node *function, const ts_token *t) {
  list items = {0};
  push(p, &items, function);
  while (!p->status && !is_sign(p, ")")) {
    const ts_token *key = p->at;
    if (key->kind == TS_WORD && key[1].kind == TS_SIGN && !strcmp(key[1].text, "=")) {
      p->at += 2;
      ts_node *n = with_two(p, make(p, TS_KEYWORD, key), expression(p), NULL);
      if (n != &p->nothing) n->name = key->text;
      push(p, &items, n);
    } else {
      push(p, &items, expression(p));
    }
    if (!take_sign(p, ",")) break;
  }
  want(p, TS_SIGN, ")", "a closing bracket is missing");
  return with(p, make(p, TS_CALL, t), &items);
}

/* What stands between square brackets: an index, several, or a slice. */
static ts_node *subscript(parser *p) {
  const ts_token *t = p->at;
  ts_node *first = is_sign(p, ":") ? NULL : expression(p);
  if (!is_sign(p, ":")) {
    if (!is_sign(p, ",")) return first;
    list items = {0};
    push(p, &items, first);
    while (take_sign(p, ","))
      if (!is_sign(p, "]")) push(p, &items, expression(p));
    return with(p, make(p, TS_TUPLE, t), &items);
  }
  list items = {0};
  push(p, &items, first);
  for (int k = 0; k < 2; k++)
    push(p, &items,
         take_sign(p, ":") && !is_sign(p, ":") && !is_sign(p, "]") ? expression(p) : NULL);
  return with(p, make(p, TS_SLICE, t), &items);
}

static ts_node *postfix(parser *p) {
  ts_node *n = atom(p);
  while (!p->status) {
    const ts_token *t = p->at;
    if (take_sign(p, ".")) {
      const char *name = want_name(p);
      n = with_two(p, make(p, TS_ATTRIBUTE, t), n, NULL);
      if (n != &p->nothing) n->name = name;
    } else if (take_sign(p, "(")) {
      n = call(p, n, t);
    } else if (take_sign(p, "[")) {
      n = with_two(p, make(p, TS_SUBSCRIPT, t), n, subscript(p));
      want(p, TS_SIGN, "]", "a closing bracket is missing");
    } else {
      break;
    }
  }
  return p->status ? &p->nothing : n;
}

static ts_node *operation(parser *p, const char *name, const ts_token *t, ts_node *a, ts_node *b) {
  ts_node *n = with_two(p, make(p, TS_OPERATOR, t), a, b);
  if (n != &p->nothing) n->name = name;
  return n;
}

static ts_node *unary(parser *p) {
  const ts_token *t = p->at;
  if (!enter(p)) return &p->nothing;
  ts_node *n;
  if (take_sign(p, "-"))
    n = operation(p, "neg", t, unary(p), NULL);
  else if (take_sign(p, "~"))
    n = operation(p, "bitwise_not", t, unary(p), NULL);
  else
    n = postfix(p);
  if (take_sign(p, "**")) n = operation(p, "pow", t, n, unary(p));
  p->depth--;
  return n;
}

typedef struct infix {
  const char *sign, *name;
  int level;
} infix;

static const infix infixes[] = {
    {"or", "__or__", 0},   {"and", "__and__", 1}, {"is", "__is__", 2}, {"==", "eq", 2},
    {"!=", "ne", 2},       {"<", "lt", 2},        {">", "gt", 2},      {"<=", "le", 2},
    {">=", "ge", 2},       {"|", "__or__", 3},    {"^", "__xor__", 4}, {"&", "__and__", 5},
    {"+", "add", 6},       {"-", "sub", 6},       {"*", "mul", 7},     {"/", "div", 7},
    {"//", "floordiv", 7}, {"%", "remainder", 7}, {"@", "matmul", 7},
};

static const infix *infix_at(const parser *p, int level) {
  for (size_t k = 0; k < sizeof infixes / sizeof *infixes; k++)
    if (infixes[k].level == level && (p->at->kind == TS_SIGN || p->at->kind == TS_WORD) &&
        !strcmp(p->at->text, infixes[k].sign))
      return &infixes[k];
  return NULL;
}

static ts_node *infix_from(parser *p, int level);

static ts_node *negation(parser *p, const ts_token *t) {
  if (!enter(p)) return &p->nothing;
  ts_node *n = operation(p, "__not__", t, infix_from(p, 2), NULL);
  p->depth--;
  return n;
}

static ts_node *infix_from(parser *p, int level) {
  if (level == LEVELS) return unary(p);
  const ts_token *t = p->at;
  if (level == 2 && take_word(p, "not")) return negation(p, t);
  ts_node *n = infix_from(p, level + 1);
  const infix *i;
  while (!p->status && (i = infix_at(p, level))) {
    p->at++;
    const bool inverse = i->level == 2 && !strcmp(i->sign, "is") && take_word(p, "not");
    n = operation(p, inverse ? "__isnot__" : i->name, t, n, infix_from(p, level + 1));
  }
  return n;
}

static ts_node *expression(parser *p) {
  if (!enter(p)) return &p->nothing;
  ts_node *n = infix_from(p, 0);
  p->depth--;
  return p->status ? &p->nothing : n;
}

/* Several with commas between, without brackets, are a tuple. */
static ts_node *expressions(parser *p) {
  const ts_token *t = p->at;
  ts_node *first = expression(p);
  if (!is_sign(p, ",")) return first;
  list items = {0};
  push(p, &items, first);
  while (take_sign(p, ","))
    if (p->at->kind != TS_NEWLINE && !is_sign(p, "=")) push(p, &items, expression(p));
  return with(p, make(p, TS_TUPLE, t), &items);
}

/* ---- statements ---- */

static ts_node *statement(parser *p);

static void end_of_line(parser *p) { want(p, TS_NEWLINE, "", "the line goes on"); }

/* ":", a line end, and what is indented. */
static void indented(parser *p, list *items) {
  want(p, TS_SIGN, ":", "a ':' is missing");
  end_of_line(p);
  want(p, TS_INDENT, "", "an indented block is missing");
  while (!p->status && p->at->kind != TS_DEDENT && p->at->kind != TS_END)
    push(p, items, statement(p));
  want(p, TS_DEDENT, "", "a block has no end");
}

static ts_node *block(parser *p) {
  list items = {0};
  const ts_token *t = p->at;
  indented(p, &items);
  return with(p, make(p, TS_BLOCK, t), &items);
}

static ts_node *if_statement(parser *p, const ts_token *t) {
  list items = {0};
  push(p, &items, expression(p));
  push(p, &items, block(p));
  const ts_token *next = p->at;
  ts_node *otherwise = NULL;
  if (take_word(p, "elif")) {
    list inner = {0};
    if (enter(p)) {
      push(p, &inner, if_statement(p, next));
      p->depth--;
    }
    otherwise = with(p, make(p, TS_BLOCK, next), &inner);
  } else if (take_word(p, "else")) {
    otherwise = block(p);
  }
  push(p, &items, otherwise);
  return with(p, make(p, TS_IF, t), &items);
}

static ts_node *while_statement(parser *p, const ts_token *t) {
  ts_node *condition = expression(p);
  return with_two(p, make(p, TS_WHILE, t), condition, block(p));
}

static ts_node *for_statement(parser *p, const ts_token *t) {
  list items = {0};
  push(p, &items, postfix(p));
  want(p, TS_WORD, "in", "an 'in' is missing");
  push(p, &items, expression(p));
  push(p, &items, block(p));
  return with(p, make(p, TS_FOR, t), &items);
}

static ts_node *with_statement(parser *p, const ts_token *t) {
  ts_node *what = expression(p);
  const char *name = take_word(p, "as") ? want_name(p) : NULL;
  ts_node *n = with_two(p, make(p, TS_WITH, t), what, block(p));
  if (n != &p->nothing) n->name = name;
  return n;
}

static ts_node *parameter(parser *p) {
  const ts_token *t = p->at;
  ts_node *n = make(p, TS_PARAM, t);
  const char *name = want_name(p);
  ts_node *type = take_sign(p, ":") ? expression(p) : NULL;
  if (take_sign(p, "=")) n = with_two(p, n, expression(p), NULL);
  if (p->status) return &p->nothing;
  n->name = name;
  n->type = type;
  return n;
}

static ts_node *def(parser *p, const ts_token *t) {
  list items = {0};
  const char *name = want_name(p);
  want(p, TS_SIGN, "(", "parameters are missing");
  while (!p->status && !is_sign(p, ")")) {
    push(p, &items, parameter(p));
    if (!take_sign(p, ",")) break;
  }
  want(p, TS_SIGN, ")", "a closing bracket is missing");
  ts_node *type = take_sign(p, "->") ? expression(p) : NULL;
  push(p, &items, block(p));
  ts_node *n = with(p, make(p, TS_DEF, t), &items);
  if (n == &p->nothing) return n;
  n->name = name;
  n->type = type;
  return n;
}

static ts_node *class_statement(parser *p, const ts_token *t) {
  list items = {0};
  const char *name = want_name(p);
  ts_node *base = NULL;
  if (take_sign(p, "(")) {
    base = is_sign(p, ")") ? NULL : expressions(p);
    want(p, TS_SIGN, ")", "a closing bracket is missing");
  }
  indented(p, &items);
  ts_node *n = with(p, make(p, TS_CLASS, t), &items);
  if (n == &p->nothing) return n;
  n->name = name;
  n->type = base;
  return n;
}

static ts_node *import(parser *p, const ts_token *t) {
  while (!p->status && p->at->kind != TS_NEWLINE && p->at->kind != TS_END) p->at++;
  end_of_line(p);
  return make(p, TS_IMPORT, t);
}

static ts_node *return_statement(parser *p, const ts_token *t) {
  ts_node *value = p->at->kind == TS_NEWLINE ? NULL : expressions(p);
  end_of_line(p);
  return with_two(p, make(p, TS_RETURN, t), value, NULL);
}

/* x += y is x = x + y. */
static ts_node *augmented(parser *p, const ts_token *t, ts_node *target) {
  static const char *const names[] = {"add_", "sub_", "mul_", "div_"};
  const char name = *p->at->text;
  p->at++;
  ts_node *value = operation(p,
                             names[name == '+'   ? 0
                                   : name == '-' ? 1
                                   : name == '*' ? 2
                                                 : 3],
                             t, target, expressions(p));
  end_of_line(p);
  return with_two(p, make(p, TS_ASSIGN, t), target, value);
}

static bool is_augmenting(const parser *p) {
  return p->at->kind == TS_SIGN && p->at->text[0] && p->at->text[1] == '=' &&
         strchr("+-*/", p->at->text[0]);
}

/* An expression, an assignment, or a declaration. */
static ts_node *simple(parser *p, const ts_token *t) {
  list items = {0};
  push(p, &items, expressions(p));
  if (is_augmenting(p)) {
    ts_node *target = items.n ? items.data[0] : &p->nothing;
    tn_vec_free(p->p->arena->a, &items);
    return augmented(p, t, target);
  }
  ts_node *type = take_sign(p, ":") ? expression(p) : NULL;
  while (take_sign(p, "=")) push(p, &items, expressions(p));
  end_of_line(p);
  const ts_kind kind = items.n > 1 ? TS_ASSIGN : type ? TS_DECLARE : TS_DO;
  ts_node *n = with(p, make(p, kind, t), &items);
  if (n != &p->nothing) n->type = type;
  return n;
}

static ts_node *pass(parser *p, const ts_token *t) {
  end_of_line(p);
  return make(p, TS_PASS, t);
}

static ts_node *statement(parser *p) {
  static const struct {
    const char *word;
    ts_node *(*read)(parser *p, const ts_token *t);
  } words[] = {{"if", if_statement},
               {"while", while_statement},
               {"for", for_statement},
               {"with", with_statement},
               {"def", def},
               {"class", class_statement},
               {"import", import},
               {"from", import},
               {"return", return_statement},
               {"pass", pass}};
  const ts_token *t = p->at;
  if (!enter(p)) return &p->nothing;
  ts_node *n = NULL;
  for (size_t k = 0; k < sizeof words / sizeof *words && !n; k++)
    if (is_word(p, words[k].word)) {
      p->at++;
      n = words[k].read(p, t);
    }
  if (!n) n = simple(p, t);
  p->depth--;
  return p->status ? &p->nothing : n;
}

/* ---- files ---- */

tn_status ts_parse(ts_parser *p, ts_source *source) {
  parser state = {.p = p, .nothing = {.kind = TS_PASS, .name = ""}};
  ts_token *tokens = NULL;
  int64_t n;
  *p->message = 0;
  tn_status s = ts_lex(p, source->text, source->size, &tokens, &n);
  if (s) return s;
  state.at = tokens;
  list items = {0};
  while (!state.status && state.at->kind != TS_END) push(&state, &items, statement(&state));
  source->module = with(&state, make(&state, TS_BLOCK, tokens), &items);
  return state.status;
}

const ts_node *ts_find(const ts_node *block, ts_kind kind, const char *name) {
  for (int32_t k = 0; k < block->n; k++)
    if (block->items[k]->kind == kind && !strcmp(block->items[k]->name, name))
      return block->items[k];
  return NULL;
}
