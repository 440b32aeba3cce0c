/* Operators that move elements, in TFLite's words. */
#include <limits.h>
#include <string.h>

#include "litert.h"

static lrt_tensor *form(lrt_bridge *b, int32_t value, int is_last) {
  return is_last ? lrt_last(b, value) : lrt_plain(b, value);
}

/* Numbers of dims of the plain form, in the order of the form. */
static void arrange(int64_t *values, int is_last) {
  int64_t old[4];
  if (!is_last) return;
  memcpy(old, values, sizeof old);
  for (int k = 0; k < 4; k++) values[lrt_moved_axis(k)] = old[k];
}

/* ---- shapes ---- */

/* Reshape, Flatten, Squeeze, Unsqueeze: the shape is known. */
static const char *reshape(lrt_bridge *b, const tn_node *n) {
  const tn_tensor *y = lrt_type_of(b, n->outputs[0]);
  lrt_tensor *const inputs[] = {lrt_plain(b, n->inputs[0]), lrt_ints(b, y->shape, y->rank)};
  lrt_emit(b, LRT_RESHAPE, inputs, 2, n->outputs[0], 0);
  return NULL;
}

static const char *expand(lrt_bridge *b, const tn_node *n) {
  const tn_tensor *y = lrt_type_of(b, n->outputs[0]);
  lrt_tensor *const inputs[] = {lrt_plain(b, n->inputs[0]), lrt_ints(b, y->shape, y->rank)};
  lrt_emit(b, LRT_BROADCAST_TO, inputs, 2, n->outputs[0], 0);
  return NULL;
}

static int is_order(const tn_attr *perm, const int64_t *order) {
  return perm && perm->ints.size == 4 && !memcmp(perm->ints.data, order, 4 * sizeof *order);
}

/* Between images' two forms it is no work. */
static const char *transpose(lrt_bridge *b, const tn_node *n) {
  static const int64_t to_last[] = {0, 2, 3, 1}, to_plain[] = {0, 3, 1, 2};
  const tn_tensor *x = lrt_type_of(b, n->inputs[0]);
  const tn_attr *perm = tn_pattern_attr(n, "perm", TN_ATTR_INTS);
  lrt_forms *to = &b->forms[n->outputs[0]];
  int64_t order[GUEST_MAX_RANK];
  if (is_order(perm, to_last) && !lrt_is_const(b, n->inputs[0])) {
    to->plain = lrt_last(b, n->inputs[0]);
    return NULL;
  }
  if (is_order(perm, to_plain) && !lrt_is_const(b, n->inputs[0])) {
    to->last = lrt_plain(b, n->inputs[0]);
    return NULL;
  }
  for (int32_t k = 0; k < x->rank; k++) order[k] = perm ? perm->ints.data[k] : x->rank - 1 - k;
  lrt_tensor *const inputs[] = {lrt_plain(b, n->inputs[0]), lrt_ints(b, order, x->rank)};
  lrt_emit(b, LRT_TRANSPOSE, inputs, 2, n->outputs[0], 0);
  return NULL;
}

/* ---- joining and cutting ---- */

static const char *concat(lrt_bridge *b, const tn_node *n) {
  const int32_t rank = lrt_type_of(b, n->outputs[0])->rank;
  int64_t axis = tn_pattern_int(n, "axis", 0);
  int is_last = 0;
  if (axis < 0) axis += rank;
  for (uint32_t k = 0; k < n->n_inputs && rank == 4; k++)
    is_last |= lrt_prefers_last(b, n->inputs[k]);
  lrt_tensor **inputs =
      (lrt_tensor **)lrt_alloc(b->to->memory, ((uint64_t)n->n_inputs + 1) * sizeof *inputs);
  if (!inputs) return NULL;
  for (uint32_t k = 0; k < n->n_inputs; k++) inputs[k] = form(b, n->inputs[k], is_last);
  lrt_op *op = lrt_emit(b, LRT_CONCATENATION, inputs, n->n_inputs, n->outputs[0], is_last);
  if (op) op->options[LRT_AXIS] = is_last ? lrt_moved_axis((int32_t)axis) : (double)axis;
  return NULL;
}

