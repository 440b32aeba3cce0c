/* There is no clock. */
#pragma GCC system_header
#include_next <time.h>
#ifndef TN_OS_TIME_H
#define TN_OS_TIME_H

#undef CLOCK_MONOTONIC
#undef CLOCK_REALTIME
#define CLOCK_MONOTONIC 4
#define CLOCK_REALTIME 1
#define clock_gettime tn_os_clock_gettime
int clock_gettime(int clock, struct timespec *out);

#ifndef TIME_UTC
#define TIME_UTC 1
#define timespec_get(t, base) ((void)(base), clock_gettime(CLOCK_MONOTONIC, (t)), 0)
#endif

#endif
