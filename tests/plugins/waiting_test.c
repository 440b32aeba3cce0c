/* Plug-ins that are found and wait: until something of theirs is looked up, with nothing to tell
 * them from those that are loaded at once. */
#include <fcntl.h>
#include <pthread.h>

#include "kit.h"
#include "registry/offers.h"

typedef struct fixture {
  tn_runtime *rt;
  tn_diag *diag;
} fixture;

static int setup(void **state) {
  static fixture f;
  assert_int_equal(kit_open(state), 0);
  f.diag = tn_diag_create();
  f.rt = NULL;
  *state = &f;
  setenv("TENON_TEST_LOG", kit_path("log"), 1);
  unsetenv("TENON_TEST_OFFERS");
  return 0;
}

static int teardown(void **state) {
  fixture *f = *state;
  tn_runtime_destroy(f->rt);
  tn_diag_destroy(f->diag);
  return kit_close(state);
}

static void discover(fixture *f) {
  const tn_runtime_options options = kit_options(0);
  tn_runtime_destroy(f->rt);
  tn_diag_clear(f->diag);
  unlink(kit_path("log"));
  setenv("TENON_PLUGIN_PATH", kit_dir, 1);
  f->rt = kit_runtime(&options, f->diag);
}

static bool has_started(void) { return *kit_read(kit_path("log")) != 0; }

static bool warns(fixture *f, const char *text) {
  int32_t severity;
  for (int64_t k = 0; k < tn_diag_count(f->diag); k++)
    if (strstr(tn_diag_message(f->diag, k, &severity), text)) return severity == TN_DIAG_WARNING;
  return false;
}

/* ---- until when ---- */

static void test_waits_for_its_operator(void **state) {
  fixture *f = *state;
  tn_status status;
  kit_module("said_good.so", "good.so");
  discover(f);
  assert_non_null(tn_runtime_find_op(f->rt, "", "Neg", 13));
  assert_null(tn_runtime_find_op(f->rt, "com.acme", "Thrice", 1));
  tn_model_destroy(kit_model(f->rt, "", "Neg", f->diag, &status));
  assert_int_equal(status, TN_OK);
  assert_false(has_started());
  assert_non_null(tn_runtime_find_op(f->rt, "com.acme", "Twice", 1));
  assert_string_equal(kit_read(kit_path("log")), "init\n");
  assert_int_equal(tn_diag_count(f->diag), 0);
}

static void test_model_asks(void **state) {
  fixture *f = *state;
  tn_status status;
  kit_module("said_good.so", "good.so");
  discover(f);
  tn_model *model = kit_model(f->rt, "com.acme", "Twice", f->diag, &status);
  assert_non_null(model);
  tn_session *session = NULL;
  assert_int_equal(tn_session_create(model, f->diag, &session), TN_OK);
  assert_true(kit_run(session, 4, &status) == 6);
  tn_session_destroy(session);
  tn_model_destroy(model);
}

static void test_lists_ask_for_all(void **state) {
  fixture *f = *state;
  kit_module("said_good.so", "good.so");
  discover(f);
  assert_int_equal(tn_runtime_n_plugins(f->rt), 2);
  assert_true(has_started());
  discover(f);
  const int32_t n = tn_runtime_n_ops(f->rt);
  assert_true(has_started());
  const tn_runtime_options without = kit_options(TN_RUNTIME_NO_DISCOVERY);
  tn_runtime *other = kit_runtime(&without, f->diag);
  assert_int_equal(n, tn_runtime_n_ops(other) + 1);
  tn_runtime_destroy(other);
  discover(f);
  assert_int_equal(tn_runtime_unload_plugin(f->rt, "acme-twice", 0, f->diag), TN_OK);
  assert_string_equal(kit_read(kit_path("log")), "init\nshutdown\n");
}

static void test_never_asked(void **state) {
  fixture *f = *state;
  kit_module("said_good.so", "good.so");
  discover(f);
  tn_runtime_destroy(f->rt);
  f->rt = NULL;
  assert_false(has_started());
}

