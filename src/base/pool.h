/* The thread pool: one per runtime. A job is equal to this loop, its ranges run by any thread in
 * any order:
 *
 *   for (k = 0; k < n_chunks; k++)
 *     run(arg, begin of chunk k, begin of chunk k + 1, worker);
 *
 * Every thread begins with a contiguous share of the chunks, the same one for every job of as many
 * chunks, and then helps the others. The caller takes part and finishes every unclaimed chunk
 * itself, so a worker that the system does not schedule blocks nobody. Workers spin for a while
 * after a job, then sleep on a futex (condition variable elsewhere). Nothing is allocated per
 * job. */
#ifndef TN_BASE_POOL_H
#define TN_BASE_POOL_H

#include "base/alloc.h"

typedef struct tn_pool tn_pool;
typedef void (*tn_pool_fn)(void *arg, int64_t begin, int64_t end, uint32_t worker);

/* n_threads counts the caller: n_threads - 1 workers are made. Fewer may be had; that is no error.
 * 0: as many as tn_cpu_cores(); below: TN_ERR_INVALID. */
tn_status tn_pool_create(const tn_allocator *a, int32_t n_threads, tn_pool **out_pool);
void tn_pool_destroy(tn_pool *pool); /* no job may be running; in the child of a fork, too */
/* In the child of a fork, which has none of the workers, callers are alone from here on; in the
 * process that made the pool nothing happens. */
void tn_pool_lose(tn_pool *pool);
/* Worker ids are 0 .. this-1; the caller of tn_pool_run is 0. 1 for NULL. */
int32_t tn_pool_n_threads(const tn_pool *pool);
/* Runs to the end. grain: about the smallest number of items worth a hand-off; n_items <= grain
 * runs on the caller alone, at once. One job at a time uses the workers: a job that comes while
 * they are busy (from another session) runs on its caller alone. pool NULL: every job does.
 * chunk: about the smallest number of items worth taking from another thread; a thread's share is
 * several chunks only where they have as many. */
void tn_pool_run(tn_pool *pool, int64_t n_items, int64_t grain, int64_t chunk, tn_pool_fn run,
                 void *arg);

#endif
