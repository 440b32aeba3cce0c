/* Discovery: plug-ins in the folders of TENON_PLUGIN_PATH and in the installed folder. The working
 * folder is never looked at, nor is anything that somebody else may have written.
 *
 * Opening, checking and vetting them takes longer than loading a small model, and most models need
 * none. So they wait where all of them say in their files what they offer (offers.c): until a
 * look-up may find something of theirs, or asks for everything. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/object.h"
#include "base/text.h"
#include "base/trust.h"
#include "registry/load.h"
#include "registry/offers.h"

typedef struct found_file {
  char *path;
  uint32_t origin;
  tn_diag *diag;      /* messages of the last try */
  bool waits;         /* for an operator that a later file may bring */
  const char *offers; /* what the file says, where all wait; NULL: they do not */
} found_file;

typedef struct tn_finder {
  tn_arena arena;
  TN_VEC(found_file) files;
  tn_registry *r;
  tn_folder_info folder; /* being looked into */
  uint32_t origin;       /* of what is in it */
  tn_status status;
  const tn_host *host;
  tn_map words; /* of all files */
} finder;

static const char path_variable[] = "TENON_PLUGIN_PATH";

static int visit(void *self, const char *name, bool is_dir) {
  finder *f = self;
  if (is_dir || !tn_has_suffix(name, ".so")) {
    f->folder.n_others++;
    return 0;
  }
  f->folder.n_files++;
  const found_file file = {tn_arena_format(&f->arena, "%s/%s", f->folder.folder, name), f->origin,
                           tn_diag_create(), true, NULL};
  f->status = file.path && file.diag ? tn_vec_push(f->arena.a, &f->files, file) : TN_ERR_MEMORY;
  if (f->status) tn_diag_destroy(file.diag);
  return f->status;
}

static void append_as_warnings(tn_diag *diag, const tn_diag *from) {
  const int64_t n = tn_diag_count(from);
  for (int64_t k = 0; k < n; k++)
    tn_diag_add(diag, TN_DIAG_WARNING, "%s", tn_diag_message(from, k, NULL));
}

/* Lists the folder; refused NULL: it was looked into. */
static void list_folder(finder *f, const char *refused) {
  if (f->status) return;
  tn_arena *arena = &f->r->arena;
  f->folder.head = (tn_head)TN_HEAD(tn_folder_info);
  f->folder.folder = tn_arena_str(arena, f->folder.folder);
  f->folder.refused = refused ? tn_arena_str(arena, refused) : NULL;
  const bool said = f->folder.folder && (f->folder.refused || !refused);
  f->status = said ? tn_vec_push(f->r->a, &f->r->folders, f->folder) : TN_ERR_MEMORY;
}

static void begin_folder(finder *f, const char *folder, uint32_t origin) {
  f->origin = origin;
  f->folder = (tn_folder_info){.folder = folder, .found_by = tn_origin_text(origin)};
}

static void find_in(finder *f, const char *folder, uint32_t origin, tn_diag *diag) {
  char why[512];
  tn_diag *own = tn_diag_create();
  begin_folder(f, folder, origin);
  const char *inside = tn_arena_format(&f->arena, "%s/", folder);
  if (!inside || !own)
    f->status = TN_ERR_MEMORY;
  else if (tn_dir_each(folder, own, visit, f))
    list_folder(f, tn_diag_text(own));
  else if (!f->folder.n_files && !tn_path_is_trusted(inside, why, sizeof why))
    list_folder(f, why); /* whoever may write it may put plug-ins there: say so before they do */
  else
    list_folder(f, NULL);
  append_as_warnings(diag, own);
  tn_diag_destroy(own);
}

static void refuse_folder(finder *f, const char *folder, const char *why, tn_diag *diag) {
  begin_folder(f, folder, TN_ORIGIN_PATH);
  list_folder(f, why);
  tn_diag_add(diag, TN_DIAG_WARNING, "%s: '%s' is left out: %s", path_variable, folder, why);
}

static void find_in_path(finder *f, const char *path, tn_diag *diag) {
  for (const char *p = path; p && !f->status;) {
    const size_t n = strcspn(p, ":");
    const char *folder = tn_arena_strn(&f->arena, p, (int64_t)n);
    if (!folder)
      f->status = TN_ERR_MEMORY;
    else if (*folder == '/')
      find_in(f, folder, TN_ORIGIN_PATH, diag);
    else
      refuse_folder(f, folder,
                    *folder ? "it is not an absolute path"
                            : "it is empty, which would mean the working folder",
                    diag);
    p = p[n] ? p + n + 1 : NULL;
  }
}

/* Who may start a program that has more rights than he may not bring plug-ins along. */
static void find_in_environment(finder *f, tn_diag *diag) {
  const char *path = getenv(path_variable), *safe = secure_getenv(path_variable);
  if (path && *path && !safe)
    refuse_folder(f, path, "this program has rights that its caller lacks (set-uid or the like)",
                  diag);
  if (safe && *safe) find_in_path(f, safe, diag);
}

/* The folder that this library was built with; what is relative starts where the library lies, so
 * that the two may be moved together. An absolute one may have moved as well. */
static const char *built_in_folder(finder *f) {
  const char *folder = NULL;
#ifdef TN_PLUGIN_DIR
  char here[4096];
  folder = TN_PLUGIN_DIR;
  if (*folder && *folder != '/' && tn_object_folder(here, sizeof here))
    return tn_arena_format(&f->arena, "%s/%s", here, folder);
  const char *own = *folder ? tn_own_plugin_folder(&f->arena) : NULL;
  if (own) return own;
#endif
  return folder;
}

/* TENON_PLUGIN_DIR stands for the folder that this library was built with: an installation may have
 * moved, and tests shall not see what somebody has installed. */
