/* Matching kernels with nodes: each rule in a function of its own that answers NULL or a reason.
 *
 * Reasons are for people who ask why their kernel was not taken, so they name argument, value
 * and rule. */
#include "plan/select/match.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/abi.h"
#include "base/cpu.h"

static const char *or_plain_words(const char *reason) {
  return reason ? reason : "not enough memory to say why";
}

static __attribute__((format(printf, 2, 3)))
const char *(reason_text)(tn_arena *reasons, const char *format, ...) {
  char text[512];
  if (!*format || !reasons) return "does not fit"; /* TENON_MESSAGES is OFF, or nobody reads it */
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  return or_plain_words(tn_arena_str(reasons, text));
}

const char *tn_layout_text(tn_layout layout) {
  if (layout == TN_PLAIN) return "plain";
  if (layout == TN_CHANNELS_LAST) return "channels_last";
  if (layout == TN_ANY_LAYOUT) return "any";
  static const struct {
    tn_layout layout;
    const char *text;
  } blocked[] = {{TN_BLOCKED(4), "blocked4"},
                 {TN_BLOCKED(8), "blocked8"},
                 {TN_BLOCKED(16), "blocked16"},
                 {TN_BLOCKED(32), "blocked32"}};
  for (size_t k = 0; k < sizeof blocked / sizeof *blocked; k++)
    if (blocked[k].layout == layout) return blocked[k].text;
  return "unknown";
}

const char *tn_dtypes_text(uint64_t dtypes, tn_arena *arena) {
  enum { NAME = 16 };
  char text[TN_DTYPE_COUNT * NAME] = "no type", *end = text;
  for (uint32_t d = 1; d < TN_DTYPE_COUNT; d++) {
    if (!(dtypes & TN_MASK(d))) continue;
    if (end > text) *end++ = '|';
    end += strlen(strncpy(end, tn_dtype_name(d), NAME));
  }
  return or_plain_words(tn_arena_str(arena, text));
}

/* ---- rows ---- */

const tn_accept *tn_kernel_row(const tn_kernel *kernel, const tn_arg *arg) {
  const tn_accept *others = NULL;
  for (uint32_t k = 0; arg && k < kernel->n_accepts; k++) {
    if (!strcmp(kernel->accepts[k]->arg, arg->name)) return kernel->accepts[k];
    if (!strcmp(kernel->accepts[k]->arg, "*")) others = kernel->accepts[k];
  }
  return others;
}

const tn_accept *tn_kernel_accept_input(const tn_kerneldef *def, const tn_opdef *op, uint32_t index,
                                        uint32_t n_formal) {
  return tn_kernel_row(&def->kernel,
                       tn_schema_input_of(&op->schema, (int32_t)index, (int32_t)n_formal));
}

const tn_accept *tn_kernel_accept_output(const tn_kerneldef *def, const tn_opdef *op,
                                         uint32_t index, uint32_t n_outputs) {
  return tn_kernel_row(&def->kernel,
                       tn_schema_output_of(&op->schema, (int32_t)index, (int32_t)n_outputs));
}

/* Trailing inputs that were left out do not count, unless they tell where a list ends. */
static uint32_t given(const tn_opdef *op, const tn_call *call, uint32_t n_formal) {
  const bool trim = tn_schema_may_end_early(&op->schema);
  while (trim && n_formal && !call->inputs[n_formal - 1]) n_formal--;
  return n_formal;
}

/* ---- rules that types and layouts do not change ---- */

const char *tn_kernel_isa_reason(uint64_t missing, tn_arena *reasons) {
  char text[128];
  if (!reasons) return TN_WHY("lacks an instruction set");
  return reason_text(reasons, "needs instruction set %s, which may not be used here",
                     tn_isa_text(missing, text, sizeof text));
}

static const char *match_kernel(const tn_kernel *kernel, const tn_call *call, tn_arena *reasons) {
  const uint64_t missing = kernel->isa & ~call->isa;
  if (missing) return tn_kernel_isa_reason(missing, reasons);
  if (kernel->since > 0 && call->version < kernel->since)
    return reason_text(reasons, "serves operator versions from %d, this is %d", kernel->since,
                       call->version);
  if (kernel->until > 0 && call->version > kernel->until)
    return reason_text(reasons, "serves operator versions up to %d, this is %d", kernel->until,
                       call->version);
  if (call->n_epilogue && !(kernel->flags & TN_KERNEL_EPILOGUE))
    return TN_WHY("applies no epilogue, the node has one");
  return NULL;
}

