/* Kernel entries: rank, instruction sets, versions and functions; what they accept is in
 * accept.c. An entry is one kernel for each of its instruction sets. */
#include <stdio.h>
#include <string.h>

#include "gen.h"

typedef struct context {
  const gen_op *op; /* NULL: described elsewhere */
  const gen_aliases *aliases;
  const gen_order_aliases *orders;
} context;

/* Sets rank and ranked. The rank follows from the instruction set if the entry does not say it; in
 * a plug-in, from the library, too. */
static void parse_rank(gen *g, const gen_node *map, gen_kernel *k) {
  const int rank = strcmp(k->device, "cpu") ? TN_RANK_OPTIMIZED
                   : !k->isa                ? TN_RANK_PORTABLE
                   : gen_is_wide(k->isa)    ? TN_RANK_OPTIMIZED + 10
                                            : TN_RANK_OPTIMIZED;
  k->ranked = gen_get(map, "rank") || !g->plugin.name;
  k->rank = gen_int_at(g, map, "rank", 1, 1000000, rank);
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
  const uint64_t riscv = TN_ISA_RVV | TN_ISA_RVV_F16, arm = isa & ~riscv & ~UINT64_C(0xffff);
  if (!!(isa & UINT64_C(0xffff)) + !!arm + !!(isa & riscv) > 1) {
    gen_problem_add(
        g, at, "no machine has all of these instruction sets: they are of different architectures");
  }
}

/* One of the list at `isa`: `avx2`, `c` for none, or `avx512+avx512_bf16` for what needs both.
 * {isa} is the last word. */
static uint64_t parse_isa(gen *g, const gen_node *at) {
  const char *text = gen_str(g, at, "isa");
  uint64_t isa = 0;
  g->isa_word = text;
  if (strcmp(text, "c") == 0) return 0;
  for (const char *plus; (plus = strchr(g->isa_word, '+')); g->isa_word = plus + 1) {
    const char *word = gen_format_text(g, "%.*s", (int)(plus - g->isa_word), g->isa_word);
    isa |= gen_word_value(g, at, word, "isa", gen_isa_words);
  }
  isa |= gen_word_value(g, at, g->isa_word, "isa", gen_isa_words);
  check_isa(g, at, isa);
  return isa;
}

static void parse_functions(gen *g, const gen_node *map, gen_kernel *k) {
  k->refuse = gen_function_at(g, map, "refuse", GEN_REFUSE);
  k->plan = gen_function_at(g, map, "plan", GEN_PLAN);
  k->prepare = gen_function_at(g, map, "prepare", GEN_CALL);
  k->finish = gen_function_at(g, map, "finish", GEN_FINISH);
  k->record = gen_function_at(g, map, "record", GEN_RECORD);
  if (k->record) return;
  if (gen_get(map, "run"))
    k->run = gen_function_note(g, gen_get(map, "run"),
                               gen_c_name(g, gen_str_at(g, map, "run", true)), GEN_RUN);
  else
    k->run = gen_function_note(g, gen_get(map, "kernel_name"), k->name, GEN_RUN);
}

/* The kernel of an entry that the instruction sets in k are for. */
static void parse_kernel(gen *g, const gen_node *map, const context *c, gen_kernel k) {
  const char *name = gen_str_at(g, map, "kernel_name", true);
  if (!name) return;
  k.name = gen_c_name(g, name);
  k.at = gen_get(map, "kernel_name");
  k.device = gen_get(map, "device") ? gen_str_at(g, map, "device", false) : "cpu";
  k.library = g->library;
  parse_rank(g, map, &k);
  k.flags = gen_words_at(g, map, "flags", gen_kernel_flag_words);
  parse_versions(g, map, &k);
  gen_parse_accepts(g, map, c->op, c->aliases, c->orders, &k);
  parse_functions(g, map, &k);
  if (k.record && !strcmp(k.device, "cpu"))
    gen_problem_add(g, map, "a kernel with 'record' names its device: 'gpu', or a driver");
  gen_push_rows(g, &k, c->op && c->op->torch && !gen_get(map, "run"));
  tn_vec_free(g->a, &k.accepts);
}

/* One kernel for each instruction set of the list. */
static void parse_row(gen *g, const gen_node *map, const context *c, const gen_kernel *prototype) {
  static const char *const keys[] = {"kernel_name", "rank",  "isa",      "device", "since",
                                     "until",       "flags", "arg_meta", "refuse", "plan",
                                     "prepare",     "run",   "finish",   "record", NULL};
  if (!gen_check_keys(g, map, "a kernel", keys)) return;
  const gen_node *list = gen_get(map, "isa"), *name = gen_get(map, "kernel_name");
  const int n = gen_n_items(list);
  if (n > 1 && name && name->kind == GEN_SCALAR && !strstr(name->text, "{isa}"))
    gen_problem_add(g, name, "kernels for several instruction sets have {isa} in their name");
  gen_kernel k = *prototype;
  for (int i = 0; i < n; i++) {
    k.isa = parse_isa(g, gen_item(list, i));
    parse_kernel(g, map, c, k);
  }
  g->isa_word = NULL;
  if (!n) parse_kernel(g, map, c, k);
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
    for (int k = 0; list && k < list->n; k++) parse_row(g, list->items[k], &c, prototype);
  tn_vec_free(g->a, &orders);
}
