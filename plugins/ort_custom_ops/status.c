/* Statuses: what a function of the API answers, and what an operator says of itself. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ort.h"

struct ort_status {
  int code;
  const char *text; /* behind the status */
};

/* Where there is no memory for a status; it is never freed. */
static ort_status *no_memory(void) {
  static ort_status status = {ORT_FAIL, "out of memory"};
  return &status;
}

static ort_status *create(int code, const char *text) {
  const size_t size = strlen(text) + 1;
  ort_status *s = malloc(sizeof *s + size);
  if (!s) return no_memory();
  *s = (ort_status){code, memcpy(s + 1, text, size)};
  return s;
}

static ort_status *create_status(int code, const char *text) {
  return create(code, text ? text : "no reason given");
}

ort_status *ort_fail(int code, const char *format, ...) {
  char text[600];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  return create(code, text);
}

static int error_code(const ort_status *status) { return status->code; }
const char *ort_status_text(const ort_status *status) { return status->text; }

void ort_status_free(ort_status *status) {
  if (status != no_memory()) free(status);
}

static tn_status code_of(const ort_status *status) {
  switch (status->code) {
    case ORT_NO_SUCH_FILE: return TN_ERR_NOT_FOUND;
    case ORT_NOT_IMPLEMENTED: return TN_ERR_UNSUPPORTED;
    default: return TN_ERR_INVALID;
  }
}

tn_status ort_hand_on(const tn_call *call, const ort_entry *entry, ort_status *status) {
  if (!status) return TN_OK;
  const tn_status code = code_of(status);
  (void)call->host->fail(call->ctx, code, "%s%s%s: %.900s", entry->domain,
                         *entry->domain ? "::" : "", entry->name, status->text);
  ort_status_free(status);
  return code;
}

ort_status *ort_put_text(const char *data, size_t bytes, char *out, size_t *size) {
  const size_t room = *size;
  *size = bytes + 1;
  if (!out) return NULL;
  if (room < bytes + 1)
    return ort_fail(ORT_INVALID_ARGUMENT, "%zu bytes are no room for a text of %zu", room,
                    bytes + 1);
  if (bytes) memcpy(out, data, bytes);
  out[bytes] = 0;
  return NULL;
}

void ort_status_functions(ort_function *table) {
  ORT_SET(table, CreateStatus, create_status);
  ORT_SET(table, GetErrorCode, error_code);
  ORT_SET(table, GetErrorMessage, ort_status_text);
  ORT_SET(table, ReleaseStatus, ort_status_free);
}
