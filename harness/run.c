/* A call of one kernel on buffers that notice every byte too far: plan, prepare, run in ranges,
 * finish. */
#include <string.h>

#include "base/abi.h"
#include "harness/harness.h"

/* ---- the call -------------------------------------------------------------------------------- */

const check_value *check_subject_input(const check_subject *s, uint32_t k) {
  if (k < s->problem->n_inputs) return s->problem->inputs[k];
  return k < s->first_operand ? NULL : s->operands[k - s->first_operand];
}

uint32_t check_subject_n_inputs(const check_subject *s) {
  return s->n_operands ? s->first_operand + s->n_operands : s->problem->n_inputs;
}

/* Types and layouts, with the data of constants if they are there. */
static void make_types(check_run *r) {
  const check_subject *s = r->s;
  for (uint32_t k = 0; k < check_subject_n_inputs(s); k++) {
    const check_value *v = check_subject_input(s, k);
    if (!v) continue;
    r->types_in[k] = v->tensor;
    r->types_in[k].layout = s->form.in[k];
    r->types_in[k].data = v->constant ? r->inputs[k] ? r->inputs[k]->data : v->tensor.data : NULL;
    r->in[k] = &r->types_in[k];
  }
  for (uint32_t k = 0; k < s->problem->n_outputs; k++) {
    if (!s->problem->output_names[k]) continue;
    r->types_out[k] = s->problem->outputs[k];
    r->types_out[k].layout = s->form.out[k];
    r->out[k] = &r->types_out[k];
  }
}

static void make_call(check_run *r) {
  r->self = &r->context;
  const check_subject *s = r->s;
  const check_problem *p = s->problem;
  r->call = (tn_call){.head = TN_HEAD(tn_call),
                      .host = &check_host,
                      .ctx = &r->self,
                      .self = s->kernel->owner ? s->kernel->owner->self : NULL,
                      .attrs = tn_graph_node(p->graph, p->node)->attrs,
                      .version = p->version,
                      .n_inputs = check_subject_n_inputs(s),
                      .n_outputs = p->n_outputs,
                      .n_workers = r->variant->n_workers,
                      .inputs = r->in,
                      .outputs = r->out,
                      .epilogue = s->epilogue,
                      .n_epilogue = s->n_epilogue,
                      .regions = p->regions,
                      .n_regions = p->n_regions,
                      .region_fill = p->region_fill,
                      .isa = s->level->isa};
  check_attrs_open(p, &r->call, &r->attrs);
}

const char *check_subject_match(const check_subject *s, tn_arena *reasons, bool *out_own) {
  static const check_variant variant = {.n_workers = 1};
  check_run r = {.s = s, .variant = &variant};
  check_context_open(&r.context, s->problem->env, s->problem);
  make_types(&r);
  make_call(&r);
  const uint32_t n = s->problem->n_formal;
  const char *reason = tn_kernel_match(s->kernel, s->problem->op, &r.call, n, reasons);
  if (out_own)
    *out_own = reason && !tn_kernel_match_fixed(s->kernel, s->problem->op, &r.call, n, reasons) &&
               !tn_kernel_match_types(s->kernel, s->problem->op, &r.call, n, reasons);
  check_attrs_close(r.context.env, &r.attrs);
  check_context_close(&r.context);
  return reason;
}

/* ---- memory ---------------------------------------------------------------------------------- */

static void make_inputs(check_run *r) {
  for (uint32_t k = 0; k < check_subject_n_inputs(r->s); k++) {
    const check_value *v = check_subject_input(r->s, k);
    if (!v || v->tensor.kind != TN_KIND_TENSOR) continue;
    tn_tensor packed = v->tensor;
    packed.layout = r->s->form.in[k];
    const uint64_t bytes = (uint64_t)tn_storage_bytes(&packed);
    r->inputs[k] = check_buffer_new(r->context.env, bytes, packed.dtype == TN_STRING ? 8 : 1,
                                    r->variant->at_end, v->name);
    packed.data = r->inputs[k]->data;
    check_layout_pack(&v->tensor, &packed);
    r->originals[k] = packed;
    r->originals[k].data = check_need(tn_arena_copy(&r->arena, packed.data, bytes));
  }
}

static check_buffer *new_filled(check_run *r, uint64_t bytes, uint8_t pattern, const char *name) {
  if (!bytes) return NULL;
  check_buffer *b = check_buffer_new(r->context.env, bytes, 64, r->variant->at_end, name);
  memset(b->data, pattern, bytes);
  return b;
}

static void share_in_place(check_run *r) {
  const int32_t k = r->variant->in_place;
  if (k < 0) return;
  check_buffer_free(r->context.env, r->results.buffers[k]);
  r->results.buffers[k] = r->inputs[r->plan.in_place[k]];
  r->results.owns[k] = false;
  r->results.values[k].data = r->results.buffers[k]->data;
}

