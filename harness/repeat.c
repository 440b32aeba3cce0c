/* A kernel called many times: memory that grows, calls of two sessions that get in each other's
 * way, and memory of the host that cannot be had. */
#include <pthread.h>
#include <string.h>

#include "base/cpu.h"
#include "harness/harness.h"
#include "harness/vet.h"

enum { ROUNDS = 16, SETTLED = 8, MAX_RUNS = 200, THREAD_NS = 3000000, MAX_ALLOCATIONS = 100 };

static const check_variant plain = {"one range",    .at_end = true,  .n_ranges = 1,
                                    .n_workers = 1, .pattern = 0x5B, .in_place = -1};

/* ---- what a kernel is compared with where there is no reference -------------------------------
 * */

static const check_results *keep(check_run *r) {
  check_problem *p = r->s->problem;
  check_results *kept = check_need(tn_arena_alloc(&p->arena, sizeof *kept));
  kept->n = r->results.n;
  for (uint32_t k = 0; k < r->results.n; k++) {
    const tn_tensor *from = &r->results.values[k];
    if (!r->out[k]) continue;
    if (from->kind != TN_KIND_TENSOR || from->dtype == TN_STRING) return NULL;
    tn_tensor *to = &kept->values[k];
    *to = *from;
    to->layout = TN_PLAIN;
    to->data = check_need(tn_arena_alloc(&p->arena, (uint64_t)tn_max_i64(tn_tensor_bytes(to), 1)));
    if (tn_tensor_elements(to) > 0) check_layout_unpack(from, to);
  }
  return kept;
}

const check_results *check_self_expected(const check_subject *s) {
  check_run r;
  check_problem_fill(s->problem);
  const check_results *kept = NULL;
  if (check_run_open(&r, s, &plain) && check_run_stages(&r)) kept = keep(&r);
  check_run_close(&r);
  return kept;
}

/* ---- memory that grows ----------------------------------------------------------------------- */

static void many_times(const check_subject *s) {
  uint64_t used[ROUNDS];
  for (int k = 0; k < ROUNDS && check_unit_ok(s->problem->env); k++) {
    check_run r;
    if (check_run_open(&r, s, &plain)) check_run_stages(&r);
    check_run_close(&r);
    used[k] = check_malloc_bytes();
  }
  if (!check_unit_ok(s->problem->env)) return;
  const uint64_t growth = check_growth(used + SETTLED - 1, ROUNDS - SETTLED + 1);
  if (growth)
    check_fail(s->problem->env,
               "memory of malloc grows by %llu bytes with each plan, prepare, run and finish",
               (unsigned long long)growth);
}

/* ---- two calls at once ----------------------------------------------------------------------- */

static bool is_dynamic(const check_run *r) {
  for (uint32_t k = 0; k < r->results.n; k++)
    if (r->out[k] && (r->out[k]->kind != TN_KIND_TENSOR || !r->results.buffers[k] ||
                      r->out[k]->dtype == TN_STRING))
      return true;
  return (r->plan.flags & TN_PLAN_DATA_DEPENDENT) != 0;
}

/* Other data in the inputs that are no constants: the same elements in reverse. */
static void reverse_inputs(check_run *r) {
  for (uint32_t k = 0; k < check_subject_n_inputs(r->s); k++) {
    if (!r->inputs[k] || check_subject_input(r->s, k)->constant) continue;
    check_buffer_protect(r->inputs[k], false);
    const tn_tensor *t = r->in[k];
    const uint64_t bytes = tn_dtype(t->dtype)->bits / 8;
    const int64_t n = bytes ? (int64_t)(r->inputs[k]->bytes / bytes) : 0;
    for (int64_t i = 0; t->layout == TN_PLAIN && i < n / 2; i++) {
      uint8_t *a = r->inputs[k]->data + (uint64_t)i * bytes, *b, swap;
      b = r->inputs[k]->data + (uint64_t)(n - 1 - i) * bytes;
      for (uint64_t byte = 0; byte < bytes; byte++) {
        swap = a[byte];
        a[byte] = b[byte];
        b[byte] = swap;
      }
    }
  }
}

static void run_all(check_run *r) {
  for (uint32_t stage = 0; stage < r->plan.n_stages; stage++)
    if (r->plan.items[stage] > 0) check_run_range(r, stage, 0, r->plan.items[stage], 0);
}

/* Between the two halves of each stage of one call, the whole of another on other data. */
static void between(check_run *one, check_run *other) {
  for (uint32_t stage = 0; stage < one->plan.n_stages; stage++) {
    const int64_t n = one->plan.items[stage];
    if (n > 1) check_run_range(one, stage, 0, n / 2, 0);
    run_all(other);
    if (n > 0) check_run_range(one, stage, n > 1 ? n / 2 : 0, n, 0);
  }
}

