/* Small texts: comparing strings of attributes, and tensors in words for messages. */
#ifndef TN_KIT_TEXT_H
#define TN_KIT_TEXT_H

#include <stdio.h>
#include <string.h>

#include "tenon/kit/dtype.h"

/* Equal bytes. */
TN_KIT_FN bool tn_str_is(tn_str s, const char *text);

enum { TN_TENSOR_TEXT = 128 }; /* room for most tensors in words */

/* "f32[1,3,224,224]", "?" for unknown dims, into buf (cut to size). Returns buf. */
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

TN_KIT_FN const char *tn_tensor_text(const tn_tensor *t, char *buf, size_t size) {
  static const char *const kinds[] = {"", "sequence of ", "optional ", "map of "};
  if (size == 0) return buf;
  buf[0] = 0;
  if (t->kind < sizeof kinds / sizeof *kinds) tn_text_append(buf, size, kinds[t->kind]);
  tn_text_append(buf, size, tn_dtype(t->dtype)->name);
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
