/* tn_exec_host: what a running kernel may ask of the host.
 *
 * Wrong requests (an output that is not there, negative dims, several work items that resize)
 * are answered with an error that says what is wrong; they never reach memory. What grows at run
 * time is in dynamic_values.c. */
#include <stdio.h>
#include <string.h>

#include "device/device.h"
#include "exec/frame.h"

/* ---- messages and memory ---- */

/* The first of a step's messages is kept; workers may speak at once. */
static __attribute__((format(printf, 3, 4)))
tn_status(task_fail)(void *ctx, tn_status code, const char *format, ...) {
  tn_task *t = ctx;
  if (!ctx || !format) return code;
  tn_frame *f = t->frame;
  int silent = 0;
  if (!atomic_compare_exchange_strong(&f->said, &silent, 1)) return code;
  va_list args;
  va_start(args, format);
  tn_error_text(f->text, sizeof f->text, code, format, args);
  va_end(args);
  f->speaker = t;
  return code;
}

static __attribute__((format(printf, 3, 4))) void host_log(void *ctx, uint32_t level,
                                                           const char *format, ...) {
  const tn_task *t = ctx;
  char text[1001];
  va_list args;
  if (!ctx || !format) return;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  char who[TN_TASK_TEXT];
  tn_diag_add(t->frame->diag, tn_log_severity(level), "%s: %s", tn_task_text(t, who, sizeof who),
              text);
}

#define NO_MEMORY "memory cannot be had: %llu bytes"

/* The smallest spare block with room, taken out; NULL: there is none. */
static void *take_spare(tn_frame *f, uint64_t bytes) {
  int32_t best = -1;
  for (int32_t k = 0; k < f->n_spare; k++) {
    uint64_t size = tn_sized_bytes(f->spare[k]);
    if (size >= bytes && (best < 0 || size < tn_sized_bytes(f->spare[best]))) best = k;
  }
  if (best < 0) return NULL;
  void *memory = f->spare[best];
  f->spare[best] = f->spare[--f->n_spare];
  f->spare_bytes -= tn_sized_bytes(memory);
  return memory;
}

/* What a kernel gives back stays for the next run, which asks for as much; more than a MiB in all
 * goes back to the allocator. */
static void *host_alloc(void *ctx, uint64_t bytes) {
  tn_frame *f = ((tn_task *)ctx)->frame;
  pthread_mutex_lock(&f->lock);
  void *memory = take_spare(f, bytes);
  pthread_mutex_unlock(&f->lock);
  if (memory && bytes) memset(memory, 0, (size_t)bytes);
  if (!memory) memory = tn_alloc_sized(f->a, bytes);
  if (!memory) task_fail(ctx, TN_ERR_MEMORY, NO_MEMORY, (unsigned long long)bytes);
  return memory;
}

static void host_free(void *ctx, void *memory) {
  tn_frame *f = ((tn_task *)ctx)->frame;
  if (!memory) return;
  const uint64_t bytes = tn_sized_bytes(memory);
  pthread_mutex_lock(&f->lock);
  const bool kept = f->n_spare < TN_MAX_SPARE && bytes <= TN_MAX_SPARE_BYTES - f->spare_bytes;
  if (kept) {
    f->spare[f->n_spare++] = memory;
    f->spare_bytes += bytes;
  }
  pthread_mutex_unlock(&f->lock);
  if (!kept) tn_free_sized(f->a, memory);
}

/* All that there is is in memory. */
static tn_status host_fetch(void *ctx, const tn_graph *graph, int32_t value) {
  (void)ctx, (void)graph, (void)value;
  return TN_OK;
}

static tn_status host_needs_data(void *ctx, uint32_t input) {
  return task_fail(ctx, TN_ERR_STATE, "asks for the data of input %u while running", input);
}

static const void *host_get_extension(void *ctx, const char *name) {
  (void)ctx, (void)name;
  return NULL;
}

/* ---- outputs ---- */

static const tn_slot *slot_of(const tn_task *t, uint32_t output) {
  return &t->frame->now->plan->slots[t->step->node->node.outputs[output]];
}

/* What every change of an output needs. what: the request, for messages. */
tn_status tn_task_check_output(tn_task *t, uint32_t output, const char *what) {
  if (output >= t->step->node->node.n_outputs)
    return task_fail(t, TN_ERR_INVALID, "%s of output %u, but there are %u", what, output,
                     t->step->node->node.n_outputs);
  if (t->step->node->node.outputs[output] < 0)
    return task_fail(t, TN_ERR_INVALID, "%s of output %u, which nobody asked for", what, output);
  return TN_OK;
}

tn_status tn_task_check_alone(tn_task *t, const char *what) {
  if (t->alone) return TN_OK;
  return task_fail(t, TN_ERR_INVALID, "%s while several work items may run; plan one item", what);
}

/* Planned dims that are known bind the kernel. */
static bool agrees(const tn_tensor *planned, int32_t rank, const int64_t *shape) {
  if (planned->rank == TN_RANK_UNKNOWN) return true;
  if (planned->rank != rank) return false;
  for (int32_t k = 0; k < rank; k++)
    if (planned->shape[k] != TN_DIM_UNKNOWN && planned->shape[k] != shape[k]) return false;
  return true;
}

