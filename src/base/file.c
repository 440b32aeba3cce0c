/* Files by POSIX calls: read-only mapping, atomic replacement, listing of folders. */
#include "base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cpu.h"
#include "tenon/kit/checked.h"

/* "cannot <what> <path>: <errno in words>" and the status that goes with errno. */
static tn_status os_fail(tn_diag *diag, const char *what, const char *path) {
  int code = errno;
  tn_status status = code == ENOENT || code == ENOTDIR ? TN_ERR_NOT_FOUND
                     : code == ENOMEM                  ? TN_ERR_MEMORY
                                                       : TN_ERR_IO;
  return (tn_fail)(diag, status, "cannot %s %s: %s", what, path, strerror(code));
}

/* ---- Mapping ---- */

static int64_t to_ns(struct timespec t) {
  return (int64_t)t.tv_sec * INT64_C(1000000000) + (int64_t)t.tv_nsec;
}

static int64_t wall_ns(void) {
  struct timespec t = {0};
  (void)clock_gettime(CLOCK_REALTIME, &t);
  return to_ns(t);
}

tn_status tn_file_map_open(int fd, const char *path, tn_diag *diag, tn_mapping *out) {
  struct stat info;
  *out = (tn_mapping){.data = NULL, .mapped_ns = wall_ns()};
  if (fstat(fd, &info)) return os_fail(diag, "examine", path);
  if (!S_ISREG(info.st_mode))
    return tn_fail(diag, TN_ERR_INVALID, "cannot map %s: it is not a regular file", path);
  if ((uint64_t)info.st_size > SIZE_MAX)
    return tn_fail(diag, TN_ERR_OVERFLOW, "cannot map %s: it is larger than memory", path);
  out->device = (uint64_t)info.st_dev;
  out->inode = (uint64_t)info.st_ino;
  out->mtime_ns = to_ns(info.st_mtim);
  out->ctime_ns = to_ns(info.st_ctim);
  out->mode = info.st_mode & 07777;
  if (info.st_size == 0) {
    out->data = (const uint8_t *)"";
    return TN_OK;
  }
  void *data = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
  if (data == MAP_FAILED && errno == ENOMEM)
    return tn_fail(diag, TN_ERR_MEMORY, "cannot map %s: no memory for its %lld bytes", path,
                   (long long)info.st_size);
  if (data == MAP_FAILED) return os_fail(diag, "map", path);
  out->data = data;
  out->size = (uint64_t)info.st_size;
  return TN_OK;
}

tn_status tn_file_map(const char *path, tn_diag *diag, tn_mapping *out) {
  *out = (tn_mapping){.data = NULL};
  /* O_NONBLOCK: opening a FIFO returns at once, so that it can be refused. */
  const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return os_fail(diag, "open", path);
  const tn_status status = tn_file_map_open(fd, path, diag, out);
  close(fd);
  return status;
}

void tn_file_unmap(tn_mapping *m) {
  if (m->size) munmap((void *)(uintptr_t)m->data, (size_t)m->size);
  *m = (tn_mapping){.data = NULL};
}

bool tn_file_is_mapped(const tn_mapping *m, const char *path) {
  struct stat info;
  return m->data && !stat(path, &info) && m->device == (uint64_t)info.st_dev &&
         m->inode == (uint64_t)info.st_ino;
}

/* ---- Atomic replacement ---- */

static void writer_forget(tn_file_writer *w) {
  if (w->path) tn_free(w->a, w->path, strlen(w->path) + 1);
  if (w->temp) tn_free(w->a, w->temp, strlen(w->temp) + 1);
  w->path = w->temp = NULL;
  w->fd = -1;
}

static tn_status no_memory(const char *path, tn_diag *diag) {
  return tn_fail(diag, TN_ERR_MEMORY, "no memory to write %s", path);
}

/* follows: where there is a link, what it leads to is meant, if that is there. */
static tn_status writer_find(tn_file_writer *w, const char *path, bool follows, tn_diag *diag) {
  char real[PATH_MAX];
  const char *from = follows && realpath(path, real) ? real : path;
  const size_t n = strlen(from) + 1;
  w->path = tn_alloc(w->a, n);
  if (w->path) memcpy(w->path, from, n);
  return w->path ? TN_OK : no_memory(path, diag);
}

