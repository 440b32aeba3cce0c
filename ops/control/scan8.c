/* Scan of operator set 8: every entry of the batch is scanned by itself. Slices are taken where
 * they stand, as batch and sequence are the outer dims; results are copied into the outputs one by
 * one. */
#include <string.h>

#include "control.h"

typedef struct scan8 {
  const tn_call *call;
  int64_t body, batch, length;
  uint32_t n_state, n_scan, n_out; /* states, scan inputs, scan outputs */
  const tn_tensor **in, **out;     /* of the body */
  tn_tensor **slices, **types;     /* types of what goes in; of what comes out */
  bool *sized;                     /* outputs that have their shape */
} scan8;

static tn_status fail(const scan8 *s, const char *what) {
  return s->call->host->fail(s->call->ctx, TN_ERR_SHAPE, "%s", what);
}

/* Input `k` of the body, as the node has it. */
static const tn_tensor *outer_input(const scan8 *s, uint32_t k) { return s->call->inputs[1 + k]; }

/* Types of states and slices: without the batch, and without the sequence. Batch and sequence must
 * be the same everywhere. */
static tn_status slice_types(scan8 *s) {
  s->batch = s->length = -1;
  for (uint32_t k = 0; k < s->n_state + s->n_scan; k++) {
    const tn_tensor *t = outer_input(s, k);
    const int32_t drop = k < s->n_state ? 1 : 2;
    if (!t || t->rank < drop)
      return fail(s, "states must be [batch, ...], scan inputs [batch, sequence, ...]");
    if (s->batch >= 0 && t->shape[0] != s->batch)
      return fail(s, "states and scan inputs differ in the size of the batch");
    if (drop == 2 && s->length >= 0 && t->shape[1] != s->length)
      return fail(s, "scan inputs differ in the length of the sequence");
    s->batch = t->shape[0];
    if (drop == 2) s->length = t->shape[1];
    *s->slices[k] = tn_tensor_make(t->dtype, t->rank - drop, t->shape + drop, NULL);
    s->in[k] = s->slices[k];
  }
  return TN_OK;
}

static tn_status open_scan(const tn_call *call, scan8 *s) {
  const tn_scan_v1_attrs *a = call->attrs;
  uint32_t n_in = 0, n_body_out = 0;
  *s = (scan8){.call = call, .body = a->body};
  tn_status status = call->host->subgraph_shape(call->ctx, s->body, &n_in, &n_body_out);
  if (status) return status;
  if (a->num_scan_inputs < 1 || a->num_scan_inputs > n_in || n_in + 1 > call->n_inputs ||
      n_body_out < n_in - (uint32_t)a->num_scan_inputs || call->n_outputs > n_body_out)
    return call->host->fail(call->ctx, TN_ERR_INVALID,
                            "the body has %u inputs and %u outputs, which does not fit %u inputs "
                            "of the node, %lld of them scanned",
                            n_in, n_body_out, call->n_inputs - 1, (long long)a->num_scan_inputs);
  s->n_scan = (uint32_t)a->num_scan_inputs;
  s->n_state = n_in - s->n_scan;
  s->n_out = n_body_out - s->n_state;
  s->in = call->host->alloc(call->ctx, (uint64_t)n_in * sizeof *s->in);
  s->out = call->host->alloc(call->ctx, ((uint64_t)n_body_out + 1) * sizeof *s->out);
  s->sized = call->host->alloc(call->ctx, (uint64_t)n_body_out + 1);
  s->slices = control_types(call, n_in);
  s->types = control_types(call, n_body_out);
  return s->in && s->out && s->sized && s->slices && s->types ? slice_types(s) : TN_ERR_MEMORY;
}

static void close_scan(scan8 *s) {
  const tn_call *call = s->call;
  call->host->free(call->ctx, (void *)s->in);
  call->host->free(call->ctx, (void *)s->out);
  call->host->free(call->ctx, s->sized);
  control_types_free(call, s->slices);
  control_types_free(call, s->types);
}

/* Dims of output k, whose values have the type `one`. Answers the rank; -1: more than there can be,
 * or not known. */
static int32_t outer_shape(const scan8 *s, uint32_t k, const tn_tensor *one, int64_t *dims) {
  const int32_t add = k < s->n_state ? 1 : 2;
  if (one->rank < 0 || one->rank + add > TN_MAX_RANK) return -1;
  dims[0] = s->batch;
  if (add == 2) dims[1] = s->length;
  for (int32_t d = 0; d < one->rank; d++) dims[add + d] = one->shape[d];
  return one->rank + add;
}

static tn_status infer_body(scan8 *s) {
  return s->call->host->subgraph_infer(s->call->ctx, s->body, s->n_state + s->n_scan, s->in,
                                       s->n_state + s->n_out, s->types);
}

tn_status scan_v8_infer(const tn_call *call) {
  scan8 s;
  tn_status status = open_scan(call, &s);
  if (!status) status = infer_body(&s);
  for (uint32_t k = 0; k < call->n_outputs && !status; k++) {
    int64_t dims[TN_MAX_RANK];
    if (call->outputs[k])
      *call->outputs[k] =
          tn_tensor_make(s.types[k]->dtype, outer_shape(&s, k, s.types[k], dims), dims, NULL);
  }
  close_scan(&s);
  return status;
}

/* ---- running ---- */

