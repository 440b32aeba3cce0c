/* Vetting of a plug-in as a whole: who it is, what it was built for, its tables; then rewrites and
 * formats, whose rules are few. */
#include <string.h>

#include "registry/offers.h"

static const tn_member plugin_members[] = {
    /* first: it names the plug-in in all messages that follow */
    TN_MEMBER(tn_plugin, name, TN_MEMBER_NAME, true, 0),
    TN_MEMBER(tn_plugin, version, TN_MEMBER_TEXT, false, TN_LIMIT_NAME),
    TN_MEMBER(tn_plugin, license, TN_MEMBER_TEXT, false, TN_LIMIT_NAME),
    TN_MEMBER(tn_plugin, build_id, TN_MEMBER_TEXT, false, TN_LIMIT_NAME),
};

static const tn_member more_plugin_members[] = {
    TN_MEMBER(tn_plugin, needs, TN_MEMBER_TEXT, false, TN_LIMIT_TEXT),
    TN_MEMBER(tn_plugin, init, TN_MEMBER_FUNCTION, false, 0),
    TN_MEMBER(tn_plugin, shutdown, TN_MEMBER_FUNCTION, false, 0),
    TN_MEMBER(tn_plugin, notify, TN_MEMBER_FUNCTION, false, 0),
};

static const tn_member rewrite_members[] = {
    TN_MEMBER(tn_rewrite, name, TN_MEMBER_NAME, true, 0),
    TN_MEMBER(tn_rewrite, root, TN_MEMBER_TEXT, true, 2 * TN_LIMIT_NAME),
    TN_MEMBER(tn_rewrite, apply, TN_MEMBER_FUNCTION, true, 0),
    TN_MEMBER(tn_rewrite, makes, TN_MEMBER_TEXT, false, 2 * TN_LIMIT_NAME),
};

static const tn_member format_members[] = {
    TN_MEMBER(tn_format, name, TN_MEMBER_NAME, true, 0),
    TN_MEMBER(tn_format, extensions, TN_MEMBER_TEXT, false, TN_LIMIT_TEXT),
    TN_MEMBER(tn_format, probe, TN_MEMBER_FUNCTION, false, 0),
    TN_MEMBER(tn_format, read, TN_MEMBER_FUNCTION, false, 0),
    TN_MEMBER(tn_format, write, TN_MEMBER_FUNCTION, false, 0),
    TN_MEMBER(tn_format, read_value, TN_MEMBER_FUNCTION, false, 0),
    TN_MEMBER(tn_format, domains, TN_MEMBER_TEXT, false, TN_LIMIT_TEXT),
    TN_MEMBER(tn_format, folder_entry, TN_MEMBER_TEXT, false, TN_LIMIT_TEXT),
};

static const tn_member format_op_members[] = {
    TN_MEMBER(tn_format_op, name, TN_MEMBER_TEXT, true, 2 * TN_LIMIT_NAME),
    TN_MEMBER(tn_format_op, to, TN_MEMBER_TEXT, false, 2 * TN_LIMIT_NAME),
    TN_MEMBER(tn_format_op, note, TN_MEMBER_TEXT, false, TN_LIMIT_TEXT),
    TN_MEMBER(tn_format_op, attrs, TN_MEMBER_TEXT, false, TN_LIMIT_TEXT),
};

/* ---- rewrites ---- */

static bool vet_root(tn_vet *v, const tn_rewritedef *def) {
  const char *domain = def->domain, *name = def->op;
  int32_t here, known;
  const tn_plug *plug = v->plug;
  if (tn_vet_trusts(v)) return true;
  tn_ops_find(plug->op_rows, (int32_t)plug->n_ops, domain, name, &here);
  tn_ops_find(v->known->op_rows, v->known->n_ops, domain, name, &known);
  if (tn_vet_left_out(v, domain, name, (tn_versions){0, INT32_MAX})) {
    tn_vet_warn(v, "is left out, as is the op of this plug-in that it is for");
    return false;
  }
  if (here || known) return true;
  if (v->ops_are_missing) return false; /* it may be one of those that were refused */
  return tn_vet_fail(v, TN_ERR_NOT_FOUND, "root",
                     "is '%s', which neither this plug-in nor any loaded before it offers",
                     def->rewrite.root);
}

