/* Damaged TFLite files, and what is said of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "damage.h"

extern const tn_format tflite_format;

static const char *const files[] = {"tests/data/tflite/net/model.tflite",
                                    "tests/data/tflite/net_int8/model.tflite",
                                    "tests/data/tflite/moves/model.tflite",
                                    "tests/data/tflite/custom/model.tflite",
                                    "tests/data/tflite/control/model.tflite",
                                    "tests/data/tflite/sparse/model.tflite",
                                    NULL};
const damage_of damage_subject = {&tflite_format, files};

static void messages(void **state) {
  (void)state;
  damage_expect((const uint8_t *)"\x20\0\0\0TFL2", 8, TN_ERR_VERSION,
                "schema 2; version 3 is read");
  damage_expect((const uint8_t *)"\x20\0\0\0TFL3", 8, TN_ERR_INVALID,
                "Model: stands outside the file, at byte 32");
  damage_expect((const uint8_t *)"", 0, TN_ERR_INVALID, "no room");
  static const uint8_t empty[] = {12, 0, 0, 0, 'T', 'F', 'L', '3', 4, 0, 4, 0, 4, 0, 0, 0};
  damage_expect(empty, sizeof empty, TN_ERR_VERSION, "of version 0 of the TFLite schema");
}

/* A zero point that its type cannot hold: wherever one may stand, 1000 is put. */
static void zero_points(void **state) {
  (void)state;
  tn_arena arena;
  uint64_t size;
  int n_refused = 0;
  tn_arena_init(&arena, tn_default_allocator());
  uint8_t *data = damage_load(&arena, 1, &size);
  for (uint64_t at = 0; at + 8 <= size; at += 4) {
    static const uint8_t thousand[8] = {0xe8, 3};
    uint8_t kept[8];
    memcpy(kept, data + at, 8);
    memcpy(data + at, thousand, 8);
    n_refused += damage_says(data, size, "has zero point 1000; its type has -128 to 127");
    memcpy(data + at, kept, 8);
  }
  assert_true(n_refused > 0);
  tn_arena_clear(&arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(damage_every_truncation),
      cmocka_unit_test(damage_every_flipped_bit),
      cmocka_unit_test(damage_every_wild_number),
      cmocka_unit_test(damage_every_failing_allocation),
      cmocka_unit_test(messages),
      cmocka_unit_test(zero_points),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
