/* The schema language: schemas of ATen and ExecuTorch, the attribute struct against real C structs,
 * messages. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "graph/schema.h"

typedef struct fixture {
  tn_arena arena;
  tn_diag *diag;
} fixture;

static int set_up(void **state) {
  static fixture f;
  tn_arena_init(&f.arena, tn_default_allocator());
  f.diag = tn_diag_create();
  *state = &f;
  return f.diag ? 0 : -1;
}

static int tear_down(void **state) {
  fixture *f = *state;
  tn_arena_clear(&f->arena);
  tn_diag_destroy(f->diag);
  return 0;
}

static tn_schema parse(void **state, const char *text) {
  fixture *f = *state;
  tn_schema s = {0};
  if (tn_schema_parse(text, &f->arena, NULL, f->diag, &s)) fail_msg("%s", tn_diag_text(f->diag));
  return s;
}

static char *print(void **state, const tn_schema *s) {
  fixture *f = *state;
  tn_text text;
  tn_text_init(&text, tn_default_allocator());
  tn_schema_print(s, &text);
  char *copy = tn_arena_str(&f->arena, tn_text_get(&text));
  tn_text_free(&text);
  assert_non_null(copy);
  return copy;
}

static void expect_error(void **state, const char *text, const char *message) {
  fixture *f = *state;
  tn_schema s;
  tn_diag_clear(f->diag);
  assert_int_equal(tn_schema_parse(text, &f->arena, "op Foo", f->diag, &s), TN_ERR_INVALID);
  assert_int_equal(tn_diag_count(f->diag), 1);
  if (!strstr(tn_diag_text(f->diag), message)) {
    fail_msg("for %s\nexpected: %s\nfound: %s", text, message, tn_diag_text(f->diag));
  }
}

static void test_out_variant(void **state) {
  const tn_schema s = parse(
      state, "add.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)");
  assert_string_equal(s.name, "add");
  assert_string_equal(s.overload, "out");
  assert_int_equal(s.n_args, 4);
  assert_int_equal(s.n_inputs, 2);
  assert_int_equal(s.n_outputs, 1);
  assert_string_equal(tn_schema_input(&s, 1)->name, "other");
  assert_null(tn_schema_input(&s, 2));
  assert_ptr_equal(tn_schema_output(&s, 0), &s.args[3]);
  assert_null(tn_schema_output(&s, 1));
  assert_null(tn_schema_output(&s, -1));
  assert_int_equal(s.args[2].role, TN_ROLE_ATTR);
  assert_true(s.args[2].default_floats[0] == 1.0);
  assert_true(s.args[3].written);
  assert_string_equal(s.args[3].alias, "a!");
  assert_int_equal(s.attrs_size, 8);
}

/* ExecuTorch writes `?` for any alias set. */
static void test_any_alias(void **state) {
  const tn_schema s = parse(state, "f.out(Tensor(?) self, *, Tensor(a!) out) -> Tensor(a!)");
  assert_string_equal(s.args[0].alias, "*");
  assert_false(s.args[0].written || s.args[0].optional);
}

static void test_two_outputs(void **state) {
  const tn_schema s = parse(
      state,
      "topk.values(Tensor self, SymInt k, int dim=-1, bool largest=True, bool sorted=True, *, "
      "Tensor(a!) values, Tensor(b!) indices) -> (Tensor(a!) values, Tensor(b!) indices)");
  assert_int_equal(s.n_inputs, 1);
  assert_int_equal(s.n_outputs, 2);
  assert_string_equal(tn_schema_output(&s, 1)->name, "indices");
  assert_ptr_equal(tn_schema_find(&s, "values"), &s.args[5]);
  assert_int_equal(s.args[2].default_ints[0], -1);
  assert_int_equal(s.args[3].default_ints[0], 1);
  assert_false(s.args[1].has_default);
  assert_int_equal(s.args[1].base, TN_TYPE_INT);
}

