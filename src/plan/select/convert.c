/* Selection: conversions. Which kernel of tenon::Cast or tenon::Reorder brings a value from one
 * form to another, what it costs, and constants in other forms (converted here and now, and kept
 * for later plans of the model). */
#include <string.h>

#include "device/device.h"
#include "plan/constants/packed.h"
#include "plan/memory/arrange.h"
#include "plan/select/select.h"

/* Transfers are the last step on the way to a device and the first on the way from one, since the
 * CPU has kernels for all other steps. From device to device it goes by way of the CPU. */
tn_form tn_select_step_before(tn_form home, tn_form to) {
  if (home.device != to.device && to.device)
    return (tn_form){.dtype = to.dtype, .layout = to.layout};
  const tn_form here = {home.dtype, to.device, home.layout};
  if (home.device != to.device && tn_form_equal(here, to)) return home;
  if (here.dtype == to.dtype) return here;
  if (to.layout != TN_PLAIN) return (tn_form){to.dtype, to.device, TN_PLAIN};
  return here.layout == TN_PLAIN ? here : (tn_form){here.dtype, to.device, TN_PLAIN};
}

/* The call of a node that is not there yet. */
typedef struct probe {
  tn_call call;
  tn_tensor in, out;
  const tn_tensor *in_pointer;
  tn_tensor *out_pointer;
  tn_call_frame frame;
  void *attrs;
} probe;

static const tn_opdef *conversion_op(const tn_selection *s, tn_form from, tn_form to) {
  if (from.device != to.device) return s->transfer;
  return from.dtype == to.dtype ? s->reorder : s->cast;
}

const char *tn_select_attribute(const tn_selection *s, const tn_opdef *op, tn_form to,
                                int64_t *out_value) {
  *out_value = op == s->cast      ? (int64_t)to.dtype
               : op == s->reorder ? (int64_t)to.layout
                                  : (int64_t)to.device;
  return op == s->cast ? "to" : op == s->reorder ? "layout" : "device";
}

/* Attributes "to", "layout" and "device" in the struct that follows from the operator's schema. */
static tn_status fill_attrs(tn_selection *s, const tn_opdef *op, tn_form to, void **out_attrs) {
  *out_attrs = tn_arena_alloc(&s->arena, (uint64_t)tn_max_i64(op->schema.attrs_size, 1));
  int64_t value;
  const char *name = tn_select_attribute(s, op, to, &value);
  const tn_arg *arg = tn_schema_find(&op->schema, name);
  if (!*out_attrs) return TN_ERR_MEMORY;
  if (!arg || arg->role != TN_ROLE_ATTR || arg->list || arg->base == TN_TYPE_STR)
    return tn_fail(s->diag, TN_ERR_INTERNAL, "operator tenon::%s has no attribute '%s' of type int",
                   op->op.name, name);
  memcpy((char *)*out_attrs + arg->offset, &value, sizeof value);
  return TN_OK;
}

static tn_status make_probe(tn_selection *s, const tn_opdef *op, int32_t value, tn_form from,
                            tn_form to, probe *b) {
  memset(b, 0, sizeof *b);
  b->in = b->out = *tn_graph_val(s->g, value)->type;
  b->in.data = b->out.data = NULL;
  b->in.dtype = from.dtype;
  b->in.layout = from.layout;
  b->out.dtype = to.dtype;
  b->out.layout = to.layout;
  b->in_pointer = &b->in;
  b->out_pointer = &b->out;
  tn_status status = fill_attrs(s, op, to, &b->attrs);
  b->call = (tn_call){.head = TN_HEAD(tn_call),
                      .host = &tn_plan_host,
                      .attrs = b->attrs,
                      .version = op->op.since,
                      .n_inputs = 1,
                      .n_outputs = 1,
                      .n_workers = s->p->pool ? (uint32_t)tn_pool_n_threads(s->p->pool) : 1,
                      .inputs = &b->in_pointer,
                      .outputs = &b->out_pointer,
                      .region_fill = -1,
                      .isa = s->p->isa};
  return status;
}

/* The node itself; ids: of its input and its output. */
static tn_gnode probe_node(const tn_opdef *op, const probe *b, int32_t *ids) {
  return (tn_gnode){.node = {.head = TN_HEAD(tn_node),
                             .domain = "tenon",
                             .op = op->op.name,
                             .name = "",
                             .version = op->op.since,
                             .n_inputs = 1,
                             .n_outputs = 1,
                             .inputs = ids,
                             .outputs = ids + 1,
                             .offset = -1},
                    .alive = true,
                    .n_formal = 1,
                    .def = op,
                    .attrs = b->attrs,
                    .region_fill = -1,
                    .origin = -1};
}

