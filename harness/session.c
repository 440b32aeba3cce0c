/* A case as a model of one node, through tenon.h alone: inference, lowering, casts, layouts and
 * the executor stand between the caller's tensors and the kernels. */
#include <string.h>

#include "device/device.h"
#include "harness/harness.h"

enum { FREED = 0xDD };

/* ---- memory ---------------------------------------------------------------------------------- */

static void *counting_alloc(void *self, uint64_t bytes) {
  check_allocator *a = self;
  const long long call = atomic_fetch_add(&a->n_calls, 1) + 1;
  if (call == atomic_load(&a->fail_at)) return NULL;
  const tn_allocator *base = tn_default_allocator();
  void *memory = base->alloc(base->self, bytes);
  if (memory) atomic_fetch_add(&a->n_live, 1);
  return memory;
}

static void counting_free(void *self, void *memory, uint64_t bytes) {
  check_allocator *a = self;
  const tn_allocator *base = tn_default_allocator();
  if (memory) {
    atomic_fetch_sub(&a->n_live, 1);
    memset(memory, FREED, (size_t)bytes); /* whoever still has it shall not find it as it was */
  }
  base->free(base->self, memory, bytes);
}

void check_allocator_init(check_allocator *a) {
  memset(a, 0, sizeof *a);
  a->base = (tn_allocator){TN_HEAD(tn_allocator), a, counting_alloc, counting_free};
}

tn_runtime *check_runtime_new(check_env *env, uint64_t isa, int32_t n_threads,
                              const tn_allocator *a, const char *pin) {
  tn_runtime_options options = TN_RUNTIME_OPTIONS_INIT;
  tn_runtime *runtime = NULL;
  tn_diag *diag = check_need(tn_diag_create());
  options.n_threads = n_threads;
  options.flags = TN_RUNTIME_NO_DISCOVERY;
  options.isa_mask =
      isa ? isa : UINT64_C(1) << 63; /* a bit that no machine has: 0 would mean all */
  options.allocator = a;
  options.pins = &pin;
  options.n_pins = pin != NULL;
  tn_status s = tn_runtime_create(&options, diag, &runtime);
  if (!s && env->plugin) s = tn_runtime_add_plugin(runtime, env->plugin, NULL, 0, diag);
  for (int k = 0; k < env->options.n_before && !s; k++)
    s = tn_runtime_load_plugin(runtime, env->options.before[k], NULL, 0, diag);
  if (!s && env->options.plugin)
    s = tn_runtime_load_plugin(runtime, env->options.plugin, NULL, 0, diag);
  if (s) check_die("no runtime: %s", tn_diag_text(diag));
  tn_diag_destroy(diag);
  return runtime;
}

/* ---- the model ------------------------------------------------------------------------------- */

static tn_status add_input(const check_value *v, tn_graph *g, uint32_t k, bool unknown_dims,
                           int32_t *out_value) {
  const tn_graph_api *api = tn_graph_functions();
  char name[16];
  *out_value = -1;
  if (!v) return TN_OK;
  snprintf(name, sizeof name, "in%u", k);
  *out_value = api->value(g, v->label ? v->label : name);
  if (*out_value < 0) return *out_value;
  if (v->written_constant) return api->value_set_const(g, *out_value, &v->tensor, 1);
  tn_tensor type = v->tensor;
  for (int32_t d = 0; unknown_dims && d < type.rank; d++) type.shape[d] = TN_DIM_UNKNOWN;
  tn_status s = api->value_set_type(g, *out_value, &type);
  return s ? s : api->add_input(g, *out_value);
}

static tn_status fill_graph(check_problem *p, tn_graph *g, bool unknown_dims) {
  const tn_graph_api *api = tn_graph_functions();
  int32_t inputs[CHECK_MAX_IO], outputs[CHECK_MAX_IO], ignored;
  tn_status s = api->set_opset(g, p->op->op.domain, p->version);
  for (uint32_t k = 0; k < p->n_inputs && !s; k++)
    s = add_input(p->inputs[k], g, k, unknown_dims, &inputs[k]);
  for (uint32_t k = 0; k < p->n_outer && !s; k++)
    s = add_input(p->outer[k], g, k, unknown_dims, &ignored);
  for (uint32_t k = 0; k < p->n_outputs && !s; k++) {
    char name[16];
    snprintf(name, sizeof name, "out%u", k);
    if ((outputs[k] = api->value(g, name)) < 0) s = outputs[k];
  }
  if (s) return s;
  tn_node node = tn_graph_node(p->graph, p->node)->node;
  node.inputs = inputs;
  node.outputs = outputs;
  node.version = 0;
  if (p->line->has_graphs) { /* what they capture is found anew */
    node.n_inputs = p->n_inputs;
    if ((s = check_body_opsets(p, g)) || (s = check_body_attrs(p, g, node.attrs, &node.attrs)))
      return s;
  }
  if ((s = api->add_node(g, &node)) < 0) return s;
  s = TN_OK;
  for (uint32_t k = 0; k < p->n_outputs && !s; k++) s = api->add_output(g, outputs[k]);
  return s;
}

