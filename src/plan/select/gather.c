/* Selection, first part: which kernels could run a node, in which forms, and why the others cannot.
 *
 * A kernel is tried as the node stands; one that takes any layout is tried in each layout that
 * some kernel of the graph wants. Nodes in f16 or bf16 for which that finds nothing are tried in
 * f32, then f64, with casts around them. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "device/device.h"
#include "plan/passes/passes.h"
#include "plan/select/select.h"

enum { MAX_REASON = 400 };

typedef struct gatherer {
  tn_selection *s;
  const tn_gnode *n;
  tn_node_options *options;
  tn_call_frame frame;
  tn_form *in, *out;               /* forms being tried */
  tn_tensor *in_types, *out_types; /* as in the graph */
  uint32_t n_formal;
  uint32_t wide; /* the type tried in place of a half one, TN_NONE */
  const char *pin;
  uint32_t device;     /* being tried: 0: the CPU */
  bool has_own_reason; /* why not there, of a kernel that is made for it */
} gatherer;

static tn_device *device_of(const gatherer *g) { return g->s->p->devices[g->device - 1]; }

/* ---- costs ---- */

static double bytes_of(const tn_call *call) {
  double bytes = 0;
  for (uint32_t k = 0; k < call->n_inputs; k++)
    if (call->inputs[k]) bytes += (double)tn_max_i64(tn_storage_bytes(call->inputs[k]), 0);
  for (uint32_t k = 0; k < call->n_outputs; k++)
    if (call->outputs[k]) bytes += (double)tn_max_i64(tn_storage_bytes(call->outputs[k]), 0);
  return bytes;
}

/* For kernels that say nothing: what portable and optimized code of the usual kind reaches, plus
 * the start of a step. */
static double derived_cost(const tn_kernel *kernel, const tn_call *call, double flops) {
  bool fast = kernel->rank >= TN_RANK_OPTIMIZED;
  double compute = flops / (fast ? 30.0 : 1.0), move = bytes_of(call) / (fast ? 10.0 : 2.0);
  return 200.0 + (compute > move ? compute : move);
}

/* ---- refusals ---- */

tn_status tn_select_refusal(tn_selection *s, const tn_kerneldef *def, const char *reason,
                            tn_refusal *out) {
  *out = (tn_refusal){def->kernel.name, reason, def};
  if (!def->owner || def->owner->is_builtin) return TN_OK;
  out->kernel = tn_arena_str(&s->g->arena, def->kernel.name);
  out->reason = tn_arena_str(&s->g->arena, reason);
  return out->kernel && out->reason ? TN_OK : TN_ERR_MEMORY;
}

/* Of a device one reason is kept: that of a kernel made for it, else of one which the CPU would
 * take, else the first. */
static tn_status refuse_there(gatherer *g, const tn_kerneldef *def, const char *reason) {
  const tn_candidates *all = &g->options->candidates;
  const char **away = &g->options->away[g->device];
  bool is_taken = false;
  for (int64_t k = 0; k < all->n; k++)
    is_taken = is_taken || (!all->data[k].device && all->data[k].def == def);
  const bool is_own = def->device && !tn_device_refuses(device_of(g), def);
  if (g->has_own_reason || (*away && !is_taken && !is_own)) return TN_OK;
  g->has_own_reason = is_own;
  *away = tn_arena_format(&g->s->g->arena, "%s: %s", def->kernel.name, reason);
  return *away ? TN_OK : TN_ERR_MEMORY;
}

const char *(tn_select_reason)(tn_selection *s, const char *format, ...) {
  char text[256];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  const int64_t known = tn_map_get(&s->reasons, text, 0);
  if (known) return (const char *)(uintptr_t)known;
  const char *copy = tn_arena_str(&s->g->arena, text);
  if (!copy || tn_map_set(&s->reasons, copy, (int64_t)(uintptr_t)copy)) return NULL;
  return copy;
}

