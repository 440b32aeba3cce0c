/* Vetting of a plug-in: what it says of itself, how it starts and stops, then every operator,
 * kernel, rewrite and format it offers. Each stage runs in child processes; the parent never maps
 * the file. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "harness/harness.h"
#include "harness/vet.h"

enum { SECONDS = 20 };

typedef struct vet {
  check_env env;
  const check_job *job;
  check_verdict verdict;
  check_limits limits;
  char path[PATH_MAX];
  bool lost_records, unusable; /* unusable: init() fails */
  TN_VEC(int64_t) ops; /* indices in the registry of a runtime that has loaded the plug-in */
  int64_t first_format, n_formats;
  bool has_devices; /* compilers, dispatchers or drivers */
} vet;

/* ---- records --------------------------------------------------------------------------------- */

static void receive(check_env *env, const char *const *fields, int n) {
  vet *v = env->job;
  if (!strcmp(fields[0], "loadable")) {
    v->verdict.loadable = true;
  } else if (!strcmp(fields[0], "unusable")) {
    v->unusable = true;
  } else if (!strcmp(fields[0], "work") && n == 2) {
    if (tn_vec_push(tn_default_allocator(), &v->ops, strtoll(fields[1], NULL, 10)))
      check_die("out of memory");
  } else if (!strcmp(fields[0], "device")) {
    v->has_devices = true;
    v->job->receive(v->job->self, fields, n);
  } else if (!strcmp(fields[0], "formats") && n == 3) {
    v->first_format = strtoll(fields[1], NULL, 10);
    v->n_formats = strtoll(fields[2], NULL, 10);
  } else {
    v->verdict.breaches += !strcmp(fields[0], "breach");
    v->verdict.notes += !strcmp(fields[0], "note");
    v->job->receive(v->job->self, fields, n);
  }
}

static void progress(check_env *env) {
  const vet *v = env->job;
  const check_totals *t = env->totals;
  char part[CHECK_PART], text[CHECK_TEXT];
  if (!v->job->progress) return;
  snprintf(part, sizeof part, "%.*s", CHECK_PART - 1, t->part); /* the child is writing to them */
  snprintf(text, sizeof text, "%.*s", CHECK_TEXT - 1, t->text);
  v->job->progress(v->job->self, part, text);
}

/* ---- stages ---------------------------------------------------------------------------------- */

static bool only(const vet *v, const char *name) {
  return !v->job->only || !strcmp(v->job->only, name);
}

static void examine_shallow(check_env *env, const void *arg) { check_examine(env, arg, false); }
static void examine_deep(check_env *env, const void *arg) {
  env->around = check_around_new();
  check_examine(env, arg, true);
}

static void live(check_env *env, const void *arg) {
  env->around = check_around_new();
  check_life(env, arg);
}

static void open_env(check_env *env, const char *path) {
  env->around = check_around_new();
  check_part(env, "init and shutdown");
  env->options.plugin = path;
  env->options.only = ((const vet *)env->job)->job->only;
  check_doing(env, "init()");
  check_open(env, NULL);
  check_around_allow(env, check_makes_threads(env->runtime));
  check_doing(env, "%s", "");
}

static void close_env(check_env *env) {
  check_part(env, "init and shutdown");
  if (!check_unit_begin(env, "after the tests")) return;
  check_doing(env, "shutdown()");
  check_close(env);
  check_around_allow(env, false);
  check_around_keys(env);
  check_step_end(env);
}

static void list_formats(check_env *env) {
  tn_runtime_options options = TN_RUNTIME_OPTIONS_INIT;
  tn_runtime *without = NULL;
  char first[24], n[24];
  options.n_threads = 1;
  options.flags = TN_RUNTIME_NO_DISCOVERY;
  if (tn_runtime_create(&options, NULL, &without)) check_die("no runtime");
  snprintf(first, sizeof first, "%d", tn_runtime_n_formats(without));
  snprintf(n, sizeof n, "%d", tn_runtime_n_formats(env->runtime));
  const char *fields[] = {"formats", first, n};
  check_tell(env, fields, 3);
  tn_runtime_destroy(without);
}

/* That there is a compiler, a dispatcher or a driver of this name. */
static void tell_device(check_env *env, const char *name) {
  const char *fields[] = {"device", name};
  check_tell(env, fields, 2);
}

/* What is to be done, by its place in a runtime that has loaded the plug-in last. */
static void list(check_env *env, const void *arg) {
  char index[24];
  open_env(env, arg);
  const tn_registry *r = env->runtime->registry;
  for (int32_t k = 0; k < tn_registry_n_ops(r); k++) {
    if (!check_op_wanted(env, tn_registry_op_at(r, k))) continue;
    snprintf(index, sizeof index, "%d", k);
    const char *fields[] = {"work", index};
    check_tell(env, fields, 2);
  }
  list_formats(env);
  for (int32_t k = 0; k < tn_registry_n_compilers(r); k++)
    tell_device(env, tn_registry_compiler_at(r, k)->compiler.name);
  for (int32_t k = 0; k < tn_registry_n_dispatchers(r); k++)
    tell_device(env, tn_registry_dispatcher_at(r, k)->dispatcher.name);
  for (int32_t k = 0; k < tn_registry_n_drivers(r); k++)
    if (!tn_registry_driver_at(r, k)->owner->is_builtin)
      tell_device(env, tn_registry_driver_at(r, k)->driver.name);
  close_env(env);
}

