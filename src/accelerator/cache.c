/* The cache of modules: a folder that is ours alone, a container a key. Older ones go when it grows
 * beyond its bound. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "accelerator/accelerator.h"
#include "base/trust.h"

static const uint64_t max_bytes = UINT64_C(1) << 30;

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

/* "": it may not be used. */
static void file_of(const char *folder, const char *key, char *out, size_t size) {
  const int n = snprintf(out, size, "%s/%s.module", folder, key);
  if (n < 0 || (size_t)n >= size) *out = 0;
}

tn_status tn_module_cache_get(tn_accelerator *x, const char *folder, const char *key, tn_diag *diag,
                              tn_mapping *out) {
  char path[4096], why[256];
  tn_container read;
  file_of(folder, key, path, sizeof path);
  if (!*path || access(path, R_OK)) return TN_ERR_NOT_FOUND;
  if (!tn_path_is_trusted(path, why, sizeof why)) {
    tn_diag_add(diag, TN_DIAG_WARNING, "%s: is not used: %s", path, why);
    return TN_ERR_NOT_FOUND;
  }
  if (tn_file_map(path, NULL, out)) return TN_ERR_NOT_FOUND;
  const char *wrong = tn_container_read(x->a, out->data, out->size, &read);
  if (!wrong && (read.n_modules != 1 || strcmp(read.modules[0].key, key)))
    wrong = "it holds another module than its name says";
  if (wrong) {
    tn_diag_add(diag, TN_DIAG_NOTE, "%s: %s; it is compiled again", path, wrong);
    unlink(path);
  } else {
    (void)utimensat(AT_FDCWD, path, NULL, 0); /* used now */
  }
  tn_container_close(&read);
  if (wrong) tn_file_unmap(out);
  return wrong ? TN_ERR_NOT_FOUND : TN_OK;
}

/* ---- keeping it small ---- */

typedef struct old_file {
  char name[TN_SHA256_TEXT + 16];
  int64_t used_ns;
  uint64_t bytes;
} old_file;

typedef struct sweep {
  const tn_allocator *a;
  const char *folder;
  TN_VEC(old_file) files;
  uint64_t bytes;
} sweep;

static int visit(void *self, const char *name, bool is_dir) {
  sweep *s = self;
  char path[4096];
  struct stat st;
  old_file f;
  if (is_dir || snprintf(f.name, sizeof f.name, "%s", name) >= (int)sizeof f.name) return 0;
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

static void make_room(const tn_allocator *a, const char *folder, uint64_t bytes) {
  sweep s = {.a = a, .folder = folder};
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

void tn_module_cache_put(const tn_allocator *a, const char *folder, const char *key,
                         const tn_mapping *container) {
  char path[4096], inside[4096], why[256];
  tn_file_writer file;
  file_of(folder, key, path, sizeof path);
  snprintf(inside, sizeof inside, "%s/", folder);
  if (!*path || container->size > max_bytes || !make_folders(folder) ||
      !tn_path_is_trusted(inside, why, sizeof why))
    return;
  make_room(a, folder, container->size);
  if (tn_file_writer_open_name(&file, a, path, NULL)) return;
  if (!tn_file_writer_write(&file, container->data, container->size, NULL))
    tn_file_writer_commit(&file, NULL);
  tn_file_writer_abort(&file);
}
