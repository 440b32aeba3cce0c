/* acme's dispatcher: reads byte code with bounds, for it may come from a file, and runs it. */
#include <string.h>

#include "acme.h"

typedef struct value {
  uint64_t elements;
  uint32_t kind;
  float *data; /* constants and what steps make: memory of the program */
} value;

typedef struct step {
  uint32_t op, a, b, y;
} step;

typedef struct entry {
  uint32_t n_inputs, n_outputs, n_values, n_steps;
  value *values;
  uint32_t *inputs, *outputs;
  step *steps;
} entry;

typedef struct program {
  uint32_t n_entries;
  entry *entries;
} program;

/* ---- reading ---- */

typedef struct reader {
  const tn_accelerator_call *call;
  const uint8_t *at, *end;
  int failed; /* no more bytes, or no memory */
} reader;

static uint64_t get(reader *r, int bytes) {
  uint64_t number = 0;
  if (r->failed || r->end - r->at < bytes) {
    r->failed = 1;
    return 0;
  }
  for (int k = 0; k < bytes; k++) number |= (uint64_t)r->at[k] << (8 * k);
  r->at += bytes;
  return number;
}

/* How many things of at least `least` bytes follow: no more than there are bytes for. */
static uint32_t get_count(reader *r, uint64_t least) {
  const uint64_t n = get(r, 4);
  if (n > (uint64_t)(r->end - r->at) / least) r->failed = 1;
  return r->failed ? 0 : (uint32_t)n;
}

static void *take(reader *r, uint64_t n, uint64_t size) {
  void *memory =
      r->failed || n > UINT64_MAX / 2 / size ? NULL : r->call->host->alloc(r->call->ctx, n * size);
  if (!memory) r->failed = 1;
  return memory;
}

static void read_value(reader *r, value *v) {
  v->elements = get(r, 8);
  v->kind = (uint32_t)get(r, 4);
  if (v->kind > ACME_MADE) r->failed = 1;
  if (v->kind == ACME_INPUT) return;
  if (v->kind == ACME_CONST && v->elements > (uint64_t)(r->end - r->at) / sizeof(float))
    r->failed = 1;
  v->data = take(r, v->elements, sizeof(float));
  if (r->failed || v->kind == ACME_MADE) return;
  memcpy(v->data, r->at, (size_t)v->elements * sizeof(float));
  r->at += v->elements * sizeof(float);
}

static uint32_t get_index(reader *r, uint32_t n) {
  const uint64_t index = get(r, 4);
  if (index >= n) r->failed = 1;
  return r->failed ? 0 : (uint32_t)index;
}

static void read_step(reader *r, const entry *e, step *s) {
  s->op = get_index(r, ACME_N_OPS);
  s->a = get_index(r, e->n_values);
  s->b = get_index(r, e->n_values);
  s->y = get_index(r, e->n_values);
  if (r->failed) return;
  const value *y = &e->values[s->y], *b = &e->values[s->b];
  if (y->kind != ACME_MADE || e->values[s->a].elements != y->elements ||
      (b->elements != y->elements && b->elements != 1))
    r->failed = 1;
}

/* The host has looked at the types of ports; that they fit the code is for us to say. */
static void check_ports(reader *r, const entry *e, const tn_entry *ports) {
  if (ports->n_inputs != e->n_inputs || ports->n_outputs != e->n_outputs) r->failed = 1;
  for (uint32_t k = 0; !r->failed && k < e->n_inputs + e->n_outputs; k++) {
    const int is_input = k < e->n_inputs;
    const tn_tensor *t = is_input ? ports->inputs[k] : ports->outputs[k - e->n_inputs];
    const value *v = &e->values[is_input ? e->inputs[k] : e->outputs[k - e->n_inputs]];
    uint64_t n = 1;
    for (int32_t d = 0; d < t->rank; d++) n *= (uint64_t)t->shape[d];
    if (t->dtype != TN_F32 || n != v->elements || (is_input != (v->kind == ACME_INPUT)))
      r->failed = 1;
  }
}