static double derived_cost(const probe *b) {
  double bytes = (double)tn_max_i64(tn_storage_bytes(&b->in), 0) +
                 (double)tn_max_i64(tn_storage_bytes(&b->out), 0);
  return 300.0 + bytes / 6.0;
}

static double transfer_cost(const tn_selection *s, const tn_tensor *type, uint32_t from,
                            uint32_t to) {
  const tn_device_info *info = &s->p->devices[(to ? to : from) - 1]->info;
  const double bytes = (double)tn_max_i64(tn_storage_bytes(type), 0);
  return to ? info->submit_ns + bytes / info->up_bytes_per_ns
            : info->wait_ns + bytes / info->down_bytes_per_ns;
}

double tn_select_transfer_cost(const tn_selection *s, int32_t value, uint32_t from, uint32_t to) {
  return transfer_cost(s, tn_graph_val(s->g, value)->type, from, to);
}

/* Why a kernel cannot convert on this device; NULL: it can. */
static const char *refuse_there(const tn_selection *s, const tn_kerneldef *def, uint32_t device) {
  if (!device) return def->device ? TN_WHY("runs on other devices") : NULL;
  return tn_device_refuses(s->p->devices[device - 1], def);
}

/* The kernel's reason against it; NULL: c->plan is its plan. reasons NULL: without words. */
static const char *try_kernel(tn_selection *s, const tn_kerneldef *def, const tn_opdef *op,
                              probe *b, tn_conversion *c, tn_arena *reasons) {
  const bool is_transfer = c->from.device != c->to.device; /* which drivers do, not kernels */
  const char *reason = is_transfer ? NULL : refuse_there(s, def, c->from.device);
  b->frame.needed_input = UINT32_MAX;
  b->call.self = b->frame.call.self = def->owner ? def->owner->self : NULL;
  if (!reason) reason = tn_kernel_match(def, op, &b->call, 1, reasons);
  if (!reason && tn_kernel_ask_plan(def, &b->call, NULL, &c->plan)) reason = "plan() fails";
  return reason;
}

/* The best kernel for one step; c->def stays NULL and c->reason says why if there is none. */
static void find_kernel(tn_selection *s, const tn_opdef *op, probe *b, tn_conversion *c) {
  const tn_kerneldef *const *kernels = NULL;
  const int32_t n = tn_registry_kernels(s->p->registry, op, &kernels);
  b->frame = (tn_call_frame){.call = b->call, .planner = s->p, .node = -1};
  b->call.ctx = &b->frame;
  c->reason = "the operator has no kernel";
  for (int32_t k = 0; k < n && !c->def; k++) /* best rank first */
    if (!try_kernel(s, kernels[k], op, b, c, NULL)) c->def = kernels[k];
  if (!c->def && n) c->reason = try_kernel(s, kernels[n - 1], op, b, c, &s->g->arena);
  if (c->def) c->reason = NULL;
}

/* It, and its cost. */
static tn_status choose_kernel(tn_selection *s, int32_t value, tn_conversion *c) {
  const tn_opdef *op = conversion_op(s, c->from, c->to);
  c->cost_ns = 1e15; /* so dear that any way around it is taken */
  c->reason = "no plug-in offers the operator";
  if (!op) return TN_OK;
  probe b;
  tn_status status = make_probe(s, op, value, c->from, c->to, &b);
  if (status) return status;
  find_kernel(s, op, &b, c);
  if (!c->def) return TN_OK;
  c->cost_ns = c->plan.cost_ns > 0 ? c->plan.cost_ns : derived_cost(&b);
  if (c->from.device != c->to.device) {
    c->cost_ns = transfer_cost(s, &b.in, c->from.device, c->to.device);
    return TN_OK;
  }
  if (c->from.device) return TN_OK;
  bool same_bytes =
      c->from.dtype == c->to.dtype && tn_layouts_coincide(&b.in, c->from.layout, c->to.layout);
  if (same_bytes) c->cost_ns = 0; /* arranging makes it a view */
  if (same_bytes || tn_tensor_elements(&b.in) < 0) return TN_OK;
  int32_t ids[2] = {value, value};
  const tn_gnode node = probe_node(op, &b, ids);
  return tn_select_cost(s, &node, c->def, &c->plan, &b.call, c->cost_ns, &c->cost_ns);
}

static const tn_conversion *find_known(const tn_selection *s, int32_t value, tn_form from,
                                       tn_form to) {
  const tn_conversions *known = &s->conversions[value];
  for (int64_t k = 0; k < known->n; k++)
    if (tn_form_equal(known->data[k].from, from) && tn_form_equal(known->data[k].to, to))
      return &known->data[k];
  return NULL;
}

