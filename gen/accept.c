/* What a kernel accepts: arg_meta, aliases of dim orders, and the rows that follow where an alias
 * stands for several types or orders: a kernel accepts masks of types per argument, so an alias
 * that binds two arguments to one type becomes one row per type. */
#include <string.h>

#include "base/abi.h"
#include "gen.h"

enum { MAX_ROWS = 256 };

/* ---- dim orders ---- */

static const char *layout_of(const int *order, int n) {
  bool plain = true, last = n >= 3 && order[0] == 0 && order[n - 1] == 1;
  for (int k = 0; k < n; k++) plain = plain && order[k] == k;
  for (int k = 1; k < n - 1; k++) last = last && order[k] == k + 1;
  return plain ? "TN_PLAIN" : last ? "TN_CHANNELS_LAST" : NULL;
}

static bool parse_order(gen *g, const gen_node *list, gen_order *out) {
  int order[TN_MAX_RANK] = {0};
  const int n = gen_n_items(list);
  unsigned seen = 0;
  *out = (gen_order){.suffix = "", .rank = n};
  if (n < 1 || n > TN_MAX_RANK) {
    gen_problem_add(g, list, "a dim order has 1 to %d dims", TN_MAX_RANK);
    return false;
  }
  for (int k = 0; k < n; k++) {
    if (!gen_int(g, gen_item(list, k), "a dim of a dim order", 0, n - 1, &order[k])) return false;
    seen |= 1u << order[k];
    out->suffix = gen_format_text(g, "%s%d", out->suffix, order[k]);
  }
  if (seen != (1u << n) - 1) {
    gen_problem_add(g, list, "a dim order names every dim once: 0 to %d in some order", n - 1);
    return false;
  }
  out->layout = layout_of(order, n);
  if (!out->layout) {
    gen_problem_add(
        g, list,
        "no layout of Tenon has the dim order %s; known are 0,1,2,3 (plain) and 0,2,3,1 "
        "(channels last), for any rank",
        out->suffix);
  }
  return out->layout != NULL;
}

/* One order [0, 1, 2, 3], or a list of them. */
static void parse_orders(gen *g, const gen_node *value, gen_order_alias *alias) {
  const bool several = value->kind == GEN_LIST && value->n && value->items[0]->kind == GEN_LIST;
  const int n = several ? value->n : 1;
  gen_order *orders = gen_need(tn_arena_alloc(&g->arena, (uint64_t)n * sizeof *orders));
  for (int k = 0; k < n; k++) {
    if (parse_order(g, several ? value->items[k] : value, &orders[alias->n])) alias->n++;
  }
  alias->orders = orders;
}

void gen_parse_orders(gen *g, const gen_node *entry, gen_order_aliases *out) {
  const gen_node *map = gen_get(entry, "dim_order_alias");
  if (!map || gen_is_null(map)) return;
  if (map->kind != GEN_MAP) {
    gen_problem_add(g, map, "dim_order_alias must be a map such as {D0: [[0, 1, 2, 3]]}");
    return;
  }
  for (int k = 0; k < map->n; k++) {
    gen_order_alias alias = {.name = map->pairs[k].key->text};
    parse_orders(g, map->pairs[k].value, &alias);
    gen_push(g, out, alias);
  }
}

/* ---- what stands in arg_meta ---- */

typedef struct context {
  const gen_op *op; /* NULL: described elsewhere */
  const gen_aliases *aliases;
  const gen_order_aliases *orders;
  uint64_t isa;
} context;

static const gen_order_alias *find_orders(const context *c, const gen_node *node) {
  for (int64_t k = 0; k < c->orders->n && node->kind == GEN_SCALAR; k++) {
    if (strcmp(c->orders->data[k].name, node->text) == 0) return &c->orders->data[k];
  }
  return NULL;
}

static void set_orders(gen *g, const gen_node *at, const gen_order_alias *orders,
                       gen_accept *accept) {
  if (accept->orders) gen_problem_add(g, at, "an argument has one dim order or dim_order_alias");
  accept->orders = orders;
}

/* `[0, 1, 2, 3]` in place of an alias. */
static void set_inline_order(gen *g, const gen_node *at, gen_accept *accept) {
  gen_order_alias *alias = gen_need(tn_arena_alloc(&g->arena, sizeof *alias));
  *alias = (gen_order_alias){.name = ""};
  parse_orders(g, at, alias);
  if (alias->n) set_orders(g, at, alias, accept);
}

