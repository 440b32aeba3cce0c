/* Running a plan file: steps in order, on the calling thread. */
#include <string.h>

#include "planfile/planfile.h"
#include "registry/builtin.h"
#include "tenon/kit/tensor.h"

/* ---- what kernels may ask ---- */

static tn_status host_fail(void *ctx, tn_status code, const char *format, ...) {
  (void)ctx;
  (void)format;
  return code;
}

static void host_log(void *ctx, uint32_t level, const char *format, ...) {
  (void)ctx;
  (void)level;
  (void)format;
}

static void *host_alloc(void *ctx, uint64_t bytes) {
  (void)ctx;
  return tn_alloc_sized(tn_default_allocator(), bytes);
}

static void host_free(void *ctx, void *memory) {
  (void)ctx;
  tn_free_sized(tn_default_allocator(), memory);
}

static tn_status host_fetch(void *ctx, const tn_graph *graph, int32_t value) {
  (void)ctx;
  (void)graph;
  (void)value;
  return TN_OK;
}

static const void *host_get_extension(void *ctx, const char *name) {
  (void)ctx;
  (void)name;
  return NULL;
}

const tn_host tn_plan_file_host = {.head = TN_HEAD(tn_host),
                                   .fail = host_fail,
                                   .log = host_log,
                                   .alloc = host_alloc,
                                   .free = host_free,
                                   .fetch = host_fetch,
                                   .get_extension = host_get_extension};

/* ---- creation and destruction ---- */

tn_status tn_plan_file_open(const void *data, uint64_t size,
                            const tn_plugin *(*query)(uint32_t, uint32_t), tn_plan_why *why,
                            tn_plan_file **out_plan) {
  if (why) why->text[0] = 0;
  if (!out_plan) return TN_ERR_INVALID;
  *out_plan = NULL;
  if (!data || (uintptr_t)data % TN_PLANFILE_ALIGN)
    return tn_plan_why_set(why, TN_ERR_INVALID, "a plan file lies at a multiple of 64", NULL);
  const tn_plugin *parts = (query ? query : tn_builtin_query)(TN_ABI_MAJOR, TN_ABI_MINOR);
  tn_plan_file *p = tn_alloc(tn_default_allocator(), sizeof *p);
  if (!p || !parts) {
    tn_free(tn_default_allocator(), p, sizeof *p);
    return tn_plan_why_set(why, TN_ERR_MEMORY, "no memory, or no parts", NULL);
  }
  tn_arena_init(&p->memory, tn_default_allocator());
  p->data = data;
  p->size = size;
  const tn_status status = tn_plan_file_read(p, parts, why);
  if (status)
    tn_plan_file_close(p);
  else
    *out_plan = p;
  return status;
}

/* ---- inputs and outputs ---- */

int32_t tn_plan_file_n_inputs(const tn_plan_file *p) { return p ? p->n_inputs : 0; }
int32_t tn_plan_file_n_outputs(const tn_plan_file *p) { return p ? p->n_outputs : 0; }

static bool has_input(const tn_plan_file *p, int32_t k) { return p && k >= 0 && k < p->n_inputs; }
static bool has_output(const tn_plan_file *p, int32_t k) { return p && k >= 0 && k < p->n_outputs; }

const char *tn_plan_file_input_name(const tn_plan_file *p, int32_t k) {
  return has_input(p, k) ? p->inputs[k].name : NULL;
}

const char *tn_plan_file_output_name(const tn_plan_file *p, int32_t k) {
  return has_output(p, k) ? p->outputs[k].name : NULL;
}

const tn_tensor *tn_plan_file_input(const tn_plan_file *p, int32_t k) {
  return has_input(p, k) ? &p->values[p->inputs[k].slot].tensor : NULL;
}

const tn_tensor *tn_plan_file_output(const tn_plan_file *p, int32_t k) {
  return has_output(p, k) ? &p->values[p->outputs[k].slot].tensor : NULL;
}

tn_status tn_plan_file_set_input(tn_plan_file *p, int32_t k, const void *elements) {
  if (!has_input(p, k) || !elements) return TN_ERR_INVALID;
  for (int32_t i = 0; i < p->n_values; i++)
    if (p->values[i].place == TN_IN_INPUT && p->values[i].index == k)
      p->values[i].tensor.data = (uint8_t *)(uintptr_t)elements + p->values[i].offset;
  return TN_OK;
}

/* ---- running ---- */

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/* Items [begin, end) of a step, then the elements that they have written, by its followers. */
static tn_status run_range(tn_file_step *s, uint32_t stage, int64_t begin, int64_t end) {
  tn_status status = s->kernel->run(&s->call, stage, begin, end, 0);
  if (!s->n_followers || status) return status;
  const int64_t n = tn_storage_elements(s->call.outputs[0]), per_item = s->elements_per_item;
  const int64_t first = begin > n / per_item ? n : begin * per_item;
  const int64_t last = end > n / per_item ? n : end * per_item;
  for (uint32_t k = 1; k <= s->n_followers && first < last && !status; k++)
    status = s[k].kernel->run(&s[k].call, 0, first, last, 0);
  return status;
}

static tn_status run_step(tn_file_step *s) {
  tn_status status = TN_OK;
  for (uint32_t k = 0; k < s->n_stages && !status; k++) {
    const int64_t chunk = s->n_followers ? s->chunk[k] : s->items[k];
    for (int64_t at = 0; at < s->items[k] && !status; at += least(chunk, s->items[k] - at))
      status = run_range(s, k, at, at + least(chunk, s->items[k] - at));
  }
  return status;
}

tn_status tn_plan_file_run(tn_plan_file *p) {
  if (!p) return TN_ERR_INVALID;
  tn_status status = TN_OK;
  for (int32_t k = 0; k < p->n_inputs; k++)
    if (!p->values[p->inputs[k].slot].tensor.data) return TN_ERR_STATE;
  for (int32_t k = 0; k < p->n_steps && !status; k += 1 + (int32_t)p->steps[k].n_followers)
    status = run_step(&p->steps[k]);
  return status;
}
