/* Making modules: the key of what is wanted, the compiler's answer as a container, and where it all
 * comes together. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "accelerator/child.h"
#include "base/abi.h"
#include "base/build_id.h"
#include "base/cache_folder.h"
#include "base/object.h"

/* ---- rules ---- */

enum { TIME_LIMIT_S = 600, MEMORY_MB = 16 << 10 };

/* The command, beside this library or program; NULL: there is none. */
static const char *own_command(tn_arena *arena) {
  static const char *const places[] = {"tenon", "../bin/tenon"};
  char here[PATH_MAX];
  if (!tn_object_folder(here, sizeof here)) return NULL;
  for (size_t k = 0; k < sizeof places / sizeof *places; k++) {
    const char *path = tn_arena_format(arena, "%s/%s", here, places[k]);
    if (path && !access(path, X_OK)) return path;
  }
  return NULL;
}

static uint64_t number_of(const char *variable, uint64_t otherwise) {
  const char *text = secure_getenv(variable);
  char *end = NULL;
  const unsigned long long value = text && *text ? strtoull(text, &end, 10) : otherwise;
  return end && *end ? otherwise : value;
}

tn_status tn_compile_rules_read(tn_arena *arena, tn_compile_rules *out) {
  const char *how = secure_getenv("TENON_COMPILE");
  *out =
      (tn_compile_rules){.cache = tn_cache_folder(arena, "TENON_MODULE_CACHE", "modules"),
                         .time_limit_s = (uint32_t)number_of("TENON_COMPILE_SECONDS", TIME_LIMIT_S),
                         .memory_bytes = number_of("TENON_COMPILE_MEGABYTES", MEMORY_MB) << 20};
  if (!how || !*how)
    out->worker = own_command(arena);
  else if (!strcmp(how, "inside"))
    out->is_inside = true;
  else if (!strcmp(how, "off"))
    out->is_off = true;
  else
    out->worker = tn_arena_str(arena, how);
  return TN_OK;
}

/* ---- the key ---- */

/* The key of the module that these parts become, or of the claims on them; NULL: no memory. */
static const char *key_of(const tn_accelerator *x, const tn_compile_request *r, tn_arena *arena) {
  const tn_compilerdef *c = x->compiler;
  uint8_t id[TN_BUILD_ID_BYTES];
  char sha256[TN_SHA256_TEXT];
  tn_text text;
  tn_text_init(&text, x->a);
  tn_text_add(&text, "%s 1 %s\n", r->asks ? "claims" : "module", tn_version());
  const uint32_t n_id = tn_build_id(id);
  tn_text_add_bytes(&text, (const char *)id, n_id);
  const char *build = tn_part_build(c->owner);
  tn_text_add(&text, "\n%s\n%s\n%s\n%s\n%s\n", c->compiler.name, c->owner->name, build ? build : "",
              x->name, x->target.sdk ? x->target.sdk : "");
  for (uint32_t k = 0; k < r->n_parts; k++) tn_text_add(&text, "%s\n", r->parts[k].sha256);
  tn_sha256_text(tn_text_get(&text), (uint64_t)text.n, sha256);
  const char *key = text.status ? NULL : tn_arena_str(arena, sha256);
  tn_text_free(&text);
  return key;
}

/* ---- the compiler's answer ---- */

static bool is_utf8(const char *text) { return tn_utf8_valid(text, (int64_t)strlen(text)); }

/* Types of an entry's ports as they may be stored. */
static tn_status take_ports(tn_accelerator_talk *t, tn_arena *arena, const tn_entry *e,
                            tn_module_entry *out) {
  const uint64_t n = (uint64_t)e->n_inputs + e->n_outputs;
  out->ports = tn_arena_alloc(arena, (n + 1) * sizeof *out->ports);
  if (!out->ports) return TN_ERR_MEMORY;
  for (uint64_t k = 0; k < n; k++) {
    const tn_tensor *port = k < e->n_inputs ? e->inputs[k] : e->outputs[k - e->n_inputs];
    if (!port || tn_struct_in(&out->ports[k], sizeof out->ports[k], port) ||
        tn_tensor_bytes(&out->ports[k]) < 0 || out->ports[k].kind != TN_KIND_TENSOR)
      return t->call.host->fail(t, TN_ERR_INVALID, "port %u of an entry has no type of known size",
                                (uint32_t)k);
    out->ports[k].data = NULL;
  }
  return TN_OK;
}

static tn_status take_entry(tn_accelerator_talk *t, tn_arena *arena, const tn_entry *raw,
                            const tn_part *part, tn_module_entry *out) {
  tn_entry e = {.n_inputs = 0};
  if (!raw || tn_struct_in(&e, sizeof e, raw) || !e.name || (e.n_inputs && !e.inputs) ||
      (e.n_outputs && !e.outputs))
    return t->call.host->fail(t, TN_ERR_INVALID, "its module has an entry without name or ports");
  if (!is_utf8(e.name))
    return t->call.host->fail(t, TN_ERR_INVALID, "the name of an entry is not UTF-8");
  out->name = tn_arena_str(arena, e.name);
  out->part = part->sha256;
  out->n_inputs = e.n_inputs;
  out->n_outputs = e.n_outputs;
  return out->name ? take_ports(t, arena, &e, out) : TN_ERR_MEMORY;
}

