/* Look-ups and enumeration. All read one version of the tables. None takes a lock or allocates, but
 * for the first that asks for an operator (settle.c), may find a part of a plug-in that waits
 * (discover.c), or asks for all. */
#include <stdio.h>
#include <string.h>

#include "base/abi.h"
#include "base/near.h"
#include "base/text.h"
#include "registry/offers.h"

/* Tables with all that anybody has of an operator in these versions: itself, kernels, rewrites. */
static const tn_tables *tables_of_op(const tn_registry *r, const char *domain, const char *name,
                                     tn_versions versions) {
  const bool waits = tn_registry_waits(r) && name &&
                     tn_waiting_have_op(r, tn_domain_normal(domain), name, versions);
  return waits ? tn_registry_whole(r) : tn_registry_tables(r);
}

static const tn_versions all_versions = {0, INT32_MAX};

/* The same of one word: TN_OFFERS_FORMATS, "com.acme::Foo". */
static const tn_tables *tables_with(const tn_registry *r, const char *word) {
  const bool waits = tn_registry_waits(r) && tn_waiting_have(r, word);
  return waits ? tn_registry_whole(r) : tn_registry_tables(r);
}

static int32_t find_name(const tn_tables *t, const char *domain, const char *name, int32_t *out_n) {
  *out_n = 0;
  return name ? tn_ops_find(t->op_rows, t->n_ops, tn_domain_normal(domain), name, out_n) : 0;
}

/* With what belongs to it, so that nobody takes a lack of memory for a lack of kernels. */
static const tn_opdef *hand_out(const tn_registry *r, const tn_tables *t, int32_t op) {
  return tn_tables_row(t, op) ? tn_tables_op(t, op) : &r->starved_op;
}

/* Older versions than the newest that is there change nothing. */
static const tn_opdef *newest_op(const tn_registry *r, const char *domain, const char *name) {
  tn_versions newer = all_versions;
  int32_t n;
  const tn_tables *t = tn_registry_tables(r);
  int32_t first = find_name(t, domain, name, &n);
  if (n) newer.since = t->op_rows[first + n - 1]->since;
  t = tables_of_op(r, domain, name, newer);
  first = find_name(t, domain, name, &n);
  return n ? hand_out(r, t, first + n - 1) : NULL;
}

const tn_opdef *tn_registry_op(const tn_registry *r, const char *domain, const char *name,
                               int32_t version) {
  if (!version) return newest_op(r, domain, name);
  const tn_tables *t = tables_of_op(r, domain, name, (tn_versions){version, version});
  int32_t n;
  const int32_t first = find_name(t, domain, name, &n);
  for (int32_t k = first + n - 1; k >= first; k--) {
    const tn_versions versions = tn_op_versions(t->op_rows[k]);
    if (version >= versions.since && version <= versions.until) return hand_out(r, t, k);
  }
  return NULL;
}

const char *tn_registry_near(const tn_registry *r, const char *domain, const char *name,
                             tn_arena *arena) {
  char meant[TN_NEAR_TEXT];
  const tn_tables *t = tn_registry_whole(r);
  tn_near near;
  tn_near_begin(&near, name);
  for (int32_t k = 0; k < t->n_ops; k++)
    if (!strcmp(t->op_rows[k]->domain, domain)) tn_near_offer(&near, t->op_rows[k]->name);
  const char *text = tn_arena_str(arena, tn_near_text(&near, meant));
  return text ? text : "";
}

const char *tn_registry_versions(const tn_registry *r, const char *domain, const char *name,
                                 tn_arena *arena) {
  const tn_tables *t = tables_of_op(r, domain, name, all_versions);
  int32_t n, begin = 0;
  const int32_t first = find_name(t, domain, name, &n);
  const char *text = "";
  for (int32_t k = 0; k < n && text; k++) {
    const tn_op *op = t->op_rows[first + k];
    const bool goes_on =
        k + 1 < n && op->until && t->op_rows[first + k + 1]->since == op->until + 1;
    if (!begin) begin = op->since;
    if (goes_on) continue;
    const char *comma = *text ? ", " : "";
    if (!op->until)
      text = tn_arena_format(arena, "%s%s%d and later", text, comma, begin);
    else if (op->until == begin)
      text = tn_arena_format(arena, "%s%s%d", text, comma, begin);
    else
      text = tn_arena_format(arena, "%s%s%d to %d", text, comma, begin, op->until);
    begin = 0;
  }
  return text ? text : "";
}

