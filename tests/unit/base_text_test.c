/* Text buffers, UTF-8, diagnostics and status texts. */
#include "base/text.h"

#include <float.h>
#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <pthread.h>

#include <cmocka.h>

#include "base/diag.h"

static void utf8(void **state) {
  (void)state;
  static const char *const good[] = {"",
                                     "abc",
                                     "\xC2\x80",
                                     "\xDF\xBF",
                                     "\xE0\xA0\x80",
                                     "\xED\x9F\xBF",
                                     "\xEE\x80\x80",
                                     "\xF0\x90\x80\x80",
                                     "\xF4\x8F\xBF\xBF"};
  /* Lone and missing continuations, overlong forms, surrogates, above U+10FFFF. */
  static const char *const bad[] = {"\x80",
                                    "\xC2",
                                    "\xC0\x80",
                                    "\xC1\xBF",
                                    "\xE0\x9F\xBF",
                                    "\xED\xA0\x80",
                                    "\xF0\x8F\xBF\xBF",
                                    "\xF4\x90\x80\x80",
                                    "\xF5\x80\x80\x80",
                                    "\xE2\x82",
                                    "a\xE2\x82z"};
  for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
    assert_true(tn_utf8_valid(good[i], (int64_t)strlen(good[i])));
  }
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    assert_false(tn_utf8_valid(bad[i], (int64_t)strlen(bad[i])));
  }
  assert_true(tn_utf8_valid("a\0b", 3));
}

static void buffer(void **state) {
  (void)state;
  tn_text t;
  tn_text_init(&t, tn_default_allocator());
  assert_string_equal(tn_text_get(&t), "");
  for (int k = 0; k < 1000; k++) tn_text_add(&t, "%d,", k);
  tn_text_add_bytes(&t, "\0x", 2);
  tn_text_add_bytes(&t, NULL, 0);
  tn_text_add_bytes(&t, "never", -1);
  assert_int_equal(t.n, 10 * 2 + 90 * 3 + 900 * 4 + 2);
  assert_memory_equal(t.data, "0,1,2,", 6);
  assert_memory_equal(t.data + t.n - 6, "999,\0x", 7);
  assert_int_equal(t.status, TN_OK);
  tn_text_free(&t);
  tn_text_free(&t);
}

static void *no_alloc(void *self, uint64_t bytes) {
  (void)self;
  (void)bytes;
  return NULL;
}

static void no_memory(void **state) {
  (void)state;
  tn_allocator a = *tn_default_allocator();
  a.alloc = no_alloc;
  tn_text t;
  tn_text_init(&t, &a);
  tn_text_add(&t, "x");
  assert_int_equal(t.status, TN_ERR_MEMORY);
  tn_text_add(&t, "y");
  assert_string_equal(tn_text_get(&t), "");
  tn_text_free(&t);
}

static void comparisons(void **state) {
  (void)state;
  assert_true(tn_str_is((tn_str){"abc", 3}, "abc"));
  assert_false(tn_str_is((tn_str){"abcd", 4}, "abc"));
  assert_false(tn_str_is((tn_str){"ab", 2}, "abc"));
  assert_false(tn_str_is((tn_str){"abd", 3}, "abc"));
  assert_true(tn_str_is((tn_str){NULL, 0}, ""));
  assert_true(tn_has_suffix("model.onnx", ".onnx"));
  assert_true(tn_has_suffix("x", ""));
  assert_false(tn_has_suffix("onnx", ".onnx"));
  assert_false(tn_has_suffix("model.onnx.gz", ".onnx"));
}

static void diagnostics(void **state) {
  (void)state;
  tn_diag *diag = tn_diag_create(), *inner = tn_diag_create();
  int32_t severity = -1;
  assert_string_equal(tn_diag_text(diag), "");
  assert_int_equal(tn_fail(diag, TN_ERR_SHAPE, "bad %d", 1), TN_ERR_SHAPE);
  tn_diag_add(diag, TN_DIAG_WARNING, "careful");
  assert_string_equal(tn_diag_text(diag), "bad 1");
  tn_diag_add(inner, TN_DIAG_ERROR, "bad 2");
  tn_diag_add(inner, TN_DIAG_NOTE, "so it is");
  tn_diag_append(diag, inner, "in node x");
  tn_diag_append(diag, inner, NULL);
  tn_diag_append(diag, diag, "itself");
  assert_string_equal(tn_diag_text(diag), "bad 1\nin node x: bad 2\nbad 2");
  assert_int_equal(tn_diag_count(diag), 6);
  assert_string_equal(tn_diag_message(diag, 3, &severity), "in node x: so it is");
  assert_int_equal(severity, TN_DIAG_NOTE);
  tn_fail(inner, TN_ERR_IO, "bad 3");
  tn_diag_append(diag, inner, NULL);
  assert_int_equal(tn_diag_message_status(diag, 0), TN_ERR_SHAPE);
  assert_int_equal(tn_diag_message_status(diag, 1), TN_OK);
  assert_int_equal(tn_diag_message_status(diag, 8), TN_ERR_IO); /* kept when it is appended */
  assert_int_equal(tn_diag_message_status(diag, 9), TN_OK);
  assert_int_equal(tn_diag_message_status(NULL, 0), TN_OK);
  assert_null(tn_diag_message(diag, 9, &severity));
  assert_null(tn_diag_message(diag, -1, NULL));
  tn_diag_clear(diag);
  assert_int_equal(tn_diag_count(diag), 0);
  assert_string_equal(tn_diag_text(diag), "");
  tn_diag_destroy(inner);
  tn_diag_destroy(diag);

  tn_diag_add(NULL, TN_DIAG_ERROR, "nobody hears");
  assert_int_equal(tn_fail(NULL, TN_ERR_IO, "x"), TN_ERR_IO);
  assert_int_equal(tn_diag_count(NULL), 0);
  assert_string_equal(tn_diag_text(NULL), "");
  tn_diag_clear(NULL);
  tn_diag_destroy(NULL);
}

