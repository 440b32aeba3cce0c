/* Fuzzing the reader of .npy: arbitrary bytes. What is read must be whole, and must come back the
 * same when it is written and read again. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tenon/kit/tensor.h"
#include "values.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool ok, const char *rule) {
  if (ok) return;
  fprintf(stderr, "fuzz: %s\n", rule);
  abort();
}

static bool same_strings(const tn_tensor *a, const tn_tensor *b, int64_t n) {
  const tn_str *x = a->data, *y = b->data;
  for (int64_t k = 0; k < n; k++)
    if (x[k].size != y[k].size || memcmp(x[k].data, y[k].data, (size_t)x[k].size)) return false;
  return true;
}

static bool same(const tn_tensor *a, const tn_tensor *b) {
  int64_t n = tn_tensor_elements(a);
  if (a->dtype == TN_BF16) return b->dtype == TN_F32 && tn_tensor_elements(b) == n;
  if (!tn_same_shape(a, b)) return false;
  if (a->dtype == TN_STRING) return same_strings(a, b, n);
  return !n || !memcmp(a->data, b->data, (size_t)tn_tensor_bytes(a));
}

static void write_and_read(const tn_tensor *t, tn_diag *diag) {
  char path[] = "/tmp/tenon_fuzz_npy_XXXXXX";
  tn_mapping file;
  tn_tensor again;
  tn_arena arena;
  int fd = mkstemp(path);
  require(fd >= 0, "there must be a folder /tmp");
  close(fd);
  tn_status s = cli_npy_write(path, t, diag);
  /* '|S' may hold bytes that are no text; those are not written. */
  require(!s || (s == TN_ERR_UNSUPPORTED && t->dtype == TN_STRING), "what was read can be written");
  tn_arena_init(&arena, tn_default_allocator());
  if (!s) {
    require(!tn_file_map(path, diag, &file), "what was written is there");
    require(!cli_npy_parse(path, file.data, file.size, &arena, diag, &again),
            "what was written can be read");
    require(same(t, &again), "what was written is what was read");
    tn_file_unmap(&file);
  }
  tn_arena_clear(&arena);
  unlink(path);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  tn_arena arena;
  tn_tensor t;
  tn_diag *diag = tn_diag_create();
  tn_arena_init(&arena, tn_default_allocator());
  tn_status s = cli_npy_parse("fuzz", data, size, &arena, diag, &t);
  require((s == TN_OK) == (tn_diag_count(diag) == 0), "a failure, and only that, has a message");
  if (!s) {
    require(t.data && tn_tensor_bytes(&t) >= 0 && t.rank <= TN_MAX_RANK, "what is read is whole");
    write_and_read(&t, diag);
  }
  tn_arena_clear(&arena);
  tn_diag_destroy(diag);
  return 0;
}
