/* The loop: operators, their cases, the dtypes that aliases stand for, kernels, forms, ISA
 * levels. */
#include <string.h>

#include "base/cpu.h"
#include "base/map.h"
#include "harness/harness.h"
#include "harness/vet.h"

enum { SWEEPS_PER_OP = 2, SWEEP_MAX_BYTES = 1 << 16, EPILOGUE_CASES = 3 };

typedef struct op_test {
  check_env *env;
  const tn_opdef *op;
  const tn_kerneldef *const *kernels;
  int32_t n_kernels;
  check_coverage *coverage; /* per kernel */
  int32_t sweeps_left;
  int64_t n_sessions, n_supported;
  int64_t n_taken; /* problems that inference takes */
  bool unloaded;   /* unloading has been tried */
  bool generic;    /* the cases were made up: inference may refuse them */
  int32_t n_generic;
  bool untested_only; /* kernels that have taken no case yet, and nothing else */
  tn_arena arena;
  const tn_case *line;
} op_test;

const char *check_op_name(const tn_opdef *op, char *buf, size_t size) {
  const bool main_domain = !*op->op.domain;
  snprintf(buf, size, "%s%s%s", op->op.domain, main_domain ? "" : "::", op->op.name);
  return buf;
}

static bool holds(const char *filter, const char *text) { return !filter || strstr(text, filter); }
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
  snprintf(buf, size, "%s%s(%s-%d) \"%s\"%s%s", how, *how ? " " : "",
           check_op_name(p->op, name, sizeof name), p->op->op.since, p->line->text,
           *p->label ? " " : "", p->label);
}

static void enter_op(const op_test *t) {
  char name[200];
  check_part(t->env, "op '%s'", check_op_name(t->op, name, sizeof name));
}
static void enter_kernel(const op_test *t, int32_t kernel) {
  check_part(t->env, "kernel '%s'", t->kernels[kernel]->kernel.name);
}

static bool is_small(const check_problem *p) {
  return check_problem_bytes(p) <= SWEEP_MAX_BYTES && p->flops < 1e6;
}

/* The plug-in under test is the last one. */
static bool is_of_plugin(const check_env *env, const tn_part_owner *owner) {
  return owner && owner->index == tn_registry_n_plugins(env->runtime->registry) - 1;
}

static bool op_is_only(const op_test *t) {
  char name[200];
  return exactly(t->env->options.only, check_op_name(t->op, name, sizeof name));
}

static bool kernel_wanted(const op_test *t, int32_t kernel) {
  const tn_kerneldef *def = t->kernels[kernel];
  if (t->env->limits && !is_of_plugin(t->env, def->owner)) return false;
  if (!op_is_only(t) && !exactly(t->env->options.only, def->kernel.name)) return false;
  return exactly(t->env->options.kernel, def->kernel.name);
}

