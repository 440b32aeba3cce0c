/* Scan: slices of the scan inputs go into the body one by one; its scan outputs are stacked. */
#include <string.h>

#include "control.h"

typedef struct scan {
  const tn_call *call;
  const tn_scan_attrs *a;
  uint32_t n_state, n_scan, n_out; /* states, scan inputs, scan outputs */
  int64_t length;
  const tn_tensor **in, **out, **kept; /* of the body; kept: [iteration][n_out] */
  tn_tensor **slices;
  bool own_state;
} scan;

static int64_t listed(tn_ints list, uint32_t k) {
  return k < (uint64_t)list.size ? list.data[k] : 0;
}

static tn_status axis_of(const scan *s, uint32_t k, int32_t *out) {
  int64_t axis = listed(s->a->scan_input_axes, k);
  const tn_tensor *t = s->call->inputs[s->n_state + k];
  if (axis < 0) axis += t->rank;
  if (axis < 0 || axis >= t->rank)
    return s->call->host->fail(s->call->ctx, TN_ERR_INVALID,
                               "scan input %u has rank %d; there is no axis %lld", k, t->rank,
                               (long long)axis);
  *out = (int32_t)axis;
  return TN_OK;
}

/* Types of the slices, and the number of iterations, on which all scan inputs must agree. */
static tn_status slice_types(scan *s) {
  s->length = -1;
  for (uint32_t k = 0; k < s->n_scan; k++) {
    const tn_tensor *t = s->call->inputs[s->n_state + k];
    int32_t axis = 0;
    tn_status status = t ? axis_of(s, k, &axis) : TN_ERR_INVALID;
    if (status) return status;
    if (s->length >= 0 && t->shape[axis] != s->length)
      return s->call->host->fail(s->call->ctx, TN_ERR_SHAPE,
                                 "scan inputs have %lld and %lld slices", (long long)s->length,
                                 (long long)t->shape[axis]);
    s->length = t->shape[axis];
    *s->slices[k] = *t;
    s->slices[k]->data = NULL;
    s->slices[k]->rank--;
    for (int32_t d = axis; d + 1 < t->rank; d++) s->slices[k]->shape[d] = t->shape[d + 1];
  }
  return TN_OK;
}

static tn_status open_scan(const tn_call *call, scan *s) {
  uint32_t n_in = 0, n_body_out = 0;
  *s = (scan){.call = call, .a = call->attrs};
  tn_status status = call->host->subgraph_shape(call->ctx, s->a->body, &n_in, &n_body_out);
  if (status) return status;
  if (s->a->num_scan_inputs < 1 || s->a->num_scan_inputs > n_in || n_in > call->n_inputs ||
      n_body_out < n_in - (uint32_t)s->a->num_scan_inputs)
    return call->host->fail(
        call->ctx, TN_ERR_INVALID,
        "the body has %u inputs and %u outputs, the node %u inputs of which %lld are scanned", n_in,
        n_body_out, call->n_inputs, (long long)s->a->num_scan_inputs);
  s->n_scan = (uint32_t)s->a->num_scan_inputs;
  s->n_state = n_in - s->n_scan;
  s->n_out = n_body_out - s->n_state;
  if (call->n_outputs > n_body_out)
    return call->host->fail(call->ctx, TN_ERR_INVALID, "the node has %u outputs, the body gives %u",
                            call->n_outputs, n_body_out);
  s->in = call->host->alloc(call->ctx, (n_in + 1) * sizeof *s->in);
  s->out = call->host->alloc(call->ctx, (n_body_out + 1) * sizeof *s->out);
  s->slices = control_types(call, s->n_scan);
  return s->in && s->out && s->slices ? slice_types(s) : TN_ERR_MEMORY;
}

static void close_scan(scan *s) {
  const tn_host *host = s->call->host;
  host->free(s->call->ctx, (void *)s->in);
  host->free(s->call->ctx, (void *)s->out);
  host->free(s->call->ctx, (void *)s->kept);
  control_types_free(s->call, s->slices);
}

static tn_status infer_body(scan *s, tn_tensor **states, tn_tensor **out) {
  const tn_call *call = s->call;
  for (uint32_t k = 0; k < s->n_state; k++) {
    if (call->inputs[k]) *states[k] = *call->inputs[k];
    states[k]->data = NULL;
    s->in[k] = states[k];
  }
  for (uint32_t k = 0; k < s->n_scan; k++) s->in[s->n_state + k] = s->slices[k];
  tn_status status = call->host->subgraph_infer(call->ctx, s->a->body, s->n_state + s->n_scan,
                                                s->in, s->n_state + s->n_out, out);
  for (uint32_t k = 0; k < call->n_outputs && !status; k++) {
    tn_tensor *t = call->outputs[k];
    if (!t) continue;
    *t = *out[k];
    if (k < s->n_state || t->rank < 0 || t->rank == TN_MAX_RANK) continue;
    int64_t axis = listed(s->a->scan_output_axes, k - s->n_state);
    if (axis < 0) axis += t->rank + 1;
    if (axis < 0 || axis > t->rank)
      return call->host->fail(call->ctx, TN_ERR_INVALID, "output %u: there is no axis %lld", k,
                              (long long)axis);
    for (int32_t d = t->rank; d > axis; d--) t->shape[d] = t->shape[d - 1];
    t->shape[axis] = s->length;
    t->rank++;
  }
  return status;
}

