/* Runs one node by itself: a plan of one step, run by an ordinary frame.
 *
 * For folding, on constant inputs: the kernel is the best-ranked one that takes the node in plain
 * layout, and outputs of known size are written straight into the constants that the caller gets.
 * For selection, to time a given kernel: on made-up inputs. */
#include <string.h>

#include "base/cpu.h"
#include "exec/frame.h"
#include "plan/select/match.h"

typedef struct tn_eval {
  const tn_planner *planner;
  tn_gnode node; /* its inputs and outputs are slots of the plan */
  tn_diag *diag;
  tn_arena arena;
  tn_plan plan;
  tn_choice choice;
  tn_step step;
  int32_t *inputs, *outputs;
  tn_frame *frame;
} tn_eval;

/* ---- the plan of one step ---- */

static bool is_evaluable(const tn_gnode *node, const tn_tensor *const *in, tn_tensor *const *out) {
  if (node->n_subgraphs || !node->def) return false;
  for (uint32_t k = 0; k < node->node.n_inputs; k++)
    if (in[k] && (in[k]->kind != TN_KIND_TENSOR || in[k]->layout != TN_PLAIN)) return false;
  for (uint32_t k = 0; k < node->node.n_outputs; k++)
    if (out[k] && out[k]->kind != TN_KIND_TENSOR) return false;
  return true;
}

static tn_status add_input(tn_eval *e, uint32_t k, const tn_tensor *in) {
  e->inputs[k] = -1;
  if (!in) return TN_OK;
  tn_slot *slot = &e->plan.slots[e->plan.n_slots];
  tn_tensor *type = tn_arena_copy(&e->arena, in, sizeof *in);
  if (!type) return TN_ERR_MEMORY;
  *slot = (tn_slot){.name = "", .type = type, .place = TN_PLACE_CONST, .index = -1, .alias_of = -1};
  /* kernels tell constants by their data, also those without elements */
  if (!in->data) type->data = tn_arena_alloc(&e->arena, 1);
  e->inputs[k] = e->plan.n_slots++;
  return type->data ? TN_OK : TN_ERR_MEMORY;
}

static tn_status add_output(tn_eval *e, uint32_t k, const tn_tensor *out, tn_const **out_const) {
  e->outputs[k] = -1;
  if (!out) return TN_OK;
  tn_slot *slot = &e->plan.slots[e->plan.n_slots];
  tn_tensor *type = tn_arena_copy(&e->arena, out, sizeof *out);
  if (!type) return TN_ERR_MEMORY;
  type->data = NULL;
  *slot = (tn_slot){.name = "", .type = type, .place = TN_PLACE_DYNAMIC, .alias_of = -1};
  e->outputs[k] = e->plan.n_slots++;
  int64_t bytes = tn_storage_bytes(out);
  if (bytes < 0 || out->dtype == TN_STRING) {
    slot->index = e->plan.n_dynamic++;
    return TN_OK;
  }
  *out_const = tn_const_new(e->planner->a, (uint64_t)bytes);
  if (!*out_const) return TN_ERR_MEMORY;
  slot->place = TN_PLACE_CONST;
  type->data = (*out_const)->data;
  return TN_OK;
}

static tn_status add_step(tn_eval *e, const tn_tensor *const *in, tn_tensor *const *out,
                          tn_const **out_consts) {
  tn_node *n = &e->node.node;
  const uint32_t n_in = n->n_inputs, n_out = n->n_outputs;
  e->plan.slots = tn_arena_alloc(&e->arena, (uint64_t)(n_in + n_out) * sizeof *e->plan.slots);
  n->inputs = e->inputs = tn_arena_alloc(&e->arena, n_in * sizeof *e->inputs);
  n->outputs = e->outputs = tn_arena_alloc(&e->arena, n_out * sizeof *e->outputs);
  e->step = (tn_step){.node = &e->node, .choice = &e->choice};
  if (!e->plan.slots || !e->inputs || !e->outputs) return TN_ERR_MEMORY;
  tn_status status = TN_OK;
  for (uint32_t k = 0; !status && k < n_in; k++) status = add_input(e, k, in[k]);
  for (uint32_t k = 0; !status && k < n_out; k++) status = add_output(e, k, out[k], &out_consts[k]);
  e->plan.steps = &e->step;
  e->plan.n_steps = 1;
  return status;
}

/* ---- the kernel ---- */

