/* Convolutions and pools in TFLite's words: images with channels last, pads SAME, none, or put
 * around before. */
#include <string.h>

#include "litert.h"

typedef struct window {
  int64_t kernel[2], strides[2], dilations[2], pads[4]; /* Y, X; pads: begins, then ends */
} window;

static void read_pair(const tn_node *n, const char *name, int64_t missing, int64_t *out) {
  const tn_attr *a = tn_pattern_attr(n, name, TN_ATTR_INTS);
  for (int k = 0; k < 2; k++) out[k] = a && a->ints.size > k ? a->ints.data[k] : missing;
}

static int64_t reach(const window *w, int k) { return (w->kernel[k] - 1) * w->dilations[k] + 1; }

/* Pads that give outputs as many places as inputs have strides; the odd one stands behind. */
static void same_pads(const window *w, const tn_tensor *x, int64_t *out) {
  for (int k = 0; k < 2; k++) {
    const int64_t in = x->shape[2 + k], places = (in + w->strides[k] - 1) / w->strides[k];
    const int64_t needed = (places - 1) * w->strides[k] + reach(w, k) - in;
    out[k] = needed > 0 ? needed / 2 : 0;
    out[2 + k] = needed > 0 ? needed - needed / 2 : 0;
  }
}

static int is_word(const tn_attr *a, const char *word) {
  return a && a->s.size == (int64_t)strlen(word) && !memcmp(a->s.data, word, strlen(word));
}

/* kernel is set. NULL, or why it is left out. */
static const char *read_window(const lrt_bridge *b, const tn_node *n, window *w) {
  const tn_tensor *x = lrt_type_of(b, n->inputs[0]), *y = lrt_type_of(b, n->outputs[0]);
  const tn_attr *automatic = tn_pattern_attr(n, "auto_pad", TN_ATTR_STR);
  const tn_attr *pads = tn_pattern_attr(n, "pads", TN_ATTR_INTS);
  read_pair(n, "strides", 1, w->strides);
  read_pair(n, "dilations", 1, w->dilations);
  memset(w->pads, 0, sizeof w->pads);
  if (is_word(automatic, "SAME_LOWER")) return "TFLite has the odd pad behind";
  if (is_word(automatic, "SAME_UPPER"))
    same_pads(w, x, w->pads);
  else if (!is_word(automatic, "VALID"))
    for (int k = 0; k < 4; k++) w->pads[k] = pads && pads->ints.size == 4 ? pads->ints.data[k] : 0;
  for (int k = 0; k < 2; k++) {
    const int64_t room = x->shape[2 + k] + w->pads[k] + w->pads[2 + k] - reach(w, k);
    if (w->pads[k] < 0 || w->pads[2 + k] < 0) return "a pad cuts off";
    if (room < 0 || room / w->strides[k] + 1 != y->shape[2 + k])
      return "TFLite rounds the number of places down";
  }
  return NULL;
}

static int has_pads(const window *w) {
  return w->pads[0] || w->pads[1] || w->pads[2] || w->pads[3];
}

static int is_same(const window *w, const tn_tensor *x) {
  int64_t pads[4];
  same_pads(w, x, pads);
  return !memcmp(pads, w->pads, sizeof pads);
}

/* The image with its pads around. */
static lrt_tensor *padded(lrt_bridge *b, int32_t value, const window *w, double fill) {
  const tn_tensor *x = lrt_type_of(b, value);
  const int64_t shape[] = {x->shape[0], x->shape[2] + w->pads[0] + w->pads[2],
                           x->shape[3] + w->pads[1] + w->pads[3], x->shape[1]};
  static const int64_t dims[] = {4, 2};
  int32_t *pads = (int32_t *)lrt_alloc(b->to->memory, 8 * sizeof *pads);
  for (int k = 0; pads && k < 2; k++) {
    pads[2 + 2 * k] = (int32_t)w->pads[k];
    pads[3 + 2 * k] = (int32_t)w->pads[2 + k];
  }
  lrt_tensor *const inputs[] = {lrt_last(b, value),
                                pads ? lrt_tensor_new(b->to, TN_I32, 2, dims, pads) : NULL,
                                lrt_number(b, fill)};
  const lrt_op *op =
      lrt_emit_inner(b, fill != 0 ? LRT_PADV2 : LRT_PAD, inputs, fill != 0 ? 3 : 2, 4, shape);
  return op ? op->outputs[0] : NULL;
}

static void set_options(lrt_op *op, const window *w, int is_valid) {
  if (!op) return;
  op->options[LRT_PADDING] = is_valid;
  op->options[LRT_STRIDE_H] = (double)w->strides[0];
  op->options[LRT_STRIDE_W] = (double)w->strides[1];
  op->options[LRT_DILATION_H] = (double)w->dilations[0];
  op->options[LRT_DILATION_W] = (double)w->dilations[1];
  op->options[LRT_FILTER_H] = (double)w->kernel[0];
  op->options[LRT_FILTER_W] = (double)w->kernel[1];
}

