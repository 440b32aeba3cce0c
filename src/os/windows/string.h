/* Searches. */
#pragma GCC system_header
#include_next <string.h>
#ifndef TN_OS_STRING_H
#define TN_OS_STRING_H

#define memmem tn_os_memmem
#define memrchr tn_os_memrchr
#define strverscmp tn_os_strverscmp
void *memmem(const void *in, size_t n_in, const void *what, size_t n);
void *memrchr(const void *in, int byte, size_t n);
int strverscmp(const char *a, const char *b);

#endif
