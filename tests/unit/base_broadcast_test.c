/* Broadcasting: shapes, and runs over random ranges against the plain odometer of numpy's rule. */
#include "tenon/kit/broadcast.h"
#include "tenon/tenon.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static tn_tensor make(int32_t rank, const int64_t *dims) {
  return tn_tensor_make(TN_F32, rank, dims, NULL);
}

/* Element of `in` that output element `index` reads, by the definition. */
static int64_t source_of(const tn_tensor *out, const tn_tensor *in, int64_t index) {
  int64_t offset = 0, step = 1;
  for (int32_t k = out->rank - 1, j = in->rank - 1; k >= 0; k--, j--) {
    int64_t x = index % out->shape[k];
    index /= out->shape[k];
    if (j < 0) continue;
    if (in->shape[j] != 1) offset += x * step;
    step *= in->shape[j];
  }
  return offset;
}

/* Walks [begin, end) and checks that the runs cover it once, in order, each element with the right
 * sources. */
static int64_t check_range(const tn_broadcast *b, const tn_tensor *out, const tn_tensor *const *in,
                           int64_t begin, int64_t end) {
  int64_t next = begin, n_runs = 0;
  tn_runs r = tn_runs_begin(b, begin, end);
  while (tn_runs_next(&r)) {
    assert_int_equal(r.index, next);
    assert_true(r.length > 0);
    for (int64_t e = 0; e < r.length; e++) {
      for (uint32_t i = 0; i < b->n; i++) {
        assert_int_equal(r.offset[i] + e * r.stride[i], source_of(out, in[i], r.index + e));
      }
    }
    next += r.length;
    n_runs++;
  }
  assert_int_equal(next, end);
  return n_runs;
}

static void runs_random(void **state) {
  (void)state;
  srand(1);
  for (int round = 0; round < 3000; round++) {
    uint32_t n = (uint32_t)(rand() % 4 + 1);
    int32_t rank = rand() % 6;
    int64_t dims[TN_MAX_RANK], own[TN_MAX_RANK];
    tn_tensor in[4], out;
    const tn_tensor *list[4];
    for (int32_t k = 0; k < rank; k++) dims[k] = rand() % 4 + 1;
    for (uint32_t i = 0; i < n; i++) {
      int32_t skip = rand() % 2 ? rand() % (rank + 1) : 0;
      for (int32_t k = skip; k < rank; k++) own[k - skip] = rand() % 3 ? dims[k] : 1;
      in[i] = make(rank - skip, own);
      list[i] = &in[i];
    }
    out = make(0, NULL);
    assert_int_equal(tn_broadcast_shape(n, list, &out), TN_OK);
    tn_broadcast b;
    assert_int_equal(tn_broadcast_init(&b, &out, n, list), TN_OK);
    assert_int_equal(b.total, tn_tensor_elements(&out));
    check_range(&b, &out, list, 0, b.total);
    int64_t begin = rand() % (b.total + 1), end = begin + rand() % (b.total - begin + 1);
    check_range(&b, &out, list, begin, end);
  }
}

static void dims_merge(void **state) {
  (void)state;
  const int64_t full[] = {2, 3, 4, 5}, channel[] = {3, 1, 1};
  tn_tensor x = make(4, full), y = make(3, channel), out = make(4, full);
  const tn_tensor *same[] = {&x, &x}, *scaled[] = {&x, &y};
  tn_broadcast b;
  assert_int_equal(tn_broadcast_init(&b, &out, 2, same), TN_OK);
  assert_int_equal(check_range(&b, &out, same, 0, 120), 1);
  assert_int_equal(check_range(&b, &out, same, 7, 50), 1);
  assert_int_equal(tn_broadcast_init(&b, &out, 2, scaled), TN_OK);
  assert_int_equal(b.rank, 3);
  assert_int_equal(check_range(&b, &out, scaled, 0, 120), 6); /* 2 images of 3 channels of 20 */
  assert_int_equal(check_range(&b, &out, scaled, 19, 21), 2);
}

static void empty_and_scalar(void **state) {
  (void)state;
  const int64_t none[] = {3, 0, 2}, one[] = {1, 1};
  tn_tensor x = make(3, none), s = make(2, one), out = make(3, none), scalar = make(0, NULL);
  const tn_tensor *list[] = {&x, &s};
  tn_broadcast b;
  assert_int_equal(tn_broadcast_init(&b, &out, 2, list), TN_OK);
  assert_int_equal(b.total, 0);
  assert_int_equal(check_range(&b, &out, list, 0, 0), 0);
  const tn_tensor *scalars[] = {&scalar};
  assert_int_equal(tn_broadcast_init(&b, &scalar, 1, scalars), TN_OK);
  assert_int_equal(check_range(&b, &scalar, scalars, 0, 1), 1);
}

