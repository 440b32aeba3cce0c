/* Scan of operator set 8: every entry of the batch is scanned by itself. Slices are taken where
 * they stand, as batch and sequence are the outer dims; results are copied into the outputs one by
 * one. */
#include <string.h>

#include "control.h"

typedef struct scan8 {
  const tn_call *call;
  tn_body body; /* in: states, slices; out: states, scanned values */
  int64_t batch, length;
  uint32_t n_state, n_scan, n_out; /* states, scan inputs, scan outputs */
  bool *begun;                     /* outputs that have their shape */
} scan8;

static int64_t body_of(const tn_call *call) {
  return ((const tn_scan_v1_attrs *)call->attrs)->body;
}

static tn_status reject(const scan8 *s, const char *what) {
  return s->call->host->fail(s->call->ctx, TN_ERR_SHAPE, "%s", what);
}

/* Input `k` of the body, as the node has it. */
static const tn_tensor *outer_input(const scan8 *s, uint32_t k) { return s->call->inputs[1 + k]; }

/* Types of states and slices: without the batch, and without the sequence. Batch and sequence must
 * be the same everywhere. */
static tn_status input_types(scan8 *s) {
  s->batch = s->length = -1;
  for (uint32_t k = 0; k < s->body.n_in; k++) {
    const tn_tensor *t = outer_input(s, k);
    const int32_t drop = k < s->n_state ? 1 : 2;
    if (!t || t->rank < drop)
      return reject(s, "states must be [batch, ...], scan inputs [batch, sequence, ...]");
    if (s->batch >= 0 && t->shape[0] != s->batch)
      return reject(s, "states and scan inputs differ in the size of the batch");
    if (drop == 2 && s->length >= 0 && t->shape[1] != s->length)
      return reject(s, "scan inputs differ in the length of the sequence");
    s->batch = t->shape[0];
    if (drop == 2) s->length = t->shape[1];
    *s->body.in_types[k] = tn_tensor_make(t->dtype, t->rank - drop, t->shape + drop, NULL);
    s->body.in[k] = s->body.in_types[k];
  }
  return TN_OK;
}

static tn_status open_scan(scan8 *s) {
  const tn_call *call = s->call;
  const tn_scan_v1_attrs *a = call->attrs;
  const tn_body *b = &s->body;
  if (a->num_scan_inputs < 1 || a->num_scan_inputs > b->n_in || b->n_in + 1 > call->n_inputs ||
      b->n_out < b->n_in - (uint32_t)a->num_scan_inputs || call->n_outputs > b->n_out)
    return call->host->fail(call->ctx, TN_ERR_INVALID,
                            "the body has %u inputs and %u outputs, which does not fit %u inputs "
                            "of the node, %lld of them scanned",
                            b->n_in, b->n_out, call->n_inputs - 1, (long long)a->num_scan_inputs);
  s->n_scan = (uint32_t)a->num_scan_inputs;
  s->n_state = b->n_in - s->n_scan;
  s->n_out = b->n_out - s->n_state;
  return input_types(s);
}

/* Type of output k of the node, whose values have the type `one`. */
static tn_status output_type(const scan8 *s, uint32_t k, const tn_tensor *one, tn_tensor *out) {
  *out = *one;
  tn_status status = k < s->n_state ? TN_OK : control_stacked(s->call, k, out, 0, s->length, out);
  return status ? status : control_stacked(s->call, k, out, 0, s->batch, out);
}

static tn_status infer(scan8 *s) {
  tn_status status = open_scan(s);
  if (!status) status = tn_body_infer(s->call, &s->body);
  for (uint32_t k = 0; k < s->call->n_outputs && !status; k++)
    if (s->call->outputs[k]) status = output_type(s, k, s->body.out_types[k], s->call->outputs[k]);
  return status;
}

tn_status scan_v8_infer(const tn_call *call) {
  scan8 s = {.call = call};
  tn_status status = tn_body_open(call, body_of(call), &s.body);
  if (!status) status = infer(&s);
  tn_body_close(call, &s.body);
  return status;
}

/* ---- running ---- */

tn_status scan_v8_plan(const tn_call *call, tn_kernel_plan *out) {
  out->flags = TN_PLAN_DATA_DEPENDENT;
  return tn_body_plan(call, body_of(call), call->n_outputs * sizeof(bool), out);
}

/* Gives output k its shape, and zeros. */
static tn_status begin_output(const scan8 *s, uint32_t k, const tn_tensor *type) {
  tn_status status = control_begin(s->call, k, type);
  const tn_tensor *y = s->call->outputs[k];
  if (!status && y->dtype != TN_STRING && tn_bytes(y) > 0) memset(y->data, 0, (size_t)tn_bytes(y));
  s->begun[k] = true;
  return status;
}

