/* rename() that replaces a file. */
#pragma GCC system_header
#include_next <stdio.h>
#ifndef TN_OS_STDIO_H
#define TN_OS_STDIO_H

#include "os/windows/os.h"
#define rename tn_os_rename

#endif
