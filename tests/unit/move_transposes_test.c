/* Transposes that are moved out of the way: what lies between them is computed in another order of
 * dims, and answers the same. */
#include "fuse_kit.h"

enum { H = 3, W = 4, C = 5, N = H * W * C };

static const int64_t to_planes[] = {0, 3, 1, 2}, to_rows[] = {0, 2, 3, 1};

static int32_t transposed(maker *m, int32_t x, const int64_t *perm) {
  const tn_attr attr = tn_attr_ints("perm", (tn_ints){perm, 4});
  return op_with(m, "Transpose", x, -1, &attr);
}
static int32_t planes(maker *m) { return transposed(m, m->x, to_planes); }
static int32_t rows(maker *m, int32_t x) { return transposed(m, x, to_rows); }

static int32_t numbers(maker *m, int32_t rank, const int64_t *dims) {
  float data[KIT_MAX_ELEMENTS];
  int64_t n = 1;
  for (int32_t k = 0; k < rank; k++) n *= dims[k];
  for (int64_t k = 0; k < n; k++) data[k] = (float)(k * 7 % 11) / 8 + 0.5f;
  return constant(m, TN_F32, rank, dims, data);
}
static int32_t ints(maker *m, const int64_t *data, int64_t n) {
  return constant(m, TN_I64, 1, &n, data);
}

/* ---- all transposes go ---- */

static int32_t unary(maker *m) {
  return rows(m, op(m, "Sigmoid", op(m, "Relu", planes(m), -1), -1));
}
static int32_t per_channel(maker *m) {
  const int32_t scaled = op(m, "Mul", planes(m), numbers(m, 3, (const int64_t[]){C, 1, 1}));
  return rows(
      m, op(m, "Sub", number(m, 1), op(m, "Add", scaled, numbers(m, 1, (const int64_t[]){W}))));
}
static int32_t two_inputs(maker *m) { return rows(m, op(m, "Add", planes(m), planes(m))); }
static int32_t softmax(maker *m) {
  const tn_attr axis = tn_attr_int("axis", 1);
  return rows(m, op_with(m, "Softmax", planes(m), -1, &axis));
}
static int32_t gated(maker *m) { /* squeeze and excitation */
  const int32_t y = op(m, "Relu", planes(m), -1);
  const tn_attr keep = tn_attr_int("keepdims", 1);
  const int32_t mean = op_with(m, "ReduceMax", y, ints(m, (const int64_t[]){2, 3}, 2), &keep);
  return rows(m, op(m, "Mul", y, op(m, "Sigmoid", mean, -1)));
}
static int32_t apart(maker *m) { /* three places that do not hang together */
  const int64_t axis = 1;
  int32_t y = m->x;
  for (int k = 0; k < 3; k++) {
    y = rows(m, op(m, "Neg", op(m, "Relu", transposed(m, y, to_planes), -1), -1));
    y = op(m, "CumSum", y, constant(m, TN_I64, 0, NULL, &axis));
  }
  return y;
}
static int32_t part(maker *m, int32_t x, int64_t from, int64_t to) {
  const int32_t inputs[4] = {x, ints(m, &from, 1), ints(m, &to, 1), ints(m, &(int64_t){1}, 1)};
  return node_of(m, "Slice", inputs, 4, NULL, 0);
}

/* ---- copies between them are copies without them ---- */

static int32_t swapped_parts(maker *m) {
  const int32_t y = planes(m);
  const tn_attr axis = tn_attr_int("axis", 1);
  const int32_t a = op(m, "Relu", part(m, y, 0, 2), -1), b = op(m, "Neg", part(m, y, 2, C), -1);
  return rows(m, op_with(m, "Concat", b, a, &axis));
}
static int32_t cropped_pad(maker *m) {
  const int64_t pads[8] = {0, 1, 0, 2, 0, -1, 0, -2};
  const int32_t y = op(m, "Pad", op(m, "Relu", planes(m), -1), ints(m, pads, 8));
  return rows(m, op(m, "Exp", y, -1));
}

/* ---- nothing is won ---- */

static int32_t one_only(maker *m) { return op(m, "Relu", planes(m), -1); }
static int32_t read_before(maker *m) {
  const int32_t y = op(m, "Relu", planes(m), -1);
  m->also = y;
  return op(m, "Neg", y, -1);
}

/* Too many inputs to be moved; but between plain and channels-last order nothing is copied. */
static int32_t wide(maker *m) {
  enum { MANY = 70 };
  const int32_t y = planes(m);
  int32_t inputs[MANY];
  for (int k = 0; k < MANY; k++) inputs[k] = y;
  return rows(m, node_of(m, "Sum", inputs, MANY, NULL, 0));
}

/* ---- running ---- */

static void run(make_fn make, uint32_t flags, char ops[KIT_MAX_TEXT], float y[N]) {
  const int64_t dims[] = {1, H, W, C};
  float x[N];
  for (int i = 0; i < N; i++) x[i] = (float)(i * 5 % 17) / 8 - 1;
  const tn_tensor in = tn_tensor_make(TN_F32, 4, dims, x);
  kit_run(make, &in, flags, ops, y);
}

static int count(const char *ops, const char *name) {
  int n = 0;
  for (const char *at = ops; (at = strstr(at, name)); at++) n++;
  return n;
}

static void check(make_fn make, int n_regions) {
  char ops[KIT_MAX_TEXT], spelt[KIT_MAX_TEXT];
  float y[N], want[N];
  run(make, 0, ops, y);
  run(make, TN_MODEL_NO_OPTIMIZE, spelt, want);
  if (count(ops, "Region") != n_regions) fail_msg("%s became %s", spelt, ops);
  for (int i = 0; i < N; i++)
    if (!(fabsf(y[i] - want[i]) <= 1e-5f * (1 + fabsf(want[i]))))
      fail_msg("%s, element %d: %g, not %g", ops, i, (double)y[i], (double)want[i]);
}

static void test_gone(void **state) {
  (void)state;
  check(unary, 0);
  check(per_channel, 0);
  check(two_inputs, 0);
  check(softmax, 0);
  check(gated, 0);
  check(apart, 0);
}

static void test_copies(void **state) {
  (void)state;
  check(swapped_parts, 3);
  check(cropped_pad, 1);
}

static void test_nothing_won(void **state) {
  (void)state;
  check(one_only, 1);
  check(read_before, 1);
  check(wide, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_gone), cmocka_unit_test(test_copies),
                                     cmocka_unit_test(test_nothing_won)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
