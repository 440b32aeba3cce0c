/* Plug-ins of a runtime, as programs bring them: added, loaded, unloaded. Programs that bring none
 * are linked without this file, and so without what vets. */
#include "exec/exec.h"
#include "exec/host.h"

static tn_status vet_options(const tn_option *const *options, uint32_t n_options, tn_diag *diag) {
  if (n_options && !options)
    return tn_fail(diag, TN_ERR_INVALID, "plug-in options: NULL, but %u are counted", n_options);
  for (uint32_t k = 0; k < n_options; k++)
    if (!options[k] || options[k]->head.size < offsetof(tn_option, value) + sizeof(char *) ||
        !options[k]->key || !options[k]->value)
      return tn_fail(diag, TN_ERR_INVALID, "plug-in options: entry %u needs a head, key and value",
                     k);
  return TN_OK;
}

tn_status tn_runtime_load_plugin(tn_runtime *rt, const char *path, const tn_option *const *options,
                                 uint32_t n_options, tn_diag *diag) {
  if (!rt) return tn_fail(diag, TN_ERR_INVALID, "plug-in: runtime is NULL");
  const tn_status status = vet_options(options, n_options, diag);
  if (status) return status;
  return tn_registry_load(rt->registry, path, &tn_runtime_host, options, n_options, diag);
}

tn_status tn_runtime_add_plugin(tn_runtime *rt, tn_plugin_query_fn query,
                                const tn_option *const *options, uint32_t n_options,
                                tn_diag *diag) {
  if (!rt) return tn_fail(diag, TN_ERR_INVALID, "plug-in: runtime is NULL");
  const tn_status status = vet_options(options, n_options, diag);
  if (status) return status;
  return tn_registry_add(rt->registry, query, TN_ORIGIN_EXPLICIT, &tn_runtime_host, options,
                         n_options, diag);
}

tn_status tn_runtime_unload_plugin(tn_runtime *rt, const char *name, uint32_t wait_ms,
                                   tn_diag *diag) {
  if (!rt || !name) return tn_fail(diag, TN_ERR_INVALID, "unload: runtime or name is NULL");
  return tn_registry_unload(rt->registry, name, wait_ms, diag);
}
