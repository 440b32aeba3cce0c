/* Scan: slices of the scan inputs go into the body one by one; its scan outputs go into the node's,
 * slice by slice. */
#include "control.h"

typedef struct scan {
  const tn_call *call;
  const tn_scan_attrs *a;
  tn_body body;                    /* in: states, slices; out: states, scanned values */
  uint32_t n_state, n_scan, n_out; /* states, scan inputs, scan outputs */
  int64_t length;
  bool own_state; /* states are results of an iteration, to be released */
} scan;

static int64_t listed(tn_ints list, uint32_t k) {
  return k < (uint64_t)list.size ? list.data[k] : 0;
}

/* Numbers of states, scan inputs and scan outputs. */
static tn_status count(scan *s) {
  const tn_call *call = s->call;
  const tn_body *b = &s->body;
  const int64_t n_scan = s->a->num_scan_inputs;
  if (n_scan < 1 || n_scan > b->n_in || b->n_in > call->n_inputs ||
      b->n_out < b->n_in - (uint32_t)n_scan)
    return call->host->fail(
        call->ctx, TN_ERR_INVALID,
        "the body has %u inputs and %u outputs, the node %u inputs of which %lld are scanned",
        b->n_in, b->n_out, call->n_inputs, (long long)n_scan);
  s->n_scan = (uint32_t)n_scan;
  s->n_state = b->n_in - s->n_scan;
  s->n_out = b->n_out - s->n_state;
  if (call->n_outputs > b->n_out)
    return call->host->fail(call->ctx, TN_ERR_INVALID, "the node has %u outputs, the body gives %u",
                            call->n_outputs, b->n_out);
  return TN_OK;
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

/* The type of the slices of scan input k, and their number, on which all must agree. */
static tn_status slice_type(scan *s, uint32_t k, tn_tensor *out) {
  const tn_tensor *t = s->call->inputs[s->n_state + k];
  int32_t axis = 0;
  tn_status status = t ? axis_of(s, k, &axis)
                       : s->call->host->fail(s->call->ctx, TN_ERR_INVALID,
                                             "scan input %u is left out", (unsigned)k);
  if (status) return status;
  if (s->length >= 0 && t->shape[axis] != s->length)
    return s->call->host->fail(s->call->ctx, TN_ERR_SHAPE, "scan inputs have %lld and %lld slices",
                               (long long)s->length, (long long)t->shape[axis]);
  s->length = t->shape[axis];
  *out = *t;
  out->data = NULL;
  out->rank--;
  for (int32_t d = axis; d + 1 < t->rank; d++) out->shape[d] = t->shape[d + 1];
  return TN_OK;
}

/* The body's inputs, without data: states as they are given, and slices. */
static tn_status input_types(scan *s) {
  tn_body *b = &s->body;
  tn_status status = TN_OK;
  s->length = -1;
  for (uint32_t k = 0; k < b->n_in && !status; k++) {
    b->in[k] = b->in_types[k];
    if (k >= s->n_state)
      status = slice_type(s, k - s->n_state, b->in_types[k]);
    else if (s->call->inputs[k])
      *b->in_types[k] = *s->call->inputs[k];
    b->in_types[k]->data = NULL;
  }
  return status;
}

/* Type of output k of the node, whose values have the type `one`. */
static tn_status output_type(const scan *s, uint32_t k, const tn_tensor *one, tn_tensor *out) {
  *out = *one;
  if (k < s->n_state) return TN_OK;
  return control_stacked(s->call, k, one, listed(s->a->scan_output_axes, k - s->n_state), s->length,
                         out);
}

static tn_status infer(scan *s) {
  tn_status status = count(s);
  if (!status) status = input_types(s);
  if (!status) status = tn_body_infer(s->call, &s->body);
  for (uint32_t k = 0; k < s->call->n_outputs && !status; k++)
    if (s->call->outputs[k]) status = output_type(s, k, s->body.out_types[k], s->call->outputs[k]);
  return status;
}

tn_status scan_infer(const tn_call *call) {
  scan s = {.call = call, .a = call->attrs};
  tn_status status = tn_body_open(call, s.a->body, &s.body);
  if (!status) status = infer(&s);
  tn_body_close(call, &s.body);
  return status;
}

/* ---- running ---- */

/* Bytes for one slice of each scan input. */
static tn_status slices_bytes(const tn_call *call, uint64_t *out) {
  scan s = {.call = call, .a = call->attrs, .length = -1};
  tn_status status = call->host->subgraph_shape(call->ctx, s.a->body, &s.body.n_in, &s.body.n_out);
  if (!status) status = count(&s);
  *out = 0;
  for (uint32_t k = 0; k < s.n_scan && !status; k++) {
    tn_tensor type;
    status = slice_type(&s, k, &type);
    if (status) break;
    const int64_t bytes = tn_storage_bytes(&type);
    if (type.dtype == TN_STRING || bytes < 0 || tn_dtype(type.dtype)->bits % 8)
      return call->host->fail(call->ctx, TN_ERR_UNSUPPORTED, "not supported: scanning %s",
                              tn_dtype(type.dtype)->name);
    status = tn_add_u64(*out, tn_round_up((uint64_t)bytes, 64), out);
  }
  return status;
}

tn_status scan_plan(const tn_call *call, tn_kernel_plan *out) {
  uint64_t bytes = 0;
  out->flags = TN_PLAN_DATA_DEPENDENT;
  tn_status status = slices_bytes(call, &bytes);
  return status ? status
                : tn_body_plan(call, ((const tn_scan_attrs *)call->attrs)->body, bytes, out);
}

/* The body's inputs before the first iteration: states of the node, and memory for slices. */
static tn_status open_inputs(scan *s) {
  tn_body *b = &s->body;
  char *memory = b->more;
  tn_status status = count(s);
  if (!status) status = input_types(s);
  for (uint32_t k = 0; k < b->n_in && !status; k++) {
    if (k < s->n_state) {
      b->in[k] = s->call->inputs[k];
      continue;
    }
    b->in_types[k]->data = memory;
    memory += tn_round_up((uint64_t)tn_storage_bytes(b->in_types[k]), 64);
  }
  return status;
}

static tn_status take_slices(const scan *s, int64_t step) {
  for (uint32_t k = 0; k < s->n_scan; k++) {
    int32_t axis = 0;
    tn_status status = axis_of(s, k, &axis);
    if (status) return status;
    const bool backwards = listed(s->a->scan_input_directions, k) != 0;
    control_slice(s->call->inputs[s->n_state + k], axis, backwards ? s->length - 1 - step : step,
                  s->body.in_types[s->n_state + k]->data);
  }
  return TN_OK;
}

/* What the body gave for output k of the node. */
static tn_status put(const scan *s, uint32_t k, int64_t step, const tn_tensor *value) {
  const uint32_t scanned = k - s->n_state;
  if (!tn_has_output(s->call, k)) return TN_OK;
  tn_tensor type;
  tn_status status = output_type(s, k, value, &type);
  if (!status && step == 0) status = control_begin(s->call, k, &type);
  if (status) return status;
  const bool backwards = listed(s->a->scan_output_directions, scanned) != 0;
  return control_put(s->call, k, &type,
                     tn_axis_view_of(&type, listed(s->a->scan_output_axes, scanned)),
                     backwards ? s->length - 1 - step : step, value);
}

static tn_status iterate(scan *s, int64_t step) {
  const tn_body *b = &s->body;
  tn_status status = take_slices(s, step);
  if (!status) status = tn_body_run(s->call, b);
  if (status) return status;
  if (s->own_state) tn_values_release(s->call, b->in, s->n_state);
  for (uint32_t k = 0; k < s->n_state; k++) b->in[k] = b->out[k];
  s->own_state = true;
  for (uint32_t k = s->n_state; k < b->n_out && !status; k++) status = put(s, k, step, b->out[k]);
  tn_values_release(s->call, b->out + s->n_state, s->n_out);
  return status;
}

/* Not one iteration: the body is asked what it would have given. */
static tn_status scan_nothing(const scan *s) {
  tn_status status = tn_body_infer(s->call, &s->body);
  for (uint32_t k = s->n_state; k < s->call->n_outputs && !status; k++)
    if (s->call->outputs[k])
      status = control_nothing(s->call, k, s->body.out_types[k],
                               listed(s->a->scan_output_axes, k - s->n_state));
  return status;
}

tn_status scan_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t end, uint32_t worker) {
  (void)stage, (void)worker;
  if (begin == end) return TN_OK;
  scan s = {.call = call, .a = call->attrs};
  uint64_t bytes = 0;
  tn_status status = slices_bytes(call, &bytes);
  if (!status) status = tn_body_place(call, s.a->body, bytes, &s.body);
  if (!status) status = open_inputs(&s);
  for (int64_t step = 0; !status && step < s.length; step++) status = iterate(&s, step);
  for (uint32_t k = 0; k < s.n_state && !status; k++)
    if (tn_has_output(call, k)) status = call->host->output_set(call->ctx, k, s.body.in[k]);
  if (!status && s.length == 0) status = scan_nothing(&s);
  if (s.own_state) tn_values_release(call, s.body.in, s.n_state);
  return status;
}