static void test_all_at_once_if_one_says_nothing(void **state) {
  fixture *f = *state;
  kit_module("said_good.so", "good.so");
  kit_module("override.so", "override.so");
  discover(f);
  assert_true(has_started());
}

static void test_environment(void **state) {
  fixture *f = *state;
  kit_module("said_env.so", "env.so");
  setenv("TENON_TEST_OFFERS", "", 1); /* as good as none */
  discover(f);
  assert_false(has_started());
  setenv("TENON_TEST_OFFERS", "1", 1);
  discover(f);
  assert_true(has_started());
  assert_non_null(tn_runtime_find_op(f->rt, "com.acme", "Twice", 1));
  unsetenv("TENON_TEST_OFFERS");
}

/* ---- nobody can tell ---- */

static void put(const char *prefix) {
  const char *const names[] = {"needs_good", "good", "override"};
  const char *const files[] = {"a.so", "z.so", "m.so"};
  char module[64];
  for (int k = 0; k < 3; k++) {
    snprintf(module, sizeof module, "%s%s.so", prefix, names[k]);
    kit_module(module, files[k]);
  }
}

static float run_neg(fixture *f) {
  tn_status status;
  tn_session *session = NULL;
  tn_model *model = kit_model(f->rt, "", "Neg", f->diag, &status);
  assert_non_null(model);
  assert_int_equal(tn_session_create(model, f->diag, &session), TN_OK);
  const float y = kit_run(session, 5, &status);
  assert_int_equal(status, TN_OK);
  tn_session_destroy(session);
  tn_model_destroy(model);
  return y;
}

static void test_same_choice_and_order(void **state) {
  fixture *f = *state;
  put("");
  discover(f);
  const float at_once = run_neg(f);
  tn_runtime *before = f->rt;
  f->rt = NULL;
  put("said_");
  discover(f);
  assert_false(has_started());
  assert_true(run_neg(f) == at_once); /* its kernel wins by rank */
  assert_true(has_started());
  const int32_t n = tn_runtime_n_kernels(before), n_plugins = tn_runtime_n_plugins(before);
  assert_int_equal(tn_runtime_n_kernels(f->rt), n);
  for (int32_t k = 0; k < n; k++)
    assert_string_equal(tn_runtime_kernel(f->rt, k)->name, tn_runtime_kernel(before, k)->name);
  assert_int_equal(tn_runtime_n_plugins(f->rt), n_plugins);
  for (int32_t k = 0; k < n_plugins; k++) {
    assert_string_equal(kit_info(f->rt, k).name, kit_info(before, k).name);
    assert_int_equal(kit_info(f->rt, k).n_notes, kit_info(before, k).n_notes);
  }
  tn_runtime_destroy(before);
}

static void test_named_comes_after_found(void **state) {
  fixture *f = *state;
  put("said_");
  discover(f);
  const char *path = kit_module("override_low.so", "named.txt");
  kit_load(f->rt, path, f->diag);
  assert_string_equal(kit_info(f->rt, tn_runtime_n_plugins(f->rt) - 1).path, path);
}

typedef struct asker {
  pthread_t thread;
  fixture *f;
  int index;
  bool ok;
} asker;

static void *ask(void *self) {
  asker *a = self;
  tn_runtime *rt = a->f->rt;
  const tn_op *op = a->index % 4 == 3 ? NULL : tn_runtime_find_op(rt, "com.acme", "Twice", 1);
  a->ok = a->index % 4 == 3 ? tn_runtime_n_plugins(rt) == 4 : op && !strcmp(op->name, "Twice");
  return NULL;
}

static void test_threads_ask(void **state) {
  fixture *f = *state;
  put("said_");
  for (int round = 0; round < 10; round++) {
    asker askers[8];
    discover(f);
    for (int k = 0; k < 8; k++) {
      askers[k] = (asker){.f = f, .index = k};
      assert_int_equal(pthread_create(&askers[k].thread, NULL, ask, &askers[k]), 0);
    }
    for (int k = 0; k < 8; k++) pthread_join(askers[k].thread, NULL);
    for (int k = 0; k < 8; k++) assert_true(askers[k].ok);
    assert_string_equal(kit_read(kit_path("log")), "init\n");
  }
}

