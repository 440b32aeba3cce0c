/* Libraries by precedence: an operator that several describe becomes one with the kernels of all,
 * row by row; ranks follow from the order of the libraries; rows that nothing could choose between
 * are reported. */
#include <string.h>

#include "gen.h"

static bool same_op(const gen_op *a, const gen_op *b) {
  return strcmp(a->domain, b->domain) == 0 && strcmp(a->name, b->name) == 0;
}

/* The schema as it is printed: spaces, and defaults written in another way, make no difference. */
static const char *canonical(gen *g, const gen_op *op) {
  tn_text out;
  tn_text_init(&out, g->a);
  tn_schema_print(&op->schema, &out);
  const char *text = gen_format_text(g, "%s", tn_text_get(&out));
  tn_text_free(&out);
  return text;
}

/* What the library in front does not say is taken from the one behind it. */
static void take_missing(gen *g, gen_op *to, const gen_op *from) {
  if (!to->infer && !(to->flags & (TN_OP_SAME_AS_INPUT | TN_OP_BROADCAST))) {
    to->infer = from->infer;
    to->flags |= from->flags & (TN_OP_SAME_AS_INPUT | TN_OP_BROADCAST);
  }
  if (!to->flops && to->flops_per_element <= 0) {
    to->flops = from->flops;
    to->flops_per_element = from->flops_per_element;
  }
  if (!to->lower) to->lower = from->lower;
  if (!to->epilogue) to->epilogue = from->epilogue;
  if (!to->reference) to->reference = from->reference;
  for (int64_t k = 0; to->rules.n == 0 && k < from->rules.n; k++)
    gen_push(g, &to->rules, from->rules.data[k]);
  for (int64_t k = 0; to->cases.n == 0 && k < from->cases.n; k++)
    gen_push(g, &to->cases, from->cases.data[k]);
}

static void merge_op(gen *g, gen_op *first, gen_op *second) {
  const gen_node *at = first->at;
  if (first->library == second->library) {
    gen_problem_add(g, second->at, "%s is described at %s:%d:%d too%s%s", second->torch, at->path,
                    at->line, at->column, strcmp(first->torch, second->torch) ? ", as " : "",
                    strcmp(first->torch, second->torch) ? first->torch : "");
  } else if (strcmp(canonical(g, first), canonical(g, second)) != 0) {
    gen_problem_add(g, second->at,
                    "%s has another schema at %s:%d:%d, in a library before this one",
                    second->torch, at->path, at->line, at->column);
  }
  take_missing(g, first, second);
  second->header_only = true;
}

static void merge_ops(gen *g) {
  for (int64_t k = 0; k < g->ops.n; k++) {
    gen_op *first = &g->ops.data[k];
    if (!first->torch || first->header_only) continue;
    for (int64_t i = k + 1; i < g->ops.n && same_op(first, &g->ops.data[i]); i++) {
      if (g->ops.data[i].torch && !g->ops.data[i].header_only) merge_op(g, first, &g->ops.data[i]);
    }
    if (first->infer || first->lower || first->flags & (TN_OP_SAME_AS_INPUT | TN_OP_BROADCAST))
      continue;
    g->family = first->family;
    first->infer = gen_function_note(g, first->at, first->default_infer, GEN_CALL);
  }
}

/* `arg_meta: null`, or none: nothing but a row for all arguments. */
static bool is_for_all(const gen_kernel *k) {
  return !k->accepts.n || (k->accepts.n == 1 && strcmp(k->accepts.data[0].arg, "*") == 0);
}

/* Rows that name what they take come before those for everything, in all libraries; then the order
 * of the libraries counts; then the instruction set. */
static void set_rank(const gen *g, gen_kernel *k) {
  const int behind = g->n_libraries - 1 - k->library;
  int isa = 0;
  for (uint64_t bits = k->isa; bits; bits >>= 1) isa++;
  if (isa > 16) isa -= 16;
  k->rank = TN_RANK_PLUGIN + 10 * ((is_for_all(k) ? 0 : g->n_libraries) + behind) + isa;
}

static const gen_accept *find_accept(const gen_kernel *k, const char *arg) {
  for (int64_t i = 0; i < k->accepts.n; i++) {
    if (strcmp(k->accepts.data[i].arg, arg) == 0) return &k->accepts.data[i];
  }
  return NULL;
}

static bool same_accepts(const gen_kernel *a, const gen_kernel *b) {
  if (a->accepts.n != b->accepts.n) return false;
  for (int64_t i = 0; i < a->accepts.n; i++) {
    const gen_accept *x = &a->accepts.data[i], *y = find_accept(b, x->arg);
    if (!y || x->dtypes != y->dtypes || strcmp(x->layout, y->layout) || x->flags != y->flags ||
        x->rank_min != y->rank_min || x->rank_max != y->rank_max)
      return false;
  }
  return true;
}

static bool same_text(const char *a, const char *b) { return a && b ? !strcmp(a, b) : a == b; }

static bool same_row(const gen_kernel *a, const gen_kernel *b) {
  return strcmp(a->domain, b->domain) == 0 && strcmp(a->op, b->op) == 0 &&
         strcmp(a->device, b->device) == 0 && a->isa == b->isa &&
         (!a->until || b->since <= a->until) && (!b->until || a->since <= b->until) &&
         same_accepts(a, b);
}

/* Neither could refuse what the other takes, nor do their plans tell their costs apart. */
static bool is_conflict(const gen_kernel *a, const gen_kernel *b) {
  return a->rank == b->rank && !a->refuse && !b->refuse && same_text(a->plan, b->plan);
}

static void check_pair(gen *g, gen_kernel *a, gen_kernel *b) {
  if (!same_row(a, b)) return;
  const bool a_first = a->library != b->library           ? a->library < b->library
                       : strcmp(a->at->path, b->at->path) ? strcmp(a->at->path, b->at->path) < 0
                                                          : a->at->line <= b->at->line;
  gen_kernel *first = a_first ? a : b, *second = a_first ? b : a;
  if (first->library != second->library && same_text(first->run, second->run) &&
      same_text(first->name, second->name)) {
    second->dropped = true;
  } else if (is_conflict(a, b)) {
    gen_problem_add(
        g, second->at,
        "'%s' takes the same arguments of %s with the same rank %d as '%s' at %s:%d:%d: "
        "nothing could choose between them",
        second->name, gen_full_name(g, a->domain, a->op), a->rank, first->name, first->at->path,
        first->at->line, first->at->column);
  }
}

void gen_merge(gen *g) {
  merge_ops(g);
  for (int64_t k = 0; k < g->kernels.n; k++) {
    if (!g->kernels.data[k].ranked) set_rank(g, &g->kernels.data[k]);
  }
  for (int64_t k = 0; k < g->kernels.n; k++) {
    for (int64_t i = 0; i < k; i++) check_pair(g, &g->kernels.data[i], &g->kernels.data[k]);
  }
  int64_t n = 0;
  for (int64_t k = 0; k < g->kernels.n; k++) {
    gen_kernel *kernel = &g->kernels.data[k];
    if (kernel->dropped)
      tn_vec_free(g->a, &kernel->accepts);
    else
      g->kernels.data[n++] = *kernel;
  }
  g->kernels.n = n;
}
