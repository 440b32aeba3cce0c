/* tn_runtime_host: what a plug-in may ask of the host outside of any node, with the runtime as ctx.
 */
#include "exec/host.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "exec/exec.h"

static __attribute__((format(printf, 3, 4))) tn_status host_fail(void *ctx, tn_status code,
                                                                 const char *format, ...) {
  char text[1001];
  va_list args;
  if (!ctx || !format) return code;
  va_start(args, format);
  tn_error_text(text, sizeof text, code, format, args);
  va_end(args);
  tn_registry_report(((tn_runtime *)ctx)->registry, TN_DIAG_ERROR, text);
  return code;
}

static void *host_alloc(void *ctx, uint64_t bytes) {
  return tn_alloc_sized(&((tn_runtime *)ctx)->allocator, bytes);
}

static void host_free(void *ctx, void *memory) {
  tn_free_sized(&((tn_runtime *)ctx)->allocator, memory);
}

static __attribute__((format(printf, 3, 4))) void host_log(void *ctx, uint32_t level,
                                                           const char *format, ...) {
  char text[1001];
  va_list args;
  if (!ctx || !format) return;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  tn_registry_report(((tn_runtime *)ctx)->registry, tn_log_severity(level), text);
}

static const void *host_get_extension(void *ctx, const char *name) {
  (void)ctx, (void)name;
  return NULL;
}

/* Plug-ins may keep it, and read graphs through it in whatever callback. */
const tn_host tn_runtime_host = {
    .head = TN_HEAD(tn_host),
    .graph = &tn_graph_show_table,
    .fail = host_fail,
    .log = host_log,
    .alloc = host_alloc,
    .free = host_free,
    .get_extension = host_get_extension,
};
