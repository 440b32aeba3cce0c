/* Constants that are multiplied while they are read: the same elements as if they had been
 * multiplied at once, and refused where that would not be right or not possible. */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "graph/graph.h"

enum { RUNS = 37, RUN = 501, N = RUNS * RUN }; /* more than TN_LATE_BYTES, and odd */

static uint8_t file[N * sizeof(float) + 1];
static double numbers[RUNS];

/* Behind a byte: elements in files are not aligned. */
static void set_element(int64_t k, float x) { memcpy(file + 1 + k * 4, &x, sizeof x); }

static float element(int64_t k) {
  float x;
  memcpy(&x, file + 1 + k * 4, sizeof x);
  return x;
}

static tn_const *setup_file(void) {
  for (int64_t k = 0; k < N; k++) set_element(k, (float)(k % 977 - 400) / 7);
  for (int64_t k = 0; k < RUNS; k++) numbers[k] = k % 3 ? 1.0 / (double)(k + 1) : -1e3 * (double)k;
  tn_const *c = tn_const_lazy(tn_default_allocator(), file + 1, sizeof file - 1, false);
  assert_non_null(c);
  return c;
}

static void assert_scaled(const float *got) {
  for (int64_t k = 0; k < N; k++) {
    const float wanted = (float)((double)element(k) * numbers[k / RUN]);
    assert_memory_equal(&got[k], &wanted, sizeof wanted);
  }
}

static void test_elements(void **state) {
  (void)state;
  tn_const *of = setup_file();
  tn_const *c = tn_const_scaled(tn_default_allocator(), of, numbers, RUNS);
  tn_const_release(of); /* what it stands in stays, not the constant */
  assert_non_null(c);
  float *copy = malloc(sizeof file);
  assert_non_null(copy);
  for (int k = 0; k < 2; k++) {
    assert_int_equal(tn_const_fetch(c), TN_OK);
    assert_scaled(c->data);
    tn_const_drop(c);
    tn_const_read(c, copy);
    assert_scaled(copy);
  }
  free(copy);
  tn_const_release(c);
}

static bool can_scale(const tn_const *of, int64_t n) {
  tn_const *c = tn_const_scaled(tn_default_allocator(), of, numbers, n);
  tn_const_release(c);
  return c != NULL;
}

static void test_refused(void **state) {
  (void)state;
  const tn_allocator *a = tn_default_allocator();
  tn_const *of = setup_file();
  assert_true(can_scale(of, RUNS));
  assert_false(can_scale(of, RUNS + 1)); /* no runs of equal length */
  assert_false(can_scale(of, 0));
  tn_const *scaled = tn_const_scaled(a, of, numbers, RUNS), *borrowed;
  assert_false(can_scale(scaled, RUNS)); /* made when it is read */
  tn_const_release(scaled);
  borrowed = tn_const_borrow(a, file + 1, sizeof file - 1);
  assert_false(can_scale(borrowed, RUNS)); /* in no file */
  tn_const_release(borrowed);
  for (int64_t k = 0; k < RUNS; k += RUNS - 1) { /* the first and the last run */
    const double before = numbers[k];
    const double bad[] = {INFINITY, NAN, -INFINITY};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
      numbers[k] = bad[i];
      assert_false(can_scale(of, RUNS));
    }
    numbers[k] = before;
  }
  tn_const_release(of);
}

/* Wherever in a run the element stands. */
static void test_finite(void **state) {
  (void)state;
  const int64_t places[] = {0, 1, RUN - 2, RUN - 1, RUN, N - 2, N - 1};
  for (size_t k = 0; k < sizeof places / sizeof *places; k++) {
    tn_const *of = setup_file();
    for (int64_t i = 0; i < RUNS; i++) numbers[i] = 0.5;
    set_element(places[k], -FLT_MAX);
    assert_true(can_scale(of, RUNS));
    set_element(places[k], -INFINITY);
    assert_false(can_scale(of, RUNS));
    set_element(places[k], NAN);
    assert_false(can_scale(of, RUNS));
    for (int64_t i = 0; i < RUNS; i++) numbers[i] = -2;
    set_element(places[k], FLT_MAX * 0.4999f);
    assert_true(can_scale(of, RUNS));
    set_element(places[k], -FLT_MAX * 0.5001f);
    assert_false(can_scale(of, RUNS));
    tn_const_release(of);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_elements),
      cmocka_unit_test(test_refused),
      cmocka_unit_test(test_finite),
  };
  return cmocka_run_group_tests_name("scaled_const", tests, NULL, NULL);
}
