/* What a process asks of its system. */
#pragma GCC system_header
#include_next <unistd.h>
#ifndef TN_OS_UNISTD_H
#define TN_OS_UNISTD_H

#include "os/windows/os.h"

enum { _SC_PAGESIZE = 30, _SC_NPROCESSORS_ONLN = 84 };
#define sysconf tn_os_sysconf
#define fsync tn_os_fsync
#define link tn_os_link
#define access tn_os_access
#define unlink tn_os_unlink
#define environ tn_os_environ
#define pread tn_os_pread
#define write tn_os_write
#define geteuid() 0u
#define getuid() 0u
#define readlink(path, to, n) ((void)(path), (void)(to), (void)(n), tn_os_absent())
#define pipe2(fds, flags) ((fds)[0] = (fds)[1] = -1, tn_os_absent())

#endif
