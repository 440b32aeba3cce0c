/* The op tables: one Markdown page per family, and an index. */
#include <inttypes.h>
#include <string.h>

#include "gen.h"

/* Text inside a table cell: no bars, no line ends. */
static void emit_cell(tn_text *out, const char *s) {
  for (; *s; s++) {
    if (*s == '\n')
      tn_text_add(out, " ");
    else
      tn_text_add(out, *s == '|' ? "\\%c" : "%c", *s);
  }
}

static const char *isa_text(gen *g, uint64_t isa) {
  const char *text = "";
  for (const gen_word *w = gen_isa_words; w->name; w++) {
    if (isa & w->value) text = gen_format_text(g, "%s%s%s", text, *text ? " " : "", w->name);
  }
  return *text ? text : "any";
}

static const char *dtypes_text(gen *g, uint64_t dtypes) {
  return dtypes == 0 || dtypes == gen_dtypes_any() ? "any" : gen_dtypes_text(g, dtypes);
}

static void emit_accepts(gen *g, tn_text *out, const gen_kernel *k) {
  for (int64_t i = 0; i < k->accepts.n; i++) {
    const gen_accept *a = &k->accepts.data[i];
    tn_text_add(out, "%s%s: %s", i ? "; " : "", a->arg, dtypes_text(g, a->dtypes));
    for (const gen_word *w = gen_layout_words; w->name; w++) {
      if (strcmp(w->c_name, a->layout) == 0 && w->value != TN_PLAIN)
        tn_text_add(out, ", %s layout", w->name);
    }
    if (a->rank_max) tn_text_add(out, ", rank %d to %d", a->rank_min, a->rank_max);
    if (a->flags & TN_ACCEPT_CONST) tn_text_add(out, ", constant");
    if (a->flags & TN_ACCEPT_ABSENT) tn_text_add(out, ", absent");
    if (a->flags & TN_ACCEPT_PRESENT) tn_text_add(out, ", present");
  }
}

static bool is_kernel_of(const gen_kernel *k, const gen_op *op) {
  return strcmp(k->domain, op->domain) == 0 && strcmp(k->op, op->name) == 0 &&
         (!op->until || k->since <= op->until) && (!k->until || k->until >= op->since);
}

static void emit_kernels(gen *g, tn_text *out, const gen_op *op) {
  bool any = false;
  for (int64_t i = 0; i < g->kernels.n; i++) {
    const gen_kernel *k = &g->kernels.data[i];
    if (!is_kernel_of(k, op)) continue;
    if (!any) tn_text_add(out, "| kernel | rank | needs | accepts |\n|---|---|---|---|\n");
    any = true;
    tn_text_add(out, "| `%s` | %d | %s | ", k->name, k->rank, isa_text(g, k->isa));
    emit_accepts(g, out, k);
    tn_text_add(out, " |\n");
  }
  if (!any)
    tn_text_add(out, "No kernel: %s.\n",
                op->lower ? "it is lowered" : "it runs only through a plug-in");
  tn_text_add(out, "\n");
}

static void emit_op(gen *g, tn_text *out, const gen_op *op) {
  tn_text_add(out, "## %s, version %s\n\n%s\n\n    %s\n\n", gen_full_name(g, op->domain, op->name),
              gen_versions_text(g, op->since, op->until), op->doc ? op->doc : "", op->schema_text);
  for (int64_t k = 0; k < op->rules.n; k++) {
    const gen_rule *r = &op->rules.data[k];
    tn_text_add(out, "- %s: %s\n", r->args, dtypes_text(g, r->dtypes));
  }
  tn_text_add(out, op->rules.n ? "\n" : "");
  emit_kernels(g, out, op);
}

static bool emit_family(gen *g, const char *dir, const char *family) {
  tn_text out;
  bool any = false;
  tn_text_init(&out, g->a);
  tn_text_add(&out, "# Operators of the family %s\n\nGenerated from %s.yaml.\n\n", family, family);
  for (int64_t k = 0; k < g->ops.n; k++) {
    if (g->ops.data[k].header_only || strcmp(g->ops.data[k].family, family) != 0) continue;
    emit_op(g, &out, &g->ops.data[k]);
    any = true;
  }
  if (any) return gen_write(g, dir, gen_format_text(g, "%s.md", family), &out);
  tn_text_free(&out);
  return true;
}

static bool emit_index(gen *g, const char *dir) {
  tn_text out;
  tn_text_init(&out, g->a);
  tn_text_add(&out,
              "# Operators\n\nGenerated from the family files.\n\n| operator | versions | kernels "
              "| what it does |\n|---|---|---|---|\n");
  for (int64_t i = 0; i < g->ops.n; i++) {
    const gen_op *op = &g->ops.data[i];
    int n = 0;
    if (op->header_only) continue;
    for (int64_t k = 0; k < g->kernels.n; k++) n += is_kernel_of(&g->kernels.data[k], op);
    tn_text_add(&out, "| [%s](%s.md) | %s | %d | ", gen_full_name(g, op->domain, op->name),
                op->family, gen_versions_text(g, op->since, op->until), n);
    emit_cell(&out, op->doc ? op->doc : "");
    tn_text_add(&out, " |\n");
  }
  return gen_write(g, dir, "README.md", &out);
}

bool gen_emit_docs(gen *g, const char *dir) {
  bool ok = emit_index(g, dir);
  for (int64_t k = 0; k < g->families.n; k++) ok = emit_family(g, dir, g->families.data[k]) && ok;
  return ok;
}