static bool vet_rewrite(tn_vet *v, const void *raw, uint32_t index, tn_rewritedef *def) {
  tn_rewrite *rewrite = &def->rewrite;
  tn_vet_part(v, "rewrite", index);
  if (!tn_vet_struct(v, raw, TN_UPTO(tn_rewrite, apply), sizeof *rewrite, rewrite)) return false;
  const bool ok = tn_vet_named(v, "rewrite", rewrite, rewrite_members,
                               sizeof rewrite_members / sizeof *rewrite_members);
  const char *domain, *name;
  if (!ok || (rewrite->makes && !tn_vet_op_name(v, "makes", rewrite->makes, &domain, &name)))
    return false;
  return tn_vet_op_name(v, "root", rewrite->root, &def->domain, &def->op) && vet_root(v, def);
}

void tn_vet_rewrites(tn_vet *v) {
  tn_plug *plug = v->plug;
  const uint32_t n = plug->plugin.n_rewrites;
  plug->rewrites = tn_vet_alloc(v, n, sizeof *plug->rewrites);
  tn_rewritedef *defs = tn_vet_alloc(v, n, sizeof *defs);
  if (!plug->rewrites || !defs) return;
  for (uint32_t k = 0; k < n; k++) {
    defs[k].owner = &plug->owner;
    if (vet_rewrite(v, tn_vet_row(plug->plugin.rewrites, k), k, &defs[k]))
      plug->rewrites[plug->n_rewrites++] = &defs[k];
  }
}

/* ---- formats ---- */

static bool vet_extensions(tn_vet *v, const char *extensions) {
  for (const char *p = extensions; p;) {
    const size_t n = strcspn(p, ",");
    if (n < 2 || p[0] != '.' || memchr(p, '/', n) || memchr(p, ' ', n))
      return tn_vet_fail(v, TN_ERR_INVALID, "extensions",
                         "is '%s', but has to read like .onnx or .tflite,.lite", extensions);
    p = p[n] ? p + n + 1 : NULL;
  }
  return true;
}

static bool vet_format_name(tn_vet *v, const char *name) {
  for (uint32_t k = 0; k < v->plug->n_formats; k++)
    if (!strcmp(v->plug->formats[k]->name, name))
      return tn_vet_fail(v, TN_ERR_INVALID, "name", "is that of another format of this plug-in");
  for (int32_t k = 0; k < v->known->n_formats; k++)
    if (!strcmp(v->known->formats[k]->name, name))
      return tn_vet_fail(v, TN_ERR_INVALID, "name",
                         "is that of a registered format; formats cannot be replaced");
  return true;
}

/* The rows are copied, so that the texts of one that is refused are not read again. */
static bool vet_format_ops(tn_vet *v, tn_format *format) {
  const void *table = format->ops;
  const uint32_t n = format->n_ops;
  if (tn_vet_trusts(v)) return true;
  format->ops = NULL;
  format->n_ops = 0;
  if (!tn_vet_table(v, "ops", table, n, TN_LIMIT_PARTS)) return false;
  const tn_format_op **list = tn_vet_alloc(v, n, sizeof *list);
  tn_format_op *ops = tn_vet_alloc(v, n, sizeof *ops);
  if (!list || !ops) return false;
  for (uint32_t k = 0; k < n; k++) {
    list[k] = &ops[k];
    if (!tn_vet_struct(v, tn_vet_row(table, k), TN_UPTO(tn_format_op, how), sizeof *ops, &ops[k]) ||
        !tn_vet_members(v, &ops[k], format_op_members,
                        sizeof format_op_members / sizeof *format_op_members))
      return false;
    if (ops[k].how < TN_FORMAT_DIRECT || ops[k].how > TN_FORMAT_REFUSED)
      return tn_vet_fail(v, TN_ERR_INVALID, "ops", "says %u of how '%s' is taken, which is no way",
                         ops[k].how, ops[k].name);
  }
  format->ops = list;
  format->n_ops = n;
  return true;
}

static bool vet_format(tn_vet *v, const void *raw, uint32_t index, tn_format *format) {
  tn_vet_part(v, "format", index);
  if (!tn_vet_struct(v, raw, TN_UPTO(tn_format, read_value), sizeof *format, format)) return false;
  bool ok = tn_vet_named(v, "format", format, format_members,
                         sizeof format_members / sizeof *format_members);
  if (format->name) ok = vet_format_name(v, format->name) && ok;
  if (ok && !format->read && !format->write)
    ok = tn_vet_fail(v, TN_ERR_INVALID, "read", "must be given, or write");
  if (ok && !format->probe && !format->extensions)
    ok = tn_vet_fail(v, TN_ERR_INVALID, "probe",
                     "must be given, or extensions: nothing tells which files are of this format");
  ok = vet_format_ops(v, format) && ok;
  return vet_extensions(v, format->extensions) && ok;
}