tn_status scan_infer(const tn_call *call) {
  scan s;
  tn_status status = open_scan(call, &s);
  tn_tensor **states = status ? NULL : control_types(call, s.n_state),
            **out = status ? NULL : control_types(call, s.n_state + s.n_out);
  if (!status) status = states && out ? infer_body(&s, states, out) : TN_ERR_MEMORY;
  control_types_free(call, states);
  control_types_free(call, out);
  close_scan(&s);
  return status;
}

/* ---- running ---- */

static tn_status make_slices(scan *s) {
  for (uint32_t k = 0; k < s->n_scan; k++) {
    int64_t bytes = tn_storage_bytes(s->slices[k]);
    if (s->slices[k]->dtype == TN_STRING || bytes < 0 || tn_dtype(s->slices[k]->dtype)->bits % 8)
      return s->call->host->fail(s->call->ctx, TN_ERR_UNSUPPORTED, "not supported: scanning %s",
                                 tn_dtype_name(s->slices[k]->dtype));
    s->slices[k]->data = s->call->host->alloc(s->call->ctx, (uint64_t)bytes + 1);
    if (!s->slices[k]->data) return TN_ERR_MEMORY;
    s->in[s->n_state + k] = s->slices[k];
  }
  return TN_OK;
}

static tn_status iterate(scan *s, int64_t step) {
  const tn_host *host = s->call->host;
  for (uint32_t k = 0; k < s->n_scan; k++) {
    int32_t axis = 0;
    tn_status status = axis_of(s, k, &axis);
    if (status) return status;
    int64_t index = listed(s->a->scan_input_directions, k) ? s->length - 1 - step : step;
    control_slice(s->call->inputs[s->n_state + k], axis, index, s->slices[k]->data, false);
  }
  tn_status status = host->subgraph_run(s->call->ctx, s->a->body, s->n_state + s->n_scan, s->in,
                                        s->n_state + s->n_out, s->out);
  if (status) return status;
  for (uint32_t k = 0; k < s->n_state; k++) {
    if (s->own_state) host->value_release(s->call->ctx, s->in[k]);
    s->in[k] = s->out[k];
  }
  s->own_state = true;
  for (uint32_t k = 0; k < s->n_out; k++) s->kept[step * s->n_out + k] = s->out[s->n_state + k];
  return TN_OK;
}

static tn_status finish(scan *s) {
  tn_status status = TN_OK;
  const tn_tensor **column =
      s->call->host->alloc(s->call->ctx, (uint64_t)(s->length + 1) * sizeof *column);
  if (!column) return TN_ERR_MEMORY;
  for (uint32_t k = 0; k < s->call->n_outputs && !status; k++) {
    if (!s->call->outputs[k]) continue;
    if (k < s->n_state) {
      status = s->call->host->output_set(s->call->ctx, k, s->in[k]);
      continue;
    }
    uint32_t o = k - s->n_state;
    for (int64_t i = 0; i < s->length; i++) column[i] = s->kept[i * s->n_out + o];
    status = control_stack(s->call, k, column, s->length, listed(s->a->scan_output_axes, o),
                           listed(s->a->scan_output_directions, o) != 0);
  }
  s->call->host->free(s->call->ctx, (void *)column);
  return status;
}

tn_status scan_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t end, uint32_t worker) {
  (void)stage, (void)worker;
  if (begin == end) return TN_OK;
  scan s;
  tn_status status = open_scan(call, &s);
  if (!status) status = make_slices(&s);
  uint64_t room = 0;
  if (!status) status = tn_mul_u64((uint64_t)s.length + 1, (s.n_out + 1) * sizeof *s.kept, &room);
  if (!status && !(s.kept = call->host->alloc(call->ctx, room))) status = TN_ERR_MEMORY;
  for (uint32_t k = 0; !status && k < s.n_state; k++) s.in[k] = call->inputs[k];
  for (int64_t step = 0; step < s.length && !status; step++) status = iterate(&s, step);
  if (!status) status = finish(&s);
  for (uint32_t k = 0; s.own_state && k < s.n_state; k++)
    call->host->value_release(call->ctx, s.in[k]);
  for (uint32_t k = 0; s.slices && k < s.n_scan; k++)
    call->host->free(call->ctx, s.slices[k]->data);
  close_scan(&s); /* what the body left in kept goes with the end of the run */
  return status;
}
