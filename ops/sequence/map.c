/* SequenceMap: a subgraph run once per item. */
#include "sequence.h"

typedef struct mapping {
  const tn_call *call;
  int64_t body;
  uint32_t n_in, n_out;        /* of the body, without what it captures */
  const tn_tensor **in, **out; /* of one run */
  tn_tensor *types, **type_of; /* n_in + n_out types, while they are inferred */
} mapping;

static tn_status mapping_open(const tn_call *call, mapping *m) {
  *m = (mapping){.call = call, .body = ((const tn_sequence_map_attrs *)call->attrs)->body};
  tn_status s = call->host->subgraph_shape(call->ctx, m->body, &m->n_in, &m->n_out);
  if (s) return s;
  if (m->n_in < 1 || m->n_in > call->n_inputs || m->n_out < call->n_outputs)
    return call->host->fail(call->ctx, TN_ERR_INVALID,
                            "the body has %u inputs and %u outputs, the node %u and %u", m->n_in,
                            m->n_out, call->n_inputs, call->n_outputs);
  for (uint32_t k = 0; k < m->n_in; k++)
    if (!call->inputs[k])
      return call->host->fail(call->ctx, TN_ERR_INVALID, "input %u is missing", (unsigned)k);
  m->in = call->host->alloc(call->ctx, (uint64_t)m->n_in * sizeof *m->in);
  m->out = call->host->alloc(call->ctx, ((uint64_t)m->n_out + 1) * sizeof *m->out);
  m->types = call->host->alloc(call->ctx, ((uint64_t)m->n_in + m->n_out) * sizeof *m->types);
  m->type_of = call->host->alloc(call->ctx, ((uint64_t)m->n_in + m->n_out) * sizeof *m->type_of);
  return m->in && m->out && m->types && m->type_of ? TN_OK : TN_ERR_MEMORY;
}

static void mapping_close(const mapping *m) {
  const tn_call *call = m->call;
  call->host->free(call->ctx, (void *)m->in);
  call->host->free(call->ctx, (void *)m->out);
  call->host->free(call->ctx, m->types);
  call->host->free(call->ctx, (void *)m->type_of);
}

static bool is_mapped(const mapping *m, uint32_t k) {
  return k == 0 || m->call->inputs[k]->kind == TN_KIND_SEQUENCE;
}

static tn_status infer_items(const mapping *m) {
  const tn_call *call = m->call;
  for (uint32_t k = 0; k < m->n_in + m->n_out; k++) {
    m->type_of[k] = &m->types[k];
    m->types[k] = tn_tensor_make(TN_NONE, TN_RANK_UNKNOWN, NULL, NULL);
  }
  for (uint32_t k = 0; k < m->n_in; k++) {
    m->in[k] = m->type_of[k];
    if (is_mapped(m, k))
      sequence_item_of(m->type_of[k], call->inputs[k]);
    else
      *m->type_of[k] = *call->inputs[k];
    m->type_of[k]->data = NULL;
  }
  tn_status s = call->host->subgraph_infer(call->ctx, m->body, m->n_in, m->in, m->n_out,
                                           m->type_of + m->n_in);
  for (uint32_t k = 0; k < call->n_outputs && !s; k++)
    if (call->outputs[k])
      sequence_list_of(call->outputs[k], TN_KIND_SEQUENCE, m->type_of[m->n_in + k]);
  return s;
}

tn_status sequence_map_infer(const tn_call *call) {
  mapping m;
  tn_status s = sequence_want(call, 0, TN_KIND_SEQUENCE);
  if (s) return s;
  s = mapping_open(call, &m);
  if (!s) s = infer_items(&m);
  mapping_close(&m);
  return s;
}

static tn_status map_item(const mapping *m, int64_t index) {
  const tn_call *call = m->call;
  const tn_host *host = call->host;
  for (uint32_t k = 0; k < m->n_in; k++) {
    m->in[k] =
        is_mapped(m, k) ? host->list_item(call->ctx, call->inputs[k], index) : call->inputs[k];
    if (!m->in[k])
      return host->fail(call->ctx, TN_ERR_INVALID, "input %u has only %lld items", (unsigned)k,
                        (long long)host->list_size(call->ctx, call->inputs[k]));
  }
  tn_status s = host->subgraph_run(call->ctx, m->body, m->n_in, m->in, m->n_out, m->out);
  if (s) return s;
  for (uint32_t k = 0; k < call->n_outputs && !s; k++)
    if (call->outputs[k]) s = host->list_append(call->ctx, k, m->out[k]);
  for (uint32_t k = 0; k < m->n_out; k++) host->value_release(call->ctx, m->out[k]);
  return s;
}

tn_status sequence_map_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                         uint32_t worker) {
  mapping m;
  int64_t n = call->host->list_size(call->ctx, call->inputs[0]);
  tn_status s = mapping_open(call, &m);
  (void)stage, (void)begin, (void)end, (void)worker;
  for (int64_t k = 0; k < n && !s; k++) s = map_item(&m, k);
  mapping_close(&m);
  return s;
}
