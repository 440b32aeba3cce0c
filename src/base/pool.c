/* The thread pool: one job at a time, its chunks claimed by atomics.
 *
 * Every thread has a share of the chunks, the first share is the caller's, and takes them in their
 * order; who has none left takes the last of another's. So the same part of a tensor is mostly met
 * by the same thread, job after job, and is still in the cache of its core. `unfinished` says when
 * the job is over. Who has claimed a chunk may read the job's fields until it has counted the chunk
 * as finished, since the caller leaves (and the fields change) only when all are. So a worker that
 * comes late, or wakes in the middle of a later job, is harmless: it claims a chunk of the job that
 * is there, or none.
 *
 * Steps of a small model take a few microseconds, and a cache line takes a tenth of one from core
 * to core. So a hand-over is few of them: the job and the epoch that announces it are one line, a
 * worker's share another, and its count of what it has finished the third; the caller waits for
 * none of these before its own first chunk, which nobody else may claim. */
#include "base/pool.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <unistd.h>

#include "base/cpu.h"
#include "base/park.h"
#include "tenon/kit/checked.h"
#include "tenon/kit/team.h"

enum {
  THREADS_MAX = 4096,
  CHUNKS_PER_THREAD = 4, /* so that threads of unequal speed end at about the same time */
  SPIN_NS = 80000,       /* longer than the gaps between the steps of a plan */
  ALONE_NS = 10000,      /* after which a worker offers its core to others: maybe to the caller */
  PAUSES_PER_LOOK = 32   /* between two looks at the clock */
};

typedef struct worker {
  /* Unclaimed chunks: the first << 32 | the one after the last. */
  alignas(64) _Atomic uint64_t share;
  tn_pool *pool;
  pthread_t thread;
  uint32_t id;
} worker;

struct tn_pool {
  /* The job, in one line. Written by its caller before the shares are set. */
  alignas(64) _Atomic uint32_t epoch; /* counts jobs; workers sleep on it */
  atomic_bool stop;
  tn_pool_fn run;
  void *arg;
  int64_t n_items, n_chunks;
  /* Words that several threads change, a cache line each. */
  alignas(64) _Atomic uint32_t unfinished; /* chunks; the caller sleeps on it */
  alignas(64) _Atomic int32_t n_asleep;    /* workers that sleep on epoch, or are about to */
  _Atomic uint32_t caller_asleep;
  alignas(64) atomic_bool busy; /* a job has the workers */
  /* Constant once created. */
  alignas(64) const tn_allocator *a;
  uint64_t spin_ns;
  int32_t n_workers, n_slots; /* without the caller */
  int64_t process;            /* that has the workers */
  tn_park park;
  worker workers[]; /* the first is the caller: no thread of the pool's */
};

/* Waits a while for *word to differ from seen. True: it does. yields: after some time the core is
 * offered to others, which may take it for some milliseconds. */
static bool spin(const tn_pool *pool, _Atomic uint32_t *word, uint32_t seen, bool yields) {
  if (atomic_load_explicit(word, memory_order_acquire) != seen) return true;
  if (pool->spin_ns == 0) return false;
  const uint64_t begin = tn_now_ns();
  uint64_t spent = 0;
  do {
    for (int k = 0; k < PAUSES_PER_LOOK; k++) {
      tn_cpu_pause();
      if (atomic_load_explicit(word, memory_order_acquire) != seen) return true;
    }
    spent = tn_now_ns() - begin;
    if (yields && spent > ALONE_NS) sched_yield();
  } while (spent < pool->spin_ns);
  return false;
}

/* Claims the first chunk of the thread's own share; -1: none is left. */
static int64_t claim_first(_Atomic uint64_t *share) {
  const uint64_t seen = atomic_fetch_add_explicit(share, UINT64_C(1) << 32, memory_order_acquire);
  const uint32_t begin = (uint32_t)(seen >> 32), end = (uint32_t)seen;
  return begin < end ? (int64_t)begin : -1;
}

/* Claims the last chunk of another's share; -1: none is left. */
static int64_t claim_last(_Atomic uint64_t *share) {
  uint64_t seen = atomic_load_explicit(share, memory_order_relaxed);
  do {
    if ((uint32_t)(seen >> 32) >= (uint32_t)seen) return -1;
  } while (!atomic_compare_exchange_weak_explicit(share, &seen, seen - 1, memory_order_acquire,
                                                  memory_order_relaxed));
  return (uint32_t)seen - 1;
}

/* Where chunk k begins: all are equal, but long ones begin at multiples of 64 items, for the sake
 * of vectors and cache lines. */