bool tn_registry_has_op(const tn_registry *r, const char *domain, const char *name,
                        int32_t *out_since, int32_t *out_until) {
  const tn_tables *t = tables_of_op(r, domain, name, all_versions);
  int32_t n;
  const int32_t first = find_name(t, domain, name, &n);
  if (!n) return false;
  if (out_since) *out_since = t->op_rows[first]->since;
  if (out_until) *out_until = t->op_rows[first + n - 1]->until;
  return true;
}

static int32_t newest_in(const tn_tables *t, const char *domain, int32_t enough) {
  int32_t newest = 0;
  for (int32_t k = 0; k < t->n_ops && newest < enough; k++) {
    const tn_op *op = t->op_rows[k];
    if (op->since > newest && !strcmp(op->domain, domain)) newest = op->since;
  }
  return newest;
}

int32_t tn_registry_newest(const tn_registry *r, const char *domain, int32_t enough) {
  const int32_t newest = newest_in(tn_registry_tables(r), domain, enough);
  return newest >= enough ? newest : newest_in(tn_registry_whole(r), domain, enough);
}

static const tn_op_row *row_of(const tn_registry *r, const tn_opdef *op) {
  const tn_tables *t = tn_registry_tables(r);
  const int32_t index = tn_tables_find(t, op);
  return index < 0 ? NULL : tn_tables_row(t, index);
}

int32_t tn_registry_kernels(const tn_registry *r, const tn_opdef *op,
                            const tn_kerneldef *const **out_kernels) {
  const tn_op_row *row = row_of(r, op);
  *out_kernels = row ? row->kernels : NULL;
  return row ? row->n_kernels : 0;
}

int32_t tn_registry_rewrites(const tn_registry *r, const tn_opdef *root,
                             const tn_rewritedef *const **out_rewrites) {
  const tn_op_row *row = row_of(r, root);
  *out_rewrites = row ? row->rewrites : NULL;
  return row ? row->n_rewrites : 0;
}

const tn_opdef *tn_registry_made_by(const tn_registry *r, const tn_rewritedef *rewrite) {
  const char *makes = rewrite->rewrite.makes, *colons = makes ? strstr(makes, "::") : NULL;
  char domain[2 * TN_LIMIT_NAME + 1];
  snprintf(domain, sizeof domain, "%.*s", colons ? (int)(colons - makes) : 0, makes ? makes : "");
  return makes ? newest_op(r, domain, colons ? colons + 2 : makes) : NULL;
}

/* ---- formats ---- */

const tn_format *tn_registry_format(const tn_registry *r, const char *name) {
  const tn_tables *t = tables_with(r, TN_OFFERS_FORMATS);
  for (int32_t k = 0; name && k < t->n_formats; k++)
    if (!strcmp(t->formats[k]->name, name)) return t->formats[k];
  return NULL;
}

void *tn_registry_format_self(const tn_format *format) {
  const tn_formatdef *def = (const tn_formatdef *)format;
  return def->owner ? def->owner->self : NULL;
}

static const tn_format *best_probe(const tn_tables *t, const uint8_t *data, uint64_t size) {
  const tn_format *best = NULL;
  int32_t most = 0;
  for (int32_t k = 0; k < t->n_formats; k++) {
    const tn_format *format = t->formats[k];
    const int32_t answer = format->read && format->probe ? format->probe(data, size) : 0;
    if (answer <= most) continue;
    most = answer;
    best = format;
  }
  return best;
}

/* True if path ends in one of the extensions ".a,.b". */
static bool has_extension(const char *path, const char *extensions) {
  const size_t n_path = strlen(path);
  for (const char *p = extensions; p;) {
    const size_t n = strcspn(p, ",");
    if (n && n < n_path && !memcmp(path + n_path - n, p, n)) return true;
    p = p[n] ? p + n + 1 : NULL;
  }
  return false;
}

const tn_format *tn_registry_recognise(const tn_registry *r, const char *path, const uint8_t *data,
                                       uint64_t size) {
  const tn_tables *t = tables_with(r, TN_OFFERS_FORMATS);
  const tn_format *format = data ? best_probe(t, data, size) : NULL;
  for (int32_t k = 0; !format && path && k < t->n_formats; k++)
    if (t->formats[k]->read && has_extension(path, t->formats[k]->extensions))
      format = t->formats[k];
  return format;
}

