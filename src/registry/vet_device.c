/* Vetting of drivers and of the kernels of devices. They are kept as the host's copies: drivers are
 * listed, the rows of kernels join those of the CPU. */
#include <string.h>

#include "registry/internal.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))
#define NEEDED(member) TN_MEMBER(tn_device_driver, member, TN_MEMBER_FUNCTION, true, 0)
#define OPTIONAL(member) TN_MEMBER(tn_device_driver, member, TN_MEMBER_FUNCTION, false, 0)

static const tn_member driver_members[] = {
    /* first: it names the part in all messages that follow */
    TN_MEMBER(tn_device_driver, name, TN_MEMBER_NAME, true, 0),
    TN_MEMBER(tn_device_driver, vendor, TN_MEMBER_TEXT, true, TN_LIMIT_NAME),
    TN_MEMBER(tn_device_driver, kinds, TN_MEMBER_TEXT, true, TN_LIMIT_NAME),
    TN_MEMBER(tn_device_driver, languages, TN_MEMBER_TEXT, true, TN_LIMIT_NAME),
    NEEDED(count),
    NEEDED(open),
    NEEDED(close),
    NEEDED(describe),
    OPTIONAL(refuse),
    NEEDED(buffer_new),
    NEEDED(buffer_map),
    NEEDED(buffer_free),
    OPTIONAL(buffer_sync),
    NEEDED(program_new),
    NEEDED(program_free),
    NEEDED(record_begin),
    NEEDED(record_dispatch),
    NEEDED(record_copy),
    NEEDED(record_fill),
    NEEDED(record_barrier),
    NEEDED(record_end),
    NEEDED(record_free),
    NEEDED(queue_new),
    NEEDED(queue_free),
    NEEDED(submit),
    NEEDED(wait),
    OPTIONAL(program_save),
};

/* Its name begins the names of its devices. */
static bool vet_driver_name(tn_vet *v, const char *name) {
  if (!strcmp(name, "cpu") || !strcmp(name, "auto"))
    return tn_vet_fail(v, TN_ERR_INVALID, "name", "is '%s', which means something else", name);
  for (int32_t k = 0; k < v->known->n_drivers; k++)
    if (!strcmp(v->known->drivers[k]->driver.name, name))
      return tn_vet_fail(v, TN_ERR_INVALID, "name",
                         "is '%s', as is that of a driver of plug-in '%s'", name,
                         v->known->drivers[k]->owner->name);
  return true;
}

static bool vet_driver(tn_vet *v, const void *raw, tn_device_driver *d) {
  return tn_vet_struct(v, raw, TN_UPTO(tn_device_driver, program_save), sizeof *d, d) &&
         tn_vet_named(v, "driver", d, driver_members, COUNT(driver_members)) &&
         vet_driver_name(v, d->name);
}

void tn_vet_drivers(tn_vet *v) {
  tn_plug *plug = v->plug;
  const uint32_t n = plug->plugin.n_drivers;
  tn_driverdef *defs = tn_vet_alloc(v, n, sizeof *defs);
  plug->drivers = tn_vet_alloc(v, n, sizeof *plug->drivers);
  for (uint32_t k = 0; k < n && defs && plug->drivers; k++) {
    defs[k].owner = &plug->owner;
    tn_vet_part(v, "driver", k);
    if (!vet_driver(v, tn_vet_row(plug->plugin.drivers, k), &defs[k].driver)) continue;
    plug->drivers[plug->n_drivers++] = &defs[k];
    tn_vet_offer(v, "driver", defs[k].driver.name);
  }
}

/* ---- kernels ---- */

static const tn_member kernel_members[] = {
    TN_MEMBER(tn_device_kernel, record, TN_MEMBER_FUNCTION, true, 0),
};
static const tn_member program_members[] = {
    TN_MEMBER(tn_program, name, TN_MEMBER_NAME, true, 0),
    TN_MEMBER(tn_program, constants, TN_MEMBER_TEXT, false, TN_LIMIT_TEXT),
};
static const tn_member form_members[] = {
    TN_MEMBER(tn_program_form, language, TN_MEMBER_NAME, true, 0),
};

static bool vet_form(tn_vet *v, const void *raw) {
  tn_program_form f;
  if (!tn_vet_struct(v, raw, TN_UPTO(tn_program_form, size), sizeof f, &f)) return false;
  bool ok = tn_vet_members(v, &f, form_members, COUNT(form_members));
  if (!f.data || !f.size) ok = tn_vet_fail(v, TN_ERR_INVALID, "forms", "one of them is empty");
  if (f.data && tn_image_readable(v->image, f.data) < f.size)
    ok = tn_vet_fail(v, TN_ERR_INVALID, "forms", "one of them ends outside of the plug-in");
  return ok;
}

static bool vet_program(tn_vet *v, const void *raw) {
  tn_program p;
  if (!tn_vet_struct(v, raw, TN_UPTO(tn_program, reserved), sizeof p, &p)) return false;
  bool ok = tn_vet_members(v, &p, program_members, COUNT(program_members));
  if (!p.n_forms) ok = tn_vet_fail(v, TN_ERR_INVALID, "forms", "must be given: it has none");
  if (!tn_vet_table(v, "forms", p.forms, p.n_forms, TN_LIMIT_ROWS)) return false;
  for (uint32_t k = 0; k < p.n_forms; k++) ok = vet_form(v, tn_vet_row(p.forms, k)) && ok;
  return ok;
}

static bool vet_device_kernel(tn_vet *v, const void *raw, tn_device_kernel *k) {
  if (!tn_vet_struct(v, raw, TN_UPTO(tn_device_kernel, record), sizeof *k, k)) return false;
  if (!k->kernel) return tn_vet_fail(v, TN_ERR_INVALID, "kernel", "must be given");
  if (!tn_vet_members(v, k, kernel_members, COUNT(kernel_members))) return false;
  if (!k->n_programs)
    return tn_vet_fail(v, TN_ERR_INVALID, "programs", "must be given: it has none");
  if (!tn_vet_table(v, "programs", k->programs, k->n_programs, TN_LIMIT_ROWS)) return false;
  bool ok = true;
  for (uint32_t i = 0; i < k->n_programs; i++)
    ok = vet_program(v, tn_vet_row(k->programs, i)) && ok;
  return ok && tn_vet_device_row(v, k->kernel, k);
}

void tn_vet_device_kernels(tn_vet *v) {
  const tn_plugin *p = &v->plug->plugin;
  if (v->plug->is_settled_later) return;
  tn_device_kernel *copies = tn_vet_alloc(v, p->n_device_kernels, sizeof *copies);
  for (uint32_t k = 0; k < p->n_device_kernels && copies; k++) {
    tn_vet_part(v, "device kernel", k);
    (void)vet_device_kernel(v, tn_vet_row(p->device_kernels, k), &copies[k]);
  }
}
