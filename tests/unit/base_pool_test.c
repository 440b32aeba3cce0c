/* The thread pool: every item runs once, whatever the sizes, the number of callers and the load.
 * Meant to be run under ThreadSanitizer as well. */
#include "base/pool.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <pthread.h>

#include <cmocka.h>

enum { ITEMS_MAX = 3000 };

typedef struct job {
  _Atomic int32_t seen[ITEMS_MAX]; /* how often each item ran */
  _Atomic int64_t sum;
  _Atomic uint32_t n_wrong; /* ranges outside the job, or worker ids that do not exist */
  int64_t n_items;
  uint32_t n_threads;
  int64_t plain[ITEMS_MAX]; /* written by whoever has the item, read by the caller */
} job;

static void job_run(void *arg, int64_t begin, int64_t end, uint32_t id) {
  job *j = arg;
  if (begin < 0 || begin >= end || end > j->n_items || id >= j->n_threads) j->n_wrong++;
  for (int64_t i = begin; i < end; i++) {
    j->seen[i]++;
    j->plain[i] = 3 * i;
  }
  j->sum += end - begin;
}

/* Runs one job of n items and checks that each ran once. 0: it did. */
static int job_check(job *j, tn_pool *pool, int64_t n_items, int64_t grain) {
  for (int64_t i = 0; i < n_items; i++) {
    j->seen[i] = 0;
    j->plain[i] = -1;
  }
  j->sum = 0;
  j->n_wrong = 0;
  j->n_items = n_items;
  j->n_threads = (uint32_t)tn_pool_n_threads(pool);
  tn_pool_run(pool, n_items, grain, grain, job_run, j);
  int wrong = j->sum != n_items || j->n_wrong != 0;
  for (int64_t i = 0; i < n_items; i++) wrong |= j->seen[i] != 1 || j->plain[i] != 3 * i;
  return wrong;
}

static tn_pool *pool_make(int32_t n_threads) {
  tn_pool *pool = NULL;
  assert_int_equal(tn_pool_create(tn_default_allocator(), n_threads, &pool), TN_OK);
  return pool;
}

static job *job_make(void) { return tn_alloc(tn_default_allocator(), sizeof(job)); }
static void job_free(job *j) { tn_free(tn_default_allocator(), j, sizeof *j); }

static void every_item_once(void **state) {
  (void)state;
  static const int32_t threads[] = {1, 2, 3, 8};
  static const int64_t sizes[] = {0, 1, 2, 3, 7, 8, 9, 63, 64, 65, 255, 1000, 2999, 3000};
  static const int64_t grains[] = {-1, 0, 1, 2, 10, 256, 5000, INT64_MAX};
  job *j = job_make();
  for (size_t t = 0; t < sizeof threads / sizeof *threads; t++) {
    tn_pool *pool = pool_make(threads[t]);
    assert_int_equal(tn_pool_n_threads(pool), threads[t]);
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
      for (size_t g = 0; g < sizeof grains / sizeof *grains; g++) {
        assert_int_equal(job_check(j, pool, sizes[s], grains[g]), 0);
      }
    }
    tn_pool_destroy(pool);
  }
  assert_int_equal(job_check(j, NULL, 100, 1), 0);
  job_free(j);
}

static void sleep_ns(long ns) {
  struct timespec t = {0, ns};
  nanosleep(&t, NULL);
}

/* Short jobs in a row, with gaps longer and shorter than the spinning, so that workers come from
 * sleep, from spinning, and late. */
static void many_jobs(void **state) {
  (void)state;
  job *j = job_make();
  for (int32_t n_threads = 2; n_threads <= 6; n_threads += 2) {
    tn_pool *pool = pool_make(n_threads);
    for (int k = 0; k < 3000; k++) {
      assert_int_equal(job_check(j, pool, 2 + k % 40, 1), 0);
      if (k % 100 == 0) sleep_ns(k % 200 == 0 ? 300000 : 20000);
    }
    tn_pool_destroy(pool);
  }
  job_free(j);
}

typedef struct caller {
  tn_pool *pool;
  int n_wrong;
} caller;

typedef struct outer {
  tn_pool *pool;
  _Atomic int n_wrong;
} outer;

/* A job in a job: the pool is busy, so it runs on the thread that has the range. */
static void outer_run(void *arg, int64_t begin, int64_t end, uint32_t id) {
  outer *o = arg;
  (void)id;
  for (int64_t i = begin; i < end; i++) {
    job *j = job_make();
    o->n_wrong += job_check(j, o->pool, 5 + i, 1);
    job_free(j);
  }
}

