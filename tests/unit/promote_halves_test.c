/* Nodes in f16 and bf16 are computed in f32: values between them are not rounded, those that the
 * model rounds are, rewrites see what they see in f32, and what is only moved stays as it is. */
#include "fuse_kit.h"
#include "graph/graph.h"

enum { N = 4, F32 = 1, F16 = 10, BF16 = 16 }; /* as ONNX numbers them */

static int32_t cast(maker *m, int32_t x, int64_t to) {
  const tn_attr attr = tn_attr_int("to", to);
  return op_with(m, "Cast", x, -1, &attr);
}
static int32_t half_number(maker *m, uint16_t bits) { return constant(m, TN_F16, 0, NULL, &bits); }
static int32_t half_row(maker *m, uint16_t bits) {
  const int64_t dims[] = {N};
  const uint16_t row[N] = {bits, bits, bits, bits};
  return constant(m, TN_F16, 1, dims, row);
}

/* Runs the graph on N times 1 + 2^-10, whose square is 1 + 2^-9 + 2^-20; in f16, 1 + 2^-9. */
static float run(make_fn make, uint32_t flags, char ops[KIT_MAX_TEXT]) {
  const int64_t dims[] = {1, N};
  float x[N], y[N];
  for (int i = 0; i < N; i++) x[i] = 1 + 0x1p-10f;
  const tn_tensor in = tn_tensor_make(TN_F32, 2, dims, x);
  kit_run(make, &in, flags, ops, y);
  for (int i = 1; i < N; i++) assert_true(y[i] == y[0]);
  return y[0];
}

enum { ONE = 0x3C00, ONE_AND_BIT = 0x3C02 /* 1 + 2^-9 */ };

static int32_t square_less(maker *m) { /* x^2 - (1 + 2^-9) */
  const int32_t x = cast(m, m->x, F16);
  return cast(m, op(m, "Sub", op(m, "Mul", x, x), half_number(m, ONE_AND_BIT)), F32);
}
static int32_t square_rounded_less(maker *m) {
  const int32_t x = cast(m, m->x, F16),
                y = cast(m, cast(m, cast(m, op(m, "Mul", x, x), F32), F16), F32);
  return op(m, "Sub", y, number(m, 1 + 0x1p-9f));
}
static int32_t square_shown_less(maker *m) { /* an output of the graph is half, as declared */
  const int32_t x = cast(m, m->x, F16);
  m->also = op(m, "Mul", x, x);
  return cast(m, op(m, "Sub", m->also, half_number(m, ONE_AND_BIT)), F32);
}
static int32_t squares_in_bf16(maker *m) { /* 1 + 2^-10 is 1 there */
  const int32_t x = cast(m, m->x, BF16);
  return cast(m, op(m, "Sqrt", op(m, "Mul", x, x), -1), F32);
}

static void values_between_are_not_rounded(void **state) {
  (void)state;
  char ops[KIT_MAX_TEXT];
  assert_true(run(square_less, 0, ops) == 0x1p-20f);
  assert_true(run(square_less, TN_MODEL_NO_OPTIMIZE, ops) == 0);
  assert_true(run(square_shown_less, 0, ops) == 0x1p-20f);
  assert_true(run(squares_in_bf16, 0, ops) == 1);
}

static void casts_of_the_model_round(void **state) {
  (void)state;
  char ops[KIT_MAX_TEXT];
  assert_true(run(square_rounded_less, 0, ops) == 0);
  assert_true(run(square_rounded_less, TN_MODEL_NO_OPTIMIZE, ops) == 0);
}

