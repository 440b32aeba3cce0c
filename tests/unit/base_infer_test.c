/* The helpers for infer functions, called with a host that records what it is told. */
#include "tenon/kit/infer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

typedef struct record {
  char text[200];
  int64_t needed;
} record;

static tn_status record_fail(void *ctx, tn_status code, const char *format, ...) {
  record *r = ctx;
  va_list args;
  va_start(args, format);
  vsnprintf(r->text, sizeof r->text, format, args);
  va_end(args);
  return code;
}

static tn_status record_needs(void *ctx, uint32_t input) {
  ((record *)ctx)->needed = input;
  return TN_OK;
}

static const tn_host host = {
    .head = TN_HEAD(tn_host), .fail = record_fail, .needs_data = record_needs};

static tn_call call_make(record *r, uint32_t n_inputs, const tn_tensor *const *inputs,
                         uint32_t n_outputs, tn_tensor *const *outputs) {
  *r = (record){"", -1};
  return (tn_call){.head = TN_HEAD(tn_call),
                   .host = &host,
                   .ctx = r,
                   .n_inputs = n_inputs,
                   .inputs = inputs,
                   .n_outputs = n_outputs,
                   .outputs = outputs};
}

static void like(void **state) {
  (void)state;
  const int64_t dims[] = {2, -1};
  tn_tensor x = tn_tensor_make(TN_F16, 2, dims, NULL), y = tn_tensor_make(TN_NONE, -1, NULL, NULL),
            mask = y;
  mask.dtype = TN_BOOL; /* as given by a type rule */
  const tn_tensor *in[] = {&x, NULL};
  tn_tensor *out[] = {&y, &mask, NULL};
  record r;
  tn_call call = call_make(&r, 2, in, 3, out);
  assert_int_equal(tn_infer_like(&call, 0, 0), TN_OK);
  assert_true(tn_same_shape(&x, &y));
  assert_int_equal(tn_infer_like(&call, 1, 0), TN_OK);
  assert_int_equal(mask.dtype, TN_BOOL);
  assert_int_equal(mask.rank, 2);
  assert_int_equal(tn_infer_like(&call, 2, 0), TN_OK);
  assert_int_equal(tn_infer_like(&call, 0, 1), TN_ERR_INVALID);
  assert_string_equal(r.text, "input 1 is missing");
  assert_int_equal(tn_infer_like(&call, 0, 7), TN_ERR_INVALID);
}

static void broadcast(void **state) {
  (void)state;
  const int64_t a[] = {2, 1}, b[] = {3}, c[] = {4};
  tn_tensor x = tn_tensor_make(TN_F32, 2, a, NULL), y = tn_tensor_make(TN_F32, 1, b, NULL);
  tn_tensor z = tn_tensor_make(TN_F32, 1, c, NULL), out = tn_tensor_make(TN_NONE, -1, NULL, NULL);
  const tn_tensor *in[] = {&x, &y, &z};
  tn_tensor *outputs[] = {&out};
  record r;
  tn_call call = call_make(&r, 2, in, 1, outputs);
  char text[TN_TENSOR_TEXT];
  assert_int_equal(tn_infer_broadcast(&call), TN_OK);
  assert_string_equal(tn_tensor_text(&out, text, sizeof text), "f32[2,3]");
  call.n_inputs = 3;
  assert_int_equal(tn_infer_broadcast(&call), TN_ERR_SHAPE);
  assert_string_equal(
      r.text, "input 2, f32[4], does not broadcast with [2,3], the shape of the inputs before it");
}

static void axes(void **state) {
  (void)state;
  record r;
  tn_call call = call_make(&r, 0, NULL, 0, NULL);
  int32_t axis = 77;
  assert_int_equal(tn_axis_normalize(&call, -3, 3, &axis), TN_OK);
  assert_int_equal(axis, 0);
  assert_int_equal(tn_axis_normalize(&call, 2, 3, &axis), TN_OK);
  assert_int_equal(axis, 2);
  assert_int_equal(tn_axis_normalize(&call, 3, 3, &axis), TN_ERR_INVALID);
  assert_string_equal(r.text, "axis 3 is outside -3 .. 2, for rank 3");
  assert_int_equal(tn_axis_normalize(&call, INT64_MIN, 3, &axis), TN_ERR_INVALID);
  assert_int_equal(axis, 2);
  assert_true(tn_dims_equal_or_unknown(-1, 4) && tn_dims_equal_or_unknown(4, 4) &&
              !tn_dims_equal_or_unknown(3, 4));
}

static void constants(void **state) {
  (void)state;
  const int64_t three[] = {3}, zero[] = {0};
  int32_t ints[] = {1, -2, 3};
  float floats[] = {0.5f, 2, 3};
  tn_tensor x = tn_tensor_make(TN_I32, 1, three, ints),
            f = tn_tensor_make(TN_F32, 1, three, floats);
  tn_tensor later = tn_tensor_make(TN_I64, 1, three, NULL),
            none = tn_tensor_make(TN_I64, 1, zero, NULL);
  const tn_tensor *in[] = {&x, &later, &none, &f, NULL};
  record r;
  tn_call call = call_make(&r, 5, in, 0, NULL);
  int64_t out[3], n = -1;
  double d[3];
  assert_int_equal(tn_const_ints(&call, 0, out, 3, &n), TN_OK);
  assert_int_equal(n, 3);
  assert_int_equal(out[1], -2);
  assert_int_equal(tn_const_ints(&call, 0, out, 2, &n), TN_ERR_SHAPE);
  assert_int_equal(tn_const_ints(&call, 1, out, 3, &n), TN_NEEDS_DATA);
  assert_int_equal(r.needed, 1);
  assert_int_equal(tn_const_ints(&call, 2, out, 3, &n), TN_OK);
  assert_int_equal(n, 0);
  assert_int_equal(tn_const_ints(&call, 3, out, 3, &n), TN_ERR_SHAPE);
  assert_int_equal(tn_const_floats(&call, 3, d, 3, &n), TN_OK);
  assert_true(d[0] == 0.5);
  assert_int_equal(tn_const_ints(&call, 4, out, 3, &n), TN_ERR_INVALID);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(like),
      cmocka_unit_test(broadcast),
      cmocka_unit_test(axes),
      cmocka_unit_test(constants),
  };
  return cmocka_run_group_tests_name("base_infer", tests, NULL, NULL);
}
