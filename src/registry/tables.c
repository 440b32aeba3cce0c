/* The registry's tables: the parts of all plug-ins in use, sorted. They are made anew whenever a
 * plug-in comes or goes; readers that have begun keep using the old ones until they leave. Making
 * them looks at names and versions alone: what belongs to an operator is found when somebody asks
 * for it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "registry/internal.h"

enum { SIZE = sizeof(void *) };

/* ---- order ---- */

static int compare_i32(int32_t a, int32_t b) { return (a > b) - (a < b); }

/* strcmp(), whose call addresses and first bytes save more often than not: linkers keep one text of
 * those that are the same. */
static int compare_text(const char *a, const char *b) {
  if (a == b) return 0;
  return *a == *b && *a ? strcmp(a, b) : (unsigned char)*a - (unsigned char)*b;
}

static int compare_name(const char *domain_a, const char *a, const char *domain_b, const char *b) {
  const int order = compare_text(domain_a, domain_b);
  return order ? order : compare_text(a, b);
}

static int compare_rows(const tn_op *a, const tn_op *b) {
  const int order = compare_name(a->domain, a->name, b->domain, b->name);
  if (order || a->since != b->since) return order ? order : compare_i32(a->since, b->since);
  return tn_op_infers(a) - tn_op_infers(b);
}

static int compare_ops(const void *x, const void *y) {
  return compare_rows(&(*(const tn_opdef *const *)x)->op, &(*(const tn_opdef *const *)y)->op);
}

static int compare_ranks(const tn_kernel_entry *a, const tn_kernel_entry *b) {
  const int rank = compare_i32(b->def.kernel.rank, a->def.kernel.rank);
  return rank ? rank : (a->order > b->order) - (a->order < b->order);
}

static int compare_kernels(const void *x, const void *y) {
  const tn_kernel_entry *a = *(const tn_kernel_entry *const *)x;
  const tn_kernel_entry *b = *(const tn_kernel_entry *const *)y;
  const int order = compare_name(a->def.domain, a->def.op, b->def.domain, b->def.op);
  return order ? order : compare_ranks(a, b);
}

void tn_ops_sort(tn_op_slot *ops, uint32_t n) {
  if (n) qsort((void *)ops, n, sizeof *ops, compare_ops);
}

void tn_kernels_sort(tn_kernel_slot *kernels, uint32_t n) {
  if (n) qsort((void *)kernels, n, sizeof *kernels, compare_kernels);
}

tn_status tn_plug_list_ops(tn_plug *plug) {
  const tn_op **rows = tn_arena_alloc(&plug->arena, (uint64_t)plug->n_ops * sizeof *rows);
  plug->op_rows = rows;
  for (uint32_t k = 0; rows && k < plug->n_ops; k++) rows[k] = &((tn_opdef *)plug->ops[k])->op;
  return rows ? TN_OK : TN_ERR_MEMORY;
}

/* ---- searching ---- */

/* First index for which domain::name is not smaller than that of the op. */
static int32_t bound(const tn_op *const *ops, int32_t n, const char *domain, const char *name) {
  int32_t low = 0;
  while (n > 0) {
    const int32_t half = n / 2;
    const tn_op *op = ops[low + half];
    if (compare_name(op->domain, op->name, domain, name) < 0) {
      low += half + 1;
      n -= half + 1;
    } else {
      n = half;
    }
  }
  return low;
}

int32_t tn_ops_find(const tn_op *const *ops, int32_t n, const char *domain, const char *name,
                    int32_t *out_n) {
  *out_n = 0;
  if (!n) return 0; /* ops may be NULL then */
  const int32_t first = bound(ops, n, domain, name);
  int32_t end = first; /* an operator has a few versions */
  while (end < n && !compare_name(ops[end]->domain, ops[end]->name, domain, name)) end++;
  *out_n = end - first;
  return first;
}

const tn_kernel *tn_plug_kernel_row(const tn_plug *plug, uint32_t k) {
  const tn_plugin *p = &plug->plugin;
  if (!plug->is_settled_later) return &((const tn_kernel_entry *)plug->kernels[k])->def.kernel;
  return k < p->n_kernels ? p->kernels[k] : p->device_kernels[k - p->n_kernels]->kernel;
}

