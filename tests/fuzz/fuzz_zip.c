/* Fuzzing zip archives and deflate: arbitrary bytes. Every member of an archive that opens is read
 * whole or refused with a message, and all together take no more memory than is promised. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/inflate.h"
#include "base/zip.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int ok, const char *rule) {
  if (ok) return;
  fprintf(stderr, "fuzz: %s\n", rule);
  abort();
}

/* The bytes as a deflated stream of up to 64 kB. */
static void inflate(const uint8_t *data, size_t size) {
  static uint8_t out[1 << 16];
  uint64_t at = 0;
  const uint64_t wanted = size ? (uint64_t)data[0] * 257 : 0;
  (void)tn_inflate(data + (size > 0), size - (size > 0), out, wanted, &at);
  require(at <= size, "no byte behind the end is named");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  tn_arena arena;
  tn_zip zip;
  inflate(data, size);
  tn_arena_init(&arena, tn_default_allocator());
  const tn_status opened = tn_zip_open(&zip, &arena, data, size);
  require(opened <= TN_OK && (opened == TN_OK) == !*zip.message, "a failure has a message");
  uint64_t inflated = 0;
  for (uint64_t k = 0; k < zip.n_members && !opened; k++) {
    const uint8_t *bytes;
    tn_zip_member *m = &zip.members[k];
    require(tn_zip_find(&zip, m->name) == m, "members are found by name");
    if (tn_zip_bytes(&zip, m, k % 2, &bytes)) continue;
    volatile uint8_t sum = 0;
    for (uint64_t i = 0; i < m->size; i++) sum = (uint8_t)(sum + bytes[i]);
    if (m->method) inflated += m->size;
  }
  require(inflated <= (UINT64_C(64) << 20) + 16 * (uint64_t)size, "memory is bounded");
  tn_zip_close(&zip);
  tn_arena_clear(&arena);
  return 0;
}
