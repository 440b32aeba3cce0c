/* `operators_of: aten, torchvision` of a format: every operator of these domains that is told in
 * the form of PyTorch is a row of the format's table: its name with the overload, what it is called
 * here, and its schema, by which readers bind arguments. */
#include <stdlib.h>
#include <string.h>

#include "gen.h"

static bool names_domain(const char *list, const char *domain) {
  const size_t n = strlen(domain);
  for (const char *p = strstr(list, domain); p; p = strstr(p + 1, domain)) {
    const bool begins = p == list || p[-1] == ' ' || p[-1] == ',';
    if (begins && (p[n] == '\0' || p[n] == ',' || p[n] == ' ')) return true;
  }
  return false;
}

static int by_name(const void *a, const void *b) {
  return strcmp(((const gen_format_op *)a)->name, ((const gen_format_op *)b)->name);
}

static void add_rows(gen *g, gen_format *f) {
  const uint64_t most = (uint64_t)f->n_ops + (uint64_t)g->ops.n + 1;
  gen_format_op *rows = gen_need(tn_arena_alloc(&g->arena, most * sizeof *rows));
  if (f->n_ops) memcpy(rows, f->ops, (size_t)f->n_ops * sizeof *rows);
  for (int64_t k = 0; k < g->ops.n; k++) {
    const gen_op *op = &g->ops.data[k];
    if (!op->torch || op->header_only || !names_domain(f->domain, op->domain)) continue;
    rows[f->n_ops++] = (gen_format_op){.name = op->torch,
                                       .to = gen_full_name(g, op->domain, op->name),
                                       .attrs = op->schema_text,
                                       .how = "TN_FORMAT_LOWERED",
                                       .code = -1};
  }
  if (f->n_ops) qsort(rows, (size_t)f->n_ops, sizeof *rows, by_name);
  f->ops = rows;
}

void gen_add_torch_rows(gen *g) {
  for (int64_t k = 0; k < g->formats.n; k++)
    if (g->formats.data[k].domain) add_rows(g, &g->formats.data[k]);
}