static tn_status set_inputs(check_problem *p, tn_session *session, tn_diag *diag) {
  tn_status s = TN_OK;
  int32_t index = 0;
  for (uint32_t k = 0; k < p->n_inputs && !s; k++)
    if (p->inputs[k] && !p->inputs[k]->written_constant)
      s = tn_session_set_input(session, index++, &p->inputs[k]->tensor, diag);
  for (uint32_t k = 0; k < p->n_outer && !s; k++)
    if (!p->outer[k]->written_constant)
      s = tn_session_set_input(session, index++, &p->outer[k]->tensor, diag);
  return s;
}

tn_status check_model_open(check_problem *p, tn_runtime *runtime, check_model_kind kind,
                           tn_diag *diag, check_model *m) {
  const char *const device = p->env->options.device;
  const tn_model_options options = {.head = TN_HEAD(tn_model_options),
                                    .flags = kind == MODEL_NO_OPTIMIZE ? TN_MODEL_NO_OPTIMIZE : 0,
                                    .devices = &device,
                                    .n_devices = device ? 1 : 0,
                                    .fallback = TN_FALLBACK_FORBID};
  tn_graph *g = NULL;
  *m = (check_model){NULL, NULL};
  tn_status s = tn_graph_create(runtime, &g);
  if (!s && (s = fill_graph(p, g, kind == MODEL_UNKNOWN_DIMS))) tn_graph_destroy(g);
  if (!s) s = tn_model_from_graph_take(runtime, g, &options, diag, &m->model);
  if (!s) s = tn_session_create(m->model, diag, &m->session);
  return s ? s : set_inputs(p, m->session, diag);
}

void check_model_close(check_model *m) {
  tn_session_destroy(m->session);
  tn_model_destroy(m->model);
}

/* Inference of older forms is that of the operators that replace them. */
static void take_types(check_problem *p, const check_model *m) {
  if (tn_op_infers(&p->op->op)) return;
  for (uint32_t k = 0; k < p->n_outputs; k++) {
    const tn_tensor *t = tn_session_output(m->session, (int32_t)k);
    if (!t) continue;
    p->outputs[k] = *t;
    p->outputs[k].data = NULL;
  }
}

bool check_no_oracle(const check_problem *p) { return p->env->limits && !p->op->op.reference; }

/* What others are compared with where there is no reference. */
static void keep(check_problem *p, const check_model *m) {
  check_results *kept = check_need(tn_arena_alloc(&p->arena, sizeof *kept));
  kept->n = p->n_outputs;
  for (uint32_t k = 0; k < p->n_outputs; k++) {
    const tn_tensor *t = tn_session_output(m->session, (int32_t)k);
    const int64_t bytes = t && t->kind == TN_KIND_TENSOR ? tn_tensor_bytes(t) : -1;
    if (bytes < 0 || t->dtype == TN_STRING) return;
    kept->values[k] = *t;
    kept->values[k].data = check_need(tn_arena_alloc(&p->arena, (uint64_t)bytes + 1));
    if (bytes) memcpy(kept->values[k].data, t->data, (size_t)bytes);
  }
  p->agreed = kept;
}

void check_model_compare(check_problem *p, const check_model *m) {
  char why[CHECK_TEXT];
  take_types(p, m);
  if (check_no_oracle(p) && !p->agreed) keep(p, m);
  const check_results *expected = check_no_oracle(p) ? p->agreed : check_problem_expected(p);
  if (check_no_oracle(p) && !expected) return;
  if (!expected) check_fail(p->env, "%s", p->why);
  for (uint32_t k = 0; k < p->n_outputs && expected; k++) {
    const tn_tensor *got = tn_session_output(m->session, (int32_t)k);
    if (!got)
      check_fail(p->env, "session: there is no output %s", p->output_names[k]);
    else if (!(p->op->op.flags & TN_OP_IMPURE) &&
             !check_compare(&expected->values[k], got, check_tolerance_of(p, k), p->output_names[k],
                            why, sizeof why))
      check_fail(p->env, "session: %s", why);
  }
}

/* ---- a test ---------------------------------------------------------------------------------- */

/* Has outputs that are sized while running. */
static bool is_dynamic(const check_problem *p) {
  for (uint32_t k = 0; k < p->n_outputs; k++)
    if (p->outputs[k].kind != TN_KIND_TENSOR || p->outputs[k].dtype == TN_STRING ||
        tn_storage_bytes(&p->outputs[k]) < 0)
      return true;
  return false;
}