/* Gives output k its shape, and zeros. */
static tn_status size_output(scan8 *s, uint32_t k, const tn_tensor *one) {
  int64_t dims[TN_MAX_RANK];
  int32_t rank = outer_shape(s, k, one, dims);
  if (rank < 0) return fail(s, "an output of the body has too many dims");
  for (int32_t d = 0; d < rank; d++) dims[d] = dims[d] < 0 ? 0 : dims[d];
  if (s->call->outputs[k]->dtype == TN_NONE) s->call->outputs[k]->dtype = one->dtype;
  tn_status status = s->call->host->output_resize(s->call->ctx, k, rank, dims);
  const tn_tensor *y = s->call->outputs[k];
  if (!status && y->dtype != TN_STRING && tn_tensor_bytes(y) > 0)
    memset(y->data, 0, (size_t)tn_tensor_bytes(y));
  s->sized[k] = true;
  return status;
}

/* value becomes part number `place` of output k. */
static tn_status put(scan8 *s, uint32_t k, int64_t place, const tn_tensor *value) {
  if (k >= s->call->n_outputs || !s->call->outputs[k]) return TN_OK;
  tn_status status = s->sized[k] ? TN_OK : size_output(s, k, value);
  if (status) return status;
  const tn_tensor *y = s->call->outputs[k];
  int64_t dims[TN_MAX_RANK], n = tn_tensor_elements(value);
  int32_t rank = outer_shape(s, k, value, dims);
  if (rank != y->rank || value->dtype != y->dtype ||
      (rank && memcmp(dims, y->shape, (size_t)rank * sizeof *dims)))
    return s->call->host->fail(s->call->ctx, TN_ERR_SHAPE,
                               "output %u: an iteration gives another type than those before", k);
  const tn_str *text = value->data;
  for (int64_t i = 0; y->dtype == TN_STRING && i < n && !status; i++)
    status = s->call->host->string_set(s->call->ctx, k, place * n + i, text[i].data, text[i].size);
  const size_t bytes = y->dtype == TN_STRING ? 0 : (size_t)tn_tensor_bytes(value);
  if (bytes) memcpy((char *)y->data + (size_t)place * bytes, value->data, bytes);
  return status;
}

/* Points input k of the body at part number `place` of the node's. */
static void take(scan8 *s, uint32_t k, int64_t place) {
  s->slices[k]->data = (char *)outer_input(s, k)->data + place * tn_tensor_bytes(s->slices[k]);
  s->in[k] = s->slices[k];
}

static tn_status iterate(scan8 *s, int64_t entry, int64_t step, int64_t steps, bool own_state) {
  const tn_host *host = s->call->host;
  const tn_ints directions = ((const tn_scan_v1_attrs *)s->call->attrs)->directions;
  for (uint32_t k = 0; k < s->n_scan; k++) {
    const bool backwards = k < (uint64_t)directions.size && directions.data[k];
    take(s, s->n_state + k, entry * s->length + (backwards ? steps - 1 - step : step));
  }
  tn_status status = host->subgraph_run(s->call->ctx, s->body, s->n_state + s->n_scan, s->in,
                                        s->n_state + s->n_out, s->out);
  if (status) return status;
  for (uint32_t k = 0; k < s->n_state; k++) {
    if (own_state) host->value_release(s->call->ctx, s->in[k]);
    s->in[k] = s->out[k];
  }
  for (uint32_t k = s->n_state; k < s->n_state + s->n_out; k++) {
    if (!status) status = put(s, k, entry * s->length + step, s->out[k]);
    host->value_release(s->call->ctx, s->out[k]);
  }
  return status;
}

static tn_status scan_entry(scan8 *s, int64_t entry, int64_t steps) {
  for (uint32_t k = 0; k < s->n_state; k++) take(s, k, entry);
  tn_status status = TN_OK;
  for (int64_t step = 0; step < steps && !status; step++)
    status = iterate(s, entry, step, steps, step > 0);
  for (uint32_t k = 0; k < s->n_state; k++) {
    if (!status) status = put(s, k, entry, s->in[k]);
    if (s->in[k] != s->slices[k]) s->call->host->value_release(s->call->ctx, s->in[k]);
  }
  return status;
}

static tn_status entry_length(const scan8 *s, int64_t entry, int64_t *out) {
  const tn_tensor *lens = s->call->inputs[0];
  *out = s->length;
  if (!lens) return TN_OK;
  if (tn_tensor_elements(lens) != s->batch)
    return fail(s, "sequence_lens needs one entry per entry of the batch");
  *out = ((const int64_t *)lens->data)[entry];
  return *out < 0 || *out > s->length
             ? fail(s, "an entry of sequence_lens is negative or longer than the sequence")
             : TN_OK;
}

/* Outputs that no iteration has written. */
static tn_status size_rest(scan8 *s) {
  bool all = true;
  for (uint32_t k = 0; k < s->call->n_outputs; k++)
    all = all && (s->sized[k] || !s->call->outputs[k]);
  if (all) return TN_OK;
  for (uint32_t k = 0; k < s->n_state + s->n_scan; k++) s->in[k] = s->slices[k];
  tn_status status = infer_body(s);
  for (uint32_t k = 0; k < s->call->n_outputs && !status; k++)
    if (s->call->outputs[k] && !s->sized[k]) status = size_output(s, k, s->types[k]);
  return status;
}

tn_status scan_v8_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                    uint32_t worker) {
  (void)stage, (void)worker;
  if (begin == end) return TN_OK;
  scan8 s;
  tn_status status = open_scan(call, &s);
  for (int64_t entry = 0; entry < s.batch && !status; entry++) {
    int64_t steps;
    status = entry_length(&s, entry, &steps);
    if (!status) status = scan_entry(&s, entry, steps);
  }
  if (!status) status = size_rest(&s);
  close_scan(&s);
  return status;
}
