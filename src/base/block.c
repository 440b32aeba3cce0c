/* Memory that knows its own size: 64 bytes before the block hold it. */
#include "base/abi.h"
#include "base/checked.h"

enum { HEADER = 64 }; /* keeps the block aligned as the allocator does */

void *tn_block_alloc(const tn_allocator *a, uint64_t bytes) {
  uint64_t total;
  if (tn_add_u64(bytes, HEADER, &total)) return NULL;
  char *memory = tn_alloc(a, total);
  if (!memory) return NULL;
  memcpy(memory, &total, sizeof total);
  return memory + HEADER;
}

void tn_block_free(const tn_allocator *a, void *memory) {
  if (!memory) return;
  char *start = (char *)memory - HEADER;
  uint64_t total;
  memcpy(&total, start, sizeof total);
  tn_free(a, start, total);
}