static void compare(const check_run *r, const char *how) {
  const check_problem *p = r->s->problem;
  char why[CHECK_TEXT];
  for (uint32_t k = 0; k < r->results.n && r->s->expected; k++)
    if (r->out[k] && !check_compare(&r->s->expected->values[k], &r->results.values[k],
                                    check_tolerance_of(p, k), p->output_names[k], why, sizeof why))
      check_fail(p->env, "%s: %s", how, why);
}

static void interleaved(const check_subject *s) {
  check_run one, other;
  const bool ok = check_run_open(&one, s, &plain) & check_run_open(&other, s, &plain);
  if (ok && !is_dynamic(&one)) {
    reverse_inputs(&other);
    check_doing(s->problem->env, "run(), two calls in turn");
    between(&one, &other);
    if (atomic_load(&one.status))
      check_fail(s->problem->env, "fails while another session is inside of it: %s",
                 one.context.said[0] ? one.context.said : tn_status_text(atomic_load(&one.status)));
    else
      compare(&one, "while another session is inside of it");
  }
  check_run_close(&other);
  check_run_close(&one);
}

typedef struct racer {
  check_run run;
  check_results first; /* of this thread alone */
  atomic_int *waiting;
  bool differs;
} racer;

static bool same(const racer *r) {
  for (uint32_t k = 0; k < r->run.results.n; k++) {
    const check_buffer *b = r->run.results.buffers[k];
    if (b && memcmp(b->data, r->first.values[k].data, b->bytes)) return false;
  }
  return true;
}

static void *race(void *arg) {
  racer *r = arg;
  atomic_fetch_sub(r->waiting, 1);
  for (int k = 0; k < 1000000 && atomic_load(r->waiting) > 0; k++) sched_yield();
  const uint64_t begin = tn_now_ns();
  for (int k = 0; k < MAX_RUNS && !r->differs && tn_now_ns() - begin < THREAD_NS; k++) {
    run_all(&r->run);
    r->differs = !same(r);
  }
  return NULL;
}

static void open_racer(racer *r, const check_subject *s, atomic_int *waiting, bool *ok) {
  memset(r, 0, sizeof *r);
  r->waiting = waiting;
  *ok = check_run_open(&r->run, s, &plain) && *ok && !is_dynamic(&r->run);
}

static void remember(racer *r, tn_arena *arena) {
  run_all(&r->run);
  for (uint32_t k = 0; k < r->run.results.n; k++) {
    const check_buffer *b = r->run.results.buffers[k];
    if (b) r->first.values[k].data = check_need(tn_arena_copy(arena, b->data, b->bytes));
  }
}

static void start_two(racer r[2], check_env *env) {
  pthread_t threads[2];
  int started = 0;
  check_doing(env, "run(), two sessions on two threads");
  while (started < 2 && !pthread_create(&threads[started], NULL, race, &r[started])) started++;
  if (started < 2) atomic_store(r[0].waiting, 0);
  for (int k = 0; k < started; k++) pthread_join(threads[k], NULL);
  for (int k = 0; k < 2; k++)
    if (r[k].differs || atomic_load(&r[k].run.status))
      check_fail(env, "two sessions on two threads: another result than alone");
}

static void two_threads(const check_subject *s) {
  atomic_int waiting = 2;
  bool ok = true;
  tn_arena arena;
  racer *r = check_need(tn_alloc(tn_default_allocator(), 2 * sizeof *r));
  tn_arena_init(&arena, tn_default_allocator());
  for (int k = 0; k < 2; k++) open_racer(&r[k], s, &waiting, &ok);
  if (ok && r[1].run.prepared == r[0].run.prepared) reverse_inputs(&r[1].run);
  for (int k = 0; k < 2 && ok; k++) remember(&r[k], &arena);
  ok = ok && !atomic_load(&r[0].run.status) && !atomic_load(&r[1].run.status);
  if (ok) start_two(r, s->problem->env);
  for (int k = 1; k >= 0; k--) check_run_close(&r[k].run);
  tn_arena_clear(&arena);
  tn_free(tn_default_allocator(), r, 2 * sizeof *r);
}

/* ---- what is remembered -----------------------------------------------------------------------
 * */

