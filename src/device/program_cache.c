/* Programs that devices have built, kept for the next start: a file for each, by a key of all that
 * its binary depends on. The key stands in the file, too, with the hash of what is handed to the
 * driver. */
#include <stdio.h>
#include <string.h>

#include "base/build_id.h"
#include "base/cache_folder.h"
#include "base/sha256.h"
#include "device/internal.h"

#define FOLDER(arena) tn_cache_folder(arena, "TENON_PROGRAM_CACHE", "programs")
static const char magic[8] = "TENONPRG";

typedef struct head {
  char magic[sizeof magic];
  uint32_t version, reserved;
  uint64_t bytes;                                   /* of the binary behind it */
  char key[TN_SHA256_TEXT], sha256[TN_SHA256_TEXT]; /* sha256: of the binary */
} head;
enum { VERSION = 1 };

/* Builds that have no id keep nothing: they could not tell their own files. */
static bool make_key(const tn_device *d, const tn_device_program *p, char out[TN_SHA256_TEXT]) {
  uint8_t build[TN_BUILD_ID_BYTES];
  const uint32_t n = tn_build_id(build);
  tn_text t;
  tn_text_init(&t, d->a);
  tn_text_add(&t, "%s\n%s\n%s\n%s\n%s\n", d->def->driver.name, d->info.stamp, p->language, p->name,
              d->def->owner->name);
  tn_text_add_bytes(&t, (const char *)build, n);
  for (uint32_t k = 0; k < p->n_constants; k++)
    tn_text_add(&t, "\n%lld", (long long)p->constants[k]);
  tn_text_add(&t, "\n%llu\n", (unsigned long long)p->bytes);
  tn_text_add_bytes(&t, p->data, (int64_t)p->bytes);
  const bool ok = n && !t.status;
  if (ok) tn_sha256_text(t.data, (uint64_t)t.n, out);
  tn_text_free(&t);
  return ok;
}

/* The file of the program; NULL: there is no cache. */
static const char *find_file(tn_arena *arena, const tn_device *d, const tn_device_program *p,
                             const char **out_folder, char key[TN_SHA256_TEXT]) {
  if (!d->def->driver.program_save) return NULL;
  *out_folder = FOLDER(arena);
  return *out_folder && make_key(d, p, key) ? tn_arena_format(arena, "%s.program", key) : NULL;
}

static bool is_whole(const tn_mapping *m, const char *key) {
  char sum[TN_SHA256_TEXT];
  head h;
  if (m->size < sizeof h) return false;
  memcpy(&h, m->data, sizeof h);
  if (memcmp(h.magic, magic, sizeof magic) != 0 || h.version != VERSION ||
      h.bytes != m->size - sizeof h || memcmp(h.key, key, sizeof h.key) != 0)
    return false;
  tn_sha256_text(m->data + sizeof h, h.bytes, sum);
  return !memcmp(h.sha256, sum, sizeof sum);
}

/* What the driver takes of it is a program; what it does not take is thrown away. */
bool tn_program_cache_load(tn_device *d, const tn_program *program, uint32_t form,
                           tn_device_program *p) {
  tn_arena arena;
  tn_mapping m;
  const char *folder;
  char key[TN_SHA256_TEXT];
  bool ok = false;
  tn_arena_init(&arena, d->a);
  const char *file = find_file(&arena, d, p, &folder, key);
  if (file && !tn_cache_find(folder, file, NULL, &m)) {
    tn_device_talk t;
    tn_device_talk_begin(&t, d);
    ok = is_whole(&m, key) &&
         !d->def->driver.program_new(&t.call, d->handle, program, form, p->constants,
                                     m.data + sizeof(head), m.size - sizeof(head), &p->handle) &&
         p->handle;
    if (!ok) tn_cache_drop(folder, file);
    tn_file_unmap(&m);
  }
  tn_arena_clear(&arena);
  return ok;
}

/* ---- keeping ---- */

static tn_status append(void *ctx, const void *data, uint64_t size) {
  tn_text *t = ctx;
  if (size > INT64_MAX / 2) return TN_ERR_MEMORY;
  tn_text_add_bytes(t, data, (int64_t)size);
  return t->status;
}

static void keep(const tn_device *d, const char *folder, const char *file, const char *key,
                 const tn_text *binary) {
  head h = {.version = VERSION, .bytes = (uint64_t)binary->n};
  memcpy(h.magic, magic, sizeof magic);
  memcpy(h.key, key, sizeof h.key);
  tn_sha256_text(binary->data, h.bytes, h.sha256);
  const tn_cache_part parts[] = {{&h, sizeof h}, {binary->data, h.bytes}};
  tn_cache_keep(d->a, folder, file, parts, 2);
}

void tn_program_cache_keep(tn_device *d, const tn_device_program *p) {
  tn_arena arena;
  tn_text binary;
  const char *folder;
  char key[TN_SHA256_TEXT];
  tn_arena_init(&arena, d->a);
  tn_text_init(&binary, d->a);
  const char *file = find_file(&arena, d, p, &folder, key);
  if (file) {
    tn_device_talk t;
    tn_device_talk_begin(&t, d);
    const tn_sink sink = {
        .head = TN_HEAD(tn_sink), .host = t.call.host, .ctx = &binary, .write = append};
    const tn_status status = d->def->driver.program_save(&t.call, p->handle, &sink);
    if (!status && binary.n && !binary.status) keep(d, folder, file, key, &binary);
  }
  tn_text_free(&binary);
  tn_arena_clear(&arena);
}
