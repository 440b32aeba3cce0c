/* The steps of the plan and their followers as one list, each with the emitter of its kernel. What
 * cannot be written as C is said of all nodes at once. */
#include <string.h>

#include "base/diag.h"
#include "emit.h"
#include "tenon/kit/dtype.h"

void *emit_alloc(emit_model *m, uint64_t bytes) {
  void *memory = tn_arena_alloc(&m->memory, bytes);
  if (!memory) m->status = TN_ERR_MEMORY;
  return memory;
}

static const tn_emitter *find_emitter(const tn_kerneldef *def) {
  if (!def->owner) return NULL;
  for (uint32_t k = 0; k < def->owner->n_emitters; k++)
    if (!strcmp(def->owner->emitters[k]->kernel, def->kernel.name)) return def->owner->emitters[k];
  if (!def->owner->is_builtin) return NULL;
  for (const tn_emitter *const *const *list = emit_builtin; *list; list++)
    for (const tn_emitter *const *e = *list; *e; e++)
      if (!strcmp((*e)->kernel, def->kernel.name)) return *e;
  return NULL;
}

static bool is_large(const tn_tensor *t) {
  return t && (tn_tensor_bytes(t) < 0 || tn_tensor_bytes(t) > INT32_MAX);
}

/* Why no C can be written for a step; NULL: it can. */
static const char *refusal_of(const emit_unit *u) {
  const tn_call *call = u->call;
  if (u->step->n_bodies) return "it runs subgraphs, which would have to be planned when it runs";
  if (u->step->choice->plan.flags & TN_PLAN_DATA_DEPENDENT)
    return "its outputs' shapes depend on data";
  for (uint32_t k = 0; k < call->n_inputs + call->n_outputs; k++) {
    const tn_tensor *t = k < call->n_inputs ? call->inputs[k] : call->outputs[k - call->n_inputs];
    if (!t) continue;
    if (t->kind != TN_KIND_TENSOR) return "it handles lists, which need memory as they grow";
    if (t->dtype == TN_STRING) return "it handles strings, which need memory as they grow";
    if (is_large(t)) return "a tensor has more than 2^31 bytes";
    if (!emit_c_type(emit_stored_type(t->dtype))) return "C has no type for its elements";
    if (t->layout != TN_PLAIN) return "a tensor is not in plain layout";
  }
  if (!u->emitter) return "there is no C for this kernel yet";
  return u->emitter->refuse ? u->emitter->refuse(call) : NULL;
}

static bool is_constant(const emit_model *m, int32_t slot) {
  return m->plan->slots[emit_root(m, slot)].place == TN_PLACE_CONST;
}

/* The call of a task as emitters see it: data of this run are none of constants. */
static const tn_call *call_of(emit_model *m, const tn_task *t) {
  const uint32_t n = t->call.n_inputs;
  const uint64_t room = tn_node_entries(t->step->node, false); /* those that are left out, too */
  const int32_t *slots = t->step->node->node.inputs;
  tn_call *call = emit_alloc(m, sizeof *call);
  tn_tensor *values = emit_alloc(m, ((uint64_t)n + 1) * sizeof *values);
  const tn_tensor **inputs = emit_alloc(m, (room + 1) * sizeof *inputs);
  if (!call || !values || !inputs) return NULL;
  *call = t->call;
  call->inputs = inputs;
  for (uint32_t k = 0; k < n; k++) {
    if (!t->call.inputs[k]) continue;
    values[k] = *t->call.inputs[k];
    if (!is_constant(m, slots[k])) values[k].data = NULL;
    inputs[k] = &values[k];
  }
  return call;
}

static bool add_unit(emit_model *m, const tn_task *t) {
  emit_unit *u = &m->units[m->n_units++];
  *u = (emit_unit){
      .step = t->step, .call = call_of(m, t), .emitter = find_emitter(t->step->choice->def)};
  if (!u->call) return false;
  const char *why = refusal_of(u);
  if (why) {
    tn_diag_add(m->diag, TN_DIAG_ERROR, "node '%s' (%s), kernel '%s': %s", t->step->node->node.name,
                t->step->node->node.op, t->step->choice->def->kernel.name, why);
    return false;
  }
  if (u->emitter->scratch) u->scratch_bytes = u->emitter->scratch(u->call);
  m->exact = m->exact && !(u->emitter->flags & TN_EMIT_LIBM);
  return true;
}

