/* Loop: the body's outputs become its next inputs; scanned outputs are kept until the end and
 * stacked: only then it is known how many there are. */
#include <string.h>

#include "control.h"

typedef struct loop {
  const tn_call *call;
  tn_body body;  /* in: counter, condition, carried values; out: condition, carried, scanned */
  int64_t trips; /* -1: no limit */
  uint32_t n_carried, n_scanned;
  const tn_tensor **kept; /* [iteration][n_scanned] */
  int64_t n_kept, cap;
  bool own_carried; /* carried values are results of an iteration, to be released */
} loop;

static int64_t body_of(const tn_call *call) { return ((const tn_loop_attrs *)call->attrs)->body; }

/* Captured values stand behind the carried ones among the node's inputs: the body says how many are
 * carried. */
static tn_status count(const tn_call *call, const tn_body *b, uint32_t *n_carried,
                       uint32_t *n_scanned) {
  const uint32_t given = call->n_inputs > 2 ? call->n_inputs - 2 : 0;
  if (b->n_in < 2 || b->n_out < 1)
    return call->host->fail(call->ctx, TN_ERR_INVALID,
                            "the body has %u inputs and %u outputs; it needs 2 and 1 at least",
                            b->n_in, b->n_out);
  if (given < b->n_in - 2 || b->n_out < b->n_in - 1)
    return call->host->fail(call->ctx, TN_ERR_INVALID,
                            "the body carries %u values, the node gives %u", b->n_in - 2, given);
  for (uint32_t k = 2; k < b->n_in; k++)
    if (!call->inputs[k])
      return call->host->fail(call->ctx, TN_ERR_INVALID, "carried value %u is left out", k - 2);
  *n_carried = b->n_in - 2;
  *n_scanned = b->n_out - 1 - *n_carried;
  if (call->n_outputs > *n_carried + *n_scanned)
    return call->host->fail(call->ctx, TN_ERR_INVALID, "the node has %u outputs, the body gives %u",
                            call->n_outputs, *n_carried + *n_scanned);
  return TN_OK;
}

/* Scanned values may differ from run to run, if not within one. */
static tn_status scanned_type(const tn_call *call, uint32_t output, const tn_tensor *one) {
  tn_tensor type = *one;
  for (int32_t d = 0; d < type.rank; d++) type.shape[d] = TN_DIM_UNKNOWN;
  return control_stacked(call, output, &type, 0, TN_DIM_UNKNOWN, call->outputs[output]);
}

/* Inputs of the body that change their type from the first iteration to the next one become what
 * both are: a body that is written has to fit all of them. */
static bool widen(const tn_body *b) {
  bool widens = false;
  for (uint32_t k = 2; k < b->n_in; k++) {
    const tn_tensor merged = control_merge(b->in_types[k], b->out_types[k - 1]);
    widens = widens || merged.rank != b->in_types[k]->rank;
    for (int32_t d = 0; d < merged.rank && !widens; d++)
      widens = merged.shape[d] != b->in_types[k]->shape[d];
    *b->in_types[k] = merged;
  }
  return widens;
}

/* Types of the body's outputs for the first iteration; carried values that keep their type have it
 * at the end, too. */
static tn_status infer_outputs(const tn_call *call, const tn_body *b) {
  uint32_t n_carried = 0, n_scanned = 0;
  tn_status s = count(call, b, &n_carried, &n_scanned);
  if (s) return s;
  *b->in_types[0] = tn_tensor_make(TN_I64, 0, NULL, NULL);
  *b->in_types[1] = tn_tensor_make(TN_BOOL, 0, NULL, NULL);
  for (uint32_t k = 0; k < b->n_in; k++) {
    if (k >= 2) *b->in_types[k] = *call->inputs[k];
    b->in_types[k]->data = NULL; /* constant on entry only */
    b->in[k] = b->in_types[k];
  }
  s = tn_body_infer(call, b);
  if (!s && call->onnx_opset && widen(b)) s = tn_body_infer(call, b);
  for (uint32_t k = 0; k < call->n_outputs && !s; k++) {
    if (!call->outputs[k]) continue;
    if (k < n_carried)
      *call->outputs[k] = control_merge(b->in_types[2 + k], b->out_types[1 + k]);
    else
      s = scanned_type(call, k, b->out_types[1 + k]);
  }
  return s;
}

tn_status loop_infer(const tn_call *call) {
  tn_body b;
  tn_status s = tn_body_open(call, body_of(call), &b);
  if (!s) s = infer_outputs(call, &b);
  tn_body_close(call, &b);
  return s;
}

/* ---- running ---- */

tn_status loop_plan(const tn_call *call, tn_kernel_plan *out) {
  out->flags = TN_PLAN_DATA_DEPENDENT;
  return tn_body_plan(call, body_of(call), 0, out);
}

