/* Kernel entries: rank, instruction sets, versions and functions; what they accept is in
 * accept.c. */
#include <stdio.h>
#include <string.h>

#include "gen.h"

typedef struct context {
  const gen_op *op; /* NULL: described elsewhere */
  const gen_aliases *aliases;
  const gen_order_aliases *orders;
} context;

/* Sets rank and ranked. Kernels of a plug-in that say nothing are ranked by their library. */
static void parse_rank(gen *g, const gen_node *map, gen_kernel *k) {
  const gen_node *library = gen_get(map, "library"), *rank = gen_get(map, "rank");
  k->rank = TN_RANK_PORTABLE;
  k->ranked = library || rank || !g->plugin.name;
  if (library && rank) {
    gen_problem_add(
        g, map, "a kernel has one of the keys library (portable, optimized) and rank, not both");
  } else if (rank) {
    k->rank = gen_int_at(g, map, "rank", 1, 1000000, TN_RANK_PORTABLE);
  } else if (library) {
    const char *name = gen_str(g, library, "library");
    if (strcmp(name, "optimized") == 0)
      k->rank = TN_RANK_OPTIMIZED;
    else if (strcmp(name, "portable") != 0)
      gen_problem_add(g, library, "library must be portable or optimized (else say rank: N)");
  } else if (k->ranked) {
    gen_problem_add(g, map, "a kernel has one of the keys library (portable, optimized) and rank");
  }
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
    k->run = gen_function_note(g, gen_get(map, "run"),
                               gen_c_name(g, gen_str_at(g, map, "run", true)), GEN_RUN);
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
  const char *name = gen_str_at(g, map, "kernel_name", true);
  if (!name) return;
  k.name = gen_c_name(g, name);
  k.at = gen_get(map, "kernel_name");
  k.device = gen_get(map, "device") ? gen_str_at(g, map, "device", false) : "cpu";
  k.library = g->library;
  parse_rank(g, map, &k);
  k.isa = gen_words_at(g, map, "isa", gen_isa_words);
  if (k.isa) check_isa(g, gen_get(map, "isa"), k.isa);
  k.flags = gen_words_at(g, map, "flags", gen_kernel_flag_words);
  parse_versions(g, map, &k);
  gen_parse_accepts(g, map, c->op, c->aliases, c->orders, &k);
  parse_functions(g, map, &k);
  gen_push_rows(g, &k, c->op && c->op->torch && !gen_get(map, "run"));
  tn_vec_free(g->a, &k.accepts);
}

void gen_parse_kernels(gen *g, const gen_node *entry, const gen_op *op, const gen_aliases *aliases,
                       const gen_kernel *prototype) {
  const gen_node *list = gen_get(entry, "kernels");
  gen_order_aliases orders = {NULL, 0, 0};
  const context c = {op, aliases, &orders};
  gen_parse_orders(g, entry, &orders);
  if (list && list->kind != GEN_LIST && !gen_is_null(list))
    gen_problem_add(g, list, "kernels must be a list");
  else
    for (int k = 0; list && k < list->n; k++) parse_kernel(g, list->items[k], &c, prototype);
  tn_vec_free(g->a, &orders);
}
