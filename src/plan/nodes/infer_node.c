/* Inference of one node: type rules first, then the operator's declaration or function, then a
 * check of the answer. What a plug-in answers is not trusted: ranks, dims, dtypes and sizes are
 * looked at before they enter the graph. */
#include <math.h>
#include <string.h>

#include "accelerator/accelerator.h"
#include "plan/passes/passes.h"

typedef struct inference {
  tn_call_frame *f;
  const tn_opdef *def;
  uint32_t *rule_dtype;  /* per type rule: the dtype it is bound to, TN_NONE while free */
  const char **rule_arg; /* and the argument that bound it */
  uint32_t n_formal;
} inference;

static int32_t input_entry(const tn_opdef *def, uint32_t k, uint32_t n) {
  const tn_arg *arg = tn_schema_input_of(&def->schema, (int32_t)k, (int32_t)n);
  for (int32_t e = 0; arg && e < def->schema.n_inputs; e++)
    if (tn_schema_input(&def->schema, e) == arg) return e;
  return -1;
}

static int32_t output_entry(const tn_opdef *def, uint32_t k, uint32_t n) {
  const tn_arg *arg = tn_schema_output_of(&def->schema, (int32_t)k, (int32_t)n);
  for (int32_t e = 0; arg && e < def->schema.n_outputs; e++)
    if (tn_schema_output(&def->schema, e) == arg) return def->schema.n_inputs + e;
  return -1;
}

static const char *entry_name(const tn_opdef *def, int32_t entry) {
  const tn_arg *arg = entry < def->schema.n_inputs
                          ? tn_schema_input(&def->schema, entry)
                          : tn_schema_output(&def->schema, entry - def->schema.n_inputs);
  return arg ? arg->name : "?";
}

static tn_status check_dtype(inference *i, int32_t entry, uint32_t dtype, const char *side) {
  const char *name = entry_name(i->def, entry);
  uint64_t mask = i->def->arg_dtypes[entry];
  if (mask && !(mask & TN_MASK(dtype)))
    return i->f->call.host->fail(i->f, TN_ERR_UNSUPPORTED, "not supported: %s '%s' of type %s",
                                 side, name, tn_dtype(dtype)->name);
  int32_t rule = i->def->arg_rule[entry];
  if (rule < 0) return TN_OK;
  if (i->rule_dtype[rule] != TN_NONE && i->rule_dtype[rule] != dtype)
    return i->f->call.host->fail(i->f, TN_ERR_SHAPE,
                                 "'%s' is %s but '%s' is %s; they must have the same type (%s)",
                                 name, tn_dtype(dtype)->name, i->rule_arg[rule],
                                 tn_dtype(i->rule_dtype[rule])->name, i->def->op.types[rule]->name);
  i->rule_dtype[rule] = dtype;
  i->rule_arg[rule] = name;
  return TN_OK;
}

static tn_status check_inputs(inference *i) {
  for (uint32_t k = 0; k < i->n_formal; k++) {
    const tn_tensor *t = i->f->call.inputs[k];
    int32_t entry = t ? input_entry(i->def, k, i->n_formal) : -1;
    if (entry < 0 || t->dtype == TN_NONE) continue;
    tn_status s = check_dtype(i, entry, t->dtype, "input");
    if (s) return s;
  }
  return TN_OK;
}

/* Output types that the rules already say. */
static void preset_outputs(inference *i) {
  for (uint32_t k = 0; k < i->f->call.n_outputs; k++) {
    tn_tensor *t = i->f->call.outputs[k];
    int32_t entry = t ? output_entry(i->def, k, i->f->call.n_outputs) : -1;
    if (!t) continue;
    *t = tn_tensor_make(TN_NONE, TN_RANK_UNKNOWN, NULL, NULL);
    if (entry < 0) continue;
    int32_t rule = i->def->arg_rule[entry];
    uint64_t mask = i->def->arg_dtypes[entry];
    if (rule >= 0 && i->rule_dtype[rule] != TN_NONE)
      t->dtype = i->rule_dtype[rule];
    else if (mask && !(mask & (mask - 1)))
      t->dtype = (uint32_t)__builtin_ctzll(mask);
  }
}