/* ---- what is wrong ---- */

static void test_offers_more_than_it_says(void **state) {
  fixture *f = *state;
  const char *path = kit_module("said_liar.so", "liar.so");
  discover(f);
  assert_null(tn_runtime_find_op(f->rt, "com.acme", "Twice", 1));
  assert_non_null(tn_runtime_find_op(f->rt, "", "Neg", 13)); /* which it names */
  assert_null(tn_runtime_find_op(f->rt, "com.acme", "Twice", 1));
  assert_non_null(strstr(kit_info(f->rt, 1).refused,
                         "op 'com.acme::Twice': TN_OFFERS in its file does not name the operator "
                         "com.acme::Twice"));
  assert_int_equal(tn_runtime_load_plugin(f->rt, path, NULL, 0, f->diag), TN_ERR_INVALID);
  kit_says(f->diag, "kernel 'twice_f32_c': TN_OFFERS in its file does not name the operator ");
}

static void test_warnings_come_with_the_model(void **state) {
  fixture *f = *state;
  tn_status status;
  kit_module("said_needs_good.so", "a.so");
  discover(f);
  assert_int_equal(tn_diag_count(f->diag), 0);
  assert_null(kit_model(f->rt, "com.acme", "Twice", f->diag, &status));
  assert_int_equal(status, TN_ERR_UNSUPPORTED);
  assert_true(warns(f, "is 'com.acme::Twice', which neither"));
  tn_diag_clear(f->diag);
  kit_model(f->rt, "com.acme", "Twice", f->diag, &status);
  assert_false(warns(f, "which neither")); /* told once, and listed */
  assert_non_null(strstr(kit_info(f->rt, 1).refused, "is 'com.acme::Twice', which neither"));
}

static void test_replaced_meanwhile(void **state) {
  fixture *f = *state;
  kit_module("said_good.so", "good.so");
  discover(f);
  kit_module("said_good.so", "good.so"); /* another file that says the same */
  assert_non_null(tn_runtime_find_op(f->rt, "com.acme", "Twice", 1));
  const char *const others[] = {"said_override.so", "override.so"};
  for (int k = 0; k < 2; k++) {
    kit_module("said_good.so", "good.so");
    discover(f);
    kit_module(others[k], "good.so");
    assert_null(tn_runtime_find_op(f->rt, "com.acme", "Twice", 1));
    assert_non_null(strstr(kit_info(f->rt, 1).refused, "it was replaced by a file that offers"));
  }
  kit_module("said_good.so", "good.so");
  discover(f);
  unlink(kit_path("good.so"));
  assert_null(tn_runtime_find_op(f->rt, "com.acme", "Twice", 1));
  assert_non_null(strstr(kit_info(f->rt, 1).refused, "cannot be examined"));
}

static void test_written_by_others(void **state) {
  fixture *f = *state;
  chmod(kit_module("said_good.so", "good.so"), 0664);
  discover(f);
  assert_true(warns(f, " can be written by others")); /* what it says is not believed */
  chmod(kit_module("said_good.so", "good.so"), 0644);
  discover(f);
  chmod(kit_path("good.so"), 0664);
  assert_null(tn_runtime_find_op(f->rt, "com.acme", "Twice", 1));
  assert_non_null(strstr(kit_info(f->rt, 1).refused, " can be written by others"));
}

static void test_allow_list(void **state) {
  fixture *f = *state;
  kit_module("said_good.so", "good.so");
  setenv("TENON_PLUGIN_ALLOW", kit_write("allow", "# nothing\n", 0600), 1);
  discover(f);
  assert_true(warns(f, "does not have the file"));
  assert_null(tn_runtime_find_op(f->rt, "com.acme", "Twice", 1));
  assert_false(has_started());
}

/* ---- versions ---- */