static void add_type(gen *g, const gen_node *at, const context *c, gen_accept *accept, bool only) {
  const char *name = gen_str(g, at, "a type");
  accept->typed = true;
  if (strcmp(name, "any") == 0) return;
  const gen_alias *alias = gen_alias_find(c->aliases, name);
  const uint64_t bits = alias ? alias->dtypes : gen_dtype_mask(name);
  accept->dtypes |= bits;
  accept->alias = only && alias ? alias->name : NULL;
  if (!bits && !alias)
    gen_problem_add(g, at, "'%s' is no type, set of types%s", name,
                    c->orders->n ? ", type_alias or dim_order_alias" : " or type_alias");
}

/* `f32`, `T`, `[f32, T]`, `[T0, D0]`. */
static void parse_short_form(gen *g, const gen_node *value, const context *c, gen_accept *accept) {
  int n_types = 0;
  for (int k = 0; k < gen_n_items(value); k++) {
    const gen_node *item = gen_item(value, k);
    const gen_order_alias *orders = find_orders(c, item);
    if (orders)
      set_orders(g, item, orders, accept);
    else if (item->kind == GEN_LIST)
      set_inline_order(g, item, accept);
    else
      add_type(g, item, c, accept, ++n_types == 1);
  }
}

static void parse_rank_range(gen *g, const gen_node *node, gen_accept *accept) {
  const int n = gen_n_items(node);
  if (n < 1 || n > 2) {
    gen_problem_add(g, node, "rank must be a number or a pair [min, max]");
    return;
  }
  if (!gen_int(g, gen_item(node, 0), "rank", 0, TN_MAX_RANK, &accept->rank_min) ||
      !gen_int(g, gen_item(node, n - 1), "rank", 0, TN_MAX_RANK, &accept->rank_max)) {
    return;
  }
  if (accept->rank_max < accept->rank_min || accept->rank_max == 0) {
    gen_problem_add(g, node, "the largest rank must be at least 1 and not below the smallest");
  }
}

/* `blocked` has the blocks of the kernel's vectors. */
static void parse_layout(gen *g, const gen_node *layout, const context *c, gen_accept *accept) {
  const char *name = gen_str(g, layout, "layout");
  if (strcmp(name, "blocked") == 0) {
    if (!c->isa)
      gen_problem_add(g, layout,
                      "'blocked' is as wide as vectors are, and the kernel has none: say blocked8");
    name = gen_is_wide(c->isa) ? "blocked16" : "blocked8";
  }
  const gen_word *word = gen_word_find(gen_layout_words, name);
  if (word)
    accept->layout = word->c_name;
  else
    gen_problem_add(g, layout, "unknown layout '%s'; known are: %s, blocked", name,
                    gen_words_text(g, gen_layout_words));
}

static void parse_long_form(gen *g, const gen_node *map, const context *c, gen_accept *accept) {
  static const char *const keys[] = {"dtype",  "layout", "rank",    "const",
                                     "packed", "absent", "present", NULL};
  if (!gen_check_keys(g, map, "what a kernel accepts", keys)) return;
  const gen_node *dtype = gen_get(map, "dtype"), *layout = gen_get(map, "layout");
  if (dtype) parse_short_form(g, dtype, c, accept);
  if (layout) parse_layout(g, layout, c, accept);
  if (gen_get(map, "rank")) parse_rank_range(g, gen_get(map, "rank"), accept);
  if ((layout || gen_get(map, "rank")) && accept->orders)
    gen_problem_add(g, map, "a dim order says layout and rank; 'layout' and 'rank' go without");
  if (gen_bool_at(g, map, "const")) accept->flags |= TN_ACCEPT_CONST;
  if (gen_bool_at(g, map, "packed")) accept->flags |= TN_ACCEPT_PACKED;
  if (gen_bool_at(g, map, "absent")) accept->flags |= TN_ACCEPT_ABSENT;
  if (gen_bool_at(g, map, "present")) accept->flags |= TN_ACCEPT_PRESENT;
  if ((accept->flags & TN_ACCEPT_ABSENT) && (accept->flags & ~(uint64_t)TN_ACCEPT_ABSENT)) {
    gen_problem_add(g, map, "an argument that must be absent can be neither present nor constant");
  }
}

static bool has_rule(gen *g, const gen_op *op, const char *arg) {
  for (int64_t k = 0; k < op->rules.n; k++)
    if (strstr(gen_format_text(g, ",%s,", op->rules.data[k].args), gen_format_text(g, ",%s,", arg)))
      return true;
  return false;
}