static bool same_shape(const tn_tensor *a, const tn_tensor *b) {
  return a->kind == b->kind && a->elements == b->elements && a->object == b->object &&
         a->rank == b->rank &&
         (a->rank < 0 || !memcmp(a->shape, b->shape, (size_t)a->rank * sizeof *a->shape));
}

/* That of another value of the same shape: data play no part, and many values of a network are
 * alike. */
static const tn_conversion *find_alike(tn_selection *s, int32_t value, tn_form from, tn_form to) {
  for (size_t k = 0; k < sizeof s->alike / sizeof *s->alike; k++) {
    const int32_t other = s->alike[k] - 1;
    if (other < 0 || !same_shape(tn_graph_val(s->g, value)->type, tn_graph_val(s->g, other)->type))
      continue;
    const tn_conversion *c = find_known(s, other, from, to);
    if (c) return c;
  }
  s->alike[s->n_alike++ % (sizeof s->alike / sizeof *s->alike)] = value + 1;
  return NULL;
}

tn_status tn_select_conversion(tn_selection *s, int32_t value, tn_form from, tn_form to,
                               const tn_conversion **out_conversion) {
  tn_conversions *known = &s->conversions[value];
  *out_conversion = find_known(s, value, from, to);
  if (*out_conversion) return TN_OK;
  const tn_conversion *alike = find_alike(s, value, from, to);
  tn_conversion c = {.from = from, .to = to};
  if (alike) c = *alike;
  tn_status status = alike ? TN_OK : choose_kernel(s, value, &c);
  if (!status) status = tn_vec_push(s->p->a, known, c);
  if (!status) *out_conversion = &known->data[known->n - 1];
  return status;
}

/* ---- constants ---- */

static tn_status eval_step(tn_selection *s, int32_t value, const tn_tensor *in, tn_form to,
                           tn_tensor *out, tn_const **out_const) {
  tn_form from = {.dtype = in->dtype, .layout = in->layout};
  const tn_opdef *op = conversion_op(s, from, to);
  if (!op || !s->p->eval) return TN_ERR_UNSUPPORTED;
  probe b;
  tn_status status = make_probe(s, op, value, from, to, &b);
  if (status) return status;
  int32_t ids[2] = {value, value};
  const tn_gnode node = probe_node(op, &b, ids);
  *out = b.out;
  tn_tensor *out_pointer = out;
  return s->p->eval(s->p, &node, &in, &out_pointer, out_const, s->diag);
}

/* Step by step from the constant as it stands; each step's source is let go of once the next is
 * there. */
static tn_status convert(tn_selection *s, int32_t value, tn_form form, tn_tensor *out,
                         tn_const **out_const) {
  const tn_value *v = tn_graph_val(s->g, value);
  tn_form home = tn_select_original(s, value), before = tn_select_step_before(home, form);
  tn_tensor source = *v->type;
  tn_const *held = NULL;
  tn_status status = TN_OK;
  const bool is_source = tn_form_equal(before, home);
  if (!is_source) status = convert(s, value, before, &source, &held);
  if (is_source) status = tn_const_fetch(v->constant);
  if (status) return status;
  status = eval_step(s, value, &source, form, out, out_const);
  if (is_source) tn_const_drop(v->constant);
  tn_const_release(held);
  return status;
}

static tn_status remember(tn_selection *s, int32_t value, const tn_tensor *type, tn_const *c) {
  tn_made made = {value, *type, c};
  if (!tn_vec_push(s->p->a, &s->made, made)) return TN_OK;
  tn_const_release(c);
  return TN_ERR_MEMORY;
}

tn_status tn_select_constant(tn_selection *s, int32_t value, tn_form form, tn_tensor *out_type,
                             const tn_const **out_const) {
  for (int64_t k = 0; k < s->made.n; k++) {
    const tn_made *m = &s->made.data[k];
    if (m->value != value || m->type.dtype != form.dtype || m->type.layout != form.layout) continue;
    *out_type = m->type;
    *out_const = m->constant;
    return TN_OK;
  }
  const tn_value *v = tn_graph_val(s->g, value);
  tn_tensor type = *v->type;
  type.dtype = form.dtype;
  type.layout = form.layout;
  tn_const *c = s->p->states ? tn_packed_find_constant(s->p->states, v->constant, &type) : NULL;
  if (!c) {
    tn_status status = convert(s, value, form, &type, &c);
    if (status == TN_ERR_UNSUPPORTED) status = TN_OK;
    if (status) return status;
  }
  *out_const = c;
  if (!c) return TN_OK;
  type.data = c->data;
  *out_type = type;
  return remember(s, value, &type, c);
}
