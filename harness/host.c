/* The services that a call gets while the harness runs it: the reference's and the kernels'
 * alike.
 *
 * Requests are held to the contract: what a kernel may not ask for is an error that fails its
 * test. */
#include <string.h>

#include "harness/harness.h"

/* What a service is given as ctx cannot be touched any more when the callback has returned. */
static check_context *context_of(void *ctx) { return *(check_context **)ctx; }

static void say(check_context *c, const char *format, va_list args) {
  pthread_mutex_lock(&c->lock);
  if (!c->said[0]) vsnprintf(c->said, sizeof c->said, format, args);
  pthread_mutex_unlock(&c->lock);
}

static __attribute__((format(printf, 3, 4))) tn_status host_fail(void *ctx, tn_status code,
                                                                 const char *format, ...) {
  va_list args;
  if (!ctx || !format) return code;
  va_start(args, format);
  say(context_of(ctx), format, args);
  va_end(args);
  return code;
}

static __attribute__((format(printf, 3, 4))) tn_status refuse(check_context *c, tn_status code,
                                                              const char *format, ...) {
  va_list args;
  va_start(args, format);
  say(c, format, args);
  va_end(args);
  return code;
}

/* Tests are silent. */
static __attribute__((format(printf, 3, 4))) void host_log(void *ctx, uint32_t level,
                                                           const char *format, ...) {
  (void)ctx, (void)level, (void)format;
}

static void count(check_context *c, int64_t change) {
  pthread_mutex_lock(&c->lock);
  c->n_allocated += change;
  pthread_mutex_unlock(&c->lock);
}

static bool is_to_fail(check_context *c) {
  pthread_mutex_lock(&c->lock);
  const bool fails = ++c->n_asked == c->env->fail_alloc;
  pthread_mutex_unlock(&c->lock);
  return fails;
}

static void *host_alloc(void *ctx, uint64_t bytes) {
  check_context *c = context_of(ctx);
  void *memory = is_to_fail(c) ? NULL : tn_alloc_sized(tn_default_allocator(), bytes);
  if (memory) count(c, 1);
  return memory;
}

static void host_free(void *ctx, void *memory) {
  if (memory) count(context_of(ctx), -1);
  tn_free_sized(tn_default_allocator(), memory);
}

static tn_status host_needs_data(void *ctx, uint32_t input) {
  return refuse(context_of(ctx), TN_ERR_STATE, "asks for the data of input %u while running",
                input);
}

/* ---- outputs --------------------------------------------------------------------------------- */

static tn_status check_output(check_context *c, uint32_t output, const char *what) {
  if (!c->running) return refuse(c, TN_ERR_STATE, "%s is there only while running", what);
  if (output >= c->results->n || !c->problem->output_names[output])
    return refuse(c, TN_ERR_INVALID, "%s of output %u, which is not there", what, output);
  return TN_OK;
}

static void make_room(check_context *c, uint32_t output) {
  check_results *r = c->results;
  tn_tensor *t = &r->values[output];
  const uint64_t bytes = (uint64_t)tn_storage_bytes(t);
  check_buffer *old = r->buffers[output]; /* which nobody may use any more */
  r->buffers[output] = check_buffer_new(c->env, bytes, t->dtype == TN_STRING ? 8 : 1, c->at_end,
                                        c->problem->output_names[output]);
  if (old) check_buffer_take(old);
  check_buffer_free(c->env, old);
  r->owns[output] = true;
  t->data = r->buffers[output]->data;
  memset(t->data, c->pattern, bytes);
  static const tn_str unwritten = {"(not written)", 13};
  for (int64_t k = 0; t->dtype == TN_STRING && k < tn_tensor_elements(t); k++)
    ((tn_str *)t->data)[k] = unwritten;
}

/* The callback sees what became of its output. */
static void show(check_context *c, uint32_t output) {
  if (c->shown) c->shown->outputs[output] = c->results->values[output];
}

