/* Limits of a process: none can be set. */
#pragma GCC system_header
#ifndef TN_OS_RESOURCE_H
#define TN_OS_RESOURCE_H

#include "os/windows/os.h"

typedef uint64_t rlim_t;
struct rlimit {
  rlim_t rlim_cur, rlim_max;
};
enum { RLIMIT_AS, RLIMIT_CORE, RLIMIT_CPU };
#define setrlimit(what, limit) ((void)(what), (void)(limit), tn_os_absent())
#define getrlimit(what, limit) ((void)(what), (void)(limit), tn_os_absent())

#endif
