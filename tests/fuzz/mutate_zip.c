/* A mutator for libFuzzer that knows zip archives: after libFuzzer has changed the bytes it puts
 * right the check sums of the stored members, three times out of four, so that inputs reach the
 * code behind the archive. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed);

enum { LOCAL = 30, CENTRAL = 46 };

static uint32_t u16(const uint8_t *p) { return p[0] | (uint32_t)p[1] << 8; }
static uint32_t u32(const uint8_t *p) { return u16(p) | u16(p + 2) << 16; }

static void put_u32(uint8_t *p, uint32_t v) {
  for (int k = 0; k < 4; k++) p[k] = (uint8_t)(v >> 8 * k);
}

static uint32_t crc32_of(const uint8_t *data, size_t n) {
  uint32_t c = UINT32_MAX;
  for (size_t k = 0; k < n; k++) {
    c ^= data[k];
    for (int bit = 0; bit < 8; bit++) c = c >> 1 ^ (c & 1 ? 0xEDB88320u : 0);
  }
  return ~c;
}

/* The member of the record at `at` of the central directory, if it is stored and inside. */
static void repair(uint8_t *data, size_t size, size_t at) {
  uint8_t *record = data + at;
  size_t local = u32(record + 42), n = u32(record + 20);
  if (u16(record + 10) || local > size || size - local < LOCAL || memcmp(data + local, "PK\3\4", 4))
    return;
  size_t begin = local + LOCAL + u16(data + local + 26) + u16(data + local + 28);
  if (begin > size || n > size - begin) return;
  uint32_t crc = crc32_of(data + begin, n);
  put_u32(data + local + 14, crc);
  put_u32(record + 16, crc);
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed) {
  size = LLVMFuzzerMutate(data, size, max_size);
  if (seed % 4 == 0) return size;
  for (size_t at = 0; at + CENTRAL <= size; at++)
    if (!memcmp(data + at, "PK\1\2", 4)) repair(data, size, at);
  return size;
}
