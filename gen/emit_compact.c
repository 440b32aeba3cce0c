/* The parts of a selected build as texts one behind the other and an array of functions, which
 * src/without/vetting.c reads: structs of pointers would cost a relocation of 24 bytes for each.
 *
 *   version license build_id n       of the plug-in; n: not less than there are parts of a kind
 *   o name domain schema since until flags functions n_types { name args dtypes }
 *   k name op device since until isa flags rank functions n_accepts
 *     { arg dtypes layout rank_min rank_max flags }
 *   r name root makes                        makes "": always applied; its function is next
 *   .                                        the end
 *
 * Numbers are hexadecimal. functions: bit i is the i-th of those below, which are next in the
 * array. */
#include <inttypes.h>
#include <string.h>

#include "gen.h"

static void text(tn_text *out, const char *s) {
  tn_text_add(out, "    ");
  gen_emit_c_string(out, s);
  tn_text_add(out, " \"\\0\"\n");
}

static void number(tn_text *out, uint64_t n) { tn_text_add(out, "    \"%" PRIx64 "\\0\"\n", n); }

/* Which of them there are. */
static void functions(tn_text *out, const char *const *names, int n) {
  uint64_t mask = 0;
  for (int k = 0; k < n; k++) mask |= (uint64_t)(names[k] != NULL) << k;
  number(out, mask);
}

enum { N_OP = 4, N_KERNEL = 5 };

static void op_functions(gen *g, const gen_op *op, const char **names) {
  names[0] = op->infer;
  names[1] = op->flops_per_element > 0 ? gen_flops_id(g, op->flops_per_element) : op->flops;
  names[2] = op->lower;
  names[3] = op->epilogue;
}

static void kernel_functions(const gen_kernel *k, const char **names) {
  names[0] = k->refuse;
  names[1] = k->plan;
  names[2] = k->prepare;
  names[3] = k->run;
  names[4] = k->finish;
}

static void emit_op(gen *g, tn_text *out, const gen_op *op) {
  const char *names[N_OP];
  tn_text schema;
  tn_text_init(&schema, g->a);
  tn_schema_print_numbers(&op->schema, &schema);
  text(out, "o");
  text(out, op->name);
  text(out, op->domain);
  text(out, tn_text_get(&schema));
  tn_text_free(&schema);
  number(out, (uint64_t)op->since);
  number(out, (uint64_t)op->until);
  number(out, op->flags);
  op_functions(g, op, names);
  functions(out, names, N_OP);
  number(out, (uint64_t)op->rules.n);
  for (int64_t k = 0; k < op->rules.n; k++) {
    text(out, op->rules.data[k].name);
    text(out, op->rules.data[k].args);
    number(out, op->rules.data[k].dtypes);
  }
}

static uint64_t layout_of(const gen_accept *a) {
  const gen_word *w = gen_layout_words;
  while (strcmp(w->c_name, a->layout) != 0) w++;
  return w->value;
}

static void emit_kernel(gen *g, tn_text *out, const gen_kernel *k) {
  const char *names[N_KERNEL];
  tn_text_add(out, "%s", gen_kernel_condition(k));
  text(out, "k");
  text(out, k->name);
  text(out, gen_full_name(g, k->domain, k->op));
  text(out, k->device);
  number(out, (uint64_t)k->since);
  number(out, (uint64_t)k->until);
  number(out, k->isa);
  number(out, k->flags);
  number(out, (uint64_t)k->rank);
  kernel_functions(k, names);
  functions(out, names, N_KERNEL);
  number(out, (uint64_t)k->accepts.n);
  for (int64_t i = 0; i < k->accepts.n; i++) {
    const gen_accept *a = &k->accepts.data[i];
    text(out, a->arg);
    number(out, gen_accept_dtypes(a));
    number(out, layout_of(a));
    number(out, (uint64_t)a->rank_min);
    number(out, (uint64_t)a->rank_max);
    number(out, a->flags);
  }
  tn_text_add(out, "%s", k->isa ? "#endif\n" : "");
}

static void emit_rewrite(tn_text *out, const gen_rewrite *r) {
  text(out, "r");
  text(out, r->name);
  text(out, r->root);
  text(out, r->makes ? r->makes : "");
}

static void emit_texts(gen *g, tn_text *out) {
  tn_text_add(out, "const char tn_selected_texts[] =\n");
  text(out, g->plugin.version ? g->plugin.version : "");
  text(out, g->plugin.license ? g->plugin.license : "");
  text(out, gen_format_text(g, "%016" PRIx64, g->content_hash));
  number(out,
         (uint64_t)(g->ops.n > g->kernels.n ? g->ops.n : g->kernels.n) + (uint64_t)g->rewrites.n);
  for (int64_t k = 0; k < g->ops.n; k++)
    if (!g->ops.data[k].header_only) emit_op(g, out, &g->ops.data[k]);
  for (int64_t k = 0; k < g->kernels.n; k++) emit_kernel(g, out, &g->kernels.data[k]);
  for (int64_t k = 0; k < g->rewrites.n; k++) emit_rewrite(out, &g->rewrites.data[k]);
  tn_text_add(out, "    \".\";\n\n");
}

static void emit_names(tn_text *out, const char *const *names, int n) {
  for (int k = 0; k < n; k++)
    if (names[k]) tn_text_add(out, "    (void (*)(void))%s,\n", names[k]);
}

static void emit_functions(gen *g, tn_text *out) {
  const char *names[N_KERNEL];
  tn_text_add(out, "void (*const tn_selected_functions[])(void) = {\n");
  for (int64_t k = 0; k < g->ops.n; k++) {
    if (g->ops.data[k].header_only) continue;
    op_functions(g, &g->ops.data[k], names);
    emit_names(out, names, N_OP);
  }
  for (int64_t k = 0; k < g->kernels.n; k++) {
    const gen_kernel *kernel = &g->kernels.data[k];
    tn_text_add(out, "%s", gen_kernel_condition(kernel));
    kernel_functions(kernel, names);
    emit_names(out, names, N_KERNEL);
    tn_text_add(out, "%s", kernel->isa ? "#endif\n" : "");
  }
  for (int64_t k = 0; k < g->rewrites.n; k++) emit_names(out, &g->rewrites.data[k].apply, 1);
  tn_text_add(out, "    0};\n\n");
}

void gen_emit_compact(gen *g, tn_text *out) {
  tn_text_add(out,
              "\n#pragma GCC diagnostic ignored \"-Woverlength-strings\"\n"
              "extern const char tn_selected_texts[];\n"
              "extern void (*const tn_selected_functions[])(void);\n"
              "extern const tn_format *const *const tn_selected_formats;\n"
              "const tn_format *const *const tn_selected_formats = formats;\n\n");
  emit_texts(g, out);
  emit_functions(g, out);
}
