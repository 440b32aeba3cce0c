/* Files: mapping, atomic replacement, listing and paths, in a temporary folder. */
#include "base/file.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cpu.h"

typedef struct fixture {
  tn_arena arena;
  tn_diag *diag;
  char *dir;
} fixture;

static int setup(void **state) {
  fixture *f = tn_alloc(tn_default_allocator(), sizeof *f);
  const char *base = getenv("TMPDIR");
  tn_arena_init(&f->arena, tn_default_allocator());
  f->diag = tn_diag_create();
  f->dir = tn_arena_format(&f->arena, "%s/tenon-test-XXXXXX", base && *base ? base : "/tmp");
  *state = f;
  return mkdtemp(f->dir) ? 0 : -1;
}

static const char *in_dir(fixture *f, const char *name) {
  return tn_arena_format(&f->arena, "%s/%s", f->dir, name);
}

static int remove_entry(void *self, const char *name, bool is_dir) {
  fixture *f = self;
  const char *path = in_dir(f, name);
  return is_dir ? rmdir(path) : unlink(path);
}

static int teardown(void **state) {
  fixture *f = *state;
  tn_dir_each(f->dir, NULL, remove_entry, f);
  int code = rmdir(f->dir);
  tn_diag_destroy(f->diag);
  tn_arena_clear(&f->arena);
  tn_free(tn_default_allocator(), f, sizeof *f);
  return code;
}

static void put(const char *path, const char *content) {
  tn_file_writer w;
  assert_int_equal(tn_file_writer_open(&w, tn_default_allocator(), path, NULL), TN_OK);
  assert_int_equal(tn_file_writer_write(&w, content, strlen(content), NULL), TN_OK);
  assert_int_equal(w.written, strlen(content));
  assert_int_equal(tn_file_writer_commit(&w, NULL), TN_OK);
  tn_file_writer_abort(&w);
}

static void assert_content(const char *path, const char *content) {
  tn_mapping m;
  assert_int_equal(tn_file_map(path, NULL, &m), TN_OK);
  assert_non_null(m.data);
  assert_int_equal(m.size, strlen(content));
  if (m.size) assert_memory_equal(m.data, content, m.size);
  tn_file_unmap(&m);
  assert_null(m.data);
  tn_file_unmap(&m);
}

static int count_entry(void *self, const char *name, bool is_dir) {
  (void)name;
  (void)is_dir;
  ++*(int *)self;
  return 0;
}

static int n_entries(const fixture *f) {
  int n = 0;
  assert_int_equal(tn_dir_each(f->dir, NULL, count_entry, &n), TN_OK);
  return n;
}

static void write_and_map(void **state) {
  fixture *f = *state;
  const char *path = in_dir(f, "x");
  put(path, "hello");
  assert_content(path, "hello");
  put(path, "");
  assert_content(path, "");
  put(path, "replaced");
  assert_content(path, "replaced");
  assert_int_equal(n_entries(f), 1); /* nothing temporary stays */
}

static void links_and_pipes_stay(void **state) {
  fixture *f = *state;
  const char *path = in_dir(f, "x"), *to = in_dir(f, "link"), *pipe = in_dir(f, "pipe");
  struct stat info;
  put(path, "old");
  assert_int_equal(chmod(path, 0640), 0);
  assert_int_equal(symlink("x", to), 0);
  put(to, "new");
  assert_content(path, "new");
  assert_int_equal(lstat(to, &info), 0);
  assert_true(S_ISLNK(info.st_mode));
  assert_int_equal(stat(path, &info), 0);
  assert_int_equal(info.st_mode & 0777, 0640);
  assert_int_equal(mkfifo(pipe, 0600), 0);
  const int fd = open(pipe, O_RDWR);
  char buf[8] = "";
  put(pipe, "bytes");
  assert_int_equal(read(fd, buf, sizeof buf), 5);
  assert_string_equal(buf, "bytes");
  close(fd);
  assert_int_equal(lstat(pipe, &info), 0);
  assert_true(S_ISFIFO(info.st_mode));
  assert_int_equal(n_entries(f), 3);
}

