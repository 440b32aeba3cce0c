/* Damaged TensorFlow files, and what is said of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "damage.h"

extern const tn_format tensorflow_format;

static const char *const files[] = {"tests/data/tensorflow/net/model.pb",
                                    "tests/data/tensorflow/moves/model.pb",
                                    "tests/data/tensorflow/control/model.pb", NULL};
const damage_of damage_subject = {&tensorflow_format, files};

static void messages(void **state) {
  (void)state;
  damage_expect((const uint8_t *)"", 0, TN_ERR_INVALID, "the file is empty");
  damage_expect((const uint8_t *)"\x0a\x09", 2, TN_ERR_INVALID,
                "field 1 of GraphDef is longer than what it stands in, at byte 0");
  static const char twice[] = "\x0a\x06\x0a\x01x\x12\x01y\x0a\x06\x0a\x01x\x12\x01y";
  damage_expect((const uint8_t *)twice, sizeof twice - 1, TN_ERR_INVALID,
                "two nodes are called 'x'");
  static const char circle[] =
      "\x0a\x09\x0a\x01x\x12\x01y\x1a\x01z\x0a\x09\x0a\x01z\x12\x01y\x1a"
      "\x01x\x0a\x09\x0a\x01o\x12\x01y\x1a\x01x";
  damage_expect((const uint8_t *)circle, sizeof circle - 1, TN_ERR_INVALID,
                "reads, in the end, what it makes itself");
  static const char text[] = "node {\n name: \"a }\n";
  damage_expect((const uint8_t *)text, sizeof text - 1, TN_ERR_INVALID,
                ":2:8: the string has no end");
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
