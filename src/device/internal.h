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

/* A talk by one who has the lock of the device already, inside of another talk. */
void tn_device_talk_begin(tn_device_talk *t, const tn_device *d);

/* ---- witness.c; under the lock of the witness ---- */

/* The last commands of a recording that is submitted once. */
tn_status tn_witness_call(tn_recording *r, tn_diag *diag);
/* Has the recording with the latest witness ended, as wait() says? TN_ERR_IO, with a text: no. */
tn_status tn_witness_hear(tn_device *d, char *text, size_t size);

/* ---- program_cache.c; under the lock of the device ---- */

/* Makes p->handle of what an earlier start has kept. */
bool tn_program_cache_load(tn_device *d, const tn_program *program, uint32_t form,
                           tn_device_program *p);
void tn_program_cache_keep(tn_device *d, const tn_device_program *p);

#endif
