/* Little-endian numbers and texts in bytes of our own making: writing, and reading with bounds. */
#ifndef TN_ACCELERATOR_BYTES_H
#define TN_ACCELERATOR_BYTES_H

#include <string.h>

#include "base/text.h"

static inline void tn_put_u64(tn_text *to, uint64_t value, int n_bytes) {
  char bytes[8];
  for (int k = 0; k < n_bytes; k++) bytes[k] = (char)(value >> (8 * k) & 0xff);
  tn_text_add_bytes(to, bytes, n_bytes);
}

static inline void tn_put_u32(tn_text *to, uint32_t value) { tn_put_u64(to, value, 4); }

/* With a zero at the end, so that it can be used where it lies. */
static inline void tn_put_text(tn_text *to, const char *text) {
  const size_t n = text ? strlen(text) : 0;
  tn_put_u32(to, (uint32_t)n);
  if (n) tn_text_add_bytes(to, text, (int64_t)n);
  tn_text_add_bytes(to, "", 1);
}

/* Bytes that are being read. Once one is missing all that is read is 0 or "". */
typedef struct tn_cursor {
  const uint8_t *at, *end;
  bool is_short;
} tn_cursor;

static inline bool tn_cursor_has(tn_cursor *b, uint64_t n) {
  if (!b->is_short && n <= (uint64_t)(b->end - b->at)) return true;
  b->is_short = true;
  return false;
}

static inline uint64_t tn_get_u64(tn_cursor *b, int n_bytes) {
  uint64_t value = 0;
  if (!tn_cursor_has(b, (uint64_t)n_bytes)) return 0;
  for (int k = 0; k < n_bytes; k++) value |= (uint64_t)b->at[k] << (8 * k);
  b->at += n_bytes;
  return value;
}

static inline uint32_t tn_get_u32(tn_cursor *b) { return (uint32_t)tn_get_u64(b, 4); }

static inline const char *tn_get_text(tn_cursor *b) {
  const uint64_t n = tn_get_u32(b);
  if (!tn_cursor_has(b, n + 1)) return "";
  const char *text = (const char *)b->at;
  if (text[n] || (n && memchr(text, 0, (size_t)n)) || !tn_utf8_valid(text, (int64_t)n)) {
    b->is_short = true;
    return "";
  }
  b->at += n + 1;
  return text;
}

/* A count of things that take at least `least` bytes each; 0 if there cannot be so many. */
static inline uint32_t tn_get_count(tn_cursor *b, uint64_t least) {
  const uint32_t n = tn_get_u32(b);
  if (n <= (uint64_t)(b->end - b->at) / least) return n;
  b->is_short = true;
  return 0;
}

#endif
