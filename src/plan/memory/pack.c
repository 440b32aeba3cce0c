/* Packing live ranges into an arena: several greedy orders, each live range into the smallest gap
 * that holds it; then a few rounds in which what lies on top is placed earlier. The best packing
 * found stays. */
#include <string.h>

#include "plan/memory/arrange.h"

/* Orders other than by start take time that is quadratic in the number of live ranges. */
enum { MAX_ROUNDS = 48, MANY = 2500, TOO_MANY = 20000 };

typedef struct packer {
  tn_live_range *live_ranges;
  int32_t n;
  int32_t *order;   /* in which live ranges are placed */
  int32_t *placed;  /* placed ones by offset */
  uint64_t *offset; /* of the packing being made */
  uint64_t *best;
  uint64_t *weight; /* what the order sorts by, descending */
  uint64_t bytes, bound;
  int32_t *scratch;
} packer;

static bool meet(const tn_live_range *a, const tn_live_range *b) {
  return a->first <= b->last && b->first <= a->last;
}

/* Offset of the smallest gap among the placed live ranges that are there at the same time. */
static uint64_t best_gap(const packer *p, int32_t n_placed, const tn_live_range *live_range) {
  uint64_t end = 0, at = UINT64_MAX, least = UINT64_MAX;
  for (int32_t k = 0; k < n_placed; k++) {
    const tn_live_range *other = &p->live_ranges[p->placed[k]];
    if (!other->bytes || !meet(live_range, other)) continue;
    uint64_t begin = p->offset[p->placed[k]];
    if (begin > end && begin - end >= live_range->bytes && begin - end < least) {
      least = begin - end;
      at = end;
    }
    if (begin + other->bytes > end) end = begin + other->bytes;
  }
  return at == UINT64_MAX ? end : at;
}

static void insert(packer *p, int32_t n_placed, int32_t live_range) {
  int32_t k = n_placed;
  while (k > 0 && p->offset[p->placed[k - 1]] > p->offset[live_range]) k--;
  memmove(p->placed + k + 1, p->placed + k, (size_t)(n_placed - k) * sizeof *p->placed);
  p->placed[k] = live_range;
}

/* What has ended is met by nothing that begins later. Answers how many are left. */
static int32_t drop_ended(packer *p, int32_t n_placed, int32_t now) {
  int32_t kept = 0;
  for (int32_t k = 0; k < n_placed; k++)
    if (p->live_ranges[p->placed[k]].last >= now) p->placed[kept++] = p->placed[k];
  return kept;
}

/* by_start: that is how the order is sorted; then it takes time for what lives at once only. */
static uint64_t place_all(packer *p, bool by_start) {
  uint64_t top = 0;
  int32_t n_placed = 0;
  for (int32_t k = 0; k < p->n; k++) {
    int32_t live_range = p->order[k];
    if (by_start) n_placed = drop_ended(p, n_placed, p->live_ranges[live_range].first);
    p->offset[live_range] = best_gap(p, n_placed, &p->live_ranges[live_range]);
    insert(p, n_placed++, live_range);
    if (p->offset[live_range] + p->live_ranges[live_range].bytes > top)
      top = p->offset[live_range] + p->live_ranges[live_range].bytes;
  }
  return top;
}

static void try_order(packer *p, bool by_start) {
  uint64_t top = place_all(p, by_start);
  if (top >= p->bytes) return;
  p->bytes = top;
  memcpy(p->best, p->offset, (size_t)p->n * sizeof *p->best);
}

/* Stable merge sort by weight, descending: equal weights stay in order of time, so that packings
 * are reproducible. */
static void sort_range(packer *p, int32_t begin, int32_t end) {
  if (end - begin < 2) return;
  int32_t middle = begin + (end - begin) / 2, i = begin, j = middle;
  sort_range(p, begin, middle);
  sort_range(p, middle, end);
  for (int32_t k = begin; k < end; k++) {
    bool left = i < middle && (j >= end || p->weight[p->order[i]] >= p->weight[p->order[j]]);
    p->scratch[k] = p->order[left ? i++ : j++];
  }
  memcpy(p->order + begin, p->scratch + begin, (size_t)(end - begin) * sizeof *p->order);
}

enum { BY_SIZE, BY_AREA, BY_START, BY_SPAN, BY_PEAK, N_KEYS, BY_END = N_KEYS };

static void sort_by(packer *p, int key, int32_t peak) {
  for (int32_t k = 0; k < p->n; k++) {
    const tn_live_range *live_range = &p->live_ranges[k];
    uint64_t span = (uint64_t)(live_range->last - live_range->first) + 1, size = live_range->bytes;
    bool at_peak = live_range->first <= peak && peak <= live_range->last;
    uint64_t keys[] = {size,
                       size > UINT64_MAX / span ? UINT64_MAX : size * span,
                       UINT64_MAX - (uint64_t)(live_range->first + 1),
                       span,
                       at_peak ? UINT64_MAX / 2 + size / 2 : size / 2,
                       UINT64_MAX - (uint64_t)(live_range->last + 1)};
    p->order[k] = k;
    p->weight[k] = keys[key];
  }
  sort_range(p, 0, p->n);
}

