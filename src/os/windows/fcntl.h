/* Flags of open(). */
#pragma GCC system_header
#include_next <fcntl.h>
#ifndef TN_OS_FCNTL_H
#define TN_OS_FCNTL_H

#include "os/windows/os.h"

#define O_CLOEXEC _O_NOINHERIT
#define O_NONBLOCK 0
#define O_NOFOLLOW 0
#define O_DIRECTORY 0
#define AT_FDCWD (-100)
#define open tn_os_open

#endif