/* The first reason of a kernel stays; what is said about it in a wider type is added once. */
static tn_status refuse(gatherer *g, const tn_kerneldef *def, const char *reason) {
  if (g->device) return refuse_there(g, def, reason);
  tn_refusals *all = &g->options->refusals;
  tn_refusal *old = NULL;
  for (int64_t k = 0; k < all->n; k++)
    if (all->data[k].def == def) old = &all->data[k];
  if (!old) {
    tn_refusal refusal;
    tn_status status = tn_select_refusal(g->s, def, reason, &refusal);
    return status ? status : tn_vec_push(g->s->p->a, all, refusal);
  }
  if (!g->wide || !strcmp(old->reason, reason) || strstr(old->reason, "; in ")) return TN_OK;
  old->reason = tn_arena_format(&g->s->g->arena, "%s; in %s: %s", old->reason,
                                tn_dtype_name(g->wide), reason);
  return old->reason ? TN_OK : TN_ERR_MEMORY;
}

/* ---- forms ---- */

static const tn_accept *accept_of(const gatherer *g, const tn_kerneldef *def, uint32_t k,
                                  bool output) {
  if (output) return tn_kernel_accept_output(def, g->n->def, k, g->n->node.n_outputs);
  return k < g->n_formal ? tn_kernel_accept_input(def, g->n->def, k, g->n_formal) : NULL;
}

static bool layout_fits(const tn_tensor *t, tn_layout layout, bool any) {
  if (layout == TN_PLAIN) return true;
  tn_tensor moved = *t;
  moved.layout = layout;
  int32_t least = any || layout == TN_CHANNELS_LAST ? 3 : 2;
  return t->kind == TN_KIND_TENSOR && t->rank >= least && tn_storage_bytes(&moved) >= 0;
}

/* Layouts of one tensor; false if it cannot be stored that way. */
static bool form_layout(const tn_accept *row, const tn_tensor *t, tn_layout any, tn_form *form) {
  form->layout = row ? row->layout : TN_PLAIN;
  bool takes_any = form->layout == TN_ANY_LAYOUT;
  if (takes_any) form->layout = any;
  return layout_fits(t, form->layout, takes_any);
}

/* Operands of an epilogue: those of the output's shape are stored as the output, those with one
 * value per channel plain. */
static void form_operand(const gatherer *g, uint32_t k) {
  const tn_tensor *t = &g->in_types[k], *out = &g->out_types[0];
  bool operand = false;
  for (uint32_t e = 0; e < g->n->n_epilogue; e++)
    operand = operand || g->n->epilogue[e]->input == (int32_t)k;
  g->in[k] = (tn_form){.dtype = t->dtype, .layout = TN_PLAIN};
  if (!operand) return;
  if (t->dtype == out->dtype) g->in[k].dtype = g->out[0].dtype;
  bool same = t->rank == out->rank &&
              !memcmp(t->shape, out->shape, sizeof *t->shape * (size_t)tn_max_i64(t->rank, 0));
  if (same) g->in[k].layout = g->out[0].layout;
}

static bool set_layouts(gatherer *g, const tn_kerneldef *def, tn_layout any) {
  const tn_node *node = &g->n->node;
  for (uint32_t k = 0; k < node->n_outputs; k++)
    if (node->outputs[k] >= 0 &&
        !form_layout(accept_of(g, def, k, true), &g->out_types[k], any, &g->out[k]))
      return false;
  for (uint32_t k = 0; k < node->n_inputs; k++) {
    if (node->inputs[k] < 0) continue;
    if (k >= g->n_formal)
      form_operand(g, k);
    else if (!form_layout(accept_of(g, def, k, false), &g->in_types[k], any, &g->in[k]))
      return false;
  }
  return true;
}

static bool is_half(uint32_t dtype) { return dtype == TN_F16 || dtype == TN_BF16; }

/* Constants lie on every device: they are brought there when the plan is made. */
static void set_devices(gatherer *g) {
  for (uint32_t k = 0; k < g->n->node.n_inputs; k++) {
    const int32_t value = g->n->node.inputs[k];
    const bool is_constant = value >= 0 && tn_graph_val(g->s->g, value)->constant;
    g->in[k].device = is_constant ? 0 : g->device;
  }
  for (uint32_t k = 0; k < g->n->node.n_outputs; k++) g->out[k].device = g->device;
}

