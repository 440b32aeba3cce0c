/* Fuzzing what files are told to be: any bytes are of a kind that the table has, or of none, and
 * what they say of themselves can be printed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/identify.h"
#include "base/text.h"
#include "tenon/tenon.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool ok, const char *rule) {
  if (ok) return;
  fprintf(stderr, "fuzz: %s\n", rule);
  abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char detail[TN_FILE_DETAIL], text[512], tame[TN_FILE_DETAIL];
  const tn_file_kind *kind = tn_file_identify(data, size, detail);
  const size_t n = strlen(detail);
  require(kind || !n, "details are of a kind");
  require(!kind || tn_file_kind_named(kind->name), "the kind is in the table");
  memcpy(tame, detail, n + 1);
  tn_text_tame(tame, (int64_t)n);
  require(!strcmp(tame, detail), "details can be printed");
  const uint64_t length = tn_identify(data, size, NULL, text, sizeof text);
  require(!length == !kind, "a kind, and only that, has a line");
  require(length < sizeof text, "lines are short");
  return 0;
}