/* As compare_name, of "domain::name", or a name of ai.onnx. */
static int compare_spelt(const char *op, const char *domain, const char *name) {
  const char *colon = strchr(op, ':');
  const size_t n = colon ? (size_t)(colon - op) : 0;
  int order = n ? strncmp(op, domain, n) : -(*domain != 0);
  if (!order && n && domain[n]) order = -1;
  return order ? order : compare_text(colon ? colon + 2 : op, name);
}

uint32_t tn_plug_run(const tn_plug *plug, int second, const char *domain, const char *name,
                     uint32_t *out_end) {
  uint32_t low = second ? plug->n_first_run : 0, end = second ? plug->n_kernels : plug->n_first_run;
  for (uint32_t n = end - low; n;) {
    const bool before = compare_spelt(tn_plug_kernel_row(plug, low + n / 2)->op, domain, name) < 0;
    low += before ? n / 2 + 1 : 0;
    n = before ? n - n / 2 - 1 : n / 2;
  }
  *out_end = low;
  while (*out_end < end && !compare_spelt(tn_plug_kernel_row(plug, *out_end)->op, domain, name))
    ++*out_end;
  return low;
}

/* ---- what is made when it is asked for ---- */

static tn_op_slot *slot_of(const tn_tables *t, int32_t op) {
  return t->op_slots ? t->op_slots[op] : &t->alone->ops[op];
}

const tn_opdef *tn_tables_op(const tn_tables *t, int32_t op) {
  tn_op_slot *slot = slot_of(t, op);
  const tn_op *row = t->op_rows[op];
  for (int32_t k = 0; !*slot && k < t->n_plugs; k++)
    if (t->plugs[k]->is_settled_later && tn_op_settle(t->plugs[k], row->domain, row->name))
      return NULL;
  return *slot;
}

int32_t tn_tables_find(const tn_tables *t, const tn_opdef *op) {
  if (!op) return -1;
  const int32_t at = atomic_load_explicit(&((tn_opdef *)(uintptr_t)op)->at, memory_order_relaxed);
  if (at < t->n_ops && *slot_of(t, at) == op) return at;
  int32_t n;
  const int32_t first = tn_ops_find(t->op_rows, t->n_ops, op->op.domain, op->op.name, &n);
  for (int32_t k = first; k < first + n; k++) {
    if (*slot_of(t, k) != op) continue;
    atomic_store_explicit(&((tn_opdef *)(uintptr_t)op)->at, k, memory_order_relaxed);
    return k;
  }
  return -1;
}

/* The kernels of a plug-in for an operator, behind those that are there: as many as `room` allows,
 * in order. Answers how many there may be. */
static int32_t add_kernels(const tn_plug *plug, const tn_opdef *def, tn_op_row *row) {
  int32_t most = 0;
  for (int second = 0; second < 2; second++) {
    uint32_t end;
    const uint32_t first = tn_plug_run(plug, second, def->op.domain, def->op.name, &end);
    most += (int32_t)(end - first);
    for (uint32_t k = first; row->kernels && k < end; k++) {
      const tn_kernel_entry *entry = plug->kernels[k];
      if (!tn_kernel_attaches(entry, def)) continue;
      int32_t at = row->n_kernels++;
      for (; at && compare_ranks((const tn_kernel_entry *)row->kernels[at - 1], entry) > 0; at--)
        row->kernels[at] = row->kernels[at - 1];
      row->kernels[at] = &entry->def;
    }
  }
  return most;
}

static int32_t kernels_of_all(const tn_tables *t, const tn_opdef *def, tn_op_row *row) {
  int32_t most = 0;
  for (int32_t k = 0; k < t->n_plugs; k++)
    if (!t->plugs[k]->info.refused) most += add_kernels(t->plugs[k], def, row);
  return most;
}

static int32_t rewrites_of_all(const tn_tables *t, const tn_opdef *def, tn_op_row *row) {
  int32_t n = 0;
  for (int32_t k = 0; k < t->n_rewrites; k++) {
    const tn_rewritedef *rewrite = t->rewrites[k];
    if (compare_name(rewrite->domain, rewrite->op, def->op.domain, def->op.name)) continue;
    if (row->rewrites) row->rewrites[row->n_rewrites++] = rewrite;
    n++;
  }
  return n;
}