/* From, to and step of all dims as Slice's arguments say; NULL, or why they cannot be read. */
static const char *read_slice(const lrt_bridge *b, const tn_node *n, int64_t *from, int64_t *to,
                              int64_t *steps) {
  const tn_tensor *x = lrt_type_of(b, n->inputs[0]);
  int64_t start[GUEST_MAX_RANK], end[GUEST_MAX_RANK], axes[GUEST_MAX_RANK], by[GUEST_MAX_RANK];
  const int32_t count = lrt_const_ints(b, n, 1, start, GUEST_MAX_RANK);
  int ok = count >= 0 && lrt_const_ints(b, n, 2, end, GUEST_MAX_RANK) == count;
  for (int32_t k = 0; k < count; k++) axes[k] = k, by[k] = 1;
  if (tn_pattern_input(n, 3) >= 0) ok &= lrt_const_ints(b, n, 3, axes, GUEST_MAX_RANK) == count;
  if (tn_pattern_input(n, 4) >= 0) ok &= lrt_const_ints(b, n, 4, by, GUEST_MAX_RANK) == count;
  if (!ok) return "arguments are no constants";
  for (int32_t k = 0; k < x->rank; k++) from[k] = 0, to[k] = x->shape[k], steps[k] = 1;
  for (int32_t k = 0; k < count; k++) {
    const int64_t axis = axes[k] < 0 ? axes[k] + x->rank : axes[k], size = x->shape[axis];
    if (by[k] < 1) return "guests are shown steps forward alone";
    const int64_t f = start[k] < 0 ? start[k] + size : start[k],
                  t = end[k] < 0 ? end[k] + size : end[k];
    from[axis] = f < 0 ? 0 : f;
    to[axis] = t > size ? size : t;
    steps[axis] = by[k];
  }
  return NULL;
}

static const char *slice(lrt_bridge *b, const tn_node *n) {
  const int32_t rank = lrt_type_of(b, n->inputs[0])->rank;
  int64_t from[GUEST_MAX_RANK], to[GUEST_MAX_RANK], steps[GUEST_MAX_RANK];
  const char *why = read_slice(b, n, from, to, steps);
  if (why) return why;
  const int is_last = lrt_prefers_last(b, n->inputs[0]);
  arrange(from, is_last);
  arrange(to, is_last);
  arrange(steps, is_last);
  lrt_tensor *const inputs[] = {form(b, n->inputs[0], is_last), lrt_ints(b, from, rank),
                                lrt_ints(b, to, rank), lrt_ints(b, steps, rank)};
  lrt_emit(b, LRT_STRIDED_SLICE, inputs, 4, n->outputs[0], is_last);
  return NULL;
}

/* Each piece is a slice. */
static const char *split(lrt_bridge *b, const tn_node *n) {
  const tn_tensor *x = lrt_type_of(b, n->inputs[0]);
  const int is_last = lrt_prefers_last(b, n->inputs[0]);
  int64_t axis = tn_pattern_int(n, "axis", 0), done = 0;
  if (axis < 0) axis += x->rank;
  for (uint32_t k = 0; k < n->n_outputs; k++)
    if (n->outputs[k] < 0) return "guests are shown all pieces";
  for (uint32_t k = 0; k < n->n_outputs; k++) {
    const tn_tensor *y = lrt_type_of(b, n->outputs[k]);
    int64_t from[GUEST_MAX_RANK] = {0}, to[GUEST_MAX_RANK], steps[GUEST_MAX_RANK];
    for (int32_t i = 0; i < x->rank; i++) to[i] = x->shape[i], steps[i] = 1;
    from[axis] = done;
    to[axis] = done += y->shape[axis];
    arrange(from, is_last);
    arrange(to, is_last);
    lrt_tensor *const inputs[] = {form(b, n->inputs[0], is_last), lrt_ints(b, from, x->rank),
                                  lrt_ints(b, to, x->rank), lrt_ints(b, steps, x->rank)};
    lrt_emit(b, LRT_STRIDED_SLICE, inputs, 4, n->outputs[k], is_last);
  }
  return NULL;
}

