/* Fuzzing files of tuning: any bytes are entries, or refused with one message and nothing taken.
 * What was taken is written, and read again it is the same number of entries. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/alloc.h"
#include "plan/tuning/tuning.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool ok, const char *rule) {
  if (ok) return;
  fprintf(stderr, "fuzz: %s\n", rule);
  abort();
}

static void write_and_read(tn_tuning *t, tn_diag *diag) {
  char path[] = "/tmp/fuzz_tuning_XXXXXX";
  tn_tuning *again = NULL;
  const int fd = mkstemp(path);
  require(fd >= 0 && !tn_tuning_create(tn_default_allocator(), &again), "there is room");
  close(fd);
  require(!tn_tuning_write(t, path, diag), "what was read can be written");
  require(!tn_tuning_read(again, path, diag), "what was written can be read");
  require(tn_tuning_n(again) == tn_tuning_n(t), "nothing is lost");
  unlink(path);
  tn_tuning_destroy(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  tn_tuning *t = NULL;
  tn_diag *diag = tn_diag_create();
  require(diag && !tn_tuning_create(tn_default_allocator(), &t), "there is memory");
  const tn_status status = tn_tuning_parse(t, "input", data, size, diag);
  require(!status == !tn_diag_count(diag), "what is refused is refused with a message");
  require(!status || !tn_tuning_n(t), "nothing is taken of what is refused");
  if (tn_tuning_n(t)) write_and_read(t, diag);
  tn_tuning_destroy(t);
  tn_diag_destroy(diag);
  return 0;
}
