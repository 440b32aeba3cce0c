/* The way of a shared library into the process, step by step:
 *
 *   named      by a path without links        allowed    by the lists of allow.c, if there are any
 *   trusted    nobody else can have put it    vetted     in a process of its own, if wished:
 *   opened     a regular file, not too large,            vet_child.c
 *              that nobody is writing         mapped     by the dynamic linker; still the same
 *   read       once: what is checked is kept
 *   sound      as ELF: elf.c                  asked      for tn_plugin_query
 *
 * Then tn_plug_take (registry.c) vets the descriptor, starts the plug-in and publishes its parts.
 *
 * What was checked must be what is mapped. The file is opened once, and its identity, its hash and
 * its headers are those of that descriptor, whose lease makes everybody wait who would write or cut
 * the file meanwhile; dlopen gets the path, and the path has to lead to the same file before and
 * after it. dlopen of /proc/self/fd/N would map the descriptor itself, but a
 * library loaded so has no $ORIGIN for what it needs in turn, debuggers and profilers do not find
 * its file, and it fails where /proc is not mounted. Between the checks nobody can exchange the
 * file who could not do worse anyway: where trust is asked for, nobody but root and this user can
 * write any folder on the way. */
#include "registry/load.h"
#include "registry/offers.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/sha256.h"
#include "base/trust.h"

enum { MAX_LIBRARY = 1 << 30 }; /* bytes: all of it is read before the linker sees it */

typedef struct library {
  const char *path;
  int fd;
  struct stat seen;
  uint8_t *bytes; /* seen.st_size of them; a copy, which nobody can cut short meanwhile */
  bool stays;     /* mapped until the process ends */
} library;

/* ---- trusted ---- */

/* Whoever names a file vouches for its owner and group; not for what everybody may have put there.
 */
static bool everybody_may_write(const char *path, char *why, size_t size) {
  struct stat file, folder;
  tn_arena arena;
  tn_arena_init(&arena, tn_default_allocator());
  const char *dir = tn_path_dir(&arena, path), *text = "";
  if (!dir || stat(path, &file) || stat(dir, &folder))
    text = "it cannot be examined";
  else if (file.st_mode & S_IWOTH)
    text = "everybody can write it";
  else if ((folder.st_mode & S_IWOTH) && !(folder.st_mode & S_ISVTX))
    text = "everybody can write its folder";
  tn_arena_clear(&arena);
  snprintf(why, size, "%s", text);
  return *text != 0;
}

/* A list of hashes is worth something only where the file that was hashed is the one that is
 * mapped. */
static tn_status check_trusted(const tn_registry *r, tn_plug *plug, tn_diag *diag) {
  char why[512];
  const char *path = plug->info.path;
  const bool is_named =
      plug->info.origin == TN_ORIGIN_EXPLICIT || plug->info.origin == TN_ORIGIN_EXAMINED;
  if (is_named ? everybody_may_write(path, why, sizeof why)
               : !tn_path_is_trusted(path, why, sizeof why))
    return tn_fail(diag, TN_ERR_INVALID, "%s: is not loaded: %s", path, why);
  if (r->allow && !tn_path_is_trusted(path, why, sizeof why))
    return tn_fail(diag, TN_ERR_INVALID, "%s: is not loaded: a SHA-256 says nothing about it: %s",
                   path, why);
  if (plug->info.origin != TN_ORIGIN_EXAMINED)
    tn_plug_note(plug, "%s",
                 is_named ? "was named by the program or its user"
                          : "nobody but root and this user can write it or a folder above it");
  return TN_OK;
}

/* ---- opened and read ---- */

