/* Rules across entries and files: version ranges that overlap, names given twice, kernels of
 * operators described in another entry. Sorts all parts, which makes the output independent of the
 * order of the files. */
#include <stdlib.h>
#include <string.h>

#include "gen.h"

static int by_op(const void *x, const void *y) {
  const gen_op *a = x, *b = y;
  int order = strcmp(a->domain, b->domain);
  if (!order) order = strcmp(a->name, b->name);
  if (!order) order = (a->since > b->since) - (a->since < b->since);
  if (!order) order = a->library - b->library;
  if (!order) order = strcmp(a->at->path, b->at->path);
  return order ? order : (a->at->line > b->at->line) - (a->at->line < b->at->line);
}

static int by_kernel(const void *x, const void *y) {
  const gen_kernel *a = x, *b = y;
  int order = strcmp(a->domain, b->domain);
  if (!order) order = strcmp(a->op, b->op);
  if (!order) order = (a->rank < b->rank) - (a->rank > b->rank);
  return order ? order : strcmp(a->name, b->name);
}

static int by_rewrite(const void *x, const void *y) {
  const gen_rewrite *a = x, *b = y;
  const int order = strcmp(a->root, b->root);
  return order ? order : strcmp(a->name, b->name);
}

static int by_device_table(const void *x, const void *y) {
  return strcmp(((const gen_device_table *)x)->name, ((const gen_device_table *)y)->name);
}

static int by_format(const void *x, const void *y) {
  return strcmp(((const gen_format *)x)->name, ((const gen_format *)y)->name);
}

static int by_function(const void *x, const void *y) {
  return strcmp(((const gen_function *)x)->name, ((const gen_function *)y)->name);
}

/* qsort with a NULL array would be undefined. */
#define SORT(v, order)                                                        \
  do {                                                                        \
    if ((v)->n) qsort((v)->data, (size_t)(v)->n, sizeof *(v)->data, (order)); \
  } while (0)

static void check_versions(gen *g) {
  for (int64_t k = 1; k < g->ops.n; k++) {
    const gen_op *a = &g->ops.data[k - 1], *b = &g->ops.data[k];
    if (strcmp(a->domain, b->domain) || strcmp(a->name, b->name)) continue;
    if (a->until && a->until < b->since) continue;
    if (a->header_only || b->header_only) continue;
    const bool a_first = strcmp(a->at->path, b->at->path) < 0 ||
                         (!strcmp(a->at->path, b->at->path) && a->at->line <= b->at->line);
    const gen_op *first = a_first ? a : b, *second = a_first ? b : a;
    gen_problem_add(g, second->at, "%s has versions in common with its entry at %s:%d:%d",
                    gen_full_name(g, b->domain, b->name), first->at->path, first->at->line,
                    first->at->column);
  }
}

/* Reports names that stand in the map already. */
static void check_name(gen *g, tn_map *seen, const char *kind, const char *name,
                       const gen_node *at) {
  const char *key = gen_format_text(g, "%s %s", kind, name);
  const gen_node *first = (const gen_node *)(intptr_t)tn_map_get(seen, key, 0);
  if (first) {
    gen_problem_add(g, at, "the %s '%s' stands at %s:%d:%d too", kind, name, first->path,
                    first->line, first->column);
  } else if (tn_map_set(seen, key, (int64_t)(intptr_t)at)) {
    gen_need(NULL);
  }
}

static void check_names(gen *g) {
  tn_map seen;
  tn_map_init(&seen, g->a);
  for (int64_t k = 0; k < g->kernels.n; k++) {
    check_name(g, &seen, "kernel", g->kernels.data[k].name, g->kernels.data[k].at);
  }
  for (int64_t k = 0; k < g->rewrites.n; k++) {
    check_name(g, &seen, "rewrite", g->rewrites.data[k].name, g->rewrites.data[k].at);
  }
  for (int64_t k = 0; k < g->formats.n; k++) {
    check_name(g, &seen, "format", g->formats.data[k].name, g->formats.data[k].at);
  }
  for (int64_t k = 0; k < g->drivers.n; k++) {
    check_name(g, &seen, "driver", g->drivers.data[k].name, g->drivers.data[k].at);
  }
  for (int64_t k = 0; k < g->device_kernels.n; k++) {
    check_name(g, &seen, "device kernel", g->device_kernels.data[k].name,
               g->device_kernels.data[k].at);
  }
  for (int64_t k = 0; k < g->ops.n; k++) {
    const gen_op *op = &g->ops.data[k];
    if (!op->schema.attrs_size || op->header_only) continue;
    const char *kind = gen_format_text(g, "attribute struct of %s.gen.h,", op->family);
    check_name(g, &seen, kind, gen_attrs_name(g, op), op->at);
  }
  tn_map_free(&seen);
}

void gen_check_all(gen *g) {
  SORT(&g->ops, by_op);
  gen_merge(g);
  check_names(g); /* before sorting kernels: blames the later of two places */
  SORT(&g->kernels, by_kernel);
  SORT(&g->rewrites, by_rewrite);
  SORT(&g->formats, by_format);
  SORT(&g->drivers, by_device_table);
  SORT(&g->device_kernels, by_device_table);
  SORT(&g->functions, by_function);
  check_versions(g);
  gen_add_torch_rows(g);
}
