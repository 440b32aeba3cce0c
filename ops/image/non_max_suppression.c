/* NonMaxSuppression. The kernel keeps the candidates of a class in a heap, so that only as many are
 * put in order as are looked at; the reference looks for the best one that is left. */
#include <math.h>
#include <string.h>

#include "base/infer.h"
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

typedef struct limits {
  int64_t boxes, classes, max; /* max: per class */
  float iou, score;
  bool all, center; /* all: there is no threshold of scores */
} limits;

static bool counts(const limits *l, float score) {
  return l->all ? !isnan(score) : score > l->score;
}

static tn_status one_value(const tn_call *call, uint32_t input) {
  if (!tn_has_input(call, input) || tn_tensor_elements(call->inputs[input]) == 1) return TN_OK;
  return call->host->fail(call->ctx, TN_ERR_SHAPE, "input %u must be one value", (unsigned)input);
}

static tn_status limits_of(const tn_call *call, limits *out) {
  *out = (limits){
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

/* Corners, low ones first, whichever way the box is given. */
typedef struct box {
  float y0, x0, y1, x1;
} box;

static box box_of(const float *b, bool center) {
  if (center) return (box){b[1] - b[3] / 2, b[0] - b[2] / 2, b[1] + b[3] / 2, b[0] + b[2] / 2};
  return (box){fminf(b[0], b[2]), fminf(b[1], b[3]), fmaxf(b[0], b[2]), fmaxf(b[1], b[3])};
}

static bool overlap(const float *boxes, int64_t i, int64_t j, const limits *l) {
  box a = box_of(boxes + 4 * i, l->center), b = box_of(boxes + 4 * j, l->center);
  float height = fminf(a.y1, b.y1) - fmaxf(a.y0, b.y0),
        width = fminf(a.x1, b.x1) - fmaxf(a.x0, b.x0);
  if (!(height > 0 && width > 0)) return false;
  float area_a = (a.y1 - a.y0) * (a.x1 - a.x0), area_b = (b.y1 - b.y0) * (b.x1 - b.x0),
        common = height * width;
  float all = area_a + area_b - common;
  return area_a > 0 && area_b > 0 && all > 0 && common / all > l->iou;
}

/* ---- kernel; scratch: the heap of a class, and what is selected, class after class ---- */

tn_status non_max_suppression_plan(const tn_call *call, tn_kernel_plan *out) {
  const tn_tensor *scores = call->inputs[1];
  int64_t numbers;
  if (tn_mul_i64(scores->shape[0] * scores->shape[1] + 1, scores->shape[2], &numbers) ||
      numbers > INT64_MAX / 16)
    return call->host->fail(call->ctx, TN_ERR_OVERFLOW, "there are too many boxes and classes");
  if (scores->shape[2] > INT32_MAX)
    return call->host->fail(call->ctx, TN_ERR_OVERFLOW, "there are more than 2^31 boxes");
  out->scratch_bytes = (uint64_t)(numbers + scores->shape[0] * scores->shape[1]) * sizeof(int32_t);
  out->flags = TN_PLAN_DATA_DEPENDENT;
  return TN_OK;
}

static bool better(const float *scores, int32_t a, int32_t b) {
  return scores[a] > scores[b] || (scores[a] == scores[b] && a < b);
}

static void sift(const float *scores, int32_t *heap, int64_t root, int64_t n) {
  for (int64_t child; (child = 2 * root + 1) < n; root = child) {
    if (child + 1 < n && better(scores, heap[child + 1], heap[child])) child++;
    if (!better(scores, heap[child], heap[root])) return;
    int32_t swap = heap[root];
    heap[root] = heap[child];
    heap[child] = swap;
  }
}

/* Writes the boxes that a class keeps; answers how many. */
static int32_t select_class(const float *boxes, const float *scores, const limits *l, int32_t *heap,
                            int32_t *kept) {
  int64_t n = 0;
  int32_t n_kept = 0;
  for (int32_t k = 0; k < l->boxes; k++)
    if (counts(l, scores[k])) heap[n++] = k;
  for (int64_t k = n / 2; k-- > 0;) sift(scores, heap, k, n);
  while (n > 0 && n_kept < l->max) {
    int32_t best = heap[0], k = 0;
    heap[0] = heap[--n];
    sift(scores, heap, 0, n);
    while (k < n_kept && !overlap(boxes, best, kept[k], l)) k++;
    if (k == n_kept) kept[n_kept++] = best;
  }
  return n_kept;
}

static tn_status write_rows(const tn_call *call, const limits *l, const int32_t *counts,
                            const int32_t *kept, int64_t total) {
  int64_t dims[2] = {total, 3}, batches = call->inputs[0]->shape[0];
  tn_status s = call->host->output_resize(call->ctx, 0, 2, dims);
  int64_t *row = s ? NULL : call->outputs[0]->data;
  for (int64_t k = 0; row && k < batches * l->classes; k++)
    for (int32_t i = 0; i < counts[k]; i++, row += 3) {
      row[0] = k / l->classes;
      row[1] = k % l->classes;
      row[2] = *kept++;
    }
  return s;
}

tn_status non_max_suppression_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                                uint32_t worker) {
  const float *boxes = call->inputs[0]->data, *scores = call->inputs[1]->data;
  const int64_t batches = call->inputs[0]->shape[0];
  limits l;
  (void)stage, (void)begin, (void)end, (void)worker;
  tn_status s = limits_of(call, &l);
  if (s) return s;
  int32_t *counts = call->scratch, *heap = counts + batches * l.classes, *kept = heap + l.boxes;
  int64_t total = 0;
  for (int64_t k = 0; k < batches * l.classes; k++) {
    counts[k] = select_class(boxes + k / l.classes * l.boxes * 4, scores + k * l.boxes, &l, heap,
                             kept + total);
    total += counts[k];
  }
  return write_rows(call, &l, counts, kept, total);
}

/* ---- reference ---- */

/* The best box that is neither taken nor over a taken one; -1: none is left. state: 0 free, 1
 * taken, 2 out. */
static int64_t next_best(const float *scores, const limits *l, const uint8_t *state) {
  int64_t best = -1;
  for (int64_t k = 0; k < l->boxes; k++)
    if (!state[k] && counts(l, scores[k]) && (best < 0 || scores[k] > scores[best])) best = k;
  return best;
}

/* Rows of all classes into out (NULL: counts them only). */
static int64_t select_all(const tn_call *call, const limits *l, uint8_t *state, int64_t *out) {
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
  limits l;
  tn_status s = limits_of(call, &l);
  uint8_t *state = s ? NULL : call->host->alloc(call->ctx, (uint64_t)l.boxes + 1);
  if (!state) return s ? s : TN_ERR_MEMORY;
  int64_t dims[2] = {select_all(call, &l, state, NULL), 3};
  s = call->host->output_resize(call->ctx, 0, 2, dims);
  if (!s) select_all(call, &l, state, call->outputs[0]->data);
  call->host->free(call->ctx, state);
  return s;
}
