/* Schemas as selected builds read them: of each operator that is built in, and of what none of
 * these has, the reader that trusts its text finds what the parser does. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "registry/builtin.h"
#include "without/schema.c"

static void same_text(const char *a, const char *b) {
  assert_int_equal(a == NULL, b == NULL);
  if (a) assert_string_equal(a, b);
}

static void same_args(const tn_arg *a, const tn_arg *b, int32_t n) {
  for (int32_t k = 0; k < n; k++) {
    same_text(a[k].name, b[k].name);
    same_text(a[k].alias, b[k].alias);
    assert_int_equal(a[k].written, b[k].written);
    assert_int_equal(a[k].keyword_only, b[k].keyword_only);
    assert_int_equal(a[k].role, b[k].role);
    assert_int_equal(a[k].offset, b[k].offset);
    assert_int_equal(a[k].present_offset, b[k].present_offset);
    assert_int_equal(a[k].has_default, b[k].has_default);
    assert_int_equal(a[k].n_default, b[k].n_default);
    assert_int_equal(a[k].default_strs == NULL, b[k].default_strs == NULL);
  }
}

/* The canonical form of a text, read both ways. */
static void expect_same(const char *text) {
  tn_arena arena;
  tn_schema parsed, trusted;
  tn_text once, again;
  tn_arena_init(&arena, tn_default_allocator());
  tn_text_init(&once, tn_default_allocator());
  tn_text_init(&again, tn_default_allocator());
  assert_int_equal(tn_schema_parse(text, &arena, NULL, NULL, &parsed), TN_OK);
  tn_schema_print_numbers(&parsed, &once);
  assert_int_equal(tn_schema_trust(tn_text_get(&once), &arena, &trusted), TN_OK);
  tn_schema_print_numbers(&trusted, &again);
  assert_string_equal(tn_text_get(&once), tn_text_get(&again));
  assert_int_equal(parsed.n_args, trusted.n_args);
  assert_int_equal(parsed.n_returns, trusted.n_returns);
  assert_int_equal(parsed.n_inputs, trusted.n_inputs);
  assert_int_equal(parsed.n_outputs, trusted.n_outputs);
  assert_int_equal(parsed.input_lists, trusted.input_lists);
  assert_int_equal(parsed.output_lists, trusted.output_lists);
  assert_int_equal(parsed.attrs_size, trusted.attrs_size);
  assert_int_equal(parsed.open_offset, trusted.open_offset);
  same_args(parsed.args, trusted.args, parsed.n_args);
  same_args(parsed.returns, trusted.returns, parsed.n_returns);
  tn_text_free(&once);
  tn_text_free(&again);
  tn_arena_clear(&arena);
}

static void test_built_in(void **state) {
  (void)state;
  const tn_plugin *p = tn_builtin_query(TN_ABI_MAJOR, TN_ABI_MINOR);
  assert_true(p->n_ops > 200);
  for (uint32_t k = 0; k < p->n_ops; k++) expect_same(p->ops[k]->schema);
}

static void test_others(void **state) {
  (void)state;
  expect_same("split.Tensor_out(Tensor(a|b -> *) self, Tensor?[] i, *, Tensor(a!)[] out) -> ()");
  expect_same("(str a='\\\\n\\n\\t\\'\"x', str[] b=['a, b', ']'], float c=-1e-05) -> Tensor");
  expect_same("(float[] a=[inf, -inf, nan], int[2]? b=None, int[] c=[], bool[3] d=True) -> ()");
  expect_same(
      "(Device d='cpu', Scalar s=2, Dimname[] n, QScheme q, Graph? g=None) -> (Tensor, "
      "Tensor[])");
}

/* Names of enumerations are none that it knows: what it cannot read it says. */
static void test_names(void **state) {
  tn_arena arena;
  tn_schema s;
  (void)state;
  tn_arena_init(&arena, tn_default_allocator());
  assert_int_equal(tn_schema_trust("(ScalarType t=f32) -> Tensor out", &arena, &s),
                   TN_ERR_UNSUPPORTED);
  assert_int_equal(tn_schema_trust("(Nothing t) -> Tensor out", &arena, &s), TN_ERR_INVALID);
  tn_arena_clear(&arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_built_in),
      cmocka_unit_test(test_others),
      cmocka_unit_test(test_names),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
