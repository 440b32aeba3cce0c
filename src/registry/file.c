/* The file of a plug-in: is it to be trusted, is it allowed, and mapping it.
 *
 * What was checked must be what is mapped. The file is opened once, and its identity, its hash and
 * its headers are those of that descriptor; dlopen gets the path, and the path has to lead to the
 * same file before and after it. dlopen of /proc/self/fd/N would map the descriptor itself, but a
 * library loaded so has no $ORIGIN for what it needs in turn, debuggers and profilers do not find
 * its file, and it fails where /proc is not mounted. Between the checks nobody can exchange the
 * file who could not do worse anyway: where trust is asked for, nobody but root and this user can
 * write any folder on the way. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/sha256.h"
#include "base/trust.h"
#include "registry/load.h"

static bool is_same(const struct stat *a, const struct stat *b) {
  return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
         a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec &&
         a->st_ctim.tv_sec == b->st_ctim.tv_sec && a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

static tn_status check_same(const char *path, const struct stat *seen, tn_diag *diag) {
  struct stat now;
  if (!stat(path, &now) && is_same(seen, &now)) return TN_OK;
  return tn_fail(diag, TN_ERR_IO, "%s: is not loaded: it was changed while it was being loaded",
                 path);
}

/* ---- what is allowed ---- */

static tn_status check_allowed(const tn_registry *r, tn_plug *plug, tn_diag *diag) {
  char real[PATH_MAX], why_not[512];
  const char *path = plug->info.path, *why = NULL;
  if (!r->allow) return TN_OK;
  if (!tn_path_is_trusted(path, why_not, sizeof why_not))
    return tn_fail(diag, TN_ERR_INVALID, "%s: is not loaded: a SHA-256 says nothing about it: %s",
                   path, why_not);
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

/* ---- mapping ---- */

/* Looks at the bytes of the open file, and asks everybody who has a say. */
static tn_status check_bytes(tn_registry *r, tn_plug *plug, int fd, tn_diag *diag) {
  tn_mapping file;
  char sha256[TN_SHA256_TEXT];
  tn_status status = tn_file_map_open(fd, plug->info.path, diag, &file);
  if (status) return status;
  tn_sha256_text(file.data, file.size, sha256);
  plug->info.sha256 = tn_arena_str(&plug->arena, sha256);
  status =
      plug->info.sha256 ? tn_elf_check(plug->info.path, file.data, file.size, diag) : TN_ERR_MEMORY;
  if (!plug->info.sha256) plug->info.sha256 = "";
  tn_file_unmap(&file);
  if (!status) status = check_allowed(r, plug, diag);
  /* whoever vets it maps it, too */
  const bool vets = !strcmp(plug->info.found_by, "examined");
  if (!status && r->vet && !vets) status = tn_plug_vet_in_child(r, plug, diag);
  return status;
}

static tn_status map(tn_plug *plug, tn_diag *diag) {
  const char *path = plug->info.path;
  plug->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
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
  tn_image image;
  if (tn_image_read(plug->a, &image))
    return tn_fail(diag, TN_ERR_MEMORY, "%s: out of memory", plug->info.path);
  const bool is_code = tn_image_executable(&image, (uintptr_t)symbol);
  tn_image_free(&image);
  if (!is_code)
    return tn_fail(diag, TN_ERR_INVALID,
                   "%s: is not a plug-in of Tenon: its tn_plugin_query is no function",
                   plug->info.path);
  memcpy(out_query, &symbol, sizeof symbol); /* ISO C has no cast from object to function pointer */
  return TN_OK;
}

tn_status tn_plug_map(tn_registry *r, tn_plug *plug, tn_diag *diag, tn_plugin_query_fn *out_query) {
  const char *path = plug->info.path;
  struct stat seen;
  /* O_NONBLOCK: opening a FIFO returns at once, so that it can be refused. */
  const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0 || fstat(fd, &seen)) {
    const int error = errno;
    if (fd >= 0) close(fd);
    return tn_fail(diag, error == ENOENT ? TN_ERR_NOT_FOUND : TN_ERR_IO, "%s: cannot be opened: %s",
                   path, strerror(error));
  }
  tn_status status = check_bytes(r, plug, fd, diag);
  if (!status) status = check_same(path, &seen, diag);
  if (!status) status = map(plug, diag);
  if (!status) status = check_same(path, &seen, diag);
  close(fd);
  return status ? status : find_query(plug, diag, out_query);
}