/* ---- around and between ---- */

static int is_mode(const tn_node *n, const char *name, const char *word, int missing) {
  const tn_attr *a = tn_pattern_attr(n, name, TN_ATTR_STR);
  return a ? a->s.size == (int64_t)strlen(word) && !memcmp(a->s.data, word, strlen(word)) : missing;
}

static const char *pad(lrt_bridge *b, const tn_node *n) {
  const tn_tensor *x = lrt_type_of(b, n->inputs[0]);
  const int32_t fill = tn_pattern_input(n, 2);
  int64_t pads[2 * GUEST_MAX_RANK], axes[GUEST_MAX_RANK], both[2 * GUEST_MAX_RANK] = {0};
  const int32_t count = lrt_const_ints(b, n, 1, pads, 2 * GUEST_MAX_RANK);
  if (!is_mode(n, "mode", "constant", 1)) return "guests are shown pads by a constant alone";
  if (count < 0 || (fill >= 0 && !lrt_is_const(b, fill))) return "an argument is no constant";
  for (int32_t k = 0; k < x->rank; k++) axes[k] = k;
  if (tn_pattern_input(n, 3) >= 0 && lrt_const_ints(b, n, 3, axes, GUEST_MAX_RANK) < 0)
    return "an argument is no constant";
  const int is_last = lrt_prefers_last(b, n->inputs[0]);
  for (int32_t k = 0; k < count / 2; k++) {
    const int32_t axis = (int32_t)(axes[k] < 0 ? axes[k] + x->rank : axes[k]);
    const int32_t at = is_last ? lrt_moved_axis(axis) : axis;
    if (pads[k] < 0 || pads[k + count / 2] < 0) return "guests are shown no pads that cut off";
    both[2 * at] = pads[k];
    both[2 * at + 1] = pads[k + count / 2];
  }
  int32_t *data = (int32_t *)lrt_alloc(b->to->memory, 2 * GUEST_MAX_RANK * sizeof *data);
  for (int32_t k = 0; data && k < 2 * x->rank; k++) data[k] = (int32_t)both[k];
  const int64_t shape[] = {x->rank, 2};
  const float value = fill < 0 ? 0 : ((const float *)lrt_type_of(b, fill)->data)[0];
  lrt_tensor *const inputs[] = {form(b, n->inputs[0], is_last),
                                data ? lrt_tensor_new(b->to, TN_I32, 2, shape, data) : NULL,
                                lrt_number(b, (double)value)};
  lrt_emit(b, value != 0 ? LRT_PADV2 : LRT_PAD, inputs, value != 0 ? 3 : 2, n->outputs[0], is_last);
  return NULL;
}

/* By constant places, which the data is looked up at. */
static const char *gather(lrt_bridge *b, const tn_node *n) {
  enum { MOST = 4096 };
  const tn_tensor *x = lrt_type_of(b, n->inputs[0]), *at = lrt_type_of(b, n->inputs[1]);
  int64_t axis = tn_pattern_int(n, "axis", 0), places[MOST];
  if (axis < 0) axis += x->rank;
  const int32_t count = lrt_const_ints(b, n, 1, places, MOST);
  if (count < 0) return "indices are no constant";
  int32_t *data = (int32_t *)lrt_alloc(b->to->memory, (uint64_t)count * sizeof *data + 1);
  for (int32_t k = 0; k < count; k++) {
    if (places[k] < 0) places[k] += x->shape[axis];
    if (places[k] < 0 || places[k] >= x->shape[axis]) return "an index lies outside";
    if (data) data[k] = (int32_t)places[k];
  }
  lrt_tensor *const inputs[] = {
      lrt_plain(b, n->inputs[0]),
      data ? lrt_tensor_new(b->to, TN_I32, at->rank, at->shape, data) : NULL};
  lrt_op *op = lrt_emit(b, LRT_GATHER, inputs, 2, n->outputs[0], 0);
  if (op) op->options[LRT_AXIS] = (double)axis;
  return NULL;
}