/* Once more: the same result, and nothing allocated. */
static void run_again(check_problem *p, const check_model *m, check_allocator *a, tn_diag *diag) {
  const long long before = atomic_load(&a->n_calls);
  const tn_status s = tn_session_run(m->session, diag);
  if (s) check_fail(p->env, "session: a later run fails: %s", tn_diag_text(diag));
  const long long calls = atomic_load(&a->n_calls) - before;
  if (calls)
    check_fail(p->env, "session: a later run of the same shapes allocates %lld times", calls);
  if (!s) check_model_compare(p, m);
}

static tn_runtime *runtime_of(const check_problem *p, check_level *level) {
  check_env *env = p->env;
  if (level->runtime && strcmp(level->pin, p->pin)) check_level_close(level);
  if (!level->runtime) {
    check_allocator_init(&level->allocator);
    memcpy(level->pin, p->pin, sizeof level->pin);
    level->runtime = check_runtime_new(env, level->isa, 2, &level->allocator.base,
                                       *level->pin ? level->pin : NULL);
    if (env->options.device)
      (void)tn_device_open(level->runtime->devices, env->options.device, NULL, &level->device);
  }
  return level->runtime;
}

/* Into memory of the caller, which ends at an unreadable page. */
static void run_bound(check_problem *p, const check_model *m, tn_diag *diag) {
  check_buffer *buffers[CHECK_MAX_IO] = {NULL};
  tn_status s = TN_OK;
  if (is_dynamic(p)) return;
  for (uint32_t k = 0; k < p->n_outputs && !s; k++) {
    tn_tensor t = p->outputs[k];
    buffers[k] =
        check_buffer_new(p->env, (uint64_t)tn_storage_bytes(&t), 1, true, p->output_names[k]);
    memset(buffers[k]->data, 0xFF, buffers[k]->bytes);
    t.data = buffers[k]->data;
    s = tn_session_set_output(m->session, (int32_t)k, &t, diag);
  }
  if (!s) s = tn_session_run(m->session, diag);
  if (s)
    check_fail(p->env, "session: a run into memory of the caller fails: %s", tn_diag_text(diag));
  if (!s) check_model_compare(p, m);
  for (uint32_t k = 0; k < p->n_outputs && buffers[k]; k++) {
    const tn_tensor *got = tn_session_output(m->session, (int32_t)k);
    if (!s && got && buffers[k]->bytes && got->data != buffers[k]->data)
      check_fail(p->env, "session: output %s is not where the caller wants it", p->output_names[k]);
    if (!check_buffer_intact(buffers[k]))
      check_fail(p->env, "session: writes outside of the caller's output %s", p->output_names[k]);
    check_buffer_free(p->env, buffers[k]);
  }
}

static tn_status run_kind(check_problem *p, check_level *level, check_model_kind kind) {
  static const char *const names[] = {"", " with unknown dims", " without optimizing"};
  check_model m;
  tn_diag *diag = check_need(tn_diag_create());
  check_doing(p->env, "a session%s", names[kind]);
  tn_status s = check_model_open(p, runtime_of(p, level), kind, diag, &m);
  if (!s) s = tn_session_run(m.session, diag);
  if (p->made_up && (s == TN_ERR_SHAPE || s == TN_ERR_INVALID)) s = TN_ERR_UNSUPPORTED;
  if (s && s != TN_ERR_UNSUPPORTED)
    check_fail(p->env, "session%s: %s", names[kind],
               tn_diag_count(diag) ? tn_diag_text(diag) : tn_status_text(s));
  if (!s) check_model_compare(p, &m);
  if (!s && kind == MODEL_AS_WRITTEN && check_unit_ok(p->env))
    run_again(p, &m, &level->allocator, diag);
  if (!s && check_unit_ok(p->env)) run_bound(p, &m, diag);
  if (s == TN_ERR_UNSUPPORTED && p->env->options.verbose)
    printf("     session%s: %s\n", names[kind], tn_diag_text(diag));
  check_model_close(&m);
  tn_diag_destroy(diag);
  return s;
}

bool check_session(check_problem *p, check_level *level, bool all) {
  check_problem_fill(p);
  const tn_status s = run_kind(p, level, MODEL_AS_WRITTEN);
  for (int kind = MODEL_UNKNOWN_DIMS;
       all && !s && kind <= MODEL_NO_OPTIMIZE && check_unit_ok(p->env); kind++)
    if (run_kind(p, level, (check_model_kind)kind) == TN_ERR_UNSUPPORTED)
      check_fail(p->env, "session: supported as it stands, but not %s",
                 kind == MODEL_NO_OPTIMIZE ? "without optimizing" : "with unknown dims");
  return s != TN_ERR_UNSUPPORTED;
}
