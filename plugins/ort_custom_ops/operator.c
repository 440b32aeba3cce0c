/* What Tenon asks of an operator: types, making its kernel, running it. */
#include <stdlib.h>

#include "guard.h"
#include "ort.h"

int ort_kind(const ort_op *op, bool is_input, size_t index) {
  if (is_input) return ORT_HAS(op, input_kind, 8) ? op->input_kind(op, index) : ORT_REQUIRED;
  return ORT_HAS(op, output_kind, 8) ? op->output_kind(op, index) : ORT_REQUIRED;
}

/* The argument that value `index` of a node belongs to: what is variadic is the last. */
static size_t argument(size_t index, size_t n) { return index < n ? index : n - 1; }

/* ---- types ---- */

static bool takes(const ort_op *op, const tn_call *call) {
  const size_t n = op->n_inputs(op);
  for (uint32_t k = 0; n && k < call->n_inputs; k++) {
    const int type = op->input_type(op, argument(k, n));
    const tn_tensor *t = call->inputs[k];
    if (t && type != ORT_UNDEFINED && type != ort_type(t->dtype)) return false;
  }
  return true;
}

const ort_op *ort_op_choose(const tn_call *call, const ort_entry *entry) {
  for (uint32_t k = 0; k < entry->n_overloads; k++)
    if (takes(entry->overloads[k], call)) return entry->overloads[k];
  return NULL;
}

/* An output without a type of its own has that of the one input without. */
static uint32_t free_dtype(const ort_op *op, const tn_call *call) {
  const size_t n = op->n_inputs(op);
  for (uint32_t k = 0; n && k < call->n_inputs; k++)
    if (call->inputs[k] && op->input_type(op, argument(k, n)) == ORT_UNDEFINED)
      return call->inputs[k]->dtype;
  return TN_NONE;
}

static tn_status check_inputs(const tn_call *call, const ort_op *op) {
  const size_t n = op->n_inputs(op);
  const bool is_variadic = n && ort_kind(op, true, n - 1) == ORT_VARIADIC;
  const int least = is_variadic && ORT_HAS(op, min_inputs, 14) ? op->min_inputs(op) : 1;
  for (uint32_t k = 0; k < call->n_inputs; k++)
    if (call->inputs[k] && call->inputs[k]->kind != TN_KIND_TENSOR)
      return call->host->fail(call->ctx, TN_ERR_UNSUPPORTED,
                              "input %u is no tensor, which operators for ONNX Runtime take", k);
  if (is_variadic && (int64_t)call->n_inputs - (int64_t)(n - 1) < least)
    return call->host->fail(call->ctx, TN_ERR_SHAPE,
                            "there are %lld variadic inputs; the operator takes %d or more",
                            (long long)call->n_inputs - (long long)(n - 1), least);
  return TN_OK;
}

static tn_status check_outputs(const tn_call *call, const ort_op *op) {
  const size_t n = op->n_outputs(op);
  for (uint32_t k = 0; k < n; k++) {
    if (ort_kind(op, false, k) != ORT_REQUIRED || (k < call->n_outputs && call->outputs[k]))
      continue;
    return call->host->fail(call->ctx, TN_ERR_UNSUPPORTED,
                            "output %u is left out, which the operator makes in any case", k);
  }
  return TN_OK;
}

static void infer_output(const tn_call *call, const ort_op *op, uint32_t k) {
  const int type = op->output_type(op, argument(k, op->n_outputs(op)));
  tn_tensor *y = call->outputs[k];
  if (!y) return;
  y->dtype = type == ORT_UNDEFINED ? free_dtype(op, call) : ort_dtype(type);
  y->rank = TN_RANK_UNKNOWN;
}

static tn_status check_types(const tn_call *call) {
  for (uint32_t k = 0; k < call->n_outputs; k++)
    if (call->outputs[k] && !call->outputs[k]->dtype)
      return call->host->fail(call->ctx, TN_ERR_SHAPE, "the type of output %u cannot be told", k);
  return TN_OK;
}

tn_status ort_op_infer(const tn_call *call, const ort_entry *entry) {
  const ort_op *op = ort_op_choose(call, entry);
  if (!op)
    return call->host->fail(call->ctx, TN_ERR_UNSUPPORTED,
                            "no operator '%s' takes inputs of these types", entry->name);
  tn_status s = check_inputs(call, op);
  if (!s) s = check_outputs(call, op);
  for (uint32_t k = 0; k < call->n_outputs && !s; k++) infer_output(call, op, k);
  if (!s) s = ort_infer_shapes(call, entry, op);
  return s ? s : check_types(call);
}

/* ---- kernels ---- */

/* Outputs are made when the operator asks for them: as they are planned, where that is known. */
tn_status ort_op_plan(const tn_call *call, tn_kernel_plan *out) {
  (void)call;
  out->state_bytes = sizeof(ort_kernel);
  out->flags = TN_PLAN_DATA_DEPENDENT;
  return TN_OK;
}

typedef struct creation {
  const ort_info *info;
  ort_status *failed;
} creation;

static void create(void *arg) {
  creation *c = arg;
  const ort_op *op = c->info->op;
  void **object = &c->info->kernel->object;
  if (ORT_HAS(op, create_v2, 16))
    c->failed = op->create_v2(op, ort_api(), c->info, object);
  else
    *object = op->create(op, ort_api(), c->info);
}

static void thrown(void *arg, const char *what) {
  ((creation *)arg)->failed = ort_fail(ORT_FAIL, "%s", what);
}

static void forget_constants(const ort_kernel *kernel) {
  for (uint32_t k = 0; kernel->constants && k < kernel->n_constants; k++)
    ort_value_free(kernel->constants[k]);
  free((void *)kernel->constants);
}

tn_status ort_op_prepare(const tn_call *call, const ort_entry *entry) {
  ort_kernel *kernel = call->state;
  const ort_info info = {call, entry, ort_op_choose(call, entry), kernel};
  if (!info.op) return TN_ERR_INTERNAL;
  kernel->op = info.op;
  kernel->n_constants = call->n_inputs;
  kernel->constants = calloc((size_t)call->n_inputs + 1, sizeof(ort_value *));
  if (!kernel->constants) return TN_ERR_MEMORY;
  creation c = {&info, NULL};
  ort_guard(create, &c, thrown);
  const tn_status s = ort_hand_on(call, entry, c.failed);
  if (s) forget_constants(kernel);
  kernel->is_made = !s;
  return s;
}

tn_status ort_op_run(const tn_call *call, const ort_entry *entry) {
  return ort_compute(call, entry, call->state);
}

void ort_op_finish(const tn_call *call) {
  const ort_kernel *kernel = call->state;
  if (!kernel->is_made) return;
  kernel->op->destroy(kernel->object);
  forget_constants(kernel);
}