static void try_formats(check_env *env, const void *arg) {
  const vet *v = arg;
  open_env(env, v->path);
  for (int64_t k = v->first_format; k < v->n_formats; k++) {
    const tn_format *format = tn_registry_format_at(env->runtime->registry, (int32_t)k);
    if (format && only(v, format->name)) check_format(env, format);
  }
  close_env(env);
}

static void try_devices(check_env *env, const void *arg) {
  const vet *v = arg;
  open_env(env, v->path);
  const tn_registry *r = env->runtime->registry;
  for (int32_t k = 0; k < tn_registry_n_compilers(r); k++) {
    const tn_compiler *c = &tn_registry_compiler_at(r, k)->compiler;
    if (only(v, c->name)) check_compiler(env, c);
  }
  for (int32_t k = 0; k < tn_registry_n_dispatchers(r); k++) {
    const tn_dispatcher *d = &tn_registry_dispatcher_at(r, k)->dispatcher;
    if (only(v, d->name)) check_dispatcher(env, d);
  }
  for (int32_t k = 0; k < tn_registry_n_drivers(r); k++) {
    const tn_driverdef *def = tn_registry_driver_at(r, k);
    if (!def->owner->is_builtin && only(v, def->driver.name)) check_driver(env, &def->driver);
  }
  close_env(env);
}

static void try_op(check_env *env, const void *arg) {
  const int64_t *index = arg;
  const vet *v = env->job;
  open_env(env, v->path);
  const tn_opdef *op = tn_registry_op_at(env->runtime->registry, (int32_t)*index);
  /* one that comes and goes must not take anything from those that stay */
  check_doing(env, "init() or shutdown() of another runtime");
  tn_runtime_destroy(check_runtime_new(env, UINT64_MAX, 1, NULL, NULL));
  check_doing(env, "%s", "");
  if (op) check_op(env, op);
  close_env(env);
}

/* ---- the job --------------------------------------------------------------------------------- */

static void open_job(vet *v, const check_job *job) {
  memset(v, 0, sizeof *v);
  v->job = job;
  v->limits = (check_limits){.unit_seconds = job->seconds > 0 ? job->seconds : SECONDS,
                             .memory_bytes = UINT64_C(8) << 30,
                             .file_bytes = UINT64_C(16) << 20,
                             .cpu_seconds = 1200};
  if (!realpath(job->path, v->path)) snprintf(v->path, sizeof v->path, "%s", job->path);
  v->env = (check_env){.totals = check_totals_new(),
                       .limits = &v->limits,
                       .pipe_out = -1,
                       .receive = receive,
                       .progress = progress,
                       .job = v};
}

/* Counts are kept where parent and child both see them; what was found comes through a pipe, which
 * a plug-in may close, or take for a file of its own. */
static void tell_untold(vet *v) {
  check_part(&v->env, "process");
  snprintf(v->env.totals->text, CHECK_TEXT, "files");
  if (v->env.totals->failed && !v->verdict.breaches)
    check_found(&v->env, "breach",
                "it breaks rules, but closes or uses files that are not its own, so that they "
                "cannot be told");
  else if (v->lost_records)
    check_found(&v->env, "breach",
                "closes or uses files that are not its own, so that the report is not complete");
}

static void tell_output(vet *v) {
  char rule[CHECK_TEXT + CHECK_SAID];
  const check_env *env = &v->env;
  if (!env->n_said) return;
  check_part(&v->env, "process");
  snprintf(v->env.totals->text, CHECK_TEXT, "output");
  snprintf(rule, sizeof rule, "writes %llu bytes to standard output or error: %.*s%s",
           (unsigned long long)env->n_said, (int)strcspn(env->said, "\n"), env->said,
           env->n_said > strcspn(env->said, "\n") + 1 ? " ..." : "");
  tn_text_tame(rule, (int64_t)strlen(rule));
  check_found(&v->env, "note", rule);
}

/* Runs a stage; says whether it came to its end with all that it has to tell. */
static void stage(vet *v, void (*work)(check_env *env, const void *arg), const void *arg) {
  check_isolate(&v->env, work, arg);
  v->lost_records = v->lost_records || v->env.lost_records;
}

static check_verdict close_job(vet *v) {
  tell_untold(v);
  tell_output(v);
  check_verdict verdict = v->verdict;
  verdict.passed = v->env.totals->passed;
  verdict.left_out = v->env.totals->left_out;
  tn_vec_free(tn_default_allocator(), &v->ops);
  check_totals_free(v->env.totals);
  return verdict;
}

check_verdict check_plugin_info(const check_job *job) {
  vet v;
  open_job(&v, job);
  stage(&v, examine_shallow, v.path);
  return close_job(&v);
}

check_verdict check_plugin_vet(const check_job *job) {
  vet v;
  open_job(&v, job);
  stage(&v, examine_deep, v.path);
  if (v.verdict.loadable && only(&v, "init")) stage(&v, live, v.path);
  if (v.verdict.loadable && !v.unusable) stage(&v, list, v.path);
  for (int64_t k = 0; k < v.ops.n; k++) stage(&v, try_op, &v.ops.data[k]);
  if (v.n_formats > v.first_format) stage(&v, try_formats, &v);
  if (v.has_devices) stage(&v, try_devices, &v);
  return close_job(&v);
}
