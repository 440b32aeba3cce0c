/* Pass 05, fuse: first the rewrites that plug-ins offer (batch norm into conv, ...), for what is
 * f16 or bf16 once more when it has become f32 (widen.c), and behind them transposes are moved out
 * of the way (transposes.c); then element-wise nodes become epilogues of the node before them, if a
 * kernel of that node takes them in registers. */
#include "plan/match.h"
#include "plan/passes.h"

/* ---- kernels ---- */

/* Of the kernels that take the node with the epilogue it has now (the pinned one, if one is), that
 * of the best rank; NULL: none does. */
static const tn_kerneldef *first_that_takes(const tn_planner *p, tn_graph *g, int32_t node) {
  tn_call_frame f;
  if (tn_call_open(&f, p, g, node, NULL)) return NULL;
  const tn_gnode *n = tn_graph_node(g, node);
  const tn_kerneldef *const *kernels, *found = NULL;
  int32_t count = tn_registry_kernels(p->registry, n->def, &kernels);
  for (int32_t k = 0; k < count && !found && !tn_call_fetch_for(&f, kernels[k]->owner); k++)
    if (tn_pin_allows(p, n, kernels[k]->kernel.name) &&
        tn_kernel_match_fixed(kernels[k], n->def, &f.call, n->n_formal, NULL) == NULL &&
        (!kernels[k]->kernel.refuse || kernels[k]->kernel.refuse(&f.call) == NULL))
      found = kernels[k];
  tn_call_close(&f);
  return found;
}

/* The kernel that wins the node by its rank, whatever its layouts cost; NULL: none does. */
static const tn_kerneldef *winner_by_rank(const tn_planner *p, tn_graph *g, int32_t node) {
  const tn_kerneldef *const *kernels, *first;
  const int32_t n = tn_registry_kernels(p->registry, tn_graph_node(g, node)->def, &kernels);
  if (!n || kernels[0]->kernel.rank < TN_RANK_PLUGIN) return NULL; /* in the order of ranks */
  first = first_that_takes(p, g, node);
  return first && first->kernel.rank >= TN_RANK_PLUGIN ? first : NULL;
}

/* ---- rewrites ---- */

/* Is the node pinned, or one of those before it that a rewrite might take with it? */
static bool is_pinned(const tn_planner *p, const tn_graph *g, int32_t node) {
  enum { STEPS = 5 };
  for (int k = 0; p->n_pins > 0 && k < STEPS && node >= 0; k++) {
    const tn_gnode *n = tn_graph_node(g, node);
    if (n->def && tn_pin_of(p, n)) return true;
    const int32_t value = n->node.n_inputs ? n->node.inputs[0] : -1;
    const tn_value *v = value < 0 ? NULL : tn_graph_val(g, value);
    node = v && v->users.n == 1 ? v->producer : -1;
  }
  return false;
}

/* Is the node to run as it is: pinned, or by a plug-in's kernel, which wins by its rank? Tenon's
 * own rewrites leave it alone then. Of element-wise nodes they make more than a faster one. */
static bool is_spoken_for(const tn_planner *p, tn_graph *g, int32_t node) {
  if (is_pinned(p, g, node)) return true;
  if (tn_graph_node(g, node)->def->op.flags & TN_OP_ELEMENTWISE) return false;
  const tn_kerneldef *winner = first_that_takes(p, g, node);
  return winner && !tn_is_own(winner->owner);
}

static tn_status apply_rewrite(const tn_planner *p, tn_graph *g, int32_t node,
                               const tn_rewritedef *r, tn_diag *diag) {
  const int32_t first = (int32_t)g->nodes.n;
  tn_edit e = {p, g, node, "rewrite", r->rewrite.name, r->owner, diag, 0};
  tn_status s = tn_edit_call(&e, r->rewrite.apply, true);
  const tn_gnode *n = tn_graph_node(g, node);
  if (!s && n->alive && !n->def) s = tn_check_from(p, g, node, diag); /* it is a region now */
  if (!s) s = tn_settle_from(p, g, first, diag);
  return s ? s : tn_edit_check(&e);
}

