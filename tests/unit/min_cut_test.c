/* The least cut, against all cuts of small graphs, and on one that is deep. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "plan/select/select.h"

enum { MAX_VERTICES = 9, MAX_EDGES = 24 };

static uint64_t random_state = 88172645463325252u;
static uint64_t next_random(void) {
  random_state ^= random_state << 13;
  random_state ^= random_state >> 7;
  random_state ^= random_state << 17;
  return random_state;
}

static double cost_of(const tn_edge *edges, int n_edges, const uint8_t *side) {
  double cost = 0;
  for (int k = 0; k < n_edges; k++)
    if (!side[edges[k].from] && side[edges[k].to]) cost += edges[k].cost;
  return cost;
}

static double least_of_all(const tn_edge *edges, int n_edges, int n_vertices) {
  double least = -1;
  for (unsigned bits = 0; bits < 1u << (n_vertices - 2); bits++) {
    uint8_t side[MAX_VERTICES] = {0, 1};
    for (int k = 2; k < n_vertices; k++) side[k] = bits >> (k - 2) & 1;
    const double cost = cost_of(edges, n_edges, side);
    if (least < 0 || cost < least) least = cost;
  }
  return least;
}

static void test_small(void **state) {
  (void)state;
  for (int round = 0; round < 2000; round++) {
    const int n_vertices = 2 + (int)(next_random() % (MAX_VERTICES - 1));
    const int n_edges = (int)(next_random() % MAX_EDGES);
    tn_edge edges[MAX_EDGES];
    uint8_t side[MAX_VERTICES];
    for (int k = 0; k < n_edges; k++)
      edges[k] =
          (tn_edge){(int32_t)(next_random() % (uint64_t)n_vertices),
                    (int32_t)(next_random() % (uint64_t)n_vertices), (double)(next_random() % 50)};
    assert_int_equal(tn_min_cut(tn_default_allocator(), edges, n_edges, n_vertices, side), TN_OK);
    assert_int_equal(side[0], 0);
    assert_int_equal(side[1], 1);
    assert_true(cost_of(edges, n_edges, side) == least_of_all(edges, n_edges, n_vertices));
  }
}

/* An edge that is never cut holds its ends together whatever else that costs. */
static void test_never(void **state) {
  (void)state;
  const tn_edge edges[] = {{0, 2, 5}, {2, 3, TN_CUT_NEVER}, {3, 1, 1e9}};
  uint8_t side[4];
  assert_int_equal(tn_min_cut(tn_default_allocator(), edges, 3, 4, side), TN_OK);
  assert_int_equal(side[2], 1);
  assert_int_equal(side[3], 1);
}

/* As long as models are deep: no recursion. */
static void test_deep(void **state) {
  (void)state;
  enum { N = 200000 };
  tn_edge *edges = calloc(N + 1, sizeof *edges);
  uint8_t *side = malloc(N + 2);
  assert_non_null(edges);
  assert_non_null(side);
  for (int32_t k = 0; k < N; k++) edges[k] = (tn_edge){k ? k + 1 : 0, k + 2, k == N / 2 ? 1 : 2};
  edges[N] = (tn_edge){N + 1, 1, 3};
  assert_int_equal(tn_min_cut(tn_default_allocator(), edges, N + 1, N + 2, side), TN_OK);
  assert_int_equal(side[N / 2 + 1], 0);
  assert_int_equal(side[N / 2 + 2], 1);
  free(edges);
  free(side);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_small), cmocka_unit_test(test_never),
                                     cmocka_unit_test(test_deep)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