static tn_status check_module(tn_accelerator_talk *t, const tn_accelerator *x, const tn_module *m,
                              uint32_t n_parts) {
  const tn_host *host = t->call.host;
  if (!m->data && m->size)
    return host->fail(t, TN_ERR_INVALID, "its module has %llu bytes, but no data",
                      (unsigned long long)m->size);
  if (!m->format || strcmp(m->format, x->compiler->compiler.format))
    return host->fail(t, TN_ERR_INVALID, "its module is of format '%s', its table says '%s'",
                      m->format ? m->format : "", x->compiler->compiler.format);
  if (!m->target || !m->target->name || strcmp(m->target->name, x->name))
    return host->fail(t, TN_ERR_INVALID, "its module is for target '%s', asked for was '%s'",
                      m->target && m->target->name ? m->target->name : "", x->name);
  if (!m->alignment || m->alignment & (m->alignment - 1) || m->alignment > TN_MODULE_MAX_ALIGNMENT)
    return host->fail(t, TN_ERR_INVALID,
                      "its module's alignment %llu is no power of two up to 1 MiB",
                      (unsigned long long)m->alignment);
  if (m->stamp && !is_utf8(m->stamp))
    return host->fail(t, TN_ERR_INVALID, "its module's stamp is not UTF-8");
  if (m->n_entries != n_parts || !m->entries)
    return host->fail(t, TN_ERR_INVALID, "its module has %u entries for %u parts", m->n_entries,
                      n_parts);
  return TN_OK;
}

static tn_status write_answer(tn_accelerator_talk *t, const tn_accelerator *x,
                              const tn_compile_request *r, const tn_module *raw, tn_write_fn write,
                              void *ctx) {
  tn_module m = {.size = 0};
  tn_arena arena;
  if (!raw || tn_struct_in(&m, sizeof m, raw))
    return t->call.host->fail(t, TN_ERR_INVALID, "it answers TN_OK, but no module");
  tn_status status = check_module(t, x, &m, r->n_parts);
  if (status) return status;
  tn_arena_init(&arena, x->a);
  const tn_part_owner *owner = x->compiler->owner;
  tn_module_file file = {.key = r->key,
                         .compiler = x->compiler->compiler.name,
                         .plugin = owner->name,
                         .plugin_version = "",
                         .plugin_sha256 = tn_part_build(owner),
                         .format = m.format,
                         .target = x->name,
                         .kit = x->target.sdk,
                         .stamp = m.stamp,
                         .data = m.data,
                         .size = m.size,
                         .alignment = m.alignment,
                         .n_entries = r->n_parts};
  file.entries = tn_arena_alloc(&arena, ((uint64_t)r->n_parts + 1) * sizeof *file.entries);
  if (!file.entries) status = TN_ERR_MEMORY;
  for (uint32_t k = 0; k < r->n_parts && !status; k++)
    status = take_entry(t, &arena, m.entries[k], &r->parts[k], &file.entries[k]);
  const tn_module_file *all = &file;
  if (!status) status = tn_container_write(x->a, &all, 1, write, ctx);
  tn_arena_clear(&arena);
  return status;
}

tn_status tn_compile_here(const tn_accelerator *x, const tn_compile_request *request,
                          const tn_graph *const *graphs, void (*stage)(void *ctx, const char *),
                          tn_write_fn write, void *ctx, tn_diag *diag) {
  const tn_compiler *c = &x->compiler->compiler;
  const tn_module *module = NULL;
  tn_accelerator_talk t;
  tn_accelerator_talk_open(&t, x, x->compiler->owner, diag);
  stage(ctx, "compile()");
  tn_status status =
      tn_accelerator_answer(&t, c->compile(&t.call, graphs, request->n_parts, &module));
  if (status) return tn_fail(diag, status, "%s", t.text);
  stage(ctx, "the module that compile() gave");
  *t.text = 0;
  status = tn_accelerator_answer(&t, write_answer(&t, x, request, module, write, ctx));
  stage(ctx, "release()");
  if (module) c->release(&t.call, module);
  return status ? tn_fail(diag, status, "%s", t.text) : TN_OK;
}

/* ---- all ---- */

static void no_stage(void *ctx, const char *text) { (void)ctx, (void)text; }

static tn_status write_inside(void *ctx, const void *data, uint64_t size) {
  return tn_nameless_write(ctx, data, size);
}