static bool is_still(const tn_graph *g, int32_t node, const tn_opdef *def) {
  return tn_graph_node(g, node)->alive && tn_graph_node(g, node)->def == def;
}

static tn_status rewrite_each(const tn_planner *p, tn_graph *g, int64_t limit, tn_diag *diag) {
  tn_status s = TN_OK;
  for (int32_t id = 0; id < (int32_t)g->nodes.n && !s; id++) {
    const tn_gnode *n = tn_graph_node(g, id);
    const tn_rewritedef *const *rewrites;
    int32_t count = n->alive && n->def ? tn_registry_rewrites(p->registry, n->def, &rewrites) : 0;
    const bool is_spoken = count > 0 && is_spoken_for(p, g, id);
    const tn_opdef *def = n->def;
    for (int32_t k = 0; k < count && !s && is_still(g, id, def); k++)
      if (!is_spoken || !tn_is_own(rewrites[k]->owner))
        s = apply_rewrite(p, g, id, rewrites[k], diag);
    if (!s && g->nodes.n > limit) s = tn_edit_endless(g, id, "rewriting", diag);
  }
  if (!s) s = tn_graph_sort(g, diag);
  return s ? s : tn_graph_remove_dead(g);
}

/* Until nothing is found: what one rewrite leaves behind still reads the values that the next looks
 * at, until it is removed. */
static tn_status rewrite_all(const tn_planner *p, tn_graph *g, tn_diag *diag) {
  const int64_t limit = tn_edit_limit(g);
  tn_status s = TN_OK;
  for (int64_t n = -1; !s && n != g->nodes.n;) {
    n = g->nodes.n;
    s = rewrite_each(p, g, limit, diag);
  }
  return s;
}

/* ---- epilogues ---- */

/* The node that alone reads the value, if it may be fused into the value's producer; -1: none. */
static int32_t only_user(const tn_graph *g, int32_t value) {
  const tn_value *v = tn_graph_val(g, value);
  return v->users.n == 1 && !(v->flags & TN_VALUE_OUTPUT) && v->known ? v->users.data[0] : -1;
}

bool tn_has_epilogue_kernel(const tn_planner *p, const tn_gnode *n) {
  const tn_kerneldef *const *kernels;
  int32_t count = n->def ? tn_registry_kernels(p->registry, n->def, &kernels) : 0;
  for (int32_t k = 0; k < count; k++)
    if (kernels[k]->kernel.flags & TN_KERNEL_EPILOGUE) return true;
  return false;
}

/* An operand of ADD or MUL must have the output's shape or one value per index of one dim. */
static bool operand_fits(const tn_tensor *t, const tn_tensor *out) {
  if (t->dtype != out->dtype || t->rank > out->rank) return false;
  if (tn_same_shape(t, out)) return true;
  int32_t varying = 0;
  for (int32_t k = 0; k < t->rank; k++) {
    if (t->shape[k] == 1) continue;
    if (t->shape[k] != out->shape[out->rank - t->rank + k]) return false;
    varying++;
  }
  return varying == 1;
}

static bool some_kernel_takes(const tn_planner *p, tn_graph *g, int32_t node) {
  return first_that_takes(p, g, node) != NULL;
}

static tn_status describe(const tn_planner *p, tn_graph *g, int32_t user, tn_epilogue *e) {
  tn_call_frame f;
  tn_status s = tn_call_open(&f, p, g, user, NULL);
  if (s) return s;
  *e = (tn_epilogue){.head = TN_HEAD(tn_epilogue), .input = -1};
  s = tn_graph_node(g, user)->def->op.epilogue(&f.call, e);
  tn_call_close(&f);
  return s || e->kind == TN_EPILOGUE_NONE || e->kind >= TN_EPILOGUE_COUNT ? TN_ERR_INVALID : TN_OK;
}

/* Puts the step on the node's list; the lists are fresh, so that taking them back is assigning the
 * old ones. */
