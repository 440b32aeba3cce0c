/* A plug-in that keeps something for each thread, and has a destructor for it that never learns
 * that the plug-in is shut down. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "tenon/plugin.h"

static void end(void *value) {
  const char *path = getenv("TENON_TEST_LOG");
  FILE *file = path ? fopen(path, "a") : NULL;
  (void)value;
  if (file) fputs("destroyed\n", file);
  if (file) fclose(file);
}

static tn_status init(const tn_host *host, void *ctx, const tn_option *const *options,
                      uint32_t n_options, void **out_self) {
  static pthread_key_t key;
  (void)host, (void)ctx, (void)options, (void)n_options;
  *out_self = NULL;
  if (pthread_key_create(&key, end) || pthread_setspecific(key, &key)) return TN_ERR_INTERNAL;
  return TN_OK;
}

TN_PLUGIN(.name = "acme-keys", .init = init);