static void test_no_name(void **state) {
  const tn_schema s = parse(state, "(Tensor X, Tensor? B=None, *, Tensor? value=None) -> Tensor Y");
  assert_string_equal(s.name, "");
  assert_string_equal(s.overload, "");
  assert_int_equal(s.n_inputs, 2);
  assert_true(s.args[1].optional);
  assert_int_equal(s.args[1].n_default, -1);
  assert_int_equal(s.args[2].role, TN_ROLE_ATTR);
  assert_string_equal(s.returns[0].name, "Y");
}

static void test_names_of_returns(void **state) {
  const tn_schema s = parse(state, "aten::f.x(Tensor self) -> (Tensor, Tensor b, int)");
  assert_string_equal(s.name, "aten::f");
  assert_string_equal(s.returns[0].name, "out");
  assert_string_equal(s.returns[1].name, "b");
  assert_string_equal(s.returns[2].name, "out2");
  const tn_schema none = parse(state, "f(Tensor self) -> ()");
  assert_int_equal(none.n_returns, 0);
  assert_int_equal(none.n_outputs, 0);
}

static void test_defaults(void **state) {
  const tn_schema s = parse(
      state,
      "f(*, int[2] stride=1, int[] pads=[0, -2,3], float eps=1e-05, Scalar s=2.5, Scalar t=True, "
      "str mode='it\\'s', str[] names=[\"a,b\",'c'], bool[3] mask=[True,False,True], "
      "ScalarType? dtype=long, MemoryFormat m=channels_last, Layout l=strided, int r=Mean, "
      "int[1]? dim=[], float[]? scales=None, float inf=-inf, int end=9223372036854775807) -> ()");
  assert_int_equal(s.args[0].n_default, 2);
  assert_int_equal(s.args[0].default_ints[1], 1);
  assert_int_equal(s.args[1].n_default, 3);
  assert_int_equal(s.args[1].default_ints[1], -2);
  assert_true(s.args[2].default_floats[0] == 1e-05);
  assert_true(s.args[3].default_floats[0] == 2.5);
  assert_true(s.args[4].default_floats[0] == 1.0);
  assert_true(tn_str_is(s.args[5].default_strs[0], "it's"));
  assert_true(tn_str_is(s.args[6].default_strs[0], "a,b"));
  assert_int_equal(s.args[6].n_default, 2);
  assert_int_equal(s.args[7].default_ints[1], 0);
  assert_int_equal(s.args[8].default_ints[0], TN_I64);
  assert_int_equal(s.args[9].default_ints[0], 2);
  assert_int_equal(s.args[10].default_ints[0], 0);
  assert_int_equal(s.args[11].default_ints[0], 1);
  assert_true(s.args[12].has_default);
  assert_int_equal(s.args[12].n_default, 0);
  assert_int_equal(s.args[13].n_default, -1);
  assert_true(s.args[14].default_floats[0] < -1e308);
  assert_true(s.args[15].default_ints[0] == INT64_MAX);
}

