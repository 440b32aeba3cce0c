/* Tensor descriptions: sizes in every layout, places of elements, text. */
#include "tenon/kit/tensor.h"
#include "tenon/kit/text.h"
#include "tenon/tenon.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void sizes(void **state) {
  (void)state;
  const int64_t dims[] = {2, 3, 4, 5}, open[] = {2, -1}, huge[] = {INT64_C(1) << 40, 1 << 30};
  tn_tensor t = tn_tensor_make(TN_F16, 4, dims, NULL);
  assert_int_equal(t.head.size, sizeof t);
  assert_int_equal(tn_tensor_elements(&t), 120);
  assert_int_equal(tn_tensor_bytes(&t), 240);
  assert_int_equal(tn_storage_bytes(&t), 240);
  t.layout = TN_CHANNELS_LAST;
  assert_int_equal(tn_storage_elements(&t), 120);
  t.layout = TN_BLOCKED(8);
  assert_int_equal(tn_storage_elements(&t), 2 * 8 * 20);
  t.layout = TN_BLOCKED(0);
  assert_int_equal(tn_storage_elements(&t), -1);
  t.layout = TN_ANY_LAYOUT;
  assert_int_equal(tn_storage_bytes(&t), -1);
  t = tn_tensor_make(TN_F32, 0, NULL, NULL);
  assert_int_equal(tn_tensor_elements(&t), 1);
  t.layout = TN_BLOCKED(8);
  assert_int_equal(tn_storage_elements(&t), -1);
  t = tn_tensor_make(TN_F32, 2, open, NULL);
  assert_int_equal(tn_tensor_elements(&t), -1);
  assert_int_equal(tn_tensor_bytes(&t), -1);
  t = tn_tensor_make(TN_U8, 2, huge, NULL);
  assert_int_equal(tn_tensor_elements(&t), -1);
  t = tn_tensor_make(TN_U8, 9, huge, NULL);
  assert_int_equal(t.rank, TN_RANK_UNKNOWN);
  assert_int_equal(tn_tensor_elements(&t), -1);
}

/* By the definitions in plugin.h: storage [N][X...][C], and [N][ceil(C/b)][X...][b]. */
static void places(void **state) {
  (void)state;
  const int64_t dims[] = {2, 5, 3, 2}, n_pixels = 6;
  tn_tensor t = tn_tensor_make(TN_F32, 4, dims, NULL);
  int64_t index = 0;
  for (int64_t n = 0; n < 2; n++) {
    for (int64_t c = 0; c < 5; c++) {
      for (int64_t x = 0; x < n_pixels; x++, index++) {
        t.layout = TN_PLAIN;
        assert_int_equal(tn_storage_index(&t, index), index);
        t.layout = TN_CHANNELS_LAST;
        assert_int_equal(tn_storage_index(&t, index), (n * n_pixels + x) * 5 + c);
        t.layout = TN_BLOCKED(4);
        assert_int_equal(tn_storage_index(&t, index), ((n * 2 + c / 4) * n_pixels + x) * 4 + c % 4);
      }
    }
  }
}

static void same(void **state) {
  (void)state;
  const int64_t a[] = {2, 3}, b[] = {2, 4};
  tn_tensor x = tn_tensor_make(TN_F32, 2, a, NULL), y = x;
  assert_true(tn_same_shape(&x, &y));
  y.dtype = TN_F64;
  assert_false(tn_same_shape(&x, &y));
  y = tn_tensor_make(TN_F32, 2, b, NULL);
  assert_false(tn_same_shape(&x, &y));
  y = tn_tensor_make(TN_F32, 1, a, NULL);
  assert_false(tn_same_shape(&x, &y));
}

static void text(void **state) {
  (void)state;
  const int64_t dims[] = {1, -1, 224}, wide[] = {INT64_MIN + 1, INT64_MAX, INT64_MAX, INT64_MAX,
                                                 INT64_MAX,     INT64_MAX, INT64_MAX, INT64_MAX};
  char buf[TN_TENSOR_TEXT], tiny[6];
  tn_tensor t = tn_tensor_make(TN_F32, 3, dims, NULL);
  assert_string_equal(tn_tensor_text(&t, buf, sizeof buf), "f32[1,?,224]");
  assert_string_equal(tn_tensor_text(&t, tiny, sizeof tiny), "f32[1");
  t.kind = TN_KIND_SEQUENCE;
  assert_string_equal(tn_tensor_text(&t, buf, sizeof buf), "sequence of f32");
  t.elements = TN_ELEMENTS(TN_KIND_MAP, TN_ELEMENTS_KEY(TN_I64));
  assert_string_equal(tn_tensor_text(&t, buf, sizeof buf), "sequence of map of i64 to f32");
  assert_string_equal(tn_tensor_text(&t, tiny, sizeof tiny), "seque");
  t = tn_tensor_make(TN_I64, 0, NULL, NULL);
  assert_string_equal(tn_tensor_text(&t, buf, sizeof buf), "i64[]");
  t = tn_tensor_make(TN_NONE, TN_RANK_UNKNOWN, NULL, NULL);
  assert_string_equal(tn_tensor_text(&t, buf, sizeof buf), "?[...]");
  t = tn_tensor_make(TN_F8E4M3FNUZ, 8, wide, NULL);
  assert_true(strlen(tn_tensor_text(&t, buf, sizeof buf)) < sizeof buf);
  assert_string_equal(tn_tensor_text(&t, buf, 1), "");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sizes),
      cmocka_unit_test(places),
      cmocka_unit_test(same),
      cmocka_unit_test(text),
  };
  return cmocka_run_group_tests_name("base_tensor", tests, NULL, NULL);
}
