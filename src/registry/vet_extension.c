/* Vetting of extensions: unstable tables that are offered by name and version. Those that this host
 * knows are vetted like all else, and listed. Compilers and dispatchers: nothing calls them yet. */
#include <string.h>

#include "base/text.h"
#include "registry/internal.h"
#include "tenon/experimental/accelerator.h"

static const tn_member compiler_members[] = {
    /* first: it names the part in all messages that follow */
    TN_MEMBER(tn_compiler, name, TN_MEMBER_NAME, true, 0),
    TN_MEMBER(tn_compiler, vendor, TN_MEMBER_TEXT, true, TN_LIMIT_NAME),
    TN_MEMBER(tn_compiler, format, TN_MEMBER_NAME, true, 0),
    TN_MEMBER(tn_compiler, compatible, TN_MEMBER_FUNCTION, false, 0),
    TN_MEMBER(tn_compiler, partition, TN_MEMBER_FUNCTION, true, 0),
    TN_MEMBER(tn_compiler, compile, TN_MEMBER_FUNCTION, true, 0),
    TN_MEMBER(tn_compiler, release, TN_MEMBER_FUNCTION, true, 0),
};

static const tn_member dispatcher_members[] = {
    TN_MEMBER(tn_dispatcher, name, TN_MEMBER_NAME, true, 0),
    TN_MEMBER(tn_dispatcher, vendor, TN_MEMBER_TEXT, true, TN_LIMIT_NAME),
    TN_MEMBER(tn_dispatcher, format, TN_MEMBER_NAME, true, 0),
    TN_MEMBER(tn_dispatcher, open, TN_MEMBER_FUNCTION, true, 0),
    TN_MEMBER(tn_dispatcher, close, TN_MEMBER_FUNCTION, true, 0),
    TN_MEMBER(tn_dispatcher, load, TN_MEMBER_FUNCTION, true, 0),
    TN_MEMBER(tn_dispatcher, unload, TN_MEMBER_FUNCTION, true, 0),
    TN_MEMBER(tn_dispatcher, port, TN_MEMBER_FUNCTION, false, 0),
    TN_MEMBER(tn_dispatcher, run, TN_MEMBER_FUNCTION, true, 0),
};

static const tn_member target_members[] = {
    TN_MEMBER(tn_target, name, TN_MEMBER_NAME, true, 0),
    TN_MEMBER(tn_target, hardware, TN_MEMBER_NAME, true, 0),
    TN_MEMBER(tn_target, sdk, TN_MEMBER_TEXT, false, TN_LIMIT_NAME),
};

#define COUNT(array) (sizeof(array) / sizeof *(array))

static bool vet_target(tn_vet *v, const void *raw) {
  tn_target target;
  return tn_vet_struct(v, raw, TN_UPTO(tn_target, sdk), sizeof target, &target) &&
         tn_vet_members(v, &target, target_members, COUNT(target_members));
}

static bool vet_compiler(tn_vet *v, const void *raw, const char **out_name) {
  tn_compiler c;
  if (!tn_vet_struct(v, raw, TN_UPTO(tn_compiler, release), sizeof c, &c)) return false;
  bool ok = tn_vet_named(v, "compiler", &c, compiler_members, COUNT(compiler_members));
  if (!c.n_targets) ok = tn_vet_fail(v, TN_ERR_INVALID, "targets", "must be given: it has none");
  if (!tn_vet_table(v, "targets", c.targets, c.n_targets, TN_LIMIT_PARTS)) return false;
  for (uint32_t k = 0; k < c.n_targets; k++) ok = vet_target(v, tn_vet_row(c.targets, k)) && ok;
  *out_name = c.name;
  return ok;
}

static bool vet_dispatcher(tn_vet *v, const void *raw, const char **out_name) {
  tn_dispatcher d;
  if (!tn_vet_struct(v, raw, TN_UPTO(tn_dispatcher, run), sizeof d, &d)) return false;
  *out_name = d.name;
  return tn_vet_named(v, "dispatcher", &d, dispatcher_members, COUNT(dispatcher_members));
}

static const struct {
  const char *name;
  bool (*vet)(tn_vet *v, const void *raw, const char **out_name);
} known[] = {{TN_COMPILER_EXTENSION, vet_compiler},
             {TN_DISPATCHER_EXTENSION, vet_dispatcher},
             {TN_DEVICE_EXTENSION, tn_vet_driver},
             {TN_DEVICE_KERNEL_EXTENSION, tn_vet_device_kernel}};

/* "profiler.v3" */
static bool vet_name(tn_vet *v, const char *name) {
  if (!tn_vet_name(v, "name", name)) return false;
  const char *version = strrchr(name, '.');
  if (version && version > name && version[1] == 'v' && version[2] &&
      !version[2 + strspn(version + 2, "0123456789")])
    return true;
  return tn_vet_fail(v, TN_ERR_INVALID, "name",
                     "is '%s', but has to end in a version, like profiler.v1", name);
}

static void vet_extension(tn_vet *v, const void *raw, uint32_t index, tn_text *offers) {
  tn_extension e;
  const char *name = NULL;
  tn_vet_part(v, "extension %u", index);
  if (!tn_vet_struct(v, raw, TN_UPTO(tn_extension, table), sizeof e, &e) || !vet_name(v, e.name))
    return;
  tn_vet_part(v, "extension '%s'", e.name);
  if (!e.table) {
    tn_vet_fail(v, TN_ERR_INVALID, "table", "must be given");
    return;
  }
  const char *comma = offers->n ? ", " : "";
  for (size_t k = 0; k < COUNT(known); k++) {
    if (strcmp(known[k].name, e.name)) continue;
    if (known[k].vet(v, e.table, &name)) tn_text_add(offers, "%s%s '%s'", comma, e.name, name);
    return;
  }
  tn_text_add(offers, "%s%s (not known to this host)", comma, e.name);
}

void tn_vet_extensions(tn_vet *v) {
  tn_plug *plug = v->plug;
  tn_text offers;
  tn_text_init(&offers, plug->a);
  for (uint32_t k = 0; k < plug->plugin.n_extensions; k++)
    vet_extension(v, tn_vet_row(plug->plugin.extensions, k), k, &offers);
  const char *text = offers.status ? NULL : tn_arena_str(&plug->arena, tn_text_get(&offers));
  if (text)
    plug->info.offers = text;
  else
    tn_vet_fail(v, TN_ERR_MEMORY, NULL, "out of memory");
  tn_text_free(&offers);
}
