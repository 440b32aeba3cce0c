/* Convolutions that widen, go channel by channel and narrow again: where what is in between is
 * large they become tenon::InvertedResidual, and answer the same; others stay as they are. */
#include "base/cpu.h"
#include "fuse_kit.h"

enum { SIDE = 16, WIDE = 1024, N = SIDE * SIDE };

/* Numbers of which sums of WIDE stay small. */
static int32_t weights(maker *m, int64_t filters, int64_t channels, int64_t kernel) {
  static float data[WIDE * 9];
  const int64_t n = filters * channels * kernel * kernel;
  for (int64_t i = 0; i < n; i++) data[i] = (float)(i * 37 % 19 - 9) / (channels > 1 ? 300 : 10);
  return constant(m, TN_F32, 4, (const int64_t[]){filters, channels, kernel, kernel}, data);
}

static int32_t vector(maker *m, int64_t n, float value) {
  static float data[WIDE];
  for (int64_t i = 0; i < n; i++) data[i] = value + (float)(i % 7) / 20;
  return constant(m, TN_F32, 1, &n, data);
}

static int32_t conv(maker *m, int32_t x, int32_t w, int64_t bias, int64_t group, int64_t pad) {
  const int64_t pads[4] = {pad, pad, pad, pad};
  const tn_attr g = tn_attr_int("group", group), p = tn_attr_ints("pads", (tn_ints){pads, 4});
  const int32_t inputs[3] = {x, w, bias ? vector(m, bias, -0.1f) : -1};
  return node_of(m, "Conv", inputs, bias ? 3 : 2, (const tn_attr *const[]){&g, &p}, 2);
}

static int32_t clip(maker *m, int32_t x) {
  return node_of(m, "Clip", (const int32_t[]){x, number(m, 0), number(m, 6)}, 3, NULL, 0);
}

static int32_t widened(maker *m, int64_t wide) {
  return conv(m, m->x, weights(m, wide, 1, 1), wide, 1, 0);
}
static int32_t depthwise(maker *m, int32_t x, int64_t wide) {
  return conv(m, x, weights(m, wide, 1, 3), wide, wide, 1);
}
static int32_t narrowed(maker *m, int32_t x, int64_t wide) {
  return conv(m, x, weights(m, 1, wide, 1), 1, 1, 0);
}

static int32_t clips(maker *m) {
  return narrowed(m, clip(m, depthwise(m, clip(m, widened(m, WIDE)), WIDE)), WIDE);
}
static int32_t residual(maker *m) { return op(m, "Add", m->x, clips(m)); }
static int32_t relu_and_swish(maker *m) {
  const int32_t wide = op(m, "Relu", widened(m, WIDE), -1);
  return narrowed(m, op(m, "HardSwish", depthwise(m, wide, WIDE), -1), WIDE);
}
static int32_t nothing_between(maker *m) {
  return narrowed(m, depthwise(m, widened(m, WIDE), WIDE), WIDE);
}
static int32_t normalised(maker *m) { /* becomes part of the last convolution first */
  const int32_t y = clips(m), inputs[5] = {y, vector(m, 1, 1.5f), vector(m, 1, 0.25f),
                                           vector(m, 1, 0.5f), vector(m, 1, 2)};
  return node_of(m, "BatchNormalization", inputs, 5, NULL, 0);
}

static int32_t small(maker *m) {
  return narrowed(m, clip(m, depthwise(m, clip(m, widened(m, WIDE / 2)), WIDE / 2)), WIDE / 2);
}
static int32_t is_read(maker *m) {
  m->also = clip(m, widened(m, WIDE));
  return narrowed(m, depthwise(m, m->also, WIDE), WIDE);
}
static int32_t other_activation(maker *m) {
  return narrowed(m, depthwise(m, op(m, "Tanh", widened(m, WIDE), -1), WIDE), WIDE);
}
static int32_t window_at_first(maker *m) {
  const int32_t wide = conv(m, m->x, weights(m, WIDE, 1, 3), 0, 1, 1);
  return narrowed(m, depthwise(m, wide, WIDE), WIDE);
}
static int32_t window_at_last(maker *m) {
  return conv(m, depthwise(m, widened(m, WIDE), WIDE), weights(m, 1, WIDE, 3), 0, 1, 1);
}

