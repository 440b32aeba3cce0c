/* builtin.c or plugin.c: every part as a constant struct, arrays of pointers to them, and the query
 * function. */
#include <inttypes.h>
#include <string.h>

#include "base/abi.h"
#include "gen.h"

/* `  .key = "text",`; nothing for NULL. */
static void emit_text(tn_text *out, const char *key, const char *text) {
  if (!text) return;
  tn_text_add(out, "    .%s = ", key);
  gen_emit_c_string(out, text);
  tn_text_add(out, ",\n");
}

static void emit_function(tn_text *out, const char *key, const char *name) {
  if (name) tn_text_add(out, "    .%s = %s,\n", key, name);
}

static const char *op_id(gen *g, const gen_op *op) {
  const char *domain = *op->domain ? gen_format_text(g, "%s_", gen_snake_case(g, op->domain)) : "";
  return gen_format_text(g, "%s%s_%d", domain, op->word, op->since);
}

const char *gen_flops_id(gen *g, double per_element) {
  const char *text = gen_format_text(g, "flops_%g", per_element);
  char *copy = gen_need(tn_arena_str(&g->arena, text));
  for (char *p = copy; *p; p++) {
    if (*p == '.' || *p == '+' || *p == '-') *p = *p == '.' ? '_' : *p == '+' ? 'p' : 'm';
  }
  return copy;
}

/* One function per number that stands as `flops: N`. */
static void emit_flops(gen *g, tn_text *out) {
  tn_map seen;
  tn_map_init(&seen, g->a);
  for (int64_t k = 0; k < g->ops.n; k++) {
    const double n = g->ops.data[k].flops_per_element;
    const char *id = gen_flops_id(g, n);
    if (g->ops.data[k].header_only || n <= 0 || tn_map_get(&seen, id, 0)) continue;
    if (seen.n == 0) {
      tn_text_add(out,
                  "\nstatic double elements(const tn_tensor *t) {\n"
                  "  double n = t && t->rank >= 0 ? 1 : 0;\n"
                  "  for (int32_t k = 0; t && k < t->rank; k++) n *= t->shape[k] > 0 ? "
                  "(double)t->shape[k] : 0;\n"
                  "  return n;\n}\n");
    }
    if (tn_map_set(&seen, id, 1)) gen_need(NULL);
    tn_text_add(out,
                "static tn_status %s(const tn_call *call, double *out_flops) {\n"
                "  *out_flops = %.17g * (call->n_outputs ? elements(call->outputs[0]) : 0);\n"
                "  return TN_OK;\n}\n",
                id, n);
  }
  tn_map_free(&seen);
}

static void emit_rules(gen *g, tn_text *out, const gen_op *op, const char *id) {
  for (int64_t k = 0; k < op->rules.n; k++) {
    const gen_rule *r = &op->rules.data[k];
    tn_text_add(out,
                "static const tn_type_rule rule_%s_%" PRId64
                " = {\n    TN_HEAD(tn_type_rule), \"%s\", \"%s\",\n    %s};\n",
                id, k, r->name, r->args, gen_dtypes_c(g, r->dtypes));
  }
  if (!op->rules.n) return;
  tn_text_add(out, "static const tn_type_rule *const rules_%s[] = {", id);
  for (int64_t k = 0; k < op->rules.n; k++) {
    tn_text_add(out, "%s&rule_%s_%" PRId64, k ? ", " : "", id, k);
  }
  tn_text_add(out, "};\n");
}

static void emit_cases(tn_text *out, const gen_op *op, const char *id) {
  if (!op->cases.n) return;
  tn_text_add(out, "static const char *const cases_%s[] = {\n", id);
  for (int64_t k = 0; k < op->cases.n; k++) {
    tn_text_add(out, "    ");
    gen_emit_c_string(out, op->cases.data[k]);
    tn_text_add(out, ",\n");
  }
  tn_text_add(out, "};\n");
}