static tn_status append_step(tn_graph *g, tn_gnode *n, const tn_epilogue *e, tn_fused from) {
  const tn_epilogue **steps = tn_arena_alloc(&g->arena, (n->n_epilogue + 1) * sizeof *steps);
  const char **names = tn_arena_alloc(&g->arena, (n->n_epilogue + 1) * sizeof *names);
  tn_fused *fused = tn_arena_alloc(&g->arena, (n->n_epilogue + 1) * sizeof *fused);
  tn_epilogue *copy = tn_arena_copy(&g->arena, e, sizeof *e);
  if (!steps || !names || !fused || !copy) return TN_ERR_MEMORY;
  for (uint32_t k = 0; k < n->n_epilogue; k++)
    steps[k] = n->epilogue[k], names[k] = n->epilogue_names[k], fused[k] = n->fused[k];
  steps[n->n_epilogue] = copy;
  names[n->n_epilogue] = tn_graph_node(g, from.node)->node.op;
  fused[n->n_epilogue] = from;
  n->epilogue = steps;
  n->epilogue_names = names;
  n->fused = fused;
  n->n_epilogue++;
  return TN_OK;
}

/* Node takes over the output of user, which disappears. */
static tn_status take_output(tn_graph *g, int32_t node, int32_t user) {
  int32_t out = tn_graph_node(g, user)->node.outputs[0];
  tn_graph_detach_outputs(g, user);
  tn_status s = tn_graph_remove_node(g, user);
  if (s) return s;
  tn_graph_detach_outputs(g, node); /* its old output: nobody reads it any more */
  return tn_graph_attach_output(g, node, 0, out);
}

/* Optional inputs that the node does not write out are written as left out, so that operands can
 * follow the formal inputs. false: there is a list, so nobody could tell where they begin. */
static bool close_inputs(tn_graph *g, int32_t node, tn_status *status) {
  tn_gnode *n = tn_graph_node(g, node);
  const int32_t want = n->def->schema.n_inputs;
  for (int32_t k = 0; k < want; k++)
    if (tn_schema_input(&n->def->schema, k)->list) return false;
  while (!*status && (int32_t)n->n_formal == (int32_t)n->node.n_inputs &&
         (int32_t)n->n_formal < want)
    if (!(*status = tn_graph_append_node_input(g, node, -1))) n->n_formal++;
  return !*status && (int32_t)n->n_formal >= want;
}

static tn_status try_fuse(const tn_planner *p, tn_graph *g, int32_t node, bool *out_fused) {
  *out_fused = false;
  const tn_gnode *n = tn_graph_node(g, node);
  int32_t value = n->node.n_outputs == 1 ? n->node.outputs[0] : -1,
          user = value < 0 ? -1 : only_user(g, value);
  const tn_gnode *u = user < 0 ? NULL : tn_graph_node(g, user);
  if (!u || !u->def || !u->def->op.epilogue || u->n_epilogue || u->node.n_outputs != 1 ||
      tn_pin_of(p, u))
    return TN_OK;
  const tn_value *out = tn_graph_val(g, u->node.outputs[0]);
  tn_epilogue e;
  if (!out->known || !tn_same_shape(&out->type, &tn_graph_val(g, value)->type) ||
      describe(p, g, user, &e))
    return TN_OK;
  int32_t operand = -1;
  if (e.kind == TN_EPILOGUE_ADD || e.kind == TN_EPILOGUE_MUL) {
    if (u->node.n_inputs != 2) return TN_OK;
    operand = u->node.inputs[u->node.inputs[0] == value];
    if (operand == value || !tn_graph_val(g, operand)->known ||
        !operand_fits(&tn_graph_val(g, operand)->type, &out->type))
      return TN_OK;
  }
  tn_status s = TN_OK;
  const tn_kerneldef *winner = winner_by_rank(p, g, node);
  if (!close_inputs(g, node, &s)) return s;
  tn_gnode before = *n;
  e.input = operand < 0 ? -1 : (int32_t)before.node.n_inputs;
  if (operand >= 0) s = tn_graph_append_node_input(g, node, operand);
  tn_fused from = {user, u->node.inputs[0] != value};
  if (!s) s = append_step(g, tn_graph_node(g, node), &e, from);
  if (s) return s;
  if (winner ? winner_by_rank(p, g, node) == winner : some_kernel_takes(p, g, node)) {
    *out_fused = true;
    return take_output(g, node, user);
  }
  if (operand >= 0) s = tn_graph_set_node_input(g, node, before.node.n_inputs, -1);
  *tn_graph_node(g, node) = before;
  return s;
}

