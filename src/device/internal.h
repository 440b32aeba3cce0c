/* What the files of this room share. */
#ifndef TN_DEVICE_INTERNAL_H
#define TN_DEVICE_INTERNAL_H

#include "device/device.h"

struct tn_devices {
  const tn_allocator *a;
  const tn_registry *registry;
  pthread_mutex_t lock; /* who is open, and who uses it */
  TN_VEC(tn_device *) open;
  TN_VEC(tn_device_entry) entries; /* of the last listing */
  tn_arena texts;                  /* of entries */
};

#endif