/* Schemas as they stand in ATen's native_functions.yaml and ExecuTorch's functions.yaml. */
static const char *const known[] = {
    "split_with_sizes(Tensor(a -> *) self, SymInt[] split_sizes, int dim=0) -> Tensor(a)[]",
    "split_copy.Tensor_out(Tensor self, SymInt split_size, int dim=0, *, Tensor(a!)[] out) -> ()",
    "index.Tensor_out(Tensor self, Tensor?[] indices, *, Tensor(a!) out) -> Tensor(a!)",
    "add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)",
    "convolution(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, SymInt[] padding, "
    "SymInt[] dilation, bool transposed, SymInt[] output_padding, SymInt groups) -> Tensor",
    "max_pool2d_with_indices.out(Tensor self, int[2] kernel_size, int[2] stride=[], "
    "int[2] padding=0, int[2] dilation=1, bool ceil_mode=False, *, Tensor(a!) out, "
    "Tensor(b!) indices) -> (Tensor(a!), Tensor(b!))",
    "native_layer_norm.out(Tensor input, SymInt[] normalized_shape, Tensor? weight, Tensor? bias, "
    "float eps, *, Tensor(a!) out, Tensor(b!) save_mean, Tensor(c!) save_invstd) -> (Tensor(a!), "
    "Tensor(b!), Tensor(c!))",
    "full.out(SymInt[] size, Scalar fill_value, *, Tensor(a!) out) -> Tensor(a!)",
    "randint(SymInt high, SymInt[] size, *, ScalarType? dtype=long, Layout? layout=None, "
    "Device? device=None, bool? pin_memory=None) -> Tensor",
    "contiguous(Tensor(a) self, *, MemoryFormat memory_format=contiguous_format) -> Tensor(a)",
    "slice.Tensor(Tensor(a) self, int dim=0, SymInt? start=None, SymInt? end=None, "
    "SymInt step=1) -> Tensor(a)",
    "mean.names_dim(Tensor self, Dimname[1] dim, bool keepdim=False, *, ScalarType? dtype=None) "
    "-> Tensor",
    "dropout(Tensor input, float p, bool train) -> Tensor",
    "bernoulli_.float(Tensor(a!) self, float p=0.5, *, Generator? generator=None) -> Tensor(a!)",
    "div.out_mode(Tensor self, Tensor other, *, str? rounding_mode, Tensor(a!) out) -> Tensor(a!)",
    "upsample_bilinear2d.vec(Tensor input, SymInt[]? output_size, bool align_corners, "
    "float[]? scale_factors) -> Tensor",
    "einsum(str equation, Tensor[] tensors, *, int[]? path=None) -> Tensor",
    "size.int(Tensor self, int dim) -> int",
    "mse_loss(Tensor self, Tensor target, int reduction=Mean) -> Tensor",
    "lstm.input(Tensor input, Tensor[] hx, Tensor[] params, bool has_biases, int num_layers, "
    "float dropout, bool train, bool bidirectional, bool batch_first) -> (Tensor, Tensor, Tensor)",
    "qscheme(Tensor self) -> QScheme",
    "_foreach_add.List(Tensor[] self, Tensor[] other, *, Scalar alpha=1) -> Tensor[]",
    "pad(Tensor self, SymInt[] pad, str mode=\"constant\", float? value=None) -> Tensor",
    "sym_constrain_range(Scalar size, *, int? min=None, int? max=None) -> ()",
    "(Tensor cond, Tensor(a|b) x, *, Graph then_branch, Graph else_branch) -> Tensor[] outputs",
    "(Tensor? x=None) -> Tensor(a! -> a|b)?",
};

static void test_round_trip(void **state) {
  for (size_t k = 0; k < sizeof known / sizeof known[0]; k++) {
    const tn_schema s = parse(state, known[k]);
    const char *once = print(state, &s);
    const tn_schema again = parse(state, once);
    assert_string_equal(print(state, &again), once);
    assert_int_equal(again.attrs_size, s.attrs_size);
    assert_int_equal(again.n_inputs, s.n_inputs);
    assert_int_equal(again.n_outputs, s.n_outputs);
  }
}

static void test_canonical(void **state) {
  const tn_schema s = parse(
      state,
      "f.g ( Tensor ( a -> * ) [ ] x , Tensor?[] y, SymInt [ 2 ] ? k = 3 , * ,float e = 0.1 , "
      "str s = 'a\"b' ,ScalarType t=float)\n-> ( Tensor )");
  assert_string_equal(
      print(state, &s),
      "f.g(Tensor(a -> *)[] x, Tensor?[] y, int[2]? k=[3, 3], *, float e=0.1, str s=\"a\\\"b\", "
      "ScalarType t=f32) -> Tensor out");
}

/* The struct that a kernel's author writes by hand for the schema below. */
typedef struct every_kind_attrs {
  int64_t axis;
  int64_t flag;
  double alpha;
  int64_t has_scalar;
  double scalar;
  tn_str mode;
  int64_t has_text;
  tn_str text;
  tn_ints pads;
  int64_t has_bools;
  tn_ints bools;
  tn_floats floats;
  tn_strs strings;
  int64_t dtype;
  int64_t has_format;
  int64_t format;
  const tn_tensor *value;
  int64_t has_other;
  const tn_tensor *other;
  tn_tensors list;
  int64_t body;
} every_kind_attrs;

