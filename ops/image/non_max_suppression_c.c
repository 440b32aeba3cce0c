/* NonMaxSuppression, portable: the candidates of a class are put in order by a radix sort of their
 * scores; a candidate is compared with many of the boxes that are kept at once. Boxes without area
 * overlap nothing. */
#include "non_max_suppression.h"

#include <string.h>

#include "image.gen.h"

enum { TOGETHER = 16, DIGIT_BITS = 8, DIGITS = 1 << DIGIT_BITS, PASSES = 4, FEW = 32 };

/* Corners and areas, each in a row of its own. */
typedef struct box_rows {
  float *y0, *x0, *y1, *x1, *area;
} box_rows;

static box_rows rows_in(float *memory, int64_t n) {
  return (box_rows){memory, memory + n, memory + 2 * n, memory + 3 * n, memory + 4 * n};
}

/* The scratch. */
typedef struct workspace {
  uint64_t *keys, *spare; /* [boxes]: what orders a candidate, and in its low half which it is */
  box_rows all, kept;     /* of a batch; of a class, up to a multiple of TOGETHER */
  int32_t *counts, *chosen;
} workspace;

static int64_t whole_groups(int64_t n) { return tn_ceil_div(n, TOGETHER) * TOGETHER; }

static workspace workspace_in(const tn_call *call, const nms_limits *l) {
  workspace w = {.keys = call->scratch};
  const int64_t groups = whole_groups(l->boxes);
  w.spare = w.keys + l->boxes;
  float *floats = (float *)(void *)(w.spare + l->boxes);
  w.all = rows_in(floats, groups);
  w.kept = rows_in(floats + 5 * groups, groups);
  w.counts = (int32_t *)(void *)(floats + 10 * groups);
  w.chosen = w.counts + call->inputs[0]->shape[0] * l->classes;
  return w;
}

tn_status non_max_suppression_plan(const tn_call *call, tn_kernel_plan *out) {
  const tn_tensor *scores = call->inputs[1];
  const int64_t boxes = scores->shape[2];
  int64_t classes, numbers;
  if (boxes > INT32_MAX)
    return call->host->fail(call->ctx, TN_ERR_OVERFLOW, "there are more than 2^31 boxes");
  if (tn_mul_i64(scores->shape[0], scores->shape[1], &classes) ||
      tn_mul_i64(classes, boxes + 1, &numbers) || numbers > INT64_MAX / 16)
    return call->host->fail(call->ctx, TN_ERR_OVERFLOW, "there are too many boxes and classes");
  out->scratch_bytes = (uint64_t)boxes * 2 * sizeof(uint64_t) +
                       (uint64_t)whole_groups(boxes) * 10 * sizeof(float) +
                       (uint64_t)numbers * sizeof(int32_t);
  out->flags = TN_PLAN_DATA_DEPENDENT;
  out->cost_ns = 1000 + (double)numbers * 3;
  return TN_OK;
}

static void find_corners(const float *boxes, const nms_limits *l, const box_rows *out) {
  for (int64_t k = 0; k < l->boxes; k++) {
    const nms_box b = nms_box_of(boxes + 4 * k, l->center);
    out->y0[k] = b.y0, out->x0[k] = b.x0, out->y1[k] = b.y1, out->x1[k] = b.x1;
    out->area[k] = (b.y1 - b.y0) * (b.x1 - b.x0);
  }
}

/* Greater scores give smaller numbers; 0 and -0 the same. */
static uint32_t rank_of(float score) {
  uint32_t bits;
  score += 0.0F;
  memcpy(&bits, &score, sizeof bits);
  return bits >> 31 ? bits : ~bits & 0x7fffffff;
}

/* The candidates of a class, in the order of the boxes; answers how many. */
static int64_t list_candidates(const float *scores, const nms_limits *l, uint64_t *keys) {
  int64_t n = 0;
  for (int64_t k = 0; k < l->boxes; k += TOGETHER) {
    const int64_t end = tn_min_i64(l->boxes, k + TOGETHER);
    if (!l->all && end - k == TOGETHER) {
      int32_t any = 0;
      for (int64_t i = 0; i < TOGETHER; i++) any |= scores[k + i] > l->score;
      if (!any) continue;
    }
    for (int64_t i = k; i < end; i++)
      if (nms_counts(l, scores[i])) keys[n++] = (uint64_t)rank_of(scores[i]) << 32 | (uint64_t)i;
  }
  return n;
}

static void sort_few(uint64_t *keys, int64_t n) {
  for (int64_t k = 1; k < n; k++) {
    const uint64_t key = keys[k];
    int64_t at = k;
    for (; at > 0 && keys[at - 1] > key; at--) keys[at] = keys[at - 1];
    keys[at] = key;
  }
}