/* Sets the dtypes of all forms, half ones to the wide type if there is one. False if that
 * changes nothing. */
static bool set_dtypes(gatherer *g) {
  uint32_t wide = g->wide;
  bool changed = wide == TN_NONE;
  for (uint32_t k = 0; k < g->n->node.n_inputs; k++) {
    uint32_t dtype = g->in_types[k].dtype;
    bool promotes =
        wide && k < g->n_formal && is_half(dtype) && tn_arg_promotes(g->s->g, g->n, k, false, wide);
    g->in[k].dtype = promotes ? wide : dtype;
    changed = changed || promotes;
  }
  for (uint32_t k = 0; k < g->n->node.n_outputs; k++) {
    uint32_t dtype = g->out_types[k].dtype;
    bool promotes = wide && is_half(dtype) && tn_arg_promotes(g->s->g, g->n, k, true, wide);
    if (promotes && tn_tensor_elements(&g->out_types[k]) < 0)
      return false; /* known only after it ran: no cast after it */
    g->out[k].dtype = promotes ? wide : dtype;
  }
  return changed;
}

/* ---- trying a kernel ---- */

static void apply_forms(gatherer *g) {
  for (uint32_t k = 0; k < g->n->node.n_inputs; k++) {
    g->frame.in[k] = g->in_types[k];
    g->frame.in[k].dtype = g->in[k].dtype;
    g->frame.in[k].layout = g->in[k].layout;
  }
  for (uint32_t k = 0; k < g->n->node.n_outputs; k++) {
    g->frame.out[k] = g->out_types[k];
    g->frame.out[k].dtype = g->out[k].dtype;
    g->frame.out[k].layout = g->out[k].layout;
  }
}

/* Constants in the forms being tried, so that refuse() and plan() see the data that run() will
 * see. */
static const char *convert_constants(gatherer *g, tn_status *status) {
  for (uint32_t k = 0; k < g->n->node.n_inputs; k++) {
    if (!g->frame.in[k].data) continue;
    const tn_form original = {.dtype = g->in_types[k].dtype, .layout = g->in_types[k].layout};
    if (tn_form_equal(original, g->in[k])) continue;
    const tn_const *c = NULL;
    *status = tn_select_constant(g->s, g->n->node.inputs[k], g->in[k], &g->frame.in[k], &c);
    if (*status) return NULL;
    if (!c && !(g->in[k].dtype == original.dtype ? g->s->reorder : g->s->cast))
      return TN_WHY(
          "a constant needs converting, but no plug-in offers tenon::Cast or tenon::Reorder");
    if (!c) return TN_WHY("a constant cannot be brought into the type or layout it takes");
  }
  return NULL;
}

static const char *ask_plan(gatherer *g, const tn_kerneldef *def, tn_candidate *c,
                            tn_status *status) {
  tn_diag *said = tn_diag_create();
  g->frame.diag = said;
  tn_status answer = tn_kernel_ask_plan(def, &g->frame.call, said, &c->plan);
  g->frame.diag = g->s->diag;
  const char *reason = NULL;
  if (answer == TN_ERR_MEMORY)
    *status = answer;
  else if (answer)
    reason =
        tn_arena_format(&g->s->g->arena, "plan() fails: %s",
                        said && tn_diag_count(said) ? tn_diag_text(said) : tn_status_text(answer));
  tn_diag_destroy(said);
  if (answer && !reason) *status = TN_ERR_MEMORY;
  return reason;
}

/* ---- devices ---- */

/* Of a kernel that states no cost, on the device: what its memory or its arithmetic takes. */
static double cost_of_programs(const gatherer *g) {
  const tn_device_info *info = &device_of(g)->info;
  const double compute = g->options->flops / info->flops_per_ns;
  const double move = bytes_of(&g->frame.call) / info->bytes_per_ns;
  return compute > move ? compute : move;
}

