/* A run of an operator: its inputs and outputs. */
#include <stdlib.h>
#include <string.h>

#include "guard.h"
#include "ort.h"

typedef struct scratch {
  struct scratch *next;
  _Alignas(64) char data[];
} scratch;

struct ort_context {
  const tn_call *call;
  ort_value *inputs, *outputs; /* of one block; those of outputs have a call once they are made */
  scratch *scratch;
  tn_status status; /* of the host's functions */
};

static ort_status *count_inputs(const ort_context *c, size_t *out) {
  *out = c->call->n_inputs;
  return NULL;
}

static ort_status *count_outputs(const ort_context *c, size_t *out) {
  *out = c->call->n_outputs;
  return NULL;
}

static ort_status *get_input(const ort_context *c, size_t index, const ort_value **out) {
  *out = NULL;
  if (index >= c->call->n_inputs)
    return ort_fail(ORT_INVALID_ARGUMENT, "input %zu of %u", index, c->call->n_inputs);
  if (c->call->inputs[index]) *out = &c->inputs[index];
  return NULL;
}

/* Asked for anew with the shape that it has, an output stays as it is. */
static bool has_shape(const ort_value *v, const int64_t *dims, size_t n) {
  return v->call && (size_t)v->tensor.rank == n &&
         (!n || !memcmp(v->tensor.shape, dims, n * sizeof *dims));
}

static ort_status *make_output(ort_context *c, size_t index, const int64_t *dims, size_t n) {
  ort_value *v = &c->outputs[index];
  const tn_status s = c->call->host->output_resize(c->call->ctx, (uint32_t)index, (int32_t)n, dims);
  if (s) c->status = s;
  if (s) return ort_fail(ORT_FAIL, "output %zu cannot be made", index);
  v->tensor = tn_tensor_make(c->call->outputs[index]->dtype, (int32_t)n, dims, NULL);
  v->call = c->call;
  v->output = (uint32_t)index;
  v->is_changed = true;
  return NULL;
}

static ort_status *get_output(ort_context *c, size_t index, const int64_t *dims, size_t n,
                              ort_value **out) {
  *out = NULL;
  if (index >= c->call->n_outputs)
    return ort_fail(ORT_INVALID_ARGUMENT, "output %zu of %u", index, c->call->n_outputs);
  if (n > TN_MAX_RANK)
    return ort_fail(ORT_NOT_IMPLEMENTED, "output %zu has %zu dims; the limit is 8", index, n);
  if (!c->call->outputs[index]) return NULL; /* nobody asked for it */
  ort_status *failed =
      has_shape(&c->outputs[index], dims, n) ? NULL : make_output(c, index, dims, n);
  if (!failed) *out = &c->outputs[index];
  return failed;
}

static ort_status *get_stream(const ort_context *c, void **out) {
  (void)c;
  *out = NULL; /* the CPU has none */
  return NULL;
}

static ort_status *get_scratch(ort_context *c, const ort_memory *memory, size_t bytes, void **out) {
  (void)memory;
  size_t size;
  *out = NULL;
  scratch *s = __builtin_add_overflow(bytes, sizeof *s + 63, &size)
                   ? NULL
                   : aligned_alloc(64, size & ~(size_t)63);
  if (!s) return ort_fail(ORT_FAIL, "out of memory: %zu bytes", bytes);
  s->next = c->scratch;
  c->scratch = s;
  *out = s->data;
  return NULL;
}

/* One after the other: kernels have no pool of threads to ask for. */
static ort_status *parallel_for(const ort_context *c, void (*fn)(void *, size_t), size_t total,
                                size_t batches, void *data) {
  (void)c, (void)batches;
  for (size_t k = 0; k < total; k++) fn(data, k);
  return NULL;
}

/* ---- one run ---- */

static bool open_context(ort_context *c) {
  const tn_call *call = c->call;
  c->inputs = calloc((size_t)call->n_inputs + call->n_outputs + 1, sizeof *c->inputs);
  if (!c->inputs) return false;
  c->outputs = c->inputs + call->n_inputs;
  for (uint32_t k = 0; k < call->n_inputs; k++) {
    const tn_tensor *t = call->inputs[k];
    if (t) c->inputs[k].tensor = tn_tensor_make(t->dtype, t->rank, t->shape, t->data);
  }
  return true;
}

static ort_status *settle(const ort_context *c) {
  ort_status *failed = NULL;
  for (uint32_t k = 0; k < c->call->n_outputs; k++) {
    ort_status *s = ort_value_settle(&c->outputs[k]);
    if (failed) ort_status_free(s);
    if (!failed) failed = s;
  }
  return failed;
}

static void close_context(ort_context *c) {
  for (scratch *s = c->scratch, *next; s; s = next) {
    next = s->next;
    free(s);
  }
  free(c->inputs);
}

static ort_status *check_made(const ort_context *c) {
  for (uint32_t k = 0; k < c->call->n_outputs; k++)
    if (c->call->outputs[k] && !c->outputs[k].call)
      return ort_fail(ORT_FAIL, "the operator has not made output %u", k);
  return NULL;
}

typedef struct computation {
  ort_context *context;
  const ort_kernel *kernel;
  ort_status *failed;
} computation;

static void compute(void *arg) {
  computation *r = arg;
  const ort_op *op = r->kernel->op;
  if (ORT_HAS(op, compute_v2, 16))
    r->failed = op->compute_v2(r->kernel->object, r->context);
  else
    op->compute(r->kernel->object, r->context);
}

static void thrown(void *arg, const char *what) {
  ((computation *)arg)->failed = ort_fail(ORT_FAIL, "%s", what);
}

static ort_status *run(ort_context *c, const ort_kernel *kernel) {
  computation r = {c, kernel, NULL};
  ort_guard(compute, &r, thrown);
  ort_status *unset = settle(c);
  if (r.failed) ort_status_free(unset);
  if (!r.failed) r.failed = unset;
  return r.failed ? r.failed : check_made(c);
}

tn_status ort_compute(const tn_call *call, const ort_entry *entry, const ort_kernel *kernel) {
  ort_context c = {.call = call};
  if (!open_context(&c)) return TN_ERR_MEMORY;
  ort_status *failed = run(&c, kernel);
  close_context(&c);
  tn_status s = ort_hand_on(call, entry, failed);
  return c.status ? c.status : s;
}

void ort_context_functions(ort_function *table) {
  ORT_SET(table, KernelContext_GetInputCount, count_inputs);
  ORT_SET(table, KernelContext_GetOutputCount, count_outputs);
  ORT_SET(table, KernelContext_GetInput, get_input);
  ORT_SET(table, KernelContext_GetOutput, get_output);
  ORT_SET(table, KernelContext_GetGPUComputeStream, get_stream);
  ORT_SET(table, KernelContext_GetScratchBuffer, get_scratch);
  ORT_SET(table, KernelContext_ParallelFor, parallel_for);
}