/* Flags say nothing of lists. Only what is replaced before it runs may be given one (Identity). */
static tn_status tensors_only(const inference *i) {
  const tn_call *call = &i->f->call;
  char text[TN_TENSOR_TEXT];
  for (uint32_t k = 0; !i->def->op.lower && k < i->n_formal; k++)
    if (call->inputs[k] && call->inputs[k]->kind != TN_KIND_TENSOR)
      return call->host->fail(call->ctx, TN_ERR_SHAPE, "input %u is %s; the operator takes tensors",
                              k, tn_tensor_text(call->inputs[k], text, sizeof text));
  return TN_OK;
}

static tn_status like_input(tn_call *call) {
  if (!call->n_inputs || !call->inputs[0])
    return call->host->fail(call->ctx, TN_ERR_INVALID, "has no input 0");
  const tn_tensor *in = call->inputs[0];
  for (uint32_t k = 0; k < call->n_outputs; k++) {
    tn_tensor *t = call->outputs[k];
    if (!t) continue;
    if (t->dtype == TN_NONE) t->dtype = in->dtype;
    t->kind = in->kind;
    t->rank = in->rank;
    memcpy(t->shape, in->shape, sizeof t->shape);
  }
  return TN_OK;
}

/* Dims that are not known (yet) may be anything. */
static bool broadcasts(int64_t a, int64_t b) {
  return a == 1 || b == 1 || a < 0 || b < 0 || a == b;
}

static tn_status broadcast(const tn_call *call, const tn_tensor *const *inputs, uint32_t n_formal,
                           tn_tensor *out) {
  out->rank = 0;
  for (uint32_t k = 0; k < n_formal; k++)
    if (inputs[k] && inputs[k]->rank > out->rank) out->rank = inputs[k]->rank;
  for (int32_t d = 0; d < out->rank; d++) out->shape[d] = 1;
  for (uint32_t k = 0; k < n_formal; k++) {
    const tn_tensor *in = inputs[k];
    if (!in) continue;
    if (out->dtype == TN_NONE) out->dtype = in->dtype;
    for (int32_t d = 0; d < in->rank; d++) {
      int64_t *to = &out->shape[out->rank - in->rank + d];
      if (!broadcasts(*to, in->shape[d]))
        return call->host->fail(
            call->ctx, TN_ERR_SHAPE,
            "inputs do not broadcast: input %u has %lld at dim %d, another has %lld", k,
            (long long)in->shape[d], d, (long long)*to);
      if (in->shape[d] >= 0 ? in->shape[d] != 1 : *to == 1) *to = in->shape[d];
    }
  }
  return TN_OK;
}

static tn_status check_answer(inference *i, uint32_t k) {
  tn_call *call = &i->f->call;
  tn_tensor *t = call->outputs[k];
  if (!t) return TN_OK;
  if (t->kind > TN_KIND_MAP)
    return call->host->fail(call->ctx, TN_ERR_INTERNAL,
                            "inference gave output %u kind %u, which is none", k, t->kind);
  if (t->rank < TN_RANK_UNKNOWN || t->rank > TN_MAX_RANK)
    return call->host->fail(call->ctx, TN_ERR_OVERFLOW,
                            "output %u would have rank %d; the limit is %d", k, t->rank,
                            TN_MAX_RANK);
  if (t->dtype >= TN_DTYPE_COUNT)
    return call->host->fail(call->ctx, TN_ERR_INTERNAL,
                            "inference gave output %u dtype %u, which is none", k, t->dtype);
  if (t->dtype == TN_NONE) {
    if (t->kind != TN_KIND_TENSOR || t->rank == TN_RANK_UNKNOWN)
      return TN_OK; /* found at run time */
    return call->host->fail(call->ctx, TN_ERR_INTERNAL, "inference left the type of output %u open",
                            k);
  }
  t->layout = TN_PLAIN;
  t->data = NULL;
  bool known = true;
  for (int32_t d = 0; d < t->rank; d++) {
    if (t->shape[d] < TN_DIM_UNKNOWN)
      return call->host->fail(call->ctx, TN_ERR_SHAPE,
                              "output %u would have %lld elements in dim %d", k,
                              (long long)t->shape[d], d);
    known = known && t->shape[d] >= 0;
  }
  if (t->rank >= 0 && known && t->kind == TN_KIND_TENSOR && tn_tensor_bytes(t) < 0)
    return call->host->fail(call->ctx, TN_ERR_OVERFLOW, "the size of output %u overflows", k);
  int32_t entry = output_entry(i->def, k, call->n_outputs);
  return entry < 0 ? TN_OK : check_dtype(i, entry, t->dtype, "output");
}