static double cost_of(const gatherer *g, const tn_kerneldef *def, double stated_ns) {
  const tn_kernel *kernel = &def->kernel;
  double cost_ns = stated_ns;
  if (!(cost_ns > 0))
    cost_ns =
        def->device ? cost_of_programs(g) : derived_cost(kernel, &g->frame.call, g->options->flops);
  if (!g->device) return cost_ns;
  const tn_device_info *info = &device_of(g)->info;
  return (def->device ? cost_ns : cost_ns / info->host_kernel_speed) + info->dispatch_ns;
}

static bool is_plain_tensor(const tn_tensor *t) {
  return t->kind == TN_KIND_TENSOR && t->dtype != TN_STRING;
}

static bool is_host_bound(const gatherer *g) {
  const tn_node *n = &g->n->node;
  bool is_bound = g->n->n_subgraphs > 0;
  for (uint32_t k = 0; k < n->n_inputs; k++)
    is_bound = is_bound || (n->inputs[k] >= 0 && !is_plain_tensor(&g->in_types[k]));
  for (uint32_t k = 0; k < n->n_outputs; k++)
    is_bound = is_bound || (n->outputs[k] >= 0 && (!is_plain_tensor(&g->out_types[k]) ||
                                                   tn_storage_bytes(&g->out_types[k]) < 0));
  for (int64_t k = 0; k < g->options->candidates.n; k++)
    is_bound = is_bound || g->options->candidates.data[k].plan.flags & TN_PLAN_DATA_DEPENDENT;
  return is_bound;
}

/* What kernels of the CPU do that a device cannot; NULL: nothing. */
static const char *refuse_host_kernel(const tn_kerneldef *def, const tn_kernel_plan *plan) {
  if (plan->flags & TN_PLAN_DATA_DEPENDENT) return TN_WHY("sizes its outputs while it runs");
  if (def->kernel.flags & TN_KERNEL_SERIAL) return TN_WHY("runs one at a time");
  if (plan->state_bytes && def->kernel.finish) return TN_WHY("its state holds more than memory");
  return NULL;
}

static const char *refuse_sizes(const gatherer *g) {
  const uint64_t most = device_of(g)->info.max_binding_bytes;
  const tn_call *call = &g->frame.call;
  for (uint32_t k = 0; most && k < call->n_inputs + call->n_outputs; k++) {
    const tn_tensor *t = k < call->n_inputs ? call->inputs[k] : call->outputs[k - call->n_inputs];
    if (t && tn_storage_bytes(t) > (int64_t)most)
      return TN_WHY("a value is larger than a binding may be");
  }
  return NULL;
}

/* Programs are built while planning, so that one that does not is a reason and no failed run. */
static tn_status build_programs(gatherer *g, const tn_kerneldef *def, const tn_kernel_plan *plan,
                                tn_diag *said) {
  void *program = NULL;
  if (def->device) {
    tn_diag *diag = g->frame.diag;
    g->frame.diag = said;
    const tn_status status = tn_device_kernel_try(device_of(g), def, &g->frame.call, plan, said);
    g->frame.diag = diag;
    return status;
  }
  const tn_status status = tn_device_host_program_new(device_of(g), &def->kernel, said, &program);
  tn_device_program_free(device_of(g), program);
  return status;
}

static const char *refuse_program(gatherer *g, const tn_kerneldef *def,
                                  const tn_kernel_plan *plan) {
  tn_diag *said = tn_diag_create();
  const tn_status status = build_programs(g, def, plan, said);
  const char *reason = NULL;
  if (status)
    reason =
        tn_arena_str(&g->s->g->arena, said && tn_diag_count(said) ? tn_diag_message(said, 0, NULL)
                                                                  : tn_status_text(status));
  tn_diag_destroy(said);
  return reason;
}

static const char *refuse_on_device(gatherer *g, const tn_kerneldef *def,
                                    const tn_kernel_plan *plan) {
  if (!g->device) return NULL;
  const char *reason = refuse_host_kernel(def, plan);
  if (!reason) reason = refuse_sizes(g);
  return reason ? reason : refuse_program(g, def, plan);
}

