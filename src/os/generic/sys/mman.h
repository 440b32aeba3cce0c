/* Mappings: memory alone. */
#pragma GCC system_header
#ifndef TN_OS_MMAN_H
#define TN_OS_MMAN_H

#include <stddef.h>
#include <stdint.h>

enum { PROT_NONE = 0, PROT_READ = 1, PROT_WRITE = 2 };
enum { MAP_PRIVATE = 1, MAP_ANONYMOUS = 2 };
#define MAP_FAILED ((void *)-1)
#define mmap tn_os_mmap
#define munmap tn_os_munmap
void *mmap(void *hint, size_t bytes, int protection, int flags, int fd, int64_t at);
int munmap(void *data, size_t bytes);

#endif