/* Shows the data to the call. */
static void point_to_data(check_run *r) {
  for (uint32_t k = 0; k < check_subject_n_inputs(r->s); k++) {
    if (!r->inputs[k]) continue;
    const bool hidden =
        r->variant->null_empty && !r->inputs[k]->bytes && !check_subject_input(r->s, k)->constant;
    r->types_in[k].data = hidden ? NULL : r->inputs[k]->data;
  }
  for (uint32_t k = 0; k < r->results.n; k++) {
    if (!r->out[k]) continue;
    if (r->variant->null_empty && r->results.buffers[k] && !r->results.buffers[k]->bytes)
      r->results.values[k].data = NULL;
    r->out[k] = &r->results.values[k];
  }
}

/* ---- plan, prepare --------------------------------------------------------------------------- */

static bool failed(check_run *r, tn_status status, const char *what) {
  if (r->context.env->fail_alloc) return false; /* as it may */
  check_fail(r->context.env, "%s: %s: %s", r->variant->name, what,
             r->context.said[0] ? r->context.said : tn_status_text(status));
  return false;
}

static bool has_room(check_run *r, uint64_t bytes, uint64_t times, const char *what) {
  uint64_t all = 0;
  if (!tn_mul_u64(bytes, times, &all) && all <= CHECK_MAX_BYTES) return true;
  snprintf(r->context.said, sizeof r->context.said,
           "%llu bytes of %s for each of %llu, a test has no more than %lld",
           (unsigned long long)bytes, what, (unsigned long long)times, (long long)CHECK_MAX_BYTES);
  return failed(r, TN_ERR_MEMORY, "plan() asks for much");
}

/* "A pure function of its call": plans that differ make sessions that differ. */
static void ask_again(check_run *r) {
  tn_kernel_plan again;
  check_doing(r->context.env, "plan() once more, %s", r->variant->name);
  const tn_call *call = check_show(r, "the call of plan() once more");
  const tn_status status = tn_kernel_ask_plan(r->s->kernel, call, NULL, &again);
  check_hide(r);
  if (!status && memcmp(&again, &r->plan, sizeof again))
    check_fail(r->context.env, "%s: plan() answers something else the second time",
               r->variant->name);
}

/* What it answers before the host makes something of it that makes sense. */
static void check_plan(check_run *r) {
  check_env *env = r->context.env;
  const tn_kernel *kernel = &r->s->kernel->kernel;
  tn_kernel_plan p = tn_kernel_plan_blank();
  const tn_status status = kernel->plan(check_show(r, "the call of plan()"), &p);
  check_hide(r);
  if (status) return;
  for (int32_t k = 0; k < TN_MAX_IN_PLACE && check_unit_ok(env); k++)
    if (p.in_place[k] < -1 || p.in_place[k] >= (int32_t)r->call.n_inputs)
      check_fail(env, "%s: plan() has in_place[%d] %d, which is neither -1 nor an input",
                 r->variant->name, k, p.in_place[k]);
  for (uint32_t k = 0; k < p.n_stages && k < TN_MAX_STAGES && check_unit_ok(env); k++)
    if (p.grain[k] < 0)
      check_fail(env, "%s: plan() has a grain of %lld", r->variant->name, (long long)p.grain[k]);
  if (!(p.cost_ns >= 0 && p.cost_ns < 1e18) && check_unit_ok(env))
    check_fail(env, "%s: plan() has a cost of %g ns", r->variant->name, p.cost_ns);
  if (p.state_bytes && !kernel->prepare && check_unit_ok(env))
    check_fail(env, "%s: plan() has %llu bytes of state, but there is no prepare() to fill them",
               r->variant->name, (unsigned long long)p.state_bytes);
}

static bool ask_plan(check_run *r) {
  tn_diag *diag = check_need(tn_diag_create());
  check_doing(r->context.env, "plan(), %s", r->variant->name);
  const tn_call *call = check_show(r, "the call of plan()");
  tn_status status = tn_kernel_ask_plan(r->s->kernel, call, diag, &r->plan);
  check_hide(r);
  if (status && !r->context.said[0])
    snprintf(r->context.said, sizeof r->context.said, "%s", tn_diag_text(diag));
  tn_diag_destroy(diag);
  if (status) return failed(r, status, "plan() fails");
  if (r->context.env->limits && !r->context.env->fail_alloc) {
    ask_again(r);
    if (r->s->kernel->kernel.plan) check_plan(r);
  }
  return has_room(r, r->plan.scratch_bytes, 1, "scratch") &&
         has_room(r, r->plan.state_bytes, 1, "state") &&
         has_room(r, r->plan.worker_scratch_bytes, r->variant->n_workers, "workers' scratch");
}