/* New data at the same places give what they give at others. */
static void other_data(const check_subject *s) {
  check_run old, fresh;
  const bool ok = check_run_open(&old, s, &plain) & check_run_open(&fresh, s, &plain);
  if (ok && !is_dynamic(&old)) {
    check_doing(s->problem->env, "run(), on other data at the same places");
    run_all(&old);
    reverse_inputs(&old);
    reverse_inputs(&fresh);
    run_all(&old);
    run_all(&fresh);
    for (uint32_t k = 0; k < old.results.n && !atomic_load(&old.status); k++)
      if (old.out[k] && !check_same_bits(&old.results.values[k], &fresh.results.values[k]))
        check_fail(s->problem->env,
                   "output %s on other data at the same places is not what it is at new ones",
                   s->problem->output_names[k]);
  }
  check_run_close(&fresh);
  check_run_close(&old);
}

/* Twice as many in the first dim of what is no constant. False: inference refuses that. */
static bool open_longer(const check_problem *p, tn_arena *arena, tn_case *line,
                        check_problem *out) {
  *line = *p->line;
  const uint64_t n = (uint64_t)line->n_inputs;
  line->inputs = check_need(tn_arena_copy(arena, line->inputs, n * sizeof *line->inputs));
  for (uint64_t k = 0; k < n; k++) {
    check_input *in = &line->inputs[k];
    if (!in->items || in->sequence) continue;
    in->items = check_need(tn_arena_copy(arena, in->items, (uint64_t)in->n * sizeof *in->items));
    for (int32_t i = 0; i < in->n; i++)
      if (!in->items[i].constant && in->items[i].rank > 0) in->items[i].shape[0] *= 2;
  }
  if (!check_problem_open_quietly(p->env, p->op, line, p->bindings, p->n_bindings, false, out))
    return false;
  check_problem_fill(out);
  return out->n_inputs == p->n_inputs && out->n_outputs == p->n_outputs;
}

static void compare_states(const check_run *one, const check_run *other) {
  if (!one->state || !other->state || one->plan.state_key != other->plan.state_key ||
      one->state->bytes != other->state->bytes ||
      !memcmp(one->state->data, other->state->data, one->state->bytes))
    return;
  check_fail(one->context.env,
             "prepare() makes another state for inputs of another shape, and state_key is the "
             "same: nodes that agree in it share one");
}

/* A state follows from constants, attributes, dtypes and state_key alone. */
static void other_shapes(const check_subject *s, const check_run *r) {
  check_problem longer;
  tn_case line;
  tn_arena arena;
  tn_arena_init(&arena, tn_default_allocator());
  check_subject twin = *s;
  twin.problem = &longer;
  twin.expected = NULL;
  if (open_longer(s->problem, &arena, &line, &longer) &&
      !check_subject_match(&twin, &arena, NULL)) {
    check_run other;
    if (check_run_open(&other, &twin, &plain)) compare_states(r, &other);
    check_run_close(&other);
  }
  check_problem_close(&longer);
  tn_arena_clear(&arena);
}

/* ---- memory that cannot be had --------------------------------------------------------------- */

static void without_memory(const check_subject *s) {
  check_env *env = s->problem->env;
  bool reached = true;
  for (int64_t n = 1; n <= MAX_ALLOCATIONS && reached && check_unit_ok(env); n++) {
    check_run r;
    env->fail_alloc = n;
    if (check_run_open(&r, s, &plain)) check_run_stages(&r);
    check_doing(env, "finish() after the host's memory ran out");
    reached = r.context.n_asked >= n;
    const int status = atomic_load(&r.status);
    check_run_close(&r);
    if (reached && status && status != TN_ERR_MEMORY)
      check_fail(env, "run() answers %s when the host's memory runs out", tn_status_text(status));
  }
  env->fail_alloc = 0;
}

void check_repeat(const check_subject *s) {
  check_env *env = s->problem->env;
  check_run r;
  const bool pure = !(s->problem->op->op.flags & TN_OP_IMPURE);
  check_problem_fill(s->problem);
  const bool opened = check_run_open(&r, s, &plain);
  if (opened && r.state && !s->kernel->kernel.finish && s->problem->n_inputs) other_shapes(s, &r);
  const bool serial = (s->kernel->kernel.flags & TN_KERNEL_SERIAL) != 0;
  check_run_close(&r);
  if (!opened) return;
  if (pure && check_unit_ok(env)) other_data(s);
  if (pure && !serial && check_unit_ok(env)) interleaved(s);
  if (pure && !serial && check_unit_ok(env)) two_threads(s);
  if (!CHECK_THREADS_ONLY && check_unit_ok(env)) many_times(s);
  if (!CHECK_THREADS_ONLY && check_unit_ok(env)) without_memory(s);
}
