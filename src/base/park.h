/* Sleeping until a 32-bit word changes: a futex on Linux, a condition variable elsewhere.
 *
 * No wake-up is lost: tn_park_wait returns at once if the word is not `seen` any more, and a thread
 * that changes the word before it calls tn_park_wake wakes every thread that still saw the old
 * value. Returning early is allowed; callers look at the word again. */
#ifndef TN_BASE_PARK_H
#define TN_BASE_PARK_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#if defined(__linux__) && !defined(TN_PARK_PORTABLE)

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Serves any number of words; a futex needs nothing but the word. */
typedef struct tn_park {
  char unused;
} tn_park;

static inline int tn_park_init(tn_park *park) {
  park->unused = 0;
  return 0;
}

static inline void tn_park_destroy(tn_park *park) { (void)park; }

static inline void tn_park_wait(tn_park *park, _Atomic uint32_t *word, uint32_t seen) {
  (void)park;
  syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, seen, NULL, NULL, 0);
}

static inline void tn_park_wake(tn_park *park, _Atomic uint32_t *word, int32_t n_threads) {
  (void)park;
  syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, n_threads, NULL, NULL, 0);
}

#else

/* Serves any number of words: all waiting threads wake and look at theirs. */
typedef struct tn_park {
  pthread_mutex_t lock;
  pthread_cond_t changed;
} tn_park;

/* Answers 0, or an errno. */
static inline int tn_park_init(tn_park *park) {
  int code = pthread_mutex_init(&park->lock, NULL);
  if (code) return code;
  code = pthread_cond_init(&park->changed, NULL);
  if (code) pthread_mutex_destroy(&park->lock);
  return code;
}

static inline void tn_park_destroy(tn_park *park) {
  pthread_cond_destroy(&park->changed);
  pthread_mutex_destroy(&park->lock);
}

static inline void tn_park_wait(tn_park *park, _Atomic uint32_t *word, uint32_t seen) {
  pthread_mutex_lock(&park->lock);
  while (atomic_load(word) == seen) pthread_cond_wait(&park->changed, &park->lock);
  pthread_mutex_unlock(&park->lock);
}

static inline void tn_park_wake(tn_park *park, _Atomic uint32_t *word, int32_t n_threads) {
  (void)word;
  (void)n_threads;
  pthread_mutex_lock(&park->lock);
  pthread_cond_broadcast(&park->changed);
  pthread_mutex_unlock(&park->lock);
}

#endif

#endif