static void check(make_fn make, bool fuses) {
  const int64_t dims[4] = {1, 1, SIDE, SIDE};
  float x[N];
  char ops[KIT_MAX_TEXT];
  for (int i = 0; i < N; i++) x[i] = (float)(i * 29 % 31 - 15) / 10;
  const tn_tensor in = tn_tensor_make(TN_F32, 4, dims, x);
  kit_check(make, &in, "InvertedResidual", fuses, ops);
  assert_null(strstr(ops, "BatchNormalization"));
}

static void inverted_residuals(void **state) {
  (void)state;
  const bool fuses = tn_cpu_isa() & (TN_ISA_AVX512 | TN_ISA_NEON); /* not with AVX2 alone */
  check(clips, fuses);
  check(residual, fuses);
  check(relu_and_swish, fuses);
  check(nothing_between, fuses);
  check(normalised, fuses);
}

static void others(void **state) {
  (void)state;
  check(small, false);
  check(is_read, false);
  check(other_activation, false);
  check(window_at_first, false);
  check(window_at_last, false);
}

/* ---- who wins over it ---- */

static void pins(void **state) {
  (void)state;
  kit_pin = "Conv=conv_f32_c";
  check(clips, false);
  kit_pin = "Clip=clip_float_c"; /* of a node in between */
  check(clips, false);
  kit_pin = NULL;
}

/* A kernel of a plug-in: any Conv of one channel per group or one group, slowly. */
static tn_status slow_plan(const tn_call *c, tn_kernel_plan *out) {
  (void)c;
  out->items[0] = 1;
  return TN_OK;
}

static float at(const tn_call *c, int64_t group, int64_t channel, int64_t y, int64_t x) {
  const tn_tensor *t = c->inputs[0];
  const int64_t side = t->shape[2], per_group = c->inputs[1]->shape[1];
  if (y < 0 || x < 0 || y >= side || x >= side) return 0;
  return ((const float *)t->data)[((group * per_group + channel) * side + y) * side + x];
}

static float slow_sum(const tn_call *c, int64_t m, int64_t group, int64_t i, int64_t j) {
  const tn_tensor *w = c->inputs[1];
  const int64_t k = w->shape[2];
  double sum = c->n_inputs > 2 && c->inputs[2] ? ((const float *)c->inputs[2]->data)[m] : 0;
  for (int64_t t = 0; t < w->shape[1] * k * k; t++)
    sum += (double)((const float *)w->data)[m * w->shape[1] * k * k + t] *
           (double)at(c, group, t / (k * k), i + t / k % k - k / 2, j + t % k - k / 2);
  return (float)sum;
}

static tn_status slow_run(const tn_call *c, uint32_t stage, int64_t begin, int64_t end,
                          uint32_t worker) {
  const tn_tensor *w = c->inputs[1];
  const int64_t groups = c->inputs[0]->shape[1] / w->shape[1], per = w->shape[0] / groups;
  (void)stage, (void)begin, (void)end, (void)worker;
  for (int64_t o = 0; o < w->shape[0] * N; o++)
    ((float *)c->outputs[0]->data)[o] = slow_sum(c, o / N, o / N / per, o % N / SIDE, o % SIDE);
  return TN_OK;
}
TN_ACCEPT(plain, .arg = "*", .dtypes = TN_MASK(TN_F32));
TN_LIST(const tn_accept *, slow_rows, &plain);
TN_KERNEL(slow_conv, .op = "Conv", .plan = slow_plan, .run = slow_run, TN_SET(accepts, slow_rows));
static const tn_kernel *const slow_kernels[] = {&slow_conv};
static const tn_plugin slow = {.head = TN_HEAD(tn_plugin),
                               .name = "slow",
                               .version = "1",
                               .license = "Apache-2.0",
                               .build_id = "test",
                               .flavour = TN_FLAVOUR,
                               .n_kernels = 1,
                               .kernels = slow_kernels};
static const tn_plugin *slow_query(uint32_t major, uint32_t minor) {
  (void)major, (void)minor;
  return &slow;
}

static void plugins(void **state) {
  (void)state;
  kit_plugin = slow_query;
  check(clips, false);
  kit_plugin = NULL;
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(inverted_residuals), cmocka_unit_test(others),
                                     cmocka_unit_test(pins), cmocka_unit_test(plugins)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
