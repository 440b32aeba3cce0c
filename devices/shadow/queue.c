/* The queue of the shadow device: a thread that works off submissions in order, after a random
 * delay. */
#include <errno.h>
#include <sched.h>
#include <string.h>
#include <time.h>

#include "shadow.h"

typedef struct queue {
  shadow_device *device;
  pthread_t thread;
  pthread_mutex_t lock;
  pthread_cond_t changed;
  shadow_submission *first, **last;
  uint64_t done;          /* the last mark that has ended */
  uint64_t hangs_at;      /* this one never ends; 0: none */
  shadow_trouble trouble; /* of the first that failed since the last wait */
  uint64_t random;
  bool stops;
} queue;

static void end_of(uint64_t timeout_ns, struct timespec *out) {
  clock_gettime(CLOCK_MONOTONIC, out);
  const uint64_t ns = (uint64_t)out->tv_nsec + timeout_ns % 1000000000;
  out->tv_sec += (time_t)(timeout_ns / 1000000000 + ns / 1000000000);
  out->tv_nsec = (long)(ns % 1000000000);
}

static bool is_over(const struct timespec *end) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec > end->tv_sec || (now.tv_sec == end->tv_sec && now.tv_nsec >= end->tv_nsec);
}

/* Sleeping takes 50 us more than it is told to: short delays are waited out awake. */
static void nap(queue *q) {
  enum { SHORT_US = 200 };
  const uint64_t most = q->device->settings.delay_us;
  const uint64_t us = most ? shadow_random(&q->random) % (most + 1) : 0;
  struct timespec end;
  end_of(us * 1000, &end);
  if (us > SHORT_US) clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, NULL);
  while (us && !is_over(&end)) sched_yield();
}

static shadow_submission *take(queue *q) {
  while (!q->first && !q->stops) pthread_cond_wait(&q->changed, &q->lock);
  shadow_submission *s = q->first;
  if (s && !(q->first = s->next)) q->last = &q->first;
  return s;
}

static void *work(void *arg) {
  queue *q = arg;
  pthread_mutex_lock(&q->lock);
  for (shadow_submission *s; (s = take(q)) != NULL;) {
    const uint64_t mark = s->mark; /* behind `done` it may be submitted again */
    shadow_trouble trouble = {TN_OK, ""};
    pthread_mutex_unlock(&q->lock);
    nap(q);
    shadow_recording_run(s->recording, &q->random, &trouble);
    pthread_mutex_lock(&q->lock);
    if (trouble.status && !q->trouble.status) q->trouble = trouble;
    q->done = mark;
    pthread_cond_broadcast(&q->changed);
  }
  pthread_mutex_unlock(&q->lock);
  return NULL;
}

/* What it fails with is a handle of nothing: the host may not use it. */
tn_status shadow_queue_new(const tn_device_call *c, void *device, void **out_queue) {
  shadow_device *d = device;
  if (shadow_fails(d, &d->settings.faults.queue)) {
    *out_queue = (void *)(uintptr_t)64;
    return c->host->fail(c->ctx, TN_ERR_MEMORY, "no queue: a fault on demand");
  }
  queue *q = c->host->alloc(c->ctx, sizeof *q);
  if (!q) return TN_ERR_MEMORY;
  q->device = device;
  q->last = &q->first;
  q->random = q->device->settings.seed * UINT64_C(0x9E3779B97F4A7C15) | 1;
  pthread_mutex_init(&q->lock, NULL);
  pthread_condattr_t clock;
  pthread_condattr_init(&clock);
  pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
  pthread_cond_init(&q->changed, &clock);
  pthread_condattr_destroy(&clock);
  if (!pthread_create(&q->thread, NULL, work, q)) {
    *out_queue = q;
    return TN_OK;
  }
  pthread_cond_destroy(&q->changed);
  pthread_mutex_destroy(&q->lock);
  c->host->free(c->ctx, q);
  return c->host->fail(c->ctx, TN_ERR_MEMORY, "no thread for its queue");
}

void shadow_queue_free(const tn_device_call *c, void *queue_) {
  queue *q = queue_;
  pthread_mutex_lock(&q->lock);
  q->stops = true;
  pthread_cond_broadcast(&q->changed);
  pthread_mutex_unlock(&q->lock);
  pthread_join(q->thread, NULL);
  pthread_cond_destroy(&q->changed);
  pthread_mutex_destroy(&q->lock);
  c->host->free(c->ctx, q);
}

static tn_status is_lost(const tn_device_call *c, const queue *q) {
  if (!atomic_load(&q->device->lost)) return TN_OK;
  return c->host->fail(c->ctx, TN_ERR_IO, "it is lost: a fault on demand");
}

tn_status shadow_submit(const tn_device_call *c, void *queue_, void *recording, uint64_t mark) {
  queue *q = queue_;
  shadow_faults *faults = &q->device->settings.faults;
  if (shadow_fails(q->device, &faults->lost)) atomic_store(&q->device->lost, true);
  if (shadow_fails(q->device, &faults->submit))
    return c->host->fail(c->ctx, TN_ERR_MEMORY, "no memory to submit: a fault on demand");
  const bool hangs = shadow_fails(q->device, &faults->hang);
  const tn_status status = is_lost(c, q);
  if (status) return status;
  shadow_submission *s = shadow_recording_submission(recording);
  pthread_mutex_lock(&q->lock);
  if (hangs) q->hangs_at = mark;
  if (!q->hangs_at) { /* else neither this one nor any behind it is begun */
    s->mark = mark;
    s->next = NULL;
    *q->last = s;
    q->last = &s->next;
  }
  pthread_cond_broadcast(&q->changed);
  pthread_mutex_unlock(&q->lock);
  return TN_OK;
}

/* What hangs is not waited for: nothing else can come of it. */
tn_status shadow_wait(const tn_device_call *c, void *queue_, uint64_t mark, uint64_t timeout_ns) {
  queue *q = queue_;
  struct timespec end;
  tn_status status = TN_OK;
  end_of(timeout_ns, &end);
  pthread_mutex_lock(&q->lock);
  while (!status && q->done < mark) {
    const bool is_late = (q->hangs_at && q->hangs_at <= mark && q->done + 1 >= q->hangs_at) ||
                         pthread_cond_timedwait(&q->changed, &q->lock, &end) == ETIMEDOUT;
    if (is_late && q->done < mark) status = TN_ERR_STATE;
  }
  const shadow_trouble trouble = q->trouble;
  if (!status) q->trouble = (shadow_trouble){TN_OK, ""};
  pthread_mutex_unlock(&q->lock);
  if (status) return status;
  if (trouble.status) return c->host->fail(c->ctx, trouble.status, "%s", trouble.text);
  return is_lost(c, q);
}
