/* The tables that tenon-gen makes of good/sample.yaml, as a host sees them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "graph/schema.h"
#include "sample.gen.h"

static const tn_plugin *plugin(void) { return tn_plugin_query(TN_ABI_MAJOR, TN_ABI_MINOR); }

static const tn_op *find_op(const char *name, int32_t since) {
  const tn_plugin *p = plugin();
  for (uint32_t k = 0; k < p->n_ops; k++) {
    if (!strcmp(p->ops[k]->name, name) && p->ops[k]->since == since) return p->ops[k];
  }
  fail_msg("no op %s-%d", name, since);
  return NULL;
}

static const tn_kernel *find_kernel(const char *name) {
  const tn_plugin *p = plugin();
  for (uint32_t k = 0; k < p->n_kernels; k++) {
    if (!strcmp(p->kernels[k]->name, name)) return p->kernels[k];
  }
  fail_msg("no kernel %s", name);
  return NULL;
}

static void test_plugin(void **state) {
  (void)state;
  const tn_plugin *p = plugin();
  assert_int_equal(p->head.size, sizeof *p);
  assert_int_equal(p->head.minor, TN_ABI_MINOR);
  assert_string_equal(p->name, "sample");
  assert_string_equal(p->version, "1.2.3");
  assert_string_equal(p->license, "MIT");
  assert_int_equal(strlen(p->build_id), 16);
  assert_true(p->flavour == TN_FLAVOUR);
  assert_int_equal(p->n_ops, 5);
  assert_int_equal(p->n_rewrites, 1);
  assert_int_equal(p->n_formats, 1);
  assert_ptr_equal(p->init, sample_init);
  assert_ptr_equal(p->shutdown, sample_shutdown);
  assert_string_equal(p->rewrites[0]->name, "sample_rewrite");
  assert_string_equal(p->rewrites[0]->root, "Conv2D");
  assert_ptr_equal(p->rewrites[0]->apply, sample_lower);
  assert_string_equal(p->formats[0]->name, "sample");
}

static void test_order(void **state) {
  (void)state;
  const tn_plugin *p = plugin();
  for (uint32_t k = 1; k < p->n_ops; k++) {
    const tn_op *a = p->ops[k - 1], *b = p->ops[k];
    const int domain = strcmp(a->domain, b->domain), name = strcmp(a->name, b->name);
    assert_true(domain < 0 || (!domain && (name < 0 || (!name && a->since < b->since))));
  }
}

static void test_ops(void **state) {
  (void)state;
  const tn_op *old = find_op("Conv2D", 2);
  assert_int_equal(old->until, 5);
  assert_int_equal(old->flags, TN_OP_LOWER_EARLY);
  assert_null(old->infer);
  assert_ptr_equal(old->lower, conv2_d_v2_lower);
  assert_int_equal(old->n_types, 3);
  assert_string_equal(old->types[1]->args, "b");
  assert_true(old->types[1]->dtypes == (TN_MASK(TN_F16) | TN_MASK(TN_U4)));
  assert_true(old->types[2]->dtypes == TN_MASK(TN_DTYPE_COUNT) - 2);
  assert_non_null(strstr(old->schema, "str mode=\"a?b\""));

  const tn_op *sin = find_op("Sin", 7);
  assert_string_equal(sin->domain, "");
  assert_int_equal(sin->until, 0);
  assert_int_equal(sin->flags, TN_OP_ELEMENTWISE | TN_OP_TYPES_ONLY | TN_OP_SAME_AS_INPUT);
  assert_int_equal(sin->n_types, 1);
  assert_string_equal(sin->types[0]->name, "T");
  assert_string_equal(sin->types[0]->args, "x,y");
  assert_true(sin->types[0]->dtypes == TN_MASK_FLOAT);
  assert_non_null(strstr(sin->source, "sample.yaml"));
  assert_string_equal(sin->doc,
                      "sin of every element; what \"?"
                      "?/\" prints is no trigraph.");
  assert_int_equal(sin->n_cases, 2);
  assert_string_equal(sin->cases[1], "x=f32[4]{uniform -1 1} bench");
  assert_ptr_equal(sin->reference, sin_reference);

  const tn_op *acme = find_op("MatMulNBits", 7);
  assert_string_equal(acme->domain, "com.acme");
  assert_ptr_equal(acme->reference, mat_mul_n_bits_reference);
}

static void test_flops(void **state) {
  (void)state;
  tn_tensor y = {.head = TN_HEAD(tn_tensor), .rank = 2, .shape = {3, 4}};
  tn_tensor *outputs[] = {&y};
  const tn_call call = {.head = TN_HEAD(tn_call), .n_outputs = 1, .outputs = outputs};
  double flops = -1;
  assert_int_equal(find_op("Sin", 7)->flops(&call, &flops), TN_OK);
  assert_true(flops == 30.0);
  y.rank = TN_RANK_UNKNOWN;
  assert_int_equal(find_op("Sin", 7)->flops(&call, &flops), TN_OK);
  assert_true(flops == 0.0);
}

static void test_kernels(void **state) {
  (void)state;
  const tn_kernel *k = find_kernel("conv2_d_f32_c");
  assert_string_equal(k->op, "Conv2D");
  assert_string_equal(k->device, "cpu");
  assert_int_equal(k->since, 6);
  assert_int_equal(k->until, 9);
  assert_int_equal(k->isa, 0);
  assert_int_equal(k->rank, TN_RANK_PORTABLE);
  assert_int_equal(k->flags, TN_KERNEL_EPILOGUE);
  assert_int_equal(k->n_accepts, 2);
  assert_string_equal(k->accepts[0]->arg, "x");
  assert_true(k->accepts[0]->dtypes == (TN_MASK(TN_F32) | TN_MASK(TN_F16)));
  assert_true(k->accepts[0]->layout == TN_BLOCKED(16));
  assert_int_equal(k->accepts[0]->rank_min, 3);
  assert_int_equal(k->accepts[0]->rank_max, 5);
  assert_int_equal(k->accepts[0]->flags, TN_ACCEPT_CONST | TN_ACCEPT_PRESENT);
  assert_true(k->accepts[1]->layout == TN_ANY_LAYOUT);
  assert_int_equal(k->accepts[1]->rank_min, 4);
  assert_ptr_equal(k->plan, sample_plan);
  assert_ptr_equal(k->prepare, sample_infer);
  assert_ptr_equal(k->finish, sample_finish);
  assert_ptr_equal(find_kernel("sin_c")->run, sample_run);

  const tn_kernel *acme = find_kernel("relu_acme");
  assert_string_equal(acme->op, "Relu");
  assert_string_equal(acme->device, "npu");
  assert_int_equal(acme->rank, 300);
  assert_int_equal(acme->since, 0);
  assert_true(acme->accepts[0]->dtypes == TN_MASK(TN_F64));
  assert_string_equal(find_kernel("foo_acme")->op, "com.other::Foo");
#ifdef __x86_64__
  const tn_kernel *avx2 = find_kernel("conv2_d_f32_avx2");
  const tn_kernel *vnni = find_kernel("conv2_d_f32_avx512_vnni");
  assert_int_equal(avx2->isa, TN_ISA_AVX2);
  assert_int_equal(vnni->isa, TN_ISA_AVX512 | TN_ISA_AVX512_VNNI);
  assert_true(avx2->accepts[0]->layout == TN_BLOCKED(8));
  assert_true(vnni->accepts[0]->layout == TN_BLOCKED(16));
  assert_ptr_equal(avx2->plan, vnni->plan);
  assert_int_equal(plugin()->n_kernels, 8);
#endif
}

/* The struct in the header is the one that the host fills in. */
static void test_attrs(void **state) {
  (void)state;
  tn_arena arena;
  tn_schema s;
  tn_arena_init(&arena, tn_default_allocator());
  assert_int_equal(tn_schema_parse(find_op("Conv2D", 2)->schema, &arena, NULL, NULL, &s), TN_OK);
  assert_int_equal(s.attrs_size, sizeof(tn_conv2_d_v2_attrs));
  assert_int_equal(tn_schema_find(&s, "stride")->offset, offsetof(tn_conv2_d_v2_attrs, stride));
  assert_int_equal(tn_schema_find(&s, "default")->offset, offsetof(tn_conv2_d_v2_attrs, default_));
  assert_int_equal(tn_schema_find(&s, "value")->present_offset,
                   offsetof(tn_conv2_d_v2_attrs, has_value));
  assert_int_equal(tn_schema_find(&s, "body")->offset, offsetof(tn_conv2_d_v2_attrs, body));
  tn_arena_clear(&arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_plugin), cmocka_unit_test(test_order),   cmocka_unit_test(test_ops),
      cmocka_unit_test(test_flops),  cmocka_unit_test(test_kernels), cmocka_unit_test(test_attrs),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