/* By the high half; what is equal keeps its order. Answers which of the two holds them then. */
static uint64_t *sort_keys(uint64_t *keys, uint64_t *spare, int64_t n) {
  int32_t starts[PASSES][DIGITS] = {{0}};
  if (n <= FEW) {
    sort_few(keys, n);
    return keys;
  }
  for (int64_t k = 0; k < n; k++)
    for (int p = 0; p < PASSES; p++) starts[p][keys[k] >> (32 + p * DIGIT_BITS) & (DIGITS - 1)]++;
  for (int p = 0; p < PASSES; p++) {
    const int shift = 32 + p * DIGIT_BITS;
    if (starts[p][keys[0] >> shift & (DIGITS - 1)] == n) continue; /* all the same */
    int32_t sum = 0;
    for (int d = 0; d < DIGITS; d++) {
      const int32_t count = starts[p][d];
      starts[p][d] = sum;
      sum += count;
    }
    for (int64_t k = 0; k < n; k++) spare[starts[p][keys[k] >> shift & (DIGITS - 1)]++] = keys[k];
    uint64_t *swap = keys;
    keys = spare;
    spare = swap;
  }
  return keys;
}

/* Boxes n .. of the kept ones up to a whole group: overlap nothing. */
static void end_group(const box_rows *kept, int64_t n) {
  for (int64_t k = n; k < n + TOGETHER; k++) {
    kept->y0[k] = kept->x0[k] = INFINITY;
    kept->y1[k] = kept->x1[k] = -INFINITY;
    kept->area[k] = 1;
  }
}

static void keep_box(const box_rows *all, int64_t box, const box_rows *kept, int64_t n) {
  if (n % TOGETHER == 0) end_group(kept, n);
  kept->y0[n] = all->y0[box], kept->x0[n] = all->x0[box];
  kept->y1[n] = all->y1[box], kept->x1[n] = all->x1[box];
  kept->area[n] = all->area[box];
}

static bool overlaps_any(const box_rows *all, int64_t box, const box_rows *kept, int64_t n,
                         float iou) {
  const float top = all->y0[box], left = all->x0[box], bottom = all->y1[box], right = all->x1[box],
              area = all->area[box];
  for (int64_t from = 0; from < n; from += TOGETHER) {
    const float *y0 = kept->y0 + from, *x0 = kept->x0 + from, *y1 = kept->y1 + from,
                *x1 = kept->x1 + from, *areas = kept->area + from;
    int32_t any = 0;
    for (int k = 0; k < TOGETHER; k++) {
      const float height = (bottom < y1[k] ? bottom : y1[k]) - (top > y0[k] ? top : y0[k]),
                  width = (right < x1[k] ? right : x1[k]) - (left > x0[k] ? left : x0[k]),
                  common = height * width, both = area + areas[k] - common;
      any |= (height > 0) & (width > 0) & (both > 0) & (common / both > iou);
    }
    if (any) return true;
  }
  return false;
}

/* Writes the boxes that a class keeps; answers how many. */
static int32_t select_class(const float *scores, const nms_limits *l, const workspace *w,
                            int32_t *chosen) {
  const int64_t n = list_candidates(scores, l, w->keys);
  const uint64_t *keys = sort_keys(w->keys, w->spare, n);
  int64_t n_kept = 0; /* of those that have an area */
  int32_t n_chosen = 0;
  for (int64_t k = 0; k < n && n_chosen < l->max; k++) {
    const int32_t box = (int32_t)(keys[k] & 0xffffffff);
    const bool has_area = w->all.area[box] > 0;
    if (has_area && overlaps_any(&w->all, box, &w->kept, n_kept, l->iou)) continue;
    if (has_area) keep_box(&w->all, box, &w->kept, n_kept++);
    chosen[n_chosen++] = box;
  }
  return n_chosen;
}

static tn_status write_rows(const tn_call *call, const nms_limits *l, const int32_t *counts,
                            const int32_t *chosen, int64_t total) {
  int64_t dims[2] = {total, 3}, batches = call->inputs[0]->shape[0];
  tn_status s = call->host->output_resize(call->ctx, 0, 2, dims);
  int64_t *row = s ? NULL : call->outputs[0]->data;
  for (int64_t k = 0; row && k < batches * l->classes; k++)
    for (int32_t i = 0; i < counts[k]; i++, row += 3) {
      row[0] = k / l->classes;
      row[1] = k % l->classes;
      row[2] = *chosen++;
    }
  return s;
}

tn_status non_max_suppression_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                                uint32_t worker) {
  const float *boxes = call->inputs[0]->data, *scores = call->inputs[1]->data;
  nms_limits l;
  (void)stage, (void)begin, (void)end, (void)worker;
  tn_status s = nms_limits_of(call, &l);
  if (s) return s;
  const workspace w = workspace_in(call, &l);
  int64_t total = 0;
  for (int64_t k = 0; k < call->inputs[0]->shape[0] * l.classes; k++) {
    if (k % l.classes == 0) find_corners(boxes + k / l.classes * l.boxes * 4, &l, &w.all);
    w.counts[k] = select_class(scores + k * l.boxes, &l, &w, w.chosen + total);
    total += w.counts[k];
  }
  return write_rows(call, &l, w.counts, w.chosen, total);
}
