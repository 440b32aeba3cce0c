/* What POSIX has and Windows has not, or otherwise: functions behind the headers of this folder. */
#ifndef TN_OS_WINDOWS_H
#define TN_OS_WINDOWS_H

#include <stdint.h>
#include <sys/types.h>
#include <time.h>

/* A file; times in UTC. */
struct tn_os_stat {
  uint64_t st_dev, st_ino;
  uint32_t st_mode, st_uid, st_gid, st_nlink;
  int64_t st_size;
  struct timespec st_mtim, st_ctim;
};
int tn_os_stat(const char *path, struct tn_os_stat *out);
int tn_os_fstat(int fd, struct tn_os_stat *out);

/* Paths and the environment are UTF-8. EILSEQ: a path is not. */
int tn_os_open(const char *path, int flags, ...);
int tn_os_mkdir(const char *path, uint32_t mode);
int tn_os_rename(const char *from, const char *to); /* replaces a file */
int tn_os_link(const char *from, const char *to);
int tn_os_access(const char *path, int mode);
int tn_os_unlink(const char *path);
/* Valid until the fourth next call of the thread, and at most 4095 bytes; NULL: not there. */
char *tn_os_getenv(const char *name);
int tn_os_fsync(int fd);
int64_t tn_os_write(int fd, const void *from, uint64_t n);
int64_t tn_os_pread(int fd, void *to, uint64_t n, int64_t at);
char *tn_os_realpath(const char *path, char *out); /* out has PATH_MAX bytes */
long tn_os_sysconf(int what);
void tn_os_sleep_ms(int ms);
extern char **tn_os_environ; /* NULL: for children, of which there are none */
/* Answers -1, and sets errno to ENOSYS. */
int tn_os_absent(void);

#endif
