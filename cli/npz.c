/* Reading .npz files: zip archives of .npy files, through libzip. */
#include <string.h>

#include "values.h"

#if TENON_LIBZIP
#include <zip.h>

enum { MAX_MEMBERS = 100000 };

typedef struct npz {
  const char *path;
  tn_diag *diag;
  tn_arena *arena;
  zip_t *zip;
} npz;

static tn_status broken(const npz *z, const char *name, const char *why) {
  return tn_fail(z->diag, TN_ERR_INVALID, "%s: member '%s': %s", z->path, name, why);
}

/* Deflate shrinks by less than 1032 to 1, so what claims more is refused before it gets memory. */
static bool is_credible(const zip_stat_t *st) {
  return st->size / 1100 <= st->comp_size + 1 && st->size <= INT64_MAX;
}

static tn_status unpack(const npz *z, const zip_stat_t *st, uint8_t *to) {
  zip_file_t *f = zip_fopen_index(z->zip, st->index, 0);
  if (!f) return broken(z, st->name, zip_strerror(z->zip));
  uint64_t done = 0;
  while (done < st->size) {
    zip_int64_t n = zip_fread(f, to + done, st->size - done);
    if (n <= 0) break;
    done += (uint64_t)n;
  }
  tn_status s = done == st->size ? TN_OK : broken(z, st->name, zip_file_strerror(f));
  zip_fclose(f);
  return s;
}

static tn_status read_member(const npz *z, zip_uint64_t index, char *name, tn_tensor *out) {
  zip_stat_t st;
  const zip_uint64_t needed = ZIP_STAT_NAME | ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE;
  zip_stat_init(&st);
  if (zip_stat_index(z->zip, index, 0, &st) || (st.valid & needed) != needed)
    return broken(z, "?", zip_strerror(z->zip));
  snprintf(name, CLI_NAME_MAX, "%s", st.name);
  if (!is_credible(&st)) return broken(z, st.name, "its size cannot be right");
  uint8_t *bytes = tn_alloc(tn_default_allocator(), st.size);
  if (!bytes) return tn_fail(z->diag, TN_ERR_MEMORY, "%s: no memory", z->path);
  char where[4096 + CLI_NAME_MAX];
  snprintf(where, sizeof where, "%s: %s", z->path, name);
  tn_status s = unpack(z, &st, bytes);
  if (!s) s = cli_npy_parse(where, bytes, st.size, z->arena, z->diag, out);
  tn_free(tn_default_allocator(), bytes, st.size);
  size_t n = strlen(name);
  if (n > 4 && !strcmp(name + n - 4, ".npy")) name[n - 4] = 0;
  return s;
}

tn_status cli_npz_each(const char *path, tn_arena *arena, tn_diag *diag,
                       tn_status (*visit)(void *self, const char *name, const tn_tensor *t),
                       void *self) {
  int code = 0;
  npz z = {path, diag, arena, zip_open(path, ZIP_RDONLY, &code)};
  if (!z.zip) {
    zip_error_t error;
    zip_error_init_with_code(&error, code);
    tn_status s = tn_fail(diag, code == ZIP_ER_NOENT ? TN_ERR_NOT_FOUND : TN_ERR_INVALID,
                          "cannot open %s: %s", path, zip_error_strerror(&error));
    zip_error_fini(&error);
    return s;
  }
  zip_int64_t n = zip_get_num_entries(z.zip, 0);
  tn_status s = n > MAX_MEMBERS ? broken(&z, "?", "there are too many") : TN_OK;
  for (zip_int64_t k = 0; k < n && !s; k++) {
    char name[CLI_NAME_MAX];
    tn_tensor t;
    s = read_member(&z, (zip_uint64_t)k, name, &t);
    if (!s) s = visit(self, name, &t);
  }
  zip_discard(z.zip);
  return s;
}

#else

tn_status cli_npz_each(const char *path, tn_arena *arena, tn_diag *diag,
                       tn_status (*visit)(void *self, const char *name, const tn_tensor *t),
                       void *self) {
  (void)arena, (void)visit, (void)self;
  return tn_fail(diag, TN_ERR_UNSUPPORTED,
                 "%s: .npz is not read: this tenon was built without libzip (libzip-dev)", path);
}

#endif
