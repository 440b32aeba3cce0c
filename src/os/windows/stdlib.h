/* Paths as they are. */
#pragma GCC system_header
#include_next <stdlib.h>
#ifndef TN_OS_STDLIB_H
#define TN_OS_STDLIB_H

#include "os/windows/os.h"
#define realpath tn_os_realpath
#define getenv tn_os_getenv
#define secure_getenv tn_os_getenv /* no program has more rights than who starts it */
void *aligned_alloc(size_t alignment, size_t size);

#endif
