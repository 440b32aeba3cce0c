/* Plans of what a run has not come by: branches of If that were not taken, bodies of loops that had
 * no turn. Their inputs are typed as the plan around them knows them. */
#include "exec/exec.h"
#include "parts.h"

enum { MAX_DEPTH = 16 };

static void plan_all(tn_callable *c, int depth, tn_text *notes, tn_text *steps);

/* The type of input k of a subgraph: of what it captures the value's in the plan, else its own. */
static bool input_type(const tn_plan *plan, const tn_step *step, uint32_t graph, int64_t k,
                       tn_tensor *out) {
  const tn_callable *c = step->bodies[graph].callable;
  const tn_value *own = tn_graph_val(c->graph, c->graph->inputs.data[k]);
  *out = *own->type;
  for (uint32_t j = 0; j < step->bodies[graph].n_captures; j++) {
    const tn_capture *capture = &step->bodies[graph].captures[j];
    if (capture->inner != k) continue;
    const int32_t slot = step->node->node.inputs[capture->input];
    if (slot < 0) return false;
    *out = *plan->slots[slot].type;
  }
  return out->kind != TN_KIND_TENSOR ||
         (out->dtype != TN_NONE && out->rank >= 0 && tn_tensor_elements(out) >= 0);
}

static tn_status plan_one(const tn_plan *plan, const tn_step *step, uint32_t graph) {
  tn_callable *c = step->bodies[graph].callable;
  const int64_t n = c->graph->inputs.n;
  tn_arena arena;
  tn_arena_init(&arena, tn_default_allocator());
  tn_tensor *types = tn_arena_alloc(&arena, (uint64_t)(n + 1) * sizeof *types);
  const tn_tensor **inputs = tn_arena_alloc(&arena, (uint64_t)(n + 1) * sizeof *inputs);
  tn_status s = types && inputs ? TN_OK : TN_ERR_MEMORY;
  for (int64_t k = 0; k < n && !s; k++) {
    inputs[k] = &types[k];
    if (!input_type(plan, step, graph, k, &types[k])) s = TN_NEEDS_DATA;
  }
  tn_plan *made = NULL;
  if (!s) s = tn_callable_plan(c, inputs, 0, NULL, &made);
  if (made) tn_plan_release(made);
  tn_arena_clear(&arena);
  return s;
}

static void plan_step(const tn_plan *plan, const tn_step *step, int depth, tn_text *notes,
                      tn_text *steps) {
  tn_text_add(steps, "%s\n", step->choice->def ? step->choice->def->kernel.name : "");
  for (uint32_t k = 0; k < step->n_followers; k++)
    plan_step(plan, &step->followers[k], depth, notes, steps);
  for (uint32_t k = 0; k < step->n_bodies; k++) {
    tn_callable *c = step->bodies[k].callable;
    if (!c->plans.n && plan_one(plan, step, k))
      tn_text_add(notes, "%s has no plan: give inputs that lead there, or add what it needs\n",
                  c->name);
    plan_all(c, depth + 1, notes, steps);
  }
}

static void plan_all(tn_callable *c, int depth, tn_text *notes, tn_text *steps) {
  for (int64_t k = 0; k < c->plans.n && depth < MAX_DEPTH; k++) {
    const tn_plan *plan = c->plans.data[k];
    for (int32_t i = 0; i < plan->n_steps; i++)
      plan_step(plan, &plan->steps[i], depth, notes, steps);
    if (!plan->continuation) continue;
    if (!plan->continuation->plans.n)
      tn_text_add(notes, "%s has no plan: its shapes depend on the data of a run\n",
                  plan->continuation->name);
    plan_all(plan->continuation, depth + 1, notes, steps);
  }
}

void cli_parts_plan_branches(cli_session *s, tn_text *notes, tn_text *steps) {
  if (s->model && s->model->main) plan_all(s->model->main, 0, notes, steps);
}