static tn_status add_candidate(gatherer *g, const tn_kerneldef *def, tn_candidate *c) {
  tn_selection *s = g->s;
  const tn_node *node = &g->n->node;
  c->def = def;
  c->device = g->device;
  set_devices(g);
  c->in = tn_arena_copy(&s->arena, g->in, node->n_inputs * sizeof *c->in);
  c->out = tn_arena_copy(&s->arena, g->out, node->n_outputs * sizeof *c->out);
  if (!c->in || !c->out) return TN_ERR_MEMORY;
  c->cost_ns = cost_of(g, def, c->plan.cost_ns);
  for (uint32_t k = 0; k < node->n_inputs; k++)
    if (node->inputs[k] >= 0 && c->in[k].layout) c->layout = c->in[k].layout;
  for (uint32_t k = 0; k < node->n_outputs; k++)
    if (node->outputs[k] >= 0 && c->out[k].layout) c->layout = c->out[k].layout;
  return tn_vec_push(s->p->a, &g->options->candidates, *c);
}

static bool is_text(const char *text, size_t n) {
  for (size_t k = 0; k < n; k++)
    if ((unsigned char)text[k] < 0x20 || text[k] == 0x7F) return false;
  return tn_utf8_valid(text, (int64_t)n);
}

/* What refuse() answered: a reason that fits into a line. */
static const char *reason_of(tn_arena *reasons, const char *answer) {
  size_t n = answer ? strnlen(answer, MAX_REASON) : 0;
  if (!answer) return NULL;
  if (!n) return TN_WHY("refuse() gives an empty reason");
  const bool whole = n < MAX_REASON;
  while (!whole && n && (answer[n] & 0xC0) == 0x80) n--; /* a character is not cut in two */
  if (!is_text(answer, n)) return TN_WHY("refuse() gives a reason that is no text");
  if (whole) return answer;
  const char *text = tn_arena_format(reasons, "%.*s...", (int)n, answer);
  return text ? text : "says no";
}

/* One kernel in one set of forms. */
static tn_status try_forms(gatherer *g, const tn_kerneldef *def, bool agnostic) {
  tn_arena *reasons = &g->s->g->arena;
  tn_status status = TN_OK;
  tn_candidate c = {.agnostic = agnostic};
  apply_forms(g);
  g->frame.call.self = def->owner ? def->owner->self : NULL;
  g->frame.call.device = g->device ? &device_of(g)->info : NULL;
  const char *reason = tn_kernel_match_types(def, g->n->def, &g->frame.call, g->n_formal, reasons);
  if (!reason) reason = convert_constants(g, &status);
  if (!reason && !status) status = tn_call_fetch_for(&g->frame, def->owner);
  if (!reason && !status && def->kernel.refuse)
    reason = reason_of(reasons, def->kernel.refuse(&g->frame.call));
  if (!reason && !status) reason = ask_plan(g, def, &c, &status);
  if (!reason && !status) reason = refuse_on_device(g, def, &c.plan);
  if (status) return status;
  return reason ? refuse(g, def, reason) : add_candidate(g, def, &c);
}

static bool takes_any(const tn_kernel *kernel) {
  for (uint32_t k = 0; k < kernel->n_accepts; k++)
    if (kernel->accepts[k] && kernel->accepts[k]->layout == TN_ANY_LAYOUT) return true;
  return false;
}

static bool wants_layout(const tn_kernel *kernel) {
  for (uint32_t k = 0; k < kernel->n_accepts; k++) {
    tn_layout layout = kernel->accepts[k] ? kernel->accepts[k]->layout : TN_PLAIN;
    if (layout != TN_PLAIN && layout != TN_ANY_LAYOUT) return true;
  }
  return false;
}

static const char *isa_reason(tn_selection *s, uint64_t missing) {
  enum { N = sizeof s->isa_reasons / sizeof *s->isa_reasons };
  size_t k = 0;
  while (k < N && s->isa_reasons[k].reason && s->isa_reasons[k].missing != missing) k++;
  if (k < N && s->isa_reasons[k].reason) return s->isa_reasons[k].reason;
  const char *reason = tn_kernel_isa_reason(missing, &s->g->arena);
  if (k < N) s->isa_reasons[k].missing = missing, s->isa_reasons[k].reason = reason;
  return reason;
}

