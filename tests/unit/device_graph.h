/* Random graphs of values of one shape, for tests of what lies on devices. */
#ifndef TENON_TESTS_DEVICE_GRAPH_H
#define TENON_TESTS_DEVICE_GRAPH_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tenon/tenon.h"

enum { ROWS = 4, COLUMNS = 6, N = ROWS * COLUMNS, BYTES = N * 4 };

static uint64_t seed;

static uint32_t random_below(uint32_t n) {
  seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (uint32_t)(seed >> 33) % n;
}

static const tn_graph_api *api(void) { return tn_graph_functions(); }

/* ---- a random graph: values of one shape ---- */

static int32_t node(tn_graph *g, const char *op, const int32_t *inputs, uint32_t n_inputs,
                    const tn_attr *attr) {
  const int32_t out = api()->value(g, NULL);
  const tn_attr *const attrs[] = {attr};
  const tn_node n = {.head = TN_HEAD(tn_node),
                     .domain = "",
                     .op = op,
                     .n_inputs = n_inputs,
                     .n_outputs = 1,
                     .n_attrs = attr != NULL,
                     .inputs = inputs,
                     .outputs = &out,
                     .attrs = attrs,
                     .offset = -1};
  assert_true(api()->add_node(g, &n) >= 0);
  return out;
}

/* Of [ROWS, COLUMNS]: in place or not, or a view that another one continues. */
static int32_t step(tn_graph *g, int32_t a, int32_t b) {
  static const char *const ops[] = {"Add", "Mul", "Max", "Relu", "Neg", "Softmax"};
  const uint32_t which = random_below(7);
  const int32_t both[] = {a, b};
  if (which < 6) return node(g, ops[which], both, which < 3 ? 2 : 1, NULL);
  /* the two, one below the other, and of that the lower or upper half */
  const tn_attr axis = {.head = TN_HEAD(tn_attr), .name = "axis", .kind = TN_ATTR_INT, .i = 0};
  const int32_t all = node(g, "Concat", both, 2, &axis);
  const int64_t from = random_below(2) * ROWS, to = from + ROWS;
  const tn_tensor begin = tn_tensor_make(TN_I64, 1, (int64_t[]){1}, (int64_t[]){from}),
                  end = tn_tensor_make(TN_I64, 1, (int64_t[]){1}, (int64_t[]){to});
  const int32_t slice[] = {all, api()->value(g, NULL), api()->value(g, NULL)};
  assert_int_equal(api()->value_set_const(g, slice[1], &begin, 1), TN_OK);
  assert_int_equal(api()->value_set_const(g, slice[2], &end, 1), TN_OK);
  return node(g, "Slice", slice, 3, NULL);
}

#endif