static const char *op_flags_c(gen *g, const gen_op *op) {
  const char *text = gen_mask_c(g, gen_op_flag_words, op->flags);
  const char *infer = op->flags & TN_OP_SAME_AS_INPUT ? "TN_OP_SAME_AS_INPUT"
                      : op->flags & TN_OP_BROADCAST   ? "TN_OP_BROADCAST"
                                                      : NULL;
  if (!infer) return text;
  return strcmp(text, "0") == 0 ? infer : gen_format_text(g, "%s | %s", text, infer);
}

/* Selected builds read the canonical form only (src/without/schema.c). */
static void emit_schema(gen *g, tn_text *out, const gen_op *op) {
  tn_text text;
  tn_text_init(&text, g->a);
  if (g->bare) tn_schema_print_numbers(&op->schema, &text);
  emit_text(out, "schema", g->bare ? tn_text_get(&text) : op->schema_text);
  tn_text_free(&text);
}

static void emit_op(gen *g, tn_text *out, const gen_op *op) {
  const char *id = op_id(g, op);
  tn_text_add(out, "\n");
  emit_rules(g, out, op, id);
  emit_cases(out, op, id);
  tn_text_add(out, "static const tn_op op_%s = {\n    .head = TN_HEAD(tn_op),\n", id);
  emit_text(out, "domain", op->domain);
  emit_text(out, "name", op->name);
  tn_text_add(out, "    .since = %d,\n    .until = %d,\n", op->since, op->until);
  emit_schema(g, out, op);
  if (op->rules.n)
    tn_text_add(out, "    .types = rules_%s,\n    .n_types = %" PRId64 ",\n", id, op->rules.n);
  tn_text_add(out, "    .flags = %s,\n", op_flags_c(g, op));
  emit_function(out, "infer", op->infer);
  emit_function(out, "flops",
                op->flops_per_element > 0 ? gen_flops_id(g, op->flops_per_element) : op->flops);
  emit_function(out, "lower", op->lower);
  emit_function(out, "reference", op->reference);
  emit_function(out, "epilogue", op->epilogue);
  if (op->cases.n)
    tn_text_add(out, "    .cases = cases_%s,\n    .n_cases = %" PRId64 ",\n", id, op->cases.n);
  emit_text(out, "doc", op->doc);
  if (!g->bare) emit_text(out, "source", op->at->path);
  tn_text_add(out, "};\n");
}

static const char *rank_c(gen *g, int rank) {
  return rank == TN_RANK_PORTABLE    ? "TN_RANK_PORTABLE"
         : rank == TN_RANK_OPTIMIZED ? "TN_RANK_OPTIMIZED"
                                     : gen_format_text(g, "%d", rank);
}

uint64_t gen_accept_dtypes(const gen_accept *a) {
  return a->dtypes || a->flags & TN_ACCEPT_ABSENT ? a->dtypes : TN_ANY_DTYPE;
}

static void emit_accepts(gen *g, tn_text *out, const gen_kernel *k) {
  static const gen_word flags[] = {{"", TN_ACCEPT_CONST, "TN_ACCEPT_CONST"},
                                   {"", TN_ACCEPT_ABSENT, "TN_ACCEPT_ABSENT"},
                                   {"", TN_ACCEPT_PRESENT, "TN_ACCEPT_PRESENT"},
                                   {"", TN_ACCEPT_PACKED, "TN_ACCEPT_PACKED"},
                                   {NULL, 0, NULL}};
  for (int64_t i = 0; i < k->accepts.n; i++) {
    const gen_accept *a = &k->accepts.data[i];
    const char *dtypes = a->dtypes                     ? gen_dtypes_c(g, a->dtypes)
                         : a->flags & TN_ACCEPT_ABSENT ? "0"
                                                       : "TN_ANY_DTYPE";
    tn_text_add(out,
                "static const tn_accept accept_%s_%" PRId64
                " = {\n    TN_HEAD(tn_accept), \"%s\", %s,\n    %s, %d, %d, %s};\n",
                k->name, i, a->arg, dtypes, a->layout, a->rank_min, a->rank_max,
                gen_mask_c(g, flags, a->flags));
  }
  if (!k->accepts.n) return;
  tn_text_add(out, "static const tn_accept *const accepts_%s[] = {", k->name);
  for (int64_t i = 0; i < k->accepts.n; i++) {
    tn_text_add(out, "%s&accept_%s_%" PRId64, i ? ", " : "", k->name, i);
  }
  tn_text_add(out, "};\n");
}