static void layouts(void **state) {
  (void)state;
  const int64_t dims[] = {1, 3, 2, 2}, channel[] = {3, 1, 1};
  tn_tensor x = make(4, dims), out = x, scalar = make(0, NULL), y = make(3, channel);
  x.layout = out.layout = TN_BLOCKED(8);
  const tn_tensor *flat[] = {&x, &scalar}, *mixed[] = {&x, &y};
  tn_broadcast b;
  assert_int_equal(tn_broadcast_init(&b, &out, 2, flat), TN_OK);
  assert_int_equal(b.total, 32);
  assert_int_equal(b.rank, 1);
  assert_int_equal(b.stride[0][0], 1);
  assert_int_equal(b.stride[1][0], 0);
  assert_int_equal(tn_broadcast_init(&b, &out, 2, mixed), TN_ERR_UNSUPPORTED);
}

/* Every element of out, in any layout, is computed from the right element of an operand in that
 * layout or plain. */
static void check_layout(const tn_tensor *out, const tn_tensor *in) {
  int64_t from[4096], n = tn_tensor_elements(out);
  tn_broadcast b;
  tn_status status = tn_broadcast_init(&b, out, 1, &in);
  if (status == TN_ERR_UNSUPPORTED) return;
  assert_int_equal(status, TN_OK);
  assert_int_equal(b.total, tn_storage_elements(out));
  tn_runs r = tn_runs_begin(&b, 0, b.total);
  while (tn_runs_next(&r)) {
    for (int64_t i = 0; i < r.length; i++) from[r.index + i] = r.offset[0] + i * r.stride[0];
  }
  for (int64_t i = 0; i < n; i++) {
    assert_int_equal(from[tn_storage_index(out, i)], tn_storage_index(in, source_of(out, in, i)));
  }
}

static void operands_in_layouts(void **state) {
  (void)state;
  const tn_layout layouts[] = {TN_CHANNELS_LAST, TN_BLOCKED(4), TN_BLOCKED(8)};
  const int64_t channels[] = {1, 3, 8, 12, 16};
  for (int round = 0; round < 3000; round++) {
    int64_t dims[] = {1 + rand() % 3, channels[rand() % 5], 1 + rand() % 3, 1 + rand() % 4}, own[4];
    for (int k = 0; k < 4; k++) own[k] = rand() % 2 ? dims[k] : 1;
    tn_tensor out = make(4, dims), same = make(4, own);
    int32_t skip = own[0] == 1 ? rand() % 2 : 0;
    tn_tensor plain = make(4 - skip, own + skip);
    out.layout = same.layout = layouts[rand() % 3];
    check_layout(&out, &same);
    check_layout(&out, &plain);
  }
  const int64_t dims[] = {2, 16, 3, 3}, channel[] = {16, 1, 1}, squeezed[] = {2, 16, 1, 1};
  tn_tensor out = make(4, dims), bias = make(3, channel), scale = make(4, squeezed);
  out.layout = scale.layout = TN_BLOCKED(8);
  const tn_tensor *list[] = {&bias, &scale};
  tn_broadcast b;
  assert_int_equal(tn_broadcast_init(&b, &out, 2, list), TN_OK);
}

static void shapes(void **state) {
  (void)state;
  const int64_t a[] = {-1, 1, 4}, c[] = {5, -1}, bad[] = {3}, wide[] = {2, 3};
  tn_tensor x = make(3, a), y = make(2, c), z = make(1, bad), out = make(0, NULL),
            unknown = make(-1, NULL);
  const tn_tensor *list[] = {&x, NULL, &y}, *wrong[] = {&x, &z}, *open[] = {&x, &unknown};
  assert_int_equal(tn_broadcast_shape(3, list, &out), TN_OK);
  const int64_t expected[] = {-1, 5, 4};
  assert_int_equal(out.rank, 3);
  assert_memory_equal(out.shape, expected, sizeof expected);
  assert_int_equal(tn_broadcast_shape(2, wrong, &out), TN_ERR_SHAPE);
  assert_int_equal(out.rank, 3);
  assert_int_equal(tn_broadcast_shape(2, open, &out), TN_OK);
  assert_int_equal(out.rank, TN_RANK_UNKNOWN);
  tn_tensor w = make(2, wide);
  const tn_tensor *too_wide[] = {&w};
  tn_broadcast b;
  assert_int_equal(tn_broadcast_init(&b, &z, 1, too_wide), TN_ERR_SHAPE);
  assert_int_equal(tn_broadcast_init(&b, &x, 1, too_wide), TN_ERR_SHAPE);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(runs_random),         cmocka_unit_test(dims_merge),
      cmocka_unit_test(empty_and_scalar),    cmocka_unit_test(layouts),
      cmocka_unit_test(operands_in_layouts), cmocka_unit_test(shapes),
  };
  return cmocka_run_group_tests_name("base_broadcast", tests, NULL, NULL);
}