/* A kernel that takes no dtype that the operator allows can never run. */
static void check_dtypes(gen *g, const gen_node *at, const gen_op *op, const gen_accept *accept) {
  for (int64_t k = 0; k < op->rules.n; k++) {
    const gen_rule *r = &op->rules.data[k];
    const char *list = gen_format_text(g, ",%s,", r->args);
    if (!strstr(list, gen_format_text(g, ",%s,", accept->arg)) || !r->dtypes) continue;
    if (!(accept->dtypes & r->dtypes)) {
      gen_problem_add(g, at, "the operator takes %s for '%s', the kernel takes %s",
                      gen_dtypes_text(g, r->dtypes), accept->arg,
                      gen_dtypes_text(g, accept->dtypes));
    }
  }
}

static void parse_accept(gen *g, const gen_pair *pair, const context *c, gen_kernel *k) {
  gen_accept accept = {.arg = pair->key->text, .layout = "TN_PLAIN"};
  const tn_arg *arg = c->op ? tn_schema_find(&c->op->schema, accept.arg) : NULL;
  const bool known =
      c->op && (c->op->schema.n_returns || c->op->schema.n_args) && strcmp(accept.arg, "*") != 0;
  if (known && !(arg && arg->base == TN_TYPE_TENSOR)) {
    gen_problem_add(g, pair->key, "arg_meta: '%s' is no tensor of the schema", accept.arg);
    return;
  }
  if (pair->value->kind == GEN_MAP)
    parse_long_form(g, pair->value, c, &accept);
  else if (!gen_is_null(pair->value))
    parse_short_form(g, pair->value, c, &accept);
  if (c->op && accept.dtypes) check_dtypes(g, pair->value, c->op, &accept);
  if (c->op && !c->op->torch && !accept.typed && !(accept.flags & TN_ACCEPT_ABSENT) &&
      !has_rule(g, c->op, accept.arg))
    gen_problem_add(g, pair->key,
                    "no type of the operator names '%s': say what the kernel takes, "
                    "or any",
                    accept.arg);
  if (arg && (accept.flags & TN_ACCEPT_ABSENT) && !arg->optional) {
    gen_problem_add(g, pair->value, "'%s' is not optional in the schema and is never absent",
                    accept.arg);
  }
  gen_push(g, &k->accepts, accept);
}

/* A row for all arguments that have none. */
static void push_others(gen *g, gen_kernel *k) {
  const gen_accept others = {.arg = "*", .layout = "TN_PLAIN"};
  gen_push(g, &k->accepts, others);
}

static bool has_row(const gen_kernel *k, const char *arg) {
  for (int64_t i = 0; i < k->accepts.n; i++)
    if (strcmp(k->accepts.data[i].arg, arg) == 0 || strcmp(k->accepts.data[i].arg, "*") == 0)
      return true;
  return false;
}

static bool is_bound(gen *g, const gen_kernel *k, const gen_op *op, const char *arg) {
  for (int64_t r = 0; r < op->rules.n; r++) {
    const char *args = gen_format_text(g, ",%s,", op->rules.data[r].args);
    if (!strstr(args, gen_format_text(g, ",%s,", arg))) continue;
    for (int64_t i = 0; i < k->accepts.n; i++)
      if (strstr(args, gen_format_text(g, ",%s,", k->accepts.data[i].arg))) return true;
  }
  return false;
}

/* Arguments that are not named take what `types` of the operator say, which binds those of one type
 * variable to each other; the kernel has to name those that have none. */
static void fill_up(gen *g, const gen_node *at, const gen_op *op, gen_kernel *k) {
  bool complete = true;
  for (int32_t i = 0; i < op->schema.n_inputs + op->schema.n_outputs; i++) {
    const tn_arg *arg = i < op->schema.n_inputs
                            ? tn_schema_input(&op->schema, i)
                            : tn_schema_output(&op->schema, i - op->schema.n_inputs);
    if (has_row(k, arg->name) || is_bound(g, k, op, arg->name)) continue;
    complete = false;
    if (!op->torch && !has_rule(g, op, arg->name))
      gen_problem_add(g, at,
                      "arg_meta does not name '%s', and no type of the operator does: say what the "
                      "kernel takes, or any",
                      arg->name);
  }
  if (!complete) push_others(g, k);
}

void gen_parse_accepts(gen *g, const gen_node *map, const gen_op *op, const gen_aliases *aliases,
                       const gen_order_aliases *orders, gen_kernel *k) {
  const gen_node *meta = gen_get(map, "arg_meta");
  const context c = {op, aliases, orders, k->isa};
  if (meta && gen_is_null(meta)) {
    push_others(g, k);
    return;
  }
  if (meta && meta->kind != GEN_MAP) {
    gen_problem_add(g, meta, "arg_meta must be a map such as {X: f32, Y: f32}, or null");
    push_others(g, k);
    return;
  }
  for (int i = 0; meta && i < meta->n; i++) parse_accept(g, &meta->pairs[i], &c, k);
  if (c.op) fill_up(g, meta ? meta : map, c.op, k);
}

