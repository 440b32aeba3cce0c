/* Containers of modules, and requests to workers. Sizes and hashes in the head of a container are
 * made right first, so that what stands behind them is read. */
#include <string.h>

#include "accelerator/accelerator.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { SIZE_AT = 16, INDEX_SIZE_AT = 24, HASH_AT = 32, HEAD = 96 };

static void put(uint8_t *at, uint64_t value) {
  for (int k = 0; k < 8; k++) at[k] = (uint8_t)(value >> (8 * k));
}

static uint64_t get(const uint8_t *at) {
  uint64_t value = 0;
  for (int k = 0; k < 8; k++) value |= (uint64_t)at[k] << (8 * k);
  return value;
}

static void mend(uint8_t *file, size_t size) {
  char sha256[TN_SHA256_TEXT];
  if (size < HEAD) return;
  put(file + SIZE_AT, size);
  if (get(file + INDEX_SIZE_AT) > size - HEAD) put(file + INDEX_SIZE_AT, size - HEAD);
  tn_sha256_text(file + HEAD, get(file + INDEX_SIZE_AT), sha256);
  memcpy(file + HASH_AT, sha256, HEAD - HASH_AT);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const tn_allocator *a = tn_default_allocator();
  tn_container container;
  tn_compile_request request;
  tn_arena arena;
  tn_arena_init(&arena, a);
  uint8_t *file = tn_arena_alloc(&arena, size + 1);
  if (!file) return 0;
  if (size) memcpy(file, data, size);
  (void)tn_container_read(a, file, size, &container);
  tn_container_close(&container);
  mend(file, size);
  (void)tn_container_read(a, file, size, &container);
  tn_container_close(&container);
  (void)tn_request_read(&arena, data, size, &request);
  tn_arena_clear(&arena);
  return 0;
}