static tn_status keep(loop *l) {
  if (l->n_kept + l->n_scanned > l->cap) {
    int64_t cap = 2 * l->cap + l->n_scanned * 16;
    const tn_tensor **more = l->call->host->alloc(l->call->ctx, (uint64_t)cap * sizeof *more);
    if (!more) return TN_ERR_MEMORY;
    if (l->n_kept) memcpy(more, l->kept, (size_t)l->n_kept * sizeof *more);
    l->call->host->free(l->call->ctx, (void *)l->kept);
    l->kept = more;
    l->cap = cap;
  }
  for (uint32_t k = 0; k < l->n_scanned; k++)
    l->kept[l->n_kept++] = l->body.out[1 + l->n_carried + k];
  return TN_OK;
}

static void release_carried(const loop *l) {
  if (l->own_carried) tn_values_release(l->call, l->body.in + 2, l->n_carried);
}

static tn_status iterate(loop *l, int64_t *count, uint8_t *cond) {
  const tn_host *host = l->call->host;
  const tn_body *b = &l->body;
  tn_status s = tn_body_run(l->call, b);
  if (s) return s;
  if (tn_elements(b->out[0]) != 1 || b->out[0]->dtype != TN_BOOL)
    return host->fail(l->call->ctx, TN_ERR_SHAPE, "the body's condition is not one bool");
  *cond = *(const uint8_t *)b->out[0]->data;
  host->value_release(l->call->ctx, b->out[0]);
  release_carried(l);
  for (uint32_t k = 0; k < l->n_carried; k++) b->in[2 + k] = b->out[1 + k];
  l->own_carried = true;
  ++*count;
  return l->n_scanned ? keep(l) : TN_OK;
}

/* Output k, of values l->kept[k], [n_scanned + k], .. */
static tn_status stack(const loop *l, uint32_t k, int64_t count) {
  const uint32_t output = l->n_carried + k;
  tn_status s = TN_OK;
  for (int64_t i = 0; i < count && !s; i++) {
    const tn_tensor *value = l->kept[i * l->n_scanned + k];
    tn_tensor type;
    s = control_stacked(l->call, output, value, 0, count, &type);
    if (!s && i == 0) s = control_begin(l->call, output, &type);
    if (!s) s = control_put(l->call, output, &type, tn_axis_view_of(&type, 0), i, value);
  }
  return s;
}

/* Of no iteration at all the body is asked what it would have given. */
static tn_status stack_scanned(const loop *l, int64_t count) {
  tn_status s = count || !l->n_scanned ? TN_OK : tn_body_infer(l->call, &l->body);
  for (uint32_t k = 0; k < l->n_scanned && !s; k++) {
    const uint32_t output = l->n_carried + k;
    if (!tn_has_output(l->call, output)) continue;
    s = count ? stack(l, k, count)
              : control_nothing(l->call, output, l->body.out_types[1 + output], 0);
  }
  return s;
}

static tn_status run_loop(loop *l, uint8_t cond) {
  int64_t count = 0;
  tn_tensor counter = tn_tensor_make(TN_I64, 0, NULL, &count),
            go = tn_tensor_make(TN_BOOL, 0, NULL, &cond);
  const tn_tensor **in = l->body.in;
  in[0] = &counter;
  in[1] = &go;
  for (uint32_t k = 2; k < l->body.n_in; k++) in[k] = l->call->inputs[k];
  tn_status s = TN_OK;
  while (!s && cond && (l->trips < 0 || count < l->trips)) s = iterate(l, &count, &cond);
  for (uint32_t k = 0; k < l->n_carried && !s; k++)
    if (tn_has_output(l->call, k)) s = l->call->host->output_set(l->call->ctx, k, in[2 + k]);
  return s ? s : stack_scanned(l, count);
}

tn_status loop_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t end, uint32_t worker) {
  (void)stage, (void)worker;
  if (begin == end) return TN_OK;
  loop l = {.call = call, .trips = -1};
  const void *trips = NULL, *cond = NULL;
  tn_status s = tn_body_place(call, body_of(call), 0, &l.body);
  if (!s) s = count(call, &l.body, &l.n_carried, &l.n_scanned);
  if (!s) s = control_one(call, 0, "M", &trips);
  if (!s) s = control_one(call, 1, "cond", &cond);
  if (s) return s;
  if (trips) l.trips = tn_max_i64(0, *(const int64_t *)trips);
  s = run_loop(&l, cond ? *(const uint8_t *)cond : 1);
  release_carried(&l);
  for (int64_t k = 0; k < l.n_kept; k++) call->host->value_release(call->ctx, l.kept[k]);
  call->host->free(call->ctx, (void *)l.kept);
  return s;
}