static void reverse(int32_t *ids, int32_t n) {
  for (int32_t i = 0, j = n - 1; i < j; i++, j--) {
    int32_t id = ids[i];
    ids[i] = ids[j];
    ids[j] = id;
  }
}

/* Most bytes alive at once, and when: ranges begin in `order` and end in the order of `placed`. */
static uint64_t find_bound(packer *p, int32_t *out_peak) {
  uint64_t bound = 0, sum = 0;
  sort_by(p, BY_END, 0);
  memcpy(p->placed, p->order, (size_t)p->n * sizeof *p->placed);
  sort_by(p, BY_START, 0);
  for (int32_t k = 0, ended = 0; k < p->n; k++) {
    const tn_live_range *live_range = &p->live_ranges[p->order[k]];
    while (p->live_ranges[p->placed[ended]].last < live_range->first)
      sum -= p->live_ranges[p->placed[ended++]].bytes;
    sum += live_range->bytes;
    if (sum > bound) bound = sum, *out_peak = live_range->first;
  }
  return bound;
}

/* Moves the live ranges that end at the top to the front of the order. */
static void raise_top(packer *p) {
  int32_t n = 0, rest = 0;
  for (int32_t k = 0; k < p->n; k++)
    if (p->offset[p->order[k]] + p->live_ranges[p->order[k]].bytes >= p->bytes)
      p->scratch[n++] = p->order[k];
  for (int32_t k = 0; k < p->n; k++)
    if (p->offset[p->order[k]] + p->live_ranges[p->order[k]].bytes < p->bytes)
      p->scratch[n + rest++] = p->order[k];
  memcpy(p->order, p->scratch, (size_t)p->n * sizeof *p->order);
}

static void pack(packer *p) {
  int32_t peak = 0;
  p->bound = find_bound(p, &peak);
  p->bytes = UINT64_MAX;
  if (p->n > MANY) try_order(p, true); /* it is sorted so */
  if (p->n > TOO_MANY) return;
  for (int key = 0; key < N_KEYS && p->bytes > p->bound; key++) {
    sort_by(p, key, peak);
    try_order(p, key == BY_START);
    if (p->n > MANY && key == BY_AREA) break;
    if (key != BY_START) continue;
    reverse(p->order, p->n);
    try_order(p, false);
  }
  sort_by(p, BY_SIZE, peak);
  for (int round = 0; round < MAX_ROUNDS && p->n <= MANY && p->bytes > p->bound; round++) {
    (void)place_all(p, false);
    raise_top(p);
    try_order(p, false);
  }
}

tn_status tn_pack(const tn_allocator *a, tn_live_range *live_ranges, int32_t n, uint64_t *out_bytes,
                  uint64_t *out_bound) {
  *out_bytes = *out_bound = 0;
  tn_arena arena;
  tn_arena_init(&arena, a);
  uint64_t count = (uint64_t)n + 1;
  packer p = {.live_ranges = live_ranges, .n = n};
  p.order = tn_arena_alloc(&arena, count * sizeof *p.order);
  p.placed = tn_arena_alloc(&arena, count * sizeof *p.placed);
  p.scratch = tn_arena_alloc(&arena, count * sizeof *p.scratch);
  p.offset = tn_arena_alloc(&arena, count * sizeof *p.offset);
  p.best = tn_arena_alloc(&arena, count * sizeof *p.best);
  p.weight = tn_arena_alloc(&arena, count * sizeof *p.weight);
  tn_status status =
      p.order && p.placed && p.scratch && p.offset && p.best && p.weight ? TN_OK : TN_ERR_MEMORY;
  uint64_t total = 0;
  for (int32_t k = 0; k < n && !status; k++) {
    if (live_ranges[k].bytes > (uint64_t)INT64_MAX / 2)
      status = TN_ERR_OVERFLOW;
    else
      live_ranges[k].bytes = tn_round_up(live_ranges[k].bytes, TN_ARENA_ALIGN);
    if (!status) status = tn_add_u64(total, live_ranges[k].bytes, &total);
  }
  if (!status && total > (uint64_t)INT64_MAX) status = TN_ERR_OVERFLOW;
  if (!status && n) {
    pack(&p);
    for (int32_t k = 0; k < n; k++) live_ranges[k].offset = p.best[k];
    *out_bytes = p.bytes;
    *out_bound = p.bound;
  }
  tn_arena_clear(&arena);
  return status;
}