static int64_t chunk_begin(const tn_pool *pool, int64_t k) {
  enum { LONG = 256, UNIT = 64 };
  const int64_t each = pool->n_items / pool->n_chunks, more = pool->n_items % pool->n_chunks,
                begin = k * each + k * more / pool->n_chunks;
  return each >= LONG && k < pool->n_chunks ? begin / UNIT * UNIT : begin;
}

static void run_chunk(tn_pool *pool, int64_t k, uint32_t id) {
  pool->run(pool->arg, chunk_begin(pool, k), chunk_begin(pool, k + 1), id);
}

/* What is left of a thread's own share; how many chunks that was. */
static uint32_t run_own(tn_pool *pool, uint32_t id) {
  uint32_t n = 0;
  for (int64_t k; (k = claim_first(&pool->workers[id].share)) >= 0; n++) run_chunk(pool, k, id);
  return n;
}

/* What others have not begun with. */
static uint32_t run_others(tn_pool *pool, uint32_t id) {
  const uint32_t n_threads = (uint32_t)pool->n_slots + 1;
  uint32_t n = 0;
  for (uint32_t i = 1; i < n_threads; i++) {
    _Atomic uint64_t *share = &pool->workers[(id + i) % n_threads].share;
    for (int64_t k; (k = claim_last(share)) >= 0; n++) run_chunk(pool, k, id);
  }
  return n;
}

/* Counts chunks as finished. */
static void finish(tn_pool *pool, uint32_t n) {
  if (n && atomic_fetch_sub(&pool->unfinished, n) == n && atomic_load(&pool->caller_asleep))
    tn_park_wake(&pool->park, &pool->unfinished, 1);
}

static void *worker_main(void *arg) {
  worker *self = arg;
  tn_pool *pool = self->pool;
  for (;;) {
    uint32_t seen = atomic_load(&pool->epoch);
    if (atomic_load(&pool->stop)) return NULL;
    finish(pool, run_own(pool, self->id));
    finish(pool, run_others(pool, self->id));
    if (spin(pool, &pool->epoch, seen, true)) continue;
    atomic_fetch_add(&pool->n_asleep, 1);
    tn_park_wait(&pool->park, &pool->epoch, seen);
    atomic_fetch_sub(&pool->n_asleep, 1);
  }
}

/* Tells the workers that something is new. */
static void announce(tn_pool *pool) {
  const uint32_t epoch = atomic_load_explicit(&pool->epoch, memory_order_relaxed);
  atomic_store_explicit(&pool->epoch, epoch + 1, memory_order_release);
}

/* Wakes so many that n_wanted workers are awake. False: they are already. */
static bool wake(tn_pool *pool, int32_t n_asleep, int32_t n_wanted) {
  const int32_t n_awake = pool->n_workers - n_asleep;
  if (n_asleep <= 0 || n_wanted <= n_awake) return false;
  tn_park_wake(&pool->park, &pool->epoch, n_wanted - n_awake);
  return true;
}

/* The caller's part: as many chunks as it claimed. */
static uint32_t run_mine(tn_pool *pool, int64_t n_chunks) {
  const int32_t n_wanted = (int32_t)n_chunks - 1;
  const bool woken = wake(pool, atomic_load(&pool->n_asleep), n_wanted);
  run_chunk(pool, 0, 0);
  /* A worker may have gone to sleep when it had not yet seen the job: an exchange with it in which
   * either it sees the job or the caller sees that it sleeps. It has a price before the first
   * chunk, and none after. */
  if (!woken) wake(pool, atomic_fetch_add(&pool->n_asleep, 0), n_wanted);
  uint32_t n = 1;
  if (n_chunks > pool->n_workers + 1) n += run_own(pool, 0);
  if (atomic_load_explicit(&pool->unfinished, memory_order_acquire) > n) n += run_others(pool, 0);
  return n;
}

/* `mine`: the chunks that the caller has run itself, which are not counted as finished. */
static void wait_for_others(tn_pool *pool, uint32_t mine) {
  uint32_t left;
  while ((left = atomic_load_explicit(&pool->unfinished, memory_order_acquire)) != mine) {
    if (spin(pool, &pool->unfinished, left, false)) continue;
    atomic_fetch_sub(&pool->unfinished, mine);
    left -= mine, mine = 0;
    atomic_store(&pool->caller_asleep, 1);
    if (atomic_load(&pool->unfinished) == left) tn_park_wait(&pool->park, &pool->unfinished, left);
    atomic_store(&pool->caller_asleep, 0);
  }
}