static tn_status fuse_epilogues(const tn_planner *p, tn_graph *g) {
  tn_status s = tn_graph_sort(g, NULL);
  for (int32_t id = 0; id < (int32_t)g->nodes.n && !s; id++) {
    if (!tn_graph_node(g, id)->alive || !tn_has_epilogue_kernel(p, tn_graph_node(g, id))) continue;
    bool fused = true;
    while (fused && !s) s = try_fuse(p, g, id, &fused);
  }
  return s ? s : tn_graph_remove_dead(g);
}

/* Are all values known that the node's readers make? Until then rewrites that look at shapes have
 * not seen them. */
static bool readers_are_known(const tn_graph *g, int32_t node) {
  const tn_gnode *n = tn_graph_node(g, node);
  for (uint32_t k = 0; k < n->node.n_outputs; k++) {
    const tn_value *v = n->node.outputs[k] < 0 ? NULL : tn_graph_val(g, n->node.outputs[k]);
    for (int64_t u = 0; v && u < v->users.n; u++) {
      const tn_gnode *user = tn_graph_node(g, v->users.data[u]);
      for (uint32_t o = 0; o < user->node.n_outputs; o++)
        if (user->node.outputs[o] >= 0 && !tn_graph_val(g, user->node.outputs[o])->known)
          return false;
    }
  }
  return true;
}

/* What folding has left for the rewrites to see; last: all of it. *out_folded: there was
 * something. */
static tn_status fold_quantised(const tn_planner *p, tn_graph *g, bool last, bool *out_folded,
                                tn_diag *diag) {
  const int64_t n = g->rewritten ? 0 : g->nodes.n;
  bool waits = false;
  tn_status s = TN_OK;
  *out_folded = false;
  g->rewritten = true;
  for (int32_t id = 0; id < (int32_t)n && !s; id++) {
    const tn_gnode *node = tn_graph_node(g, id);
    bool done;
    int32_t value;
    if (!node->alive || !node->def || strcmp(node->node.op, "DequantizeLinear")) continue;
    if (!last && !readers_are_known(g, id)) {
      waits = true;
      continue;
    }
    s = tn_infer_and_fold(p, g, id, &done, &value, diag);
    if (s == TN_NEEDS_DATA) s = TN_OK;
    *out_folded |= !tn_graph_node(g, id)->alive;
  }
  if (waits) g->rewritten = false;
  return s;
}

enum { MAX_TURNS = 4 };

static tn_status rewrite(const tn_planner *p, tn_graph *g, bool last, tn_diag *diag) {
  if (p->model_flags & TN_MODEL_NO_OPTIMIZE) return TN_OK;
  bool folded, widened = false, turned = false;
  tn_status s = rewrite_all(p, g, diag);
  if (!s) s = fold_quantised(p, g, last, &folded, diag);
  if (!s && folded) s = rewrite_all(p, g, diag);
  if (!s) s = tn_widen_halves(p, g, &widened, diag);
  if (!s && widened) s = rewrite_all(p, g, diag);
  if (!s) s = tn_turn_transposes(p, g, &turned, diag);
  for (int k = 0; k < MAX_TURNS && turned && !s; k++) { /* each may show the other something new */
    s = rewrite_all(p, g, diag);
    if (!s) s = tn_turn_transposes(p, g, &turned, diag);
  }
  return s;
}

tn_status tn_pass_rewrite(const tn_planner *p, tn_graph *g, tn_diag *diag) {
  return rewrite(p, g, false, diag);
}

tn_status tn_pass_fuse(const tn_planner *p, tn_graph *g, tn_diag *diag) {
  const tn_status s = rewrite(p, g, true, diag);
  return s || p->model_flags & TN_MODEL_NO_OPTIMIZE ? s : fuse_epilogues(p, g);
}
