/* Plug-ins in shared libraries: loading, discovery, trust, and files that would kill a careless
 * host. */
#include "kit.h"
#include "registry/internal.h"

typedef struct fixture {
  tn_runtime *rt;
  tn_diag *diag;
} fixture;

static tn_runtime *runtime_new(uint32_t flags, tn_diag *diag) {
  const tn_runtime_options options = kit_options(TN_RUNTIME_NO_BUILTINS | flags);
  return kit_runtime(&options, diag);
}

static int setup(void **state) {
  static fixture f;
  assert_int_equal(kit_open(state), 0);
  f.diag = tn_diag_create();
  f.rt = runtime_new(TN_RUNTIME_NO_DISCOVERY, f.diag);
  *state = &f;
  return 0;
}

static int teardown(void **state) {
  fixture *f = *state;
  tn_runtime_destroy(f->rt);
  tn_diag_destroy(f->diag);
  return kit_close(state);
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

/* A file with these bytes. Always a new inode: the linker knows files by it. */
static const char *make_file(const char *name, const void *data, size_t size) {
  const char *path = kit_path(name);
  unlink(path);
  FILE *file = fopen(path, "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(data, 1, size, file), size);
  fclose(file);
  chmod(path, 0644);
  return path;
}

static tn_status load(fixture *f, const char *path) {
  tn_diag_clear(f->diag);
  return tn_runtime_load_plugin(f->rt, path, NULL, 0, f->diag);
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

/* ---- loading ---- */

static void test_load(void **state) {
  fixture *f = *state;
  const char *log = kit_path("log"), *path = kit_module("good.so", "good.so");
  setenv("TENON_TEST_LOG", log, 1);
  assert_int_equal(load(f, path), TN_OK);
  assert_int_equal(tn_diag_count(f->diag), 0);
  const tn_plugin_info info = kit_info(f->rt, 0);
  assert_string_equal(info.name, "acme-twice");
  assert_string_equal(info.found_by, "explicit");
  assert_string_equal(info.path, path);
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
  assert_string_equal(kit_read(log), "init\n");
  tn_runtime_destroy(f->rt);
  f->rt = NULL;
  assert_string_equal(kit_read(log), "init\nshutdown\n");
}

static void test_load_twice_and_in_two_runtimes(void **state) {
  fixture *f = *state;
  const char *path = kit_module("good.so", "good.so");
  assert_int_equal(load(f, path), TN_OK);
  assert_int_equal(load(f, path), TN_ERR_INVALID);
  kit_says(f->diag, "plug-in 'acme-twice', member name: is that of a plug-in in use (explicit: ");
  tn_runtime *second = runtime_new(TN_RUNTIME_NO_DISCOVERY, f->diag);
  assert_int_equal(tn_runtime_load_plugin(second, path, NULL, 0, f->diag), TN_OK);
  tn_runtime_destroy(f->rt); /* the library stays while the second needs it */
  f->rt = second;
  assert_string_equal(tn_runtime_op(second, 0)->name, "Twice");
}

static void test_path_without_folder(void **state) {
  fixture *f = *state;
  char before[512];
  const char *path = kit_module("good.so", "acme.so");
  assert_non_null(getcwd(before, sizeof before));
  assert_int_equal(chdir(kit_dir), 0);
  const tn_status status = load(f, "acme.so");
  assert_int_equal(chdir(before), 0);
  assert_int_equal(status, TN_OK);
  assert_string_equal(kit_info(f->rt, 0).path, path);
}

static void test_no_file(void **state) {
  fixture *f = *state;
  assert_int_equal(load(f, "/nowhere/x.so"), TN_ERR_NOT_FOUND);
  kit_says(f->diag, "/nowhere/x.so: there is no such file");
  assert_int_equal(load(f, NULL), TN_ERR_INVALID);
  assert_int_equal(load(f, ""), TN_ERR_INVALID);
  assert_true(load(f, kit_dir) < 0);
  /* A name alone is a file here, not one that the system finds. */
  assert_int_equal(load(f, "libc.so.6"), TN_ERR_NOT_FOUND);
}

static void test_refused_libraries(void **state) {
  fixture *f = *state;
  assert_int_equal(load(f, make_file("text.so", "hello, this is text\n", 20)), TN_ERR_INVALID);
  kit_says(f->diag, "text.so: is not a shared library");
  assert_int_equal(load(f, make_file("empty.so", "", 0)), TN_ERR_INVALID);
  assert_int_equal(tn_runtime_n_plugins(f->rt), 2);
  assert_non_null(strstr(kit_info(f->rt, 0).refused, "is not a shared library"));
  assert_string_equal(kit_info(f->rt, 0).name, "");
}

#ifdef TEST_SANITIZED
static void test_sanitized(void **state) {
  fixture *f = *state;
  assert_int_equal(load(f, TEST_PLUGINS "/sanitized.so"), TN_ERR_VERSION);
  kit_says(f->diag, "sanitizer");
}
#endif

/* ---- damaged files ---- */

static void test_truncated(void **state) {
  fixture *f = *state;
  const blob *b = read_module("good.so");
  int refused = 0;
  for (size_t k = 0; k < 64; k++) {
    tn_status status = load(f, make_file("cut.so", b->bytes, b->size * k / 64));
    assert_true(status <= 0);
    refused += status < 0;
    if (status) continue; /* only section headers are missing: the linker needs none */
    tn_runtime_destroy(f->rt);
    f->rt = runtime_new(TN_RUNTIME_NO_DISCOVERY, f->diag);
  }
  assert_in_range(refused, 16, 64);
  load(f, make_file("cut.so", b->bytes, b->size / 2));
  kit_says(f->diag, "cut.so: is cut off: it has ");
}

/* The look at the file before dlopen must itself survive any file. */
static void test_damaged_headers(void **state) {
  fixture *f = *state;
  static blob copy;
  bool has_keys;
  uint32_t random = 12345;
  for (int k = 0; k < 400; k++) {
    copy = *read_module("good.so");
    for (int i = 0; i < 4; i++) {
      random = random * 1664525u + 1013904223u;
      const size_t reach = k % 2 ? 64 : 1024; /* the header, or the segments too */
      copy.bytes[(random >> 8) % reach] = (uint8_t)(random >> 24);
    }
    tn_elf_check("odd.so", copy.bytes, copy.size, f->diag, &has_keys);
  }
}

/* ---- discovery ---- */

static void test_discovery(void **state) {
  fixture *f = *state;
  kit_module("needs_good.so", "a.so"); /* comes first, and needs what the last one brings */
  kit_module("good.so", "z.so");
  make_file("notes.txt", "hello", 5);
  make_file("text.so", "hello", 5);
  discover(f, kit_dir);
  assert_int_equal(tn_runtime_n_plugins(f->rt), 3);
  assert_int_equal(tn_runtime_n_kernels(f->rt), 2);
  assert_string_equal(tn_runtime_kernel(f->rt, 0)->name, "twice_f32_fast");
  assert_string_equal(kit_info(f->rt, 0).found_by, "TENON_PLUGIN_PATH");
  assert_string_equal(kit_info(f->rt, 0).name,
                      "acme-twice-fast"); /* in the place of its first try */
  assert_null(kit_info(f->rt, 0).refused);
  assert_int_equal(tn_diag_count(f->diag), 1);
  assert_warns(f, "text.so: is not a shared library");
  int32_t severity = -1;
  tn_diag_message(f->diag, 0, &severity);
  assert_int_equal(severity, TN_DIAG_WARNING);
}

static void test_discovery_without_what_it_needs(void **state) {
  fixture *f = *state;
  kit_module("needs_good.so", "a.so");
  discover(f, kit_dir);
  assert_int_equal(tn_runtime_n_plugins(f->rt), 1);
  assert_non_null(strstr(kit_info(f->rt, 0).refused, "is 'com.acme::Twice', which neither"));
  assert_warns(f, "is 'com.acme::Twice', which neither");
}

static void test_several_folders(void **state) {
  fixture *f = *state;
  char folders[256];
  kit_module("good.so", "good.so");
  snprintf(folders, sizeof folders, "::/nowhere/at/all:%s:", kit_dir);
  discover(f, folders);
  assert_int_equal(tn_runtime_n_ops(f->rt), 1);
  assert_warns(f, "/nowhere/at/all");
}

static void test_never_the_working_folder(void **state) {
  fixture *f = *state;
  char before[512];
  kit_module("good.so", "good.so");
  assert_non_null(getcwd(before, sizeof before));
  assert_int_equal(chdir(kit_dir), 0);
  const char *const paths[] = {"", ":", ".", "./", "..:.:"};
  for (size_t k = 0; k < sizeof paths / sizeof *paths; k++) {
    discover(f, paths[k]);
    assert_int_equal(tn_runtime_n_plugins(f->rt), 0);
  }
  assert_int_equal(chdir(before), 0);
  assert_warns(f, "'.' is left out: it is not an absolute path");
}

/* Who names a file wants that one, not the one of its name that lies in a folder. */
static void test_named_takes_the_place_of_discovered(void **state) {
  fixture *f = *state;
  tn_status status;
  char found[512], folder[512];
  const tn_option wrong = {TN_HEAD(tn_option), "speed", "9"};
  const tn_option *const options[] = {&wrong};
  snprintf(folder, sizeof folder, "%s", kit_path("found"));
  assert_int_equal(mkdir(folder, 0755), 0);
  snprintf(found, sizeof found, "%s", kit_module("good.so", "found/good.so"));
  discover(f, folder);
  assert_string_equal(kit_info(f->rt, 0).path, found);
  const char *path = kit_module("good.so", "good.so");
  assert_int_equal(tn_runtime_load_plugin(f->rt, path, options, 1, f->diag), TN_ERR_INVALID);
  kit_says(f->diag, "there is no option 'speed'");
  assert_int_equal(tn_runtime_n_ops(f->rt), 1); /* the former is back */
  tn_model *model = kit_model(f->rt, "com.acme", "Twice", f->diag, &status);
  assert_non_null(model);
  assert_int_equal(load(f, path), TN_ERR_STATE);
  kit_says(f->diag, "plug-in 'acme-twice' is in use by a model made by hand");
  tn_model_destroy(model);
  assert_int_equal(load(f, path), TN_OK);
  assert_int_equal(tn_diag_count(f->diag), 0);
  assert_int_equal(tn_runtime_n_ops(f->rt), 1);
  assert_int_equal(tn_runtime_n_plugins(f->rt), 1);
  assert_string_equal(kit_info(f->rt, 0).path, path);
  assert_string_equal(kit_info(f->rt, 0).found_by, "explicit");
  assert_int_equal(load(f, path), TN_ERR_INVALID); /* two that are named: only one may have it */
}

static void test_written_by_others(void **state) {
  fixture *f = *state;
  const char *path = kit_module("good.so", "good.so");
  chmod(path, 0664);
  discover(f, kit_dir);
  assert_int_equal(tn_runtime_n_ops(f->rt), 0);
  assert_string_equal(kit_info(f->rt, 0).path, path);
  assert_non_null(strstr(kit_info(f->rt, 0).refused, "good.so: is not loaded: the file "));
  assert_int_equal(load(f, path), TN_OK); /* whoever names a file vouches for its group */

  kit_module("good.so", "good.so");
  chmod(kit_dir, 0777);
  discover(f, kit_dir);
  assert_int_equal(tn_runtime_n_ops(f->rt), 0);
  assert_warns(f, " can be written by others");
  assert_int_equal(load(f, path), TN_ERR_INVALID);
  kit_says(f->diag, "good.so: is not loaded: everybody can write its folder");

  chmod(kit_dir, 0700);
  chmod(path, 0646);
  assert_int_equal(load(f, path), TN_ERR_INVALID);
  kit_says(f->diag, "good.so: is not loaded: everybody can write it");
  chmod(path, 0644);
  assert_int_equal(load(f, path), TN_OK);
  assert_null(kit_info(f->rt, 0).refused);
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
#ifdef TEST_SANITIZED
      TEST(test_sanitized),
#endif
      TEST(test_truncated),
      TEST(test_damaged_headers),
      TEST(test_discovery),
      TEST(test_discovery_without_what_it_needs),
      TEST(test_several_folders),
      TEST(test_never_the_working_folder),
      TEST(test_named_takes_the_place_of_discovered),
      TEST(test_written_by_others),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