/* Files of other architectures are not compiled, so their kernels may not be named. Those with the
 * vectors of RISC-V are compiled by clang only (cmake/TenonIsa.cmake). */
const char *gen_kernel_condition(const gen_kernel *k) {
  if (k->isa & UINT64_C(0xffff)) return "#if defined(__x86_64__) && !defined(TN_PORTABLE)\n";
  if (k->isa & (TN_ISA_RVV | TN_ISA_RVV_F16))
    return "#if defined(__riscv) && defined(__clang__) && !defined(TN_PORTABLE)\n";
  return k->isa ? "#if defined(__aarch64__) && !defined(TN_PORTABLE)\n" : "";
}

static void emit_kernel(gen *g, tn_text *out, const gen_kernel *k) {
  tn_text_add(out, "\n%s", gen_kernel_condition(k));
  emit_accepts(g, out, k);
  tn_text_add(out, "static const tn_kernel kernel_%s = {\n    .head = TN_HEAD(tn_kernel),\n",
              k->name);
  emit_text(out, "name", k->name);
  emit_text(out, "op", gen_full_name(g, k->domain, k->op));
  emit_text(out, "device", k->device);
  tn_text_add(
      out,
      "    .since = %d,\n    .until = %d,\n    .isa = %s,\n    .rank = %s,\n    .flags = %s,\n",
      k->since, k->until, gen_mask_c(g, gen_isa_words, k->isa), rank_c(g, k->rank),
      gen_mask_c(g, gen_kernel_flag_words, k->flags));
  if (k->accepts.n) {
    tn_text_add(out, "    .accepts = accepts_%s,\n    .n_accepts = %" PRId64 ",\n", k->name,
                k->accepts.n);
  }
  emit_function(out, "refuse", k->refuse);
  emit_function(out, "plan", k->plan);
  emit_function(out, "prepare", k->prepare);
  emit_function(out, "run", k->run);
  emit_function(out, "finish", k->finish);
  if (!g->bare) emit_text(out, "source", k->at->path);
  tn_text_add(out, "};\n%s", k->isa ? "#endif\n" : "");
  if (k->record)
    tn_text_add(out,
                "static const tn_device_kernel device_kernel_%s = {\n"
                "    .head = TN_HEAD(tn_device_kernel),\n    .kernel = &kernel_%s,\n"
                "    .programs = programs_%s,\n    .n_programs = %" PRId64
                ",\n    .record = %s,\n};\n",
                k->name, k->name, k->family, gen_n_programs(g, k->family), k->record);
}

static void emit_rewrite(tn_text *out, const gen_rewrite *r) {
  tn_text_add(out, "\nstatic const tn_rewrite rewrite_%s = {\n    .head = TN_HEAD(tn_rewrite),\n",
              r->name);
  emit_text(out, "name", r->name);
  emit_text(out, "root", r->root);
  tn_text_add(out, "    .apply = %s,\n", r->apply);
  if (r->makes) emit_text(out, "makes", r->makes);
  tn_text_add(out, "};\n");
}

static void emit_parts(gen *g, tn_text *out) {
  for (int64_t k = 0; k < g->ops.n; k++) {
    if (!g->ops.data[k].header_only) emit_op(g, out, &g->ops.data[k]);
  }
  for (int64_t k = 0; k < g->kernels.n; k++) emit_kernel(g, out, &g->kernels.data[k]);
  for (int64_t k = 0; k < g->rewrites.n; k++) emit_rewrite(out, &g->rewrites.data[k]);
}

