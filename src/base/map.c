/* The string map: linear probing, deletion by shifting back, at most 3/4 full. */
#include "base/map.h"

#include <string.h>

struct tn_map_slot {
  const char *key; /* NULL: free */
  uint64_t hash;
  int64_t value;
};

static uint64_t mix(uint64_t h, uint64_t word) {
  h = (h ^ word) * UINT64_C(0x9E3779B97F4A7C15);
  return h ^ h >> 32;
}

uint64_t tn_hash_bytes(const void *data, uint64_t size, uint64_t seed) {
  const uint8_t *p = data;
  uint64_t h = mix(seed ^ UINT64_C(0xD6E8FEB86659FD93), size), word;
  for (; size >= 8; size -= 8, p += 8) {
    memcpy(&word, p, 8);
    h = mix(h, word);
  }
  word = 0;
  if (size) memcpy(&word, p, (size_t)size);
  return mix(mix(h, word), 0);
}

void tn_map_init(tn_map *map, const tn_allocator *a) {
  map->a = a;
  map->slots = NULL;
  map->n = map->cap = 0;
  map->borrows = false;
}

void tn_map_init_borrowing(tn_map *map, const tn_allocator *a) {
  tn_map_init(map, a);
  map->borrows = true;
}

static void key_free(const tn_map *map, const char *key) {
  if (!map->borrows) tn_free(map->a, (void *)(uintptr_t)key, strlen(key) + 1);
}

static const char *key_copy(const tn_map *map, const char *key, uint64_t length) {
  if (map->borrows) return key;
  char *copy = tn_alloc(map->a, length + 1);
  if (copy) memcpy(copy, key, (size_t)length);
  return copy;
}

void tn_map_free(tn_map *map) {
  for (int64_t i = 0; i < map->cap; i++) {
    if (map->slots[i].key) key_free(map, map->slots[i].key);
  }
  tn_free(map->a, map->slots, (uint64_t)map->cap * sizeof *map->slots);
  tn_map_init(map, map->a);
}

/* The slot of key, or the free one where it belongs. The map must have a free slot. */
static struct tn_map_slot *slot_find(const tn_map *map, const char *key, uint64_t hash) {
  uint64_t mask = (uint64_t)map->cap - 1, i = hash & mask;
  while (map->slots[i].key) {
    if (map->slots[i].hash == hash && !strcmp(map->slots[i].key, key)) break;
    i = (i + 1) & mask;
  }
  return &map->slots[i];
}

static tn_status map_grow(tn_map *map) {
  tn_map bigger = {map->a, NULL, map->n, map->cap ? 2 * map->cap : 16, map->borrows};
  if (bigger.cap > INT64_MAX / (int64_t)sizeof *map->slots) return TN_ERR_MEMORY;
  bigger.slots = tn_alloc(map->a, (uint64_t)bigger.cap * sizeof *map->slots);
  if (!bigger.slots) return TN_ERR_MEMORY;
  for (int64_t i = 0; i < map->cap; i++) {
    const struct tn_map_slot *slot = &map->slots[i];
    if (slot->key) *slot_find(&bigger, slot->key, slot->hash) = *slot;
  }
  tn_free(map->a, map->slots, (uint64_t)map->cap * sizeof *map->slots);
  *map = bigger;
  return TN_OK;
}

tn_status tn_map_set(tn_map *map, const char *key, int64_t value) {
  if (map->n >= map->cap - map->cap / 4 && map_grow(map)) return TN_ERR_MEMORY;
  uint64_t length = strlen(key), hash = tn_hash_bytes(key, length, 0);
  struct tn_map_slot *slot = slot_find(map, key, hash);
  if (!slot->key) {
    slot->key = key_copy(map, key, length);
    if (!slot->key) return TN_ERR_MEMORY;
    slot->hash = hash;
    map->n++;
  }
  slot->value = value;
  return TN_OK;
}

int64_t tn_map_get(const tn_map *map, const char *key, int64_t missing) {
  if (map->n == 0) return missing;
  const struct tn_map_slot *slot = slot_find(map, key, tn_hash_bytes(key, strlen(key), 0));
  return slot->key ? slot->value : missing;
}

void tn_map_remove(tn_map *map, const char *key) {
  if (map->n == 0) return;
  struct tn_map_slot *slot = slot_find(map, key, tn_hash_bytes(key, strlen(key), 0));
  if (!slot->key) return;
  key_free(map, slot->key);
  map->n--;
  /* Moves back every later slot of the run whose own place is not between the hole and itself. */
  uint64_t mask = (uint64_t)map->cap - 1, hole = (uint64_t)(slot - map->slots);
  for (uint64_t i = (hole + 1) & mask; map->slots[i].key; i = (i + 1) & mask) {
    uint64_t home = map->slots[i].hash & mask;
    if (((i - home) & mask) < ((i - hole) & mask)) continue;
    map->slots[hole] = map->slots[i];
    hole = i;
  }
  map->slots[hole] = (struct tn_map_slot){NULL, 0, 0};
}
