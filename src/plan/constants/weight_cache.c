/* The file of prepared weights that belongs to a model: whether it may be believed, what is in it,
 * and writing it anew. See weights.h, and "Prepared weights on disk" in docs/decisions.md. */
#include "plan/constants/weight_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/pages.h"
#include "base/trust.h"

enum { PART = 4 << 20, MAX_NAME = 64 };
#define SECOND INT64_C(1000000000)

struct tn_weight_cache {
  const tn_allocator *a;
  tn_pool *pool;
  char path[PATH_MAX];
  uint32_t mode;
  tn_mapping file;
  tn_weight_cache_index index; /* of the file; empty if it cannot be used */
  tn_weight_cache_maker maker;
  tn_arena arena;                         /* paths */
  TN_VEC(tn_weight_cache_model) files;    /* of the model; their real paths */
  TN_VEC(tn_weight_cache_source) sources; /* what they are */
  bool has_digests;                       /* of sources */
  bool is_old;            /* what is in the file can be used, but is worth rewriting */
  bool is_stuck;          /* it cannot be written */
  atomic_bool is_damaged; /* a state in it is */
};

static void warn(tn_diag *diag, const tn_weight_cache *w, const char *what, const char *why) {
  tn_diag_add(diag, TN_DIAG_WARNING, "weight cache: %s%s%s", w->path, what, why);
}

/* ---- the model's files ---- */

/* Times in whole seconds are those of a file system that has no better, or of an image that was
 * built to be the same each time: they prove nothing. */
static bool is_exact(const tn_mapping *file) { return file->ctime_ns % SECOND != 0; }

/* A file that was changed just before it was mapped could be changed once more without another time
 * of change: clocks of file systems tick slowly. */
static bool is_fresh(const tn_mapping *file) {
  return file->mapped_ns - file->ctime_ns < 2 * SECOND;
}

static tn_weight_cache_source source_of(const tn_mapping *file) {
  return (tn_weight_cache_source){.device = file->device,
                                  .inode = file->inode,
                                  .size = file->size,
                                  .mtime_ns = file->mtime_ns,
                                  .ctime_ns = file->ctime_ns,
                                  .is_exact = is_exact(file)};
}

typedef struct digester {
  const tn_mapping *file;
  tn_digest *parts;
} digester;

static void digest_parts(void *arg, int64_t begin, int64_t end, uint32_t worker) {
  const digester *d = arg;
  (void)worker;
  for (int64_t k = begin; k < end; k++) {
    const uint64_t at = (uint64_t)k * PART, left = d->file->size - at;
    const uint64_t bytes = left < PART ? left : PART;
    d->parts[k] = tn_digest_of(d->file->data + at, bytes);
    tn_pages_forget(d->file->data + at, bytes);
  }
}

/* Of all bytes of the model's files, on all threads. */
static tn_status digest_files(tn_weight_cache *w) {
  for (int64_t k = 0; k < w->files.n && !w->has_digests; k++) {
    const tn_mapping *file = &w->files.data[k].file;
    const uint64_t n = (file->size + PART - 1) / PART;
    digester d = {file, tn_alloc(w->a, (n + 1) * sizeof *d.parts)};
    if (!d.parts) return TN_ERR_MEMORY;
    tn_pool_run(w->pool, (int64_t)n, 1, 1, digest_parts, &d);
    w->sources.data[k].digest = tn_digest_of(d.parts, n * sizeof *d.parts);
    tn_free(w->a, d.parts, (n + 1) * sizeof *d.parts);
  }
  w->has_digests = true;
  return TN_OK;
}

static bool is_same_file(const tn_weight_cache_source *was, const tn_weight_cache_source *is) {
  return was->is_exact && was->device == is->device && was->inode == is->inode &&
         was->size == is->size && was->mtime_ns == is->mtime_ns && was->ctime_ns == is->ctime_ns;
}

/* Whether the model's files hold what they held when the file was written: by their times if those
 * can be believed, else by their bytes. */
