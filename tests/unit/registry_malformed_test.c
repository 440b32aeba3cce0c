/* Malformed descriptors of each part, and descriptors of other ages: each is refused, or taken,
 * with words that name part, member and rule. */
#include "registry_kit.h"

#define TEXT_OF(number) #number
#define NUMBER(number) TEXT_OF(number)
#define MINOR NUMBER(TN_ABI_MINOR)
#define HOST_ABI "ABI " NUMBER(TN_ABI_MAJOR) "." MINOR

/* ---- plug-ins of other ages ---- */

/* 1.0 is where the ABI begins: no struct of it was ever shorter. */
static void test_shorter_than_ever(void **state) {
  fixture *f = *state;
  const uint32_t upto = offsetof(tn_op, reference);
  world *w = &f->w;
  /* Exactly as much memory as the struct claims to have, so that a sanitizer sees a step beyond it.
   */
  void *short_op = tn_alloc(tn_default_allocator(), upto);
  assert_non_null(short_op);
  w->op[0].head = (tn_head){upto, TN_ABI_MAJOR, 0};
  memcpy(short_op, &w->op[0], upto);
  w->ops[0] = short_op;
  assert_int_equal(add(f, &w->plugin), TN_ERR_INVALID);
  assert_says(f, "plug-in 'acme', op 0, member head.size: is 96, but at least");
  tn_free(tn_default_allocator(), short_op, upto);
}

static void test_newer_and_longer(void **state) {
  fixture *f = *state;
  struct {
    tn_kernel kernel;
    void *news[3];
  } longer;
  memset(&longer, 0xAB, sizeof longer);
  longer.kernel = f->w.kernel[0];
  longer.kernel.head = (tn_head){sizeof longer, TN_ABI_MAJOR, TN_ABI_MINOR + 1};
  f->w.kernels[0] = &longer.kernel;
  assert_added(f, &f->w.plugin);
  assert_string_equal(tn_registry_kernel_at(f->r, 0)->kernel.name, "scale_f32_c");
}

/* ---- malformed ones: each is refused with these words ---- */

/* One of each part, in a plug-in that is linked in, of whose memory nothing is known. Every member,
 * and every way to damage it: tests/zoo. */
/* clang-format off */
#define BAD_CASES(X) \
  X(plugin_size_small, "linked in, member head.size: is 16, but at least", \
    w->plugin.head.size = 16) \
  X(plugin_major, "member head.major: is 99: made for ABI 99." MINOR ", this host serves ABI 1.x", \
    w->plugin.head.major = 99) \
  X(plugin_name_null, "member name: must be given", w->plugin.name = NULL) \
  X(plugin_flags, \
    "plug-in 'acme', member flags: has bits 0x100, which " HOST_ABI " does not know", \
    w->plugin.flags = 0x100) \
  X(plugin_ops_crooked, "which is not aligned", \
    w->plugin.ops = (const tn_op *const *)((uintptr_t)w->ops + 1)) \
  X(extension_null, "plug-in 'acme', extension 1, member head: is NULL", \
    w->plugin.n_extensions = 2, w->extensions[1] = NULL) \
  X(compiler_target, "compiler 'acme-npu', member hardware: is 'n p u', but names are made", \
    w->plugin.n_compilers = 1, w->target.hardware = "n p u") \
  X(dispatcher_run, "dispatcher 'acme-npu', member run: must be given", \
    w->plugin.n_dispatchers = 1, w->dispatcher.run = NULL) \
  X(op_null, "plug-in 'acme', op 0, member head: is NULL", w->ops[0] = NULL) \
  X(op_schema_syntax, "plug-in 'acme', op 'com.acme::Scale' since 1, member schema", \
    w->op[0].schema = "(Tensor X -> Tensor Y") \
  X(rule_args_null, "member args: must be given", w->rule[0].args = NULL) \
  X(ops_overlap, "member since: overlaps the versions of the same op since 1 in this plug-in", \
    w->plugin.n_ops = 2, w->op[0].until = 5, w->op[1].since = 5) \
  X(kernel_run_null, "plug-in 'acme', kernel 'scale_f32_c', member run: must be given", \
    w->kernel[0].run = NULL) \
  X(accept_twice, "member accepts: has two rows for 'X'", w->kernel[0].n_accepts = 3) \
  X(rewrite_root, "rewrite 'scale_away', member root: is 'Gone', which neither", \
    w->rewrite[0].root = "Gone") \
  X(format_twice, "format 'acme', member name: is that of another format of this plug-in", \
    w->plugin.n_formats = 2)
