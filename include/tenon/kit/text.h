/* Small texts: comparing strings of attributes, and tensors in words for messages. */
#ifndef TN_KIT_TEXT_H
#define TN_KIT_TEXT_H

#include <stdio.h>
#include <string.h>

#include "tenon/kit/dtype.h"

/* Equal bytes. */
TN_KIT_FN bool tn_str_is(tn_str s, const char *text);

enum { TN_TENSOR_TEXT = 128 }; /* room for most tensors in words */

/* What stands around the elements of a list: "sequence of map of i64 to "; "" for tensors. Into buf
 * (cut to size), which is returned. */
TN_KIT_FN const char *tn_kinds_text(const tn_tensor *t, char *buf, size_t size);
/* "f32[1,3,224,224]", "?" for unknown dims; "sequence of f32". Into buf (cut to size), which is
 * returned. */
TN_KIT_FN const char *tn_tensor_text(const tn_tensor *t, char *buf, size_t size);

#ifdef TN_KIT_BODIES

TN_KIT_FN bool tn_str_is(tn_str s, const char *text) {
  const size_t n = strlen(text);
  return s.size >= 0 && (uint64_t)s.size == n && (n == 0 || !memcmp(s.data, text, n));
}

/* Adds to the zero-terminated buf as much of text as fits. */
static inline void tn_text_append(char *buf, size_t size, const char *text) {
  size_t used = strlen(buf), n = strlen(text);
  if (n > size - 1 - used) n = size - 1 - used;
  memcpy(buf + used, text, n);
  buf[used + n] = 0;
}

TN_KIT_FN const char *tn_kinds_text(const tn_tensor *t, char *buf, size_t size) {
  static const char *const kinds[] = {"", "sequence of ", "optional ", "map of "};
  uint32_t key = t->elements >> 24, rest = t->elements & UINT32_C(0xffffff);
  if (size == 0) return buf;
  buf[0] = 0;
  for (uint32_t kind = t->kind; kind; kind = rest & 15, rest >>= 4) {
    if (kind > TN_KIND_MAP) break;
    tn_text_append(buf, size, kinds[kind]);
    if (kind != TN_KIND_MAP) continue;
    tn_text_append(buf, size, tn_dtype(key)->name);
    tn_text_append(buf, size, " to ");
    key = TN_NONE; /* of a map within this one it is not known */
  }
  return buf;
}

TN_KIT_FN const char *tn_tensor_text(const tn_tensor *t, char *buf, size_t size) {
  if (size == 0) return buf;
  tn_kinds_text(t, buf, size);
  tn_text_append(buf, size, tn_dtype(t->dtype)->name);
  if (t->kind != TN_KIND_TENSOR) return buf;
  tn_text_append(buf, size, "[");
  if (t->rank < 0 || t->rank > TN_MAX_RANK) tn_text_append(buf, size, "...");
  for (int32_t k = 0; k < t->rank && k < TN_MAX_RANK; k++) {
    char dim[24];
    snprintf(dim, sizeof dim, "%s%lld", k ? "," : "", (long long)t->shape[k]);
    if (t->shape[k] < 0) snprintf(dim, sizeof dim, "%s?", k ? "," : "");
    tn_text_append(buf, size, dim);
  }
  tn_text_append(buf, size, "]");
  return buf;
}

#endif

#endif
