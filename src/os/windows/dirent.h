/* Folders. */
#pragma GCC system_header
#include_next <dirent.h>
#ifndef TN_OS_DIRENT_H
#define TN_OS_DIRENT_H

#include <sys/stat.h>

/* A folder is known by its DIR. */
#define dirfd(dir) (dir)
#define fstatat tn_os_stat_in
int tn_os_stat_in(const DIR *dir, const char *name, struct tn_os_stat *out, int flags);

#endif
