/* Memory that cannot be had: the case is built, loaded, run and read with the n-th allocation
 * failing, for every n. */
#include "harness/harness.h"

enum { MAX_ALLOCATIONS = 5000 };

static tn_status run(check_problem *p, tn_runtime *runtime) {
  check_model m;
  tn_diag *diag = tn_diag_create();
  tn_status s = check_model_open(p, runtime, MODEL_AS_WRITTEN, diag, &m);
  if (!s) s = tn_session_run(m.session, diag);
  if (!s) check_model_compare(p, &m);
  check_model_close(&m);
  tn_diag_destroy(diag);
  return s;
}

void check_sweep(check_problem *p) {
  check_allocator a;
  check_allocator_init(&a);
  tn_runtime *runtime = check_runtime_new(p->env, UINT64_MAX, 1, &a.base, NULL);
  check_problem_fill(p);
  (void)run(p, runtime); /* operators are settled then, which the runtime keeps */
  const long long at_rest = atomic_load(&a.n_live);
  for (long long n = 1; n <= MAX_ALLOCATIONS && check_unit_ok(p->env); n++) {
    const long long before = atomic_load(&a.n_calls);
    atomic_store(&a.fail_at, before + n);
    tn_status s = run(p, runtime);
    const bool reached = atomic_load(&a.n_calls) >= before + n;
    if (s && s != TN_ERR_MEMORY)
      check_fail(p->env, "allocation %lld fails: the answer is %s", n, tn_status_text(s));
    if (s && !reached)
      check_fail(p->env, "it fails with all memory there is: %s", tn_status_text(s));
    if (atomic_load(&a.n_live) != at_rest)
      check_fail(p->env, "allocation %lld fails: %lld blocks leak", n,
                 atomic_load(&a.n_live) - at_rest);
    if (!reached) break;
  }
  tn_runtime_destroy(runtime);
  if (atomic_load(&a.n_live))
    check_fail(p->env, "%lld blocks are left when the runtime is gone", atomic_load(&a.n_live));
}
