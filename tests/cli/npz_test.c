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
    {"only_ending", ".npy;", NULL},
    {"same_names", "", "the archive has two members 'x.npy'"},
    {"no_name", "", "a member has a name that is none of a file in the archive"},
    {"nul_name", "", "a member has a name that is none of a file in the archive"},
    {"bad_name", "", "a member has a name that is none of a file in the archive"},
    {"long_name", "", "its name is too long"},
    {"other_local_name", "", "the header of member 'x.npy' contradicts the directory"},
    {"wrong_crc", "", "the check sum of member 'x.npy' is wrong"},
    {"wrong_crc_deflated", "", "the check sum of member 'x.npy' is wrong"},
    {"longer", "", "member 'x.npy' is smaller than it says"},
    {"shorter", "", "member 'x.npy' is larger than it says"},
    {"bomb", "", "member 'x.npy' says that it has 4294967280 bytes, packed into 70"},
    {"bomb_comp", "", "member 'x.npy' of 2147483647 bytes leaves the archive"},
    {"overlap", "", "the header of member 'x0.npy' contradicts the directory"},
    {"encrypted", "", "not supported: 'x.npy' is encrypted"},
    {"method", "", "not supported: 'x.npy' is packed by method 12"},
    {"no_npy", "", "readme.txt: not a .npy file that can be read"},
    {"folder", "", "a/: not a .npy file that can be read"},
    {"count", "", "the archive cannot have 9 members"},
    {"comment", "", "the archive has no end record"},
    {"cut", "", "the archive has no end record"},
};

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
    if ((s == TN_OK) == (seeds[k].message != NULL)) fail_msg("%s: status %d: %s", path, s, message);
    if (strcmp(names, seeds[k].names)) fail_msg("%s: read %s: %s", path, names, message);
    if (s && (!strstr(message, path) || !strstr(message, seeds[k].message)))
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
