/* Other types of floats for nodes, with casts around them. */
#include "plan/passes/retype.h"

#include "device/device.h"
#include "plan/constants/packed.h"
#include "plan/passes/passes.h"
#include "plan/select/match.h"

tn_status tn_retyper_open(tn_retyper *r, const tn_planner *p, tn_graph *g, tn_diag *diag) {
  *r = (tn_retyper){p, g, diag, NULL, g->values.n};
  r->other = tn_alloc(p->a, (uint64_t)r->n * sizeof *r->other);
  if (!r->other) return TN_ERR_MEMORY;
  for (int64_t k = 0; k < r->n; k++) r->other[k] = -1;
  return TN_OK;
}

void tn_retyper_close(tn_retyper *r) {
  if (r->p) tn_free(r->p->a, r->other, (uint64_t)r->n * sizeof *r->other);
}

int32_t tn_retype_source(const tn_graph *g, int32_t value, uint32_t dtype) {
  const int32_t producer = tn_graph_val(g, value)->producer;
  const tn_gnode *n = producer < 0 ? NULL : tn_graph_node(g, producer);
  if (!n || !tn_is_core_op(n, TN_CORE_CAST) || n->n_epilogue) return -1;
  return tn_graph_val(g, n->node.inputs[0])->type->dtype == dtype ? n->node.inputs[0] : -1;
}

static bool runs_there(const tn_planner *p, const tn_gnode *n, const tn_kerneldef *k,
                       const tn_device *device) {
  return tn_pin_allows(p, n, k->kernel.name) &&
         (device ? k->device && !tn_device_refuses(device, k) : !k->device);
}

const tn_kerneldef *tn_retype_kernel(const tn_planner *p, tn_graph *g, int32_t node,
                                     const tn_device *device, uint32_t dtype, const bool *in,
                                     const bool *out) {
  tn_call_frame f;
  if (tn_call_open(&f, p, g, node, NULL)) return NULL;
  const tn_gnode *n = tn_graph_node(g, node);
  const uint32_t n_formal = (uint32_t)tn_node_n_given(n, n->def);
  for (uint32_t k = 0; k < n->node.n_inputs; k++)
    if (in && in[k]) f.in[k].dtype = dtype;
  for (uint32_t k = 0; k < n->node.n_outputs; k++)
    if (out && out[k]) f.out[k].dtype = dtype;
  const tn_kerneldef *const *kernels, *found = NULL;
  const int32_t count = tn_registry_kernels(p->registry, n->def, &kernels);
  for (int32_t k = 0; k < count && !found; k++)
    if (runs_there(p, n, kernels[k], device) &&
        !tn_kernel_match_fixed(kernels[k], n->def, &f.call, n_formal, &f.arena) &&
        !tn_kernel_match_types(kernels[k], n->def, &f.call, n_formal, &f.arena))
      found = kernels[k];
  if (found) tn_note_use(&found->uses, TN_USE_TAKEN); /* what is retyped depends on it */
  if (found) tn_note_use(&found->uses, TN_USE_ASKED);
  tn_call_close(&f);
  return found;
}

static int32_t new_value(tn_retyper *r, int32_t like, uint32_t dtype) {
  tn_tensor type = *tn_graph_val(r->g, like)->type;
  const uint32_t half = type.dtype == TN_F32 ? tn_graph_val(r->g, like)->half : type.dtype;
  type.dtype = dtype;
  const int32_t id = tn_graph_value_of(r->g, &type, tn_graph_val(r->g, like)->known);
  if (id >= 0) tn_graph_val(r->g, id)->half = half;
  return id;
}

static tn_status add_cast(tn_retyper *r, int32_t from, int32_t to, int32_t named_after) {
  const uint32_t dtype = tn_graph_val(r->g, to)->type->dtype;
  const char *name = tn_arena_format(&r->g->arena, "%s to %s",
                                     tn_graph_val(r->g, named_after)->name, tn_dtype_name(dtype));
  const int32_t id =
      name ? tn_graph_add_core(r->g, TN_CORE_CAST, name, from, to, "to", dtype) : TN_ERR_MEMORY;
  return id < 0 ? id : tn_settle_from(r->p, r->g, id, r->diag);
}

static tn_const *make_const(const tn_retyper *r, int32_t value, const tn_tensor *type) {
  const tn_value *v = tn_graph_val(r->g, value);
  const int64_t n = tn_tensor_elements(type);
  return type->dtype == TN_F32 ? tn_const_promoted(r->g->a, v->constant, v->type->dtype, n)
                               : tn_const_narrowed(r->g->a, v->constant, type->dtype, n);
}

