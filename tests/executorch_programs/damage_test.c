/* Damaged programs of ExecuTorch, and what is said of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "damage.h"

extern const tn_format executorch_format;

static const char *const files[] = {
    "tests/data/executorch/linear/model.pte",  "tests/data/executorch/state/model.pte",
    "tests/data/executorch/cond/model.pte",    "tests/data/executorch/flat/model.pte",
    "tests/data/executorch/xnnpack/model.pte", NULL};
const damage_of damage_subject = {&executorch_format, files};

static void messages(void **state) {
  (void)state;
  damage_expect((const uint8_t *)"", 0, TN_ERR_INVALID, "no room");
  damage_expect((const uint8_t *)"\x20\0\0\0ET12", 8, TN_ERR_INVALID,
                "Program: stands outside the file, at byte 32");
  static const uint8_t empty[] = {12, 0, 0, 0, 'E', 'T', '1', '2', 4, 0, 4, 0, 4, 0, 0, 0};
  damage_expect(empty, sizeof empty, TN_ERR_INVALID, "the program has no method, at byte 12");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(damage_every_truncation),
      cmocka_unit_test(damage_every_flipped_bit),
      cmocka_unit_test(damage_every_failing_allocation),
      cmocka_unit_test(messages),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
