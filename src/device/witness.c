/* A driver's wait() may say that work has ended which goes on, and then reads and writes what the
 * host has freed meanwhile, or given out as a result. Its word is not taken for all: a submission
 * may end with a witness, a word of its own that comes to memory which the host sees. What the host
 * finds there was brought by the device, and all that its queue was given before has ended.
 *
 * It stands behind what is copied while planning, behind the first run of a recording, before what
 * a queue has used is freed, and behind other runs whose outputs have not come (the canaries of
 * exec/device_run.c). */
#include <stdio.h>
#include <time.h>

#include "device/internal.h"

enum { WITNESS_BYTES = 16 };

/* Under the lock of the witness. Where the device has no memory left for them there are none, and
 * nothing is taken to be full because of that. */
static tn_status open_buffers(tn_witness *w, tn_device *d, tn_diag *diag) {
  static const char what[] = "a word that tells when work has ended";
  if (w->here.handle) return TN_OK;
  const int was_refused = atomic_load(&d->refused);
  tn_diag *said = tn_diag_create();
  tn_status status = tn_buffer_open(d, WITNESS_BYTES, TN_BUFFER_DEVICE, what, said, &w->there);
  if (!status) status = tn_buffer_open(d, WITNESS_BYTES, TN_BUFFER_DOWNLOAD, what, said, &w->here);
  if (status) tn_buffer_close(&w->there);
  if (status == TN_ERR_MEMORY) {
    atomic_store(&d->refused, was_refused);
    status = TN_OK;
  }
  if (status) tn_diag_append(diag, said, NULL);
  tn_diag_destroy(said);
  return status;
}

tn_status tn_witness_call(tn_recording *r, tn_diag *diag) {
  tn_device *d = r->device;
  tn_witness *w = &d->witness;
  tn_status status = open_buffers(w, d, diag);
  if (status || !w->here.handle) return status;
  const tn_device_range there = {TN_HEAD(tn_device_range), w->there.handle, 0, WITNESS_BYTES};
  const tn_device_range here = {TN_HEAD(tn_device_range), w->here.handle, 0, WITNESS_BYTES};
  status = tn_recording_barrier(r, diag);
  if (!status) status = tn_recording_fill(r, &there, ++w->word, diag);
  return status ? status : tn_recording_copy(r, &there, &here, diag);
}

static bool is_here(const tn_witness *w) {
  return tn_buffer_sync(&w->here, 0, WITNESS_BYTES, false) == TN_OK &&
         *(const volatile uint32_t *)w->here.map == w->word;
}

/* Looks again for a while: if it comes late, the device can still be shut. */
static bool comes_late(const tn_witness *w) {
  static const struct timespec nap = {0, 1000000};
  enum { MOST = 100 };
  bool is_there = false;
  for (int k = 0; k < MOST && !is_there; k++) {
    nanosleep(&nap, NULL);
    is_there = is_here(w);
  }
  return is_there;
}

tn_status tn_witness_hear(tn_device *d, char *text, size_t size) {
  if (!d->witness.here.handle || is_here(&d->witness)) return TN_OK;
  atomic_store(&d->lost, 1);
  if (!comes_late(&d->witness)) atomic_store(&d->hangs, 1);
  snprintf(
      text, size,
      "wait() says that all has ended, but a word that is filled and copied at its end has not "
      "come: it waits too short, or fills and copies do nothing");
  return TN_ERR_IO;
}

static tn_status run(tn_device *d, void *queue, uint64_t *mark, const tn_recording *r,
                     double limit_ns, tn_device_talk *t) {
  tn_device_talk_open(t, d);
  tn_status status =
      tn_device_answer_submit(t, d->def->driver.submit(&t->call, queue, r->handle, *mark + 1));
  if (!status) status = tn_device_wait(t, queue, ++*mark, limit_ns);
  tn_device_talk_close(t);
  return status ? status : tn_witness_hear(d, t->text, sizeof t->text);
}

tn_status tn_device_settle(tn_device *d, void *queue, uint64_t *mark, double limit_ns,
                           tn_diag *diag, tn_device_talk *t) {
  tn_recording r;
  *t->text = 0;
  pthread_mutex_lock(&d->witness.lock);
  tn_status status = tn_recording_begin(&r, d, diag);
  if (!status) status = tn_witness_call(&r, diag);
  if (!status) status = tn_recording_end(&r, diag);
  if (!status && d->witness.here.handle) status = run(d, queue, mark, &r, limit_ns, t);
  tn_recording_close(&r);
  pthread_mutex_unlock(&d->witness.lock);
  return status;
}
