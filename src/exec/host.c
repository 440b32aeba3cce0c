/* tn_runtime_host: what a plug-in may ask of the host outside of any node, with the runtime as ctx.
 */
#include "exec/host.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "exec/exec.h"
#include "tenon/kit/fetch.h"

static __attribute__((format(printf, 3, 4))) tn_status host_fail(void *ctx, tn_status code,
                                                                 const char *format, ...) {
  char text[1001];
  va_list args;
  if (!format) return code;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  tn_registry_report(((tn_runtime *)ctx)->registry, text);
  return code;
}

static void *host_alloc(void *ctx, uint64_t bytes) {
  return tn_alloc_sized(&((tn_runtime *)ctx)->allocator, bytes);
}

static void host_free(void *ctx, void *memory) {
  tn_free_sized(&((tn_runtime *)ctx)->allocator, memory);
}

/* There is no node whose values could be meant. */
static tn_status fetch(void *ctx, const tn_graph *graph, int32_t value) {
  (void)graph, (void)value;
  return host_fail(ctx, TN_ERR_STATE, "fetches elements outside of any node");
}

static const void *host_get_extension(void *ctx, const char *name) {
  static const tn_fetch_extension extension = {TN_HEAD(tn_fetch_extension), fetch};
  if (strcmp(name, TN_FETCH_EXTENSION)) return NULL;
  tn_registry_asks(((tn_runtime *)ctx)->registry);
  return &extension;
}

/* Plug-ins may keep it, and read graphs through it in whatever callback. */
const tn_host tn_runtime_host = {
    .head = TN_HEAD(tn_host),
    .graph = &tn_graph_show_table,
    .fail = host_fail,
    .alloc = host_alloc,
    .free = host_free,
    .get_extension = host_get_extension,
};
