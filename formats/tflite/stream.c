/* Custom operators that go on where the last run has ended: those of TFLite Micro's signal library.
 * In the file their memory is inside; here it is a state of the model, zeros before the first run.
 * The operator takes it as its second input and gives it as its last output.
 *
 * What a state holds is the operator's own matter (plugins/tflite_custom); here is its size. */
#include "reader.h"
#include "tenon/kit/checked.h"

/* The type of the state for an input x; false: options and x do not go together. */
typedef bool type_fn(const tflite_node *n, const tn_tensor *x, tn_tensor *out);

static int64_t option(const tflite_node *n, const char *name) {
  for (uint32_t k = 0; k < n->attrs->n; k++)
    if (!strcmp(n->attrs->attrs[k].name, name)) return n->attrs->attrs[k].i;
  return 0;
}

/* a * b + c, all of them sizes; -1: too large. */
static int64_t size_of(int64_t a, int64_t b, int64_t c) {
  int64_t v;
  return a < 0 || b < 0 || c < 0 || tn_mul_i64(a, b, &v) || tn_add_i64(v, c, &v) ? -1 : v;
}

static bool row(uint32_t dtype, int64_t n, tn_tensor *out) {
  *out = tn_tensor_make(dtype, 1, &n, NULL);
  return n >= 0;
}

/* The last samples of each row. */
static bool delay(const tflite_node *n, const tn_tensor *x, tn_tensor *out) {
  *out = *x;
  if (x->rank > 0) out->shape[x->rank - 1] = option(n, "delay_length");
  return x->rank > 0 && option(n, "delay_length") >= 0;
}

/* How many samples wait, and for each row room for a frame in whole steps. */
static bool framer(const tflite_node *n, const tn_tensor *x, tn_tensor *out) {
  const int64_t size = option(n, "frame_size"), step = option(n, "frame_step");
  int64_t rows;
  if (x->rank < 1 || size < 1 || step < 1 || tn_dims_product(x->shape, x->rank - 1, &rows))
    return false;
  const int64_t steps = tn_ceil_div(size, step);
  return row(TN_I32, size_of(rows, size_of(steps, step, 0), 1), out);
}

/* Whether there was a first frame, how many samples wait, and room for all frames of an output. */
static bool stacker(const tflite_node *n, const tn_tensor *x, tn_tensor *out) {
  const int64_t frames = size_of(1, option(n, "stacker_left_context"),
                                 size_of(1, option(n, "stacker_right_context"), 1));
  (void)x;
  return row(TN_I32, size_of(frames, option(n, "num_channels"), 2), out);
}

/* What the next frame of each row is added to. */
static bool overlap(const tflite_node *n, const tn_tensor *x, tn_tensor *out) {
  (void)n;
  *out = *x;
  out->rank = x->rank - 1;
  if (x->rank > 1) out->shape[x->rank - 2] = x->shape[x->rank - 1];
  return x->rank > 1;
}

/* The noise of each channel. */
static bool noise(const tflite_node *n, const tn_tensor *x, tn_tensor *out) {
  (void)n;
  *out = *x;
  return true;
}

static const struct {
  const char *name;
  type_fn *type;
} streams[] = {{"SignalDelay", delay},
               {"SignalFramer", framer},
               {"SignalStacker", stacker},
               {"SignalOverlapAdd", overlap},
               {"SignalFilterBankSpectralSubtraction", noise}};

static type_fn *stream_of(const char *name) {
  for (size_t k = 0; k < sizeof streams / sizeof *streams; k++)
    if (!strcmp(streams[k].name, name)) return streams[k].type;
  return NULL;
}

/* A new state of the graph, for the node's memory; *before: its value as a run begins. */
static tn_status add_state(const tflite_node *n, const tn_tensor *type, int32_t *before,
                           int32_t *state) {
  tflite_reader *r = n->s->r;
  const char *name = r->api->value_name(n->s->g, n->outputs[0]);
  name = name ? tn_arena_format(&r->arena, "%s of %s", n->name, name) : NULL;
  if (!name) return tflite_no_memory(r);
  *before = r->api->value(n->s->g, name);
  tn_status s = *before < 0 ? *before : r->api->value_set_type(n->s->g, *before, type);
  if (!s) *state = r->api->state_new(n->s->g, name, *before, TN_NO_ID);
  if (!s && *state < 0) s = *state;
  if (s == TN_ERR_MEMORY) return tflite_no_memory(r);
  return s ? tflite_fail(r, TN_ERR_UNSUPPORTED, n->at,
                         "not supported: memory from run to run whose size is open")
           : TN_OK;
}

tn_status tflite_stream(tflite_node *n) {
  tflite_reader *r = n->s->r;
  type_fn *type_of = stream_of(n->name);
  tn_tensor type;
  if (!type_of) return TN_OK;
  if (n->s->g != r->main)
    return tflite_fail(r, TN_ERR_UNSUPPORTED, n->at,
                       "not supported: memory from run to run in a loop or a branch");
  if (n->n_inputs < 1 || n->inputs[0] < 0 || n->n_outputs < 1 || n->outputs[0] < 0)
    return tflite_fail(r, TN_ERR_INVALID, n->at, "has no input, or no output");
  if (!type_of(n, &n->s->tensors[tn_flat_int_at(n->in_list, 0)].type, &type))
    return tflite_fail(r, TN_ERR_INVALID, n->at, "has options that do not go with its input");
  int32_t *ids = tn_arena_alloc(&r->arena, (n->n_inputs + n->n_outputs + 2) * sizeof *ids);
  int32_t state = TN_NO_ID;
  if (!ids) return tflite_no_memory(r);
  const tn_status s = add_state(n, &type, &ids[1], &state);
  if (s) return s;
  int32_t *outputs = ids + n->n_inputs + 1;
  ids[0] = n->inputs[0];
  memcpy(ids + 2, n->inputs + 1, (n->n_inputs - 1) * sizeof *ids);
  memcpy(outputs, n->outputs, n->n_outputs * sizeof *ids);
  const int32_t after = r->api->value(n->s->g, NULL);
  if (after < 0 || r->api->state_set(n->s->g, state, after)) return tflite_no_memory(r);
  outputs[n->n_outputs++] = after;
  n->inputs = ids;
  n->outputs = outputs;
  n->n_inputs++;
  return TN_OK;
}
