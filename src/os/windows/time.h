/* The time in UTC. */
#pragma GCC system_header
#include_next <time.h>
#ifndef TN_OS_TIME_H
#define TN_OS_TIME_H

#include <pthread_time.h>

#ifndef TIME_UTC
#define TIME_UTC 1
#define timespec_get(t, base) (clock_gettime(CLOCK_REALTIME, (t)) ? 0 : (base))
#endif

#endif
