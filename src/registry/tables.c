/* The registry's tables: the old ones and a new plug-in's parts become new sorted ones. Readers
 * keep using the old tables while this happens, and for as long as they like after it. */
#include <stdlib.h>
#include <string.h>

#include "registry/internal.h"

/* ---- order ---- */

static int compare_i32(int32_t a, int32_t b) { return (a > b) - (a < b); }

static int compare_name(const char *domain_a, const char *a, const char *domain_b, const char *b) {
  const int order = strcmp(domain_a, domain_b);
  return order ? order : strcmp(a, b);
}

static int compare_ops(const void *x, const void *y) {
  const tn_op *a = &(*(const tn_opdef *const *)x)->op, *b = &(*(const tn_opdef *const *)y)->op;
  const int order = compare_name(a->domain, a->name, b->domain, b->name);
  return order ? order : compare_i32(a->since, b->since);
}

static int compare_kernels(const void *x, const void *y) {
  const tn_kernel_entry *a = *(const tn_kernel_entry *const *)x;
  const tn_kernel_entry *b = *(const tn_kernel_entry *const *)y;
  const int order = compare_name(a->def.domain, a->def.op, b->def.domain, b->def.op);
  if (order) return order;
  const int rank = compare_i32(b->def.kernel.rank, a->def.kernel.rank);
  return rank ? rank : (a->order > b->order) - (a->order < b->order);
}

void tn_ops_sort(tn_opdef **ops, uint32_t n) {
  if (n) qsort(ops, n, sizeof *ops, compare_ops);
}

/* First index for which domain::name is not smaller (after: is greater) than that of the op. */
static int32_t bound(const tn_opdef *const *ops, int32_t n, const char *domain, const char *name,
                     bool after) {
  int32_t low = 0;
  while (n > 0) {
    const int32_t half = n / 2;
    const tn_op *op = &ops[low + half]->op;
    const int order = compare_name(op->domain, op->name, domain, name);
    if (order < 0 || (after && order == 0)) {
      low += half + 1;
      n -= half + 1;
    } else {
      n = half;
    }
  }
  return low;
}

int32_t tn_ops_find(const tn_opdef *const *ops, int32_t n, const char *domain, const char *name,
                    int32_t *out_n) {
  *out_n = 0;
  if (!n) return 0; /* ops may be NULL then */
  const int32_t first = bound(ops, n, domain, name, false);
  *out_n = bound(ops + first, n - first, domain, name, true);
  return first;
}

/* ---- merging ---- */

/* The n pointers at `old` and the n_more at `more`, with room for one more than there are; NULL: no
 * memory. */
static void *joined(tn_arena *arena, const void *old, int32_t n, const void *more,
                    uint32_t n_more) {
  const uint64_t size = sizeof(void *), bytes = (uint64_t)n * size;
  char *all = tn_arena_alloc(arena, bytes + (n_more + 1u) * size);
  if (!all) return NULL;
  if (n) memcpy(all, old, bytes);
  if (n_more) memcpy(all + bytes, more, n_more * size);
  return all;
}

/* First of the *out_n kernels of a name, whatever their versions. */
static int32_t kernels_of_name(const tn_tables *t, const tn_op *op, int32_t *out_n) {
  int32_t first = 0, n = t->n_kernels;
  while (n > 0) {
    const tn_kerneldef *middle = t->kernels[first + n / 2];
    const bool below = compare_name(middle->domain, middle->op, op->domain, op->name) < 0;
    if (below) first += n / 2 + 1;
    n = below ? n - n / 2 - 1 : n / 2;
  }
  for (n = 0; first + n < t->n_kernels; n++) {
    const tn_kerneldef *kernel = t->kernels[first + n];
    if (compare_name(kernel->domain, kernel->op, op->domain, op->name)) break;
  }
  *out_n = n;
  return first;
}

static tn_status attach_kernels(tn_tables *t, tn_op_row *rows, tn_arena *arena) {
  uint64_t room = 0;
  for (int32_t k = 0; k < t->n_ops; k++) {
    rows[k].first_kernel = kernels_of_name(t, &t->ops[k]->op, &rows[k].n_kernels);
    room += (uint64_t)rows[k].n_kernels;
  }
  const tn_kerneldef **attached = tn_arena_alloc(arena, room * sizeof *attached);
  if (!attached) return TN_ERR_MEMORY;
  int32_t n = 0;
  for (int32_t k = 0; k < t->n_ops; k++) {
    const tn_kerneldef *const *named = t->kernels + rows[k].first_kernel;
    const int32_t n_named = rows[k].n_kernels;
    rows[k].first_kernel = n;
    for (int32_t i = 0; i < n_named; i++)
      if (tn_kernel_attaches((const tn_kernel_entry *)named[i], t->ops[k]))
        attached[n++] = named[i];
    rows[k].n_kernels = n - rows[k].first_kernel;
  }
  t->attached = attached;
  return TN_OK;
}