static bool rank_fits(const tn_accept *row, const tn_tensor *t) {
  if (!row->rank_max || t->kind != TN_KIND_TENSOR || t->rank == TN_RANK_UNKNOWN) return true;
  return t->rank >= row->rank_min && t->rank <= row->rank_max;
}

static const char *rank_reason(const tn_accept *row, const tn_arg *arg, const tn_tensor *t,
                               const char *way, tn_arena *reasons) {
  return reason_text(reasons, "%s %s has rank %d, takes %d to %d", way, arg->name, t->rank,
                     row->rank_min, row->rank_max);
}

/* One argument's row against all inputs that belong to it. */
static const char *match_inputs_fixed(const tn_accept *row, const tn_arg *of, const tn_opdef *op,
                                      const tn_call *call, uint32_t n_formal, tn_arena *reasons) {
  bool present = false;
  for (uint32_t k = 0; k < n_formal; k++) {
    const tn_arg *arg = tn_schema_input_of(&op->schema, (int32_t)k, (int32_t)n_formal);
    const tn_tensor *t = call->inputs[k];
    if (!t || arg != of) continue;
    present = true;
    if ((row->flags & TN_ACCEPT_CONST) && !t->data)
      return reason_text(reasons, "input %s is no constant, must be one", of->name);
    if (!rank_fits(row, t)) return rank_reason(row, of, t, "input", reasons);
  }
  if (present && (row->flags & TN_ACCEPT_ABSENT))
    return reason_text(reasons, "input %s is given, must be left out", of->name);
  if (!present && (row->flags & TN_ACCEPT_PRESENT))
    return reason_text(reasons, "input %s is left out, must be given", of->name);
  return NULL;
}

static const char *match_outputs_fixed(const tn_accept *row, const tn_arg *of, const tn_opdef *op,
                                       const tn_call *call, tn_arena *reasons) {
  bool present = false;
  for (uint32_t k = 0; k < call->n_outputs; k++) {
    const tn_arg *arg = tn_schema_output_of(&op->schema, (int32_t)k, (int32_t)call->n_outputs);
    const tn_tensor *t = call->outputs[k];
    if (!t || arg != of) continue;
    present = true;
    if (!rank_fits(row, t)) return rank_reason(row, of, t, "output", reasons);
  }
  if (present && (row->flags & TN_ACCEPT_ABSENT))
    return reason_text(reasons, "output %s is asked for, cannot be made", of->name);
  if (!present && (row->flags & TN_ACCEPT_PRESENT))
    return reason_text(reasons, "output %s is not asked for, must be", of->name);
  return NULL;
}

const char *tn_kernel_match_fixed(const tn_kerneldef *def, const tn_opdef *op, const tn_call *call,
                                  uint32_t n_formal, tn_arena *reasons) {
  n_formal = given(op, call, n_formal);
  const char *reason = match_kernel(&def->kernel, call, reasons);
  for (int32_t k = 0; !reason && k < op->schema.n_inputs; k++) {
    const tn_arg *arg = tn_schema_input(&op->schema, k);
    const tn_accept *row = tn_kernel_row(&def->kernel, arg);
    if (row) reason = match_inputs_fixed(row, arg, op, call, n_formal, reasons);
  }
  for (int32_t k = 0; !reason && k < op->schema.n_outputs; k++) {
    const tn_arg *arg = tn_schema_output(&op->schema, k);
    const tn_accept *row = tn_kernel_row(&def->kernel, arg);
    if (row) reason = match_outputs_fixed(row, arg, op, call, reasons);
  }
  return reason;
}

/* ---- types and layouts ---- */

/* A row for any type was made for the types that there were. */
static const char *match_dtype(const tn_accept *row, const char *name, uint32_t dtype,
                               const char *way, tn_arena *reasons) {
  if (!tn_accepts_dtype(row, dtype))
    return reason_text(reasons, "%s %s is %s, takes %s", way, name, tn_dtype_name(dtype),
                       reasons ? tn_dtypes_text(row->dtypes, reasons) : "");
  if (row->dtypes & TN_MASK(dtype) || tn_abi_has_dtype(row->head.minor, dtype)) return NULL;
  return reason_text(reasons, "is made for ABI %u.%u, which has no %s", row->head.major,
                     row->head.minor, tn_dtype_name(dtype));
}

/* An argument without a row has the type of one that has a row, which a type rule binds it to.
 * any: the layout of all arguments that take any, UINT64_MAX before the first. */
