/* Graphs of TFLite's operators, as guests are shown them. */
#include <stdio.h>
#include <string.h>

#include "litert.h"

/* ---- memory ---- */

typedef struct lrt_chunk {
  struct lrt_chunk *next;
  uint64_t bytes; /* keeps what follows aligned */
} lrt_chunk;

void *lrt_alloc(lrt_memory *m, uint64_t bytes) {
  lrt_chunk *c = bytes > UINT64_MAX - sizeof *c
                     ? NULL
                     : (lrt_chunk *)m->call->host->alloc(m->call->ctx, bytes + sizeof *c);
  if (!c) {
    m->is_out = 1;
    return NULL;
  }
  memset(c, 0, (size_t)(bytes + sizeof *c));
  c->next = m->chunks;
  m->chunks = c;
  return c + 1;
}

void lrt_memory_free(lrt_memory *m) {
  while (m->chunks) {
    lrt_chunk *c = m->chunks;
    m->chunks = c->next;
    m->call->host->free(m->call->ctx, c);
  }
}

/* ---- types ---- */

int32_t lrt_element(uint32_t dtype) {
  static const uint8_t numbers[] = {
      [TN_F32] = 1,  [TN_I32] = 2,  [TN_U8] = 3,   [TN_I64] = 4,  [TN_BOOL] = 6,
      [TN_I16] = 7,  [TN_I8] = 9,   [TN_F16] = 10, [TN_F64] = 11, [TN_U64] = 13,
      [TN_U32] = 16, [TN_U16] = 17, [TN_BF16] = 19};
  return dtype < sizeof numbers ? numbers[dtype] : 0;
}

static guest_type type_of(uint32_t dtype, int32_t rank, const int64_t *shape) {
  guest_type type = {.element = lrt_element(dtype), .layout.rank = (uint32_t)rank & 0x7F};
  for (int32_t k = 0; k < rank && k < GUEST_MAX_RANK; k++) type.layout.dims[k] = (int32_t)shape[k];
  return type;
}

guest_type lrt_type(const tn_tensor *t) { return type_of(t->dtype, t->rank, t->shape); }

/* ---- building ---- */

tn_status lrt_graph_open(lrt_graph *g, lrt_memory *memory, size_t max_ports) {
  *g = (lrt_graph){.memory = memory, .max_ports = max_ports};
  g->inputs = (lrt_tensor **)lrt_alloc(memory, (max_ports + 1) * sizeof *g->inputs);
  g->outputs = (lrt_tensor **)lrt_alloc(memory, (max_ports + 1) * sizeof *g->outputs);
  return g->inputs && g->outputs ? TN_OK : TN_ERR_MEMORY;
}

lrt_tensor *lrt_tensor_new(lrt_graph *g, uint32_t dtype, int32_t rank, const int64_t *shape,
                           const void *data) {
  lrt_tensor *t = (lrt_tensor *)lrt_alloc(g->memory, sizeof *t);
  if (!t) return NULL;
  int64_t n = 1;
  for (int32_t k = 0; k < rank; k++) n *= shape[k];
  t->type = type_of(dtype, rank, shape);
  t->index = (uint32_t)g->n_tensors++;
  t->data = data;
  t->bytes = data ? (uint64_t)tn_dtype_bytes(dtype, n) : 0;
  snprintf(t->name, sizeof t->name, "t%u", t->index);
  if (g->last_tensor)
    g->last_tensor->next = t;
  else
    g->first_tensor = t;
  return g->last_tensor = t;
}

lrt_op *lrt_op_new(lrt_graph *g, int32_t code, int32_t node, lrt_tensor *const *inputs,
                   size_t n_inputs, lrt_tensor *const *outputs, size_t n_outputs) {
  lrt_op *op = (lrt_op *)lrt_alloc(g->memory, sizeof *op);
  lrt_tensor **ports =
      (lrt_tensor **)lrt_alloc(g->memory, (n_inputs + n_outputs + 1) * sizeof *ports);
  if (!op || !ports) return NULL;
  for (size_t k = 0; k < n_inputs + n_outputs; k++)
    if (!(ports[k] = k < n_inputs ? inputs[k] : outputs[k - n_inputs])) return NULL;
  *op = (lrt_op){.code = code,
                 .node = node,
                 .inputs = ports,
                 .outputs = ports + n_inputs,
                 .n_inputs = n_inputs,
                 .n_outputs = n_outputs};
  for (size_t k = 0; k < n_outputs; k++) {
    outputs[k]->maker = op;
    outputs[k]->output = k;
  }
  for (size_t k = 0; k < n_inputs; k++) inputs[k]->n_uses++;
  g->n_ops++;
  if (g->last_op)
    g->last_op->next = op;
  else
    g->first_op = op;
  return g->last_op = op;
}

tn_status lrt_graph_finish(lrt_graph *g) {
  size_t n = 0;
  g->ops = (lrt_op **)lrt_alloc(g->memory, (g->n_ops + 1) * sizeof *g->ops);
  if (!g->ops) return TN_ERR_MEMORY;
  for (lrt_tensor *t = g->first_tensor; t; t = t->next) {
    t->uses = (struct lrt_use *)lrt_alloc(g->memory, (t->n_uses + 1) * sizeof *t->uses);
    if (!t->uses) return TN_ERR_MEMORY;
    t->n_uses = 0;
  }
  for (lrt_op *op = g->first_op; op; op = op->next) {
    g->ops[n++] = op;
    for (size_t k = 0; k < op->n_inputs; k++) {
      lrt_tensor *t = op->inputs[k];
      t->uses[t->n_uses++] = (struct lrt_use){op, k};
    }
  }
  return TN_OK;
}
