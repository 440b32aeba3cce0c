/* Vetting of extensions: unstable tables that are offered by name and version. Those that this host
 * knows are vetted like all else. */
#include <string.h>

#include "base/text.h"
#include "registry/internal.h"
#include "tenon/experimental/accelerator.h"
#include "tenon/experimental/emit_c.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

static const struct {
  const char *name;
  bool (*vet)(tn_vet *v, const void *raw, const char **out_name);
} known[] = {{TN_COMPILER_EXTENSION, tn_vet_compiler},
             {TN_DISPATCHER_EXTENSION, tn_vet_dispatcher},
             {TN_DEVICE_EXTENSION, tn_vet_driver},
             {TN_DEVICE_KERNEL_EXTENSION, tn_vet_device_kernel},
             {TN_EMIT_C_EXTENSION, tn_vet_emitter}};

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

static void vet_extension(tn_vet *v, const void *raw, uint32_t index, tn_text *offers) {
  tn_extension e;
  const char *name = NULL;
  tn_vet_part(v, "extension", index);
  if (!tn_vet_struct(v, raw, TN_UPTO(tn_extension, table), sizeof e, &e) || !vet_name(v, e.name))
    return;
  v->name = e.name;
  if (!e.table) {
    tn_vet_fail(v, TN_ERR_INVALID, "table", "must be given");
    return;
  }
  const char *comma = offers->n ? ", " : "";
  for (size_t k = 0; k < COUNT(known); k++) {
    if (strcmp(known[k].name, e.name)) continue;
    if (known[k].vet(v, e.table, &name)) tn_text_add(offers, "%s%s '%s'", comma, e.name, name);
    return;
  }
  tn_text_add(offers, "%s%s (not known to this host)", comma, e.name);
}

void tn_vet_extensions(tn_vet *v) {
  tn_plug *plug = v->plug;
  tn_text offers;
  tn_text_init(&offers, plug->a);
  for (uint32_t k = 0; k < plug->plugin.n_extensions; k++)
    vet_extension(v, tn_vet_row(plug->plugin.extensions, k), k, &offers);
  const char *text = offers.status ? NULL : tn_arena_str(&plug->arena, tn_text_get(&offers));
  if (text)
    plug->info.offers = text;
  else
    tn_vet_fail(v, TN_ERR_MEMORY, NULL, "out of memory");
  tn_text_free(&offers);
}