static void try_level(op_test *t, int32_t kernel, check_subject *s, bool *full) {
  check_env *env = t->env;
  char how[300], unit[CHECK_TEXT];
  snprintf(how, sizeof how, "isa=%s%s%s", s->level->name, s->form.out[0] ? " layout=" : "",
           s->form.out[0] ? tn_layout_text(s->form.out[0]) : "");
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
  enter_kernel(t, kernel);
  if (check_unit_begin(env, "%s", unit)) {
    const bool no_oracle = check_no_oracle(s->problem);
    if (no_oracle && !s->problem->agreed) s->problem->agreed = check_self_expected(s);
    s->expected = no_oracle ? s->problem->agreed : check_problem_expected(s->problem);
    if (s->expected || (no_oracle && check_unit_ok(env)))
      check_trial(s, *full && !s->problem->line->bench);
    else if (check_unit_ok(env))
      check_fail(env, "%s", s->problem->why);
    check_unit_end(env);
  }
  if (env->limits && *full && check_unit_begin(env, "%s, repeated", unit)) {
    check_repeat(s);
    check_unit_end(env);
  }
  if (!c->claims_done) {
    c->claims_done = true;
    check_claims(s);
  }
  if (*full && !CHECK_THREADS_ONLY && is_small(s->problem) &&
      check_epilogues(s, c->epilogues_left > 0)) {
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

/* refuse() may crash, too. */
static const char *match(op_test *t, const check_subject *s, int32_t kernel, bool *out_own) {
  char unit[CHECK_TEXT];
  name_unit(s->problem, "", unit, sizeof unit);
  enter_kernel(t, kernel);
  const bool fresh = check_unit_begin(t->env, "%s", unit);
  if (!fresh && check_unit_lost(t->env)) return "a test of it crashed, which is told above";
  check_doing(t->env, "refuse()");
  const char *reason = check_subject_match(s, &t->arena, out_own);
  if (fresh) check_step_end(t->env);
  return reason;
}

static void try_form(op_test *t, check_problem *p, int32_t kernel, tn_layout any, bool *out_any) {
  check_subject s = {.problem = p, .kernel = t->kernels[kernel]};
  if (!make_form(t, &s, any, out_any)) return;
  bool full = true;
  for (int32_t k = 0; k < t->env->n_levels; k++) {
    s.level = &t->env->levels[k];
    check_coverage *c = &t->coverage[kernel];
    bool own = false;
    const char *reason = match(t, &s, kernel, &own);
    if (reason) {
      if (own || !c->reason_is_own) c->reason = reason;
      c->reason_is_own = c->reason_is_own || own;
      continue;
    }
    check_coverage_note(c, &s);
    if (level_wanted(t->env, s.level)) try_level(t, kernel, &s, &full);
  }
}

static void try_kernels(op_test *t, check_problem *p) {
  static const tn_layout layouts[] = {TN_PLAIN,      TN_CHANNELS_LAST, TN_BLOCKED(4),
                                      TN_BLOCKED(8), TN_BLOCKED(16),   TN_BLOCKED(32)};
  for (int32_t k = 0; k < t->n_kernels; k++) {
    if (!kernel_wanted(t, k) || (t->untested_only && t->coverage[k].n_accepted)) continue;
    if (t->kernels[k]->device) continue; /* it has no run() */
    bool any = false;
    try_form(t, p, k, TN_PLAIN, &any);
    t->coverage[k].takes_any = t->coverage[k].takes_any || any;
    for (size_t i = 1; i < sizeof layouts / sizeof *layouts && any; i++)
      try_form(t, p, k, layouts[i], &any);
  }
}

/* The operator itself or a rewrite that starts from it. */
static bool sessions_wanted(const op_test *t) {
  const tn_rewritedef *const *rewrites;
  const int32_t n = tn_registry_rewrites(t->env->runtime->registry, t->op, &rewrites);
  bool wanted = op_is_only(t);
  for (int32_t k = 0; k < n; k++)
    wanted = wanted || exactly(t->env->options.only, rewrites[k]->rewrite.name);
  return wanted;
}

/* True if the operator is supported for the problem's types, as far as that is known. */
static bool try_levels(op_test *t, check_problem *p) {
  bool any = false;
  for (int32_t k = 0; k < t->env->n_levels; k++) {
    check_level *level = &t->env->levels[k];
    char how[100], unit[CHECK_TEXT];
    snprintf(how, sizeof how, "session isa=%s", level->name);
    name_unit(p, how, unit, sizeof unit);
    if (!level_wanted(t->env, level)) continue;
    t->n_sessions++;
    bool supported = true; /* it may have been, before a crash */
    if (check_unit_begin(t->env, "%s", unit)) {
      supported = check_session(p, level, k == 0 && !p->line->bench && !CHECK_THREADS_ONLY);
      check_unit_end(t->env);
    }
    t->n_supported += supported;
    any = any || supported;
  }
  return any;
}

/* Once for each operator, with the first case that runs. */
static void try_unload(op_test *t, check_problem *p) {
  char unit[CHECK_TEXT];
  if (!t->env->options.plugin || t->unloaded || CHECK_THREADS_ONLY) return;
  t->unloaded = true;
  name_unit(p, "unloading", unit, sizeof unit);
  if (!check_unit_begin(t->env, "%s", unit)) return;
  check_unload(p, is_of_plugin(t->env, t->op->owner));
  check_unit_end(t->env);
}

/* kernel: what has to run it; NULL: what is selected. */
static void try_on_device(op_test *t, check_problem *p, const char *kernel) {
  check_level *level = &t->env->levels[t->env->n_levels - 1];
  char how[200], unit[CHECK_TEXT], name[160];
  snprintf(how, sizeof how, "session device=%s", t->env->options.device);
  name_unit(p, how, unit, sizeof unit);
  *p->pin = 0;
  if (kernel)
    snprintf(p->pin, sizeof p->pin, "%s=%s", check_op_name(t->op, name, sizeof name), kernel);
  if (!check_unit_begin(t->env, "%s%s%s", unit, kernel ? " " : "", kernel ? kernel : "")) return;
  if (check_session(p, level, false))
    check_unit_end(t->env);
  else
    check_step_end(t->env);
}

/* The case as a model on the device, twice; with a plug-in by each of its kernels. What is refused
 * is said with -v. */
static void try_device(op_test *t, check_problem *p) {
  const bool all = !t->env->options.plugin;
  if (p->no_model) return;
  enter_op(t);
  for (int32_t k = 0; k < t->n_kernels; k++) {
    const tn_kerneldef *kernel = t->kernels[k];
    if (!kernel->device || !kernel_wanted(t, k)) continue;
    if (all || is_of_plugin(t->env, kernel->owner))
      try_on_device(t, p, all ? NULL : kernel->kernel.name);
    if (all) return;
  }
}

static bool try_sessions(op_test *t, check_problem *p) {
  char unit[CHECK_TEXT];
  if (t->env->options.kernel || t->env->options.bench || p->no_model || t->untested_only)
    return false;
  if (!sessions_wanted(t)) return false;
  enter_op(t);
  const bool supported = try_levels(t, p);
  if (supported) try_unload(t, p);
  if (!is_small(p) || t->sweeps_left <= 0 || t->env->options.isa || CHECK_THREADS_ONLY ||
      !supported)
    return supported;
  t->sweeps_left--;
  name_unit(p, "failing allocation", unit, sizeof unit);
  if (!check_unit_begin(t->env, "%s", unit)) return true;
  check_sweep(p);
  check_unit_end(t->env);
  return true;
}

static void try_problem(void *arg, check_problem *p) {
  op_test *t = arg;
  if (t->env->options.device) {
    try_device(t, p);
    return;
  }
  const bool early = !tn_op_infers(&t->op->op); /* inference has taken nothing yet */
  if (t->env->limits && !t->untested_only && op_is_only(t) && is_of_plugin(t->env, t->op->owner)) {
    enter_op(t);
    check_infer(p);
    if (is_small(p)) check_op_claims(p);
  }
  if (!p->line || !p->line->has_graphs) try_kernels(t, p); /* graphs are run by sessions alone */
  t->n_taken += try_sessions(t, p) || !early;
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
  enter_op(t);
  if (check_problem_open(t->env, t->op, line, bindings, n, t->generic, &p)) try_problem(t, &p);
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

/* Some of the large cases: which ones, the seed and their text say. */
static bool large_wanted(const check_options *o, const char *text) {
  if (o->small) return false;
  return !o->large || tn_hash_bytes(text, strlen(text), o->seed) % o->large == 0;
}

static void run_case(op_test *t, const char *text) {
  const char *why = NULL;
  tn_case line;
  check_binding bindings[CHECK_MAX_ALIASES];
  if (!holds(t->env->options.line, text)) return;
  if (check_case_parse(t->op, text, &t->arena, &line, &why)) {
    if (line.bench && !large_wanted(&t->env->options, text)) return;
    const int32_t n = find_aliases(t->op, &line, bindings);
    expand(t, &line, bindings, n, 0);
    return;
  }
  enter_op(t);
  if (t->generic || !check_unit_begin(t->env, "\"%s\"", text)) return;
  check_fail(t->env, "the case cannot be read: %s", why);
  check_unit_end(t->env);
}

/* ---- cases that nobody wrote ------------------------------------------------------------------
 * */

enum { ENOUGH = 6 };

/* False: enough of them have been run. */
static bool run_generic(void *arg, const char *text) {
  op_test *t = arg;
  const int64_t before = t->n_taken;
  run_case(t, check_need(tn_arena_str(&t->arena, text)));
  t->n_generic += t->n_taken > before;
  return t->n_generic < ENOUGH;
}

static bool has_untested(const op_test *t) {
  for (int32_t k = 0; k < t->n_kernels; k++)
    if (kernel_wanted(t, k) && !t->kernels[k]->device && !t->coverage[k].n_accepted) return true;
  return false;
}

/* Operators without cases, and kernels that take none of them, are run with what the schema allows.
 * */
static void run_generics(op_test *t) {
  const bool no_cases = !t->op->op.n_cases;
  if (!t->env->limits || (!no_cases && !has_untested(t))) return;
  t->generic = true;
  t->untested_only = !no_cases;
  const char *why = check_generic(t->op, t->kernels, t->n_kernels, run_generic, t);
  enter_op(t);
  if (no_cases && !t->n_generic)
    check_skip(t->env, "not checked: it has no cases, and none could be made up%s%s",
               why ? ": " : "", why ? why : "");
  else if (no_cases)
    check_skip(t->env, "it has no cases: %d were made up from its schema", t->n_generic);
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
  if (o->line || o->isa || o->bench || o->small || o->large || o->device) return;
  for (int32_t k = 0; k < t->n_kernels; k++) {
    if (!kernel_wanted(t, k)) continue;
    enter_kernel(t, k);
    if (t->kernels[k]->device)
      check_skip(t->env, "not checked: programs of a device do its work");
    else if (t->kernels[k]->kernel.isa & ~tn_cpu_isa())
      check_skip(t->env, "not checked: this machine lacks its instruction set");
    else if (!takes_graph(t->op))
      check_coverage_report(t->env, &t->coverage[k], t->op, t->kernels[k]);
  }
  if (o->kernel || !t->n_sessions || t->n_supported || t->generic) return;
  enter_op(t);
  if (!check_unit_begin(t->env, "sessions")) return;
  check_fail(t->env, "no case of it runs in a session");
  check_unit_end(t->env);
}

static bool has_fitting(const op_test *t) {
  for (int32_t k = 0; k < t->n_kernels; k++)
    if (kernel_wanted(t, k)) return true;
  return false;
}

static void run_cases(op_test *t) {
  const bool graphs = takes_graph(t->op);
  enter_op(t);
  if (t->env->limits && !t->op->op.reference)
    check_skip(t->env,
               "not checked: no reference; its kernels' results are compared with each other");
  if (!check_regions(t->env, t->op, try_problem, t) && !t->op->op.n_cases &&
      (!t->n_kernels || graphs))
    check_skip(t->env, "not checked: version %d has no cases", t->op->op.since);
  for (uint32_t k = 0; k < t->op->op.n_cases; k++) run_case(t, t->op->op.cases[k]);
  if (!graphs) run_generics(t);
  report(t);
}

/* Those of the plug-in, once each. */
static void run_rewrites(op_test *t) {
  const tn_rewritedef *const *rewrites;
  const int32_t n = tn_registry_rewrites(t->env->runtime->registry, t->op, &rewrites);
  if (!t->env->limits || t->op->op.until || CHECK_THREADS_ONLY) return;
  for (int32_t k = 0; k < n; k++)
    if (is_of_plugin(t->env, rewrites[k]->owner) &&
        (op_is_only(t) || exactly(t->env->options.only, rewrites[k]->rewrite.name)))
      check_rewrite(t->env, t->op, rewrites[k]);
}

void check_op(check_env *env, const tn_opdef *op) {
  op_test t = {.env = env, .op = op, .sweeps_left = SWEEPS_PER_OP};
  tn_arena_init(&t.arena, tn_default_allocator());
  t.n_kernels = tn_registry_kernels(env->runtime->registry, t.op, &t.kernels);
  t.coverage =
      check_need(tn_arena_alloc(&t.arena, ((uint64_t)t.n_kernels + 1) * sizeof *t.coverage));
  for (int32_t k = 0; k < t.n_kernels; k++) t.coverage[k].epilogues_left = EPILOGUE_CASES;
  if (!env->limits || sessions_wanted(&t) || has_fitting(&t)) run_cases(&t);
  run_rewrites(&t);
  tn_arena_clear(&t.arena);
}

static void run_op(check_env *env, const void *arg) { check_op(env, arg); }

/* The plug-in under test offers the operator, or kernels or rewrites for it. */
static bool concerns_plugin(const check_env *env, const tn_opdef *op) {
  const tn_registry *r = env->runtime->registry;
  const tn_kerneldef *const *kernels;
  const tn_rewritedef *const *rewrites;
  const int32_t n = tn_registry_kernels(r, op, &kernels);
  const int32_t n_rewrites = tn_registry_rewrites(r, op, &rewrites);
  bool found = is_of_plugin(env, op->owner);
  for (int32_t k = 0; k < n; k++) found = found || is_of_plugin(env, kernels[k]->owner);
  for (int32_t k = 0; k < n_rewrites; k++) found = found || is_of_plugin(env, rewrites[k]->owner);
  return found;
}

bool check_op_wanted(const check_env *env, const tn_opdef *op) {
  char name[200];
  check_op_name(op, name, sizeof name);
  if (env->options.plugin && !concerns_plugin(env, op)) return false;
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
