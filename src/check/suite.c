/* The loop: operators, their cases, the dtypes that aliases stand for, kernels, forms, ISA
 * levels. */
#include <string.h>

#include "base/cpu.h"
#include "check/check.h"

enum { SWEEPS_PER_OP = 2, SWEEP_MAX_BYTES = 1 << 16, EPILOGUE_CASES = 3 };

typedef struct op_test {
  check_env *env;
  const tn_opdef *op;
  const tn_kerneldef *const *kernels;
  int32_t n_kernels;
  check_coverage *coverage; /* per kernel */
  int32_t sweeps_left;
  int64_t n_sessions, n_supported;
  tn_arena arena;
  const tn_case *line;
} op_test;

const char *check_op_name(const tn_opdef *op, char *buf, size_t size) {
  const bool main_domain = !*op->op.domain;
  snprintf(buf, size, "%s%s%s", op->op.domain, main_domain ? "" : "::", op->op.name);
  return buf;
}

static bool wanted(const char *filter, const char *text) { return !filter || strstr(text, filter); }
static bool exactly(const char *filter, const char *text) {
  return !filter || !strcmp(filter, text);
}

static bool level_wanted(const check_env *env, const check_level *level) {
  if (CHECK_THREADS_ONLY && !env->options.isa) return level == &env->levels[env->n_levels - 1];
  return exactly(env->options.isa, level->name);
}

/* ---- one problem ----------------------------------------------------------------------------- */

static void name_unit(const check_problem *p, const char *how, char *buf, size_t size) {
  char name[160];
  snprintf(buf, size, "%s (%s-%d) \"%s\"%s%s", how, check_op_name(p->op, name, sizeof name),
           p->op->op.since, p->line->text, *p->label ? " " : "", p->label);
}

static bool is_small(const check_problem *p) {
  return check_problem_bytes(p) <= SWEEP_MAX_BYTES && p->flops < 1e6;
}

static void try_level(op_test *t, int32_t kernel, check_subject *s, bool *full) {
  check_env *env = t->env;
  char how[300], unit[CHECK_TEXT];
  snprintf(how, sizeof how, "%s isa=%s%s%s", s->kernel->kernel.name, s->level->name,
           s->form.out[0] ? " layout=" : "", s->form.out[0] ? tn_layout_text(s->form.out[0]) : "");
  name_unit(s->problem, how, unit, sizeof unit);
  check_coverage *c = &t->coverage[kernel];
  if (env->options.bench) {
    if (s->problem->line->bench && *full && check_unit_begin(env, "%s", unit)) {
      check_bench(s);
      check_unit_end(env);
    }
    *full = false;
    return;
  }
  if (check_unit_begin(env, "%s", unit)) {
    s->expected = check_problem_expected(s->problem);
    if (s->expected)
      check_trial(s, *full && !s->problem->line->bench);
    else
      check_fail(env, "%s", s->problem->why);
    check_unit_end(env);
  }
  if (!c->claims_done) {
    c->claims_done = true;
    check_claims(s);
  }
  if (*full && !CHECK_THREADS_ONLY && is_small(s->problem) && c->epilogues_left > 0 &&
      check_epilogues(s)) {
    c->epilogue_done = true;
    c->epilogues_left--;
  }
  /* at the levels above it runs the same code, unless it asks for the level itself */
  *full = false;
}

/* The forms that a kernel asks for; `any` stands where it takes any layout. False: they cannot
 * hold these shapes. */
static bool make_form(const op_test *t, check_subject *s, tn_layout any, bool *out_any) {
  const check_problem *p = s->problem;
  for (uint32_t k = 0; k < p->n_inputs + p->n_outputs; k++) {
    const bool output = k >= p->n_inputs;
    const uint32_t index = output ? k - p->n_inputs : k;
    if (!output && !p->inputs[index]) continue;
    const tn_accept *row = output ? tn_kernel_accept_output(s->kernel, t->op, index, p->n_outputs)
                                  : tn_kernel_accept_input(s->kernel, t->op, index, p->n_formal);
    tn_layout layout = row ? row->layout : TN_PLAIN;
    const tn_tensor *type = output ? &p->outputs[index] : &p->inputs[index]->tensor;
    if (layout == TN_ANY_LAYOUT) {
      layout = any;
      *out_any = true;
      if (layout && type->rank < 3 && *t->op->op.domain == 0)
        return false; /* so does the planner */
    }
    if (!check_layout_fits(type, layout)) return false;
    *(output ? &s->form.out[index] : &s->form.in[index]) = layout;
  }
  return true;
}

