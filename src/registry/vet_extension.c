/* Vetting of extensions: unstable tables that are offered by name and version. The one that this
 * host knows is vetted like all else. */
#include <string.h>

#include "registry/internal.h"
#include "tenon/experimental/emit_c.h"

/* "profiler.v3" */
static bool vet_name(tn_vet *v, const char *name) {
  if (!tn_vet_name(v, "name", name)) return false;
  const char *version = strrchr(name, '.');
  if (version && version > name && version[1] == 'v' && version[2] &&
      !version[2 + strspn(version + 2, "0123456789")])
    return true;
  return tn_vet_fail(v, TN_ERR_INVALID, "name",
                     "is '%s', but has to end in a version, like profiler.v1", name);
}

static void vet_extension(tn_vet *v, const void *raw, uint32_t index) {
  tn_extension e;
  const char *name = NULL;
  tn_vet_part(v, "extension", index);
  if (!tn_vet_struct(v, raw, TN_UPTO(tn_extension, table), sizeof e, &e) || !vet_name(v, e.name))
    return;
  v->name = e.name;
  if (!e.table)
    tn_vet_fail(v, TN_ERR_INVALID, "table", "must be given");
  else if (strcmp(e.name, TN_EMIT_C_EXTENSION))
    tn_text_add(&v->offers, "%s%s (not known to this host)", v->offers.n ? ", " : "", e.name);
  else if (tn_vet_emitter(v, e.table, &name))
    tn_vet_offer(v, e.name, name);
}

void tn_vet_extensions(tn_vet *v) {
  const tn_plugin *p = &v->plug->plugin;
  for (uint32_t k = 0; k < p->n_extensions; k++) vet_extension(v, tn_vet_row(p->extensions, k), k);
}