static tn_status resize(check_context *c, uint32_t output, int32_t rank, const int64_t *shape) {
  tn_status status = check_output(c, output, "output_resize");
  if (status) return status;
  tn_tensor *t = &c->results->values[output];
  const tn_tensor *planned = &c->problem->outputs[output];
  if (rank < 0 || rank > TN_MAX_RANK || (rank && !shape))
    return refuse(c, TN_ERR_SHAPE, "resizes output %u to rank %d", output, rank);
  bool agrees = planned->rank == TN_RANK_UNKNOWN || planned->rank == rank;
  for (int32_t d = 0; d < rank; d++) {
    if (shape[d] < 0)
      return refuse(c, TN_ERR_SHAPE, "resizes dim %d of output %u to %lld", d, output,
                    (long long)shape[d]);
    if (planned->rank == rank && planned->shape[d] >= 0 && planned->shape[d] != shape[d])
      agrees = false;
  }
  if (!agrees)
    return refuse(c, TN_ERR_SHAPE, "resizes output %u to what inference excludes", output);
  tn_tensor resized = *t;
  resized.rank = rank;
  for (int32_t d = 0; d < rank; d++) resized.shape[d] = shape[d];
  const int64_t bytes = tn_storage_bytes(&resized);
  if (bytes < 0) /* which overflows, too */
    return refuse(c, TN_ERR_OVERFLOW, "resizes output %u to too many bytes", output);
  if (bytes > CHECK_MAX_BYTES)
    return refuse(c, TN_ERR_MEMORY, "resizes output %u to %lld bytes, a test has no more than %lld",
                  output, (long long)bytes, (long long)CHECK_MAX_BYTES);
  *t = resized;
  make_room(c, output);
  show(c, output);
  return TN_OK;
}

static tn_status host_output_resize(void *ctx, uint32_t output, int32_t rank,
                                    const int64_t *shape) {
  return resize(context_of(ctx), output, rank, shape);
}

static tn_status set_string(check_context *c, uint32_t output, int64_t index, const char *data,
                            int64_t size) {
  tn_status status = check_output(c, output, "string_set");
  if (status) return status;
  const tn_tensor *t = &c->results->values[output];
  const bool there =
      t->dtype == TN_STRING && t->data && index >= 0 && index < tn_tensor_elements(t);
  if (!there || size < 0 || (size && !data))
    return refuse(c, TN_ERR_INVALID, "string_set of element %lld of output %u", (long long)index,
                  output);
  pthread_mutex_lock(&c->lock);
  const char *copy = tn_arena_strn(&c->results->strings, data, size);
  if (copy) ((tn_str *)t->data)[index] = (tn_str){copy, size};
  pthread_mutex_unlock(&c->lock);
  if (copy) return TN_OK;
  return refuse(c, TN_ERR_MEMORY, "string_set of %lld bytes", (long long)size);
}

static tn_status host_string_set(void *ctx, uint32_t output, int64_t index, const char *data,
                                 int64_t size) {
  return set_string(context_of(ctx), output, index, data, size);
}

static tn_status append(check_context *c, uint32_t output, const tn_tensor *item) {
  tn_tensor *list = c->results->lists[output];
  tn_status status = list ? tn_list_append(list, item) : TN_ERR_INVALID;
  if (list) c->results->values[output] = *list;
  show(c, output);
  return status ? refuse(c, status, "list_append to output %u fails", output) : TN_OK;
}

static tn_status host_list_append(void *ctx, uint32_t output, const tn_tensor *item) {
  check_context *c = context_of(ctx);
  tn_status status = check_output(c, output, "list_append");
  return status ? status : append(c, output, item);
}

static tn_status host_list_append_map(void *ctx, uint32_t output, const tn_tensor *keys,
                                      const tn_tensor *values) {
  check_context *c = context_of(ctx);
  tn_tensor *map = NULL;
  tn_status status = check_output(c, output, "list_append_map");
  if (status) return status;
  if (!keys || !values || keys->rank != 1 || values->rank != 1 ||
      keys->shape[0] != values->shape[0])
    return refuse(c, TN_ERR_INVALID, "list_append_map of keys and values that do not fit");
  status = tn_list_create(c->env->runtime, TN_KIND_MAP, values->dtype, &map);
  if (!status) status = tn_list_append(map, keys);
  if (!status) status = tn_list_append(map, values);
  if (!status) status = append(c, output, map);
  tn_list_destroy(map);
  return status;
}

static tn_status set_tensor(check_context *c, uint32_t output, const tn_tensor *value) {
  tn_tensor *t = &c->results->values[output];
  if (value->kind != TN_KIND_TENSOR || t->dtype != value->dtype)
    return refuse(c, TN_ERR_SHAPE, "output_set of output %u to another type", output);
  tn_status status = resize(c, output, value->rank, value->shape);
  if (!status && tn_tensor_elements(t) && !value->data)
    status = refuse(c, TN_ERR_INVALID, "output_set of output %u: no data", output);
  if (status) return status;
  for (int64_t k = 0; t->dtype == TN_STRING && k < tn_tensor_elements(t); k++) {
    const tn_str s = ((const tn_str *)value->data)[k];
    (void)set_string(c, output, k, s.data, s.size);
  }
  if (t->dtype != TN_STRING && tn_storage_bytes(t) > 0)
    memcpy(t->data, value->data, (size_t)tn_storage_bytes(t));
  return TN_OK;
}