static tn_status store(inference *i) {
  tn_graph *g = i->f->graph;
  const tn_node *n = &tn_graph_node(g, i->f->node)->node;
  for (uint32_t k = 0; k < n->n_outputs; k++) {
    if (n->outputs[k] < 0) continue;
    tn_value *v = tn_graph_val(g, n->outputs[k]);
    if (tn_graph_set_type(g, n->outputs[k], i->f->call.outputs[k])) return TN_ERR_MEMORY;
    v->known = v->type->kind != TN_KIND_TENSOR ||
               (v->type->dtype != TN_NONE && tn_tensor_elements(v->type) >= 0);
  }
  return TN_OK;
}

static tn_status ask(inference *i) {
  tn_call *call = &i->f->call;
  if (i->def->op.infer) {
    char text[TN_ANSWER_TEXT];
    const tn_status answer = i->def->op.infer(call);
    if (answer == TN_NEEDS_DATA) return answer;
    const tn_status s = tn_answer_status(answer, text, sizeof text);
    return s == answer ? s : call->host->fail(i->f, s, "inference failed: %s", text);
  }
  const tn_status s = tensors_only(i);
  if (s) return s;
  if (i->def->op.flags & TN_OP_SAME_AS_INPUT) return like_input(call);
  tn_tensor *out = call->n_outputs ? call->outputs[0] : NULL;
  if (i->def->op.flags & TN_OP_BROADCAST)
    return out ? broadcast(call, call->inputs, i->n_formal, out) : TN_OK;
  return call->host->fail(call->ctx, TN_ERR_INTERNAL,
                          "the operator does not say how to infer shapes");
}

static tn_status make_rules(inference *i) {
  tn_arena *arena = &i->f->arena;
  i->rule_dtype = tn_arena_alloc(arena, (i->def->op.n_types + 1) * sizeof *i->rule_dtype);
  i->rule_arg = tn_arena_alloc(arena, (i->def->op.n_types + 1) * sizeof *i->rule_arg);
  if (!i->rule_dtype || !i->rule_arg) return TN_ERR_MEMORY;
  tn_status s = check_inputs(i);
  if (!s) preset_outputs(i);
  return s;
}

static tn_status infer(inference *i, int32_t *out_input) {
  tn_status s = make_rules(i);
  if (s) return s;
  s = ask(i);
  if (s == TN_NEEDS_DATA) {
    if (i->f->needed_input == UINT32_MAX)
      return i->f->call.host->fail(i->f, TN_ERR_INTERNAL,
                                   "inference asks for data without saying of which input");
    *out_input = (int32_t)i->f->needed_input;
    return s;
  }
  for (uint32_t k = 0; k < i->f->call.n_outputs && !s; k++) s = check_answer(i, k);
  if (!s) s = store(i);
  return s;
}

