/* Damaged MNN files, and what is said of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "damage.h"

extern const tn_format mnn_format;

static const char *const files[] = {"tests/data/mnn/net/model.mnn",
                                    "tests/data/mnn/shapes/model.mnn", NULL};
const damage_of damage_subject = {&mnn_format, files};

static void messages(void **state) {
  (void)state;
  damage_expect((const uint8_t *)"", 0, TN_ERR_INVALID, "no room");
  damage_expect((const uint8_t *)"\x20\0\0\0\0\0\0\0", 8, TN_ERR_INVALID,
                "Net: stands outside the file, at byte 32");
  static const uint8_t empty[] = {8, 0, 0, 0, 4, 0, 4, 0, 4, 0, 0, 0};
  damage_expect(empty, sizeof empty, TN_ERR_INVALID, "the network has no operators");
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
