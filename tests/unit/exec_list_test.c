/* Lists and cells: deep copies, limits of optionals and maps, reuse of memory, refusal of what
 * is no value. */
#include "exec_parts.h"

#include "exec/cell.h"

static void test_sequence_copies_items(void **state) {
  bench b;
  (void)state;
  bench_open(&b, NULL, 1);
  tn_tensor *list = NULL;
  assert_int_equal(tn_list_create(b.runtime, TN_KIND_SEQUENCE, TN_F32, &list), TN_OK);
  float data[2] = {1, 2};
  tn_tensor t = vector(TN_F32, 2, data);
  assert_int_equal(tn_list_append(list, &t), TN_OK);
  data[0] = 9;
  assert_int_equal(tn_list_append(list, &t), TN_OK);
  assert_int_equal(tn_list_size(list), 2);
  assert_true(((const float *)tn_list_item(list, 0)->data)[0] == 1);
  assert_true(((const float *)tn_list_item(list, 1)->data)[0] == 9);
  assert_null(tn_list_item(list, 2));
  assert_null(tn_list_item(list, -1));
  assert_int_equal(tn_list_append(list, list), TN_OK); /* a copy of what it was */
  assert_int_equal(tn_list_size(list), 3);
  assert_int_equal(tn_list_size(tn_list_item(list, 2)), 2);
  tn_list_destroy(list);
  bench_close(&b);
}

static void test_optional_and_map_are_full(void **state) {
  bench b;
  (void)state;
  bench_open(&b, NULL, 1);
  float one = 1;
  tn_tensor t = vector(TN_F32, 1, &one), *list = NULL;
  for (uint32_t kind = TN_KIND_OPTIONAL; kind <= TN_KIND_MAP; kind++) {
    assert_int_equal(tn_list_create(b.runtime, kind, TN_F32, &list), TN_OK);
    for (uint32_t k = 0; k < kind - 1; k++) assert_int_equal(tn_list_append(list, &t), TN_OK);
    assert_int_equal(tn_list_append(list, &t), TN_ERR_INVALID);
    tn_list_destroy(list);
  }
  assert_int_equal(tn_list_create(b.runtime, TN_KIND_TENSOR, TN_F32, &list), TN_ERR_INVALID);
  assert_null(list);
  assert_int_equal(tn_list_create(b.runtime, 77, TN_F32, &list), TN_ERR_INVALID);
  assert_int_equal(tn_list_size(&t), 0);
  assert_int_equal(tn_list_append(&t, &t), TN_ERR_INVALID);
  tn_list_destroy(NULL);
  bench_close(&b);
}

static void test_cell_refuses_what_is_no_value(void **state) {
  (void)state;
  tn_cell c;
  float x = 1;
  tn_cell_init(&c, tn_default_allocator());
  tn_tensor t = vector(TN_F32, 1, &x);
  assert_int_equal(tn_cell_set(&c, &t), TN_OK);
  tn_tensor bad = t;
  bad.rank = 9;
  assert_int_equal(tn_cell_set(&c, &bad), TN_ERR_INVALID);
  bad = t;
  bad.shape[0] = -1;
  assert_int_equal(tn_cell_set(&c, &bad), TN_ERR_INVALID);
  bad = t;
  bad.dtype = 99;
  assert_int_equal(tn_cell_set(&c, &bad), TN_ERR_INVALID);
  bad = t;
  bad.data = NULL;
  assert_int_equal(tn_cell_set(&c, &bad), TN_ERR_INVALID);
  bad.shape[0] = INT64_MAX;
  assert_int_equal(tn_cell_shape(&c, &bad), TN_ERR_OVERFLOW);
  assert_true(((const float *)c.value.data)[0] == 1); /* as it was */
  tn_cell_clear(&c);
}

static void test_cell_keeps_its_memory(void **state) {
  (void)state;
  tn_cell c;
  tn_cell_init(&c, tn_default_allocator());
  tn_tensor t = vector(TN_F32, 100, NULL);
  assert_int_equal(tn_cell_shape(&c, &t), TN_OK);
  void *data = c.value.data;
  t.shape[0] = 10;
  assert_int_equal(tn_cell_shape(&c, &t), TN_OK);
  assert_ptr_equal(c.value.data, data);
  t.shape[0] = 100;
  assert_int_equal(tn_cell_shape(&c, &t), TN_OK);
  assert_ptr_equal(c.value.data, data);
  tn_cell_clear(&c);
}

static void test_strings_are_copied(void **state) {
  (void)state;
  tn_cell c;
  char text[3000];
  memset(text, 'x', sizeof text);
  tn_str from[3] = {{"a", 1}, {text, sizeof text}, {NULL, 0}};
  tn_tensor t = vector(TN_STRING, 3, from);
  tn_cell_init(&c, tn_default_allocator());
  for (int k = 0; k < 3; k++) {
    assert_int_equal(tn_cell_set(&c, &t), TN_OK);
    const tn_str *to = c.value.data;
    assert_int_equal(to[0].size, 1);
    assert_int_equal(to[0].data[0], 'a');
    assert_int_equal(to[1].size, sizeof text);
    assert_memory_equal(to[1].data, text, sizeof text);
    assert_ptr_not_equal(to[1].data, text);
    assert_int_equal(to[2].size, 0);
  }
  assert_int_equal(tn_cell_string(&c, 3, "x", 1), TN_ERR_INVALID);
  assert_int_equal(tn_cell_string(&c, -1, "x", 1), TN_ERR_INVALID);
  assert_int_equal(tn_cell_string(&c, 0, "x", -1), TN_ERR_INVALID);
  assert_int_equal(tn_cell_string(&c, 0, NULL, 4), TN_ERR_INVALID);
  tn_cell_clear(&c);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_sequence_copies_items),
      cmocka_unit_test(test_optional_and_map_are_full),
      cmocka_unit_test(test_cell_refuses_what_is_no_value),
      cmocka_unit_test(test_cell_keeps_its_memory),
      cmocka_unit_test(test_strings_are_copied),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
