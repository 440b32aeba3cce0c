/* The table of measured costs of a runtime: its files, and what of a file cannot serve here. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpu.h"
#include "base/map.h"
#include "exec/exec.h"
#include "plan/tuning/tuning.h"

/* How many entries do not fit, and the first of them. */
typedef struct misfits {
  int64_t n;
  char first[80];
} misfits;

static void add(misfits *m, const char *text) {
  if (!m->n++) snprintf(m->first, sizeof m->first, "%.*s", (int)sizeof m->first - 1, text);
}

/* Kernels by name: their instruction sets. */
static tn_status index_kernels(const tn_registry *r, tn_map *at) {
  tn_status status = TN_OK;
  for (int32_t k = 0; k < tn_registry_n_kernels(r) && !status; k++)
    status = tn_map_set(at, tn_registry_kernel_at(r, k)->kernel.name, k);
  return status;
}

typedef struct sorted_misfits {
  misfits unknown, isa, threads;
} sorted_misfits;

/* A key: "kernel operator ... threads=N ...". */
static void judge(const tn_runtime *rt, const tn_map *at, const char *key, sorted_misfits *out) {
  char kernel[256], isa[80];
  const char *threads = strstr(key, " threads=");
  snprintf(kernel, sizeof kernel, "%.*s", (int)strcspn(key, " "), key);
  const int64_t k = tn_map_get(at, kernel, -1);
  const uint64_t missing =
      k < 0 ? 0 : tn_registry_kernel_at(rt->registry, (int32_t)k)->kernel.isa & ~rt->isa;
  if (k < 0)
    add(&out->unknown, kernel);
  else if (missing)
    add(&out->isa, tn_isa_text(missing, isa, sizeof isa));
  else if (threads &&
           strtol(threads + strlen(" threads="), NULL, 10) != tn_pool_n_threads(rt->pool))
    add(&out->threads, threads + strlen(" threads="));
}

/* A note of each kind of entries that no plan of this runtime will ask for. */
static tn_status say_misfits(const tn_runtime *rt, const char *path, tn_diag *diag) {
  const int64_t n = tn_tuning_n(rt->tuning);
  sorted_misfits m = {0};
  tn_map at;
  tn_map_init(&at, &rt->allocator);
  const tn_status status = index_kernels(rt->registry, &at);
  for (int64_t k = 0; k < n && !status; k++) judge(rt, &at, tn_tuning_key(rt->tuning, k), &m);
  tn_map_free(&at);
  if (m.unknown.n)
    tn_diag_add(diag, TN_DIAG_NOTE,
                "%s: ignored: %lld of %lld times, of kernels that are not here ('%s')", path,
                (long long)m.unknown.n, (long long)n, m.unknown.first);
  if (m.isa.n)
    tn_diag_add(diag, TN_DIAG_NOTE, "%s: ignored: %lld of %lld times, of kernels that need %s",
                path, (long long)m.isa.n, (long long)n, m.isa.first);
  if (m.threads.n)
    tn_diag_add(
        diag, TN_DIAG_NOTE,
        "%s: ignored: %lld of %lld times, taken with another number of threads (%.*s, not %d)",
        path, (long long)m.threads.n, (long long)n, (int)strcspn(m.threads.first, " "),
        m.threads.first, (int)tn_pool_n_threads(rt->pool));
  return status;
}

tn_status tn_runtime_load_tuning(tn_runtime *rt, const char *path, tn_diag *diag) {
  if (!rt || !path) return tn_fail(diag, TN_ERR_INVALID, "tuning: runtime or path is NULL");
  const tn_status status = tn_tuning_read(rt->tuning, path, diag);
  return status ? status : say_misfits(rt, path, diag);
}

tn_status tn_runtime_save_tuning(tn_runtime *rt, const char *path, tn_diag *diag) {
  if (!rt || !path) return tn_fail(diag, TN_ERR_INVALID, "tuning: runtime or path is NULL");
  return tn_tuning_write(rt->tuning, path, diag);
}

tn_status tn_runtime_tune(tn_runtime *rt, int32_t on) {
  if (!rt) return TN_ERR_INVALID;
  return tn_tuning_measure(rt->tuning, on != 0);
}

int64_t tn_runtime_n_tuned(const tn_runtime *rt) { return rt ? tn_tuning_n(rt->tuning) : 0; }
