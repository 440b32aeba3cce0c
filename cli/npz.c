/* Reading .npz files: zip archives of .npy files, through libzip where it is.
 *
 * What the archive says of its members is foreign: no size is believed before it is checked against
 * the file, and a member counts only if it unpacks to that size with the right check sum. */
#include <string.h>

#include "base/text.h"
#include "values.h"

#if TENON_LIBZIP
#include <zip.h>

enum {
  MAX_MEMBERS = 100000,
  MAX_RATIO = 1032,       /* deflate shrinks by less */
  HEAD_BYTES = 12 + 65536 /* room for a header of .npy */
};

typedef struct npz {
  const char *path;
  tn_diag *diag;
  tn_arena *arena;
  zip_t *zip;
  uint64_t left; /* bytes of the file that no member has claimed yet */
} npz;

static tn_status broken(const npz *z, const char *name, const char *why) {
  return tn_fail(z->diag, TN_ERR_INVALID, "%s: member '%s': %s", z->path, name, why);
}

/* What is refused before it gets memory. Members may not share bytes, so together they claim at
 * most the file: no archive unpacks to more than MAX_RATIO times its size. */
static tn_status check_claims(npz *z, const zip_stat_t *st) {
  if (st->encryption_method != ZIP_EM_NONE) return broken(z, st->name, "it is encrypted");
  if (st->comp_method != ZIP_CM_STORE && st->comp_method != ZIP_CM_DEFLATE)
    return broken(z, st->name, "it is neither stored nor deflated");
  if (st->comp_size > z->left) return broken(z, st->name, "it is larger than the file");
  bool right = st->comp_method == ZIP_CM_STORE ? st->size == st->comp_size
                                               : st->size / MAX_RATIO <= st->comp_size;
  if (!right || st->size > INT64_MAX) return broken(z, st->name, "its size cannot be right");
  z->left -= st->comp_size;
  return TN_OK;
}

/* Exactly n bytes. */
static tn_status take(const npz *z, const zip_stat_t *st, zip_file_t *f, uint8_t *to, uint64_t n) {
  zip_int64_t more = 1;
  for (uint64_t done = 0; done < n && more > 0; done += more > 0 ? (uint64_t)more : 0)
    more = zip_fread(f, to + done, n - done);
  if (more < 0) return broken(z, st->name, zip_file_strerror(f));
  return more || !n ? TN_OK : broken(z, st->name, "it unpacks to another size than it says");
}

/* libzip compares the check sum when it comes to the end, which is a read of nothing after the last
 * byte. */
static tn_status take_end(const npz *z, const zip_stat_t *st, zip_file_t *f) {
  uint8_t more;
  const zip_int64_t n = zip_fread(f, &more, 1);
  if (n < 0) return broken(z, st->name, zip_file_strerror(f));
  return n ? broken(z, st->name, "it unpacks to another size than it says") : TN_OK;
}

/* The name without ".npy". libzip answers UTF-8, but for what the archive calls so. */
static tn_status keep_name(const npz *z, const char *name, char *out) {
  size_t n = strlen(name);
  if (n > 4 && !strcmp(name + n - 4, ".npy")) n -= 4;
  if (!tn_utf8_valid(name, (int64_t)n)) return broken(z, "?", "its name is not UTF-8");
  if (n >= CLI_NAME_MAX) return broken(z, name, "its name is too long");
  memcpy(out, name, n);
  out[n] = 0;
  return TN_OK;
}

static tn_status stat_member(npz *z, zip_uint64_t index, char *name, zip_stat_t *st) {
  const zip_uint64_t needed = ZIP_STAT_NAME | ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE |
                              ZIP_STAT_COMP_METHOD | ZIP_STAT_ENCRYPTION_METHOD;
  zip_stat_init(st);
  if (zip_stat_index(z->zip, index, 0, st) || (st->valid & needed) != needed)
    return broken(z, "?", zip_strerror(z->zip));
  tn_status s = keep_name(z, st->name, name);
  return s ? s : check_claims(z, st);
}

/* The type stands in the first bytes: what is not wanted is not unpacked. */
static tn_status unpack(npz *z, const zip_stat_t *st, zip_file_t *f, const char *name,
                        const cli_npz_visitor *visitor) {
  uint8_t head[HEAD_BYTES], *all = NULL;
  char where[4096 + CLI_NAME_MAX];
  tn_tensor t;
  const uint64_t n = st->size < HEAD_BYTES ? st->size : HEAD_BYTES;
  snprintf(where, sizeof where, "%s: %s", z->path, st->name);
  tn_status s = take(z, st, f, head, n);
  if (!s) s = cli_npy_type(where, head, n, st->size, z->diag, &t);
  bool wanted = true;
  if (!s && visitor->look) s = visitor->look(visitor->self, name, &t, &wanted);
  if (s || !wanted) return s;
  if (!(all = tn_alloc(tn_default_allocator(), st->size)))
    return cli_no_memory(z->diag, where, (int64_t)st->size);
  memcpy(all, head, n);
  s = take(z, st, f, all + n, st->size - n);
  if (!s) s = take_end(z, st, f);
  if (!s) s = cli_npy_parse(where, all, st->size, z->arena, z->diag, &t);
  tn_free(tn_default_allocator(), all, st->size);
  return s ? s : visitor->visit(visitor->self, name, &t);
}

