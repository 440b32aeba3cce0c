/* Loop: the body's outputs become its next inputs; scanned outputs are kept until the end and
 * stacked. */
#include <string.h>

#include "control.h"

typedef struct loop {
  const tn_call *call;
  int64_t body, trips; /* trips: -1: no limit */
  uint32_t n_carried, n_scanned;
  const tn_tensor **in, **out; /* of the body: 2 + n_carried, 1 + n_carried + n_scanned */
  const tn_tensor **kept;      /* [iteration][n_scanned] */
  int64_t n_kept, cap;
  bool own_carried; /* carried values are results of an iteration, to be released */
} loop;

static tn_status shape_of(const tn_call *call, uint32_t *n_carried, uint32_t *n_scanned) {
  uint32_t n_in = 0, n_out = 0, carried = call->n_inputs > 2 ? call->n_inputs - 2 : 0;
  tn_status s = call->host->subgraph_shape(call->ctx, ((const tn_loop_attrs *)call->attrs)->body,
                                           &n_in, &n_out);
  if (s) return s;
  if (n_in < 2 || n_out < 1)
    return call->host->fail(call->ctx, TN_ERR_INVALID,
                            "the body has %u inputs and %u outputs; it needs 2 and 1 at least",
                            n_in, n_out);
  /* captured values stand behind the carried ones among the node's inputs: the body says how many
   * are carried */
  if (carried < n_in - 2 || n_out < n_in - 1)
    return call->host->fail(call->ctx, TN_ERR_INVALID,
                            "the body carries %u values, the node gives %u", n_in - 2, carried);
  for (uint32_t k = 2; k < n_in; k++)
    if (!call->inputs[k])
      return call->host->fail(call->ctx, TN_ERR_INVALID, "carried value %u is left out", k - 2);
  *n_carried = n_in - 2;
  *n_scanned = n_out - 1 - *n_carried;
  if (call->n_outputs > *n_carried + *n_scanned)
    return call->host->fail(call->ctx, TN_ERR_INVALID, "the node has %u outputs, the body gives %u",
                            call->n_outputs, *n_carried + *n_scanned);
  return TN_OK;
}

/* Types of the body's outputs for the first iteration; carried values that keep their type have it
 * at the end, too. */
static tn_status infer_outputs(const tn_call *call, uint32_t n_carried, uint32_t n_scanned,
                               const tn_tensor **in, tn_tensor **out) {
  tn_tensor counter = tn_tensor_make(TN_I64, 0, NULL, NULL),
            cond = tn_tensor_make(TN_BOOL, 0, NULL, NULL);
  tn_tensor **carried = control_types(call, n_carried);
  if (!carried) return TN_ERR_MEMORY;
  in[0] = &counter;
  in[1] = &cond;
  for (uint32_t k = 0; k < n_carried; k++) {
    if (tn_has_input(call, 2 + k)) *carried[k] = *call->inputs[2 + k];
    carried[k]->data = NULL; /* constant on entry only */
    in[2 + k] = carried[k];
  }
  tn_status s = call->host->subgraph_infer(call->ctx, ((const tn_loop_attrs *)call->attrs)->body,
                                           2 + n_carried, in, 1 + n_carried + n_scanned, out);
  for (uint32_t k = 0; k < call->n_outputs && !s; k++) {
    tn_tensor *t = call->outputs[k], *from = out[1 + k];
    if (!t) continue;
    if (k < n_carried) {
      *t = control_merge(carried[k], from);
      continue;
    }
    *t = *from;
    t->rank = from->rank < 0 || from->rank == TN_MAX_RANK ? TN_RANK_UNKNOWN : from->rank + 1;
    for (int32_t d = 0; d < from->rank && t->rank > 0; d++)
      t->shape[d + 1] = TN_DIM_UNKNOWN; /* may differ from run to run */
    t->shape[0] = TN_DIM_UNKNOWN;
  }
  control_types_free(call, carried);
  return s;
}

tn_status loop_infer(const tn_call *call) {
  uint32_t n_carried = 0, n_scanned = 0;
  tn_status s = shape_of(call, &n_carried, &n_scanned);
  if (s) return s;
  const tn_tensor **in = call->host->alloc(call->ctx, (2 + n_carried) * sizeof *in);
  tn_tensor **out = control_types(call, 1 + n_carried + n_scanned);
  s = in && out ? infer_outputs(call, n_carried, n_scanned, in, out) : TN_ERR_MEMORY;
  call->host->free(call->ctx, (void *)in);
  control_types_free(call, out);
  return s;
}

/* ---- running ---- */

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
  for (uint32_t k = 0; k < l->n_scanned; k++) l->kept[l->n_kept++] = l->out[1 + l->n_carried + k];
  return TN_OK;
}