tn_status tn_infer_node(const tn_planner *p, tn_graph *g, int32_t node, int32_t *out_input,
                        tn_diag *diag) {
  const tn_gnode *n = tn_graph_node(g, node);
  /* typed when it was made; one that a file brings is not, and its operator's inference refuses
   * it */
  if (tn_is_region(n) && n->node.n_outputs == 1 && tn_graph_val(g, n->node.outputs[0])->known)
    return TN_OK;
  tn_call_frame f;
  tn_status s = tn_call_open(&f, p, g, node, diag);
  if (s) return s;
  inference i = {.f = &f, .def = n->def, .n_formal = (uint32_t)tn_node_n_given(n, n->def)};
  int64_t before = tn_diag_count(diag);
  s = infer(&i, out_input);
  if (s && s != TN_NEEDS_DATA && tn_diag_count(diag) == before)
    f.call.host->fail(&f, s, "inference failed: %s",
                      f.subgraph_reason ? f.subgraph_reason : tn_status_text(s));
  if (!s) s = tn_call_take_bodies(&f);
  if (!s) tn_diag_forgive(diag, before);
  tn_call_close(&f);
  return s;
}

/* What a run will find there: types of other values may be what a file says of them. */
static bool is_given(const tn_graph *g, int32_t value) {
  const tn_value *v = value < 0 ? NULL : tn_graph_val(g, value);
  return !v || ((v->constant || v->flags & TN_VALUE_INPUT) && v->type->kind == TN_KIND_TENSOR &&
                v->type->rank >= 0);
}

tn_status tn_infer_conflict(const tn_planner *p, tn_graph *g, int32_t node, tn_diag *diag) {
  const tn_gnode *n = tn_graph_node(g, node);
  /* whether a subgraph runs may depend on the very dims */
  bool asks = !g->parent && n->def->op.flags & TN_OP_BROADCAST && !n->def->op.infer;
  for (uint32_t k = 0; k < n->node.n_inputs && asks; k++) asks = is_given(g, n->node.inputs[k]);
  tn_call_frame f;
  tn_status s = asks ? tn_call_open(&f, p, g, node, diag) : TN_OK;
  if (s || !asks) return s;
  tn_tensor out = tn_tensor_make(TN_NONE, 0, NULL, NULL);
  const uint32_t n_given = (uint32_t)tn_node_n_given(n, n->def);
  const tn_tensor **inputs = tn_arena_alloc(&f.arena, n_given * sizeof *inputs);
  if (!inputs) s = TN_ERR_MEMORY;
  for (uint32_t k = 0; k < n_given && !s; k++) {
    const int32_t value = n->node.inputs[k];
    inputs[k] = value < 0 ? NULL : tn_graph_val(g, value)->type; /* the call hides what is open */
  }
  if (!s) s = broadcast(&f.call, inputs, n_given, &out);
  tn_call_close(&f);
  return s;
}

tn_status tn_infer_dtypes(const tn_planner *p, tn_graph *g, int32_t node) {
  const tn_gnode *n = tn_graph_node(g, node);
  tn_call_frame f;
  tn_status s = tn_is_region(n) ? TN_OK : tn_call_open(&f, p, g, node, NULL);
  if (s || tn_is_region(n)) return s;
  inference i = {.f = &f, .def = n->def, .n_formal = (uint32_t)tn_node_n_given(n, n->def)};
  const bool is_ruled = make_rules(&i) == TN_OK;
  for (uint32_t k = 0; is_ruled && k < n->node.n_outputs && !s; k++) {
    if (n->node.outputs[k] < 0 || tn_graph_val(g, n->node.outputs[k])->known) continue;
    tn_tensor type = *tn_graph_val(g, n->node.outputs[k])->type;
    type.dtype = f.call.outputs[k]->dtype;
    s = tn_graph_set_type(g, n->node.outputs[k], &type);
  }
  tn_call_close(&f);
  return s;
}

double tn_node_flops(const tn_planner *p, tn_graph *g, int32_t node) {
  const tn_gnode *n = tn_graph_node(g, node);
  if (n->island) return n->island->flops;
  if (!n->def || !n->def->op.flops) return 0;
  tn_call_frame f;
  if (tn_call_open(&f, p, g, node, NULL)) return 0;
  double flops = 0;
  tn_status s = n->def->op.flops(&f.call, &flops);
  tn_call_close(&f);
  return s || !(flops >= 0) || isinf(flops) ? 0 : flops;
}
