/* Damaged Caffe files, and what is said of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "damage.h"

extern const tn_format caffe_format;

static const char *const files[] = {"tests/fuzz/corpus/caffe/whole.caffemodel",
                                    "tests/fuzz/corpus/caffe/layers.prototxt", NULL};
const damage_of damage_subject = {&caffe_format, files};

static void messages(void **state) {
  (void)state;
  damage_expect((const uint8_t *)"", 0, TN_ERR_INVALID, "the file is empty");
  damage_expect((const uint8_t *)"\x0a\x09", 2, TN_ERR_INVALID,
                "field 1 of NetParameter is longer than what it stands in, at byte 0");
  static const char text[] = "layer {\n name: \"a }\n";
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