static bool is_same_model(tn_weight_cache *w) {
  bool same = w->index.sources.n == w->sources.n;
  for (int64_t k = 0; k < w->sources.n && same; k++)
    same = w->index.sources.data[k].size == w->sources.data[k].size;
  if (!same) return false;
  for (int64_t k = 0; k < w->sources.n && same; k++)
    same = is_same_file(&w->index.sources.data[k], &w->sources.data[k]);
  if (same) {
    for (int64_t k = 0; k < w->sources.n; k++)
      w->sources.data[k].digest = w->index.sources.data[k].digest;
    w->has_digests = true;
    return true;
  }
  if (digest_files(w)) return false;
  for (int64_t k = 0; k < w->sources.n; k++) {
    const tn_digest was = w->index.sources.data[k].digest, is = w->sources.data[k].digest;
    if (was.lo != is.lo || was.hi != is.hi) return false;
    w->is_old = w->is_old || w->sources.data[k].is_exact; /* next time their times will do */
  }
  return true;
}

/* ---- opening ---- */

/* NULL: it is open; else why not, in words; "": there is none. */
static const char *open_file(tn_weight_cache *w, char *room, size_t size) {
  struct stat info;
  const int fd = open(w->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
  if (fd < 0 && errno == ENOENT) return "";
  if (fd < 0 || fstat(fd, &info)) {
    snprintf(room, size, " cannot be opened: %s", strerror(errno));
    if (fd >= 0) close(fd);
    return room;
  }
  const char *why = NULL;
  if (!S_ISREG(info.st_mode))
    why = " is no regular file";
  else if (info.st_uid != 0 && info.st_uid != geteuid())
    why = " belongs to another user";
  else if (info.st_mode & (S_IWGRP | S_IWOTH))
    why = " can be written by others";
  else if (tn_file_map_open(fd, w->path, NULL, &w->file))
    why = " cannot be mapped";
  close(fd);
  return why;
}

/* What is in the file, if it is good for this model and this build. */
static void read_file(tn_weight_cache *w, tn_diag *diag) {
  char room[256];
  tn_status status;
  const char *why = open_file(w, room, sizeof room);
  if (why && !*why) return;
  if (why) {
    warn(diag, w, why, ": it is not used");
    return;
  }
  why = tn_weight_cache_parse(w->a, w->file.data, w->file.size, &w->index, &status);
  int32_t severity = TN_DIAG_NOTE;
  if (why && status != TN_ERR_VERSION) severity = TN_DIAG_WARNING;
  if (!why && memcmp(&w->index.maker, &w->maker, sizeof w->maker))
    why = "it was made by another build of Tenon";
  if (!why && !is_same_model(w)) why = "the model's files have changed since";
  if (!why) return;
  tn_weight_cache_index_free(&w->index);
  tn_file_unmap(&w->file); /* no state of it is in use yet */
  tn_diag_add(diag, severity, "weight cache: %s is not used: %s", w->path, why);
}

/* The name says which model it is for, to people; its number tells apart models of one name in
 * different folders, and runtimes that may use different instruction sets. */
static tn_status name_file(tn_weight_cache *w, const char *folder, tn_diag *diag) {
  char real[PATH_MAX + sizeof(uint64_t)], name[MAX_NAME];
  snprintf(real, PATH_MAX, "%s", w->files.data[0].path);
  const char *slash = strrchr(real, '/');
  snprintf(name, sizeof name, "%.*s", MAX_NAME - 1, slash ? slash + 1 : real);
  for (char *p = name; *p; p++)
    if ((unsigned char)*p <= ' ' || (unsigned char)*p >= 127) *p = '_';
  const size_t n = strlen(real);
  memcpy(real + n, &w->maker.isa, sizeof w->maker.isa);
  const tn_digest d = tn_digest_of(real, n + sizeof w->maker.isa);
  const int length = snprintf(w->path, sizeof w->path, "%s/%s-%016llx.tnweights", folder, name,
                              (unsigned long long)d.lo);
  if (length > 0 && (size_t)length < sizeof w->path) return TN_OK;
  tn_diag_add(diag, TN_DIAG_WARNING, "weight cache: the path of %s is too long", folder);
  return TN_ERR_INVALID;
}

static tn_status take_files(tn_weight_cache *w, const tn_weight_cache_model *files, int64_t n) {
  tn_status status = TN_OK;
  w->mode = 0600 | (files[0].file.mode & 0444); /* who may read the model may read this */
  for (int64_t k = 0; k < n && !status; k++) {
    char real[PATH_MAX];
    const char *path = realpath(files[k].path, real) ? real : files[k].path;
    const tn_weight_cache_model copy = {tn_arena_str(&w->arena, path), files[k].file};
    status = copy.path ? tn_vec_push(w->a, &w->files, copy) : TN_ERR_MEMORY;
    if (!status) status = tn_vec_push(w->a, &w->sources, source_of(&files[k].file));
  }
  return status;
}

tn_status tn_weight_cache_open(const tn_allocator *a, tn_pool *pool, const char *folder,
                               uint64_t isa, const tn_weight_cache_model *files, int64_t n_files,
                               tn_diag *diag, tn_weight_cache **out_weights) {
  *out_weights = NULL;
  tn_weight_cache *w = tn_alloc(a, sizeof *w);
  if (!w) return TN_ERR_MEMORY;
  w->a = a;
  w->pool = pool;
  w->maker.isa = isa;
  w->index.a = a;
  tn_arena_init(&w->arena, a);
  atomic_init(&w->is_damaged, false);
  const tn_status status = take_files(w, files, n_files);
  const bool is_known = tn_build_id(w->maker.build) > 0;
  if (!status && !is_known)
    tn_diag_add(diag, TN_DIAG_WARNING,
                "weight cache: not used, since this build cannot be told from others: link it with "
                "--build-id");
  if (status || !is_known || name_file(w, folder, diag)) {
    tn_weight_cache_close(w);
    return status;
  }
  read_file(w, diag);
  *out_weights = w;
  return TN_OK;
}

void tn_weight_cache_close(tn_weight_cache *w) {
  if (!w) return;
  tn_weight_cache_index_free(&w->index);
  tn_file_unmap(&w->file);
  tn_vec_free(w->a, &w->files);
  tn_vec_free(w->a, &w->sources);
  tn_arena_clear(&w->arena);
  tn_free(w->a, w, sizeof *w);
}

tn_status tn_weight_cache_check_folder(tn_arena *arena, const char *folder, tn_diag *diag,
                                       char **out_path) {
  char real[PATH_MAX], why[PATH_MAX + 256];
  if (mkdir(folder, 0700) && errno != EEXIST && errno != EROFS && errno != EACCES)
    return tn_fail(diag, TN_ERR_NOT_FOUND, "weight cache: cannot make the folder %s: %s", folder,
                   strerror(errno));
  if (!realpath(folder, real))
    return tn_fail(diag, TN_ERR_NOT_FOUND, "weight cache: cannot use the folder %s: %s", folder,
                   strerror(errno));
  char *path = tn_arena_format(arena, "%s/", strcmp(real, "/") ? real : "");
  if (!path) return TN_ERR_MEMORY;
  if (!tn_path_is_trusted(path, why, sizeof why))
    return tn_fail(diag, TN_ERR_INVALID, "weight cache: %s is not used: %s", folder, why);
  *out_path = tn_arena_str(arena, real);
  return *out_path ? TN_OK : TN_ERR_MEMORY;
}

/* ---- states ---- */

bool tn_weight_cache_place(const tn_weight_cache *w, const void *data, uint64_t bytes,
                           uint64_t *out_file, uint64_t *out_offset) {
  const uintptr_t at = (uintptr_t)data;
  for (int64_t k = 0; k < w->files.n; k++) {
    const uintptr_t begin = (uintptr_t)w->files.data[k].file.data;
    const uint64_t size = w->files.data[k].file.size;
    if (at < begin || at - begin > size || bytes > size - (at - begin)) continue;
    *out_file = (uint64_t)k;
    *out_offset = at - begin;
    return true;
  }
  return false;
}

static bool is_key(const tn_weight_cache_entry *e, const uint64_t *key, int64_t n_key) {
  return e->n_key == n_key && !memcmp(e->key, key, (size_t)n_key * sizeof *key);
}

const void *tn_weight_cache_find(tn_weight_cache *w, const uint64_t *key, int64_t n_key,
                                 uint64_t bytes, tn_diag *diag) {
  for (int64_t k = 0; k < w->index.entries.n; k++) {
    const tn_weight_cache_entry *e = &w->index.entries.data[k];
    if (!is_key(e, key, n_key) || e->bytes != bytes) continue;
    tn_pages_expect(e->data, e->bytes);
    const tn_digest d = tn_digest_of(e->data, e->bytes);
    if (d.lo == e->digest.lo && d.hi == e->digest.hi) return e->data;
    if (!atomic_exchange(&w->is_damaged, true))
      warn(diag, w, " is damaged: ", "states in it are prepared anew");
    return NULL;
  }
  return NULL;
}

bool tn_weight_cache_is_old(const tn_weight_cache *w) { return w->is_old && !w->is_stuck; }

/* ---- saving ---- */

static bool is_among(const tn_weight_cache_entry *e, const tn_weight_cache_entry *entries,
                     int64_t n) {
  for (int64_t k = 0; k < n; k++)
    if (is_key(e, entries[k].key, entries[k].n_key)) return true;
  return false;
}

/* The states that are given, and of those in the file that nobody has asked for since at most as
 * much again: a file does not grow for ever. */
static tn_status collect(const tn_weight_cache *w, const tn_weight_cache_entry *entries, int64_t n,
                         tn_weight_cache_index *out) {
  uint64_t room = 0;
  tn_status status = TN_OK;
  out->maker = w->maker;
  for (int64_t k = 0; k < w->sources.n && !status; k++)
    status = tn_vec_push(w->a, &out->sources, w->sources.data[k]);
  for (int64_t k = 0; k < n && !status; k++) {
    tn_weight_cache_entry e = entries[k];
    e.digest = tn_digest_of(e.data, e.bytes);
    room += e.bytes;
    status = tn_vec_push(w->a, &out->entries, e);
  }
  for (int64_t k = 0; k < w->index.entries.n && !status; k++) {
    const tn_weight_cache_entry *e = &w->index.entries.data[k];
    if (e->bytes > room || is_among(e, entries, n)) continue;
    room -= e->bytes;
    status = tn_vec_push(w->a, &out->entries, *e);
  }
  return status;
}

/* NULL: the bytes that the states were made of, and their digests, are those of the files with the
 * times that are noted. */
static const char *why_not(const tn_weight_cache *w) {
  for (int64_t k = 0; k < w->files.n; k++) {
    const tn_weight_cache_model *m = &w->files.data[k];
    tn_mapping now;
    if (is_fresh(&m->file)) return "the model has just been written; the next start will do it";
    if (tn_file_map(m->path, NULL, &now)) return "the model's files are gone";
    const tn_weight_cache_source is = source_of(&now), was = source_of(&m->file);
    tn_file_unmap(&now);
    if (memcmp(&is, &was, sizeof is)) return "the model's files have changed while it is in use";
  }
  return NULL;
}

/* diag gets the reason in words if it cannot be written. */
static tn_status save(tn_weight_cache *w, const tn_weight_cache_entry *entries, int64_t n,
                      tn_diag *diag) {
  tn_weight_cache_index all = {.a = w->a};
  tn_status status = digest_files(w);
  const char *reason = status ? NULL : why_not(w); /* after their bytes were read */
  if (reason) status = tn_fail(diag, TN_ERR_STATE, "%s", reason);
  if (!status) status = collect(w, entries, n, &all);
  if (!status) status = tn_weight_cache_write(&all, w->path, w->mode, diag);
  tn_weight_cache_index_free(&all);
  return status;
}

void tn_weight_cache_save(tn_weight_cache *w, const tn_weight_cache_entry *entries, int64_t n,
                          tn_diag *diag) {
  if (w->is_stuck) return;
  tn_diag *said = tn_diag_create();
  const tn_status status = said ? save(w, entries, n, said) : TN_ERR_MEMORY;
  w->is_old = false;
  w->is_stuck = status != TN_OK;
  if (status)
    tn_diag_add(diag, status == TN_ERR_STATE ? TN_DIAG_NOTE : TN_DIAG_WARNING,
                "weight cache: %s is not written: %s", w->path,
                tn_diag_count(said) ? tn_diag_message(said, 0, NULL) : "there is no memory");
  tn_diag_destroy(said);
}