/* A file beside it, of the same mode, which takes its place in the end. */
static tn_status writer_create(tn_file_writer *w, const struct stat *old, tn_diag *diag) {
  enum { SUFFIX = 40, ATTEMPTS = 100 };
  const size_t n = strlen(w->path);
  char suffix[SUFFIX];
  for (int attempt = 0; w->fd < 0 && attempt < ATTEMPTS; attempt++) {
    if (w->temp) tn_free(w->a, w->temp, strlen(w->temp) + 1);
    int k = snprintf(suffix, SUFFIX, ".%llx.tmp", (unsigned long long)tn_now_ns());
    w->temp = tn_alloc(w->a, n + (size_t)k + 1);
    if (!w->temp) return no_memory(w->path, diag);
    memcpy(w->temp, w->path, n);
    memcpy(w->temp + n, suffix, (size_t)k);
    w->fd = open(w->temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (w->fd < 0 && errno != EEXIST) break;
  }
  if (w->fd < 0) return os_fail(diag, "create a file next to", w->path);
  if (old) (void)fchmod(w->fd, old->st_mode & 0777); /* of another owner's it may not be had */
  return TN_OK;
}

tn_status tn_file_writer_open(tn_file_writer *w, const tn_allocator *a, const char *path,
                              tn_diag *diag) {
  struct stat info;
  *w = (tn_file_writer){a, -1, NULL, NULL, 0};
  tn_status status = writer_find(w, path, true, diag);
  const bool is_there = !status && !stat(w->path, &info),
             is_file = is_there && S_ISREG(info.st_mode);
  if (is_file && access(w->path, W_OK)) {
    status = os_fail(diag, "write", path);
  } else if (is_there && !is_file && !S_ISDIR(info.st_mode)) { /* nothing can take its place */
    w->fd = open(w->path, O_WRONLY | O_CLOEXEC);
    if (w->fd < 0) status = os_fail(diag, "write", path);
  } else if (!status) {
    status = writer_create(w, is_file ? &info : NULL, diag);
  }
  if (status) writer_forget(w);
  return status;
}

tn_status tn_file_writer_open_name(tn_file_writer *w, const tn_allocator *a, const char *path,
                                   tn_diag *diag) {
  *w = (tn_file_writer){a, -1, NULL, NULL, 0};
  tn_status status = writer_find(w, path, false, diag);
  if (!status) status = writer_create(w, NULL, diag);
  if (status) writer_forget(w);
  return status;
}

tn_status tn_file_writer_write(tn_file_writer *w, const void *data, uint64_t size, tn_diag *diag) {
  const uint8_t *p = data;
  if (w->fd < 0) return tn_fail(diag, TN_ERR_STATE, "the file is not open for writing");
  while (size > 0) {
    size_t part = size < (1U << 30) ? (size_t)size : 1U << 30;
    ssize_t n = write(w->fd, p, part);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return os_fail(diag, "write", w->path);
    p += n;
    size -= (uint64_t)n;
    w->written += (uint64_t)n;
  }
  return TN_OK;
}

/* All bytes on the disk, in the temporary file. */
static tn_status writer_finish(tn_file_writer *w, tn_diag *diag) {
  if (w->fd < 0) return tn_fail(diag, TN_ERR_STATE, "the file is not open for writing");
  /* Some file systems, and pipes, cannot sync and say EINVAL: there is nothing to wait for. */
  if (fsync(w->fd) && errno != EINVAL && errno != EROFS) return os_fail(diag, "write", w->path);
  const int fd = w->fd;
  w->fd = -1;
  return close(fd) ? os_fail(diag, "write", w->path) : TN_OK;
}

static tn_status writer_rename(tn_file_writer *w, tn_diag *diag) {
  return w->temp && rename(w->temp, w->path) ? os_fail(diag, "write", w->path) : TN_OK;
}

tn_status tn_file_writer_commit(tn_file_writer *w, tn_diag *diag) {
  tn_status status = writer_finish(w, diag);
  if (!status) status = writer_rename(w, diag);
  if (status)
    tn_file_writer_abort(w);
  else
    writer_forget(w);
  return status;
}

/* Gives the file at w->path, if there is one, a second name. *out: NULL: there is none. */
static tn_status keep_old(const tn_file_writer *w, tn_arena *arena, tn_diag *diag, char **out) {
  struct stat info;
  *out = NULL;
  if (!w->temp) return TN_OK; /* a device, which stays what it is */
  char *name = tn_arena_format(arena, "%s.old", w->temp);
  if (!name) return tn_fail(diag, TN_ERR_MEMORY, "no memory to write %s", w->path);
  if (lstat(w->path, &info)) return errno == ENOENT ? TN_OK : os_fail(diag, "replace", w->path);
  if (S_ISDIR(info.st_mode))
    return tn_fail(diag, TN_ERR_IO, "cannot replace %s: it is a folder", w->path);
  /* Not every file system has hard links. */
  if (link(w->path, name) && rename(w->path, name)) return os_fail(diag, "replace", w->path);
  *out = name;
  return TN_OK;
}

/* Renames the first, then the second; if that fails, the old first one comes back. */
static tn_status rename_both(tn_file_writer *first, tn_file_writer *second, const char *old,
                             tn_diag *diag) {
  tn_status status = writer_rename(first, diag);
  if (!status) {
    status = writer_rename(second, diag);
    if (!status) return TN_OK;
    if (!old && first->temp) unlink(first->path);
  }
  if (old && rename(old, first->path))
    (void)os_fail(diag, "bring back", first->path);
  else if (old)
    unlink(old); /* still there if both names were those of one file */
  return status;
}

tn_status tn_file_writer_commit_both(tn_file_writer *first, tn_file_writer *second, tn_diag *diag) {
  tn_arena arena;
  tn_arena_init(&arena, first->a);
  char *old = NULL;
  tn_status status = writer_finish(first, diag);
  if (!status) status = writer_finish(second, diag);
  if (!status) status = keep_old(first, &arena, diag, &old);
  if (!status) status = rename_both(first, second, old, diag);
  if (!status && old) unlink(old);
  tn_arena_clear(&arena);
  if (status) {
    tn_file_writer_abort(first); /* whose temporary file may be gone */
    tn_file_writer_abort(second);
  } else {
    writer_forget(first);
    writer_forget(second);
  }
  return status;
}

void tn_file_writer_abort(tn_file_writer *w) {
  if (w->fd >= 0) close(w->fd);
  if (w->temp) unlink(w->temp);
  writer_forget(w);
}

/* ---- Folders ---- */

typedef struct entry {
  const char *name;
  bool is_dir;
} entry;

typedef struct entries {
  tn_arena arena;
  TN_VEC(entry) list;
} entries;

static int entry_compare(const void *a, const void *b) {
  return strcmp(((const entry *)a)->name, ((const entry *)b)->name);
}

/* Most systems say with the name what it is; of a link they do not say what it leads to. */
static bool leads_to_folder(DIR *dir, const struct dirent *item) {
#ifdef DT_REG
  if (item->d_type == DT_REG) return false;
#endif
  struct stat info;
  return !fstatat(dirfd(dir), item->d_name, &info, 0) && S_ISDIR(info.st_mode);
}

static tn_status entries_read(entries *e, DIR *dir, const char *path, tn_diag *diag) {
  struct dirent *item;
  while (errno = 0, (item = readdir(dir)) != NULL) {
    if (!strcmp(item->d_name, ".") || !strcmp(item->d_name, "..")) continue;
    entry found = {tn_arena_str(&e->arena, item->d_name), leads_to_folder(dir, item)};
    if (!found.name || tn_vec_push(e->arena.a, &e->list, found)) {
      return tn_fail(diag, TN_ERR_MEMORY, "no memory to list %s", path);
    }
  }
  return errno ? os_fail(diag, "list", path) : TN_OK;
}

tn_status tn_dir_each(const char *path, tn_diag *diag,
                      int (*visit)(void *self, const char *name, bool is_dir), void *self) {
  DIR *dir = opendir(path);
  if (!dir) return os_fail(diag, "open folder", path);
  entries e = {{tn_default_allocator(), NULL}, {NULL, 0, 0}};
  tn_status status = entries_read(&e, dir, path, diag);
  closedir(dir);
  if (!status && e.list.n) {
    qsort(e.list.data, (size_t)e.list.n, sizeof *e.list.data, entry_compare);
    for (int64_t i = 0; i < e.list.n; i++) {
      if (visit(self, e.list.data[i].name, e.list.data[i].is_dir)) break;
    }
  }
  tn_vec_free(e.arena.a, &e.list);
  tn_arena_clear(&e.arena);
  return status;
}

/* ---- Paths ---- */

static bool is_separator(char c) { return c == '/' || c == '\\'; }

tn_status tn_path_join_inside(tn_arena *arena, const char *dir, const char *relative,
                              char **out_path) {
  if (!relative[0] || is_separator(relative[0]) || (relative[0] && relative[1] == ':')) {
    return TN_ERR_INVALID;
  }
  for (const char *p = relative; *p;) {
    const char *end = p;
    while (*end && !is_separator(*end)) end++;
    if (end - p == 2 && p[0] == '.' && p[1] == '.') return TN_ERR_INVALID;
    p = *end ? end + 1 : end;
  }
  char *path = tn_arena_format(arena, "%s/%s", dir, relative);
  if (!path) return TN_ERR_MEMORY;
  *out_path = path;
  return TN_OK;
}

bool tn_path_is_inside(const char *real, const char *dir) {
  char folder[PATH_MAX];
  if (!realpath(dir, folder)) return false;
  const size_t n = strcmp(folder, "/") ? strlen(folder) : 0;
  return !strncmp(real, folder, n) && (real[n] == '/' || !real[n]);
}

char *tn_path_dir(tn_arena *arena, const char *path) {
  const char *slash = strrchr(path, '/');
  if (!slash) return tn_arena_str(arena, ".");
  while (slash > path && slash[-1] == '/') slash--;
  return tn_arena_strn(arena, path, slash == path ? 1 : slash - path);
}