static void release_carried(loop *l) {
  for (uint32_t k = 0; l->own_carried && k < l->n_carried; k++)
    l->call->host->value_release(l->call->ctx, l->in[2 + k]);
}

static tn_status iterate(loop *l, int64_t *count, uint8_t *cond) {
  const tn_host *host = l->call->host;
  uint32_t n_out = 1 + l->n_carried + l->n_scanned;
  tn_status s = host->subgraph_run(l->call->ctx, l->body, 2 + l->n_carried, l->in, n_out, l->out);
  if (s) return s;
  if (tn_tensor_elements(l->out[0]) != 1 || l->out[0]->dtype != TN_BOOL)
    return host->fail(l->call->ctx, TN_ERR_SHAPE, "the body's condition is not one bool");
  *cond = *(const uint8_t *)l->out[0]->data;
  host->value_release(l->call->ctx, l->out[0]);
  release_carried(l);
  for (uint32_t k = 0; k < l->n_carried; k++) l->in[2 + k] = l->out[1 + k];
  l->own_carried = true;
  ++*count;
  return l->n_scanned ? keep(l) : TN_OK;
}

static tn_status stack_scanned(loop *l, int64_t count) {
  const tn_tensor **column =
      l->call->host->alloc(l->call->ctx, (uint64_t)(count + 1) * sizeof *column);
  tn_status s = column ? TN_OK : TN_ERR_MEMORY;
  for (uint32_t k = 0; k < l->n_scanned && !s; k++) {
    if (l->n_carried + k >= l->call->n_outputs || !l->call->outputs[l->n_carried + k]) continue;
    for (int64_t i = 0; i < count; i++) column[i] = l->kept[i * l->n_scanned + k];
    s = control_stack(l->call, l->n_carried + k, column, count, 0, false);
  }
  l->call->host->free(l->call->ctx, (void *)column);
  return s;
}

/* Not one iteration: the body is asked what it would have given. */
static tn_status stack_nothing(loop *l) {
  const tn_call *call = l->call;
  const uint32_t n_out = 1 + l->n_carried + l->n_scanned;
  tn_tensor **types = control_types(call, n_out);
  tn_status s = !types          ? TN_ERR_MEMORY
                : !l->n_scanned ? TN_OK
                                : call->host->subgraph_infer(call->ctx, l->body, 2 + l->n_carried,
                                                             l->in, n_out, types);
  for (uint32_t k = l->n_carried; k < call->n_outputs && !s; k++)
    if (call->outputs[k]) s = control_stack_none(call, k, types[1 + k], 0);
  control_types_free(call, types);
  return s;
}

static tn_status run_loop(loop *l, uint8_t cond) {
  int64_t count = 0;
  tn_tensor counter = tn_tensor_make(TN_I64, 0, NULL, &count),
            go = tn_tensor_make(TN_BOOL, 0, NULL, &cond);
  l->in[0] = &counter;
  l->in[1] = &go;
  for (uint32_t k = 0; k < l->n_carried; k++) l->in[2 + k] = l->call->inputs[2 + k];
  tn_status s = TN_OK;
  while (!s && cond && (l->trips < 0 || count < l->trips)) s = iterate(l, &count, &cond);
  for (uint32_t k = 0; k < l->n_carried && k < l->call->n_outputs && !s; k++)
    if (l->call->outputs[k]) s = l->call->host->output_set(l->call->ctx, k, l->in[2 + k]);
  if (!s && !count) return stack_nothing(l);
  return s ? s : stack_scanned(l, count);
}

tn_status loop_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t end, uint32_t worker) {
  (void)stage, (void)worker;
  if (begin == end) return TN_OK;
  loop l = {.call = call, .body = ((const tn_loop_attrs *)call->attrs)->body, .trips = -1};
  tn_status s = shape_of(call, &l.n_carried, &l.n_scanned);
  if (s) return s;
  const void *trips, *cond;
  s = control_one(call, 0, "M", &trips);
  if (!s) s = control_one(call, 1, "cond", &cond);
  if (s) return s;
  if (trips) l.trips = tn_max_i64(0, *(const int64_t *)trips);
  l.in = call->host->alloc(call->ctx, (2 + l.n_carried) * sizeof *l.in);
  l.out = call->host->alloc(call->ctx, (1 + l.n_carried + l.n_scanned) * sizeof *l.out);
  s = l.in && l.out ? run_loop(&l, cond ? *(const uint8_t *)cond : 1) : TN_ERR_MEMORY;
  if (l.in) release_carried(&l);
  for (int64_t k = 0; k < l.n_kept; k++) call->host->value_release(call->ctx, l.kept[k]);
  call->host->free(call->ctx, (void *)l.kept);
  call->host->free(call->ctx, (void *)l.in);
  call->host->free(call->ctx, (void *)l.out);
  return s;
}
