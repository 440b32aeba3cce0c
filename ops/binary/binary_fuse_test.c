/* Products with 1 go, where they are not wider than what they multiply. */
#include "fuse_kit.h"

static int32_t factor(maker *m, float f, int32_t rank) {
  const int64_t ones[] = {1, 1};
  return constant(m, TN_F32, rank, ones, &f);
}

static int32_t once(maker *m) { return op(m, "Neg", op(m, "Mul", m->x, factor(m, 1, 0)), -1); }
static int32_t swapped(maker *m) { return op(m, "Neg", op(m, "Mul", factor(m, 1, 1), m->x), -1); }
static int32_t twice(maker *m) { return op(m, "Neg", op(m, "Mul", m->x, factor(m, 2, 0)), -1); }
static int32_t wider(maker *m) { return op(m, "Neg", op(m, "Mul", m->x, factor(m, 1, 2)), -1); }
static int32_t last(maker *m) { return op(m, "Mul", m->x, factor(m, 1, 0)); }

static void check(make_fn make, const char *steps) {
  float x[] = {-0.0f, NAN, -INFINITY, 1e-42f}, y[4], want[4];
  const int64_t n = 4;
  const tn_tensor in = tn_tensor_make(TN_F32, 1, &n, x);
  char ops[KIT_MAX_TEXT], spelt[KIT_MAX_TEXT];
  kit_run(make, &in, 0, ops, y);
  kit_run(make, &in, TN_MODEL_NO_OPTIMIZE, spelt, want);
  assert_string_equal(ops, steps);
  assert_memory_equal(y, want, sizeof y);
}

static void ones_vanish(void **state) {
  (void)state;
  check(once, "Neg");
  check(swapped, "Neg");
  check(twice, "Mul Neg");
  check(wider, "Mul Neg");
  check(last, "Mul");
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(ones_vanish)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
