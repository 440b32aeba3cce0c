/* Damaged TorchScript archives, and what is said of them and of programs that are none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "damage.h"

extern const tn_format torchscript_format;

static const char *const files[] = {"tests/fuzz/corpus/torchscript/BufferSlices",
                                    "tests/data/torchscript/InPlace/model.pt", NULL};
const damage_of damage_subject = {&torchscript_format, files};

static void messages(void **state) {
  (void)state;
  damage_expect((const uint8_t *)"", 0, TN_ERR_INVALID, "the archive has no end record");
  static const char empty[] = "PK\5\6\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";
  damage_expect((const uint8_t *)empty, sizeof empty, TN_ERR_INVALID,
                "the archive has no data.pkl");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(damage_every_truncation),
      cmocka_unit_test(damage_every_flipped_bit),
      cmocka_unit_test(damage_every_wild_number),
      cmocka_unit_test(damage_every_failing_allocation),
      cmocka_unit_test(messages),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
