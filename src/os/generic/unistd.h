/* There is one processor. */
#pragma GCC system_header
#include_next <unistd.h>
#ifndef TN_OS_UNISTD_H
#define TN_OS_UNISTD_H

#undef sysconf
#undef _SC_NPROCESSORS_ONLN
enum { _SC_NPROCESSORS_ONLN = 84 };
#define sysconf(what) ((void)(what), 1L)

#endif