static void read_entry(reader *r, entry *e, const tn_entry *ports) {
  e->n_inputs = get_count(r, 4);
  e->n_outputs = get_count(r, 4);
  e->n_values = get_count(r, 12);
  e->n_steps = get_count(r, 16);
  e->values = take(r, e->n_values, sizeof *e->values);
  for (uint32_t k = 0; !r->failed && k < e->n_values; k++) read_value(r, &e->values[k]);
  e->inputs = take(r, e->n_inputs, sizeof *e->inputs);
  for (uint32_t k = 0; !r->failed && k < e->n_inputs; k++) e->inputs[k] = get_index(r, e->n_values);
  e->outputs = take(r, e->n_outputs, sizeof *e->outputs);
  for (uint32_t k = 0; !r->failed && k < e->n_outputs; k++)
    e->outputs[k] = get_index(r, e->n_values);
  e->steps = take(r, e->n_steps, sizeof *e->steps);
  for (uint32_t k = 0; !r->failed && k < e->n_steps; k++) read_step(r, e, &e->steps[k]);
  if (!r->failed) check_ports(r, e, ports);
}

static void free_entry(const tn_accelerator_call *call, entry *e) {
  for (uint32_t k = 0; e->values && k < e->n_values; k++)
    call->host->free(call->ctx, e->values[k].kind == ACME_INPUT ? NULL : e->values[k].data);
  call->host->free(call->ctx, e->values);
  call->host->free(call->ctx, e->inputs);
  call->host->free(call->ctx, e->outputs);
  call->host->free(call->ctx, e->steps);
}

static void unload(const tn_accelerator_call *call, void *loaded) {
  program *p = loaded;
  for (uint32_t k = 0; p->entries && k < p->n_entries; k++) free_entry(call, &p->entries[k]);
  call->host->free(call->ctx, p->entries);
  call->host->free(call->ctx, p);
}

static tn_status load(const tn_accelerator_call *call, void *device, const tn_module *module,
                      void **out_program) {
  const uint8_t *data = module->data;
  reader r = {call, data, data + module->size, 0};
  (void)device;
  program *p = call->host->alloc(call->ctx, sizeof *p);
  if (!p) return TN_ERR_MEMORY;
  if (get(&r, 4) != ACME_MAGIC || get_count(&r, 16) != module->n_entries) r.failed = 1;
  p->n_entries = module->n_entries;
  p->entries = take(&r, p->n_entries, sizeof *p->entries);
  for (uint32_t k = 0; !r.failed && k < p->n_entries; k++)
    read_entry(&r, &p->entries[k], module->entries[k]);
  if (!r.failed) {
    *out_program = p;
    return TN_OK;
  }
  unload(call, p);
  return call->host->fail(call->ctx, TN_ERR_INVALID, "the byte code is broken");
}

/* ---- running ---- */

static void run_step(const entry *e, const step *s) {
  const float *a = e->values[s->a].data, *b = e->values[s->b].data;
  float *y = e->values[s->y].data;
  const uint64_t n = e->values[s->y].elements, by = e->values[s->b].elements == 1 ? 0 : 1;
  for (uint64_t i = 0; i < n; i++) {
    const float x = a[i], z = b[i * by];
    y[i] = s->op == ACME_ADD ? x + z : s->op == ACME_SUB ? x - z : x * z;
  }
}

static tn_status run(const tn_accelerator_call *call, void *loaded, uint32_t index,
                     const tn_tensor *const *inputs, tn_tensor *const *outputs) {
  const entry *e = &((program *)loaded)->entries[index];
  (void)call;
  for (uint32_t k = 0; k < e->n_inputs; k++) e->values[e->inputs[k]].data = inputs[k]->data;
  for (uint32_t k = 0; k < e->n_steps; k++) run_step(e, &e->steps[k]);
  for (uint32_t k = 0; k < e->n_outputs; k++) {
    const value *v = &e->values[e->outputs[k]];
    if (v->elements) memcpy(outputs[k]->data, v->data, (size_t)v->elements * sizeof(float));
  }
  return TN_OK;
}

/* ---- the device ---- */

/* Opened once for each model that uses it. There is nothing to open here; where a library or the
 * hardware is missing, this answers TN_ERR_NOT_FOUND and says which. */
static tn_status open(const tn_accelerator_call *call, void **out_device) {
  (void)call;
  *out_device = NULL;
  return TN_OK;
}

static void close(const tn_accelerator_call *call, void *device) { (void)call, (void)device; }

static const char *stamp(const tn_accelerator_call *call, void *device) {
  (void)call, (void)device;
  return ACME_STAMP;
}

const tn_dispatcher acme_dispatcher = {.head = TN_HEAD(tn_dispatcher),
                                       .name = "acme",
                                       .vendor = "Acme",
                                       .format = ACME_FORMAT,
                                       .open = open,
                                       .close = close,
                                       .load = load,
                                       .unload = unload,
                                       .run = run,
                                       .stamp = stamp};
