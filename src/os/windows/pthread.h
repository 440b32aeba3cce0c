/* Threads: winpthreads, whose conditions know the time of day alone. */
#pragma GCC system_header
#include_next <pthread.h>
#ifndef TN_OS_PTHREAD_H
#define TN_OS_PTHREAD_H

#include <time.h>

/* `until` is of CLOCK_MONOTONIC, as pthread_condattr_setclock() was asked for. */
static inline int tn_os_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *lock,
                                       const struct timespec *until) {
  struct timespec now, day;
  (void)clock_gettime(CLOCK_MONOTONIC, &now);
  (void)clock_gettime(CLOCK_REALTIME, &day);
  day.tv_sec += until->tv_sec - now.tv_sec;
  day.tv_nsec += until->tv_nsec - now.tv_nsec;
  if (day.tv_nsec < 0) day.tv_nsec += 1000000000, day.tv_sec--;
  if (day.tv_nsec >= 1000000000) day.tv_nsec -= 1000000000, day.tv_sec++;
  return pthread_cond_timedwait(condition, lock, &day);
}
#define pthread_cond_timedwait tn_os_cond_timedwait
#define pthread_condattr_setclock(attributes, clock) ((void)(attributes), 0)

#endif