static tn_status resize(tn_task *t, uint32_t output, const tn_tensor *type) {
  char planned[TN_TENSOR_TEXT], wanted[TN_TENSOR_TEXT];
  const tn_slot *slot = slot_of(t, output);
  if (slot->type->kind != TN_KIND_TENSOR)
    return task_fail(t, TN_ERR_INVALID, "output %u is no tensor", output);
  if (!agrees(slot->type, type->rank, type->shape))
    return task_fail(t, TN_ERR_SHAPE, "output %u becomes %s, planned is %s", output,
                     tn_tensor_text(type, wanted, sizeof wanted),
                     tn_tensor_text(slot->type, planned, sizeof planned));
  return tn_task_is_dynamic(t, output) ? tn_task_resize(t, output, type) : TN_OK;
}

static tn_status host_output_resize(void *ctx, uint32_t output, int32_t rank,
                                    const int64_t *shape) {
  tn_task *t = ctx;
  tn_status status = tn_task_check_output(t, output, "output_resize");
  if (!status) status = tn_task_check_alone(t, "output_resize");
  if (status) return status;
  if (rank < 0 || rank > TN_MAX_RANK || (rank && !shape))
    return task_fail(t, TN_ERR_SHAPE, "output_resize of output %u to rank %d", output, rank);
  tn_tensor type = *slot_of(t, output)->type;
  if (type.dtype == TN_NONE) type.dtype = t->call.outputs[output]->dtype;
  type.rank = rank;
  for (int32_t k = 0; k < rank; k++) {
    if (shape[k] < 0)
      return task_fail(t, TN_ERR_SHAPE, "output_resize of output %u: dim %d is %lld", output, k,
                       (long long)shape[k]);
    type.shape[k] = shape[k];
  }
  return resize(t, output, &type);
}

static tn_status set_planned(tn_task *t, uint32_t output, const tn_tensor *value) {
  tn_tensor *to = t->call.outputs[output];
  int64_t bytes = tn_storage_bytes(to);
  if (to->data == value->data || bytes <= 0) return TN_OK;
  if (!value->data) return task_fail(t, TN_ERR_INVALID, "output_set of output %u: no data", output);
  memmove(to->data, value->data, (size_t)bytes);
  return TN_OK;
}

static tn_status host_output_set(void *ctx, uint32_t output, const tn_tensor *value) {
  tn_task *t = ctx;
  tn_status status = tn_task_check_output(t, output, "output_set");
  if (!status) status = tn_task_check_alone(t, "output_set");
  if (!status && !value)
    status = task_fail(t, TN_ERR_INVALID, "output_set of output %u to nothing", output);
  if (status) return status;
  const tn_tensor *planned = slot_of(t, output)->type;
  char text[TN_TENSOR_TEXT], planned_text[TN_TENSOR_TEXT];
  bool typed = planned->dtype == TN_NONE || planned->dtype == value->dtype;
  if (!typed || planned->kind != value->kind ||
      (value->kind == TN_KIND_TENSOR &&
       (planned->layout != value->layout || !agrees(planned, value->rank, value->shape))))
    return task_fail(t, TN_ERR_SHAPE, "output %u becomes %s, planned is %s", output,
                     tn_tensor_text(value, text, sizeof text),
                     tn_tensor_text(planned, planned_text, sizeof planned_text));
  return tn_task_is_dynamic(t, output) ? tn_task_set(t, output, value)
                                       : set_planned(t, output, value);
}

/* ---- lists ---- */

static int64_t host_list_size(void *ctx, const tn_tensor *list) {
  (void)ctx;
  return tn_list_size(list);
}

static const tn_tensor *host_list_item(void *ctx, const tn_tensor *list, int64_t index) {
  (void)ctx;
  return tn_list_item(list, index);
}

/* ---- subgraphs ---- */

static tn_status host_subgraph_shape(void *ctx, int64_t graph, uint32_t *out_n_inputs,
                                     uint32_t *out_n_outputs) {
  return tn_subgraph_shape(ctx, graph, out_n_inputs, out_n_outputs);
}

static tn_status host_subgraph_infer(void *ctx, int64_t graph, uint32_t n_in,
                                     const tn_tensor *const *in, uint32_t n_out,
                                     tn_tensor *const *out) {
  tn_status status = tn_task_check_alone(ctx, "subgraph_infer");
  return status ? status : tn_subgraph_infer(ctx, graph, n_in, in, n_out, out);
}

static tn_status host_subgraph_run(void *ctx, int64_t graph, uint32_t n_in,
                                   const tn_tensor *const *in, uint32_t n_out,
                                   const tn_tensor **out) {
  tn_status status = tn_task_check_alone(ctx, "subgraph_run");
  return status ? status : tn_subgraph_run(ctx, graph, n_in, in, n_out, out);
}

static void host_value_release(void *ctx, const tn_tensor *value) {
  tn_value_pool_release(((tn_task *)ctx)->frame, value);
}

const tn_host tn_exec_host = {
    .head = TN_HEAD(tn_host),
    .graph = &tn_graph_api_table,
    .fail = task_fail,
    .log = host_log,
    .alloc = host_alloc,
    .free = host_free,
    .needs_data = host_needs_data,
    .fetch = host_fetch,
    .output_resize = host_output_resize,
    .string_set = tn_task_string_set,
    .list_size = host_list_size,
    .list_item = host_list_item,
    .list_append = tn_task_list_append,
    .subgraph_shape = host_subgraph_shape,
    .subgraph_infer = host_subgraph_infer,
    .subgraph_run = host_subgraph_run,
    .value_release = host_value_release,
    .output_set = host_output_set,
    .get_extension = host_get_extension,
    .list_append_map = tn_task_list_append_map,
};