void tn_vet_formats(tn_vet *v) {
  tn_plug *plug = v->plug;
  const uint32_t n = plug->plugin.n_formats;
  plug->formats = tn_vet_alloc(v, n, sizeof *plug->formats);
  tn_formatdef *defs = tn_vet_alloc(v, n, sizeof *defs);
  if (!plug->formats || !defs) return;
  for (uint32_t k = 0; k < n; k++) {
    defs[k].owner = &plug->owner;
    if (vet_format(v, tn_vet_row(plug->plugin.formats, k), k, &defs[k].format))
      plug->formats[plug->n_formats++] = &defs[k].format;
  }
}

/* ---- the plug-in ---- */

static bool copy_text(tn_vet *v, const char *text, const char **out) {
  *out = text ? tn_arena_str(&v->plug->arena, text) : "";
  if (*out) return true;
  *out = "";
  return tn_vet_fail(v, TN_ERR_MEMORY, NULL, "out of memory");
}

/* Name, version, licence and build id can be told even when the plug-in is refused. */
static bool identify(tn_vet *v) {
  tn_plug *plug = v->plug;
  tn_plugin *p = &plug->plugin;
  const size_t n = sizeof plugin_members / sizeof *plugin_members;
  bool ok = tn_vet_members(v, p, plugin_members, 1) && copy_text(v, p->name, &plug->info.name);
  plug->owner.name = plug->info.name;
  const char *where = tn_arena_format(&plug->arena, "plug-in '%s'", plug->info.name);
  if (ok && where) v->where = where;
  ok = tn_vet_members(v, p, plugin_members + 1, n - 1) && ok;
  ok = copy_text(v, p->version, &plug->info.version) && ok;
  ok = copy_text(v, p->license, &plug->info.license) && ok;
  return copy_text(v, p->build_id, &plug->info.build_id) && ok;
}

static bool vet_name_is_free(tn_vet *v) {
  for (int32_t k = 0; k < v->known->n_plugs; k++) {
    const tn_plugin_info *info = &v->known->plugs[k]->info;
    if (info->refused || strcmp(info->name, v->plug->info.name) != 0) continue;
    v->plug->may_replace = !v->n_breaches;
    return tn_vet_fail(v, TN_ERR_INVALID, "name", "is that of a plug-in in use (%s%s%s)",
                       info->found_by, *info->path ? ": " : "", info->path);
  }
  return true;
}

static const char *flavour_text(tn_vet *v, uint64_t flavour) {
  const char *text = tn_arena_format(&v->plug->arena, "%s bit, %s endian, %s",
                                     flavour & TN_FLAVOUR_32BIT ? "32" : "64",
                                     flavour & TN_FLAVOUR_BIG_ENDIAN ? "big" : "little",
                                     flavour & TN_FLAVOUR_ASAN   ? "address sanitizer"
                                     : flavour & TN_FLAVOUR_TSAN ? "thread sanitizer"
                                     : flavour & TN_FLAVOUR_MSAN ? "memory sanitizer"
                                                                 : "no sanitizer");
  return text ? text : "?";
}

static void vet_flavour(tn_vet *v) {
  const uint64_t flavour = v->plug->plugin.flavour;
  if (flavour == TN_FLAVOUR) return;
  tn_vet_fail(v, TN_ERR_VERSION, "flavour", "is 0x%llx (%s), this host was built as 0x%llx (%s)",
              (unsigned long long)flavour, flavour_text(v, flavour), (unsigned long long)TN_FLAVOUR,
              flavour_text(v, TN_FLAVOUR));
}

/* A table that cannot be read counts as empty, so that the others are vetted too. */
static void vet_table(tn_vet *v, const char *member, const void *table, uint32_t *n,
                      uint32_t limit) {
  if (!tn_vet_table(v, member, table, *n, limit)) *n = 0;
}

static void vet_tables(tn_vet *v) {
  tn_plugin *p = &v->plug->plugin;
  const uint32_t n_ops = p->n_ops;
  vet_table(v, "ops", p->ops, &p->n_ops, TN_LIMIT_PARTS);
  vet_table(v, "kernels", p->kernels, &p->n_kernels, TN_LIMIT_PARTS);
  vet_table(v, "rewrites", p->rewrites, &p->n_rewrites, TN_LIMIT_PARTS);
  vet_table(v, "formats", p->formats, &p->n_formats, TN_LIMIT_PARTS);
  vet_table(v, "drivers", p->drivers, &p->n_drivers, TN_LIMIT_PARTS);
  vet_table(v, "device_kernels", p->device_kernels, &p->n_device_kernels, TN_LIMIT_PARTS);
  vet_table(v, "compilers", p->compilers, &p->n_compilers, TN_LIMIT_PARTS);
  vet_table(v, "dispatchers", p->dispatchers, &p->n_dispatchers, TN_LIMIT_PARTS);
  vet_table(v, "extensions", p->extensions, &p->n_extensions, TN_LIMIT_ROWS);
  v->ops_are_missing = p->n_ops != n_ops;
}