static const char *depth_to_space(lrt_bridge *b, const tn_node *n) {
  if (!is_mode(n, "mode", "DCR", 1)) return "TFLite has it in the order DCR";
  lrt_tensor *const x = lrt_last(b, n->inputs[0]);
  lrt_op *op = lrt_emit(b, LRT_DEPTH_TO_SPACE, &x, 1, n->outputs[0], 1);
  if (op) op->options[LRT_NUMBER] = (double)tn_pattern_int(n, "blocksize", 1);
  return NULL;
}

/* Sizes are those of the output; factors have to be those of the sizes. */
static const char *refuse_resize(const lrt_bridge *b, const tn_node *n) {
  const tn_tensor *x = lrt_type_of(b, n->inputs[0]), *y = lrt_type_of(b, n->outputs[0]);
  const int32_t scales = tn_pattern_input(n, 2);
  if (x->rank != 4 || x->shape[0] != y->shape[0] || x->shape[1] != y->shape[1])
    return "TFLite resizes images alone";
  if (tn_pattern_int(n, "antialias", 0) || !is_mode(n, "keep_aspect_ratio_policy", "stretch", 1))
    return "TFLite does not resize so";
  if (tn_pattern_input(n, 3) >= 0 || scales < 0) return NULL;
  const tn_tensor *s = lrt_type_of(b, scales);
  if (!lrt_is_const(b, scales)) return "an argument is no constant";
  for (int32_t k = 0; k < 4 && tn_elements(s) == 4; k++)
    if ((double)((const float *)s->data)[k] * (double)x->shape[k] != (double)y->shape[k])
      return "TFLite resizes by the sizes alone";
  return NULL;
}

static const char *resize(lrt_bridge *b, const tn_node *n) {
  const tn_tensor *y = lrt_type_of(b, n->outputs[0]);
  const int is_linear = is_mode(n, "mode", "linear", 0),
            is_nearest = is_mode(n, "mode", "nearest", 1);
  const int is_half = is_mode(n, "coordinate_transformation_mode", "half_pixel", 1);
  const int is_aligned = is_mode(n, "coordinate_transformation_mode", "align_corners", 0);
  const int is_simple = is_mode(n, "coordinate_transformation_mode", "asymmetric", 0);
  const char *why = refuse_resize(b, n);
  if (why) return why;
  if ((!is_linear && !is_nearest) || (!is_half && !is_aligned && !is_simple))
    return "TFLite does not resize so";
  if (is_nearest && (!is_simple || !is_mode(n, "nearest_mode", "floor", 0)))
    return "TFLite has other neighbours";
  lrt_tensor *const inputs[] = {lrt_last(b, n->inputs[0]), lrt_ints(b, y->shape + 2, 2)};
  lrt_op *op = lrt_emit(b, is_linear ? LRT_RESIZE_BILINEAR : LRT_RESIZE_NEAREST, inputs, 2,
                        n->outputs[0], 1);
  if (!op) return NULL;
  op->options[LRT_FLAG] = is_aligned;
  op->options[LRT_FLAG_2] = is_linear && is_half;
  return NULL;
}

const lrt_rule lrt_move_rules[] = {{"Concat", concat},     {"DepthToSpace", depth_to_space},
                                   {"Expand", expand},     {"Flatten", reshape},
                                   {"Gather", gather},     {"Pad", pad},
                                   {"Reshape", reshape},   {"Resize", resize},
                                   {"Slice", slice},       {"Split", split},
                                   {"Squeeze", reshape},   {"Transpose", transpose},
                                   {"Unsqueeze", reshape}, {NULL, NULL}};