static void long_messages(void **state) {
  (void)state;
  char text[6000];
  tn_diag *diag = tn_diag_create();
  memset(text, 'x', sizeof text);
  text[sizeof text - 1] = 0;
  tn_diag_add(diag, TN_DIAG_ERROR, "%s", text);
  assert_int_equal(strlen(tn_diag_message(diag, 0, NULL)), 4000);
  /* A character that the cut would tear is left out. */
  for (size_t shift = 0; shift < 3; shift++) {
    memset(text, 'x', shift);
    for (size_t i = 0; i + 3 < sizeof text - shift; i += 3) {
      memcpy(text + shift + i, "\xE2\x82\xAC", 3);
    }
    tn_diag_clear(diag);
    tn_diag_add(diag, TN_DIAG_ERROR, "%s", text);
    const char *kept = tn_diag_message(diag, 0, NULL);
    int64_t n = (int64_t)strlen(kept);
    assert_true(n > 3997 && n <= 4000);
    assert_true(tn_utf8_valid(kept, n));
  }
  tn_diag_destroy(diag);
}

/* Names from files begin no lines; what a reader recovers from is no error any more. */
static void lines_and_forgiveness(void **state) {
  (void)state;
  tn_diag *diag = tn_diag_create();
  int32_t severity;
  tn_fail(diag, TN_ERR_INVALID, "node '%s'", "a\ntenon:\terror");
  assert_string_equal(tn_diag_message(diag, 0, NULL), "node 'a tenon: error'");
  tn_fail(diag, TN_ERR_SHAPE, "second");
  tn_diag_add(diag, TN_DIAG_WARNING, "third");
  assert_string_equal(tn_diag_text(diag), "node 'a tenon: error'\nsecond");
  tn_diag_forgive(diag, 1);
  assert_string_equal(tn_diag_text(diag), "node 'a tenon: error'");
  assert_int_equal(tn_diag_message_status(diag, 1), TN_OK);
  tn_diag_message(diag, 1, &severity);
  assert_int_equal(severity, TN_DIAG_NOTE);
  tn_diag_message(diag, 2, &severity);
  assert_int_equal(severity, TN_DIAG_WARNING);
  tn_diag_forgive(NULL, 0);
  tn_diag_destroy(diag);
}

enum { N_WRITERS = 4, N_MESSAGES = 500 };

static void *writer_main(void *arg) {
  for (int k = 0; k < N_MESSAGES; k++) tn_diag_add(arg, TN_DIAG_ERROR, "message %d", k);
  return NULL;
}

static void diag_from_threads(void **state) {
  (void)state;
  tn_diag *diag = tn_diag_create();
  pthread_t threads[N_WRITERS];
  for (int i = 0; i < N_WRITERS; i++) {
    assert_int_equal(pthread_create(&threads[i], NULL, writer_main, diag), 0);
  }
  for (int i = 0; i < N_WRITERS; i++) pthread_join(threads[i], NULL);
  assert_int_equal(tn_diag_count(diag), N_WRITERS * N_MESSAGES);
  tn_diag_destroy(diag);
}

static void status_texts(void **state) {
  (void)state;
  assert_string_equal(tn_version(), "0.1.0");
  assert_string_equal(tn_status_text(TN_ERR_SHAPE),
                      "TN_ERR_SHAPE: shapes or dtypes do not fit together");
  for (tn_status s = TN_ERR_INVALID; s >= TN_ERR_CANCELLED; s--) {
    assert_memory_equal(tn_status_text(s), "TN_ERR_", 7);
    assert_string_not_equal(tn_status_text(s), tn_status_text(s + 1));
  }
  assert_string_equal(tn_status_text(TN_NO_ID), "unknown status");
  assert_string_equal(tn_status_text(77), "unknown status");
}

/* Where the machine has a locale with a decimal comma, numbers are read in it. */
static void numbers(void **state) {
  (void)state;
  static const char *const commas[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "pl_PL.UTF-8"};
  char *end;
  for (int k = 0; k < 3 && !setlocale(LC_NUMERIC, commas[k]); k++) continue;
  const double value = tn_text_number("-2.5e1,", &end), big = tn_text_number("inf", NULL);
  setlocale(LC_NUMERIC, "C");
  assert_true(value == -25 && *end == ',' && big > DBL_MAX);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(numbers),
      cmocka_unit_test(utf8),
      cmocka_unit_test(buffer),
      cmocka_unit_test(no_memory),
      cmocka_unit_test(comparisons),
      cmocka_unit_test(diagnostics),
      cmocka_unit_test(long_messages),
      cmocka_unit_test(diag_from_threads),
      cmocka_unit_test(lines_and_forgiveness),
      cmocka_unit_test(status_texts),
  };
  return cmocka_run_group_tests_name("base_text", tests, NULL, NULL);
}
