/* Who is reading the tables. A reader counts itself into one of two phases before it looks at the
 * tables, and out again when it is done with what it found.
 *
 * Whoever has published new tables and wants to free the old ones turns to the other phase and
 * waits until the first is empty, twice: a reader may have read the phase and been slow to count
 * itself into it. New readers go to the phase that is not waited for, so they never hold anybody
 * up. (The scheme is that of sleepable read-copy-update, McKenney 2006.) All of it is sequentially
 * consistent: a reader that was not counted when the counts were read sees the new tables. */
#include <time.h>

#include "base/cpu.h"
#include "registry/internal.h"

int tn_registry_enter(const tn_registry *r) {
  tn_registry *w = (tn_registry *)(uintptr_t)r;
  const int phase = atomic_load(&w->phase);
  atomic_fetch_add(&w->readers[phase], 1);
  return phase;
}

void tn_registry_leave(const tn_registry *r, int ticket) {
  atomic_fetch_sub(&((tn_registry *)(uintptr_t)r)->readers[ticket], 1);
}

bool tn_readers_none(const tn_registry *r) {
  tn_registry *w = (tn_registry *)(uintptr_t)r;
  return !atomic_load(&w->readers[0]) && !atomic_load(&w->readers[1]);
}

static bool wait_phase(tn_registry *r, int phase, uint64_t until_ns) {
  const struct timespec nap = {0, 200 * 1000};
  while (atomic_load(&r->readers[phase])) {
    if (tn_now_ns() >= until_ns) return false;
    nanosleep(&nap, NULL);
  }
  return true;
}

bool tn_readers_wait(tn_registry *r, uint64_t until_ns) {
  for (int turn = 0; turn < 2; turn++) {
    const int phase = atomic_load(&r->phase);
    atomic_store(&r->phase, !phase);
    if (!wait_phase(r, phase, until_ns)) return false;
  }
  return true;
}