static void try_form(op_test *t, check_problem *p, int32_t kernel, tn_layout any, bool *out_any) {
  check_subject s = {.problem = p, .kernel = t->kernels[kernel]};
  if (!make_form(t, &s, any, out_any)) return;
  bool full = true;
  for (int32_t k = 0; k < t->env->n_levels; k++) {
    s.level = &t->env->levels[k];
    const char *reason = check_subject_match(&s, &t->arena);
    if (reason) {
      t->coverage[kernel].reason = reason;
      continue;
    }
    check_coverage_note(&t->coverage[kernel], &s);
    if (level_wanted(t->env, s.level)) try_level(t, kernel, &s, &full);
  }
}

static void try_kernels(op_test *t, check_problem *p) {
  static const tn_layout layouts[] = {TN_PLAIN,      TN_CHANNELS_LAST, TN_BLOCKED(4),
                                      TN_BLOCKED(8), TN_BLOCKED(16),   TN_BLOCKED(32)};
  for (int32_t k = 0; k < t->n_kernels; k++) {
    if (!exactly(t->env->options.kernel, t->kernels[k]->kernel.name)) continue;
    bool any = false;
    try_form(t, p, k, TN_PLAIN, &any);
    t->coverage[k].takes_any = t->coverage[k].takes_any || any;
    for (size_t i = 1; i < sizeof layouts / sizeof *layouts && any; i++)
      try_form(t, p, k, layouts[i], &any);
  }
}

static void try_sessions(op_test *t, check_problem *p) {
  char unit[CHECK_TEXT];
  if (t->env->options.kernel || t->env->options.bench || p->no_model) return;
  for (int32_t k = 0; k < t->env->n_levels; k++) {
    check_level *level = &t->env->levels[k];
    char how[100];
    snprintf(how, sizeof how, "session isa=%s", level->name);
    name_unit(p, how, unit, sizeof unit);
    if (!level_wanted(t->env, level)) continue;
    t->n_sessions++;
    if (!check_unit_begin(t->env, "%s", unit)) {
      t->n_supported++; /* it may have been, before a crash */
      continue;
    }
    t->n_supported += check_session(p, level, k == 0 && !p->line->bench && !CHECK_THREADS_ONLY);
    check_unit_end(t->env);
  }
  if (!is_small(p) || t->sweeps_left <= 0 || t->env->options.isa || CHECK_THREADS_ONLY) return;
  t->sweeps_left--;
  name_unit(p, "failing allocation", unit, sizeof unit);
  if (!check_unit_begin(t->env, "%s", unit)) return;
  check_sweep(p);
  check_unit_end(t->env);
}

static void try_problem(void *arg, check_problem *p) {
  op_test *t = arg;
  if (!p->line || !p->line->has_graphs) try_kernels(t, p); /* graphs are run by sessions alone */
  try_sessions(t, p);
}

/* ---- cases ----------------------------------------------------------------------------------- */

static void add_alias(const tn_opdef *op, char *word, check_binding *bindings, int32_t *n) {
  if (tn_dtype_parse(word) != TN_NONE || *n == CHECK_MAX_ALIASES) return;
  for (int32_t k = 0; k < *n; k++)
    if (!strcmp(bindings[k].alias, word)) return;
  for (uint32_t k = 0; k < op->op.n_types; k++)
    if (!strcmp(op->op.types[k]->name, word)) bindings[(*n)++] = (check_binding){word, TN_NONE};
}

static int32_t find_aliases(const tn_opdef *op, const tn_case *line, check_binding *bindings) {
  int32_t n = 0;
  for (int32_t k = 0; k < line->n_inputs; k++)
    for (int32_t i = 0; i < line->inputs[k].n; i++)
      add_alias(op, line->inputs[k].items[i].type, bindings, &n);
  for (int32_t k = 0; k < line->n_attrs; k++)
    for (int32_t i = 0; i < line->attrs[k].n_specs; i++)
      add_alias(op, line->attrs[k].specs[i].type, bindings, &n);
  return n;
}

static uint64_t dtypes_of(const tn_opdef *op, const char *alias) {
  for (uint32_t k = 0; k < op->op.n_types; k++)
    if (!strcmp(op->op.types[k]->name, alias)) return op->op.types[k]->dtypes;
  return 0;
}

static void run_bound(op_test *t, const tn_case *line, const check_binding *bindings, int32_t n) {
  check_problem p;
  if (check_problem_open(t->env, t->op, line, bindings, n, &p)) {
    try_problem(t, &p);
  } else {
    char unit[CHECK_TEXT];
    name_unit(&p, "case", unit, sizeof unit);
    if (check_unit_begin(t->env, "%s", unit)) {
      check_fail(t->env, "%s", p.why);
      check_unit_end(t->env);
    }
  }
  check_problem_close(&p);
}