/* ---- rows ---- */

typedef struct rows {
  gen *g;
  bool by_type; /* an alias binds its arguments to one type: PyTorch's form */
  bool named;   /* each row has the name of the kernel with what it takes behind it */
} rows;

/* Copies the kernel with a list of its own. */
static gen_kernel copy_of(gen *g, const gen_kernel *k) {
  gen_kernel copy = *k;
  copy.accepts.data = NULL;
  copy.accepts.n = copy.accepts.cap = 0;
  for (int64_t i = 0; i < k->accepts.n; i++) gen_push(g, &copy.accepts, k->accepts.data[i]);
  return copy;
}

static const char *with_suffix(gen *g, const gen_kernel *k, const char *suffix) {
  return gen_format_text(g, "%s_%s", k->name, suffix);
}

static bool is_one(uint64_t mask) { return mask && !(mask & (mask - 1)); }

static void push(rows *r, const gen_kernel *k);

/* Rows for the types of accept `i`'s alias. */
static void push_types(rows *r, const gen_kernel *k, int64_t i) {
  const char *alias = k->accepts.data[i].alias;
  const uint64_t dtypes = k->accepts.data[i].dtypes;
  for (uint64_t rest = dtypes; rest; rest &= rest - 1) {
    const uint64_t one = rest & (~rest + 1);
    gen_kernel row = copy_of(r->g, k);
    for (int64_t j = 0; j < row.accepts.n; j++) {
      gen_accept *a = &row.accepts.data[j];
      if (!a->alias || strcmp(a->alias, alias) != 0) continue;
      a->dtypes = one;
      a->alias = NULL;
    }
    if (r->named || !is_one(dtypes)) row.name = with_suffix(r->g, k, gen_dtypes_text(r->g, one));
    push(r, &row);
    tn_vec_free(r->g->a, &row.accepts);
  }
}

static void push_orders(rows *r, const gen_kernel *k, int64_t i) {
  const gen_order_alias *orders = k->accepts.data[i].orders;
  for (int o = 0; o < orders->n; o++) {
    gen_kernel row = copy_of(r->g, k);
    for (int64_t j = 0; j < row.accepts.n; j++) {
      gen_accept *a = &row.accepts.data[j];
      if (a->orders != orders) continue;
      a->layout = orders->orders[o].layout;
      a->rank_min = a->rank_max = orders->orders[o].rank;
      a->orders = NULL;
    }
    if ((r->named && *orders->name) || orders->n > 1)
      row.name = with_suffix(r->g, k, orders->orders[o].suffix);
    push(r, &row);
    tn_vec_free(r->g->a, &row.accepts);
  }
}

static void push(rows *r, const gen_kernel *k) {
  for (int64_t i = 0; i < k->accepts.n; i++) {
    if (r->by_type && k->accepts.data[i].alias) {
      push_types(r, k, i);
      return;
    }
  }
  for (int64_t i = 0; i < k->accepts.n; i++) {
    if (k->accepts.data[i].orders && k->accepts.data[i].orders->n) {
      push_orders(r, k, i);
      return;
    }
  }
  gen_kernel row = copy_of(r->g, k);
  gen_push(r->g, &r->g->kernels, row);
}

/* What accept `i` multiplies the rows by: 1 where an earlier one has the same alias. */
static int choices_of(const gen_kernel *k, int64_t i, bool by_type) {
  const gen_accept *a = &k->accepts.data[i];
  const bool has_alias = by_type && a->alias, has_orders = a->orders && a->orders->n;
  int types = has_alias ? 0 : 1, orders = has_orders ? a->orders->n : 1;
  for (uint64_t rest = has_alias ? a->dtypes : 0; rest; rest &= rest - 1) types++;
  for (int64_t j = 0; j < i; j++) {
    const gen_accept *b = &k->accepts.data[j];
    if (has_alias && b->alias && strcmp(a->alias, b->alias) == 0) types = 1;
    if (has_orders && a->orders == b->orders) orders = 1;
  }
  return types * orders;
}

/* None where an alias is broken, which has been reported. */
void gen_push_rows(gen *g, const gen_kernel *k, bool torch) {
  rows r = {.g = g, .by_type = torch, .named = torch};
  int64_t n = 1;
  for (int64_t i = 0; i < k->accepts.n && n <= MAX_ROWS; i++) n *= choices_of(k, i, torch);
  if (n > MAX_ROWS)
    gen_problem_add(g, k->at, "the aliases of this kernel stand for more than %d combinations",
                    MAX_ROWS);
  else if (n)
    push(&r, k);
}
