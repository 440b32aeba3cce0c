/* The cache of modules: a container a key. */
#include <stdio.h>
#include <string.h>

#include "accelerator/accelerator.h"
#include "base/cache_folder.h"

static const char *file_of(const char *key, char *out, size_t size) {
  snprintf(out, size, "%s.module", key);
  return out;
}

tn_status tn_module_cache_get(tn_accelerator *x, const char *folder, const char *key, tn_diag *diag,
                              tn_mapping *out) {
  char file[128];
  tn_container read;
  if (tn_cache_find(folder, file_of(key, file, sizeof file), diag, out)) return TN_ERR_NOT_FOUND;
  const char *wrong = tn_container_read(x->a, out->data, out->size, &read);
  if (!wrong && (read.n_modules != 1 || strcmp(read.modules[0].key, key)))
    wrong = "it holds another module than its name says";
  if (wrong) {
    tn_diag_add(diag, TN_DIAG_NOTE, "%s/%s: %s; it is compiled again", folder, file, wrong);
    tn_cache_drop(folder, file);
  }
  tn_container_close(&read);
  if (wrong) tn_file_unmap(out);
  return wrong ? TN_ERR_NOT_FOUND : TN_OK;
}

void tn_module_cache_put(const tn_allocator *a, const char *folder, const char *key,
                         const tn_mapping *container) {
  char file[128];
  const tn_cache_part part = {container->data, container->size};
  tn_cache_keep(a, folder, file_of(key, file, sizeof file), &part, 1);
}