/* value becomes part number `place` of output k. */
static tn_status put(const scan8 *s, uint32_t k, int64_t place, const tn_tensor *value) {
  if (!tn_has_output(s->call, k)) return TN_OK;
  tn_tensor type;
  tn_status status = output_type(s, k, value, &type);
  if (!status && !s->begun[k]) status = begin_output(s, k, &type);
  if (status) return status;
  const tn_axis_view parts = {.outer = 1,
                              .n = k < s->n_state ? s->batch : s->batch * s->length,
                              .inner = tn_elements(value)};
  return control_put(s->call, k, &type, parts, place, value);
}

/* Points input k of the body at part number `place` of the node's. */
static void take(const scan8 *s, uint32_t k, int64_t place) {
  tn_tensor *part = s->body.in_types[k];
  part->data = (char *)outer_input(s, k)->data + place * tn_bytes(part);
  s->body.in[k] = part;
}

static tn_status iterate(const scan8 *s, int64_t entry, int64_t step, int64_t steps) {
  const tn_body *b = &s->body;
  const tn_ints directions = ((const tn_scan_v1_attrs *)s->call->attrs)->directions;
  for (uint32_t k = 0; k < s->n_scan; k++) {
    const bool backwards = k < (uint64_t)directions.size && directions.data[k];
    take(s, s->n_state + k, entry * s->length + (backwards ? steps - 1 - step : step));
  }
  tn_status status = tn_body_run(s->call, b);
  if (status) return status;
  if (step) tn_values_release(s->call, b->in, s->n_state);
  for (uint32_t k = 0; k < s->n_state; k++) b->in[k] = b->out[k];
  for (uint32_t k = s->n_state; k < b->n_out && !status; k++)
    status = put(s, k, entry * s->length + step, b->out[k]);
  tn_values_release(s->call, b->out + s->n_state, s->n_out);
  return status;
}

static tn_status scan_entry(const scan8 *s, int64_t entry, int64_t steps) {
  for (uint32_t k = 0; k < s->n_state; k++) take(s, k, entry);
  tn_status status = TN_OK;
  for (int64_t step = 0; step < steps && !status; step++) status = iterate(s, entry, step, steps);
  for (uint32_t k = 0; k < s->n_state; k++) {
    if (!status) status = put(s, k, entry, s->body.in[k]);
    if (s->body.in[k] != s->body.in_types[k])
      s->call->host->value_release(s->call->ctx, s->body.in[k]);
  }
  return status;
}

static tn_status entry_length(const scan8 *s, int64_t entry, int64_t *out) {
  const tn_tensor *lens = s->call->inputs[0];
  *out = s->length;
  if (!lens) return TN_OK;
  if (tn_elements(lens) != s->batch)
    return reject(s, "sequence_lens needs one entry per entry of the batch");
  *out = ((const int64_t *)lens->data)[entry];
  return *out < 0 || *out > s->length
             ? reject(s, "an entry of sequence_lens is negative or longer than the sequence")
             : TN_OK;
}

/* Outputs that no iteration has written. */
static tn_status begin_rest(const scan8 *s) {
  const tn_body *b = &s->body;
  bool all = true;
  for (uint32_t k = 0; k < s->call->n_outputs; k++)
    all = all && (s->begun[k] || !s->call->outputs[k]);
  if (all) return TN_OK;
  for (uint32_t k = 0; k < b->n_in; k++) b->in[k] = b->in_types[k];
  tn_status status = tn_body_infer(s->call, b);
  for (uint32_t k = 0; k < s->call->n_outputs && !status; k++) {
    tn_tensor type;
    if (!s->call->outputs[k] || s->begun[k]) continue;
    status = output_type(s, k, b->out_types[k], &type);
    if (!status) status = begin_output(s, k, &type);
  }
  return status;
}

tn_status scan_v8_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                    uint32_t worker) {
  (void)stage, (void)worker;
  if (begin == end) return TN_OK;
  scan8 s = {.call = call};
  tn_status status = tn_body_place(call, body_of(call), call->n_outputs * sizeof(bool), &s.body);
  if (!status) status = open_scan(&s);
  if (status) return status;
  s.begun = s.body.more;
  memset(s.begun, 0, call->n_outputs * sizeof *s.begun);
  for (int64_t entry = 0; entry < s.batch && !status; entry++) {
    int64_t steps;
    status = entry_length(&s, entry, &steps);
    if (!status) status = scan_entry(&s, entry, steps);
  }
  return status ? status : begin_rest(&s);
}