static int32_t mean(maker *m, int32_t x) {
  const int64_t n = 1, axis = -1;
  return op(m, "ReduceMean", x, constant(m, TN_I64, 1, &n, &axis));
}
static int32_t layer_norm(maker *m) {
  const int32_t x = cast(m, m->x, F16), c = op(m, "Sub", x, mean(m, x)),
                square = op(m, "Pow", c, half_number(m, 0x4000)),
                d = op(m, "Sqrt", op(m, "Add", mean(m, square), half_number(m, ONE)), -1),
                y = op(m, "Mul", op(m, "Div", c, d), half_row(m, ONE));
  return cast(m, op(m, "Add", y, half_row(m, ONE_AND_BIT)), F32);
}
static int32_t halves_are_sliced(maker *m) {
  const int64_t n = 1, from = 0, to = N, axis = 1, step = 2;
  const int32_t x = cast(m, m->x, F16), out = m->api->value(m->graph, NULL),
                inputs[5] = {x, constant(m, TN_I64, 1, &n, &from), constant(m, TN_I64, 1, &n, &to),
                             constant(m, TN_I64, 1, &n, &axis), constant(m, TN_I64, 1, &n, &step)};
  const tn_node slice = {.head = TN_HEAD(tn_node),
                         .domain = "",
                         .op = "Slice",
                         .name = "",
                         .inputs = inputs,
                         .n_inputs = 5,
                         .outputs = &out,
                         .n_outputs = 1,
                         .offset = -1};
  assert_true(m->api->add_node(m->graph, &slice) >= 0);
  m->also = op(m, "Neg", out, -1);
  return op(m, "Neg", m->x, -1);
}

static void rewrites_see_f32(void **state) {
  (void)state;
  char ops[KIT_MAX_TEXT];
  assert_true(run(layer_norm, 0, ops) == 1 + 0x1p-9f);
  assert_string_equal(ops, "Cast Cast LayerNormalization Cast Cast");
}

/* What the slice gives is cast, not all that it reads. */
static void moving_stays_half(void **state) {
  (void)state;
  char ops[KIT_MAX_TEXT];
  assert_true(run(halves_are_sliced, 0, ops) == -(1 + 0x1p-10f));
  if (!strstr(ops, "Cast Region Cast Neg Cast")) fail_msg("the steps are %s", ops);
}

static int32_t attend(maker *m, int32_t x) {
  const int32_t inputs[] = {x, x, x};
  return cast(m, node_of(m, "Attention", inputs, 3, NULL, 0), F32);
}
static int32_t attend_to_cache(maker *m) { return attend(m, cast(m, m->x, F16)); }
static int32_t attend_to_computed(maker *m) {
  const int32_t x = cast(m, m->x, F16);
  return attend(m, op(m, "Mul", x, x));
}

/* Keys and values that are half in memory are read as they are; computed ones are not rounded. */
static void attention_reads_caches(void **state) {
  (void)state;
  const int64_t dims[] = {1, 1, N, 1};
  float x[N] = {0.25f, 0.5f, 1, 2}, y[N];
  const tn_tensor in = tn_tensor_make(TN_F32, 4, dims, x);
  char ops[KIT_MAX_TEXT];
  kit_run(attend_to_cache, &in, 0, ops, y);
  assert_string_equal(ops, "Cast Attention Cast");
  kit_run(attend_to_computed, &in, 0, ops, y);
  assert_string_equal(ops, "Cast Cast Mul Attention Cast Cast");
}

/* Of one that is made at once, and of one that is there only while somebody reads it. */
static void constants_are_widened(void **state) {
  (void)state;
  enum { SMALL = 5, LATE = 20000 };
  static uint16_t half[LATE];
  for (int i = 0; i < LATE; i++) half[i] = (uint16_t)(i * 3);
  for (int k = 0; k < 4; k++) {
    const uint32_t dtype = k & 1 ? TN_BF16 : TN_F16;
    const int64_t n = k & 2 ? LATE : SMALL;
    tn_const *from = tn_const_borrow(tn_default_allocator(), half, (uint64_t)n * sizeof *half),
             *to = tn_const_promoted(tn_default_allocator(), from, dtype, n);
    assert_non_null(to);
    assert_int_equal(to->is_lazy, n == LATE);
    tn_const_release(from);
    for (int again = 0; again < 2; again++) {
      assert_int_equal(tn_const_fetch(to), TN_OK);
      for (int64_t i = 0; i < n; i++) {
        const float y = ((const float *)to->data)[i], want = (float)tn_load_f64(dtype, half, i);
        assert_true(y == want || (y != y && want != want));
      }
      tn_const_drop(to);
    }
    tn_const_release(to);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(values_between_are_not_rounded),
                                     cmocka_unit_test(casts_of_the_model_round),
                                     cmocka_unit_test(rewrites_see_f32),
                                     cmocka_unit_test(moving_stays_half),
                                     cmocka_unit_test(attention_reads_caches),
                                     cmocka_unit_test(constants_are_widened)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