/* Each ends with NULL: C knows no empty arrays, and which kernels stand in it depends on the
 * machine. */
static void emit_arrays(gen *g, tn_text *out) {
  tn_text_add(out, "\nstatic const tn_op *const ops[] = {\n");
  for (int64_t k = 0; k < g->ops.n; k++) {
    if (!g->ops.data[k].header_only) tn_text_add(out, "    &op_%s,\n", op_id(g, &g->ops.data[k]));
  }
  tn_text_add(out, "    NULL};\n\nstatic const tn_kernel *const kernels[] = {\n");
  for (int64_t k = 0; k < g->kernels.n; k++) {
    const gen_kernel *kernel = &g->kernels.data[k];
    if (kernel->record) continue;
    tn_text_add(out, "%s    &kernel_%s,\n%s", gen_kernel_condition(kernel), kernel->name,
                kernel->isa ? "#endif\n" : "");
  }
  tn_text_add(out, "    NULL};\n\nstatic const tn_rewrite *const rewrites[] = {\n");
  for (int64_t k = 0; k < g->rewrites.n; k++) {
    tn_text_add(out, "    &rewrite_%s,\n", g->rewrites.data[k].name);
  }
  tn_text_add(out, "    NULL};\n\nstatic const tn_format *const formats[] = {\n");
  for (int64_t k = 0; k < g->formats.n; k++) {
    tn_text_add(out, "    &%s,\n", g->formats.data[k].descriptor);
  }
  tn_text_add(out, "    NULL};\n\n");
  tn_text_add(out, "static const tn_device_driver *const drivers[] = {\n");
  for (int64_t k = 0; k < g->drivers.n; k++) {
    tn_text_add(out, "    &%s,\n", g->drivers.data[k].descriptor);
  }
  tn_text_add(out, "    NULL};\n\nstatic const tn_device_kernel *const device_kernels[] = {\n");
  for (int64_t k = 0; k < g->kernels.n; k++) {
    const gen_kernel *kernel = &g->kernels.data[k];
    if (kernel->record) tn_text_add(out, "    &device_kernel_%s,\n", kernel->name);
  }
  for (int64_t k = 0; k < g->device_kernels.n; k++) {
    tn_text_add(out, "    &%s,\n", g->device_kernels.data[k].descriptor);
  }
  tn_text_add(out, "    NULL};\n");
}

static void emit_plugin(gen *g, tn_text *out, const char *query) {
  const gen_plugin *p = &g->plugin;
  tn_text_add(out,
              "\n#define COUNT(array) ((uint32_t)(sizeof(array) / sizeof *(array)) - 1)\n\n"
              "static const tn_plugin plugin = {\n    .head = TN_HEAD(tn_plugin),\n");
  emit_text(out, "name", p->name ? p->name : "tenon");
  emit_text(out, "version", p->version);
  emit_text(out, "license", p->license);
  emit_text(out, "build_id", gen_format_text(g, "%016" PRIx64, g->content_hash));
  tn_text_add(out, "    .flavour = TN_FLAVOUR,\n    .flags = %s,\n",
              gen_mask_c(g, gen_plugin_flag_words, p->name ? p->flags : TN_PLUGIN_LAZY_CONSTANTS));
  static const char *const arrays[] = {"ops",     "kernels", "rewrites",
                                       "formats", "drivers", "device_kernels"};
  for (size_t k = 0; k < sizeof arrays / sizeof *arrays; k++) {
    tn_text_add(out, "    .n_%s = COUNT(%s),\n    .%s = %s,\n", arrays[k], arrays[k], arrays[k],
                arrays[k]);
  }
  emit_function(out, "init", p->init);
  emit_function(out, "shutdown", p->shutdown);
  tn_text_add(out,
              "};\n\nconst tn_plugin *%s(uint32_t host_major, uint32_t host_minor) {\n"
              "  (void)host_major;\n  (void)host_minor;\n  return &plugin;\n}\n",
              query);
}

