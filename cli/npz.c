/* Reading .npz files: zip archives of .npy files, by the library's own reader of archives.
 *
 * What the archive says of its members is foreign: a member counts only if it unpacks to the size
 * that it says, with the right check sum. One is unpacked at a time. */
#include <string.h>

#include "base/text.h"
#include "base/zip.h"
#include "values.h"

typedef struct npz {
  const char *path;
  tn_zip zip;
  tn_arena *arena;
  tn_diag *diag;
  const cli_npz_visitor *visitor;
} npz;

/* The name without ".npy". */
static tn_status keep_name(const npz *z, const char *name, char *out) {
  const size_t whole = strlen(name),
               n = whole > 4 && tn_has_suffix(name, ".npy") ? whole - 4 : whole;
  if (n >= CLI_NAME_MAX)
    return tn_fail(z->diag, TN_ERR_INVALID, "%s: member '%s': its name is too long", z->path, name);
  memcpy(out, name, n);
  out[n] = 0;
  return TN_OK;
}

static tn_status visit(const npz *z, const tn_zip_member *m, const uint8_t *bytes) {
  char where[4096 + CLI_NAME_MAX], name[CLI_NAME_MAX];
  bool wanted = true;
  tn_tensor t;
  snprintf(where, sizeof where, "%s: %s", z->path, m->name);
  tn_status s = keep_name(z, m->name, name);
  if (!s) s = cli_npy_type(where, bytes, m->size, m->size, z->diag, &t);
  if (!s && z->visitor->look) s = z->visitor->look(z->visitor->self, name, &t, &wanted);
  if (s || !wanted) return s;
  s = cli_npy_parse(where, bytes, m->size, z->arena, z->diag, &t);
  return s ? s : z->visitor->visit(z->visitor->self, name, &t);
}

static tn_status read_member(npz *z, tn_zip_member *m) {
  const uint8_t *bytes;
  tn_arena room;
  tn_arena_init(&room, tn_default_allocator());
  z->zip.arena = &room;
  tn_status s = tn_zip_bytes(&z->zip, m, true, &bytes);
  s = s ? tn_fail(z->diag, s, "%s: %s", z->path, z->zip.message) : visit(z, m, bytes);
  tn_arena_clear(&room);
  return s;
}

tn_status cli_npz_parse(const char *path, const uint8_t *data, uint64_t size, tn_arena *arena,
                        tn_diag *diag, const cli_npz_visitor *visitor) {
  npz z = {.path = path, .arena = arena, .diag = diag, .visitor = visitor};
  tn_arena names;
  tn_arena_init(&names, tn_default_allocator());
  tn_status s = tn_zip_open(&z.zip, &names, data, size);
  if (s) s = tn_fail(diag, s, "cannot open %s: %s", path, z.zip.message);
  z.zip.room =
      UINT64_MAX; /* together, members cannot be more than what deflate makes of the file */
  for (uint64_t k = 0; k < z.zip.n_members && !s; k++) s = read_member(&z, &z.zip.members[k]);
  tn_zip_close(&z.zip);
  tn_arena_clear(&names);
  return s;
}

tn_status cli_npz_each(const char *path, tn_arena *arena, tn_diag *diag,
                       const cli_npz_visitor *visitor) {
  tn_mapping file;
  tn_status s = tn_file_map(path, diag, &file);
  if (s) return s;
  s = cli_npz_parse(path, file.data, file.size, arena, diag, visitor);
  tn_file_unmap(&file);
  return s;
}