static tn_status host_output_set(void *ctx, uint32_t output, const tn_tensor *value) {
  check_context *c = context_of(ctx);
  tn_status status = check_output(c, output, "output_set");
  if (!status && !value)
    status = refuse(c, TN_ERR_INVALID, "output_set of output %u to nothing", output);
  if (status) return status;
  if (c->problem->outputs[output].kind == TN_KIND_TENSOR) return set_tensor(c, output, value);
  for (int64_t k = 0; !status && k < tn_list_size(value); k++)
    status = append(c, output, tn_list_item(value, k));
  return status;
}

/* ---- lists, subgraphs ------------------------------------------------------------------------ */

static int64_t host_list_size(void *ctx, const tn_tensor *list) {
  (void)ctx;
  return tn_list_size(list);
}

static const tn_tensor *host_list_item(void *ctx, const tn_tensor *list, int64_t index) {
  (void)ctx;
  return tn_list_item(list, index);
}

static tn_status host_subgraph_shape(void *ctx, int64_t graph, uint32_t *out_n_inputs,
                                     uint32_t *out_n_outputs) {
  (void)graph, (void)out_n_inputs, (void)out_n_outputs;
  return refuse(context_of(ctx), TN_ERR_NOT_FOUND, "there are no subgraphs in a test case");
}

static tn_status host_subgraph_infer(void *ctx, int64_t graph, uint32_t n_in,
                                     const tn_tensor *const *in, uint32_t n_out,
                                     tn_tensor *const *out) {
  (void)n_in, (void)in, (void)n_out, (void)out;
  return host_subgraph_shape(ctx, graph, NULL, NULL);
}

static tn_status host_subgraph_run(void *ctx, int64_t graph, uint32_t n_in,
                                   const tn_tensor *const *in, uint32_t n_out,
                                   const tn_tensor **out) {
  (void)n_in, (void)in, (void)n_out, (void)out;
  return host_subgraph_shape(ctx, graph, NULL, NULL);
}

static void host_value_release(void *ctx, const tn_tensor *value) { (void)ctx, (void)value; }

static tn_status host_fetch(void *ctx, const tn_graph *graph, int32_t value) {
  (void)ctx, (void)graph, (void)value;
  return TN_OK;
}

static const void *host_get_extension(void *ctx, const char *name) {
  (void)ctx, (void)name;
  return NULL;
}

const tn_host check_host = {
    .head = TN_HEAD(tn_host),
    .graph = &tn_graph_api_table,
    .fail = host_fail,
    .log = host_log,
    .alloc = host_alloc,
    .free = host_free,
    .needs_data = host_needs_data,
    .output_resize = host_output_resize,
    .string_set = host_string_set,
    .list_size = host_list_size,
    .list_item = host_list_item,
    .list_append = host_list_append,
    .subgraph_shape = host_subgraph_shape,
    .subgraph_infer = host_subgraph_infer,
    .subgraph_run = host_subgraph_run,
    .value_release = host_value_release,
    .output_set = host_output_set,
    .fetch = host_fetch,
    .get_extension = host_get_extension,
    .list_append_map = host_list_append_map,
};

/* ---- contexts and results -------------------------------------------------------------------- */

void check_context_open(check_context *c, check_env *env, const check_problem *p) {
  memset(c, 0, sizeof *c);
  c->env = env;
  c->problem = p;
  c->at_end = true;
  c->pattern = 0xFF;
  if (pthread_mutex_init(&c->lock, NULL)) check_die("no mutex");
}

void check_context_close(check_context *c) { pthread_mutex_destroy(&c->lock); }

void check_results_open(check_context *c, check_results *r) {
  const check_problem *p = c->problem;
  memset(r, 0, sizeof *r);
  tn_arena_init(&r->strings, tn_default_allocator());
  c->results = r;
  r->n = p->n_outputs;
  for (uint32_t k = 0; k < p->n_outputs; k++) {
    if (!p->output_names[k]) continue;
    r->values[k] = p->outputs[k];
    if (c->form) r->values[k].layout = c->form->out[k];
    if (p->outputs[k].kind != TN_KIND_TENSOR) {
      if (tn_list_create(c->env->runtime, p->outputs[k].kind, p->outputs[k].dtype, &r->lists[k]))
        check_die("no list");
      r->values[k] = *r->lists[k];
    } else if (tn_storage_bytes(&r->values[k]) >= 0) {
      make_room(c, k);
    }
  }
}

void check_results_close(check_env *env, check_results *r) {
  for (uint32_t k = 0; k < r->n; k++) {
    if (r->owns[k]) check_buffer_free(env, r->buffers[k]);
    tn_list_destroy(r->lists[k]);
  }
  tn_arena_clear(&r->strings);
  memset(r, 0, sizeof *r);
}
