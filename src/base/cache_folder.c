#include "base/cache_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/trust.h"

static const uint64_t max_bytes = UINT64_C(1) << 30;

const char *tn_cache_folder(tn_arena *arena, const char *variable, const char *name) {
  const char *named = secure_getenv(variable);
  if (named) return *named ? tn_arena_str(arena, named) : NULL;
  const char *xdg = secure_getenv("XDG_CACHE_HOME"), *home = secure_getenv("HOME");
  if (xdg && *xdg == '/') return tn_arena_format(arena, "%s/tenon/%s", xdg, name);
  return home && *home == '/' ? tn_arena_format(arena, "%s/.cache/tenon/%s", home, name) : NULL;
}

/* False: the path is too long. */
static bool path_of(const char *folder, const char *file, char *out, size_t size) {
  const int n = snprintf(out, size, "%s/%s", folder, file);
  return n > 0 && (size_t)n < size;
}

tn_status tn_cache_find(const char *folder, const char *file, tn_diag *diag, tn_mapping *out) {
  char path[4096], why[256];
  if (!path_of(folder, file, path, sizeof path) || access(path, R_OK)) return TN_ERR_NOT_FOUND;
  if (!tn_path_is_trusted(path, why, sizeof why)) {
    if (diag) tn_diag_add(diag, TN_DIAG_WARNING, "%s: is not used: %s", path, why);
    return TN_ERR_NOT_FOUND;
  }
  if (tn_file_map(path, NULL, out)) return TN_ERR_NOT_FOUND;
  (void)utimensat(AT_FDCWD, path, NULL, 0); /* used now */
  return TN_OK;
}

void tn_cache_drop(const char *folder, const char *file) {
  char path[4096];
  if (path_of(folder, file, path, sizeof path)) unlink(path);
}

/* ---- keeping it small ---- */

typedef struct old_file {
  char name[128];
  int64_t used_ns;
  uint64_t bytes;
} old_file;

typedef struct sweep {
  const tn_allocator *a;
  const char *folder, *file; /* the one to be kept */
  TN_VEC(old_file) files;
  uint64_t bytes;
} sweep;

/* Files of the same kind: a digest, and the same ending, with more behind it where a writer was
 * ended. What else a user's folder holds is not ours to delete. */
static bool is_like(const char *name, const char *file) {
  static const char digits[] = "0123456789abcdef";
  const size_t n = strspn(file, digits);
  return strspn(name, digits) == n && !strncmp(name + n, file + n, strlen(file + n));
}

static int visit(void *self, const char *name, bool is_dir) {
  sweep *s = self;
  char path[4096];
  struct stat st;
  old_file f;
  if (is_dir || !is_like(name, s->file)) return 0;
  if (snprintf(f.name, sizeof f.name, "%s", name) >= (int)sizeof f.name) return 0;
  if (snprintf(path, sizeof path, "%s/%s", s->folder, name) >= (int)sizeof path) return 0;
  if (lstat(path, &st) || !S_ISREG(st.st_mode)) return 0;
  f.used_ns = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
  f.bytes = (uint64_t)st.st_size;
  s->bytes += f.bytes;
  return tn_vec_push(s->a, &s->files, f) != TN_OK;
}

static int by_use(const void *a, const void *b) {
  const int64_t x = ((const old_file *)a)->used_ns, y = ((const old_file *)b)->used_ns;
  return (x > y) - (x < y);
}

static void make_room(const tn_allocator *a, const char *folder, const char *file, uint64_t bytes) {
  sweep s = {.a = a, .folder = folder, .file = file};
  char path[4096];
  (void)tn_dir_each(folder, NULL, visit, &s);
  if (s.files.n) qsort(s.files.data, (size_t)s.files.n, sizeof *s.files.data, by_use);
  for (int64_t k = 0; k < s.files.n && s.bytes > max_bytes - bytes; k++) {
    if (snprintf(path, sizeof path, "%s/%s", folder, s.files.data[k].name) >= (int)sizeof path)
      continue;
    if (!unlink(path)) s.bytes -= s.files.data[k].bytes;
  }
  tn_vec_free(a, &s.files);
}

/* ---- keeping ---- */

/* Makes the folder with those around it. */
static bool make_folders(const char *path) {
  char part[4096];
  const size_t n = strlen(path);
  if (n >= sizeof part) return false;
  for (size_t k = 1; k <= n; k++) {
    if (path[k] != '/' && path[k]) continue;
    memcpy(part, path, k);
    part[k] = 0;
    if (mkdir(part, 0700) && errno != EEXIST && k == n) return false;
  }
  return true;
}

void tn_cache_keep(const tn_allocator *a, const char *folder, const char *file,
                   const tn_cache_part *parts, int n_parts) {
  char path[4096], inside[4096], why[256];
  tn_file_writer writer;
  uint64_t size = 0;
  for (int k = 0; k < n_parts; k++) size += parts[k].size;
  if (!path_of(folder, file, path, sizeof path) || !path_of(folder, "", inside, sizeof inside) ||
      size > max_bytes || !make_folders(folder) || !tn_path_is_trusted(inside, why, sizeof why))
    return;
  make_room(a, folder, file, size);
  if (tn_file_writer_open_name(&writer, a, path, NULL)) return;
  tn_status status = TN_OK;
  for (int k = 0; k < n_parts && !status; k++)
    status = tn_file_writer_write(&writer, parts[k].data, parts[k].size, NULL);
  if (!status) tn_file_writer_commit(&writer, NULL);
  tn_file_writer_abort(&writer);
}