/* In this process: whoever has no processes asks for it. */
static tn_status compile_inside(const tn_accelerator *x, const tn_compile_request *r, tn_diag *diag,
                                tn_mapping *out) {
  tn_arena arena;
  tn_nameless result;
  tn_status status = tn_nameless_open(&result, diag);
  if (status) return status;
  tn_arena_init(&arena, x->a);
  const tn_graph **graphs = tn_arena_alloc(&arena, (r->n_parts + 1) * sizeof *graphs);
  for (uint32_t k = 0; graphs && k < r->n_parts; k++) graphs[k] = r->parts[k].body;
  tn_diag *said = tn_diag_create();
  if (!graphs)
    status = TN_ERR_MEMORY;
  else if (r->asks)
    status = tn_claim_here(x, r, graphs[0], no_stage, write_inside, &result, said);
  else
    status = tn_compile_here(x, r, graphs, no_stage, write_inside, &result, said);
  tn_diag_append(diag, said, x->compiler->compiler.name);
  tn_diag_destroy(said);
  if (!status) status = tn_nameless_map(&result, diag, out);
  tn_nameless_close(&result);
  tn_arena_clear(&arena);
  return status;
}

static tn_status make(tn_accelerator *x, const tn_compile_rules *rules, const tn_compile_request *r,
                      tn_diag *diag, tn_mapping *out) {
  if (rules->is_inside) return compile_inside(x, r, diag, out);
  if (rules->is_off)
    return tn_fail(diag, TN_ERR_NOT_FOUND,
                   "accelerator '%s': there is no module for it, and TENON_COMPILE=off", x->name);
  if (!rules->worker)
    return tn_fail(diag, TN_ERR_NOT_FOUND,
                   "accelerator '%s': compilers run in a process of their own, but the command "
                   "`tenon` is not beside this library; TENON_COMPILE names it, or is 'inside'",
                   x->name);
  return tn_compile_in_child(x, rules, r, diag, out);
}

static tn_status list_plugins(const tn_accelerator *x, tn_arena *arena, tn_compile_request *r) {
  const int32_t n = tn_registry_n_plugins(x->registry);
  const char **list = tn_arena_alloc(arena, ((uint64_t)n + 1) * sizeof *list);
  if (!list) return TN_ERR_MEMORY;
  for (int32_t k = 0; k < n; k++) {
    tn_plugin_info info = {.head = TN_HEAD(tn_plugin_info)};
    if (tn_registry_plugin(x->registry, k, &info) || info.refused || !info.path || !*info.path)
      continue;
    char real[PATH_MAX];
    list[r->n_plugins] = tn_arena_str(arena, realpath(info.path, real) ? real : info.path);
    if (!list[r->n_plugins++]) return TN_ERR_MEMORY;
  }
  r->plugins = list;
  return TN_OK;
}

static tn_status prepare(tn_accelerator *x, tn_compile_request *r, tn_arena *arena) {
  r->key = key_of(x, r, arena);
  return r->key ? list_plugins(x, arena, r) : TN_ERR_MEMORY;
}

static bool is_cached(tn_accelerator *x, const tn_compile_rules *rules, const tn_compile_request *r,
                      tn_diag *diag, tn_mapping *out) {
  return rules->cache && !tn_module_cache_get(x, rules->cache, r->key, diag, out);
}

static tn_status make_and_keep(tn_accelerator *x, const tn_compile_rules *rules,
                               const tn_compile_request *r, tn_diag *diag, tn_mapping *out) {
  const tn_status status = make(x, rules, r, diag, out);
  if (!status && rules->cache) tn_module_cache_put(x->a, rules->cache, r->key, out);
  return status;
}

tn_status tn_compile_make(tn_accelerator *x, const tn_compile_rules *rules, tn_compile_request *r,
                          tn_arena *arena, tn_diag *diag, tn_mapping *out) {
  const tn_status status = prepare(x, r, arena);
  if (status || is_cached(x, rules, r, diag, out)) return status;
  return make_and_keep(x, rules, r, diag, out);
}

tn_status tn_compile(tn_accelerator *x, tn_part *parts, uint32_t n_parts, tn_diag *diag,
                     tn_loaded **out_loaded) {
  tn_compile_rules rules;
  tn_mapping made = {.size = 0};
  tn_arena arena;
  *out_loaded = NULL;
  tn_arena_init(&arena, x->a);
  tn_compile_request r = {.compiler = x->compiler->compiler.name,
                          .target = x->name,
                          .parts = parts,
                          .n_parts = n_parts};
  tn_status status = tn_compile_rules_read(&arena, &rules);
  for (uint32_t k = 0; k < n_parts && !status; k++)
    status = tn_part_to_bytes(x->a, x->registry, &parts[k], diag);
  if (!status) status = prepare(x, &r, &arena);
  r.memory_bytes = rules.memory_bytes;
  if (!status && is_cached(x, &rules, &r, diag, &made)) {
    tn_diag *said = tn_diag_create();
    status = tn_loaded_take(x, &made, parts, n_parts, said, out_loaded);
    if (!status) tn_diag_append(diag, said, NULL);
    tn_diag_destroy(said); /* what does not fit is compiled again */
    if (!status) goto done;
    status = TN_OK;
  }
  if (!status) status = make_and_keep(x, &rules, &r, diag, &made);
  if (!status) status = tn_loaded_take(x, &made, parts, n_parts, diag, out_loaded);
done:
  tn_arena_clear(&arena);
  return status;
}