static tn_status try_kernel(gatherer *g, const tn_kerneldef *def) {
  if (g->pin && strcmp(g->pin, def->kernel.name))
    return refuse(g, def, TN_WHY("another kernel is pinned"));
  if (tn_pin_excludes(g->s->p, g->n, def->kernel.name))
    return refuse(g, def, TN_WHY("a pin leaves it out"));
  if ((g->s->p->model_flags & TN_MODEL_NO_OPTIMIZE) && wants_layout(&def->kernel))
    return refuse(
        g, def, TN_WHY("takes a layout that is not plain, the model is loaded without optimizing"));
  const char *there = g->device     ? tn_device_refuses(device_of(g), def)
                      : def->device ? TN_WHY("runs on other devices")
                                    : NULL;
  if (there) return refuse(g, def, reason_of(&g->s->g->arena, there));
  if (!set_dtypes(g)) return TN_OK;
  const uint64_t missing = def->kernel.isa & ~g->frame.call.isa;
  if (missing) return refuse(g, def, isa_reason(g->s, missing));
  (void)set_layouts(g, def, TN_PLAIN);
  apply_forms(g);
  const char *reason =
      tn_kernel_match_fixed(def, g->n->def, &g->frame.call, g->n_formal, &g->s->g->arena);
  if (reason) return refuse(g, def, reason);
  bool any = takes_any(&def->kernel), fits = false;
  tn_status status = TN_OK;
  for (int64_t k = 0; !status && k < (any ? g->s->layouts.n : 1); k++) {
    if (!set_dtypes(g) || !set_layouts(g, def, g->s->layouts.data[k])) continue;
    fits = true;
    status = try_forms(g, def, any);
  }
  return status || fits ? status : refuse(g, def, TN_WHY("its layouts cannot hold these shapes"));
}

/* ---- rank ---- */

static bool same_forms(const tn_node *node, const tn_candidate *a, const tn_candidate *b) {
  for (uint32_t k = 0; k < node->n_inputs; k++)
    if (node->inputs[k] >= 0 && !tn_form_equal(a->in[k], b->in[k])) return false;
  for (uint32_t k = 0; k < node->n_outputs; k++)
    if (node->outputs[k] >= 0 && !tn_form_equal(a->out[k], b->out[k])) return false;
  return true;
}

/* A rank of plug-ins stands before all of Tenon's, whatever forms the kernels take. Otherwise rank
 * decides between those of one form: others differ in what conversions around them cost, which the
 * solver weighs. */
static bool compete(const tn_node *node, const tn_candidate *a, const tn_candidate *b) {
  if (a->device != b->device) return false; /* between devices costs decide */
  return same_forms(node, a, b) ||
         (a->def->kernel.rank >= TN_RANK_PLUGIN) != (b->def->kernel.rank >= TN_RANK_PLUGIN);
}

static bool beats(const tn_candidate *a, const tn_candidate *b) {
  if (a->def->kernel.rank != b->def->kernel.rank) return a->def->kernel.rank > b->def->kernel.rank;
  return a->cost_ns <= b->cost_ns;
}

static const char *beaten_reason(tn_selection *s, const tn_candidate *winner,
                                 const tn_candidate *loser) {
  if (winner->def->kernel.rank != loser->def->kernel.rank)
    return tn_select_reason(s, "has rank %d, %s takes the node with rank %d",
                            loser->def->kernel.rank, winner->def->kernel.name,
                            winner->def->kernel.rank);
  return tn_select_reason(s, "costs %.2f us, %s takes the same for %.2f us", loser->cost_ns / 1e3,
                          winner->def->kernel.name, winner->cost_ns / 1e3);
}

/* Of the candidates that compete the one with the highest rank stays; then the cheapest, then the
 * first. */