static tn_status choose(tn_eval *e) {
  tn_call *call = &e->frame->now->tasks[0].call;
  const tn_kerneldef *const *kernels = NULL;
  int32_t n = tn_registry_kernels(e->planner->registry, e->node.def, &kernels);
  for (int32_t k = 0; k < n; k++) {
    const tn_kerneldef *def = kernels[k];
    if (def->device || !tn_pin_allows(e->planner, &e->node, def->kernel.name)) continue;
    call->self = def->owner ? def->owner->self : NULL;
    if (tn_kernel_match(def, e->node.def, call, e->node.n_formal, NULL)) continue;
    tn_status status = tn_kernel_ask_plan(def, call, e->diag, &e->choice.plan);
    if (status == TN_ERR_UNSUPPORTED) continue;
    e->choice.def = def;
    tn_note_use(&def->uses, TN_USE_TAKEN);
    tn_note_use(&e->node.def->uses, TN_USE_TAKEN); /* of a conversion no node is made */
    return status;
  }
  return TN_ERR_UNSUPPORTED;
}

/* Books scratch and state, and builds the frame anew with them. */
static tn_status book(tn_eval *e) {
  tn_kernel_plan *plan = &e->choice.plan;
  e->step.worker_scratch_offset = tn_round_up(plan->scratch_bytes, 64);
  if (plan->state_bytes) {
    e->step.state = tn_alloc(e->planner->a, plan->state_bytes);
    if (!e->step.state) return TN_ERR_MEMORY;
  }
  tn_frame_forget(e->frame);
  return tn_frame_build_take(e->frame, &e->plan, NULL);
}

/* Prepares the kernel, calls body, and finishes. */
static tn_status with_state(tn_eval *e, tn_status (*body)(tn_frame *f, void *self), void *self) {
  tn_task *t = &e->frame->now->tasks[0];
  const tn_kernel *kernel = &e->choice.def->kernel;
  bool prepared = e->step.state && kernel->prepare;
  e->frame->diag = e->diag;
  tn_status status = prepared ? kernel->prepare(&t->call) : TN_OK;
  if (status) {
    tn_frame_fail(e->frame, t, status);
    return tn_frame_report(e->frame);
  }
  status = body(e->frame, self);
  if (prepared && kernel->finish) kernel->finish(&t->call);
  return status;
}

static tn_status run_once(tn_frame *f, void *self) {
  (void)self;
  return tn_frame_steps(f);
}

/* ---- results ---- */

static tn_status take_output(tn_eval *e, uint32_t k, tn_tensor *out, tn_const **out_const) {
  if (!out) return TN_OK;
  const tn_tensor *value = e->frame->now->tasks[0].call.outputs[k];
  if (!*out_const && tn_const_copy(e->planner->a, value, out_const)) return TN_ERR_MEMORY;
  out->rank = value->rank;
  memcpy(out->shape, value->shape, sizeof out->shape);
  out->data = (*out_const)->data;
  return TN_OK;
}

static void eval_close(tn_eval *e) {
  tn_frame_destroy(e->frame);
  tn_free(e->planner->a, e->step.state, e->step.state ? e->choice.plan.state_bytes : 0);
  tn_arena_clear(&e->arena);
}

static tn_status eval(tn_eval *e, const tn_tensor *const *in, tn_tensor *const *out,
                      tn_const **out_consts) {
  tn_status status = add_step(e, in, out, out_consts);
  if (!status)
    status = tn_frame_create_in(NULL, e->planner->a, e->planner->pool, e->planner, NULL, &e->frame);
  if (!status) status = tn_frame_build_take(e->frame, &e->plan, NULL);
  if (!status) status = choose(e);
  if (!status) status = book(e);
  if (!status) status = with_state(e, run_once, NULL);
  for (uint32_t k = 0; !status && k < e->node.node.n_outputs; k++)
    status = take_output(e, k, out[k], &out_consts[k]);
  return status;
}

tn_status tn_eval_node(const tn_planner *p, const tn_gnode *node, const tn_tensor *const *in,
                       tn_tensor *const *out, tn_const **out_consts, tn_diag *diag) {
  for (uint32_t k = 0; k < node->node.n_outputs; k++) out_consts[k] = NULL;
  if (!is_evaluable(node, in, out)) return TN_ERR_UNSUPPORTED;
  tn_eval e = {.planner = p, .node = *node, .diag = diag};
  tn_arena_init(&e.arena, p->a);
  tn_status status = eval(&e, in, out, out_consts);
  for (uint32_t k = 0; status && k < node->node.n_outputs; k++) {
    tn_const_release(out_consts[k]);
    out_consts[k] = NULL;
    if (out[k]) out[k]->data = NULL;
  }
  eval_close(&e);
  return status;
}