/* Twice: the first time they are counted. */
static tn_op_row *make_row(tn_tables *t, const tn_opdef *def) {
  tn_op_row *row = tn_arena_alloc(&t->arena, sizeof *row);
  if (!row) return NULL;
  const uint64_t n_kernels = (uint64_t)kernels_of_all(t, def, row);
  const uint64_t n_rewrites = (uint64_t)rewrites_of_all(t, def, row);
  row->kernels = tn_arena_alloc(&t->arena, n_kernels * sizeof *row->kernels);
  row->rewrites = tn_arena_alloc(&t->arena, n_rewrites * sizeof *row->rewrites);
  if (!row->kernels || !row->rewrites) return NULL;
  kernels_of_all(t, def, row);
  rewrites_of_all(t, def, row);
  return row;
}

const tn_op_row *tn_tables_row(const tn_tables *tables, int32_t op) {
  tn_tables *t = (tn_tables *)(uintptr_t)tables;
  tn_op_row *row = t->rows[op];
  if (row) return row;
  const tn_opdef *def = tn_tables_op(t, op);
  for (int32_t k = 0; def && k < t->n_plugs; k++) /* whose operator of that name may be another */
    if (tn_op_settle(t->plugs[k], def->op.domain, def->op.name)) return NULL;
  if (!def) return NULL;
  pthread_mutex_lock(&t->making);
  row = t->rows[op];
  if (!row) t->rows[op] = row = make_row(t, def);
  pthread_mutex_unlock(&t->making);
  return row;
}

static int compare_places(const void *x, const void *y) {
  const tn_kernel_place *p = x, *q = y;
  const tn_kernel *a = tn_plug_kernel_row(p->plug, p->index);
  const tn_kernel *b = tn_plug_kernel_row(q->plug, q->index);
  const char *colon = strchr(b->op, ':');
  char domain[TN_LIMIT_NAME + 1];
  snprintf(domain, sizeof domain, "%.*s", colon ? (int)(colon - b->op) : 0, b->op);
  int order = compare_spelt(a->op, tn_domain_normal(domain), colon ? colon + 2 : b->op);
  if (!order) order = compare_i32(b->rank, a->rank);
  const int64_t at = p->plug->first_order + p->index, bt = q->plug->first_order + q->index;
  return order ? order : (at > bt) - (at < bt);
}

/* Under the lock. */
static tn_kernel_place *list_kernels(tn_tables *t) {
  tn_kernel_place *listed = tn_arena_alloc(&t->arena, (uint64_t)t->n_kernels * sizeof *listed);
  int32_t n = 0;
  for (int32_t k = 0; listed && k < t->n_plugs; k++) {
    tn_plug *plug = t->plugs[k];
    for (uint32_t i = 0; !plug->info.refused && i < plug->n_kernels; i++)
      listed[n++] = (tn_kernel_place){plug, i};
  }
  if (n) qsort(listed, (size_t)n, sizeof *listed, compare_places);
  return listed;
}

const tn_kerneldef *tn_tables_kernel(const tn_tables *tables, int32_t index) {
  tn_tables *t = (tn_tables *)(uintptr_t)tables;
  pthread_mutex_lock(&t->making);
  if (!t->listed) t->listed = list_kernels(t);
  pthread_mutex_unlock(&t->making);
  const tn_kernel_place *listed = t->listed;
  const tn_kernel_entry *entry =
      listed ? tn_kernel_settle(listed[index].plug, listed[index].index) : NULL;
  return entry ? &entry->def : NULL;
}

/* ---- building ---- */

static void append(void *items, int32_t *n, const void *more, uint32_t n_more) {
  if (n_more) memcpy((char *)items + (size_t)*n * SIZE, more, (size_t)n_more * SIZE);
  *n += (int32_t)n_more;
}

/* Operators, which are in order in each plug-in, in order; of one plug-in alone they are where they
 * are. */
