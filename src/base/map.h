/* Hash map from strings to int64, open addressing. Not thread-safe for writers. */
#ifndef TN_BASE_MAP_H
#define TN_BASE_MAP_H

#include <stdbool.h>

#include "base/alloc.h"

typedef struct tn_map {
  const tn_allocator *a;
  struct tn_map_slot *slots;
  int64_t n, cap;
  bool borrows; /* keys outlive the map; else it has copies */
} tn_map;

void tn_map_init(tn_map *map, const tn_allocator *a);
/* One that borrows its keys. */
void tn_map_init_borrowing(tn_map *map, const tn_allocator *a);
void tn_map_free(tn_map *map);
/* Sets key to value (replacing). TN_ERR_MEMORY leaves the map as it was. */
tn_status tn_map_set(tn_map *map, const char *key, int64_t value);
/* value of key, or `missing`. */
int64_t tn_map_get(const tn_map *map, const char *key, int64_t missing);
void tn_map_remove(tn_map *map, const char *key);
/* Fast, not for security; differs between byte orders. */
uint64_t tn_hash_bytes(const void *data, uint64_t size, uint64_t seed);

#endif
