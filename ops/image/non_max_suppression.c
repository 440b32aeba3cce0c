/* NonMaxSuppression: inference, and the reference, which looks for the best box that is left. */
#include "non_max_suppression.h"

#include <string.h>

#include "image.gen.h"

tn_status non_max_suppression_infer(const tn_call *call) {
  const tn_tensor *boxes = call->inputs[0], *scores = call->inputs[1];
  int64_t dims[2] = {TN_DIM_UNKNOWN, 3};
  if (boxes->rank != 3 || boxes->shape[2] != 4 || scores->rank != 3)
    return call->host->fail(
        call->ctx, TN_ERR_SHAPE,
        "boxes must be [batches, boxes, 4] and scores [batches, classes, boxes]");
  if (boxes->shape[0] != scores->shape[0] || boxes->shape[1] != scores->shape[2])
    return call->host->fail(call->ctx, TN_ERR_SHAPE,
                            "there are %lld x %lld boxes, but scores for %lld x %lld",
                            (long long)boxes->shape[0], (long long)boxes->shape[1],
                            (long long)scores->shape[0], (long long)scores->shape[2]);
  int64_t center = ((const tn_non_max_suppression_attrs *)call->attrs)->center_point_box;
  if (center < 0 || center > 1)
    return call->host->fail(call->ctx, TN_ERR_INVALID,
                            "attribute 'center_point_box' is %lld; it may be 0 or 1",
                            (long long)center);
  tn_infer_shape(call, 0, TN_I64, 2, dims);
  return TN_OK;
}

static tn_status one_value(const tn_call *call, uint32_t input) {
  if (!tn_has_input(call, input) || tn_elements(call->inputs[input]) == 1) return TN_OK;
  return call->host->fail(call->ctx, TN_ERR_SHAPE, "input %u must be one value", (unsigned)input);
}

tn_status nms_limits_of(const tn_call *call, nms_limits *out) {
  *out = (nms_limits){
      .boxes = call->inputs[0]->shape[1],
      .classes = call->inputs[1]->shape[1],
      .all = !tn_has_input(call, 4),
      .center = ((const tn_non_max_suppression_attrs *)call->attrs)->center_point_box != 0};
  for (uint32_t k = 2; k < 5; k++) {
    tn_status s = one_value(call, k);
    if (s) return s;
  }
  if (tn_has_input(call, 2))
    out->max = tn_min_i64(*(const int64_t *)call->inputs[2]->data, out->boxes);
  if (tn_has_input(call, 3)) out->iou = *(const float *)call->inputs[3]->data;
  if (tn_has_input(call, 4)) out->score = *(const float *)call->inputs[4]->data;
  if (out->iou >= 0 && out->iou <= 1) return TN_OK;
  return call->host->fail(call->ctx, TN_ERR_INVALID, "iou_threshold is %g; it must be 0 .. 1",
                          (double)out->iou);
}

static bool overlap(const float *boxes, int64_t i, int64_t j, const nms_limits *l) {
  nms_box a = nms_box_of(boxes + 4 * i, l->center), b = nms_box_of(boxes + 4 * j, l->center);
  float height = fminf(a.y1, b.y1) - fmaxf(a.y0, b.y0),
        width = fminf(a.x1, b.x1) - fmaxf(a.x0, b.x0);
  if (!(height > 0 && width > 0)) return false;
  float area_a = (a.y1 - a.y0) * (a.x1 - a.x0), area_b = (b.y1 - b.y0) * (b.x1 - b.x0),
        common = height * width;
  float all = area_a + area_b - common;
  return area_a > 0 && area_b > 0 && all > 0 && common / all > l->iou;
}

/* ---- reference ---- */

/* The best box that is neither taken nor over a taken one; -1: none is left. state: 0 free, 1
 * taken, 2 out. */
static int64_t next_best(const float *scores, const nms_limits *l, const uint8_t *state) {
  int64_t best = -1;
  for (int64_t k = 0; k < l->boxes; k++)
    if (!state[k] && nms_counts(l, scores[k]) && (best < 0 || scores[k] > scores[best])) best = k;
  return best;
}

/* Rows of all classes into out (NULL: counts them only). */
static int64_t select_all(const tn_call *call, const nms_limits *l, uint8_t *state, int64_t *out) {
  int64_t total = 0;
  for (int64_t k = 0; k < call->inputs[0]->shape[0] * l->classes; k++) {
    const float *boxes = (const float *)call->inputs[0]->data + k / l->classes * l->boxes * 4;
    const float *scores = (const float *)call->inputs[1]->data + k * l->boxes;
    int64_t best, n = 0;
    memset(state, 0, (size_t)l->boxes);
    for (; n < l->max && (best = next_best(scores, l, state)) >= 0; n++, total++) {
      state[best] = 1;
      for (int64_t i = 0; i < l->boxes; i++)
        if (!state[i] && overlap(boxes, i, best, l)) state[i] = 2;
      if (out)
        out[total * 3] = k / l->classes, out[total * 3 + 1] = k % l->classes,
                    out[total * 3 + 2] = best;
    }
  }
  return total;
}

tn_status non_max_suppression_reference(const tn_call *call) {
  nms_limits l;
  tn_status s = nms_limits_of(call, &l);
  uint8_t *state = s ? NULL : call->host->alloc(call->ctx, (uint64_t)l.boxes + 1);
  if (!state) return s ? s : TN_ERR_MEMORY;
  int64_t dims[2] = {select_all(call, &l, state, NULL), 3};
  s = call->host->output_resize(call->ctx, 0, 2, dims);
  if (!s) select_all(call, &l, state, call->outputs[0]->data);
  call->host->free(call->ctx, state);
  return s;
}