/* A state that becomes another one: which of the two is copied first would matter. */
static bool check_states(emit_model *m) {
  const tn_plan *p = m->plan;
  const int32_t n = tn_model_n_states(m->model), n_in = p->n_inputs - n, n_out = p->n_outputs - n;
  bool ok = true;
  for (int32_t k = 0; k < n; k++) {
    const tn_slot *s = &p->slots[emit_root(m, p->outputs[n_out + k])];
    if (s->place != TN_PLACE_INPUT || s->index < n_in || s->index == n_in + k) continue;
    tn_diag_add(m->diag, TN_DIAG_ERROR, "state '%s' becomes state '%s': not written yet",
                tn_model_state_name(m->model, k), tn_model_state_name(m->model, s->index - n_in));
    ok = false;
  }
  return ok;
}

/* Inputs, outputs and constants are arrays of their own type. */
static bool check_type(emit_model *m, int32_t slot, const char *what) {
  const tn_tensor *t = m->plan->slots[slot].type;
  if (t->kind == TN_KIND_TENSOR && emit_c_type(t->dtype) && !is_large(t)) return true;
  tn_diag_add(m->diag, TN_DIAG_ERROR, "%s '%s': C has no type for it", what,
              m->plan->slots[slot].name);
  return false;
}

/* Between steps complex numbers are pairs, but not here. */
static bool is_complex(const tn_slot *s) {
  return s->type && s->type->kind == TN_KIND_TENSOR &&
         emit_stored_type(s->type->dtype) != s->type->dtype;
}

static bool check_types(emit_model *m) {
  const tn_plan *p = m->plan;
  bool ok = true;
  for (int32_t k = 0; k < p->n_inputs; k++) ok = check_type(m, p->inputs[k], "input") && ok;
  for (int32_t k = 0; k < p->n_slots; k++)
    if (p->slots[k].place == TN_PLACE_CONST && is_complex(&p->slots[k]))
      ok = check_type(m, k, "constant") && ok;
  for (int32_t k = 0; k < p->n_outputs; k++)
    if (p->outputs[k] >= 0 && is_complex(&p->slots[p->outputs[k]]))
      ok = check_type(m, p->outputs[k], "output") && ok;
  return ok;
}

/* What a plan was made for, its C would not look at. */
static bool check_keys(emit_model *m) {
  bool ok = true;
  for (int32_t k = 0; k < m->plan->n_inputs; k++) {
    if (!m->plan->key[k].data) continue;
    tn_diag_add(m->diag, TN_DIAG_ERROR,
                "input '%s': what is computed was decided by its value, which may be another one "
                "in the next run: make it a constant of the model",
                m->plan->slots[m->plan->inputs[k]].name);
    ok = false;
  }
  return ok;
}

/* What the plan as a whole cannot be. */
static bool check_plan(emit_model *m) {
  const tn_plan *p = m->plan;
  bool ok = !p->continuation;
  if (p->devices)
    return tn_fail(m->diag, TN_ERR_UNSUPPORTED,
                   "C is written for the CPU alone, not for devices") == TN_OK;
  if (!ok) {
    const tn_graph *rest = p->continuation->graph;
    for (int64_t k = 0; k < rest->nodes.n; k++) {
      const tn_node *n = &tn_graph_node(rest, (int32_t)k)->node;
      if (!tn_graph_node(rest, (int32_t)k)->alive) continue;
      tn_diag_add(m->diag, TN_DIAG_ERROR, "node '%s' (%s): shapes depend on data of a run", n->name,
                  n->op);
    }
  }
  ok = check_types(m) && ok;
  ok = check_keys(m) && ok;
  return check_states(m) && ok;
}

tn_status emit_find_units(emit_model *m, const tn_session *session) {
  const tn_setup *setup = session->frame->now;
  m->plan = setup->plan;
  int64_t n = m->plan->n_steps;
  for (int32_t k = 0; k < m->plan->n_steps; k++) n += m->plan->steps[k].n_followers;
  m->units = emit_alloc(m, (uint64_t)n * sizeof *m->units);
  if (!m->units) return TN_ERR_MEMORY;
  m->exact = true;
  bool ok = check_plan(m);
  for (int32_t k = 0; k < m->plan->n_steps; k++) {
    const tn_task *t = &setup->tasks[k];
    ok = add_unit(m, t) && ok;
    for (uint32_t f = 0; f < t->step->n_followers; f++) ok = add_unit(m, &t->followers[f]) && ok;
  }
  return ok ? TN_OK : TN_ERR_UNSUPPORTED;
}
