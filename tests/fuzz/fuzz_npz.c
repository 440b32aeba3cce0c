/* Fuzzing the reader of .npz: arbitrary bytes. Of what is read, every array must be whole and its
 * name text, and all together no more than the archive can hold. */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "tenon/kit/dtype.h"
#include "tenon/kit/tensor.h"
#include "values.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct seen {
  uint64_t bytes, most;
  tn_tensor expected; /* of the member that comes now */
  int n;
} seen;

static void require(bool ok, const char *rule) {
  if (ok) return;
  fprintf(stderr, "fuzz: %s\n", rule);
  abort();
}

static tn_status look(void *self, const char *name, const tn_tensor *t, bool *out_wanted) {
  seen *s = self;
  require(!t->data && strlen(name) < CLI_NAME_MAX && *out_wanted, "a type comes first");
  s->expected = *t;
  return TN_OK;
}

static tn_status take(void *self, const char *name, const tn_tensor *t) {
  seen *s = self;
  int64_t bytes = tn_tensor_bytes(t);
  require(t->dtype == s->expected.dtype && tn_same_shape(t, &s->expected), "and does not change");
  require(t->data && bytes >= 0 && t->rank <= TN_MAX_RANK, "what is read is whole");
  require(strlen(name) < CLI_NAME_MAX && tn_utf8_valid(name, (int64_t)strlen(name)),
          "names are text that fits");
  volatile uint8_t sum = 0; /* all bytes can be read */
  for (int64_t k = 0; k < bytes; k++) sum = (uint8_t)(sum + ((const uint8_t *)t->data)[k]);
  s->bytes += t->dtype == TN_STRING ? 0 : (uint64_t)bytes;
  require(s->bytes <= s->most, "an archive holds what it can hold");
  /* A caller may stop at any member. */
  return s->n++ < 20 ? TN_OK : TN_ERR_CANCELLED;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  tn_arena arena;
  seen s = {.most = (uint64_t)size * 1100};
  tn_diag *diag = tn_diag_create();
  tn_arena_init(&arena, tn_default_allocator());
  const cli_npz_visitor visitor = {&s, look, take};
  tn_status status = cli_npz_parse("fuzz", data, size, &arena, diag, &visitor);
  bool stopped = s.n > 20;
  require(stopped || (status == TN_OK) == (tn_diag_count(diag) == 0),
          "a failure, and only that, has a message");
  tn_arena_clear(&arena);
  tn_diag_destroy(diag);
  return 0;
}