static bool is_known(const char *name, size_t size) {
  static const char *const known[] = {
#include "registry/abi_names.h"
      NULL};
  for (size_t k = 0; known[k]; k++)
    if (strlen(known[k]) == size && !memcmp(known[k], name, size)) return true;
  return false;
}

/* Each entry of `needs` has to be a name of this host's ABI. */
static void vet_needs(tn_vet *v, const char *needs) {
  for (const char *p = needs; p;) {
    const size_t n = strcspn(p, ",");
    if (!is_known(p, n))
      tn_vet_fail(v, TN_ERR_VERSION, "needs",
                  "asks for '%.*s', which this host (ABI %d.%d) does not have", (int)n, p,
                  TN_ABI_MAJOR, TN_ABI_MINOR);
    p = p[n] ? p + n + 1 : NULL;
  }
}

/* What the plug-in says of itself behind who it is. False: its tables cannot be read. */
static bool vet_descriptor(tn_vet *v, const tn_plugin *raw) {
  tn_plug *plug = v->plug;
  tn_plugin *p = &plug->plugin, whole;
  if (!tn_vet_copy(v, raw, TN_UPTO(tn_plugin, notify), sizeof whole, &whole)) return false;
  plug->info.n_ops = p->n_ops;
  plug->info.n_kernels = p->n_kernels;
  plug->info.n_rewrites = p->n_rewrites;
  plug->info.n_formats = p->n_formats;
  plug->info.n_drivers = p->n_drivers;
  plug->info.n_device_kernels = p->n_device_kernels;
  plug->info.n_compilers = p->n_compilers;
  plug->info.n_dispatchers = p->n_dispatchers;
  plug->info.n_extensions = p->n_extensions;
  plug->info.flags = p->flags;
  plug->owner.is_lazy = (p->flags & TN_PLUGIN_LAZY_CONSTANTS) != 0;
  vet_flavour(v);
  tn_vet_members(v, p, more_plugin_members,
                 sizeof more_plugin_members / sizeof *more_plugin_members);
  tn_vet_flags(v, "flags", p->flags, TN_PLUGIN_THREADS | TN_PLUGIN_LAZY_CONSTANTS);
  vet_needs(v, p->needs);
  vet_tables(v);
  return true;
}

void tn_vet_offer(tn_vet *v, const char *what, const char *name) {
  tn_text_add(&v->offers, "%s%s '%s'", v->offers.n ? ", " : "", what, name);
}

static void keep_offers(tn_vet *v) {
  tn_plug *plug = v->plug;
  const char *text = v->offers.status ? NULL : tn_arena_str(&plug->arena, tn_text_get(&v->offers));
  if (text)
    plug->info.offers = text;
  else
    tn_vet_fail(v, TN_ERR_MEMORY, NULL, "out of memory");
}

/* All tables; the order is that in which parts can speak of others. */
static void vet_parts(tn_vet *v) {
  tn_map_init_borrowing(&v->names, v->plug->a);
  tn_text_init(&v->offers, v->plug->a);
  tn_vet_ops(v);
  tn_vet_kernels(v);
  tn_vet_device_kernels(v);
  tn_vet_rewrites(v);
  tn_vet_formats(v);
  tn_vet_drivers(v);
  tn_vet_compilers(v);
  tn_vet_dispatchers(v);
  tn_vet_extensions(v);
  tn_vet_offers(v);
  keep_offers(v);
  tn_text_free(&v->offers);
  tn_map_free(&v->names);
}

bool tn_vet_plugin(tn_vet *v, const tn_plugin *raw) {
  tn_plugin *p = &v->plug->plugin;
  /* The members up to flavour are where they are in every version. */
  if (!tn_vet_copy(v, raw, TN_UPTO(tn_plugin, flavour), sizeof *p, p)) return false;
  const bool known = identify(v);
  /* The tables of another ABI cannot be read; whatever else is wrong, they can. */
  if (!tn_vet_age(v, raw, sizeof *p) || !vet_descriptor(v, raw)) return false;
  if (known && !vet_name_is_free(v)) return false; /* all its parts would be there twice */
  vet_parts(v);
  return !v->n_breaches;
}
