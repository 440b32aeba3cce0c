/* .npz: the fuzzer's seeds as they should be read or refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "values.h"

/* Of the names of members, one text. */
static tn_status take(void *self, const char *name, const tn_tensor *t) {
  char *all = self;
  (void)t;
  snprintf(all + strlen(all), 200 - strlen(all), "%s;", name);
  return TN_OK;
}

/* The names of the members that were read before the failure, and its message. */
static const struct {
  const char *seed, *names, *message;
} seeds[] = {
    {"stored", "x;y;", NULL},
    {"deflated", "x;y;", NULL},
    {"zeros", "x;", NULL},
    {"empty", "", NULL},
    {"zip64", "x;", NULL},
    {"text", "s;", NULL},
    {"same_names", "x;x;", NULL},
    {"no_name", ";", NULL},
    {"only_ending", ".npy;", NULL},
    {"nul_name", "a b;", NULL},
    {"other_local_name", "x;", NULL},
    {"comment", "x;", NULL},
    {"wrong_crc", "", "member 'x.npy': CRC error"},
    {"wrong_crc_deflated", "", "member 'x.npy': CRC error"},
    {"longer", "", "member 'x.npy': it unpacks to another size than it says"},
    {"shorter", "", "member 'x.npy': it unpacks to another size than it says"},
    {"bomb", "", "member 'x.npy': its size cannot be right"},
    {"bomb_comp", "", "member 'x.npy': it is larger than the file"},
    {"overlap", "x;x0;", "member 'x1.npy': it is larger than the file"},
    {"encrypted", "", "member 'x.npy': it is encrypted"},
    {"method", "", "member 'x.npy': it is neither stored nor deflated"},
    {"no_npy", "", "readme.txt: not a .npy file that can be read"},
    {"folder", "", "a/: not a .npy file that can be read"},
    {"long_name", "", "its name is too long"},
    {"bad_name", "", "cannot open"},
    {"count", "", "cannot open"},
    {"cut", "", "cannot open"},
};

/* Without libzip the library's own reader is used, which takes less, and says it in other words. */
static bool is_taken(size_t k) {
  static const char *const refused[] = {"same_names", "no_name", "nul_name", "other_local_name",
                                        "comment"};
  bool is = !seeds[k].message;
  for (size_t i = 0; !TENON_LIBZIP && i < sizeof refused / sizeof *refused; i++)
    is = is && strcmp(seeds[k].seed, refused[i]);
  return is;
}

static void test_seeds(void **state) {
  (void)state;
  for (size_t k = 0; k < sizeof seeds / sizeof *seeds; k++) {
    char path[200], names[200] = "";
    tn_arena arena;
    tn_diag *diag = tn_diag_create();
    tn_arena_init(&arena, tn_default_allocator());
    snprintf(path, sizeof path, "tests/fuzz/corpus/npz/%s.npz", seeds[k].seed);
    tn_status s = cli_npz_each(path, &arena, diag, &(cli_npz_visitor){names, NULL, take});
    const char *message = tn_diag_text(diag);
    if ((s == TN_OK) != is_taken(k)) fail_msg("%s: status %d: %s", path, s, message);
    if ((TENON_LIBZIP || !s) && strcmp(names, seeds[k].names))
      fail_msg("%s: read %s: %s", path, names, message);
    if (s && !strstr(message, path)) fail_msg("%s: says %s", path, message);
    if (TENON_LIBZIP && s && !strstr(message, seeds[k].message))
      fail_msg("%s: says %s", path, message);
    tn_arena_clear(&arena);
    tn_diag_destroy(diag);
  }
}

/* What its type says is not wanted is not unpacked. */
static tn_status refuse(void *self, const char *name, const tn_tensor *t, bool *out_wanted) {
  int *n_seen = self;
  assert_string_equal(name, "x");
  assert_null(t->data);
  assert_int_equal(t->dtype, TN_F32);
  ++*n_seen;
  *out_wanted = false;
  return TN_OK;
}

static tn_status never(void *self, const char *name, const tn_tensor *t) {
  (void)self, (void)t;
  fail_msg("%s was unpacked", name);
  return TN_OK;
}

static void test_types_come_first(void **state) {
  (void)state;
  int n_seen = 0;
  tn_arena arena;
  tn_arena_init(&arena, tn_default_allocator());
  const cli_npz_visitor visitor = {&n_seen, refuse, never};
  assert_int_equal(cli_npz_each("tests/data/x.npz", &arena, NULL, &visitor), TN_OK);
  assert_int_equal(n_seen, 1);
  tn_arena_clear(&arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_seeds),
                                     cmocka_unit_test(test_types_come_first)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
