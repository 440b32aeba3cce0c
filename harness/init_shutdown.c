/* Loading, init and shutdown: again and again, in two runtimes at once, and with memory that cannot
 * be had. */
#include <dlfcn.h>
#include <string.h>

#include "harness/harness.h"
#include "harness/vet.h"

enum { ALLOCATIONS = 40, ROUNDS = 16, SETTLED = 8 };

typedef struct life {
  check_env *env;
  const char *path;
  tn_diag *diag;
  bool fails; /* init() does, with nothing in its way */
} life;

static tn_runtime *new_runtime(const check_allocator *a) {
  tn_runtime_options options = TN_RUNTIME_OPTIONS_INIT;
  tn_runtime *runtime = NULL;
  options.n_threads = 1;
  options.flags = TN_RUNTIME_NO_DISCOVERY;
  options.allocator = &a->base;
  if (tn_runtime_create(&options, NULL, &runtime)) check_die("no runtime");
  return runtime;
}

static tn_status load(life *l, tn_runtime *runtime) {
  tn_diag_clear(l->diag);
  check_doing(l->env, "init()");
  const tn_status s = tn_runtime_load_plugin(runtime, l->path, NULL, 0, l->diag);
  check_doing(l->env, "%s", "");
  return s;
}

static void destroy(life *l, tn_runtime *runtime) {
  check_doing(l->env, "shutdown()");
  tn_runtime_destroy(runtime);
  check_doing(l->env, "%s", "");
}

static void check_leak(life *l, const check_allocator *a, const char *when) {
  const long long live = atomic_load(&a->n_live);
  if (live)
    check_fail(l->env, "%s: %lld blocks of the host's memory are not given back by shutdown()",
               when, live);
}

bool check_makes_threads(const tn_runtime *runtime) {
  tn_plugin_info info = {.head = TN_HEAD(tn_plugin_info)};
  const int32_t last = tn_runtime_n_plugins(runtime) - 1;
  return !tn_runtime_plugin(runtime, last, &info) && (info.flags & TN_PLUGIN_THREADS);
}

/* ---- the tests ------------------------------------------------------------------------------- */

static void once(life *l) {
  check_allocator a;
  check_allocator_init(&a);
  tn_runtime *runtime = new_runtime(&a);
  const tn_status s = load(l, runtime);
  l->fails = s != TN_OK;
  if (s)
    check_fail(l->env, "init() fails without options: %s",
               tn_diag_count(l->diag) ? tn_diag_text(l->diag) : tn_status_text(s));
  if (!check_makes_threads(runtime)) check_around_threads(l->env);
  destroy(l, runtime);
  check_around_threads(l->env); /* one that runs in what is unmapped would crash */
  check_around_keys(l->env);
  check_leak(l, &a, "init, shutdown");
}

/* What malloc has handed out grows with every round, once it has settled. */
static void many_times(life *l) {
  uint64_t used[ROUNDS];
  for (int k = 0; k < ROUNDS && check_unit_ok(l->env); k++) {
    once(l);
    used[k] = check_malloc_bytes();
  }
  if (!check_unit_ok(l->env)) return;
  const uint64_t growth = check_growth(used + SETTLED - 1, ROUNDS - SETTLED + 1);
  if (growth)
    check_fail(l->env, "memory of malloc grows by %llu bytes with each init() and shutdown()",
               (unsigned long long)growth);
}

/* Loaded, unloaded, and loaded again by the same runtime. */
static void unloaded(life *l) {
  check_allocator a;
  check_allocator_init(&a);
  tn_runtime *runtime = new_runtime(&a);
  for (int k = 0; k < 3 && check_unit_ok(l->env); k++) {
    tn_plugin_info info = {.head = TN_HEAD(tn_plugin_info)};
    tn_status s = load(l, runtime);
    if (s || tn_runtime_plugin(runtime, tn_runtime_n_plugins(runtime) - 1, &info)) {
      check_fail(l->env, "init() fails after unloading: %s", tn_diag_text(l->diag));
      break;
    }
    check_doing(l->env, "shutdown(), when it is unloaded");
    s = tn_runtime_unload_plugin(runtime, info.name, 0, l->diag);
    check_doing(l->env, "%s", "");
    if (s) check_fail(l->env, "it is not unloaded: %s", tn_diag_text(l->diag));
  }
  destroy(l, runtime);
  check_leak(l, &a, "unloaded");
}

