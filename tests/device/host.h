/* A host for tests that call a driver by themselves. */
#ifndef TESTS_DEVICE_HOST_H
#define TESTS_DEVICE_HOST_H

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "tenon/device.h"

static char said[512]; /* the last error */

static tn_status host_fail(void *ctx, tn_status code, const char *format, ...) {
  va_list args;
  (void)ctx;
  va_start(args, format);
  vsnprintf(said, sizeof said, format, args);
  va_end(args);
  return code;
}

static void *host_alloc(void *ctx, uint64_t bytes) {
  (void)ctx;
  return calloc(1, bytes);
}

static void host_free(void *ctx, void *memory) {
  (void)ctx;
  free(memory);
}

static const tn_host host = {
    .head = TN_HEAD(tn_host), .fail = host_fail, .alloc = host_alloc, .free = host_free};
static const tn_device_call call = {.head = TN_HEAD(tn_device_call), .host = &host};

#endif
