/* Plug-ins in shared libraries: loading, discovery, trust, and files that would kill a careless
 * host. */
#include <dlfcn.h>
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

#include "registry/internal.h"

typedef struct fixture {
  tn_runtime *rt;
  tn_diag *diag;
  char dir[64];   /* fresh, ours alone */
  char path[256]; /* of the file made last */
} fixture;

static tn_runtime *runtime_new(uint32_t flags, tn_diag *diag) {
  tn_runtime_options options = TN_RUNTIME_OPTIONS_INIT;
  tn_runtime *rt;
  options.n_threads = 1;
  options.flags = TN_RUNTIME_NO_BUILTINS | flags;
  if (tn_runtime_create(&options, diag, &rt)) fail_msg("no runtime: %s", tn_diag_text(diag));
  return rt;
}

static int setup(void **state) {
  static fixture f;
  memset(&f, 0, sizeof f);
  strcpy(f.dir, "/tmp/tenon-plugins-XXXXXX");
  assert_non_null(mkdtemp(f.dir));
  unsetenv("TENON_PLUGIN_PATH");
  unsetenv("TENON_TEST_LOG");
  f.diag = tn_diag_create();
  f.rt = runtime_new(TN_RUNTIME_NO_DISCOVERY, f.diag);
  *state = &f;
  return 0;
}

static int teardown(void **state) {
  fixture *f = *state;
  char command[128];
  tn_runtime_destroy(f->rt);
  tn_diag_destroy(f->diag);
  snprintf(command, sizeof command, "rm -r '%s'", f->dir);
  return system(command);
}

/* ---- files ---- */

typedef struct blob {
  uint8_t bytes[1 << 20];
  size_t size;
} blob;

static const blob *read_module(const char *name) {
  static blob b;
  char path[512];
  snprintf(path, sizeof path, TEST_PLUGINS "/%s", name);
  FILE *file = fopen(path, "rb");
  assert_non_null(file);
  b.size = fread(b.bytes, 1, sizeof b.bytes, file);
  fclose(file);
  assert_in_range(b.size, 1000, sizeof b.bytes - 1);
  return &b;
}

/* Makes f->path = dir/name with the first `size` bytes of the blob. Always a new inode: the linker
 * knows files by it. */