static void find_installed(finder *f, tn_diag *diag) {
  const char *folder = secure_getenv("TENON_PLUGIN_DIR");
  if (!folder || !*folder) folder = built_in_folder(f);
  if (f->status || !folder || !*folder) return;
  if (*folder == '/' && !access(folder, F_OK)) {
    find_in(f, folder, TN_ORIGIN_INSTALLED, diag);
  } else {
    begin_folder(f, folder, TN_ORIGIN_INSTALLED);
    list_folder(f, *folder == '/' ? "it is not there" : "it is not an absolute path");
  }
}

/* True if the file came into use. */
static bool try_load(tn_registry *r, found_file *file, const tn_host *host) {
  const tn_offer offer = {file->origin, host, NULL, 0, tn_plug_vet, tn_plug_note_all, file->offers};
  tn_diag_clear(file->diag);
  const tn_status status = tn_plug_load(r, file->path, &offer, file->diag);
  file->waits = status == TN_ERR_NOT_FOUND;
  return status == TN_OK;
}

/* Rounds, until one brings nothing new. */
static void load_rounds(tn_registry *r, finder *f) {
  for (bool again = true; again;) {
    again = false;
    for (int64_t k = 0; k < f->files.n; k++)
      if (f->files.data[k].waits && try_load(r, &f->files.data[k], f->host)) again = true;
  }
}

/* Under the lock `change`. */
static void load_all(tn_registry *r, finder *f, tn_diag *diag) {
  load_rounds(r, f);
  for (int64_t k = 0; k < f->files.n; k++) {
    append_as_warnings(diag, f->files.data[k].diag);
    tn_diag_destroy(f->files.data[k].diag);
  }
  f->files.n = 0;
}

/* ---- waiting ---- */

/* What a file says that may be believed: nobody else can have written it. */
static const char *read_offers(finder *f, const char *path, tn_trusted_folders *folders) {
  char why[512];
  if (!tn_path_is_trusted_among(path, folders, why, sizeof why)) return NULL;
  const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return NULL;
  const char *offers = tn_offers_read(&f->arena, fd);
  close(fd);
  return offers;
}

/* Lists of what is allowed, and vetting, tell at once what they refuse. */
static bool may_wait(finder *f) {
  tn_trusted_folders folders;
  folders.n = 0;
  if (f->r->allow || f->r->vet || !f->files.n) return false;
  for (int64_t k = 0; k < f->files.n; k++) {
    const char *offers = read_offers(f, f->files.data[k].path, &folders);
    if (!offers || tn_offers_depend(&f->arena, offers) ||
        tn_offers_add(&f->arena, offers, &f->words))
      return false;
    f->files.data[k].offers = offers;
  }
  return true;
}

bool tn_waiting_have(const tn_registry *r, const char *word) {
  const finder *f = atomic_load(&((tn_registry *)(uintptr_t)r)->waiting);
  return f && tn_map_get(&f->words, word, 0);
}

bool tn_waiting_have_op(const tn_registry *r, const char *domain, const char *name,
                        tn_versions versions) {
  const finder *f = atomic_load(&((tn_registry *)(uintptr_t)r)->waiting);
  return f && tn_versions_meet(tn_offers_of(&f->words, domain, name), versions);
}

/* Whoever comes while they are loaded waits for all of them. What others may still read of the
 * words stays until the registry goes. */
void tn_waiting_load(const tn_registry *registry) {
  tn_registry *r = (tn_registry *)(uintptr_t)registry;
  pthread_mutex_lock(&r->change);
  finder *f = atomic_load(&r->waiting);
  tn_diag *said = f ? tn_diag_create() : NULL;
  if (f) load_all(r, f, said);
  if (tn_diag_count(said))
    atomic_store(&r->late, said);
  else
    tn_diag_destroy(said);
  atomic_store(&r->waiting, NULL);
  pthread_mutex_unlock(&r->change);
}

void tn_registry_late(const tn_registry *registry, tn_diag *diag) {
  tn_registry *r = (tn_registry *)(uintptr_t)registry;
  tn_diag *said = atomic_load(&r->late) ? atomic_exchange(&r->late, NULL) : NULL;
  if (said) append_as_warnings(diag, said);
  tn_diag_destroy(said);
}

static void finder_free(tn_registry *r, finder *f) {
  if (!f) return;
  for (int64_t k = 0; k < f->files.n; k++) tn_diag_destroy(f->files.data[k].diag);
  tn_vec_free(r->a, &f->files);
  tn_map_free(&f->words);
  tn_arena_clear(&f->arena);
  tn_free(r->a, f, sizeof *f);
}

void tn_waiting_free(tn_registry *r) {
  finder_free(r, r->found);
  tn_diag_destroy(atomic_load(&r->late));
}

/* ---- all of it ---- */

static void load_or_wait(tn_registry *r, finder *f, tn_diag *diag) {
  if (may_wait(f)) {
    r->found = f;
    atomic_store(&r->waiting, f);
    return;
  }
  for (int64_t k = 0; k < f->files.n; k++) f->files.data[k].offers = NULL;
  pthread_mutex_lock(&r->change);
  load_all(r, f, diag);
  pthread_mutex_unlock(&r->change);
}

tn_status tn_registry_discover(tn_registry *r, const tn_host *host, tn_diag *diag) {
  finder *f = tn_alloc(r->a, sizeof *f);
  if (!f) return TN_ERR_MEMORY;
  f->r = r;
  f->host = host;
  tn_arena_init(&f->arena, r->a);
  tn_map_init_borrowing(&f->words, r->a);
  find_in_environment(f, diag);
  find_installed(f, diag);
  const tn_status status = f->status;
  load_or_wait(r, f, diag);
  if (r->found != f) finder_free(r, f);
  return status;
}