static bool packs(const tn_kernel *kernel) {
  bool any = false;
  for (uint32_t k = 0; k < kernel->n_accepts; k++)
    any = any || (kernel->accepts[k]->flags & TN_ACCEPT_PACKED) != 0;
  return any && kernel->prepare && !kernel->finish;
}

/* States of packed inputs are kept in files, and mapped by programs with other numbers of threads:
 * where the plan asks for the same state, it is the same bytes, wherever it is made. */
static void prepare_again(check_run *r) {
  const uint32_t n_workers = r->call.n_workers;
  void *const state = r->call.state;
  tn_kernel_plan plan;
  check_buffer *again = new_filled(r, r->plan.state_bytes, 0, "the state once more");
  check_doing(r->context.env, "plan() and prepare() once more, %s", r->variant->name);
  r->call.n_workers = n_workers == 1 ? 7 : 1;
  r->call.state = again->data;
  const tn_call *call = check_show(r, "the call of plan() and prepare()");
  tn_status status = tn_kernel_ask_plan(r->s->kernel, call, NULL, &plan);
  const bool is_same =
      !status && plan.state_key == r->plan.state_key && plan.state_bytes == r->plan.state_bytes;
  if (is_same) status = r->s->kernel->kernel.prepare(call);
  check_hide(r);
  r->call.n_workers = n_workers;
  r->call.state = state;
  if (is_same && (status || memcmp(again->data, r->state->data, again->bytes)))
    check_fail(r->context.env,
               "%s: prepare() with another number of workers, or at another place, "
               "makes another state, and state_key is the same",
               r->variant->name);
  check_buffer_free(r->context.env, again);
}

static bool prepare(check_run *r) {
  const tn_kernel *kernel = &r->s->kernel->kernel;
  r->call.scratch_bytes = r->plan.scratch_bytes;
  r->call.worker_scratch_bytes = tn_round_up(r->plan.worker_scratch_bytes, 64);
  r->call.state_bytes = r->plan.state_bytes;
  r->state = new_filled(r, r->plan.state_bytes, 0, "the state");
  if (!r->state) return true;
  r->call.state = r->state->data;
  check_doing(r->context.env, "prepare(), %s", r->variant->name);
  const tn_call *call = check_show(r, "the call of prepare()");
  tn_status status = kernel->prepare ? kernel->prepare(call) : TN_OK;
  check_hide(r);
  if (status) return failed(r, status, "prepare() fails");
  r->prepared = true;
  if (!check_buffer_intact(r->state))
    check_fail(r->context.env, "%s: prepare() writes outside of its state", r->variant->name);
  if (packs(kernel)) prepare_again(r);
  check_buffer_protect(r->state, true);
  return true;
}

static void make_scratch(check_run *r) {
  r->scratch = new_filled(r, r->plan.scratch_bytes, r->variant->pattern, "scratch");
  r->worker_scratch = new_filled(r, r->call.worker_scratch_bytes * r->variant->n_workers,
                                 r->variant->pattern, "the workers' scratch");
  r->call.scratch = r->scratch ? r->scratch->data : NULL;
  r->call.worker_scratch = r->worker_scratch ? r->worker_scratch->data : NULL;
}

void check_run_hide_packed(check_run *r, bool hide) {
  const check_problem *p = r->s->problem;
  for (uint32_t k = 0; r->state && k < p->n_formal; k++) {
    const tn_accept *row = tn_kernel_accept_input(r->s->kernel, p->op, k, p->n_formal);
    if (!row || !(row->flags & TN_ACCEPT_PACKED) || !r->inputs[k]) continue;
    if (!p->inputs[k]->constant) continue;
    if (hide)
      check_buffer_take(r->inputs[k]);
    else
      check_buffer_protect(r->inputs[k], true);
  }
}

bool check_run_open(check_run *r, const check_subject *s, const check_variant *variant) {
  memset(r, 0, sizeof *r);
  r->s = s;
  r->variant = variant;
  tn_arena_init(&r->arena, tn_default_allocator());
  check_context_open(&r->context, s->problem->env, s->problem);
  r->context.at_end = variant->at_end;
  r->context.pattern = variant->pattern;
  r->context.form = &s->form;
  make_inputs(r);
  make_types(r);
  make_call(r);
  if (!ask_plan(r) || !prepare(r)) return false;
  make_scratch(r);
  check_results_open(&r->context, &r->results);
  share_in_place(r);
  point_to_data(r);
  for (uint32_t k = 0; k < CHECK_MAX_IO && r->context.env->limits; k++)
    if (r->inputs[k] &&
        (variant->in_place < 0 || r->plan.in_place[variant->in_place] != (int32_t)k))
      check_buffer_protect(r->inputs[k], true);
  check_run_hide_packed(r, true);
  r->context.running = true;
  return true;
}

