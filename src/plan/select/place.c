/* Selection: conversions become nodes, one per value and form. */
#include "device/device.h"
#include "graph/core_ops.h"
#include "plan/constants/packed.h"
#include "plan/select/select.h"

static tn_status no_way(const tn_selection *s, int32_t value, const tn_conversion *c) {
  const char *name = tn_graph_val(s->g, value)->name;
  if (c->from.device != c->to.device)
    return tn_fail(s->diag, TN_ERR_UNSUPPORTED,
                   "value '%s' is needed on another device, but tenon::Transfer cannot do that: %s",
                   name, c->reason);
  if (c->from.dtype == c->to.dtype)
    return tn_fail(
        s->diag, TN_ERR_UNSUPPORTED,
        "value '%s' is needed in layout %s instead of %s, but tenon::Reorder cannot do that: %s",
        name, tn_layout_text(c->to.layout), tn_layout_text(c->from.layout), c->reason);
  return tn_fail(s->diag, TN_ERR_UNSUPPORTED,
                 "value '%s' is needed as %s instead of %s, but tenon::Cast cannot do that: %s",
                 name, tn_dtype_name(c->to.dtype), tn_dtype_name(c->from.dtype), c->reason);
}

static int32_t new_value(tn_selection *s, int32_t like, tn_form form) {
  tn_tensor type = *tn_graph_val(s->g, like)->type;
  type.dtype = form.dtype;
  type.layout = form.layout;
  return tn_graph_value_of(s->g, &type, tn_graph_val(s->g, like)->known);
}

static const char *device_name(const tn_planner *p, uint32_t device) {
  return device ? p->devices[device - 1]->name : "cpu";
}

/* Adds the node that converts `from` (a value in c->from) and answers its output. */
static int32_t add_conversion(tn_selection *s, int32_t from, const tn_conversion *c) {
  const tn_opdef *op = c->from.device != c->to.device ? s->transfer
                       : c->from.dtype == c->to.dtype ? s->reorder
                                                      : s->cast;
  int32_t to = new_value(s, from, c->to);
  if (to < 0) return to;
  const char *source = tn_graph_val(s->g, from)->name;
  int64_t number = 0;
  const char *attribute = tn_select_attribute(s, op, c->to, &number);
  const char *name = tn_arena_format(&s->g->arena, "%s to %s", source,
                                     op == s->transfer ? device_name(s->p, c->to.device)
                                     : op == s->cast   ? tn_dtype_name(c->to.dtype)
                                                       : tn_layout_text(c->to.layout));
  tn_choice *choice = tn_arena_alloc(&s->g->arena, sizeof *choice);
  if (!name || !choice) return TN_ERR_MEMORY;
  const int32_t id = tn_graph_add_core(s->g, op->op.name, name, from, to, attribute, number);
  if (id < 0) return id;
  tn_status status = tn_holder_use(s->p->holder, op->owner);
  if (!status) status = tn_holder_use(s->p->holder, c->def->owner);
  if (!status) status = tn_node_bind(s->g, id, op, s->diag);
  const uint32_t device = c->to.device ? c->to.device : c->from.device;
  tn_note_use(&c->def->uses, TN_USE_TAKEN);
  *choice = (tn_choice){.def = c->def, .device = device, .plan = c->plan, .cost_ns = c->cost_ns};
  tn_choice_set_chunks(choice);
  tn_graph_node(s->g, id)->choice = choice;
  return status ? status : to;
}

static int32_t place_constant(tn_selection *s, int32_t value, tn_form form) {
  tn_tensor type;
  const tn_const *c = NULL;
  tn_status status = tn_select_constant(s, value, form, &type, &c);
  if (status) return status;
  if (!c) return TN_ERR_UNSUPPORTED;
  tn_const *made = NULL;
  for (int64_t k = 0; k < s->made.n; k++)
    if (s->made.data[k].constant == c) made = s->made.data[k].constant;
  if (s->p->states) {
    tn_note_feature(s->p->features, TN_FEATURE_PACKED_WEIGHTS);
    tn_packed_keep_constant(s->p->states, tn_graph_val(s->g, value)->constant, &type, made);
  }
  int32_t id = new_value(s, value, form);
  if (id < 0) return id;
  status = tn_graph_set_const(s->g, id, &type, made);
  return status ? status : id;
}

int32_t tn_select_place(tn_applier *a, int32_t value, tn_form form) {
  tn_form home = a->home[value];
  if (tn_form_equal(home, form)) return value;
  for (int64_t k = 0; k < a->placed.n; k++)
    if (a->placed.data[k].value == value && tn_form_equal(a->placed.data[k].form, form))
      return a->placed.data[k].is;
  int32_t is;
  if (tn_graph_val(a->s->g, value)->constant) {
    is = place_constant(a->s, value, form);
  } else {
    tn_form before = tn_select_step_before(home, form);
    int32_t from = tn_select_place(a, value, before);
    const tn_conversion *c = NULL;
    tn_status status = from < 0 ? from : tn_select_conversion(a->s, value, before, form, &c);
    if (status) return status;
    is = c->def ? add_conversion(a->s, from, c) : no_way(a->s, value, c);
  }
  tn_formed p = {value, is, form};
  if (is >= 0 && tn_vec_push(a->s->p->a, &a->placed, p)) return TN_ERR_MEMORY;
  return is;
}