static void abort_keeps_the_old(void **state) {
  fixture *f = *state;
  const char *path = in_dir(f, "x");
  tn_file_writer w;
  put(path, "old");
  assert_int_equal(tn_file_writer_open(&w, tn_default_allocator(), path, NULL), TN_OK);
  assert_int_equal(tn_file_writer_write(&w, "new", 3, NULL), TN_OK);
  assert_content(path, "old");
  tn_file_writer_abort(&w);
  tn_file_writer_abort(&w);
  assert_content(path, "old");
  assert_int_equal(n_entries(f), 1);
  assert_int_equal(tn_file_writer_write(&w, "x", 1, f->diag), TN_ERR_STATE);
  assert_int_equal(tn_file_writer_commit(&w, f->diag), TN_ERR_STATE);
}

static void writer_errors(void **state) {
  fixture *f = *state;
  tn_file_writer w;
  const char *nowhere = in_dir(f, "no/such/file");
  assert_int_equal(tn_file_writer_open(&w, tn_default_allocator(), nowhere, f->diag),
                   TN_ERR_NOT_FOUND);
  assert_non_null(strstr(tn_diag_text(f->diag), nowhere));
  assert_non_null(strstr(tn_diag_text(f->diag), "No such file or directory"));
  tn_file_writer_abort(&w);
  /* The target is a folder: renaming fails, and the temporary file goes away. */
  const char *folder = in_dir(f, "folder");
  assert_int_equal(mkdir(folder, 0700), 0);
  assert_int_equal(tn_file_writer_open(&w, tn_default_allocator(), folder, NULL), TN_OK);
  assert_int_equal(tn_file_writer_commit(&w, f->diag), TN_ERR_IO);
  assert_int_equal(n_entries(f), 1);
}

static tn_status put_both(const char *first, const char *second, tn_diag *diag) {
  tn_file_writer a, b;
  assert_int_equal(tn_file_writer_open(&a, tn_default_allocator(), first, diag), TN_OK);
  assert_int_equal(tn_file_writer_open(&b, tn_default_allocator(), second, diag), TN_OK);
  assert_int_equal(tn_file_writer_write(&a, "new 1", 5, diag), TN_OK);
  assert_int_equal(tn_file_writer_write(&b, "new 2", 5, diag), TN_OK);
  const tn_status status = tn_file_writer_commit_both(&a, &b, diag);
  tn_file_writer_abort(&a);
  tn_file_writer_abort(&b);
  return status;
}

static void both_or_neither(void **state) {
  fixture *f = *state;
  char first[200], second[200], folder[200];
  snprintf(first, sizeof first, "%s", in_dir(f, "first"));
  snprintf(second, sizeof second, "%s", in_dir(f, "second"));
  snprintf(folder, sizeof folder, "%s", in_dir(f, "folder"));
  assert_int_equal(mkdir(folder, 0700), 0);
  /* neither is there, the second cannot be */
  assert_int_equal(put_both(first, folder, f->diag), TN_ERR_IO);
  assert_int_equal(n_entries(f), 1);
  assert_int_equal(put_both(folder, second, f->diag), TN_ERR_IO);
  assert_non_null(strstr(tn_diag_text(f->diag), "folder: it is a folder"));
  assert_int_equal(n_entries(f), 1);
  assert_int_equal(put_both(first, second, f->diag), TN_OK);
  assert_content(first, "new 1");
  assert_content(second, "new 2");
  put(first, "old 1");
  put(second, "old 2");
  assert_int_equal(put_both(first, folder, f->diag), TN_ERR_IO);
  assert_content(first, "old 1"); /* was replaced, and came back */
  assert_int_equal(n_entries(f), 3);
  assert_int_equal(put_both(first, second, f->diag), TN_OK);
  assert_content(first, "new 1");
  assert_content(second, "new 2");
  assert_int_equal(n_entries(f), 3);
}

static void map_errors(void **state) {
  fixture *f = *state;
  tn_mapping m;
  assert_int_equal(tn_file_map(in_dir(f, "missing"), f->diag, &m), TN_ERR_NOT_FOUND);
  assert_null(m.data);
  assert_non_null(strstr(tn_diag_text(f->diag), "missing: No such file or directory"));
  assert_int_equal(tn_file_map(f->dir, f->diag, &m), TN_ERR_INVALID);
  const char *fifo = in_dir(f, "fifo");
  assert_int_equal(mkfifo(fifo, 0600), 0);
  assert_int_equal(tn_file_map(fifo, f->diag, &m), TN_ERR_INVALID);
}

