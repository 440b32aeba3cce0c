/* Buffers of the caller's on devices, and the tensors whose elements lie in one. */
#ifndef TN_EXEC_DEVICE_BUFFER_H
#define TN_EXEC_DEVICE_BUFFER_H

#include "device/device.h"
#include "exec/exec.h"

enum { TN_BUFFER_UNIT = 16 }; /* kernels of devices read and write whole ones */

struct tn_device_buffer {
  atomic_int refs;
  tn_model *model;
  tn_buffer buffer;
  uint64_t bytes;  /* as asked for; the buffer ends with a whole unit */
  uint64_t number; /* no other buffer of the runtime ever has it */
};

/* Where the elements of a tensor lie whose `object` points to it. */
typedef struct tn_placed {
  tn_device_buffer *buffer;
  uint64_t offset;
  bool is_copy; /* memory has the same: nothing is lost with the device */
} tn_placed;

/* NULL: its elements are in memory, or it has none. */
static inline const tn_placed *tn_placed_of(const tn_tensor *t) {
  if (!t || t->kind != TN_KIND_TENSOR) return NULL;
  return (const tn_placed *)(uintptr_t)t->object;
}

void tn_device_buffer_retain(tn_device_buffer *b);
/* Whether `bytes` from offset on are inside, counted in whole units. */
bool tn_placed_holds(const tn_placed *p, int64_t bytes);

#endif
