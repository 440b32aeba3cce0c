/* Which paths can be trusted: files, the folders above them, links on the way, and who owns
 * them. */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/trust.h"

static char dir[64];

static const char *in_dir(const char *name) {
  static char paths[8][256];
  static int next;
  char *path = paths[next++ % 8];
  snprintf(path, sizeof paths[0], "%s/%s", dir, name);
  return path;
}

/* Fresh: dir/a/b/p.so, all ours alone. */
static int setup(void **state) {
  (void)state;
  strcpy(dir, "/tmp/tenon-trust-XXXXXX");
  if (!mkdtemp(dir) || mkdir(in_dir("a"), 0755) || mkdir(in_dir("a/b"), 0755)) return 1;
  FILE *file = fopen(in_dir("a/b/p.so"), "w");
  if (!file) return 1;
  fclose(file);
  return chmod(in_dir("a/b/p.so"), 0644) || chmod(in_dir("a"), 0755) || chmod(in_dir("a/b"), 0755);
}

static int teardown(void **state) {
  char command[128];
  (void)state;
  snprintf(command, sizeof command, "rm -rf '%s'", dir);
  return system(command);
}

static void assert_trusted(const char *path) {
  char why[512];
  if (!tn_path_is_trusted(path, why, sizeof why)) fail_msg("%s: %s", path, why);
  assert_string_equal(why, "");
  tn_trusted_folders folders = {.n = 0};
  for (int k = 0; k < 3; k++) /* the second time by what the first has seen */
    assert_true(tn_path_is_trusted_among(path, &folders, why, sizeof why));
}

/* Not trusted: "the <what> <about> <reason>". */
static void assert_not(const char *path, const char *what, const char *about, const char *reason) {
  char why[512], expected[512];
  snprintf(expected, sizeof expected, "the %s %s %s", what, about, reason);
  assert_false(tn_path_is_trusted(path, why, sizeof why));
  assert_string_equal(why, expected);
  tn_trusted_folders folders = {.n = 0};
  for (int k = 0; k < 2; k++) {
    assert_false(tn_path_is_trusted_among(path, &folders, why, sizeof why));
    assert_string_equal(why, expected);
  }
}

static void test_modes(void **state) {
  (void)state;
  const char *path = in_dir("a/b/p.so");
  assert_trusted(path);
  chmod(path, 0664);
  assert_not(path, "file", path, "can be written by others");
  chmod(path, 0646);
  assert_not(path, "file", path, "can be written by others");
  chmod(path, 0600);
  chmod(in_dir("a/b"), 0775);
  assert_not(path, "folder", in_dir("a/b"), "can be written by others");
  chmod(in_dir("a/b"), 0755);
  chmod(in_dir("a"), 0757); /* not the folder of the file: one above it */
  assert_not(path, "folder", in_dir("a"), "can be written by others");
  chmod(in_dir("a"), 0755);
  assert_trusted(path);
}

/* /tmp above is such a folder; directly above the file it is not enough. */
static void test_sticky(void **state) {
  (void)state;
  chmod(in_dir("a"), 01777);
  assert_trusted(in_dir("a/b/p.so"));
  assert_trusted(in_dir("a/b/"));
  assert_not(in_dir("a/"), "folder", in_dir("a"), "can be written by others");
  chmod(in_dir("a/b"), 01777);
  assert_not(in_dir("a/b/p.so"), "folder", in_dir("a/b"), "can be written by others");
}

static void test_links(void **state) {
  (void)state;
  assert_int_equal(symlink("a/b/p.so", in_dir("near.so")), 0);
  assert_int_equal(symlink(in_dir("a"), in_dir("far")), 0);
  assert_int_equal(symlink("../a/b/../b", in_dir("a/up")), 0);
  assert_trusted(in_dir("near.so"));
  assert_trusted(in_dir("far/b/p.so"));
  assert_trusted(in_dir("a/up/p.so"));
  assert_trusted(in_dir("far/up/./p.so"));
  chmod(in_dir("a"), 0777); /* the way leads through it, though none of the names shows it */
  assert_not(in_dir("near.so"), "folder", in_dir("a"), "can be written by others");
  assert_not(in_dir("far/b/p.so"), "folder", in_dir("a"), "can be written by others");
  chmod(in_dir("a"), 0755);
  assert_int_equal(symlink("loop", in_dir("loop")), 0);
  assert_not(in_dir("loop"), "link", in_dir("loop"), "is one of too many");
  assert_int_equal(symlink("nowhere", in_dir("dangling")), 0);
  assert_not(in_dir("dangling"), "file", in_dir("nowhere"), "cannot be examined");
}

static void test_kinds(void **state) {
  (void)state;
  char path[PATH_MAX + 8];
  assert_not("a/p.so", "path", "a/p.so", "is not absolute");
  assert_not("", "path", "/", "is not absolute");
  assert_not(in_dir("missing"), "file", in_dir("missing"), "cannot be examined");
  assert_not(in_dir("a"), "file", in_dir("a"), "is a folder");
  assert_not(in_dir("a/b/p.so/x"), "file", in_dir("a/b/p.so"), "is no folder");
  assert_int_equal(mkfifo(in_dir("fifo"), 0600), 0);
  assert_not(in_dir("fifo"), "file", in_dir("fifo"), "is no regular file");
  memset(path, 'x', sizeof path);
  path[0] = '/';
  path[sizeof path - 1] = 0;
  assert_not(path, "path", "/", "is too long");
}

static void test_owners(void **state) {
  (void)state;
  if (geteuid() != 0) skip(); /* only root can give files away */
  const char *path = in_dir("a/b/p.so");
  assert_int_equal(chown(path, 12345, 12345), 0);
  assert_not(path, "file", path, "belongs to another user");
  assert_int_equal(chown(path, 0, 12345), 0);
  assert_int_equal(chown(in_dir("a"), 12345, 0), 0);
  assert_not(path, "folder", in_dir("a"), "belongs to another user");
  assert_int_equal(chown(in_dir("a"), 0, 0), 0);
  assert_int_equal(symlink("a/b/p.so", in_dir("l.so")), 0);
  assert_int_equal(lchown(in_dir("l.so"), 12345, 12345), 0);
  assert_not(in_dir("l.so"), "link", in_dir("l.so"), "belongs to another user");
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
  const struct CMUnitTest tests[] = {TEST(test_modes), TEST(test_sticky), TEST(test_links),
                                     TEST(test_kinds), TEST(test_owners)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