static const char *make_file(fixture *f, const char *name, const void *data, size_t size) {
  snprintf(f->path, sizeof f->path, "%s/%s", f->dir, name);
  unlink(f->path);
  FILE *file = fopen(f->path, "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(data, 1, size, file), size);
  fclose(file);
  chmod(f->path, 0644);
  return f->path;
}

static const char *copy_module(fixture *f, const char *module, const char *name) {
  const blob *b = read_module(module);
  return make_file(f, name, b->bytes, b->size);
}

static tn_status load(fixture *f, const char *path) {
  tn_diag_clear(f->diag);
  return tn_runtime_load_plugin(f->rt, path, NULL, 0, f->diag);
}

static void assert_says(fixture *f, const char *text) {
  if (!strstr(tn_diag_text(f->diag), text))
    fail_msg("expected '%s' in: %s", text, tn_diag_text(f->diag));
}

static void assert_warns(fixture *f, const char *text) {
  for (int64_t k = 0; k < tn_diag_count(f->diag); k++)
    if (strstr(tn_diag_message(f->diag, k, NULL), text)) return;
  fail_msg("expected '%s' among %d messages", text, (int)tn_diag_count(f->diag));
}

/* A runtime that looks for plug-ins in these folders. */
static void discover(fixture *f, const char *folders) {
  tn_runtime_destroy(f->rt);
  tn_diag_clear(f->diag);
  setenv("TENON_PLUGIN_PATH", folders, 1);
  f->rt = runtime_new(0, f->diag);
}

static tn_plugin_info info_at(fixture *f, int32_t index) {
  tn_plugin_info info;
  memset(&info, 0, sizeof info);
  info.head = (tn_head)TN_HEAD(tn_plugin_info);
  assert_int_equal(tn_runtime_plugin(f->rt, index, &info), TN_OK);
  return info;
}

static void assert_log(const char *path, const char *expected) {
  char text[256] = "";
  FILE *file = fopen(path, "r");
  assert_non_null(file);
  text[fread(text, 1, sizeof text - 1, file)] = 0;
  fclose(file);
  assert_string_equal(text, expected);
}

/* ---- loading ---- */

static void test_load(void **state) {
  fixture *f = *state;
  char log[128];
  snprintf(log, sizeof log, "%s/log", f->dir);
  setenv("TENON_TEST_LOG", log, 1);
  assert_int_equal(load(f, copy_module(f, "good.so", "good.so")), TN_OK);
  assert_int_equal(tn_diag_count(f->diag), 0);
  const tn_plugin_info info = info_at(f, 0);
  assert_string_equal(info.name, "acme-twice");
  assert_string_equal(info.found_by, "explicit");
  assert_string_equal(info.path, f->path);
  assert_int_equal(tn_runtime_n_ops(f->rt), 1);
  assert_string_equal(tn_runtime_op(f->rt, 0)->doc, "2 * X");
  const tn_kernel *kernel = tn_runtime_kernel(f->rt, 0);
  const float x[4] = {1, -2, 0.5f, 7};
  float y[4] = {0};
  const int64_t shape[] = {4};
  tn_tensor in = tn_tensor_make(TN_F32, 1, shape, (void *)(uintptr_t)x);
  tn_tensor out = tn_tensor_make(TN_F32, 1, shape, y);
  const tn_tensor *const ins[] = {&in};
  tn_tensor *const outs[] = {&out};
  const tn_call call = {
      .head = TN_HEAD(tn_call), .inputs = ins, .outputs = outs, .n_inputs = 1, .n_outputs = 1};
  assert_int_equal(kernel->run(&call, 0, 1, 4, 0), TN_OK);
  assert_true(y[0] == 0 && y[1] == -4 && y[2] == 1 && y[3] == 14);
  assert_log(log, "init\n");
  tn_runtime_destroy(f->rt);
  f->rt = NULL;
  assert_log(log, "init\nshutdown\n");
}

static void test_load_twice_and_in_two_runtimes(void **state) {
  fixture *f = *state;
  const char *path = copy_module(f, "good.so", "good.so");
  assert_int_equal(load(f, path), TN_OK);
  assert_int_equal(load(f, path), TN_ERR_INVALID);
  assert_says(f, "plug-in 'acme-twice', member name: is that of a plug-in in use (explicit: ");
  tn_runtime *second = runtime_new(TN_RUNTIME_NO_DISCOVERY, f->diag);
  assert_int_equal(tn_runtime_load_plugin(second, path, NULL, 0, f->diag), TN_OK);
  tn_runtime_destroy(f->rt); /* the library stays while the second needs it */
  f->rt = second;
  assert_string_equal(tn_runtime_op(second, 0)->name, "Twice");
}

static void test_path_without_folder(void **state) {
  fixture *f = *state;
  char before[512];
  copy_module(f, "good.so", "acme.so");
  assert_non_null(getcwd(before, sizeof before));
  assert_int_equal(chdir(f->dir), 0);
  const tn_status status = load(f, "acme.so");
  assert_int_equal(chdir(before), 0);
  assert_int_equal(status, TN_OK);
  assert_string_equal(info_at(f, 0).path, f->path);
}

static void test_no_file(void **state) {
  fixture *f = *state;
  assert_int_equal(load(f, "/nowhere/x.so"), TN_ERR_NOT_FOUND);
  assert_says(f, "/nowhere/x.so: there is no such file");
  assert_int_equal(load(f, NULL), TN_ERR_INVALID);
  assert_int_equal(load(f, ""), TN_ERR_INVALID);
  assert_true(load(f, f->dir) < 0);
  /* A name alone is a file here, not one that the system finds. */
  assert_int_equal(load(f, "libc.so.6"), TN_ERR_NOT_FOUND);
}

static void test_refused_libraries(void **state) {
  fixture *f = *state;
  assert_int_equal(load(f, TEST_PLUGINS "/no_symbol.so"), TN_ERR_INVALID);
  assert_says(f, "no_symbol.so: is not a plug-in of Tenon: it does not export tn_plugin_query");
  assert_int_equal(load(f, TEST_PLUGINS "/unresolved.so"), TN_ERR_IO);
  assert_says(f, "unresolved.so: cannot be loaded: ");
  assert_says(f, "from_nowhere");
  assert_int_equal(load(f, make_file(f, "text.so", "hello, this is text\n", 20)), TN_ERR_INVALID);
  assert_says(f, "text.so: is not a shared library");
  assert_int_equal(load(f, make_file(f, "empty.so", "", 0)), TN_ERR_INVALID);
  assert_int_equal(tn_runtime_n_plugins(f->rt), 4);
  assert_non_null(strstr(info_at(f, 0).refused, "does not export"));
  assert_string_equal(info_at(f, 0).name, "");
}

static void test_wild_pointers(void **state) {
  fixture *f = *state;
  const char *path = copy_module(f, "wild.so", "wild.so");
  void *library =
      dlopen(path, RTLD_NOW); /* stays mapped, so that it knows how often it was asked */
  assert_non_null(library);
  assert_int_equal(load(f, path), TN_ERR_INVALID);
  assert_says(f, "plug-in 'wild', member version: points to 0xdeadb000, which is not inside");
  assert_int_equal(load(f, path), TN_ERR_INVALID);
  assert_says(f, "plug-in 'wild', op 1, member head: points to 0xdeadb000, which is not inside");
  assert_says(f, "plug-in 'wild', op 0, member domain: points to 0xdeadb000");
  assert_says(f, "plug-in 'wild', op 'Wild' since 1, member schema: points to 0xdeadb000");
  assert_says(f, "plug-in 'wild', op 'Wild' since 1, member infer: is no function");
  assert_int_equal(load(f, path), TN_ERR_INVALID);
  assert_says(f, "plug-in 'wild', kernel 'wild', member run: is no function of a loaded library");
  assert_says(f, "plug-in 'wild', kernel 'wild', member accepts: points to 0xdeadb000");
  assert_int_equal(load(f, path), TN_ERR_INVALID);
  assert_says(f, "wild.so, member head: points to 0xdeadb000, which is not inside");
  dlclose(library);
}

#ifdef TEST_SANITIZED
static void test_sanitized(void **state) {
  fixture *f = *state;
  assert_int_equal(load(f, TEST_PLUGINS "/sanitized.so"), TN_ERR_VERSION);
  assert_says(f, "sanitizer");
}
#endif

/* ---- damaged files ---- */

static void test_truncated(void **state) {
  fixture *f = *state;
  const blob *b = read_module("good.so");
  int refused = 0;
  for (size_t k = 0; k < 64; k++) {
    tn_status status = load(f, make_file(f, "cut.so", b->bytes, b->size * k / 64));
    assert_true(status <= 0);
    refused += status < 0;
    if (status) continue; /* only section headers are missing: the linker needs none */
    tn_runtime_destroy(f->rt);
    f->rt = runtime_new(TN_RUNTIME_NO_DISCOVERY, f->diag);
  }
  assert_in_range(refused, 16, 64);
  load(f, make_file(f, "cut.so", b->bytes, b->size / 2));
  assert_says(f, "cut.so: is cut off: it has ");
}

/* The look at the file before dlopen must itself survive any file. */
static void test_damaged_headers(void **state) {
  fixture *f = *state;
  static blob copy;
  uint32_t random = 12345;
  for (int k = 0; k < 400; k++) {
    copy = *read_module("good.so");
    for (int i = 0; i < 4; i++) {
      random = random * 1664525u + 1013904223u;
      const size_t reach = k % 2 ? 64 : 1024; /* the header, or the segments too */
      copy.bytes[(random >> 8) % reach] = (uint8_t)(random >> 24);
    }
    tn_elf_check("odd.so", copy.bytes, copy.size, f->diag);
  }
}

static void test_other_machine(void **state) {
  fixture *f = *state;
  static blob copy;
  copy = *read_module("good.so");
  copy.bytes[4] ^= 3; /* 32 bits become 64, and the reverse */
  assert_int_equal(load(f, make_file(f, "other.so", copy.bytes, copy.size)), TN_ERR_UNSUPPORTED);
  assert_says(f, "other.so: was made for a machine of another word size or byte order");
}

/* ---- discovery ---- */

static void test_discovery(void **state) {
  fixture *f = *state;
  copy_module(f, "needs_good.so", "a.so"); /* comes first, and needs what the last one brings */
  copy_module(f, "good.so", "z.so");
  make_file(f, "notes.txt", "hello", 5);
  make_file(f, "text.so", "hello", 5);
  discover(f, f->dir);
  assert_int_equal(tn_runtime_n_plugins(f->rt), 3);
  assert_int_equal(tn_runtime_n_kernels(f->rt), 2);
  assert_string_equal(tn_runtime_kernel(f->rt, 0)->name, "twice_f32_fast");
  assert_string_equal(info_at(f, 0).found_by, "TENON_PLUGIN_PATH");
  assert_string_equal(info_at(f, 0).name, "acme-twice-fast"); /* in the place of its first try */
  assert_null(info_at(f, 0).refused);
  assert_int_equal(tn_diag_count(f->diag), 1);
  assert_warns(f, "text.so: is not a shared library");
  int32_t severity = -1;
  tn_diag_message(f->diag, 0, &severity);
  assert_int_equal(severity, TN_DIAG_WARNING);
}

static void test_discovery_without_what_it_needs(void **state) {
  fixture *f = *state;
  copy_module(f, "needs_good.so", "a.so");
  discover(f, f->dir);
  assert_int_equal(tn_runtime_n_plugins(f->rt), 1);
  assert_non_null(strstr(info_at(f, 0).refused, "is 'com.acme::Twice', which neither"));
  assert_warns(f, "is 'com.acme::Twice', which neither");
}

static void test_several_folders(void **state) {
  fixture *f = *state;
  char folders[256];
  copy_module(f, "good.so", "good.so");
  snprintf(folders, sizeof folders, "::/nowhere/at/all:%s:", f->dir);
  discover(f, folders);
  assert_int_equal(tn_runtime_n_ops(f->rt), 1);
  assert_warns(f, "/nowhere/at/all");
}

static void test_never_the_working_folder(void **state) {
  fixture *f = *state;
  char before[512];
  copy_module(f, "good.so", "good.so");
  assert_non_null(getcwd(before, sizeof before));
  assert_int_equal(chdir(f->dir), 0);
  const char *const paths[] = {"", ":", ".", "./", "..:.:"};
  for (size_t k = 0; k < sizeof paths / sizeof *paths; k++) {
    discover(f, paths[k]);
    assert_int_equal(tn_runtime_n_plugins(f->rt), 0);
  }
  assert_int_equal(chdir(before), 0);
  assert_warns(f, "'.' is left out: it is not an absolute path");
}

static void test_written_by_others(void **state) {
  fixture *f = *state;
  const char *path = copy_module(f, "good.so", "good.so");
  chmod(path, 0664);
  discover(f, f->dir);
  assert_int_equal(tn_runtime_n_ops(f->rt), 0);
  assert_string_equal(info_at(f, 0).path, path);
  assert_non_null(strstr(info_at(f, 0).refused, "good.so: is not loaded: the file "));
  assert_int_equal(load(f, path), TN_OK); /* whoever names a file vouches for its group */

  copy_module(f, "good.so", "good.so");
  chmod(f->dir, 0777);
  discover(f, f->dir);
  assert_int_equal(tn_runtime_n_ops(f->rt), 0);
  assert_warns(f, " can be written by others");
  assert_int_equal(load(f, path), TN_ERR_INVALID);
  assert_says(f, "good.so: is not loaded: everybody can write its folder");

  chmod(f->dir, 0700);
  chmod(path, 0646);
  assert_int_equal(load(f, path), TN_ERR_INVALID);
  assert_says(f, "good.so: is not loaded: everybody can write it");
  chmod(path, 0644);
  assert_int_equal(load(f, path), TN_OK);
  assert_null(info_at(f, 0).refused);
  assert_int_equal(tn_runtime_n_plugins(f->rt), 1); /* earlier refusals of the file give way */
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
  const struct CMUnitTest tests[] = {
      TEST(test_load),
      TEST(test_load_twice_and_in_two_runtimes),
      TEST(test_path_without_folder),
      TEST(test_no_file),
      TEST(test_refused_libraries),
      TEST(test_wild_pointers),
#ifdef TEST_SANITIZED
      TEST(test_sanitized),
#endif
      TEST(test_truncated),
      TEST(test_damaged_headers),
      TEST(test_other_machine),
      TEST(test_discovery),
      TEST(test_discovery_without_what_it_needs),
      TEST(test_several_folders),
      TEST(test_never_the_working_folder),
      TEST(test_written_by_others),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