static tn_status merge_ops(tn_tables *t, tn_plug *plug) {
  const int32_t n = t->n_ops + (int32_t)plug->n_ops;
  if (!plug->n_ops) return TN_OK;
  if (!t->n_ops) {
    t->op_rows = plug->op_rows, t->alone = plug, t->n_ops = n;
    return TN_OK;
  }
  const tn_op **rows = tn_arena_alloc(&t->arena, (uint64_t)n * sizeof *rows);
  tn_op_slot **slots = tn_arena_alloc(&t->arena, (uint64_t)n * sizeof *slots);
  if (!rows || !slots) return TN_ERR_MEMORY;
  int32_t at = 0;
  for (uint32_t k = 0; k < plug->n_ops || at < t->n_ops;) {
    const bool is_old =
        k == plug->n_ops || (at < t->n_ops && compare_rows(t->op_rows[at], plug->op_rows[k]) <= 0);
    const int32_t to = at + (int32_t)k;
    rows[to] = is_old ? t->op_rows[at] : plug->op_rows[k];
    slots[to] = is_old ? slot_of(t, at) : &plug->ops[k];
    at += is_old, k += !is_old;
  }
  t->op_rows = rows, t->op_slots = slots, t->n_ops = n;
  return TN_OK;
}

/* The parts of all plug-ins in use. */
static tn_status collect(tn_tables *t) {
  tn_arena *arena = &t->arena;
  uint64_t n[5] = {0};
  for (int32_t k = 0; k < t->n_plugs; k++) {
    const tn_plug *plug = t->plugs[k];
    if (plug->info.refused) continue;
    n[0] += plug->n_rewrites, n[1] += plug->n_formats, n[2] += plug->n_drivers;
    n[3] += plug->n_compilers, n[4] += plug->n_dispatchers;
  }
  tn_rewritedef **rewrites = tn_arena_alloc(arena, n[0] * sizeof *rewrites);
  tn_format **formats = tn_arena_alloc(arena, n[1] * sizeof *formats);
  tn_driverdef **drivers = tn_arena_alloc(arena, n[2] * sizeof *drivers);
  tn_compilerdef **compilers = tn_arena_alloc(arena, n[3] * sizeof *compilers);
  tn_dispatcherdef **dispatchers = tn_arena_alloc(arena, n[4] * sizeof *dispatchers);
  if (!rewrites || !formats || !drivers || !compilers || !dispatchers) return TN_ERR_MEMORY;
  for (int32_t k = 0; k < t->n_plugs; k++) {
    tn_plug *plug = t->plugs[k];
    if (plug->info.refused) continue;
    if (merge_ops(t, plug)) return TN_ERR_MEMORY;
    t->n_kernels += (int32_t)plug->n_kernels;
    append(rewrites, &t->n_rewrites, plug->rewrites, plug->n_rewrites);
    append(formats, &t->n_formats, plug->formats, plug->n_formats);
    append(drivers, &t->n_drivers, plug->drivers, plug->n_drivers);
    append(compilers, &t->n_compilers, plug->compilers, plug->n_compilers);
    append(dispatchers, &t->n_dispatchers, plug->dispatchers, plug->n_dispatchers);
  }
  t->rewrites = (const tn_rewritedef *const *)rewrites;
  t->formats = (const tn_format *const *)formats;
  t->drivers = (const tn_driverdef *const *)drivers;
  t->compilers = (const tn_compilerdef *const *)compilers;
  t->dispatchers = (const tn_dispatcherdef *const *)dispatchers;
  t->rows = tn_arena_alloc(arena, (uint64_t)t->n_ops * sizeof *t->rows);
  return t->rows ? TN_OK : TN_ERR_MEMORY;
}

tn_status tn_tables_build(const tn_allocator *a, tn_plug *const *plugs, int64_t n,
                          tn_tables **out_tables) {
  tn_tables *t = tn_alloc(a, sizeof *t);
  if (!t) return TN_ERR_MEMORY;
  if (pthread_mutex_init(&t->making, NULL)) {
    tn_free(a, t, sizeof *t);
    return TN_ERR_MEMORY;
  }
  tn_arena_init(&t->arena, a);
  t->plugs = tn_arena_copy(&t->arena, plugs, (uint64_t)n * sizeof *plugs);
  t->n_plugs = (int32_t)n;
  const tn_status status = t->plugs ? collect(t) : TN_ERR_MEMORY;
  if (status)
    tn_tables_free(t);
  else
    *out_tables = t;
  return status;
}

void tn_tables_free(tn_tables *t) {
  if (!t) return;
  const tn_allocator *a = t->arena.a;
  tn_arena_clear(&t->arena);
  pthread_mutex_destroy(&t->making);
  tn_free(a, t, sizeof *t);
}