const tn_format *tn_registry_rival(const tn_registry *r, const tn_format *format,
                                   const uint8_t *data, uint64_t size) {
  enum { SURE = 50, NEAR = 10 };
  const tn_tables *t = tables_with(r, TN_OFFERS_FORMATS);
  const int32_t own = format->probe ? format->probe(data, size) : 0;
  for (int32_t k = 0; own > SURE && k < t->n_formats; k++) {
    const tn_format *other = t->formats[k];
    const bool asks = other != format && other->read && other->probe;
    const int32_t answer = asks ? other->probe(data, size) : 0;
    if (answer > SURE && answer >= own - NEAR) return other;
  }
  return NULL;
}

const tn_part_owner *tn_registry_format_owner(const tn_registry *r, const tn_format *format) {
  const tn_tables *t = tables_with(r, TN_OFFERS_FORMATS);
  for (int32_t k = 0; k < t->n_plugs; k++)
    for (uint32_t i = 0; i < t->plugs[k]->n_formats; i++)
      if (t->plugs[k]->formats[i] == format) return &t->plugs[k]->owner;
  return NULL;
}

/* ---- enumeration ---- */

int32_t tn_registry_n_ops(const tn_registry *r) { return tn_registry_whole(r)->n_ops; }
int32_t tn_registry_n_kernels(const tn_registry *r) { return tn_registry_whole(r)->n_kernels; }
int32_t tn_registry_n_formats(const tn_registry *r) {
  return tables_with(r, TN_OFFERS_FORMATS)->n_formats;
}
int32_t tn_registry_n_plugins(const tn_registry *r) { return tn_registry_whole(r)->n_plugs; }

const tn_opdef *tn_registry_op_at(const tn_registry *r, int32_t index) {
  const tn_tables *t = tn_registry_whole(r);
  if (index < 0 || index >= t->n_ops) return NULL;
  const tn_opdef *op = tn_tables_op(t, index);
  return op ? op : &r->starved_op;
}

const tn_kerneldef *tn_registry_kernel_at(const tn_registry *r, int32_t index) {
  const tn_tables *t = tn_registry_whole(r);
  if (index < 0 || index >= t->n_kernels) return NULL;
  const tn_kerneldef *kernel = tn_tables_kernel(t, index);
  return kernel ? kernel : &r->starved_kernel.def;
}

const tn_format *tn_registry_format_at(const tn_registry *r, int32_t index) {
  const tn_tables *t = tables_with(r, TN_OFFERS_FORMATS);
  return index >= 0 && index < t->n_formats ? t->formats[index] : NULL;
}

int32_t tn_registry_n_drivers(const tn_registry *r) {
  return tables_with(r, TN_OFFERS_DRIVERS)->n_drivers;
}

const tn_driverdef *tn_registry_driver_at(const tn_registry *r, int32_t index) {
  const tn_tables *t = tables_with(r, TN_OFFERS_DRIVERS);
  return index >= 0 && index < t->n_drivers ? t->drivers[index] : NULL;
}

int32_t tn_registry_n_folders(const tn_registry *r) { return (int32_t)r->folders.n; }

tn_status tn_registry_folder(const tn_registry *r, int32_t index, tn_folder_info *out_info) {
  if (!out_info) return TN_ERR_INVALID;
  if (index < 0 || index >= r->folders.n) return TN_ERR_NOT_FOUND;
  return tn_struct_out(out_info, &r->folders.data[index], sizeof r->folders.data[index]);
}

tn_status tn_registry_plugin(const tn_registry *r, int32_t index, tn_plugin_info *out_info) {
  const tn_tables *t = tn_registry_whole(r);
  if (!out_info) return TN_ERR_INVALID;
  if (index < 0 || index >= t->n_plugs) return TN_ERR_NOT_FOUND;
  (void)tn_plug_sha256(t->plugs[index]);
  return tn_struct_out(out_info, &t->plugs[index]->info, sizeof t->plugs[index]->info);
}

int32_t tn_registry_n_compilers(const tn_registry *r) {
  return tables_with(r, TN_OFFERS_COMPILERS)->n_compilers;
}

const tn_compilerdef *tn_registry_compiler_at(const tn_registry *r, int32_t index) {
  const tn_tables *t = tables_with(r, TN_OFFERS_COMPILERS);
  return index >= 0 && index < t->n_compilers ? t->compilers[index] : NULL;
}

int32_t tn_registry_n_dispatchers(const tn_registry *r) {
  return tables_with(r, TN_OFFERS_DISPATCHERS)->n_dispatchers;
}

const tn_dispatcherdef *tn_registry_dispatcher_at(const tn_registry *r, int32_t index) {
  const tn_tables *t = tables_with(r, TN_OFFERS_DISPATCHERS);
  return index >= 0 && index < t->n_dispatchers ? t->dispatchers[index] : NULL;
}
