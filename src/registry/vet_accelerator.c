/* Vetting of compilers and dispatchers. They are kept as the host's copies. */
#include <string.h>

#include "registry/internal.h"

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
    TN_MEMBER(tn_dispatcher, stamp, TN_MEMBER_FUNCTION, false, 0),
    TN_MEMBER(tn_dispatcher, start, TN_MEMBER_FUNCTION, false, 0),
    TN_MEMBER(tn_dispatcher, wait, TN_MEMBER_FUNCTION, false, 0),
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

/* Devices, targets and compilers are named in one place: --device. */
static bool vet_free(tn_vet *v, const char *member, const char *name, bool is_target) {
  if (!strcmp(name, "cpu") || !strcmp(name, "auto"))
    return tn_vet_fail(v, TN_ERR_INVALID, member, "is '%s', which means something else", name);
  for (int32_t k = 0; k < v->known->n_compilers; k++) {
    const tn_compilerdef *other = v->known->compilers[k];
    bool taken = !is_target && !strcmp(other->compiler.name, name);
    for (uint32_t i = 0; is_target && i < other->compiler.n_targets; i++)
      taken = taken || !strcmp(other->compiler.targets[i]->name, name);
    if (taken)
      return tn_vet_fail(v, TN_ERR_INVALID, member,
                         "is '%s', as is that of a compiler of plug-in '%s'", name,
                         other->owner->name);
  }
  return true;
}

/* A copy of the table with the host's copies of the targets. */
static bool keep_targets(tn_vet *v, tn_compiler *c) {
  const tn_target **all = tn_vet_alloc(v, c->n_targets, sizeof *all);
  tn_target *copies = tn_vet_alloc(v, c->n_targets, sizeof *copies);
  if (!all || !copies) return false;
  bool ok = true;
  for (uint32_t k = 0; k < c->n_targets; k++) {
    const void *raw = tn_vet_row(c->targets, k);
    ok = vet_target(v, raw) &&
         tn_vet_copy(v, raw, TN_UPTO(tn_target, sdk), sizeof copies[k], &copies[k]) && ok;
    ok = ok && vet_free(v, "targets", copies[k].name, true);
    for (uint32_t i = 0; ok && i < k; i++)
      if (!strcmp(copies[i].name, copies[k].name))
        ok = tn_vet_fail(v, TN_ERR_INVALID, "targets", "has '%s' twice", copies[k].name);
    all[k] = &copies[k];
  }
  c->targets = all;
  return ok;
}

static bool vet_compiler(tn_vet *v, const void *raw, tn_compiler *c) {
  if (!tn_vet_struct(v, raw, TN_UPTO(tn_compiler, release), sizeof *c, c)) return false;
  bool ok = tn_vet_named(v, "compiler", c, compiler_members, COUNT(compiler_members));
  if (!c->n_targets) ok = tn_vet_fail(v, TN_ERR_INVALID, "targets", "must be given: it has none");
  if (!tn_vet_table(v, "targets", c->targets, c->n_targets, TN_LIMIT_PARTS)) return false;
  ok = keep_targets(v, c) && ok;
  return ok && vet_free(v, "name", c->name, false);
}

void tn_vet_compilers(tn_vet *v) {
  tn_plug *plug = v->plug;
  const uint32_t n = plug->plugin.n_compilers;
  tn_compilerdef *defs = tn_vet_alloc(v, n, sizeof *defs);
  plug->compilers = tn_vet_alloc(v, n, sizeof *plug->compilers);
  for (uint32_t k = 0; k < n && defs && plug->compilers; k++) {
    defs[k].owner = &plug->owner;
    tn_vet_part(v, "compiler", k);
    if (!vet_compiler(v, tn_vet_row(plug->plugin.compilers, k), &defs[k].compiler)) continue;
    plug->compilers[plug->n_compilers++] = &defs[k];
    tn_vet_offer(v, "compiler", defs[k].compiler.name);
  }
}

static bool vet_dispatcher(tn_vet *v, const void *raw, tn_dispatcher *d) {
  if (!tn_vet_struct(v, raw, TN_UPTO(tn_dispatcher, wait), sizeof *d, d)) return false;
  if (!tn_vet_named(v, "dispatcher", d, dispatcher_members, COUNT(dispatcher_members)))
    return false;
  if (!d->start != !d->wait)
    return tn_vet_fail(v, TN_ERR_INVALID, d->start ? "wait" : "start",
                       "must be given: it has the other half");
  return true;
}

void tn_vet_dispatchers(tn_vet *v) {
  tn_plug *plug = v->plug;
  const uint32_t n = plug->plugin.n_dispatchers;
  tn_dispatcherdef *defs = tn_vet_alloc(v, n, sizeof *defs);
  plug->dispatchers = tn_vet_alloc(v, n, sizeof *plug->dispatchers);
  for (uint32_t k = 0; k < n && defs && plug->dispatchers; k++) {
    defs[k].owner = &plug->owner;
    tn_vet_part(v, "dispatcher", k);
    if (!vet_dispatcher(v, tn_vet_row(plug->plugin.dispatchers, k), &defs[k].dispatcher)) continue;
    plug->dispatchers[plug->n_dispatchers++] = &defs[k];
    tn_vet_offer(v, "dispatcher", defs[k].dispatcher.name);
  }
}
