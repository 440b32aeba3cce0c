/* Forms of programs that are packed: what drivers get, and damaged ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "device/device.h"

/* 4 bytes in a stored block of deflate. */
static const uint8_t packed[] = {4, 0, 0, 0, 0, 0, 0, 0, 1, 4, 0, 0xfb, 0xff, 'v', 'o', 'i', 'd'};

static tn_status view_of(const char *language, const uint8_t *data, uint64_t size,
                         tn_program_view *out, const char **out_problem) {
  static tn_program_form form;
  static const tn_program_form *const forms[] = {&form};
  static const tn_program program = {.head = TN_HEAD(tn_program),
                                     .name = "scale",
                                     .constants = "N:int",
                                     .forms = forms,
                                     .n_forms = 1};
  form = (tn_program_form){TN_HEAD(tn_program_form), language, data, size};
  return tn_program_view_make(tn_default_allocator(), &program, 0, out, out_problem);
}

static void languages_without_their_ending(void **state) {
  (void)state;
  const tn_program_form form = {.language = "ghost-c.deflate"}, plain = {.language = "ghost-c"},
                        odd = {.language = ".deflate"};
  assert_true(tn_program_form_is(&form, "ghost-c", 7));
  assert_false(tn_program_form_is(&form, "ghost-c.deflate", 15));
  assert_false(tn_program_form_is(&form, "ghost", 5));
  assert_true(tn_program_form_is(&plain, "ghost-c,spirv", 7));
  assert_false(tn_program_form_is(&odd, "", 0));
}

static void drivers_get_what_was_packed(void **state) {
  (void)state;
  tn_program_view v;
  const char *problem;
  assert_int_equal(view_of("ghost-c.deflate", packed, sizeof packed, &v, &problem), TN_OK);
  const tn_program_form *f = v.program->forms[v.form];
  assert_string_equal(f->language, "ghost-c");
  assert_int_equal(f->size, 4);
  assert_string_equal(f->data, "void"); /* an end behind it */
  assert_string_equal(v.program->constants, "N:int");
  tn_program_view_free(tn_default_allocator(), &v);
  assert_int_equal(view_of("ghost-c", packed, sizeof packed, &v, &problem), TN_OK);
  assert_ptr_equal(v.program->forms[v.form]->data, packed);
  tn_program_view_free(tn_default_allocator(), &v);
}

static void damaged_forms_are_refused(void **state) {
  (void)state;
  tn_program_view v;
  const char *problem;
  uint8_t bad[sizeof packed];
  for (uint64_t size = 0; size < sizeof packed; size++) {
    assert_int_equal(view_of("ghost-c.deflate", packed, size, &v, &problem), TN_ERR_UNSUPPORTED);
    assert_true(problem && !v.memory);
  }
  for (size_t k = 0; k < 13; k++) { /* its size, the head of the block */
    memcpy(bad, packed, sizeof bad);
    bad[k] ^= 0x46;
    assert_int_equal(view_of("ghost-c.deflate", bad, sizeof bad, &v, &problem), TN_ERR_UNSUPPORTED);
    assert_true(problem && !v.memory);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(languages_without_their_ending),
                                     cmocka_unit_test(drivers_get_what_was_packed),
                                     cmocka_unit_test(damaged_forms_are_refused)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
