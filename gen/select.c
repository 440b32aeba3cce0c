/* --select: of all that the family files describe, only the parts of a list come into the table,
 * without what runs nowhere but in tests and documents. */
#include <stdio.h>
#include <string.h>

#include "base/features.h"
#include "base/part_list.h"
#include "gen.h"

static void select_ops(gen *g, tn_part_list *list) {
  for (int64_t k = 0; k < g->ops.n; k++) {
    gen_op *op = &g->ops.data[k];
    const char *name = gen_full_name(g, op->domain, op->name);
    if (op->header_only) continue;
    if (!tn_part_list_has(list, "op", name, op->since)) op->header_only = true;
    if (!tn_part_list_has(list, "lower", name, op->since)) op->lower = NULL;
    op->reference = op->doc = NULL;
    op->cases.n = 0;
  }
}

/* Keeps those elements that the list has. */
#define KEEP(g, v, list, what)                                    \
  do {                                                            \
    int64_t kept = 0;                                             \
    for (int64_t k = 0; k < (v)->n; k++)                          \
      if (tn_part_list_has((list), (what), (v)->data[k].name, 0)) \
        (v)->data[kept++] = (v)->data[k];                         \
    (v)->n = kept;                                                \
  } while (0)

static void select_kernels(gen *g, tn_part_list *list) {
  int64_t kept = 0;
  for (int64_t k = 0; k < g->kernels.n; k++) {
    gen_kernel *kernel = &g->kernels.data[k];
    const bool runs = tn_part_list_has(list, "runs", kernel->name, 0);
    const bool whole = tn_part_list_has(list, "kernel", kernel->name, 0);
    if (runs && !whole) { /* no more of it than that */
      tn_vec_free(g->a, &kernel->accepts);
      kernel->refuse = kernel->plan = NULL;
      if (!tn_part_list_has(list, "prepares", kernel->name, 0))
        kernel->prepare = kernel->finish = NULL;
    }
    if (runs || whole)
      g->kernels.data[kept++] = *kernel;
    else
      tn_vec_free(g->a, &kernel->accepts);
  }
  g->kernels.n = kept;
}

static void leave_out(gen *g, const char *name) {
  (void)gen_need(tn_vec_push(g->a, &g->without, name) ? NULL : g);
}

/* Those of the planner's own, between types, layouts and devices. */
static bool converts(const gen *g) {
  static const char *const ops[] = {"Cast", "Reorder", "Transfer"};
  bool any = g->drivers.n > 0;
  for (int64_t k = 0; k < g->kernels.n; k++)
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
      any = any ||
            (!strcmp(g->kernels.data[k].domain, "tenon") && !strcmp(g->kernels.data[k].op, ops[i]));
  return any;
}

/* Readers may need what else only programs ask for. */
static bool is_needed(const gen *g, const char *service) {
  bool any = false;
  for (int64_t k = 0; k < g->formats.n; k++) any = any || g->formats.data[k].file_kinds;
  return any && !strcmp(service, "file_kinds");
}

/* What else there is but parts. Lists of plan files, whose programs have none of it, do not ask. */
static void select_services(gen *g, tn_part_list *list) {
  bool only_runs = g->kernels.n > 0;
  for (int64_t k = 0; k < g->kernels.n; k++)
    only_runs = only_runs && !g->kernels.data[k].plan &&
                !tn_part_list_has(list, "kernel", g->kernels.data[k].name, 0);
  for (const char *const *name = tn_part_services; *name; name++)
    if (!tn_part_list_has(list, "service", *name, 0) && !only_runs && !is_needed(g, *name))
      leave_out(g, *name);
  for (int k = 0; k < TN_FEATURE_COUNT; k++)
    if (!tn_part_list_has_feature(list, k) && !only_runs) leave_out(g, tn_feature_names[k]);
  /* Nothing can come but what is built in, and of that no tables of devices. */
  const bool vets = tn_part_list_has(list, "service", "plugins", 0) ||
                    tn_part_list_has(list, "service", "devices", 0) || g->drivers.n;
  if (!vets && !converts(g) && !only_runs) leave_out(g, "conversions");
  g->compact = !vets && !only_runs;
  if (g->compact) leave_out(g, "vetting");
}

bool gen_select(gen *g, const char *path) {
  tn_part_list list;
  tn_diag *diag = gen_need(tn_diag_create());
  tn_part_list_init(&list, g->a);
  g->bare = true;
  tn_status s = tn_part_list_read(&list, path, diag);
  if (!s) {
    select_ops(g, &list);
    select_kernels(g, &list);
    KEEP(g, &g->rewrites, &list, "rewrite");
    KEEP(g, &g->formats, &list, "format");
    KEEP(g, &g->drivers, &list, "driver");
    KEEP(g, &g->device_kernels, &list, "kernel");
    select_services(g, &list);
    s = tn_part_list_check(&list, diag);
  }
  for (int64_t k = 0; k < tn_diag_count(diag); k++)
    fprintf(stderr, "tenon-gen: %s\n", tn_diag_message(diag, k, NULL));
  tn_part_list_free(&list);
  tn_diag_destroy(diag);
  return !s;
}
