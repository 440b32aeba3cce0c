/* Moving structs that begin with tn_head across the border.
 *
 * Neither side ever assigns a whole struct into the other's memory: what both know is copied, the
 * rest is zero. */
#ifndef TN_BASE_ABI_H
#define TN_BASE_ABI_H

#include <string.h>

#include "base/alloc.h"

/* Copies what `theirs` has into our struct of `size` bytes, the rest is zero; ours->head.size
 * becomes size. Any thread. TN_ERR_INVALID, and ours is zero but for its head, if theirs->head.size
 * cannot be right. */
static inline tn_status tn_struct_in(void *ours, uint32_t size, const void *theirs) {
  tn_head head;
  memcpy(&head, theirs, sizeof head);
  memset(ours, 0, size);
  const uint32_t n = head.size < size ? head.size : size;
  const int ok = n >= sizeof head && head.size % sizeof(void *) == 0;
  if (ok) memcpy(ours, theirs, n);
  head.size = size;
  memcpy(ours, &head, sizeof head);
  return ok ? TN_OK : TN_ERR_INVALID;
}

/* True if ABI 1.`minor` has the dtype. TN_ANY_DTYPE means those to whoever
 * was compiled for it. A version that brings a dtype says here how many the ones before it have. */
static inline int tn_abi_has_dtype(uint16_t minor, uint32_t dtype) {
  (void)minor;
  return dtype < (uint32_t)TN_DTYPE_COUNT;
}

/* Does the row take this type? tn_abi_has_dtype has to hold, too, where it says any. */
static inline int tn_accepts_dtype(const tn_accept *row, uint32_t dtype) {
  return (row->dtypes & (TN_ANY_DTYPE | TN_MASK(dtype))) != 0;
}

/* What `theirs` has of a tensor, as one of ours; all zero but for its head if theirs has none. */
static inline tn_tensor tn_tensor_in(const tn_tensor *theirs) {
  tn_tensor ours;
  (void)tn_struct_in(&ours, sizeof ours, theirs);
  return ours;
}

/* The other way: fills the caller's struct as far as its head.size says; what we do not know of it
 * becomes zero. */
static inline tn_status tn_struct_out(void *theirs, const void *ours, uint32_t size) {
  tn_head head;
  memcpy(&head, theirs, sizeof head);
  if (head.size < sizeof head || head.size > 1u << 16) return TN_ERR_INVALID;
  memset((char *)theirs + sizeof head, 0, head.size - sizeof head);
  const uint32_t n = head.size < size ? head.size : size;
  memcpy((char *)theirs + sizeof head, (const char *)ours + sizeof head, n - sizeof head);
  return TN_OK;
}

#endif