static void *caller_main(void *arg) {
  caller *c = arg;
  job *j = job_make();
  for (int k = 0; k < 400; k++) {
    c->n_wrong += job_check(j, c->pool, 1 + (k * 37) % 500, 1 + k % 5);
    if (k % 40 == 0) {
      outer o = {c->pool, 0};
      tn_pool_run(c->pool, 6, 1, 1, outer_run, &o);
      c->n_wrong += o.n_wrong;
    }
  }
  job_free(j);
  return NULL;
}

static void four_callers(void **state) {
  (void)state;
  for (int32_t n_threads = 2; n_threads <= 4; n_threads += 2) {
    tn_pool *pool = pool_make(n_threads);
    pthread_t threads[4];
    caller callers[4];
    for (int i = 0; i < 4; i++) {
      callers[i] = (caller){pool, 0};
      assert_int_equal(pthread_create(&threads[i], NULL, caller_main, &callers[i]), 0);
    }
    for (int i = 0; i < 4; i++) {
      pthread_join(threads[i], NULL);
      assert_int_equal(callers[i].n_wrong, 0);
    }
    tn_pool_destroy(pool);
  }
}

typedef struct blocker {
  _Atomic int n_inside; /* threads that have come into the job */
  _Atomic int n_ranges;
} blocker;

static void slow_run(void *arg, int64_t begin, int64_t end, uint32_t id) {
  blocker *b = arg;
  (void)begin;
  (void)end;
  b->n_ranges++;
  if (id != 0) b->n_inside++;
  sleep_ns(2000000);
}

/* Workers do take part, also when they have to be woken first. */
static void workers_help(void **state) {
  (void)state;
  tn_pool *pool = pool_make(2);
  blocker b = {0, 0};
  sleep_ns(5000000);
  tn_pool_run(pool, 8, 1, 1, slow_run, &b);
  assert_int_equal(b.n_ranges, 8);
  assert_true(b.n_inside > 0);
  tn_pool_destroy(pool);
}

typedef struct counting {
  int64_t n_allocs, n_left, fail_at;
} counting;

static void *counting_alloc(void *self, uint64_t bytes) {
  counting *c = self;
  if (++c->n_allocs == c->fail_at) return NULL;
  c->n_left++;
  return tn_alloc(tn_default_allocator(), bytes);
}

static void counting_free(void *self, void *memory, uint64_t bytes) {
  ((counting *)self)->n_left--;
  tn_free(tn_default_allocator(), memory, bytes);
}

static void memory(void **state) {
  (void)state;
  counting c = {0, 0, 0};
  tn_allocator a = {TN_HEAD(tn_allocator), &c, counting_alloc, counting_free};
  tn_pool *pool = NULL;
  job *j = job_make();
  assert_int_equal(tn_pool_create(&a, 3, &pool), TN_OK);
  int64_t before = c.n_allocs;
  for (int k = 0; k < 50; k++) assert_int_equal(job_check(j, pool, 100, 1), 0);
  assert_int_equal(c.n_allocs, before);
  tn_pool_destroy(pool);
  assert_int_equal(c.n_left, 0);
  c = (counting){0, 0, 1};
  assert_int_equal(tn_pool_create(&a, 3, &pool), TN_ERR_MEMORY);
  assert_null(pool);
  assert_int_equal(tn_pool_create(&a, -1, &pool), TN_ERR_INVALID);
  tn_pool_destroy(NULL);
  assert_int_equal(tn_pool_n_threads(NULL), 1);
  job_free(j);
}

/* The child of a fork has no workers: it runs jobs alone, once it knows, and destroys the pool
 * without waiting for anybody. In the process itself nothing is lost. */
static void forked(void **state) {
  (void)state;
  job *j = job_make();
  for (int knows = 0; knows < 2; knows++) {
    tn_pool *pool = NULL;
    int code = -1;
    assert_int_equal(tn_pool_create(tn_default_allocator(), 3, &pool), TN_OK);
    assert_int_equal(job_check(j, pool, 100, 1), 0);
    const pid_t child = fork();
    if (!child) {
      alarm(20);
      if (knows) tn_pool_lose(pool);
      const bool ok = !knows || !job_check(j, pool, 100, 1);
      tn_pool_destroy(pool);
      _exit(ok ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &code, 0), child);
    assert_int_equal(code, 0);
    tn_pool_lose(pool);
    assert_int_equal(tn_pool_n_threads(pool), 3);
    assert_int_equal(job_check(j, pool, 100, 1), 0);
    tn_pool_destroy(pool);
  }
  job_free(j);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_item_once), cmocka_unit_test(many_jobs),
      cmocka_unit_test(four_callers),    cmocka_unit_test(workers_help),
      cmocka_unit_test(memory),          cmocka_unit_test(forked),
  };
  return cmocka_run_group_tests_name("base_pool", tests, NULL, NULL);
}