/* All dtypes for all aliases. */
static void expand(op_test *t, const tn_case *line, check_binding *bindings, int32_t n,
                   int32_t at) {
  if (at == n) {
    run_bound(t, line, bindings, n);
    return;
  }
  const uint64_t dtypes = dtypes_of(t->op, bindings[at].alias);
  for (uint32_t d = 1; d < TN_DTYPE_COUNT; d++) {
    if (!(dtypes & TN_MASK(d))) continue;
    bindings[at].dtype = d;
    expand(t, line, bindings, n, at + 1);
  }
}

static void run_case(op_test *t, const char *text) {
  const char *why = NULL;
  tn_case line;
  check_binding bindings[CHECK_MAX_ALIASES];
  if (!wanted(t->env->options.line, text)) return;
  if (check_case_parse(t->op, text, &t->arena, &line, &why)) {
    const int32_t n = find_aliases(t->op, &line, bindings);
    expand(t, &line, bindings, n, 0);
  } else if (check_unit_begin(t->env, "%s \"%s\"", t->op->op.name, text)) {
    check_fail(t->env, "the case cannot be read: %s", why);
    check_unit_end(t->env);
  }
}

/* ---- operators ------------------------------------------------------------------------------- */

static bool takes_graph(const tn_opdef *op) {
  for (int32_t k = 0; k < op->schema.n_args; k++)
    if (op->schema.args[k].base == TN_TYPE_GRAPH) return true;
  return false;
}

/* What only the whole can show: that every kernel was used, and that sessions run the operator. */
static void report(op_test *t) {
  const check_options *o = &t->env->options;
  char name[200];
  if (o->line || o->isa || o->bench) return;
  for (int32_t k = 0; k < t->n_kernels; k++) {
    if (t->kernels[k]->kernel.isa & ~tn_cpu_isa())
      check_skip(t->env, "%s: this machine lacks its instruction set", t->kernels[k]->kernel.name);
    else if (exactly(o->kernel, t->kernels[k]->kernel.name) && !takes_graph(t->op))
      check_coverage_report(t->env, &t->coverage[k], t->op, t->kernels[k]);
  }
  if (o->kernel || !t->n_sessions || t->n_supported) return;
  if (!check_unit_begin(t->env, "%s: sessions", check_op_name(t->op, name, sizeof name))) return;
  check_fail(t->env, "no case of it runs in a session");
  check_unit_end(t->env);
}

static void run_op(check_env *env, const void *arg) {
  op_test t = {.env = env, .op = arg, .sweeps_left = SWEEPS_PER_OP};
  char name[200];
  tn_arena_init(&t.arena, tn_default_allocator());
  t.n_kernels = tn_registry_kernels(env->runtime->registry, t.op, &t.kernels);
  t.coverage =
      check_need(tn_arena_alloc(&t.arena, ((uint64_t)t.n_kernels + 1) * sizeof *t.coverage));
  for (int32_t k = 0; k < t.n_kernels; k++) t.coverage[k].epilogues_left = EPILOGUE_CASES;
  if (!check_regions(env, t.op, try_problem, &t) && !t.op->op.n_cases &&
      (!t.n_kernels || takes_graph(t.op)))
    check_skip(env, "%s-%d: has no cases", check_op_name(t.op, name, sizeof name), t.op->op.since);
  for (uint32_t k = 0; k < t.op->op.n_cases; k++) run_case(&t, t.op->op.cases[k]);
  report(&t);
  tn_arena_clear(&t.arena);
}

/* The plug-in under test offers the operator, or kernels for it. */
static bool is_of_plugin(const check_env *env, const tn_opdef *op) {
  const tn_kerneldef *const *kernels;
  const int32_t n = tn_registry_kernels(env->runtime->registry, op, &kernels);
  const int32_t last = tn_registry_n_plugins(env->runtime->registry) - 1;
  bool found = op->owner && op->owner->index == last;
  for (int32_t k = 0; k < n; k++)
    found = found || (kernels[k]->owner && kernels[k]->owner->index == last);
  return found;
}

bool check_op_wanted(const check_env *env, const tn_opdef *op) {
  char name[200];
  check_op_name(op, name, sizeof name);
  if (env->options.plugin && !is_of_plugin(env, op)) return false;
  return exactly(env->options.op, name) &&
         (!env->options.family || check_family_has(env->options.family, name));
}

void check_suite(check_env *env) {
  const tn_registry *r = env->runtime->registry;
  if (env->options.bench) check_calibrate(env);
  for (int32_t k = 0; k < tn_registry_n_ops(r); k++)
    if (check_op_wanted(env, tn_registry_op_at(r, k)))
      check_isolate(env, run_op, tn_registry_op_at(r, k));
}
