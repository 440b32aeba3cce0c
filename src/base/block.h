/* Memory blocks that know their size: behind host->alloc and host->free, whose callers do not tell sizes. All tables of
 * services use these two, so that a block may be had from one and given back to another. */
#ifndef TN_BASE_BLOCK_H
#define TN_BASE_BLOCK_H

#include "base/alloc.h"

enum { TN_BLOCK_HEAD = 64 };

/* Zeroed, 64-byte aligned, NULL if there is none. */
static inline void *tn_block_alloc(const tn_allocator *a, uint64_t bytes) {
  if (bytes > (uint64_t)INT64_MAX - TN_BLOCK_HEAD) return NULL;
  uint64_t *head = tn_alloc(a, TN_BLOCK_HEAD + bytes);
  if (!head) return NULL;
  *head = TN_BLOCK_HEAD + bytes;
  return (uint8_t *)head + TN_BLOCK_HEAD;
}

/* memory: from tn_block_alloc with the same allocator, or NULL. */
static inline void tn_block_free(const tn_allocator *a, void *memory) {
  if (!memory) return;
  void *head = (uint8_t *)memory - TN_BLOCK_HEAD;
  tn_free(a, head, *(const uint64_t *)head);
}

#endif
