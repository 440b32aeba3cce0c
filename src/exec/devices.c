/* Opening the devices that a model wants. */
#include "device/device.h"

#include <string.h>

#include "exec/model.h"

/* Opened at most once, whatever name it goes by. */
static tn_status add_device(tn_model *m, const char *name, tn_diag *diag) {
  tn_planner *p = &m->planner;
  tn_device *d = NULL;
  if (!strcmp(name, "cpu")) return TN_OK;
  if (tn_model_is_accelerator(m, name)) return tn_model_add_accelerator(m, name, diag);
  tn_status status = tn_device_open(m->runtime->devices, name, diag, &d);
  if (!status && tn_holder_use(&m->holder, tn_device_owner(d)))
    status = tn_fail(diag, TN_ERR_STATE, "device '%s': its plug-in is being unloaded", name);
  for (uint32_t k = 0; k < p->n_devices && !status; k++)
    if (p->devices[k] == d)
      status = tn_fail(diag, TN_ERR_INVALID, "device '%s' is named twice", d->name);
  if (status) {
    tn_device_close(d);
    return status;
  }
  p->devices[p->n_devices++] = d;
  return TN_OK;
}

/* Whatever can be opened; a machine without any GPU runs on the CPU. */
static void add_all(tn_model *m) {
  const tn_registry *r = m->planner.registry;
  for (int32_t k = 0; k < tn_registry_n_drivers(r); k++) {
    const tn_device_driver *driver = &tn_registry_driver_at(r, k)->driver;
    tn_status status = tn_driver_is_of_kind(driver, "gpu") ? TN_OK : TN_ERR_NOT_FOUND;
    for (uint32_t i = 0; !status && m->planner.n_devices < TN_MAX_DEVICES; i++) {
      char name[TN_DEVICE_NAME];
      snprintf(name, sizeof name, "%s:%u", driver->name, i);
      status = add_device(m, name, NULL);
    }
  }
}

static tn_status add_named(tn_model *m, const char *name, tn_diag *diag) {
  if (!name) return tn_fail(diag, TN_ERR_INVALID, "tn_model_options: a device is NULL");
  if (m->planner.n_devices == TN_MAX_DEVICES)
    return tn_fail(diag, TN_ERR_INVALID, "tn_model_options: more than %d devices", TN_MAX_DEVICES);
  if (strcmp(name, "auto")) return add_device(m, name, diag);
  add_all(m);
  return TN_OK;
}

/* A device that cannot be had is an error only where nothing else may do its work. */
static tn_status add_by_policy(tn_model *m, const char *name, tn_diag *diag) {
  tn_diag *said = tn_diag_create();
  const tn_status status = add_named(m, name, said);
  const bool is_fatal =
      status && (m->planner.fallback == TN_FALLBACK_FORBID ||
                 (status != TN_ERR_NOT_FOUND && status != TN_ERR_MEMORY && status != TN_ERR_IO));
  if (status && !is_fatal)
    tn_diag_add(
        diag, TN_DIAG_WARNING, "%s; the model runs without it",
        said && tn_diag_count(said) ? tn_diag_message(said, 0, NULL) : tn_status_text(status));
  else
    tn_diag_append(diag, said, NULL);
  tn_diag_destroy(said);
  return is_fatal ? status : TN_OK;
}

tn_status tn_model_open_devices(tn_model *m, const tn_model_options *o, const char *path,
                                tn_diag *diag) {
  tn_planner *p = &m->planner;
  if (o->fallback > TN_FALLBACK_ALLOW)
    return tn_fail(diag, TN_ERR_INVALID, "tn_model_options: fallback is %u", o->fallback);
  if (!o->n_devices) return TN_OK;
  if (!o->devices) return tn_fail(diag, TN_ERR_INVALID, "tn_model_options: devices is NULL");
  p->auto_devices = true;
  for (uint32_t k = 0; k < o->n_devices; k++)
    p->auto_devices = p->auto_devices && o->devices[k] && !strcmp(o->devices[k], "auto");
  p->fallback = o->fallback       ? o->fallback
                : p->auto_devices ? TN_FALLBACK_ALLOW
                                  : TN_FALLBACK_FORBID;
  p->devices = tn_alloc(p->a, TN_MAX_DEVICES * sizeof *p->devices);
  p->full = tn_alloc(p->a, sizeof *p->full);
  if (!p->devices || !p->full) return TN_ERR_MEMORY;
  atomic_init(p->full, 0);
  tn_status status = tn_residents_create(p->a, &p->residents);
  if (!status) status = tn_model_read_modules(m, o->modules, path, diag);
  const int ticket = tn_registry_enter(p->registry);
  for (uint32_t k = 0; k < o->n_devices && !status; k++)
    status = add_by_policy(m, o->devices[k], diag);
  tn_registry_leave(p->registry, ticket);
  for (uint32_t k = 0; k < p->n_devices && p->precision && !status; k++)
    if (!p->devices[k]->info.units)
      status = tn_fail(diag, TN_ERR_UNSUPPORTED, "not supported: precision %s on '%s', no GPU",
                       tn_dtype_name(p->precision), p->devices[k]->name);
  if (p->precision && p->n_accelerators && !status)
    status = tn_fail(diag, TN_ERR_UNSUPPORTED, "not supported: precision %s on an accelerator",
                     tn_dtype_name(p->precision));
  if (!p->n_accelerators && p->n_devices && p->fallback == TN_FALLBACK_ALLOW) {
    m->for_cpu = *p;
    m->for_cpu.rewrites_all = true;
    p->for_cpu = &m->for_cpu;
  }
  if (!p->n_accelerators) return status;
  m->home = *p;
  m->home.n_accelerators = 0;
  p->home = &m->home;
  return status;
}

void tn_model_close_devices(tn_model *m) {
  tn_planner *p = &m->planner;
  tn_model_close_accelerators(m);
  tn_residents_destroy(p->residents);
  for (uint32_t k = 0; k < p->n_devices; k++) tn_device_close(p->devices[k]);
  tn_free(p->a, p->devices, TN_MAX_DEVICES * sizeof *p->devices);
  tn_free(p->a, p->full, sizeof *p->full);
}