/* ---- convolutions ---- */

static lrt_tensor *kernel_of(lrt_bridge *b, const tn_tensor *w, int is_deep) {
  static const int32_t rows[] = {0, 2, 3, 1}, channels[] = {1, 2, 3, 0};
  const int32_t *perm = is_deep ? channels : rows;
  const float *data = lrt_permuted(b, w, perm);
  int64_t shape[4];
  for (int k = 0; k < 4; k++) shape[k] = w->shape[perm[k]];
  return data ? lrt_floats(b, data, 4, shape) : NULL;
}

/* A bias is an input of all of TFLite's. */
static lrt_tensor *bias_of(lrt_bridge *b, const tn_node *n, int64_t channels) {
  const int32_t value = tn_pattern_input(n, 2);
  if (value >= 0) return lrt_plain(b, value);
  const float *zeros = (const float *)lrt_alloc(b->to->memory, (uint64_t)channels * sizeof *zeros);
  return zeros ? lrt_tensor_new(b->to, TN_F32, 1, &channels, zeros) : NULL;
}

static const char *conv(lrt_bridge *b, const tn_node *n) {
  const tn_tensor *x = lrt_type_of(b, n->inputs[0]), *w = lrt_type_of(b, n->inputs[1]);
  const int64_t group = tn_pattern_int(n, "group", 1);
  const int is_deep = group > 1;
  const int32_t bias = tn_pattern_input(n, 2);
  window at;
  if (x->rank != 4) return "guests are shown convolutions of images alone";
  if (!lrt_is_const(b, n->inputs[1]) || (bias >= 0 && !lrt_is_const(b, bias)))
    return "weights are no constant";
  if (is_deep && (group != x->shape[1] || w->shape[1] != 1))
    return "TFLite has groups of one channel alone";
  at.kernel[0] = w->shape[2];
  at.kernel[1] = w->shape[3];
  const char *why = read_window(b, n, &at);
  if (why) return why;
  const int is_as_same = has_pads(&at) && is_same(&at, x);
  lrt_tensor *const inputs[] = {
      has_pads(&at) && !is_as_same ? padded(b, n->inputs[0], &at, 0) : lrt_last(b, n->inputs[0]),
      kernel_of(b, w, is_deep), bias_of(b, n, w->shape[0])};
  lrt_op *op =
      lrt_emit(b, is_deep ? LRT_DEPTHWISE_CONV_2D : LRT_CONV_2D, inputs, 3, n->outputs[0], 1);
  set_options(op, &at, !is_as_same);
  if (op) op->options[LRT_MULTIPLIER] = (double)(w->shape[0] / group);
  return NULL;
}

/* ---- pools ---- */

static const char *pool(lrt_bridge *b, const tn_node *n, int32_t code) {
  const tn_tensor *x = lrt_type_of(b, n->inputs[0]);
  const int is_max = code == LRT_MAX_POOL_2D;
  window at;
  if (x->rank != 4) return "guests are shown pools of images alone";
  if (n->n_outputs > 1 && n->outputs[1] >= 0) return "guests are shown one output of it";
  read_pair(n, "kernel_shape", 1, at.kernel);
  const char *why = read_window(b, n, &at);
  if (why) return why;
  if (at.dilations[0] != 1 || at.dilations[1] != 1) return "pools of TFLite have no dilation";
  const int counts = !is_max && tn_pattern_int(n, "count_include_pad", 0);
  const int is_as_same = has_pads(&at) && is_same(&at, x) && !counts;
  if (has_pads(&at) && !is_as_same && !is_max && !counts)
    return "TFLite averages what is there with pads SAME alone";
  static const double lowest = -3.4028234663852886e38;
  lrt_tensor *const input = has_pads(&at) && !is_as_same
                                ? padded(b, n->inputs[0], &at, is_max ? lowest : 0)
                                : lrt_last(b, n->inputs[0]);
  set_options(lrt_emit(b, code, &input, 1, n->outputs[0], 1), &at, !is_as_same);
  return NULL;
}

static const char *max_pool(lrt_bridge *b, const tn_node *n) { return pool(b, n, LRT_MAX_POOL_2D); }
static const char *average_pool(lrt_bridge *b, const tn_node *n) {
  return pool(b, n, LRT_AVERAGE_POOL_2D);
}

const lrt_rule lrt_window_rules[] = {
    {"AveragePool", average_pool}, {"Conv", conv}, {"MaxPool", max_pool}, {NULL, NULL}};
