/* What this host's ABI has, by name. */
#include "registry/internal.h"

/* `needs` names what came after 1.0; that is nothing yet. */
bool tn_abi_knows(const char *name, size_t size) {
  (void)name, (void)size;
  return false;
}