static void two_at_once(life *l) {
  check_allocator a, b;
  check_allocator_init(&a);
  check_allocator_init(&b);
  for (int order = 0; order < 2 && check_unit_ok(l->env); order++) {
    tn_runtime *one = new_runtime(&a), *two = new_runtime(&b);
    if (load(l, one) || load(l, two))
      check_fail(l->env, "init() fails in the second of two runtimes: %s", tn_diag_text(l->diag));
    destroy(l, order ? one : two);
    destroy(l, order ? two : one);
    check_leak(l, &a, "two runtimes at once");
    check_leak(l, &b, "two runtimes at once");
  }
}

/* Loads it with the n-th allocation failing, 0: none. Answers how many there were. */
static long long load_without(life *l, long long n) {
  check_allocator a;
  check_allocator_init(&a);
  tn_runtime *runtime = new_runtime(&a);
  const long long before = atomic_load(&a.n_calls);
  atomic_store(&a.fail_at, n ? before + n : 0);
  const tn_status s = load(l, runtime);
  const long long made = atomic_load(&a.n_calls) - before;
  if (n && s && s != TN_ERR_MEMORY)
    check_fail(l->env, "allocation %lld fails while it is loaded: init() answers %s, not %s", n,
               tn_status_text(s), tn_status_text(TN_ERR_MEMORY));
  destroy(l, runtime);
  if (atomic_load(&a.n_live))
    check_fail(l->env, "allocation %lld fails while it is loaded: %lld blocks leak", n,
               atomic_load(&a.n_live));
  return made;
}

/* The host makes some allocations for each part that a plug-in offers, all alike: of those in the
 * middle a sample is enough. */
static void without_memory(life *l) {
  const long long made = load_without(l, 0), step = 1 + made / ALLOCATIONS;
  for (long long n = 1; n <= made && check_unit_ok(l->env); n++)
    if (n <= ALLOCATIONS || n > made - ALLOCATIONS || n % step == 0) load_without(l, n);
}

/* Mapped anew each time: destructors, and what they leave behind. */
static void mapped_again(life *l) {
  for (int k = 0; k < 4 && check_unit_ok(l->env); k++) once(l);
}

/* "The plug-in says what keys it knows, and refuses others in init." */
static void odd_option(life *l) {
  const tn_option option = {TN_HEAD(tn_option), "tenon-vet-no-such-key", "1"};
  const tn_option *const options[] = {&option};
  check_allocator a;
  check_allocator_init(&a);
  tn_runtime *runtime = new_runtime(&a);
  check_doing(l->env, "init()");
  tn_diag_clear(l->diag);
  if (!tn_runtime_load_plugin(runtime, l->path, options, 1, l->diag))
    check_fail(l->env, "init() takes an option that it cannot know");
  destroy(l, runtime);
  check_leak(l, &a, "an unknown option");
}

/* Events that are told to a plug-in, one of which no version of the ABI has. */
static void notified(life *l) {
  static const uint32_t events[] = {TN_EVENT_LOW_MEMORY, TN_EVENT_SUSPEND, TN_EVENT_RESUME, 9999};
  check_allocator a;
  check_allocator_init(&a);
  tn_runtime *runtime = new_runtime(&a);
  const tn_status s = load(l, runtime);
  for (size_t k = 0; !s && k < sizeof events / sizeof *events; k++) {
    check_doing(l->env, "notify() of event %u", events[k]);
    tn_registry_notify(runtime->registry, events[k]);
  }
  destroy(l, runtime);
  check_leak(l, &a, "notified");
}

static void run(life *l, const char *name, void (*test)(life *l)) {
  if (!check_unit_begin(l->env, "%s", name)) return;
  test(l);
  check_unit_end(l->env);
}

void check_life(check_env *env, const char *path) {
  life l = {env, path, check_need(tn_diag_create()), false};
  check_part(env, "init and shutdown");
  run(&l, "once", once);
  if (l.fails) { /* nothing of it can be used */
    check_skip(env, "not checked: all other parts; init() fails");
    check_tell(env, (const char *const[]){"unusable"}, 1);
  } else if (!env->totals->n_lost) { /* else the rest would only repeat it */
    run(&l, "mapped again", mapped_again);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    run(&l, "many times", many_times);
    run(&l, "unloaded", unloaded);
    run(&l, "two runtimes at once", two_at_once);
    run(&l, "told of events", notified);
    run(&l, "an unknown option", odd_option);
    if (!CHECK_THREADS_ONLY) run(&l, "failing allocation", without_memory);
    if (library) dlclose(library);
  }
  tn_diag_destroy(l.diag);
}