static tn_status drop_beaten(gatherer *g) {
  tn_candidates *all = &g->options->candidates;
  for (int64_t k = 0; k < all->n; k++)
    for (int64_t j = 0; j < all->n && !all->data[k].refused; j++) {
      if (j == k || all->data[j].refused || !compete(&g->n->node, &all->data[j], &all->data[k]))
        continue;
      if (!beats(&all->data[j], &all->data[k]) || (beats(&all->data[k], &all->data[j]) && k < j))
        continue;
      all->data[k].refused = beaten_reason(g->s, &all->data[j], &all->data[k]);
      if (!all->data[k].refused) return TN_ERR_MEMORY;
    }
  int64_t kept = 0;
  for (int64_t k = 0; k < all->n; k++) {
    g->device = all->data[k].device;
    if (!all->data[k].refused)
      all->data[kept++] = all->data[k];
    else if (refuse(g, all->data[k].def, all->data[k].refused))
      return TN_ERR_MEMORY;
  }
  all->n = kept;
  return TN_OK;
}

/* ---- measured costs ---- */

static bool is_outranked(const gatherer *g, int64_t k) {
  const tn_candidates *all = &g->options->candidates;
  for (int64_t j = 0; j < all->n; j++)
    if (all->data[j].def->kernel.rank > all->data[k].def->kernel.rank &&
        compete(&g->n->node, &all->data[j], &all->data[k]))
      return true;
  return false;
}

/* Costs as they were measured, of the candidates among which costs decide. */
static tn_status take_measured(gatherer *g) {
  tn_candidates *all = &g->options->candidates;
  if (!g->s->is_tuned || all->n < 2) return TN_OK;
  g->s->asked = true;
  tn_status status = g->s->measures ? tn_call_fetch(&g->frame) : TN_OK;
  for (int64_t k = 0; !status && k < all->n; k++) {
    tn_candidate *c = &all->data[k];
    if (is_outranked(g, k) || c->device) continue;
    memcpy(g->in, c->in, g->n->node.n_inputs * sizeof *g->in);
    memcpy(g->out, c->out, g->n->node.n_outputs * sizeof *g->out);
    apply_forms(g);
    if (convert_constants(g, &status) || status) continue;
    g->frame.call.self = c->def->owner ? c->def->owner->self : NULL;
    status = tn_select_cost(g->s, g->n, c->def, &c->plan, &g->frame.call, c->cost_ns, &c->cost_ns);
  }
  return status;
}

/* ---- a node ---- */

static tn_status open(gatherer *g, tn_selection *s, int32_t node) {
  *g = (gatherer){.s = s, .n = tn_graph_node(s->g, node), .options = &s->nodes[node]};
  const tn_node *n = &g->n->node;
  g->n_formal = (uint32_t)tn_node_n_given(g->n, g->n->def);
  tn_status status = tn_call_open(&g->frame, s->p, s->g, node, s->diag);
  if (status) return status;
  tn_arena *arena = &g->frame.arena;
  g->in = tn_arena_alloc(arena, (n->n_inputs + 1) * sizeof *g->in);
  g->out = tn_arena_alloc(arena, (n->n_outputs + 1) * sizeof *g->out);
  g->in_types = tn_arena_copy(arena, g->frame.in, (n->n_inputs + 1) * sizeof *g->in_types);
  g->out_types = tn_arena_copy(arena, g->frame.out, (n->n_outputs + 1) * sizeof *g->out_types);
  if (g->in && g->out && g->in_types && g->out_types) return TN_OK;
  tn_call_close(&g->frame);
  return TN_ERR_MEMORY;
}

static tn_status try_all(gatherer *g) {
  const tn_kerneldef *const *kernels = NULL;
  int32_t n = tn_registry_kernels(g->s->p->registry, g->n->def, &kernels);
  static const uint32_t wides[] = {TN_NONE, TN_F32, TN_F64};
  bool found_pin = !g->pin || g->device;
  const int64_t n_before = g->options->candidates.n;
  for (size_t w = 0; w < sizeof wides / sizeof *wides && g->options->candidates.n == n_before;
       w++) {
    if (wides[w] && g->n->n_subgraphs) break; /* what subgraphs give cannot be cast */
    g->wide = wides[w];
    for (int32_t k = 0; k < n; k++) {
      found_pin = found_pin || !strcmp(g->pin, kernels[k]->kernel.name);
      tn_status status = try_kernel(g, kernels[k]);
      if (status) return status;
    }
  }
  if (found_pin) return TN_OK;
  tn_refusal refusal = {g->pin, TN_WHY("is pinned, but no kernel of this operator has that name"),
                        NULL};
  return tn_vec_push(g->s->p->a, &g->options->refusals, refusal);
}

