/* Folders. */
#pragma GCC system_header
#include_next <dirent.h>
#ifndef TN_OS_DIRENT_H
#define TN_OS_DIRENT_H

#include <sys/stat.h>

struct tn_os_dir;
struct tn_os_dirent {
  char d_name[1024]; /* UTF-8 of a name of 260 units of UTF-16, or fewer */
};
struct tn_os_dir *tn_os_opendir(const char *path);
struct tn_os_dirent *tn_os_readdir(struct tn_os_dir *dir); /* valid until the next call */
int tn_os_closedir(struct tn_os_dir *dir);
#define DIR struct tn_os_dir
#define dirent tn_os_dirent
#define opendir tn_os_opendir
#define readdir tn_os_readdir
#define closedir tn_os_closedir

/* A folder is known by its DIR. */
#define dirfd(dir) (dir)
#define fstatat tn_os_stat_in
int tn_os_stat_in(const struct tn_os_dir *dir, const char *name, struct tn_os_stat *out, int flags);

#endif