static tn_status open_library(library *l, tn_diag *diag) {
  /* O_NONBLOCK: opening a FIFO returns at once, so that it can be refused. */
  l->fd = open(l->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (l->fd < 0 || fstat(l->fd, &l->seen)) {
    const int error = errno;
    return tn_fail(diag, error == ENOENT ? TN_ERR_NOT_FOUND : TN_ERR_IO, "%s: cannot be opened: %s",
                   l->path, strerror(error));
  }
  if (!S_ISREG(l->seen.st_mode))
    return tn_fail(diag, TN_ERR_INVALID, "cannot load %s: it is not a regular file", l->path);
  if (l->seen.st_size > MAX_LIBRARY)
    return tn_fail(diag, TN_ERR_OVERFLOW, "%s: is not loaded: it has %lld bytes, the limit is %d",
                   l->path, (long long)l->seen.st_size, MAX_LIBRARY);
  return TN_OK;
}

/* A file that is cut after it was checked would kill the process in the dynamic linker (SIGBUS).
 * While the lease lasts, until the descriptor is closed, whoever opens it for writing or cuts it
 * waits, for 45 s at most. There is one for who owns the file, and for root; else only the owner or
 * root could cut it. The signal says that somebody waits: unlike SIGIO nobody dies of it. */
static tn_status hold_still(const library *l, tn_diag *diag) {
#ifdef F_SETLEASE
  const bool is_ours = !fcntl(l->fd, F_SETSIG, SIGURG);
  if (is_ours && fcntl(l->fd, F_SETLEASE, F_RDLCK) && errno == EAGAIN)
    return tn_fail(diag, TN_ERR_IO, "%s: is not loaded: it is open for writing", l->path);
#else
  (void)l, (void)diag;
#endif
  return TN_OK;
}

static tn_status changed(const char *path, tn_diag *diag) {
  return tn_fail(diag, TN_ERR_IO, "%s: is not loaded: it was changed while it was being loaded",
                 path);
}

/* Up to `end` bytes of the file, of which `at` are there already. */
static tn_status read_upto(const library *l, int64_t at, int64_t end, tn_diag *diag) {
  while (at < end) {
    const ssize_t n = pread(l->fd, l->bytes + at, (size_t)(end - at), at);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return tn_fail(diag, TN_ERR_IO, "%s: cannot be read: %s", l->path, strerror(errno));
    if (!n) return changed(l->path, diag);
    at += n;
  }
  return TN_OK;
}

/* A file that is no library at all is not read to its end. */
static tn_status read_library(const tn_allocator *a, library *l, tn_diag *diag) {
  enum { BEGINNING = 4096 };
  const int64_t size = l->seen.st_size, first = size < BEGINNING ? size : BEGINNING;
  l->bytes = tn_alloc_raw(a, (uint64_t)size + 1);
  if (!l->bytes) return tn_fail(diag, TN_ERR_MEMORY, "%s: out of memory", l->path);
  l->bytes[size] = 0;
  tn_status status = read_upto(l, 0, first, diag);
  if (!status) status = tn_elf_check_header(l->path, l->bytes, (uint64_t)size, diag);
  return status ? status : read_upto(l, first, size, diag);
}

static bool is_same(const struct stat *a, const struct stat *b) {
  return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
         a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec &&
         a->st_ctim.tv_sec == b->st_ctim.tv_sec && a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

static void close_library(const tn_allocator *a, library *l) {
  tn_free(a, l->bytes, (uint64_t)l->seen.st_size + 1);
  if (l->fd >= 0) close(l->fd);
}

static tn_status check_same(const library *l, tn_diag *diag) {
  struct stat now;
  return !stat(l->path, &now) && is_same(&l->seen, &now) ? TN_OK : changed(l->path, diag);
}

/* ---- hashed, where anybody wants to know it ---- */

static tn_status hash_library(tn_plug *plug, const library *l) {
  char sha256[TN_SHA256_TEXT];
  tn_sha256_text(l->bytes, (uint64_t)l->seen.st_size, sha256);
  const char *text = tn_arena_str(&plug->arena, sha256);
  if (text) plug->info.sha256 = text;
  return text ? TN_OK : TN_ERR_MEMORY;
}

static tn_status keep_identity(tn_plug *plug, const library *l) {
  plug->file = tn_arena_copy(&plug->arena, &l->seen, sizeof l->seen);
  return plug->file ? TN_OK : TN_ERR_MEMORY;
}

static void hash_later(tn_plug *plug) {
  library l = {.path = plug->info.path, .fd = -1};
  tn_status status = open_library(&l, NULL);
  if (!status && !is_same(plug->file, &l.seen)) status = TN_ERR_STATE;
  if (!status) status = read_library(plug->a, &l, NULL);
  if (!status) status = check_same(&l, NULL);
  if (!status) (void)hash_library(plug, &l);
  close_library(plug->a, &l);
}

const char *tn_plug_sha256(tn_plug *plug) {
  pthread_mutex_lock(&plug->settling);
  if (plug->file && !*plug->info.sha256) hash_later(plug);
  const char *sha256 = plug->info.sha256;
  pthread_mutex_unlock(&plug->settling);
  return sha256;
}

const char *tn_part_build(const tn_part_owner *owner) {
  if (!owner || owner->is_builtin) return "";
  const char *sha256 = tn_plug_sha256(tn_plug_of(owner));
  return *sha256 ? sha256 : NULL;
}

/* ---- allowed ---- */

static tn_status check_allowed(const tn_registry *r, tn_plug *plug, tn_diag *diag) {
  char real[PATH_MAX];
  const char *path = plug->info.path, *why = NULL;
  for (const tn_allow *allow = r->allow; allow; allow = allow->next) {
    const tn_allow_line *line = tn_allow_find(allow, path, plug->info.sha256, &why);
    if (!line && realpath(path, real)) line = tn_allow_find(allow, real, plug->info.sha256, &why);
    if (!line)
      return tn_fail(diag, TN_ERR_INVALID,
                     "%s: is not loaded: the list of allowed plug-ins %s %s (it is %s)", path,
                     allow->path, why, plug->info.sha256);
    tn_plug_note(plug, "is allowed by %s, line %d", allow->path, line->number);
  }
  return TN_OK;
}

/* ---- mapped ---- */

static tn_status map(tn_plug *plug, bool stays, tn_diag *diag) {
  const char *path = plug->info.path;
  plug->library = dlopen(path, RTLD_NOW | RTLD_LOCAL | (stays ? RTLD_NODELETE : 0));
  if (plug->library) return TN_OK;
  const char *why = dlerror();
  return tn_fail(diag, TN_ERR_IO, "%s: cannot be loaded: %s", path, why ? why : "no reason given");
}

static tn_status find_query(tn_plug *plug, tn_diag *diag, tn_plugin_query_fn *out_query) {
  void *symbol = dlsym(plug->library, "tn_plugin_query");
  if (!symbol)
    return tn_fail(diag, TN_ERR_INVALID,
                   "%s: is not a plug-in of Tenon: it does not export tn_plugin_query",
                   plug->info.path);
  memcpy(out_query, &symbol, sizeof symbol); /* ISO C has no cast from object to function pointer */
  return TN_OK;
}

/* ---- all of it ---- */

/* promise: what the file said when it was found. */
static tn_status check_promise(const tn_plug *plug, const char *promise, tn_diag *diag) {
  if (!promise || (plug->offers && !strcmp(plug->offers, promise))) return TN_OK;
  return tn_fail(diag, TN_ERR_STATE,
                 "%s: is not loaded: since it was found it was replaced by a file that offers "
                 "something else",
                 plug->info.path);
}

static tn_status load(tn_registry *r, tn_plug *plug, const char *promise, tn_diag *diag,
                      tn_plugin_query_fn *out_query) {
  library l = {.path = plug->info.path, .fd = -1};
  /* whoever vets it maps it, too */
  const bool is_examined = plug->info.origin == TN_ORIGIN_EXAMINED, vets = r->vet && !is_examined;
  tn_status status = check_trusted(r, plug, diag);
  if (!status) status = open_library(&l, diag);
  if (!status) status = hold_still(&l, diag);
  if (!status) status = read_library(r->a, &l, diag);
  if (!status) status = tn_elf_check(l.path, l.bytes, (uint64_t)l.seen.st_size, diag, &l.stays);
  if (!status) status = keep_identity(plug, &l);
  if (!status) plug->offers = tn_offers_read(&plug->arena, l.fd);
  if (!status) status = check_promise(plug, promise, diag);
  if (!status && (vets || is_examined || r->allow)) status = hash_library(plug, &l);
  if (!status) status = check_allowed(r, plug, diag);
  if (!status && vets) status = tn_plug_vet_in_child(r, plug, diag);
  if (!status) status = check_same(&l, diag);
  if (!status) status = map(plug, l.stays, diag);
  if (!status) status = check_same(&l, diag);
  if (!status) status = find_query(plug, diag, out_query);
  close_library(r->a, &l);
  return status;
}

tn_status tn_plug_load(tn_registry *r, const char *path, const tn_offer *offer, tn_diag *diag) {
  tn_plug *plug = tn_plug_new(r, path, offer->origin);
  if (!plug) return tn_fail(diag, TN_ERR_MEMORY, "%s: out of memory", path);
  tn_plugin_query_fn query = NULL;
  const tn_status status = load(r, plug, offer->promise, diag, &query);
  if (status) return tn_plug_refuse(r, plug, status, diag);
  return tn_plug_take(r, plug, query, offer, diag);
}

/* A file that somebody names: dlopen would search the system's folders for a name without a slash.
 * Answers the real path in buf, of PATH_MAX bytes; NULL: there is none. */
static const char *find_named(const char *path, char *buf, tn_diag *diag) {
  const char *real = realpath(path, buf);
  if (!real) tn_fail(diag, TN_ERR_NOT_FOUND, "%s: there is no such file", path);
  return real;
}

static tn_status load_named(tn_registry *r, const char *path, const tn_offer *offer,
                            tn_diag *diag) {
  char buf[PATH_MAX];
  const char *real = find_named(path, buf, diag);
  if (real) return tn_plug_load(r, real, offer, diag);
  tn_plug *plug = tn_plug_new(r, path, offer->origin);
  if (plug) tn_plug_refuse(r, plug, TN_ERR_NOT_FOUND, diag);
  return TN_ERR_NOT_FOUND;
}

/* ---- in place of one that discovery found ---- */

/* The name for which alone the file at `path` was just refused, though discovery brought who has
 * it; NULL: it was not. */
static const char *name_to_replace(const tn_registry *r, const char *path, tn_plug **out_former) {
  const char *name = NULL;
  char buf[PATH_MAX];
  const char *real = realpath(path, buf);
  for (int64_t k = 0; real && k < r->plugs.n; k++)
    if (r->plugs.data[k]->may_replace && !strcmp(r->plugs.data[k]->info.path, real))
      name = r->plugs.data[k]->info.name;
  for (int64_t k = 0; name && k < r->plugs.n; k++) {
    const tn_plugin_info *info = &r->plugs.data[k]->info;
    const bool discovered = info->origin == TN_ORIGIN_PATH || info->origin == TN_ORIGIN_INSTALLED;
    *out_former = r->plugs.data[k];
    if (discovered && !info->refused && !strcmp(info->name, name)) return name;
  }
  return NULL;
}

/* Who names a file wants that one. The former comes back if the file is no good after all. diag has
 * why it was refused at first. */
static tn_status replace(tn_registry *r, const char *path, const tn_offer *offer, tn_status refused,
                         tn_diag *diag) {
  tn_plug *former = NULL;
  const char *name = name_to_replace(r, path, &former);
  char before[PATH_MAX];
  if (!name) return refused;
  tn_offer again = *offer;
  again.origin = former->info.origin;
  again.options = NULL, again.n_options = 0;
  snprintf(before, sizeof before, "%s", former->info.path);
  tn_status status = tn_plug_unload(r, name, diag);
  if (status) return status;
  tn_diag_clear(diag);
  status = load_named(r, path, offer, diag);
  tn_diag *said = status ? tn_diag_create() : NULL;
  if (status) tn_plug_load(r, before, &again, said);
  tn_diag_destroy(said);
  return status;
}

tn_status tn_registry_load(tn_registry *r, const char *path, const tn_host *host,
                           const tn_option *const *options, uint32_t n_options, tn_diag *diag) {
  if (!path || !*path) return tn_fail(diag, TN_ERR_INVALID, "plug-in: no path is given");
  const tn_offer offer = {TN_ORIGIN_EXPLICIT, host, options, n_options, tn_plug_vet,
                          tn_plug_note_all,   NULL};
  tn_diag *own = tn_diag_create();
  if (!own) return TN_ERR_MEMORY;
  tn_registry_whole(r);
  pthread_mutex_lock(&r->change);
  tn_status status = load_named(r, path, &offer, own);
  if (status) status = replace(r, path, &offer, status, own);
  pthread_mutex_unlock(&r->change);
  tn_diag_append(diag, own, NULL);
  tn_diag_destroy(own);
  return status;
}

/* ---- a look without loading ---- */

static void show(const tn_plug *plug, tn_examined *out) {
  out->info = plug->info;
  out->abi_major = plug->plugin.head.major;
  out->abi_minor = plug->plugin.head.minor;
  out->flavour = plug->plugin.flavour;
  out->ops = (const tn_opdef *const *)(void *)plug->ops;
  out->kernels = (const tn_kerneldef *const *)(void *)plug->kernels; /* def is their first member */
  out->rewrites = (const tn_rewritedef *const *)plug->rewrites;
  out->formats = (const tn_format *const *)plug->formats;
  out->n_ops = plug->n_ops;
  out->n_kernels = plug->n_kernels;
  out->n_rewrites = plug->n_rewrites;
  out->n_formats = plug->n_formats;
}

tn_status tn_registry_map(tn_registry *r, const char *path, tn_diag *diag, tn_examined *out) {
  char buf[PATH_MAX];
  memset(out, 0, sizeof *out);
  const char *real = find_named(path, buf, diag);
  tn_plug *plug = out->plug = tn_plug_new(r, real ? real : path, TN_ORIGIN_EXAMINED);
  if (!plug) return tn_fail(diag, TN_ERR_MEMORY, "%s: out of memory", path);
  out->info = plug->info;
  return real ? load(r, plug, NULL, diag, &out->query) : TN_ERR_NOT_FOUND;
}

tn_status tn_registry_examine(tn_registry *r, tn_diag *diag, tn_examined *e) {
  const tn_status status = tn_plug_vet(r, e->plug, e->query, diag);
  show(e->plug, e);
  return status;
}

void tn_examined_close(tn_examined *e) {
  tn_plug_free(e->plug);
  memset(e, 0, sizeof *e);
}