/* What was gathered in lists that grow is kept in as much memory as it needs. */
static tn_status settle(tn_selection *s, tn_node_options *o) {
  s->candidates = o->candidates;
  s->refusals = o->refusals;
  const int64_t n = o->candidates.n, n_refusals = o->refusals.n;
  o->candidates.data =
      tn_arena_copy(&s->arena, s->candidates.data, (uint64_t)n * sizeof *o->candidates.data);
  o->refusals.data =
      tn_arena_copy(&s->arena, s->refusals.data, (uint64_t)n_refusals * sizeof *o->refusals.data);
  const bool kept = o->candidates.data && o->refusals.data;
  o->candidates.n = o->candidates.cap = kept ? n : 0;
  o->refusals.n = o->refusals.cap = kept ? n_refusals : 0;
  return kept ? TN_OK : TN_ERR_MEMORY;
}

/* The same on every device that is wanted and there. */
static tn_status try_devices(gatherer *g) {
  tn_node_options *o = g->options;
  const tn_planner *p = g->s->p;
  tn_status status = TN_OK;
  if (!p->n_devices) return TN_OK;
  o->is_host_bound = is_host_bound(g);
  o->away = tn_arena_alloc(&g->s->arena, (p->n_devices + 1) * sizeof *o->away);
  if (!o->away) return TN_ERR_MEMORY;
  for (uint32_t k = 1; k <= p->n_devices && !status; k++) {
    g->device = k;
    g->has_own_reason = false;
    if (o->is_host_bound)
      o->away[k] = TN_WHY("lives on the host by nature");
    else if (atomic_load(p->full) >> (k - 1) & 1)
      o->away[k] = TN_WHY("has no memory left for this model");
    else if (tn_device_is_lost(p->devices[k - 1]))
      o->away[k] = TN_WHY("the device is lost");
    else
      status = try_all(g);
    if (!o->away[k]) o->away[k] = TN_WHY("no kernel for this operator");
  }
  g->device = 0;
  return status;
}

tn_status tn_select_gather(tn_selection *s, int32_t node) {
  gatherer g;
  const int32_t like = tn_select_repeated(s, node);
  if (like >= 0) s->nodes[node] = s->nodes[like];
  s->nodes[node].like = like;
  if (like >= 0) return TN_OK;
  tn_status status = open(&g, s, node);
  if (status) return status;
  g.options->chosen = -1;
  g.options->candidates = s->candidates;
  g.options->refusals = s->refusals;
  g.options->candidates.n = g.options->refusals.n = 0;
  g.options->flops = tn_node_flops(s->p, s->g, node);
  g.pin = tn_pin_of(s->p, g.n);
  status = try_all(&g);
  if (!status) status = try_devices(&g);
  if (!status) status = take_measured(&g);
  if (!status) status = drop_beaten(&g);
  tn_call_close(&g.frame);
  const tn_status settled = settle(s, g.options);
  return status ? status : settled;
}

tn_status tn_select_layouts(tn_selection *s, int32_t node) {
  const tn_kerneldef *const *kernels = NULL;
  int32_t n = tn_registry_kernels(s->p->registry, tn_graph_node(s->g, node)->def, &kernels);
  for (int32_t k = 0; k < n; k++) {
    const tn_kernel *kernel = &kernels[k]->kernel;
    if (kernel->isa & ~s->p->isa) continue;
    for (uint32_t r = 0; r < kernel->n_accepts; r++) {
      tn_layout layout = kernel->accepts[r] ? kernel->accepts[r]->layout : TN_PLAIN;
      bool known = layout == TN_ANY_LAYOUT;
      for (int64_t j = 0; j < s->layouts.n; j++) known = known || s->layouts.data[j] == layout;
      if (!known && tn_vec_push(s->p->a, &s->layouts, layout)) return TN_ERR_MEMORY;
    }
  }
  return TN_OK;
}