/* As many for each thread: one of a grain at least, or several of `chunk` items. */
static int64_t chunks_of(int64_t n_items, int64_t grain, int64_t chunk, int32_t n_threads) {
  const int64_t most = tn_min_i64(tn_ceil_div(n_items, grain), n_threads);
  const int64_t each = tn_ceil_div(n_items, tn_max_i64(chunk, grain)) / n_threads;
  return tn_max_i64(most, n_threads * tn_min_i64(each, CHUNKS_PER_THREAD));
}

/* Equal shares, of which the caller's first chunk is already claimed. */
static void share_out(tn_pool *pool, int64_t n_chunks) {
  const int64_t n = pool->n_workers + 1, each = tn_ceil_div(n_chunks, n);
  for (int64_t k = 0; k < n; k++) {
    const int64_t begin = tn_min_i64(k * each, n_chunks), end = tn_min_i64(begin + each, n_chunks);
    const uint64_t first = (uint64_t)(k ? begin : 1);
    atomic_store_explicit(&pool->workers[k].share, first << 32 | (uint64_t)end,
                          memory_order_release);
  }
}

void tn_pool_run(tn_pool *pool, int64_t n_items, int64_t grain, int64_t chunk, tn_pool_fn run,
                 void *arg) {
  if (n_items <= 0) return;
  if (grain < 1) grain = 1;
  bool alone = !pool || pool->n_workers == 0 || n_items <= grain;
  if (alone || atomic_exchange_explicit(&pool->busy, true, memory_order_acquire)) {
    run(arg, 0, n_items, 0);
    return;
  }
  pool->run = run;
  pool->arg = arg;
  pool->n_items = n_items;
  pool->n_chunks = chunks_of(n_items, grain, chunk, pool->n_workers + 1);
  atomic_store_explicit(&pool->unfinished, (uint32_t)pool->n_chunks, memory_order_relaxed);
  share_out(pool, pool->n_chunks);
  announce(pool);
  wait_for_others(pool, run_mine(pool, pool->n_chunks));
  atomic_store_explicit(&pool->busy, false, memory_order_release);
}

int32_t tn_pool_n_threads(const tn_pool *pool) { return pool ? pool->n_workers + 1 : 1; }

static uint64_t pool_bytes(int32_t n_slots) {
  return sizeof(tn_pool) + (uint64_t)(n_slots + 1) * sizeof(worker);
}

/* Starts the workers with all signals blocked: those are the application's. */
static void workers_start(tn_pool *pool) {
  sigset_t all, before;
  sigfillset(&all);
  if (pthread_sigmask(SIG_SETMASK, &all, &before)) return;
  while (pool->n_workers < pool->n_slots) {
    worker *w = &pool->workers[pool->n_workers + 1];
    w->pool = pool;
    w->id = (uint32_t)pool->n_workers + 1;
    if (pthread_create(&w->thread, NULL, worker_main, w)) break;
    pool->n_workers++;
  }
  pthread_sigmask(SIG_SETMASK, &before, NULL);
}

tn_status tn_pool_create(const tn_allocator *a, int32_t n_threads, tn_pool **out_pool) {
  *out_pool = NULL;
  if (n_threads < 0) return TN_ERR_INVALID;
  if (n_threads == 0) n_threads = tn_cpu_cores();
  if (n_threads > THREADS_MAX) n_threads = THREADS_MAX;
  tn_pool *pool = tn_alloc(a, pool_bytes(n_threads - 1));
  if (!pool) return TN_ERR_MEMORY;
  pool->a = a;
  pool->n_slots = n_threads - 1;
  pool->process = (int64_t)getpid();
  pool->spin_ns = n_threads <= tn_cpu_cores() ? SPIN_NS : 0;
  if (tn_park_init(&pool->park)) {
    tn_free(a, pool, pool_bytes(pool->n_slots));
    return TN_ERR_MEMORY;
  }
  workers_start(pool);
  *out_pool = pool;
  return TN_OK;
}

/* In the child of a fork there are none of its workers. */
static bool is_lost(const tn_pool *pool) { return pool->process != (int64_t)getpid(); }

void tn_pool_lose(tn_pool *pool) {
  if (pool && is_lost(pool)) pool->n_workers = 0;
}

void tn_pool_destroy(tn_pool *pool) {
  if (!pool) return;
  tn_pool_lose(pool);
  atomic_store(&pool->stop, true);
  announce(pool);
  wake(pool, atomic_fetch_add(&pool->n_asleep, 0), pool->n_workers);
  for (int32_t i = 1; i <= pool->n_workers; i++) pthread_join(pool->workers[i].thread, NULL);
  if (!is_lost(pool)) tn_park_destroy(&pool->park); /* whose waiters are those of the parent */
  tn_free(pool->a, pool, pool_bytes(pool->n_slots));
}