static void test_struct(void **state) {
  const tn_schema s =
      parse(state,
            "(Tensor x, int axis, bool flag, *, float alpha, Scalar? scalar, str mode, str? text, "
            "int[4] pads, bool[]? bools, float[] floats, str[] strings, ScalarType dtype, "
            "MemoryFormat? format, Tensor value, Tensor? other, Tensor[] list, Graph body, "
            "Tensor(a!) out) -> Tensor(a!)");
  const struct {
    const char *name;
    size_t offset;
  } members[] = {
#define AT(name) {#name, offsetof(every_kind_attrs, name)}
      AT(axis),   AT(flag),    AT(alpha), AT(scalar), AT(mode),  AT(text),  AT(pads), AT(bools),
      AT(floats), AT(strings), AT(dtype), AT(format), AT(value), AT(other), AT(list), AT(body)};
  for (size_t k = 0; k < sizeof members / sizeof members[0]; k++) {
    assert_int_equal(tn_schema_find(&s, members[k].name)->offset, members[k].offset);
  }
  const struct {
    const char *name;
    int64_t offset;
  } present[] = {{"scalar", offsetof(every_kind_attrs, has_scalar)},
                 {"text", offsetof(every_kind_attrs, has_text)},
                 {"bools", offsetof(every_kind_attrs, has_bools)},
                 {"format", offsetof(every_kind_attrs, has_format)},
                 {"other", offsetof(every_kind_attrs, has_other)},
                 {"axis", -1},
                 {"value", -1}};
  for (size_t k = 0; k < sizeof present / sizeof present[0]; k++) {
    assert_int_equal(tn_schema_find(&s, present[k].name)->present_offset, present[k].offset);
  }
  assert_int_equal(s.attrs_size, sizeof(every_kind_attrs));
  const tn_schema none = parse(state, "(Tensor x) -> Tensor");
  assert_int_equal(none.attrs_size, 0);
}

static void test_flattened(void **state) {
  const tn_schema s =
      parse(state, "(Tensor a, Tensor[] l, Tensor? b=None) -> (Tensor[] o, Tensor p)");
  assert_string_equal(tn_schema_input_of(&s, 0, 5)->name, "a");
  assert_string_equal(tn_schema_input_of(&s, 1, 5)->name, "l");
  assert_string_equal(tn_schema_input_of(&s, 3, 5)->name, "l");
  assert_string_equal(tn_schema_input_of(&s, 4, 5)->name, "b");
  assert_string_equal(tn_schema_input_of(&s, 1, 2)->name, "b");
  assert_null(tn_schema_input_of(&s, 5, 5));
  assert_null(tn_schema_input_of(&s, -1, 5));
  assert_string_equal(tn_schema_output_of(&s, 1, 3)->name, "o");
  assert_string_equal(tn_schema_output_of(&s, 2, 3)->name, "p");
  const tn_schema two = parse(state, "(Tensor a, Tensor? b=None) -> Tensor");
  assert_string_equal(tn_schema_input_of(&two, 0, 1)->name, "a");
  assert_null(tn_schema_input_of(&two, 2, 3));
  const tn_schema each = parse(state, "(Tensor[] a, Tensor[] b) -> ()");
  assert_string_equal(tn_schema_input_of(&each, 1, 4)->name, "a");
  assert_string_equal(tn_schema_input_of(&each, 2, 4)->name, "b");
  assert_null(tn_schema_input_of(&each, 2, 3));
  assert_false(tn_schema_may_end_early(&s));
  assert_true(tn_schema_may_end_early(&two));
  assert_false(tn_schema_may_end_early(&each));
  const tn_schema last = parse(state, "(Tensor a, Tensor? b, Tensor?[] l) -> ()");
  assert_true(tn_schema_may_end_early(&last));
}

