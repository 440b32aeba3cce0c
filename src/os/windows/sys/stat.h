/* stat() with what tells files apart. */
#pragma GCC system_header
#include_next <sys/stat.h>
#ifndef TN_OS_STAT_H
#define TN_OS_STAT_H

#include "os/windows/os.h"

#undef stat
#undef fstat
#define stat tn_os_stat
#define fstat tn_os_fstat
#define lstat tn_os_stat
#define mkdir tn_os_mkdir
#define fchmod(fd, mode) ((void)(fd), (void)(mode), 0)
#define utimensat(folder, path, times, flags) ((void)(path), (void)(times), tn_os_absent())
#define S_ISVTX 01000
#define S_ISLNK(mode) ((void)(mode), 0)
#ifndef S_IWGRP
#define S_IWGRP 0020
#define S_IWOTH 0002
#endif

#endif
