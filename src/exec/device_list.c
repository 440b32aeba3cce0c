/* The devices of a runtime, as tenon.h lists them: those of drivers, and targets of compilers. */
#include <stdio.h>

#include "base/abi.h"
#include "device/device.h"
#include "exec/model.h"

/* A target of a compiler, opened for a moment. */
static void list_target(tn_runtime *rt, const tn_accelerator_entry *x) {
  char hardware[300];
  tn_diag *said = tn_diag_create();
  tn_accelerator *open = NULL;
  const tn_status status =
      tn_accelerator_open(&rt->allocator, rt->registry, x->name, NULL, false, said, &open);
  snprintf(hardware, sizeof hardware, "%.120s%s%.120s", x->hardware, x->kit ? ", kit " : "",
           x->kit ? x->kit : "");
  const tn_device_entry e = {.name = x->name,
                             .driver = x->dispatcher,
                             .plugin = x->plugin,
                             .hardware = hardware,
                             .stamp = open ? open->stamp : "",
                             .missing = !status ? NULL
                                        : said && tn_diag_count(said)
                                            ? tn_diag_message(said, 0, NULL)
                                            : tn_status_text(status),
                             .compiler = x->compiler};
  (void)tn_devices_add(rt->devices, &e);
  tn_accelerator_close(open);
  tn_diag_destroy(said);
}

int32_t tn_runtime_n_devices(tn_runtime *rt) {
  const tn_device_entry *entries;
  tn_accelerator_entry x;
  if (!rt) return 0;
  const int ticket = tn_registry_enter(rt->registry);
  (void)tn_devices_list(rt->devices, &entries);
  for (int32_t k = 0; tn_accelerator_at(rt->registry, k, &x); k++) list_target(rt, &x);
  tn_registry_leave(rt->registry, ticket);
  return tn_devices_listed(rt->devices, &entries);
}

tn_status tn_runtime_device(tn_runtime *rt, int32_t index, tn_device_entry *out_entry) {
  const tn_device_entry *entries;
  if (!rt || !out_entry) return TN_ERR_INVALID;
  const int32_t n = tn_devices_listed(rt->devices, &entries);
  if (index < 0 || index >= n) return TN_ERR_NOT_FOUND;
  return tn_struct_out(out_entry, &entries[index], sizeof entries[index]);
}
