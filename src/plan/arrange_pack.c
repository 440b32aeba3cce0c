/* Packing lives into an arena: several greedy orders, each life into the smallest gap that holds
 * it; then a few rounds in which what lies on top is placed earlier. The best packing found
 * stays. */
#include <string.h>

#include "plan/arrange.h"

enum { MAX_ROUNDS = 48, MANY = 2500 };

typedef struct packer {
  tn_life *lives;
  int32_t n;
  int32_t *order;   /* in which lives are placed */
  int32_t *placed;  /* placed ones by offset */
  uint64_t *offset; /* of the packing being made */
  uint64_t *best;
  uint64_t *weight; /* what the order sorts by, descending */
  uint64_t bytes, bound;
  int32_t *scratch;
} packer;

static bool meet(const tn_life *a, const tn_life *b) {
  return a->first <= b->last && b->first <= a->last;
}

/* Offset of the smallest gap among the placed lives that are there at the same time. */
static uint64_t best_gap(const packer *p, int32_t n_placed, const tn_life *life) {
  uint64_t end = 0, at = UINT64_MAX, least = UINT64_MAX;
  for (int32_t k = 0; k < n_placed; k++) {
    const tn_life *other = &p->lives[p->placed[k]];
    if (!other->bytes || !meet(life, other)) continue;
    uint64_t begin = p->offset[p->placed[k]];
    if (begin > end && begin - end >= life->bytes && begin - end < least) {
      least = begin - end;
      at = end;
    }
    if (begin + other->bytes > end) end = begin + other->bytes;
  }
  return at == UINT64_MAX ? end : at;
}

static void insert(packer *p, int32_t n_placed, int32_t life) {
  int32_t k = n_placed;
  while (k > 0 && p->offset[p->placed[k - 1]] > p->offset[life]) k--;
  memmove(p->placed + k + 1, p->placed + k, (size_t)(n_placed - k) * sizeof *p->placed);
  p->placed[k] = life;
}

static uint64_t place_all(packer *p) {
  uint64_t top = 0;
  for (int32_t k = 0; k < p->n; k++) {
    int32_t life = p->order[k];
    p->offset[life] = best_gap(p, k, &p->lives[life]);
    insert(p, k, life);
    if (p->offset[life] + p->lives[life].bytes > top) top = p->offset[life] + p->lives[life].bytes;
  }
  return top;
}

static void try_order(packer *p) {
  uint64_t top = place_all(p);
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

enum { BY_SIZE, BY_AREA, BY_START, BY_SPAN, BY_PEAK, N_KEYS };

static void sort_by(packer *p, int key, int32_t peak) {
  for (int32_t k = 0; k < p->n; k++) {
    const tn_life *life = &p->lives[k];
    uint64_t span = (uint64_t)(life->last - life->first) + 1, size = life->bytes;
    bool at_peak = life->first <= peak && peak <= life->last;
    uint64_t keys[N_KEYS] = {size, size > UINT64_MAX / span ? UINT64_MAX : size * span,
                             UINT64_MAX - (uint64_t)(life->first + 1), span,
                             at_peak ? UINT64_MAX / 2 + size / 2 : size / 2};
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

/* Most bytes alive at once, and when. Only times at which something begins can be it. */
static uint64_t find_bound(packer *p, int32_t *out_peak) {
  uint64_t bound = 0;
  for (int32_t k = 0; k < p->n; k++) {
    uint64_t sum = 0;
    for (int32_t j = 0; j < p->n; j++)
      if (p->lives[j].first <= p->lives[k].first && p->lives[k].first <= p->lives[j].last)
        sum += p->lives[j].bytes;
    if (sum > bound) bound = sum, *out_peak = p->lives[k].first;
  }
  return bound;
}

/* Moves the lives that end at the top to the front of the order. */
static void raise_top(packer *p) {
  int32_t n = 0, rest = 0;
  for (int32_t k = 0; k < p->n; k++)
    if (p->offset[p->order[k]] + p->lives[p->order[k]].bytes >= p->bytes)
      p->scratch[n++] = p->order[k];
  for (int32_t k = 0; k < p->n; k++)
    if (p->offset[p->order[k]] + p->lives[p->order[k]].bytes < p->bytes)
      p->scratch[n + rest++] = p->order[k];
  memcpy(p->order, p->scratch, (size_t)p->n * sizeof *p->order);
}

static void pack(packer *p) {
  int32_t peak = 0;
  p->bound = find_bound(p, &peak);
  p->bytes = UINT64_MAX;
  for (int key = 0; key < N_KEYS && p->bytes > p->bound; key++) {
    sort_by(p, key, peak);
    try_order(p);
    if (p->n > MANY && key == BY_AREA) break;
    if (key != BY_START) continue;
    reverse(p->order, p->n);
    try_order(p);
  }
  sort_by(p, BY_SIZE, peak);
  for (int round = 0; round < MAX_ROUNDS && p->n <= MANY && p->bytes > p->bound; round++) {
    (void)place_all(p);
    raise_top(p);
    try_order(p);
  }
}

tn_status tn_pack(const tn_allocator *a, tn_life *lives, int32_t n, uint64_t *out_bytes,
                  uint64_t *out_bound) {
  *out_bytes = *out_bound = 0;
  tn_arena arena;
  tn_arena_init(&arena, a);
  uint64_t count = (uint64_t)n + 1;
  packer p = {.lives = lives, .n = n};
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
    if (lives[k].bytes > (uint64_t)INT64_MAX / 2)
      status = TN_ERR_OVERFLOW;
    else
      lives[k].bytes = tn_round_up(lives[k].bytes, TN_ARENA_ALIGN);
    if (!status) status = tn_add_u64(total, lives[k].bytes, &total);
  }
  if (!status && total > (uint64_t)INT64_MAX) status = TN_ERR_OVERFLOW;
  if (!status && n) {
    pack(&p);
    for (int32_t k = 0; k < n; k++) lives[k].offset = p.best[k];
    *out_bytes = p.bytes;
    *out_bound = p.bound;
  }
  tn_arena_clear(&arena);
  return status;
}