void check_run_again(check_run *r) {
  check_results_close(r->context.env, &r->results);
  check_results_open(&r->context, &r->results);
  point_to_data(r);
}

/* All that finish() may use; the rest is not there. */
static void finish(check_run *r) {
  const tn_call all = r->call;
  memset(r->in, 0, sizeof r->in);
  memset(r->out, 0, sizeof r->out);
  r->call = (tn_call){.head = all.head,
                      .host = all.host,
                      .ctx = all.ctx,
                      .self = all.self,
                      .state = all.state,
                      .state_bytes = all.state_bytes};
  r->s->kernel->kernel.finish(check_show(r, "the call of finish()"));
  check_hide(r);
}

void check_run_close(check_run *r) {
  check_env *env = r->context.env;
  r->context.running = false;
  check_doing(env, "finish(), %s", r->variant->name);
  if (r->prepared && r->s->kernel->kernel.finish) finish(r);
  if (r->context.n_allocated < 0 && check_unit_ok(env))
    check_fail(env, "%s: host->free() is called %lld times more than host->alloc()",
               r->variant->name, -(long long)r->context.n_allocated);
  if (r->context.n_allocated > 0 && check_unit_ok(env))
    check_fail(env, "%s: %lld blocks of the host's memory are not given back", r->variant->name,
               (long long)r->context.n_allocated);
  check_results_close(env, &r->results);
  for (uint32_t k = 0; k < CHECK_MAX_IO; k++) check_buffer_free(env, r->inputs[k]);
  check_attrs_close(env, &r->attrs);
  check_buffer_free(env, r->state);
  check_buffer_free(env, r->scratch);
  check_buffer_free(env, r->worker_scratch);
  check_shown_free(r);
  check_context_close(&r->context);
  tn_arena_clear(&r->arena);
}

/* ---- run ------------------------------------------------------------------------------------- */

void check_run_range(check_run *r, uint32_t stage, int64_t begin, int64_t end, uint32_t worker) {
  int none = TN_OK;
  const tn_call *call = r->context.shown ? &r->context.shown->call : &r->call;
  tn_status status = r->s->kernel->kernel.run(call, stage, begin, end, worker);
  if (status) atomic_compare_exchange_strong(&r->status, &none, status);
}

static void run_threaded(void *arg, int64_t begin, int64_t end, uint32_t worker) {
  check_run *r = arg;
  check_run_range(r, r->stage, begin, end, worker);
}

/* What the scratch of all workers but this one holds. */
static uint64_t hash_scratch_of_others(const check_run *r, uint32_t worker) {
  const uint64_t bytes = r->call.worker_scratch_bytes;
  uint64_t hash = 0;
  for (uint32_t k = 0; r->worker_scratch && k < r->variant->n_workers; k++)
    if (k != worker)
      hash = tn_hash_bytes((const char *)r->worker_scratch->data + k * bytes, bytes, hash);
  return hash;
}

static void run_ranges(check_run *r, uint32_t stage) {
  const int64_t n = r->plan.items[stage], ranges = tn_min_i64(r->variant->n_ranges, n);
  for (int64_t i = 0; i < ranges; i++) {
    const int64_t at = r->variant->reverse ? ranges - 1 - i : i;
    const uint32_t worker =
        (uint32_t)(r->variant->n_workers - 1 - (uint64_t)i % r->variant->n_workers);
    const uint64_t before = hash_scratch_of_others(r, worker);
    check_run_range(r, stage, n * at / ranges, n * (at + 1) / ranges, worker);
    if (hash_scratch_of_others(r, worker) == before || !check_unit_ok(r->context.env)) continue;
    check_fail(r->context.env, "%s: run() as worker %u writes to the scratch of another worker",
               r->variant->name, worker);
  }
}

static tn_pool *threads_of(check_env *env) {
  if (!env->threads && tn_pool_create(tn_default_allocator(), 2, &env->threads))
    check_die("no threads");
  return env->threads;
}

static bool run_stages(check_run *r) {
  for (uint32_t stage = 0; stage < r->plan.n_stages; stage++) {
    if (r->plan.items[stage] <= 0) continue;
    r->stage = stage;
    if (r->variant->threads)
      tn_pool_run(threads_of(r->context.env), r->plan.items[stage], 1, 1, run_threaded, r);
    else
      run_ranges(r, stage);
    if (atomic_load(&r->status)) return false;
  }
  return true;
}

bool check_run_stages(check_run *r) {
  const bool timed = r->context.env->options.bench;
  check_doing(r->context.env, "run(), %s", r->variant->name);
  if (!timed) check_show(r, "the call of run()");
  const bool ok = run_stages(r);
  if (!timed) check_hide(r);
  return ok || failed(r, atomic_load(&r->status), "run() fails");
}
