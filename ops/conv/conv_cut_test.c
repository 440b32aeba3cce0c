/* How convolutions are cut for several workers: everything once, and about as much for each. */
#include "conv_cut.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { MOST = 4096 };

static void check_items(const work_cut *c, int64_t rows) {
  static int seen[MOST];
  memset(seen, 0, sizeof seen);
  const int64_t n = c->batch * c->strips * c->parts;
  assert_true(n <= MOST);
  for (int64_t item = 0; item < n; item++) {
    int64_t strip, part;
    work_cut_item(c, item, &strip, &part);
    assert_in_range(strip, 0, c->batch * c->strips - 1);
    assert_in_range(part, 0, c->parts - 1);
    assert_int_equal(seen[strip * c->parts + part]++, 0);
  }
  for (int64_t k = 0; k < c->strips; k++) {
    const int64_t size = cut_at(rows, c->strips, k + 1) - cut_at(rows, c->strips, k);
    assert_in_range(size, 1, c->strip_rows);
    assert_in_range(size, 1, c->most_rows);
  }
  for (int64_t k = 0; k < c->parts; k++)
    assert_true(cut_at(c->groups, c->parts, k + 1) > cut_at(c->groups, c->parts, k));
}

/* Rows by groups of the first half of the items. */
static int64_t first_half(const work_cut *c) {
  int64_t sum = 0;
  for (int64_t item = 0; item < c->strips * c->parts / 2; item++) {
    int64_t s, p;
    work_cut_item(c, item, &s, &p);
    sum += (cut_at(c->rows, c->strips, s + 1) - cut_at(c->rows, c->strips, s)) *
           (cut_at(c->groups, c->parts, p + 1) - cut_at(c->groups, c->parts, p));
  }
  return sum;
}

static void everything_once(void **state) {
  (void)state;
  static const int64_t rows[] = {1, 2, 3, 7, 14, 28, 55, 112}, groups[] = {1, 2, 3, 5, 9, 16, 40};
  for (uint32_t n = 0; n <= 5; n++)
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
      for (size_t g = 0; g < sizeof groups / sizeof *groups; g++)
        for (int flags = 0; flags < 12; flags++) {
          work_cut c = {.rows = rows[r],
                        .most_rows = flags & 8 ? 3 : 1000,
                        .batch = flags & 4 ? 3 : 1,
                        .groups = groups[g],
                        .by_filters = flags & 1,
                        .copies = flags & 2};
          work_cut_make(&c, n);
          check_items(&c, rows[r]);
          if (n <= 1) assert_int_equal(c.parts, 1);
        }
}

static void two_halves(void **state) {
  (void)state;
  for (int64_t rows = 2; rows <= 112; rows += 2)
    for (int64_t groups = 1; groups <= 20; groups++)
      for (int by_filters = 0; by_filters < 2; by_filters++) {
        work_cut c = {.rows = rows,
                      .most_rows = 1000,
                      .batch = 1,
                      .groups = groups,
                      .by_filters = by_filters};
        work_cut_make(&c, 2);
        assert_int_equal(2 * first_half(&c), rows * groups);
      }
}

/* Copies cost: no more of them than workers, where these have as much to do each. Nor are there
 * more strips than weights are to be read, but one for each worker. */
static void few(void **state) {
  (void)state;
  work_cut c = {
      .rows = 17, .most_rows = 17, .batch = 1, .groups = 6, .by_filters = true, .copies = true};
  work_cut_make(&c, 2);
  assert_int_equal(c.parts, 2);
  assert_int_equal(c.strips, 1);
  for (int64_t few_strips = 1; few_strips < 12; few_strips++) {
    c = (work_cut){.rows = 70, .most_rows = 70, .batch = 1, .groups = 1, .copies = true};
    c.few_strips = few_strips;
    work_cut_make(&c, 2);
    assert_in_range(c.strips, 2, few_strips < 2 ? 2 : few_strips > 8 ? 8 : few_strips + 1);
    assert_int_equal(2 * first_half(&c), 70);
  }
}

static void nothing(void **state) {
  (void)state;
  work_cut c = {.rows = 0, .most_rows = 1, .batch = 1, .groups = 1};
  work_cut_make(&c, 2);
  assert_int_equal(c.strips, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(everything_once),
                                     cmocka_unit_test(two_halves), cmocka_unit_test(few),
                                     cmocka_unit_test(nothing)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
