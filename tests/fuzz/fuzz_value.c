/* Fuzzing tn_value_load: files of single values (ONNX test data, input_0.pb), from the file to the
 * list of tensors that a session is fed with. All of a value that is read can be read, byte by
 * byte, and has the kind that was asked for; a failure leaves nothing and says why. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/diag.h"
#include "tenon/kit/dtype.h"
#include "tenon/tenon.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MAX_DEPTH = 40, NAME_ROOM = 40 };

static void require(bool ok, const char *rule, tn_diag *diag) {
  if (ok) return;
  fprintf(stderr, "fuzz: %s; said: %s\n", rule, tn_diag_text(diag));
  abort();
}

/* The sum of all bytes, so that all are read. */
static uint64_t sum_of(const char *data, int64_t n) {
  uint64_t sum = 0;
  for (int64_t k = 0; k < n; k++) sum += (uint8_t)data[k];
  return sum;
}

static uint64_t walk(const tn_tensor *t, int depth, tn_diag *diag) {
  uint64_t sum = 0;
  require(t && depth < MAX_DEPTH, "values nest as deep as the reader allows", diag);
  if (t->kind == TN_KIND_TENSOR) {
    const tn_str *strings = t->data;
    int64_t bytes = tn_tensor_bytes(t), n = tn_tensor_elements(t);
    require(bytes >= 0 && n >= 0 && t->rank >= 0 && t->rank <= TN_MAX_RANK, "tensors are whole",
            diag);
    if (t->dtype != TN_STRING) return bytes ? sum_of(t->data, bytes) : 0;
    for (int64_t k = 0; k < n; k++) sum += sum_of(strings[k].data, strings[k].size);
    return sum;
  }
  int64_t n = tn_list_size(t);
  require(n >= 0, "lists have a size", diag);
  for (int64_t k = 0; k < n; k++) sum += walk(tn_list_item(t, k), depth + 1, diag);
  return sum;
}

static void load(tn_runtime *runtime, const char *path, uint32_t kind) {
  tn_diag *diag = tn_diag_create();
  tn_tensor *value = NULL;
  char name[NAME_ROOM];
  memset(name, 'x', sizeof name);
  tn_status s = tn_value_load(runtime, path, "onnx", kind, diag, &value, name, sizeof name);
  require(memchr(name, 0, sizeof name) != NULL, "a name ends", diag);
  require((s == TN_OK) == (tn_diag_count(diag) == 0), "a failure, and only that, says why", diag);
  require((s == TN_OK) == (value != NULL), "a failure leaves no value", diag);
  if (value) {
    require(value->kind == kind, "a value has the kind that was asked for", diag);
    volatile uint64_t sum = walk(value, 0, diag);
    (void)sum;
  }
  tn_value_destroy(value);
  tn_diag_destroy(diag);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static tn_runtime *runtime;
  static int fd = -1;
  char path[64];
  if (!runtime) {
    tn_runtime_options o = TN_RUNTIME_OPTIONS_INIT;
    o.flags = TN_RUNTIME_NO_DISCOVERY;
    o.n_threads = 1;
    tn_status s = tn_runtime_create(&o, NULL, &runtime);
    fd = memfd_create("value", MFD_CLOEXEC);
    if (s || fd < 0) abort();
  }
  if (ftruncate(fd, 0) || pwrite(fd, data, size, 0) != (ssize_t)size) abort();
  snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  for (uint32_t kind = TN_KIND_TENSOR; kind <= TN_KIND_MAP; kind++) load(runtime, path, kind);
  return 0;
}
