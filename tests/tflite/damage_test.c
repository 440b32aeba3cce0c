/* Damaged TFLite files, and what is said of them. */
#include "damage.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

extern const tn_format tflite_format;

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

const damage_of damage_subject = {
    .format = &tflite_format,
    .files = {"tests/data/tflite/net/model.tflite", "tests/data/tflite/net_int8/model.tflite",
              "tests/data/tflite/moves/model.tflite", "tests/data/tflite/custom/model.tflite",
              "tests/data/tflite/control/model.tflite", "tests/data/tflite/sparse/model.tflite"},
    .wild_numbers = true,
    .more = zero_points,
    .messages = {{DAMAGE_BYTES("\x20\0\0\0TFL2"), TN_ERR_VERSION, "schema 2; version 3 is read"},
                 {DAMAGE_BYTES("\x20\0\0\0TFL3"), TN_ERR_INVALID,
                  "Model: stands outside the file, at byte 32"},
                 {DAMAGE_BYTES(""), TN_ERR_INVALID, "no room"},
                 {DAMAGE_BYTES("\x0c\0\0\0TFL3\4\0\4\0\4\0\0\0"), TN_ERR_VERSION,
                  "of version 0 of the TFLite schema"}},
};