static bool rewrite_is_for(const tn_rewritedef *rewrite, const tn_op *op) {
  const char *root = rewrite->rewrite.root, *colons = strstr(root, "::");
  const size_t n = colons ? (size_t)(colons - root) : 0;
  if (strcmp(colons ? colons + 2 : root, op->name)) return false;
  if (n == strlen("ai.onnx") && !strncmp(root, "ai.onnx", n)) return !*op->domain;
  return n == strlen(op->domain) && !strncmp(root, op->domain, n);
}

/* Writes the rewrites of an operator, in order of loading, to out (NULL: only counts). */
static int32_t rewrites_of(const tn_tables *t, const tn_op *op, const tn_rewritedef **out) {
  int32_t n = 0;
  for (int32_t k = 0; k < t->n_rewrites; k++) {
    if (!rewrite_is_for(t->rewrites[k], op)) continue;
    if (out) out[n] = t->rewrites[k];
    n++;
  }
  return n;
}

static tn_status attach_rewrites(tn_tables *t, tn_op_row *rows, tn_arena *arena) {
  int32_t n = 0;
  for (int32_t k = 0; k < t->n_ops; k++) {
    rows[k].first_rewrite = n;
    rows[k].n_rewrites = rewrites_of(t, &t->ops[k]->op, NULL);
    n += rows[k].n_rewrites;
  }
  const tn_rewritedef **attached = tn_arena_alloc(arena, (uint64_t)n * sizeof *attached);
  if (!attached) return TN_ERR_MEMORY;
  for (int32_t k = 0; k < t->n_ops; k++)
    rewrites_of(t, &t->ops[k]->op, attached + rows[k].first_rewrite);
  t->attached_rewrites = attached;
  return TN_OK;
}

/* A plug-in that was refused before and comes again takes the place of its earlier entry. */
static tn_status list_plug(const tn_tables *old, tn_plug *plug, tn_tables *t) {
  const tn_plug **plugs = joined(&plug->arena, old->plugs, old->n_plugs, NULL, 0);
  if (!plugs) return TN_ERR_MEMORY;
  int32_t at = old->n_plugs;
  for (int32_t k = 0; k < old->n_plugs; k++)
    if (*plug->info.path && plugs[k]->info.refused && !strcmp(plugs[k]->info.path, plug->info.path))
      at = k;
  plugs[at] = plug;
  t->plugs = plugs;
  t->n_plugs = at == old->n_plugs ? old->n_plugs + 1 : old->n_plugs;
  return TN_OK;
}

static tn_status merge_parts(const tn_tables *old, tn_plug *plug, tn_tables *t) {
  tn_arena *arena = &plug->arena;
  tn_opdef **ops = joined(arena, old->ops, old->n_ops, plug->ops, plug->n_ops);
  const tn_kerneldef **kernels =
      joined(arena, old->kernels, old->n_kernels, plug->kernels, plug->n_kernels);
  t->rewrites = joined(arena, old->rewrites, old->n_rewrites, plug->rewrites, plug->n_rewrites);
  t->formats = joined(arena, old->formats, old->n_formats, plug->formats, plug->n_formats);
  t->n_ops = old->n_ops + (int32_t)plug->n_ops;
  t->n_kernels = old->n_kernels + (int32_t)plug->n_kernels;
  t->n_rewrites = old->n_rewrites + (int32_t)plug->n_rewrites;
  t->n_formats = old->n_formats + (int32_t)plug->n_formats;
  tn_op_row *rows = tn_arena_alloc(arena, (uint64_t)t->n_ops * sizeof *rows);
  if (!ops || !kernels || !t->rewrites || !t->formats || !rows) return TN_ERR_MEMORY;
  for (uint32_t k = 0; k < plug->n_kernels; k++)
    plug->kernels[k]->order = (int64_t)old->n_kernels + k;
  tn_ops_sort(ops, (uint32_t)t->n_ops);
  if (t->n_kernels) qsort(kernels, (size_t)t->n_kernels, sizeof *kernels, compare_kernels);
  t->ops = (const tn_opdef *const *)ops;
  t->rows = rows;
  t->kernels = kernels;
  const tn_status status = attach_kernels(t, rows, arena);
  return status ? status : attach_rewrites(t, rows, arena);
}

tn_status tn_tables_merge(const tn_tables *old, tn_plug *plug, const tn_tables **out_tables) {
  tn_tables *t = tn_arena_copy(&plug->arena, old, sizeof *old);
  if (!t) return TN_ERR_MEMORY;
  tn_status status = plug->info.refused ? TN_OK : merge_parts(old, plug, t);
  if (!status) status = list_plug(old, plug, t);
  if (status) return status;
  *out_tables = t;
  return TN_OK;
}