static void test_errors(void **state) {
  expect_error(state, "(Tensro x) -> Tensor",
               "op Foo: schema, column 2: expected a type such as Tensor, int or float, found "
               "'Tensro'");
  expect_error(state, "(Tensor x -> Tensor", "column 11: expected ',' or ')', found '-'");
  expect_error(state, "(Tensor x) ->", "column 14: expected a type, found the end");
  expect_error(state, "Tensor x", "column 8: expected '(' before the arguments, found 'x'");
  expect_error(state, "(Tensor x) Tensor", "column 12: expected '->' before the returns");
  expect_error(state, "(Tensor x) -> Tensor y z", "column 24: expected the end of the schema");
  expect_error(state, "(Tensor x, int x) -> ()", "column 12: there are two of the name 'x'");
  expect_error(state, "(Tensor x) -> Tensor x", "a return and an argument have the name 'x'");
  expect_error(state, "(Tensor x, *) -> ()", "column 13: no argument follows '*'");
  expect_error(state, "(*, int a, *, int b) -> ()", "column 12: '*' may stand once only");
  expect_error(state, "(Tensor) -> ()", "column 8: expected the argument's name, found ')'");
  expect_error(state, "(int[][] x) -> ()", "column 7: lists of lists");
  expect_error(state, "(int[0] x) -> ()", "column 6: the size of a list is 1 to 4096");
  expect_error(state, "(int?? x) -> ()", "column 6: the type is optional already");
  expect_error(state, "(Tensor(a x) -> ()", "column 11: expected ')' after the alias set");
  expect_error(state, "(int a=x) -> ()", "column 8: expected an integer, found 'x'");
  expect_error(state, "(int a=1.5) -> ()", "column 8: expected an integer, found '1'");
  expect_error(state, "(int a=99999999999999999999) -> ()", "column 8: the integer does not fit");
  expect_error(state, "(bool a=1) -> ()", "column 9: expected True or False, found '1'");
  expect_error(state, "(float a=0x10) -> ()", "column 10: expected a number, found '0x10'");
  expect_error(state, "(float a=1e999) -> ()", "column 10: the number is too large");
  expect_error(state, "(str a=b) -> ()", "column 8: expected a string in quotes, found 'b'");
  expect_error(state, "(str a='b) -> ()", "column 8: the string does not end");
  expect_error(state, "(str a='\\q') -> ()", "column 9: unknown escape in a string");
  expect_error(state, "(str a='\\", "column 9: unknown escape in a string");
  expect_error(state, "(int a=None) -> ()", "column 8: None is a default of optional arguments");
  expect_error(state, "(int[2] a=[1,2,3]) -> ()", "the default has 3 elements, the type 2");
  expect_error(state, "(int[] a=[1,) -> ()", "expected an integer, found ')'");
  expect_error(state, "(Tensor? a=3) -> ()", "the default of a Tensor can only be None");
  expect_error(state, "(ScalarType t=foo) -> ()", "expected a ScalarType such as float or i64");
  expect_error(state, "f(Tensor x, *, Tensor(a!) out) -> Tensor",
               "return 'out' of an out variant must be one of the out arguments");
  expect_error(state, "", "column 1: expected '(' before the arguments, found the end");
}

/* Every prefix of a good schema is refused or read; none crashes or runs over the end. */
static void test_prefixes(void **state) {
  fixture *f = *state;
  for (size_t k = 0; k < sizeof known / sizeof known[0]; k++) {
    for (size_t n = 0; n < strlen(known[k]); n++) {
      char *text = tn_alloc(tn_default_allocator(), n + 1);
      assert_non_null(text);
      memcpy(text, known[k], n);
      tn_schema s;
      const tn_status status = tn_schema_parse(text, &f->arena, NULL, NULL, &s);
      assert_true(status == TN_OK || status == TN_ERR_INVALID);
      tn_free(tn_default_allocator(), text, n + 1);
    }
    tn_arena_clear(&f->arena);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_out_variant, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_two_outputs, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_any_alias, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_no_name, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_names_of_returns, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_defaults, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_round_trip, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_canonical, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_struct, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_flattened, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_errors, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_prefixes, set_up, tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
