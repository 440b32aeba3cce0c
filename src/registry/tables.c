/* The registry's tables: the parts of all plug-ins in use, sorted. They are made anew whenever a
 * plug-in comes or goes; readers that have begun keep using the old ones until they leave. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "registry/internal.h"

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

static int compare_ops(const void *x, const void *y) {
  const tn_op *a = &(*(const tn_opdef *const *)x)->op, *b = &(*(const tn_opdef *const *)y)->op;
  const int order = compare_name(a->domain, a->name, b->domain, b->name);
  if (order || a->since != b->since) return order ? order : compare_i32(a->since, b->since);
  return tn_op_infers(a) - tn_op_infers(b);
}

static int compare_kernels(const void *x, const void *y) {
  const tn_kernel_entry *a = *(const tn_kernel_entry *const *)x;
  const tn_kernel_entry *b = *(const tn_kernel_entry *const *)y;
  const int order = compare_name(a->def.domain, a->def.op, b->def.domain, b->def.op);
  if (order) return order;
  const int rank = compare_i32(b->def.kernel.rank, a->def.kernel.rank);
  return rank ? rank : (a->order > b->order) - (a->order < b->order);
}

/* Those of the library are in order: the generator has sorted them. */
void tn_ops_sort(tn_opdef **ops, uint32_t n) {
  uint32_t k = 1;
  while (k < n && compare_ops(&ops[k - 1], &ops[k]) <= 0) k++;
  if (k < n) qsort(ops, n, sizeof *ops, compare_ops);
}

void tn_kernels_sort(tn_kernel_entry **kernels, uint32_t n) {
  if (n) qsort(kernels, n, sizeof *kernels, compare_kernels);
}

uint32_t tn_kernels_find(tn_kernel_entry *const *kernels, uint32_t n, const char *domain,
                         const char *op) {
  uint32_t low = 0;
  while (n > 0) {
    const tn_kerneldef *half = &kernels[low + n / 2]->def;
    const bool before = compare_name(half->domain, half->op, domain, op) < 0;
    low += before ? n / 2 + 1 : 0;
    n = before ? n - n / 2 - 1 : n / 2;
  }
  return low;
}

