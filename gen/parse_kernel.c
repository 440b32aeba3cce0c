/* Kernel entries: what a kernel accepts, its rank, instruction sets and functions. */
#include <stdio.h>
#include <string.h>

#include "gen.h"

typedef struct context {
  const gen_op *op; /* NULL: described elsewhere */
  const gen_aliases *aliases;
} context;

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

static void parse_long_form(gen *g, const gen_node *map, const context *c, gen_accept *accept) {
  static const char *const keys[] = {"dtype", "layout", "rank", "const", "absent", "present", NULL};
  if (!gen_check_keys(g, map, "what a kernel accepts", keys)) return;
  const gen_node *dtype = gen_get(map, "dtype"), *layout = gen_get(map, "layout");
  if (dtype) accept->dtypes = gen_parse_dtypes(g, dtype, c->aliases);
  if (layout) {
    const char *name = gen_str(g, layout, "layout");
    const gen_word *word = gen_word_find(gen_layout_words, name);
    if (word)
      accept->layout = word->c_name;
    else
      gen_problem_add(g, layout, "unknown layout '%s'; known are: %s", name,
                      gen_words_text(g, gen_layout_words));
  }
  if (gen_get(map, "rank")) parse_rank_range(g, gen_get(map, "rank"), accept);
  if (gen_bool_at(g, map, "const")) accept->flags |= TN_ACCEPT_CONST;
  if (gen_bool_at(g, map, "absent")) accept->flags |= TN_ACCEPT_ABSENT;
  if (gen_bool_at(g, map, "present")) accept->flags |= TN_ACCEPT_PRESENT;
  if ((accept->flags & TN_ACCEPT_ABSENT) && (accept->flags & ~(uint64_t)TN_ACCEPT_ABSENT)) {
    gen_problem_add(g, map, "an argument that must be absent can be neither present nor constant");
  }
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
  if (c->op && c->op->schema.n_returns && !(arg && arg->base == TN_TYPE_TENSOR)) {
    gen_problem_add(g, pair->key, "arg_meta: '%s' is no tensor of the schema", accept.arg);
    return;
  }
  if (pair->value->kind == GEN_MAP)
    parse_long_form(g, pair->value, c, &accept);
  else
    accept.dtypes = gen_parse_dtypes(g, pair->value, c->aliases);
  if (c->op && accept.dtypes) check_dtypes(g, pair->value, c->op, &accept);
  if (arg && (accept.flags & TN_ACCEPT_ABSENT) && !arg->optional) {
    gen_problem_add(g, pair->value, "'%s' is not optional in the schema and is never absent",
                    accept.arg);
  }
  gen_push(g, &k->accepts, accept);
}

static void parse_accepts(gen *g, const gen_node *map, const context *c, gen_kernel *k) {
  const gen_node *meta = gen_get(map, "arg_meta");
  if (!meta) return;
  if (meta->kind != GEN_MAP) {
    gen_problem_add(g, meta, "arg_meta must be a map such as {X: f32, Y: f32}");
    return;
  }
  for (int i = 0; i < meta->n; i++) parse_accept(g, &meta->pairs[i], c, k);
}

static int parse_rank(gen *g, const gen_node *map) {
  const gen_node *library = gen_get(map, "library"), *rank = gen_get(map, "rank");
  if (!library == !rank) {
    gen_problem_add(g, map, "a kernel has one of the keys library (portable, optimized) and rank");
    return TN_RANK_PORTABLE;
  }
  if (rank) return gen_int_at(g, map, "rank", 1, 1000000, TN_RANK_PORTABLE);
  const char *name = gen_str(g, library, "library");
  if (strcmp(name, "optimized") == 0) return TN_RANK_OPTIMIZED;
  if (strcmp(name, "portable") != 0)
    gen_problem_add(g, library, "library must be portable or optimized (else say rank: N)");
  return TN_RANK_PORTABLE;
}

static void parse_versions(gen *g, const gen_node *map, gen_kernel *k) {
  const int since = k->since, until = k->until;
  k->since = gen_int_at(g, map, "since", 1, INT32_MAX, since);
  k->until = gen_int_at(g, map, "until", 1, INT32_MAX, until);
  const bool narrower = k->since >= since && (!until || (k->until && k->until <= until));
  if (!narrower || (k->until && k->until < k->since)) {
    gen_problem_add(g, map, "the kernel's versions must lie within those of its entry");
  }
}

/* The lower half of the ISA bits is x86, then come those of ARM and RISC-V. */
static void check_isa(gen *g, const gen_node *at, uint64_t isa) {
  const uint64_t riscv = TN_ISA_RVV, arm = isa & ~riscv & ~UINT64_C(0xffff);
  if (!!(isa & UINT64_C(0xffff)) + !!arm + !!(isa & riscv) > 1) {
    gen_problem_add(
        g, at, "no machine has all of these instruction sets: they are of different architectures");
  }
}

static void parse_functions(gen *g, const gen_node *map, gen_kernel *k) {
  k->refuse = gen_function_at(g, map, "refuse", GEN_REFUSE);
  k->plan = gen_function_at(g, map, "plan", GEN_PLAN);
  k->prepare = gen_function_at(g, map, "prepare", GEN_CALL);
  k->finish = gen_function_at(g, map, "finish", GEN_FINISH);
  if (gen_get(map, "run"))
    k->run = gen_function_at(g, map, "run", GEN_RUN);
  else
    k->run = gen_function_note(g, gen_get(map, "kernel_name"), k->name, GEN_RUN);
}

static void parse_kernel(gen *g, const gen_node *map, const context *c,
                         const gen_kernel *prototype) {
  static const char *const keys[] = {"kernel_name", "library", "rank",     "isa",    "device",
                                     "since",       "until",   "arg_meta", "flags",  "refuse",
                                     "plan",        "prepare", "run",      "finish", NULL};
  if (!gen_check_keys(g, map, "a kernel", keys)) return;
  gen_kernel k = *prototype;
  k.name = gen_str_at(g, map, "kernel_name", true);
  if (!k.name) return;
  k.at = gen_get(map, "kernel_name");
  k.device = gen_get(map, "device") ? gen_str_at(g, map, "device", false) : "cpu";
  k.rank = parse_rank(g, map);
  k.isa = gen_words_at(g, map, "isa", gen_isa_words);
  if (k.isa) check_isa(g, gen_get(map, "isa"), k.isa);
  k.flags = gen_words_at(g, map, "flags", gen_kernel_flag_words);
  parse_versions(g, map, &k);
  parse_accepts(g, map, c, &k);
  parse_functions(g, map, &k);
  gen_push(g, &g->kernels, k);
}

void gen_parse_kernels(gen *g, const gen_node *entry, const gen_op *op, const gen_aliases *aliases,
                       const gen_kernel *prototype) {
  const gen_node *list = gen_get(entry, "kernels");
  const context c = {op, aliases};
  if (list && list->kind != GEN_LIST) {
    gen_problem_add(g, list, "kernels must be a list");
    return;
  }
  for (int k = 0; k < gen_n_items(list); k++) parse_kernel(g, list->items[k], &c, prototype);
}