/* ---- timing ---- */

enum { MIN_RUNS = 3, MAX_RUNS = 100, ENOUGH_NS = 20000000 };

/* Numbers of the size of usual activations; integers, which may be indices, are 0. */
static void make_up(const tn_tensor *t, uint8_t *data, uint64_t bytes) {
  uint32_t state = 1;
  if (t->dtype == TN_F32)
    for (uint64_t k = 0; k + 4 <= bytes; k += 4) {
      state = state * 1664525u + 1013904223u;
      const float x = (float)(int32_t)state * 0x1p-31f;
      memcpy(data + k, &x, sizeof x);
    }
  else if (t->dtype == TN_F64 || t->dtype == TN_F16 || t->dtype == TN_BF16)
    memset(data, 0x3c, bytes);
}

/* A list, strings or an open shape cannot be made up. */
static bool is_plain_data(const tn_tensor *t) {
  return t->kind == TN_KIND_TENSOR && t->dtype != TN_STRING && tn_storage_bytes(t) >= 0;
}

static tn_status fill_input(const tn_planner *p, const tn_tensor *in, tn_tensor *t, tn_const **c) {
  const int64_t bytes = tn_storage_bytes(in);
  *t = *in;
  if (in->data) return TN_OK;
  if (!is_plain_data(in)) return TN_ERR_UNSUPPORTED;
  *c = tn_const_new(p->a, (uint64_t)bytes);
  if (!*c) return TN_ERR_MEMORY;
  make_up(in, (*c)->data, (uint64_t)bytes);
  t->data = (*c)->data;
  return TN_OK;
}

static tn_status run_often(tn_frame *f, void *self) {
  uint64_t *best = self;
  const uint64_t begin = tn_now_ns();
  tn_status status = tn_frame_steps(f); /* warms up */
  for (int k = 0; !status && k < MAX_RUNS; k++) {
    const uint64_t start = tn_now_ns();
    if (k >= MIN_RUNS && start - begin > ENOUGH_NS) break;
    status = tn_frame_steps(f);
    const uint64_t ns = tn_now_ns() - start;
    if (!k || ns < *best) *best = ns;
  }
  return status;
}

static tn_status measure(tn_eval *e, const tn_tensor *const *in, tn_tensor *const *out,
                         tn_const **consts, uint64_t *out_ns) {
  const uint32_t n_in = e->node.node.n_inputs, n_out = e->node.node.n_outputs;
  tn_tensor *types = tn_arena_alloc(&e->arena, ((uint64_t)n_in + 1) * sizeof *types);
  const tn_tensor **given = tn_arena_alloc(&e->arena, ((uint64_t)n_in + 1) * sizeof *given);
  tn_status status = types && given ? TN_OK : TN_ERR_MEMORY;
  for (uint32_t k = 0; !status && k < n_in; k++) {
    given[k] = in[k] ? &types[k] : NULL;
    if (in[k]) status = fill_input(e->planner, in[k], &types[k], &consts[k]);
  }
  for (uint32_t k = 0; !status && k < n_out; k++)
    if (out[k] && !is_plain_data(out[k])) status = TN_ERR_UNSUPPORTED;
  if (!status) status = add_step(e, given, out, consts + n_in);
  if (!status)
    status = tn_frame_create_in(NULL, e->planner->a, e->planner->pool, e->planner, NULL, &e->frame);
  if (!status) status = book(e);
  return status ? status : with_state(e, run_often, out_ns);
}

tn_status tn_measure_node(const tn_planner *p, const tn_gnode *node, const tn_kerneldef *def,
                          const tn_kernel_plan *plan, const tn_tensor *const *in,
                          tn_tensor *const *out, uint64_t *out_ns) {
  const uint32_t n = node->node.n_inputs + node->node.n_outputs;
  tn_eval e = {.planner = p, .node = *node};
  tn_arena_init(&e.arena, p->a);
  tn_const **consts = tn_arena_alloc(&e.arena, ((uint64_t)n + 1) * sizeof *consts);
  tn_status status = consts ? TN_OK : TN_ERR_MEMORY;
  *out_ns = 0;
  if (!status) {
    e.choice.def = def;
    e.choice.plan = *plan;
    status = measure(&e, in, out, consts, out_ns);
  }
  if (status) *out_ns = 0;
  for (uint32_t k = 0; consts && k < n; k++) tn_const_release(consts[k]);
  eval_close(&e);
  return status;
}
