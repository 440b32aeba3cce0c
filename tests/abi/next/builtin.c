/* Tenon's own operators of today as a plug-in, and (with NEXT) the host of tomorrow, which takes
 * them as its own from the file that TENON_OLD_BUILTIN names. */
#include "registry/builtin.h"

#ifdef NEXT
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

const tn_plugin *tn_builtin_query(uint32_t host_major, uint32_t host_minor) {
  static const tn_plugin nothing = {
      .head = TN_HEAD(tn_plugin), .name = "nothing", .flavour = TN_FLAVOUR};
  const char *path = getenv("TENON_OLD_BUILTIN");
  if (!path) return &nothing;
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  void *symbol = library ? dlsym(library, "tn_plugin_query") : NULL;
  tn_plugin_query_fn query = NULL;
  memcpy(&query, &symbol, sizeof symbol);
  return query ? query(host_major, host_minor) : NULL;
}
#else
const tn_plugin *tn_plugin_query(uint32_t host_major, uint32_t host_minor) {
  return tn_builtin_query(host_major, host_minor);
}
#endif
