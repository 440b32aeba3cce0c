/* In place of plug-ins that come as files: load.c, discover.c, image.c, allow.c and own_folder.c of
 * the registry, discover.c of runtimes, and what these need. Plug-ins that are linked in stay. */
#include "exec/exec.h"
#include "registry/load.h"
#include "registry/offers.h"
#include "without/without.h"

const char tn_without_plugins = 0;

tn_status tn_registry_load(tn_registry *r, const char *path, const tn_host *host,
                           const tn_option *const *options, uint32_t n_options, tn_diag *diag) {
  (void)r, (void)host, (void)options, (void)n_options;
  return tn_fail(diag, TN_ERR_UNSUPPORTED,
                 "plug-in '%s': this program was linked without plug-ins from files; to have them: "
                 "tenon select --with plugins",
                 path ? path : "");
}

tn_status tn_runtime_discover(tn_runtime *rt, tn_diag *diag) {
  (void)rt, (void)diag;
  return TN_OK;
}

/* Nothing is found, so nothing waits. */
bool tn_waiting_have(const tn_registry *r, const char *word) { return (void)r, (void)word, false; }

bool tn_waiting_have_op(const tn_registry *r, const char *domain, const char *name,
                        tn_versions versions) {
  return (void)r, (void)domain, (void)name, (void)versions, false;
}

void tn_waiting_load(const tn_registry *r) { (void)r; }
void tn_waiting_free(tn_registry *r) { (void)r; }
void tn_registry_late(const tn_registry *r, tn_diag *diag) { (void)r, (void)diag; }
void tn_vet_offers(tn_vet *v) { (void)v; }

const char *tn_plug_sha256(tn_plug *plug) { return plug->info.sha256; }

const char *tn_part_build(const tn_part_owner *owner) {
  return !owner || owner->is_builtin ? "" : NULL;
}

const char *tn_shipped_hint(const tn_registry *r, const char *domain, tn_arena *arena) {
  (void)r, (void)domain, (void)arena;
  return NULL;
}

/* Nothing is loaded, so nothing has to be allowed. */
tn_status tn_allow_read(tn_arena *arena, const char *path, tn_diag *diag, tn_allow **out_allow) {
  (void)path, (void)diag;
  *out_allow = tn_arena_alloc(arena, sizeof **out_allow);
  return *out_allow ? TN_OK : TN_ERR_MEMORY;
}

void tn_allow_free(const tn_allocator *a, tn_allow *allow) { (void)a, (void)allow; }

tn_status tn_image_read(const tn_allocator *a, tn_image *out) {
  (void)a, (void)out;
  return TN_OK;
}

void tn_image_free(tn_image *image) { (void)image; }

uint64_t tn_image_readable(const tn_image *image, const void *p) {
  (void)image, (void)p;
  return UINT64_MAX;
}

bool tn_image_executable(const tn_image *image, uintptr_t p) {
  (void)image, (void)p;
  return true;
}