/* clang-format on */

#define SPOIL(name, says, ...) \
  static void spoil_##name(world *w) { __VA_ARGS__; }
BAD_CASES(SPOIL)

static const struct {
  const char *name, *says;
  void (*spoil)(world *w);
} bad_cases[] = {
#define ROW(name, says, ...) {#name, says, spoil_##name},
    BAD_CASES(ROW)};

static void test_malformed(void **state) {
  fixture *f = *state;
  for (size_t k = 0; k < LENGTH(bad_cases); k++) {
    world_init(&f->w);
    bad_cases[k].spoil(&f->w);
    const tn_status status = add(f, &f->w.plugin);
    const char *text = tn_diag_text(f->diag);
    if (status >= 0) fail_msg("%s: was not refused", bad_cases[k].name);
    if (!strstr(text, bad_cases[k].says))
      fail_msg("%s: expected '%s' in: %s", bad_cases[k].name, bad_cases[k].says, text);
    assert_int_equal(tn_registry_n_plugins(f->r), (int)k + 1);
    assert_string_equal(info_at(f, (int32_t)k).refused, text);
    assert_int_equal(
        tn_registry_n_ops(f->r) + tn_registry_n_kernels(f->r) + tn_registry_n_formats(f->r), 0);
  }
  world_init(&f->w);
  assert_added(f, &f->w.plugin); /* nothing of them is in its way */
}

/* Who it is can be read of one that is refused, whatever it was refused for. */
static void test_identity_of_refused(void **state) {
  fixture *f = *state;
  for (int k = 0; k < 3; k++) {
    world_init(&f->w);
    if (k == 0) f->w.plugin.head.major = 99;
    if (k == 1) f->w.plugin.flavour ^= TN_FLAVOUR_BIG_ENDIAN;
    if (k == 2) f->w.plugin.ops = NULL;
    assert_true(add(f, &f->w.plugin) < 0);
    const tn_plugin_info info = info_at(f, k);
    assert_non_null(info.refused);
    assert_string_equal(info.name, f->w.plugin.name);
    assert_string_equal(info.version, f->w.plugin.version);
    assert_string_equal(info.license, f->w.plugin.license);
    assert_string_equal(info.build_id, f->w.plugin.build_id);
  }
}

static void test_no_descriptor(void **state) {
  fixture *f = *state;
  assert_int_equal(add(f, NULL), TN_ERR_VERSION);
  assert_says(f, "plug-in that is linked in: tn_plugin_query offers nothing for " HOST_ABI);
  assert_int_equal(add(f, (const tn_plugin *)((uintptr_t)&f->w.plugin | 1)), TN_ERR_INVALID);
  assert_says(f, "which is not aligned");
  assert_int_equal(tn_registry_add(f->r, NULL, TN_ORIGIN_EXPLICIT, NULL, NULL, 0, f->diag),
                   TN_ERR_INVALID);
}

/* All that is wrong is told at once. */
static void test_several_breaches(void **state) {
  fixture *f = *state;
  f->w.plugin.version = "\xff";
  f->w.op[0].doc = "\xff";
  f->w.kernel[0].device = "npu";
  assert_true(add(f, &f->w.plugin) < 0);
  assert_says(f, "plug-in 'acme', member version: is not UTF-8");
  assert_says(f, "plug-in 'acme', op 'com.acme::Scale' since 1, member doc: is not UTF-8");
  assert_says(f, "plug-in 'acme', kernel 'scale_f32_c', member device: is 'npu'");
}

/* A table of thousands of broken entries is no reason for thousands of messages. */
static void test_messages_are_bounded(void **state) {
  fixture *f = *state;
  static const tn_kernel *none[5000];
  f->w.plugin.kernels = none;
  f->w.plugin.n_kernels = LENGTH(none);
  assert_int_equal(add(f, &f->w.plugin), TN_ERR_INVALID);
  assert_in_range(tn_diag_count(f->diag), 10, 60);
  assert_says(f, "more breaches of rules follow");
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
  const struct CMUnitTest tests[] = {
      TEST(test_shorter_than_ever),    TEST(test_newer_and_longer), TEST(test_malformed),
      TEST(test_identity_of_refused),  TEST(test_no_descriptor),    TEST(test_several_breaches),
      TEST(test_messages_are_bounded),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