static int list_entry(void *self, const char *name, bool is_dir) {
  char *text = self;
  strcat(text, name);
  strcat(text, is_dir ? "/ " : " ");
  return !strcmp(name, "c");
}

static void folders(void **state) {
  fixture *f = *state;
  char text[100] = "";
  put(in_dir(f, "c"), "");
  put(in_dir(f, "a"), "");
  put(in_dir(f, "d"), "");
  assert_int_equal(mkdir(in_dir(f, "b"), 0700), 0);
  assert_int_equal(tn_dir_each(f->dir, NULL, list_entry, text), TN_OK);
  assert_string_equal(text, "a b/ c ");
  assert_int_equal(tn_dir_each(in_dir(f, "missing"), f->diag, list_entry, text), TN_ERR_NOT_FOUND);
  assert_int_equal(tn_dir_each(in_dir(f, "a"), f->diag, list_entry, text), TN_ERR_NOT_FOUND);
}

static void paths(void **state) {
  fixture *f = *state;
  char *path = NULL;
  static const char *const bad[] = {"",      "/x",  "..",  "../x",  "a/..",   "a/../b",
                                    "a\\..", "\\x", "C:x", "c:\\x", "x/..\\y"};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    assert_int_equal(tn_path_join_inside(&f->arena, "dir", bad[i], &path), TN_ERR_INVALID);
    assert_null(path);
  }
  assert_int_equal(tn_path_join_inside(&f->arena, "dir", "a/..b/c", &path), TN_OK);
  assert_string_equal(path, "dir/a/..b/c");
  assert_int_equal(tn_path_join_inside(&f->arena, "/d", "./x", &path), TN_OK);
  assert_string_equal(path, "/d/./x");
  assert_string_equal(tn_path_dir(&f->arena, "x"), ".");
  assert_string_equal(tn_path_dir(&f->arena, ""), ".");
  assert_string_equal(tn_path_dir(&f->arena, "a/b/c"), "a/b");
  assert_string_equal(tn_path_dir(&f->arena, "a//c"), "a");
  assert_string_equal(tn_path_dir(&f->arena, "/c"), "/");
  assert_string_equal(tn_path_dir(&f->arena, "//c"), "/");
}

static void machine(void **state) {
  (void)state;
  char text[200], tiny[8];
  assert_true(tn_cpu_cores() >= 1);
  uint64_t isa = tn_cpu_isa(), now = tn_now_ns();
  /* Every set implies the smaller ones that its kernels also use. */
  if (isa & TN_ISA_AVX512) assert_true(isa & TN_ISA_AVX2);
  if (isa & TN_ISA_AVX2) assert_true(isa & TN_ISA_AVX);
  if (isa & (TN_ISA_AVX512_VNNI | TN_ISA_AVX512_BF16)) assert_true(isa & TN_ISA_AVX512);
  assert_true(tn_now_ns() >= now);
  assert_string_equal(tn_isa_text(0, text, sizeof text), "");
  assert_string_equal(tn_isa_text(TN_ISA_AVX2 | TN_ISA_AVX512 | TN_ISA_RVV, text, sizeof text),
                      "avx2 avx512 rvv");
  assert_string_equal(tn_isa_text(TN_ISA_AVX2 | TN_ISA_AVX512, tiny, sizeof tiny), "avx2 av");
}

#define FILE_TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void) {
  const struct CMUnitTest tests[] = {
      FILE_TEST(write_and_map),
      FILE_TEST(links_and_pipes_stay),
      FILE_TEST(abort_keeps_the_old),
      FILE_TEST(writer_errors),
      FILE_TEST(both_or_neither),
      FILE_TEST(map_errors),
      FILE_TEST(folders),
      FILE_TEST(paths),
      cmocka_unit_test(machine),
  };
  return cmocka_run_group_tests_name("base_file", tests, NULL, NULL);
}
