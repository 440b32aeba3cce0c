/* What this host's ABI has that 1.0 had not, by name: what plug-ins may need. */
#include <string.h>

#include "registry/internal.h"

static const char *const names[] = {
#include "registry/abi_names.h"
    NULL};

bool tn_abi_knows(const char *name, size_t size) {
  for (size_t k = 0; names[k]; k++)
    if (strlen(names[k]) == size && !memcmp(names[k], name, size)) return true;
  return false;
}
