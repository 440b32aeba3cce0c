/* Where the plug-ins that ship with Tenon lie: beside the library or program that holds this code,
 * wherever that has been moved to; and which operators they bring. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/object.h"
#include "registry/internal.h"

/* NULL: there is no such file or folder. */
static const char *existing(tn_arena *arena, const char *folder, const char *inside) {
  char real[PATH_MAX];
  const char *path = tn_arena_format(arena, "%s/%s", folder, inside);
  if (!path || access(path, F_OK))
    return NULL; /* sooner than by looking at each folder on the way */
  return realpath(path, real) ? tn_arena_str(arena, real) : NULL;
}

const char *tn_own_plugin_folder(tn_arena *arena) {
  char here[PATH_MAX];
  if (!tn_object_folder(here, sizeof here)) return NULL;
  const char *found = existing(arena, here, "tenon/plugins"); /* of <prefix>/lib/libtenon.so */
#ifdef TN_PLUGINS_FROM_BIN
  if (!found) found = existing(arena, here, TN_PLUGINS_FROM_BIN); /* of <prefix>/bin/tenon */
#endif
  if (!found && existing(arena, here, "CMakeCache.txt")) /* where it was built */
    found = existing(arena, here, "plugins/all");
  return found;
}

static bool is_in_use(const tn_registry *r, const char *name) {
  const tn_tables *t = tn_registry_whole(r);
  for (int32_t k = 0; k < t->n_plugs; k++)
    if (!t->plugs[k]->info.refused && !strcmp(t->plugs[k]->info.name, name)) return true;
  return false;
}

const char *tn_shipped_hint(const tn_registry *r, const char *domain, tn_arena *arena) {
  const char *name = !strcmp(domain, "com.microsoft") ? "contrib"
                     : !strcmp(domain, "tflite")      ? "tflite_custom"
                                                      : NULL;
  if (!strcmp(domain, "ai.onnx.contrib") || !strcmp(domain, "com.microsoft.extensions"))
    return "onnxruntime-extensions has operators of this domain: TENON_ORT_CUSTOM_OPS names its "
           "library";
  if (!name || is_in_use(r, name)) return NULL;
  const char *folder = tn_own_plugin_folder(arena);
  const char *file = folder ? tn_arena_format(arena, "%s/%s.so", folder, name) : NULL;
  if (file && !access(file, R_OK))
    return tn_arena_format(
        arena, "the plug-in '%s' has operators of this domain: load %s (--plugin)", name, file);
  return tn_arena_format(arena,
                         "the plug-in '%s', which ships with Tenon, has operators of this domain: "
                         "load its %s.so (--plugin)",
                         name, name);
}
