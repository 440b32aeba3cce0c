/* Folders of what costs much to make: where they are, what is found again, and what is deleted. */
#include <fcntl.h>
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

#include "base/cache_folder.h"

static char dir[64];

static int setup(void **state) {
  (void)state;
  strcpy(dir, "/tmp/tenon-cache-XXXXXX");
  return mkdtemp(dir) == NULL;
}

static int teardown(void **state) {
  char command[128];
  (void)state;
  snprintf(command, sizeof command, "rm -rf '%s'", dir);
  return system(command);
}

static const char *path_of(const char *file) {
  static char path[256];
  snprintf(path, sizeof path, "%s/%s", dir, file);
  return path;
}

/* A file of so many MiB, without blocks, used so many seconds after 1970. */
static void make(const char *file, int mib, int used) {
  const struct timespec times[] = {{used, 0}, {used, 0}};
  const int fd = open(path_of(file), O_CREAT | O_WRONLY, 0600);
  assert_true(fd >= 0);
  assert_int_equal(ftruncate(fd, (off_t)mib << 20), 0);
  assert_int_equal(futimens(fd, times), 0);
  close(fd);
}

static bool is_there(const char *file) { return !access(path_of(file), F_OK); }

static void keep(const char *file, const char *data) {
  const tn_cache_part parts[] = {{data, 1}, {data + 1, strlen(data + 1)}};
  tn_cache_keep(tn_default_allocator(), dir, file, parts, 2);
}

static void test_found_again(void **state) {
  (void)state;
  tn_mapping m;
  assert_int_equal(tn_cache_find(dir, "00ff.program", NULL, &m), TN_ERR_NOT_FOUND);
  keep("00ff.program", "words");
  assert_int_equal(tn_cache_find(dir, "00ff.program", NULL, &m), TN_OK);
  assert_int_equal(m.size, 5);
  assert_memory_equal(m.data, "words", 5);
  tn_file_unmap(&m);
  tn_cache_drop(dir, "00ff.program");
  assert_false(is_there("00ff.program"));
}

/* Up to 1 GiB of one kind; nothing else is counted, or deleted. */
static void test_room(void **state) {
  (void)state;
  make("thesis.odt", 2000, 1);
  make("0001.module", 2000, 2);
  make("0002.program", 600, 4);
  make("0003.program", 500, 3);
  make("0004.program.5.tmp", 10, 5); /* of a writer that was ended */
  keep("0005.program", "words");
  assert_true(is_there("0005.program"));
  assert_false(is_there("0003.program"));
  assert_true(is_there("0002.program"));
  assert_true(is_there("0004.program.5.tmp"));
  make("0006.program", 1020, 6);
  keep("0007.program", "words");
  assert_false(is_there("0002.program") || is_there("0004.program.5.tmp"));
  assert_true(is_there("0006.program") && is_there("0007.program"));
  assert_true(is_there("thesis.odt") && is_there("0001.module"));
}

static void test_not_ours(void **state) {
  (void)state;
  tn_mapping m;
  keep("0001.program", "words");
  assert_int_equal(chmod(dir, 0777), 0);
  assert_int_equal(tn_cache_find(dir, "0001.program", NULL, &m), TN_ERR_NOT_FOUND);
  keep("0002.program", "words");
  assert_false(is_there("0002.program"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_found_again, setup, teardown),
      cmocka_unit_test_setup_teardown(test_room, setup, teardown),
      cmocka_unit_test_setup_teardown(test_not_ours, setup, teardown)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