/* One of the words of TN_OFFERS, after those that were. */
static void emit_offer(tn_text *out, tn_map *seen, const char *word) {
  enum { LINE = 80 }; /* C promises texts of 4095 bytes */
  if (tn_map_get(seen, word, 0)) return;
  tn_text_add(out, seen->n && seen->n % LINE == 0 ? "\");\nTN_OFFERS(\"%s" : "%s%s",
              seen->n % LINE ? " " : "", word);
  if (tn_map_set(seen, word, 1)) gen_need(NULL);
}

/* What the file says of itself (tenon/kit/offers.h). What tables in C are for is not known here. */
static void emit_offers(gen *g, tn_text *out) {
  if (!g->plugin.name || g->device_kernels.n) return;
  tn_map seen;
  tn_map_init(&seen, g->a);
  tn_text_add(out, "\nTN_OFFERS(\"");
  for (int64_t k = 0; k < g->ops.n; k++) {
    const gen_op *op = &g->ops.data[k];
    const char *name = gen_full_name(g, op->domain, op->name);
    if (op->until) name = gen_format_text(g, "%s@%d-%d", name, op->since, op->until);
    if (!op->header_only) emit_offer(out, &seen, name);
  }
  for (int64_t k = 0; k < g->kernels.n; k++)
    emit_offer(out, &seen, gen_full_name(g, g->kernels.data[k].domain, g->kernels.data[k].op));
  for (int64_t k = 0; k < g->rewrites.n; k++) emit_offer(out, &seen, g->rewrites.data[k].root);
  if (g->formats.n) emit_offer(out, &seen, "+formats");
  if (g->drivers.n) emit_offer(out, &seen, "+drivers");
  tn_text_add(out, "\");\n");
  tn_map_free(&seen);
}

static bool has_devices(const gen *g) {
  for (int64_t k = 0; k < g->kernels.n; k++)
    if (g->kernels.data[k].record) return true;
  return g->drivers.n > 0 || g->device_kernels.n > 0;
}

/* src/without: named here, these take the place of what the list leaves out. Nobody calls the
 * function: linkers leave it out again when they have found the names. */
static void emit_without(gen *g, tn_text *out) {
  for (int64_t k = 0; k < g->without.n; k++)
    tn_text_add(out, "extern const char tn_without_%s;\n", g->without.data[k]);
  tn_text_add(out, "void tn_selected(void);\nvoid tn_selected(void) {\n");
  for (int64_t k = 0; k < g->without.n; k++)
    tn_text_add(out, "  __asm__ volatile(\"\" : : \"r\"(&tn_without_%s));\n", g->without.data[k]);
  tn_text_add(out, "}\n");
}

bool gen_emit_table(gen *g, const char *dir) {
  tn_text out;
  const char *query = g->plugin.name ? "tn_plugin_query" : "tn_builtin_query";
  tn_text_init(&out, g->a);
  tn_text_add(&out,
              "/* Generated by tenon-gen from the family files; do not edit. */\n#include "
              "\"tenon/graph.h\"\n%s%s\n",
              has_devices(g) || g->bare ? "#include \"tenon/device.h\"\n" : "",
              g->plugin.name ? "#include \"tenon/kit/offers.h\"\n" : "");
  if (!g->plugin.name)
    tn_text_add(&out,
                "const tn_plugin *tn_builtin_query(uint32_t host_major, uint32_t host_minor);\n");
  gen_emit_declarations(g, &out, NULL);
  emit_flops(g, &out);
  if (!gen_emit_programs(g, &out)) {
    tn_text_free(&out);
    return false;
  }
  emit_parts(g, &out);
  emit_arrays(g, &out);
  emit_plugin(g, &out, query);
  emit_offers(g, &out);
  if (g->compact) gen_emit_compact(g, &out);
  if (g->bare) emit_without(g, &out);
  return gen_write(g, dir, g->plugin.name ? "plugin.c" : "builtin.c", &out);
}