/* First index for which domain::name is not smaller than that of the op. */
static int32_t bound(const tn_opdef *const *ops, int32_t n, const char *domain, const char *name) {
  int32_t low = 0;
  while (n > 0) {
    const int32_t half = n / 2;
    const tn_op *op = &ops[low + half]->op;
    if (compare_name(op->domain, op->name, domain, name) < 0) {
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
  const int32_t first = bound(ops, n, domain, name);
  int32_t end = first; /* an operator has a few versions */
  while (end < n && !compare_name(ops[end]->op.domain, ops[end]->op.name, domain, name)) end++;
  *out_n = end - first;
  return first;
}

/* ---- building ---- */

static int compare_kernel_to_op(const tn_kerneldef *kernel, const tn_op *op) {
  return compare_name(kernel->domain, kernel->op, op->domain, op->name);
}

/* The kernels of each operator's name, whatever their versions: both lists are in order of names.
 * Answers how many there are in all. */
static uint64_t find_kernels_of_names(const tn_tables *t) {
  uint64_t n = 0;
  int32_t begin = 0, end = 0;
  for (int32_t k = 0; k < t->n_ops; k++) {
    const tn_op *op = &t->ops[k]->op;
    if (!k || !tn_op_is(t->ops[k - 1], op->domain, op->name)) {
      begin = end;
      while (begin < t->n_kernels && compare_kernel_to_op(t->kernels[begin], op) < 0) begin++;
      end = begin;
      while (end < t->n_kernels && !compare_kernel_to_op(t->kernels[end], op)) end++;
    }
    t->rows[k].first_named = begin;
    t->rows[k].n_named = end - begin;
    t->rows[k].first_kernel = (int32_t)n;
    n += (uint64_t)(end - begin);
  }
  return n;
}

static void attach_kernels(const tn_tables *t, int32_t op) {
  tn_op_row *row = &t->rows[op];
  const tn_kerneldef **attached = t->attached + row->first_kernel;
  int32_t n = 0;
  for (int32_t i = 0; i < row->n_named; i++) {
    const tn_kerneldef *def = t->kernels[row->first_named + i];
    const tn_kernel_entry *kernel = (const tn_kernel_entry *)def;
    if (!kernel->vetted) return; /* memory ran out when it was to be settled */
    if (tn_kernel_attaches(kernel, t->ops[op])) attached[n++] = def;
  }
  row->n_kernels = n;
  atomic_store(&row->is_attached, true);
}

int32_t tn_op_kernels(const tn_tables *t, int32_t op, const tn_kerneldef *const **out_kernels) {
  tn_op_row *row = &t->rows[op];
  if (!atomic_load_explicit(&row->is_attached, memory_order_acquire)) {
    tn_plug *plug = tn_plug_of(t->ops[op]->owner);
    pthread_mutex_lock(&plug->settling);
    if (!row->is_attached) attach_kernels(t, op);
    pthread_mutex_unlock(&plug->settling);
  }
  *out_kernels = t->attached + row->first_kernel;
  return row->n_kernels;
}

int32_t tn_ops_spelt(const tn_tables *t, const char *op, int32_t *out_n) {
  const char *colons = strstr(op, "::");
  char domain[2 * TN_LIMIT_NAME + 1];
  snprintf(domain, sizeof domain, "%.*s", colons ? (int)(colons - op) : 0, op);
  return tn_ops_find(t->ops, t->n_ops, tn_domain_normal(domain), colons ? colons + 2 : op, out_n);
}

static int32_t roots_of(const tn_tables *t, const tn_rewritedef *rewrite, int32_t *out_n) {
  return tn_ops_find(t->ops, t->n_ops, rewrite->domain, rewrite->op, out_n);
}

/* Those of an operator stay in order of loading. */
static tn_status attach_rewrites(tn_tables *t) {
  tn_op_row *rows = t->rows;
  int32_t n = 0, n_roots;
  for (int32_t k = 0; k < t->n_rewrites; k++) {
    tn_op_row *row = rows + roots_of(t, t->rewrites[k], &n_roots);
    for (int32_t i = 0; i < n_roots; i++) row[i].n_rewrites++;
  }
  for (int32_t k = 0; k < t->n_ops; k++) {
    rows[k].first_rewrite = n;
    n += rows[k].n_rewrites;
    rows[k].n_rewrites = 0;
  }
  const tn_rewritedef **attached = tn_arena_alloc(&t->arena, (uint64_t)n * sizeof *attached);
  if (!attached) return TN_ERR_MEMORY;
  for (int32_t k = 0; k < t->n_rewrites; k++) {
    tn_op_row *row = rows + roots_of(t, t->rewrites[k], &n_roots);
    for (int32_t i = 0; i < n_roots; i++, row++)
      attached[row->first_rewrite + row->n_rewrites++] = t->rewrites[k];
  }
  t->attached_rewrites = attached;
  return TN_OK;
}

enum { SIZE = sizeof(void *) };

/* First of the items from low on that belongs behind `item`; n if there is none. */
static int32_t place(const char *items, int32_t low, int32_t n, const void *item,
                     int (*compare)(const void *, const void *)) {
  while (low < n) {
    const int32_t half = low + (n - low) / 2;
    if (compare(items + (size_t)half * SIZE, item) <= 0)
      low = half + 1;
    else
      n = half;
  }
  return low;
}

/* Brings two lists in order, one behind the other, into one: a plug-in of a few parts joins a
 * library of thousands. room: for all of them. */
static void merge(void *items, int32_t n_first, int32_t n, void *room,
                  int (*compare)(const void *, const void *)) {
  char *from = items, *to = room;
  int32_t done = 0;
  if (!n_first) return;
  for (int32_t k = n_first; k < n; k++, to += SIZE) {
    const int32_t at = place(items, done, n_first, from + (size_t)k * SIZE, compare);
    const size_t bytes = (size_t)(at - done) * SIZE;
    memcpy(to, from + (size_t)done * SIZE, bytes);
    memcpy(to += bytes, from + (size_t)k * SIZE, SIZE);
    done = at;
  }
  memcpy(to, from + (size_t)done * SIZE, (size_t)(n_first - done) * SIZE);
  memcpy(items, room, (size_t)n * SIZE);
}

static void append(void *items, int32_t *n, const void *more, uint32_t n_more) {
  if (n_more) memcpy((char *)items + (size_t)*n * SIZE, more, (size_t)n_more * SIZE);
  *n += (int32_t)n_more;
}

/* The parts of all plug-ins in use; operators and kernels, which are in order in each of them, in
 * order. */
static tn_status collect(tn_tables *t) {
  tn_arena *arena = &t->arena;
  uint64_t n[7] = {0};
  for (int32_t k = 0; k < t->n_plugs; k++) {
    const tn_plug *plug = t->plugs[k];
    if (plug->info.refused) continue;
    n[0] += plug->n_ops, n[1] += plug->n_kernels;
    n[2] += plug->n_rewrites, n[3] += plug->n_formats, n[4] += plug->n_drivers;
    n[5] += plug->n_compilers, n[6] += plug->n_dispatchers;
  }
  tn_opdef **ops = tn_arena_alloc(arena, n[0] * sizeof *ops);
  tn_kernel_entry **kernels = tn_arena_alloc(arena, n[1] * sizeof *kernels);
  tn_rewritedef **rewrites = tn_arena_alloc(arena, n[2] * sizeof *rewrites);
  tn_format **formats = tn_arena_alloc(arena, n[3] * sizeof *formats);
  tn_driverdef **drivers = tn_arena_alloc(arena, n[4] * sizeof *drivers);
  tn_compilerdef **compilers = tn_arena_alloc(arena, n[5] * sizeof *compilers);
  tn_dispatcherdef **dispatchers = tn_arena_alloc(arena, n[6] * sizeof *dispatchers);
  void *room = tn_arena_alloc(arena, (n[0] + n[1]) * sizeof(void *));
  if (!ops || !kernels || !rewrites || !formats || !drivers || !compilers || !dispatchers || !room)
    return TN_ERR_MEMORY;
  for (int32_t k = 0; k < t->n_plugs; k++) {
    const tn_plug *plug = t->plugs[k];
    if (plug->info.refused) continue;
    const int32_t n_ops = t->n_ops, n_kernels = t->n_kernels;
    append(ops, &t->n_ops, plug->ops, plug->n_ops);
    append(kernels, &t->n_kernels, plug->kernels, plug->n_kernels);
    merge(ops, n_ops, t->n_ops, room, compare_ops);
    merge(kernels, n_kernels, t->n_kernels, room, compare_kernels);
    append(rewrites, &t->n_rewrites, plug->rewrites, plug->n_rewrites);
    append(formats, &t->n_formats, plug->formats, plug->n_formats);
    append(drivers, &t->n_drivers, plug->drivers, plug->n_drivers);
    append(compilers, &t->n_compilers, plug->compilers, plug->n_compilers);
    append(dispatchers, &t->n_dispatchers, plug->dispatchers, plug->n_dispatchers);
  }
  t->ops = (const tn_opdef *const *)ops;
  t->kernels = (const tn_kerneldef *const *)kernels;
  t->rewrites = (const tn_rewritedef *const *)rewrites;
  t->formats = (const tn_format *const *)formats;
  t->drivers = (const tn_driverdef *const *)drivers;
  t->compilers = (const tn_compilerdef *const *)compilers;
  t->dispatchers = (const tn_dispatcherdef *const *)dispatchers;
  return TN_OK;
}

/* At most half full, so that each search ends soon. */
static tn_status index_addresses(tn_tables *t) {
  uint32_t room = 2;
  while (room < 2 * (uint32_t)t->n_ops) room *= 2;
  int32_t *slots = tn_arena_alloc(&t->arena, room * sizeof *slots);
  if (!slots) return TN_ERR_MEMORY;
  for (int32_t k = 0; k < t->n_ops; k++) {
    uint32_t slot = tn_address_slot(t->ops[k]) & (room - 1);
    while (slots[slot]) slot = (slot + 1) & (room - 1);
    slots[slot] = k + 1;
  }
  t->by_address = slots;
  t->address_mask = room - 1;
  return TN_OK;
}

static tn_status fill(tn_tables *t) {
  tn_status status = t->plugs ? collect(t) : TN_ERR_MEMORY;
  if (status) return status;
  t->rows = tn_arena_alloc(&t->arena, (uint64_t)t->n_ops * sizeof *t->rows);
  if (!t->rows) return TN_ERR_MEMORY;
  t->attached = tn_arena_alloc(&t->arena, find_kernels_of_names(t) * sizeof *t->attached);
  status = t->attached ? index_addresses(t) : TN_ERR_MEMORY;
  return status ? status : attach_rewrites(t);
}

tn_status tn_tables_build(const tn_allocator *a, tn_plug *const *plugs, int64_t n,
                          tn_tables **out_tables) {
  tn_tables *t = tn_alloc(a, sizeof *t);
  if (!t) return TN_ERR_MEMORY;
  tn_arena_init(&t->arena, a);
  t->plugs = tn_arena_copy(&t->arena, plugs, (uint64_t)n * sizeof *plugs);
  t->n_plugs = (int32_t)n;
  const tn_status status = fill(t);
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
  tn_free(a, t, sizeof *t);
}