static void assert_versions(const tn_map *words, const char *domain, const char *name,
                            int32_t since, int32_t until) {
  const tn_versions v = tn_offers_of(words, domain, name);
  if (v.since != since || v.until != until)
    fail_msg("%s::%s: %d to %d", domain, name, v.since, v.until);
}

static void test_versions(void **state) {
  (void)state;
  tn_arena arena;
  tn_map words;
  tn_arena_init(&arena, tn_default_allocator());
  tn_map_init_borrowing(&words, tn_default_allocator());
  const char *text =
      "Norm@1-16 ai.onnx::Later@7-0 com.acme::Two@3-4 com.acme::Two@8-9 Part@2-5 Part "
      "Bad@ Bad@1 Bad@a-b Bad@1-2x Bad@-1-2 Bad@99999999999-2 Bad@1-2147483648 @1-2";
  assert_int_equal(tn_offers_add(&arena, text, &words), TN_OK);
  assert_versions(&words, "", "Norm", 1, 16);
  assert_versions(&words, "", "Later", 7, INT32_MAX);
  assert_versions(&words, "com.acme", "Two", 3, 9); /* from the first to the last */
  assert_versions(&words, "", "Part", 0, INT32_MAX);
  assert_versions(&words, "", "Bad", 1, 0); /* none */
  assert_versions(&words, "com.acme", "Norm", 1, 0);
  assert_versions(&words, "", "None", 1, 0);
  tn_map_free(&words);
  tn_arena_clear(&arena);
}

/* Those of which only old versions are offered wait for who asks for an old one. */
static void test_waits_for_its_versions(void **state) {
  fixture *f = *state;
  kit_module("said_old.so", "old.so");
  discover(f);
  assert_non_null(tn_runtime_find_op(f->rt, "", "LayerNormalization", 17));
  assert_non_null(tn_runtime_find_op(f->rt, "", "LayerNormalization", 0));
  assert_false(has_started());
  assert_null(tn_runtime_find_op(f->rt, "", "LayerNormalization", 1));
  assert_true(has_started());
}

/* ---- damaged notes ---- */

static void test_damaged_notes(void **state) {
  fixture *f = *state;
  static char bytes[1 << 16];
  tn_arena arena;
  uint32_t random = 7;
  int32_t n_read = 0;
  (void)f;
  FILE *file = fopen(TEST_PLUGINS "/said_good.so", "rb");
  assert_non_null(file);
  const size_t size = fread(bytes, 1, sizeof bytes, file);
  fclose(file);
  tn_arena_init(&arena, tn_default_allocator());
  for (int k = 0; k < 2000; k++) {
    const int fd = open(kit_path("damaged.so"), O_RDWR | O_CREAT | O_TRUNC, 0644);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, k % 5 ? size : size * (size_t)k / 2000), /* some are cut */
                     k % 5 ? (ssize_t)size : (ssize_t)(size * (size_t)k / 2000));
    for (int i = 0; i < k % 4; i++) {
      random = random * 1664525u + 1013904223u;
      const char byte = (char)(random >> 24);
      assert_int_equal(pwrite(fd, &byte, 1, (random >> 8) % 1024), 1);
    }
    n_read += tn_offers_read(&arena, fd) != NULL;
    close(fd);
  }
  tn_arena_clear(&arena);
  assert_in_range(n_read, 400, 1999);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
  const struct CMUnitTest tests[] = {
      TEST(test_waits_for_its_operator),
      TEST(test_model_asks),
      TEST(test_lists_ask_for_all),
      TEST(test_never_asked),
      TEST(test_all_at_once_if_one_says_nothing),
      TEST(test_environment),
      TEST(test_same_choice_and_order),
      TEST(test_named_comes_after_found),
      TEST(test_threads_ask),
      TEST(test_offers_more_than_it_says),
      TEST(test_warnings_come_with_the_model),
      TEST(test_replaced_meanwhile),
      TEST(test_written_by_others),
      TEST(test_allow_list),
      TEST(test_versions),
      TEST(test_waits_for_its_versions),
      TEST(test_damaged_notes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