static const char *match_tensor(const tn_kernel *kernel, const tn_arg *arg, const tn_tensor *t,
                                const char *way, tn_layout *any, tn_arena *reasons) {
  const char *name = arg ? arg->name : "?";
  const tn_accept *row = tn_kernel_row(kernel, arg);
  char text[TN_TENSOR_TEXT];
  if (t->kind != TN_KIND_TENSOR && !(row && row->dtypes & TN_ANY_DTYPE))
    return reason_text(reasons, "%s %s is %s, takes a tensor", way, name,
                       tn_tensor_text(t, text, sizeof text));
  const char *reason = row ? match_dtype(row, name, t->dtype, way, reasons) : NULL;
  if (reason) return reason;
  tn_layout layout = row ? row->layout : TN_PLAIN;
  if (layout == TN_ANY_LAYOUT) {
    if (*any == UINT64_MAX) *any = t->layout;
    layout = *any;
  }
  if (t->layout == layout) return NULL;
  return reason_text(reasons, "%s %s is in layout %s, takes %s", way, name,
                     tn_layout_text(t->layout), tn_layout_text(layout));
}

const char *tn_kernel_match_types(const tn_kerneldef *def, const tn_opdef *op, const tn_call *call,
                                  uint32_t n_formal, tn_arena *reasons) {
  tn_layout any = UINT64_MAX;
  const char *reason = NULL;
  n_formal = given(op, call, n_formal);
  for (uint32_t k = 0; !reason && k < n_formal; k++) {
    const tn_arg *arg = tn_schema_input_of(&op->schema, (int32_t)k, (int32_t)n_formal);
    if (call->inputs[k])
      reason = match_tensor(&def->kernel, arg, call->inputs[k], "input", &any, reasons);
  }
  for (uint32_t k = 0; !reason && k < call->n_outputs; k++) {
    const tn_arg *arg = tn_schema_output_of(&op->schema, (int32_t)k, (int32_t)call->n_outputs);
    if (call->outputs[k])
      reason = match_tensor(&def->kernel, arg, call->outputs[k], "output", &any, reasons);
  }
  return reason;
}

const char *tn_kernel_match(const tn_kerneldef *def, const tn_opdef *op, const tn_call *call,
                            uint32_t n_formal, tn_arena *reasons) {
  const char *reason = tn_kernel_match_fixed(def, op, call, n_formal, reasons);
  if (!reason) reason = tn_kernel_match_types(def, op, call, n_formal, reasons);
  if (!reason && def->kernel.refuse) reason = def->kernel.refuse(call);
  return reason;
}

/* ---- plan() ---- */

static tn_status bad_plan(const tn_kerneldef *def, tn_diag *diag, const char *rule) {
  return tn_fail(diag, TN_ERR_INVALID, "kernel '%s': plan() answered %s", def->kernel.name, rule);
}

static tn_status vet_stages(const tn_kerneldef *def, const tn_kernel_plan *plan, tn_diag *diag) {
  if (plan->n_stages < 1 || plan->n_stages > TN_MAX_STAGES)
    return bad_plan(def, diag, "a number of stages that is not 1 to 8");
  for (uint32_t s = 0; s < plan->n_stages; s++) {
    if (plan->items[s] < 0) return bad_plan(def, diag, "a negative number of items");
    if ((plan->flags & TN_PLAN_DATA_DEPENDENT) && plan->items[s] > 1)
      return bad_plan(def, diag, "several items for a data-dependent run");
  }
  if (plan->elements_per_item < 0) return bad_plan(def, diag, "negative elements_per_item");
  if ((plan->flags & TN_PLAN_ELEMENTWISE) && plan->n_stages != 1)
    return bad_plan(def, diag, "several stages for an element-wise run");
  if (plan->flags & ~(uint32_t)(TN_PLAN_ELEMENTWISE | TN_PLAN_DATA_DEPENDENT))
    return bad_plan(def, diag, "flags that this host does not know");
  return TN_OK;
}

static bool has_items(const tn_kernel_plan *plan) {
  for (uint32_t s = 0; s < plan->n_stages; s++)
    if (plan->items[s] > 0) return true;
  return false;
}

/* Without a run, outputs would be whatever lay in their memory. */
static tn_status vet_idle(const tn_kerneldef *def, const tn_call *call, const tn_kernel_plan *plan,
                          tn_diag *diag) {
  for (uint32_t k = 0; k < call->n_outputs && !has_items(plan); k++) {
    const tn_tensor *out = call->outputs[k];
    if (out && out->kind == TN_KIND_TENSOR && tn_storage_elements(out) != 0)
      return bad_plan(def, diag, "no items for an output that has elements");
  }
  return TN_OK;
}