/* Kept for later plans of the model: kernels pack a constant once for all of them. */
static tn_status set_const(tn_retyper *r, int32_t value, int32_t to) {
  tn_const *from = tn_graph_val(r->g, value)->constant;
  tn_tensor type = *tn_graph_val(r->g, to)->type;
  struct tn_packed_cache *states = r->p->states;
  tn_const *c = states ? tn_packed_find_constant(states, from, &type) : NULL;
  if (!c) {
    c = make_const(r, value, &type);
    if (!c) return TN_ERR_MEMORY;
    if (type.dtype != TN_F32 && tn_const_part(c)) return tn_const_release(c), TN_ERR_MEMORY;
    if (states) {
      tn_note_feature(r->p->features, TN_FEATURE_PACKED_WEIGHTS);
      tn_packed_keep_constant(states, from, &type, c);
    }
  }
  const tn_status s = tn_graph_set_const(r->g, to, &type, c);
  tn_const_release(c);
  return s;
}

int32_t tn_retype_value(tn_retyper *r, int32_t value, uint32_t dtype) {
  if (value < r->n && r->other[value] >= 0) return r->other[value];
  int32_t to = tn_retype_source(r->g, value, dtype);
  if (to < 0) {
    to = new_value(r, value, dtype);
    if (to < 0) return to;
    const tn_status s = tn_graph_val(r->g, value)->constant ? set_const(r, value, to)
                                                            : add_cast(r, value, to, value);
    if (s) return s;
  }
  if (value < r->n) r->other[value] = to;
  return to;
}

static tn_status retype_inputs(tn_retyper *r, int32_t node, uint32_t dtype, const bool *which) {
  tn_status s = TN_OK;
  for (uint32_t k = 0; k < tn_graph_node(r->g, node)->node.n_inputs && !s; k++) {
    if (!which[k]) continue;
    const int32_t to = tn_retype_value(r, tn_graph_node(r->g, node)->node.inputs[k], dtype);
    s = to < 0 ? to : tn_graph_set_node_input(r->g, node, k, to);
  }
  return s;
}

/* Casts of `old` to the type of `out`, of which it is a cast itself, are `out`. Outputs of the
 * graph keep their own. */
static tn_status skip_casts_back(tn_retyper *r, int32_t old, int32_t out) {
  tn_status s = TN_OK;
  for (int64_t k = tn_graph_val(r->g, old)->users.n; k-- > 0 && !s;) {
    const tn_gnode *user = tn_graph_node(r->g, tn_graph_val(r->g, old)->users.data[k]);
    if (!tn_is_core_op(user, TN_CORE_CAST) || user->n_epilogue) continue;
    const int32_t back = user->node.outputs[0];
    const tn_value *v = tn_graph_val(r->g, back);
    if (v->type->dtype == tn_graph_val(r->g, out)->type->dtype && !(v->flags & TN_VALUE_OUTPUT))
      s = tn_graph_replace_value(r->g, back, out);
  }
  return s;
}

static tn_status retype_outputs(tn_retyper *r, int32_t node, uint32_t dtype, const bool *which,
                                const int32_t *old) {
  const uint32_t n_outputs = tn_graph_node(r->g, node)->node.n_outputs;
  tn_status s = TN_OK;
  tn_graph_detach_outputs(r->g, node);
  for (uint32_t k = 0; k < n_outputs && !s; k++) {
    if (old[k] < 0) continue;
    const int32_t out = which[k] ? new_value(r, old[k], dtype) : old[k];
    s = out < 0 ? out : tn_graph_attach_output(r->g, node, k, out);
    if (!s && which[k]) s = skip_casts_back(r, old[k], out);
    if (!s && which[k]) s = add_cast(r, out, old[k], old[k]);
    if (!s && which[k] && old[k] < r->n) r->other[old[k]] = out;
  }
  return s;
}

tn_status tn_retype_node(tn_retyper *r, int32_t node, uint32_t dtype, const bool *in,
                         const bool *out) {
  const tn_gnode *n = tn_graph_node(r->g, node);
  const int32_t *old =
      tn_arena_copy(&r->g->arena, n->node.outputs, n->node.n_outputs * sizeof *old);
  if (!old) return TN_ERR_MEMORY;
  const tn_status s = retype_inputs(r, node, dtype, in);
  return s ? s : retype_outputs(r, node, dtype, out, old);
}
