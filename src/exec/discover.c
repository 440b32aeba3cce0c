/* Plug-ins that a runtime finds by itself. */
#include "exec/exec.h"
#include "exec/host.h"

tn_status tn_runtime_discover(tn_runtime *rt, tn_diag *diag) {
  return tn_registry_discover(rt->registry, &tn_runtime_host, diag);
}
