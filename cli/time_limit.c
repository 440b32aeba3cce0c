/* --time-limit: a thread that cancels the session's runs once the time is up, until it is told to
 * end. */
#include "time_limit.h"

#include <errno.h>
#include <pthread.h>
#include <time.h>

struct cli_time_limit {
  tn_session *session;
  struct timespec until;
  pthread_t thread;
  pthread_mutex_t lock;
  pthread_cond_t changed;
  bool ends;
};

enum { AGAIN_MS = 20, MAX_SECONDS = 1000000000 };

static void add_ns(struct timespec *t, int64_t ns) {
  ns += t->tv_nsec;
  t->tv_sec += ns / 1000000000;
  t->tv_nsec = ns % 1000000000;
}

/* A run that began just after a cancellation has not heard of it: the next one comes soon. */
static void *wait(void *arg) {
  cli_time_limit *l = arg;
  pthread_mutex_lock(&l->lock);
  while (!l->ends) {
    if (pthread_cond_timedwait(&l->changed, &l->lock, &l->until) != ETIMEDOUT) continue;
    tn_session_cancel(l->session);
    clock_gettime(CLOCK_MONOTONIC, &l->until);
    add_ns(&l->until, AGAIN_MS * 1000000);
  }
  pthread_mutex_unlock(&l->lock);
  return NULL;
}

cli_time_limit *cli_time_limit_start(tn_session *session, double seconds) {
  cli_time_limit *l = tn_alloc(tn_default_allocator(), sizeof *l);
  pthread_condattr_t monotonic;
  if (!l) return NULL;
  l->session = session;
  clock_gettime(CLOCK_MONOTONIC, &l->until);
  add_ns(&l->until, (int64_t)((seconds < MAX_SECONDS ? seconds : MAX_SECONDS) * 1e9));
  pthread_condattr_init(&monotonic);
  pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
  pthread_mutex_init(&l->lock, NULL);
  pthread_cond_init(&l->changed, &monotonic);
  pthread_condattr_destroy(&monotonic);
  if (!pthread_create(&l->thread, NULL, wait, l)) return l;
  pthread_cond_destroy(&l->changed);
  pthread_mutex_destroy(&l->lock);
  tn_free(tn_default_allocator(), l, sizeof *l);
  return NULL;
}

void cli_time_limit_end(cli_time_limit *l) {
  if (!l) return;
  pthread_mutex_lock(&l->lock);
  l->ends = true;
  pthread_cond_signal(&l->changed);
  pthread_mutex_unlock(&l->lock);
  pthread_join(l->thread, NULL);
  pthread_cond_destroy(&l->changed);
  pthread_mutex_destroy(&l->lock);
  tn_free(tn_default_allocator(), l, sizeof *l);
}
