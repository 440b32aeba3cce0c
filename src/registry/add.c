/* Plug-ins that are linked in, vetted: the descriptor that they answer, and adding them. */
#include <string.h>

#include "registry/load.h"

static tn_status vet_answer(tn_vet *v, tn_plugin_query_fn query) {
  uintptr_t code;
  memcpy(&code, &query, sizeof code);
  if (!tn_image_executable(v->image, code))
    return tn_fail(v->diag, TN_ERR_INVALID,
                   "%s: is not a plug-in of Tenon: its tn_plugin_query is no function",
                   v->plug->info.path);
  const tn_plugin *raw = query(TN_ABI_MAJOR, TN_ABI_MINOR);
  if (!raw)
    return tn_fail(v->diag, TN_ERR_VERSION, "%s: tn_plugin_query offers nothing for ABI %d.%d",
                   v->where, TN_ABI_MAJOR, TN_ABI_MINOR);
  return tn_vet_plugin(v, raw) ? TN_OK : v->status ? v->status : TN_ERR_INVALID;
}

tn_status tn_plug_vet(tn_registry *r, tn_plug *plug, tn_plugin_query_fn query, tn_diag *diag) {
  const char *where = *plug->info.path
                          ? tn_arena_format(&plug->arena, "plug-in %s", plug->info.path)
                          : "plug-in that is linked in";
  if (!where) return TN_ERR_MEMORY;
  tn_image image = {.a = r->a};
  if (plug->library && tn_image_read(r->a, &image))
    return tn_fail(diag, TN_ERR_MEMORY, "%s: out of memory", where);
  tn_vet v = {.plug = plug,
              .known = tn_registry_tables(r),
              .image = plug->library ? &image : NULL,
              .diag = diag,
              .where = where};
  const tn_status status = vet_answer(&v, query);
  tn_image_free(&image);
  return status;
}

tn_status tn_registry_add(tn_registry *r, tn_plugin_query_fn query, uint32_t origin,
                          const tn_host *host, const tn_option *const *options, uint32_t n_options,
                          tn_diag *diag) {
  const tn_offer offer = {origin, host, options, n_options, tn_plug_vet, tn_plug_note_all, NULL};
  tn_registry_whole(r);
  return tn_plug_add(r, query, &offer, diag);
}