/* A run that does not say the shape of its output needs it from inference. */
static tn_status vet_shapes(const tn_kerneldef *def, const tn_call *call,
                            const tn_kernel_plan *plan, tn_diag *diag) {
  for (uint32_t k = 0; k < call->n_outputs && !(plan->flags & TN_PLAN_DATA_DEPENDENT); k++) {
    const tn_tensor *out = call->outputs[k];
    if (out && out->kind == TN_KIND_TENSOR && tn_storage_bytes(out) < 0)
      return bad_plan(def, diag, "no TN_PLAN_DATA_DEPENDENT, but inference left a shape open");
  }
  return TN_OK;
}

/* What items are promised to write is there: the host hands out ranges of elements by it. */
static tn_status vet_items(const tn_kerneldef *def, const tn_call *call, const tn_kernel_plan *plan,
                           tn_diag *diag) {
  const tn_tensor *out = call->n_outputs ? call->outputs[0] : NULL;
  const int64_t n = out ? tn_storage_elements(out) : -1, per_item = plan->elements_per_item;
  if (n < 0) return TN_OK;
  if ((plan->flags & TN_PLAN_ELEMENTWISE) && plan->items[0] != n)
    return bad_plan(def, diag,
                    "items for an element-wise run that are not the elements of output 0");
  if (per_item > 0 && plan->items[0] != n / per_item + (n % per_item != 0))
    return bad_plan(def, diag, "items and elements_per_item that do not add up to output 0");
  return TN_OK;
}

/* Sharing memory is sound only between tensors of equal storage; a pair that is not is dropped,
 * not an error. */
static void vet_in_place(const tn_call *call, tn_kernel_plan *plan) {
  for (uint32_t k = 0; k < TN_MAX_IN_PLACE; k++) {
    int32_t from = plan->in_place[k];
    bool sound = from >= 0 && (uint32_t)from < call->n_inputs && k < call->n_outputs &&
                 call->inputs[from] && call->outputs[k];
    int64_t bytes = sound ? tn_storage_bytes(call->outputs[k]) : -1;
    if (bytes < 0 || bytes != tn_storage_bytes(call->inputs[from])) plan->in_place[k] = -1;
  }
}

/* True if every output is a tensor without elements. */
static bool makes_nothing(const tn_call *call) {
  bool nothing = call->n_outputs > 0;
  for (uint32_t k = 0; k < call->n_outputs && nothing; k++)
    nothing = !call->outputs[k] || (call->outputs[k]->kind == TN_KIND_TENSOR &&
                                    tn_tensor_elements(call->outputs[k]) == 0);
  return nothing;
}

tn_kernel_plan tn_kernel_plan_blank(void) {
  tn_kernel_plan plan = {.head = TN_HEAD(tn_kernel_plan), .n_stages = 1};
  for (uint32_t s = 0; s < TN_MAX_STAGES; s++) plan.items[s] = plan.grain[s] = 1;
  for (uint32_t k = 0; k < TN_MAX_IN_PLACE; k++) plan.in_place[k] = -1;
  return plan;
}

tn_status tn_kernel_ask_plan(const tn_kerneldef *def, const tn_call *call, tn_diag *diag,
                             tn_kernel_plan *out_plan) {
  tn_kernel_plan plan = tn_kernel_plan_blank();
  tn_status status = def->kernel.plan ? def->kernel.plan(call, &plan) : TN_OK;
  if (status) return tn_is_status(status) ? status : bad_plan(def, diag, "an unknown status");
  if ((status = vet_stages(def, &plan, diag))) return status;
  if ((status = vet_items(def, call, &plan, diag))) return status;
  if ((status = vet_idle(def, call, &plan, diag))) return status;
  if ((status = vet_shapes(def, call, &plan, diag))) return status;
  const uint64_t limit = UINT64_C(1) << 46;
  if (plan.scratch_bytes > limit || plan.worker_scratch_bytes > limit || plan.state_bytes > limit)
    return bad_plan(def, diag, "scratch or state of more than 64 TiB");
  const bool idle = makes_nothing(call) && !(plan.flags & TN_PLAN_DATA_DEPENDENT);
  for (uint32_t s = 0; s < plan.n_stages; s++) {
    plan.grain[s] = tn_max_i64(plan.grain[s], 1);
    if (idle) /* not 2^50 rows of nothing; one item, in which kernels may look at their inputs */
      plan.items[s] = plan.items[s] > 1 ? 1 : plan.items[s];
  }
  if (!(plan.cost_ns >= 0) || isinf(plan.cost_ns)) plan.cost_ns = 0;
  vet_in_place(call, &plan);
  *out_plan = plan;
  return TN_OK;
}
