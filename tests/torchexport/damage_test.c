/* Damaged files of torch.export, and what is said of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "damage.h"

extern const tn_format torchexport_format;

static const char *const files[] = {"tests/data/torchexport/views/model.pt2",
                                    "tests/data/torchexport/old/model.pt2", NULL};
const damage_of damage_subject = {&torchexport_format, files};

static void messages(void **state) {
  (void)state;
  damage_expect((const uint8_t *)"", 0, TN_ERR_INVALID, "the archive has no end record");
  damage_expect((const uint8_t *)"PK\3\4 and no more of it than this", 33, TN_ERR_INVALID,
                "the archive has no end record");
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