static tn_status read_member(npz *z, zip_uint64_t index, const cli_npz_visitor *visitor) {
  zip_stat_t st;
  char name[CLI_NAME_MAX];
  tn_status s = stat_member(z, index, name, &st);
  if (s) return s;
  zip_file_t *f = zip_fopen_index(z->zip, index, 0);
  if (!f) return broken(z, st.name, zip_strerror(z->zip));
  s = unpack(z, &st, f, name, visitor);
  zip_fclose(f);
  return s;
}

static tn_status open_archive(npz *z, const uint8_t *data, uint64_t size) {
  zip_error_t error;
  zip_error_init(&error);
  zip_source_t *source = zip_source_buffer_create(data, size, 0, &error);
  if (source) z->zip = zip_open_from_source(source, ZIP_RDONLY, &error);
  tn_status s = TN_OK;
  if (!z->zip)
    s = tn_fail(z->diag, TN_ERR_INVALID, "cannot open %s: %s", z->path, zip_error_strerror(&error));
  if (!z->zip) zip_source_free(source);
  zip_error_fini(&error);
  return s;
}

tn_status cli_npz_parse(const char *path, const uint8_t *data, uint64_t size, tn_arena *arena,
                        tn_diag *diag, const cli_npz_visitor *visitor) {
  npz z = {path, diag, arena, NULL, size};
  tn_status s = open_archive(&z, data, size);
  if (s) return s;
  zip_int64_t n = zip_get_num_entries(z.zip, 0);
  if (n > MAX_MEMBERS) s = broken(&z, "?", "there are too many");
  for (zip_int64_t k = 0; k < n && !s; k++) s = read_member(&z, (zip_uint64_t)k, visitor);
  zip_discard(z.zip);
  return s;
}

#else
#include "base/zip.h"

/* Without libzip: by the library's own reader of archives, which unpacks members whole. */
static tn_status read_member(tn_zip *zip, tn_zip_member *m, const char *path, tn_arena *arena,
                             tn_diag *diag, const cli_npz_visitor *visitor) {
  char where[4096 + CLI_NAME_MAX], name[CLI_NAME_MAX];
  const uint8_t *bytes;
  bool wanted = true;
  tn_tensor t;
  const size_t whole = strlen(m->name);
  const size_t n = whole > 4 && tn_has_suffix(m->name, ".npy") ? whole - 4 : whole;
  if (n >= sizeof name)
    return tn_fail(diag, TN_ERR_INVALID, "%s: member '%s': its name is too long", path, m->name);
  snprintf(name, sizeof name, "%.*s", (int)n, m->name);
  snprintf(where, sizeof where, "%s: %s", path, m->name);
  tn_status s = tn_zip_bytes(zip, m, true, &bytes);
  if (s) return tn_fail(diag, s, "%s: %s", path, zip->message);
  s = cli_npy_type(where, bytes, m->size, m->size, diag, &t);
  if (!s && visitor->look) s = visitor->look(visitor->self, name, &t, &wanted);
  if (s || !wanted) return s;
  s = cli_npy_parse(where, bytes, m->size, arena, diag, &t);
  return s ? s : visitor->visit(visitor->self, name, &t);
}

tn_status cli_npz_parse(const char *path, const uint8_t *data, uint64_t size, tn_arena *arena,
                        tn_diag *diag, const cli_npz_visitor *visitor) {
  tn_zip zip;
  tn_arena own; /* what is unpacked is copied out of it */
  tn_arena_init(&own, tn_default_allocator());
  tn_status s = tn_zip_open(&zip, &own, data, size);
  if (s) s = tn_fail(diag, s, "cannot open %s: %s", path, zip.message);
  for (uint64_t k = 0; k < zip.n_members && !s; k++)
    s = read_member(&zip, &zip.members[k], path, arena, diag, visitor);
  tn_zip_close(&zip);
  tn_arena_clear(&own);
  return s;
}

#endif

tn_status cli_npz_each(const char *path, tn_arena *arena, tn_diag *diag,
                       const cli_npz_visitor *visitor) {
  tn_mapping file;
  tn_status s = tn_file_map(path, diag, &file);
  if (s) return s;
  s = cli_npz_parse(path, file.data, file.size, arena, diag, visitor);
  tn_file_unmap(&file);
  return s;
}
