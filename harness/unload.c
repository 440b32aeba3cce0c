/* Unloading while in use: a model holds the plug-in, and says so; and what one runtime lets go of,
 * another one keeps. */
#include <string.h>

#include "harness/harness.h"
#include "harness/vet.h"

typedef struct user { /* a runtime with a model that uses the plug-in */
  check_problem *p;
  check_allocator allocator;
  tn_runtime *runtime;
  check_model model;
  char name[100]; /* of the plug-in; "": it is unloaded */
  tn_diag *diag;
} user;

static const char *said(const user *u, tn_status s) {
  return tn_diag_count(u->diag) ? tn_diag_text(u->diag) : tn_status_text(s);
}

static bool run_ok(user *u, const char *when) {
  tn_diag_clear(u->diag);
  check_doing(u->p->env, "a session%s", when);
  const tn_status s = tn_session_run(u->model.session, u->diag);
  if (s) check_fail(u->p->env, "a session%s fails: %s", when, said(u, s));
  if (!s) check_model_compare(u->p, &u->model);
  return check_unit_ok(u->p->env);
}

static bool open_user(user *u, check_problem *p) {
  tn_plugin_info info = {.head = TN_HEAD(tn_plugin_info)};
  memset(u, 0, sizeof *u);
  u->p = p;
  u->diag = check_need(tn_diag_create());
  check_allocator_init(&u->allocator);
  check_doing(p->env, "init()");
  u->runtime = check_runtime_new(p->env, UINT64_MAX, 1, &u->allocator.base, NULL);
  if (tn_runtime_plugin(u->runtime, tn_runtime_n_plugins(u->runtime) - 1, &info))
    check_die("no plug-in");
  snprintf(u->name, sizeof u->name, "%s", info.name);
  check_doing(p->env, "a session");
  const tn_status s = check_model_open(p, u->runtime, MODEL_AS_WRITTEN, u->diag, &u->model);
  if (s && s != TN_ERR_UNSUPPORTED && !p->made_up) check_fail(p->env, "a session: %s", said(u, s));
  return !s && run_ok(u, "");
}

static void close_model(user *u) {
  check_doing(u->p->env, "a session that ends");
  check_model_close(&u->model);
  u->model = (check_model){NULL, NULL};
}

static void close_user(user *u) {
  close_model(u);
  check_doing(u->p->env, "shutdown()");
  tn_runtime_destroy(u->runtime);
  check_doing(u->p->env, "%s", "");
  const long long live = atomic_load(&u->allocator.n_live);
  if (live)
    check_fail(u->p->env, "%lld blocks of the host's memory are not given back by shutdown()",
               live);
  tn_diag_destroy(u->diag);
}

static tn_status unload(user *u) {
  tn_diag_clear(u->diag);
  check_doing(u->p->env, "shutdown(), when it is unloaded");
  const tn_status s = tn_runtime_unload_plugin(u->runtime, u->name, 0, u->diag);
  if (!s) *u->name = 0;
  return s;
}

/* Kernels may not have been taken, but the model of an operator always needs it. */
static void unload_in_use(user *u, bool is_needed) {
  const tn_status s = unload(u);
  if (!s && is_needed)
    check_fail(u->p->env, "it is unloaded while a model uses its operator");
  else if (s && (s != TN_ERR_STATE || !strstr(said(u, s), "in use by")))
    check_fail(u->p->env, "unloading does not say who uses it: %s", said(u, s));
}

static void unload_unused(user *u) {
  const tn_status s = *u->name ? unload(u) : TN_OK;
  if (s) check_fail(u->p->env, "it is not unloaded when its users are gone: %s", said(u, s));
}

static void try_two(user *one, user *two, bool is_needed) {
  unload_in_use(one, is_needed);
  if (!run_ok(one, ", after the plug-in could not be unloaded")) return;
  close_model(one);
  unload_unused(one);
  if (!run_ok(two, ", after another runtime has unloaded the plug-in")) return;
  close_model(two);
  unload_unused(two);
}

void check_unload(check_problem *p, bool is_needed) {
  user one, two;
  check_problem_fill(p);
  const bool first = open_user(&one, p), second = open_user(&two, p);
  if (first && second) try_two(&one, &two, is_needed);
  close_user(&one);
  close_user(&two);
}
