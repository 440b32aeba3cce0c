/* Malformed descriptors, one row each, and descriptors of other ages: each is refused, or taken,
 * with words that name part, member and rule. */
#include "registry_kit.h"

#define TEXT_OF(number) #number
#define NUMBER(number) TEXT_OF(number)
#define MINOR NUMBER(TN_ABI_MINOR)
#define HOST_ABI "ABI " NUMBER(TN_ABI_MAJOR) "." MINOR

/* ---- plug-ins of other ages ---- */

/* 1.0 is where the ABI begins: no struct of it was ever shorter. tests/abi has real older ones. */
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

static char endless[1 << 17]; /* filled without a zero by the test */

/* clang-format off */
#define BAD_CASES(X) \
  X(plugin_size_small, "linked in, member head.size: is 16, but at least", \
    w->plugin.head.size = 16) \
  X(plugin_size_huge, "member head.size: is 4294967295, no struct is that large", \
    w->plugin.head.size = UINT32_MAX) \
  X(plugin_size_odd, "member head.size: is 133, which is no multiple of", \
    w->plugin.head.size = 133) \
  X(plugin_size_of_another_version, "but this struct has", w->plugin.head.size -= 8) \
  X(plugin_major, "plug-in 'acme'", w->plugin.head.major = 99) \
  X(plugin_major_text, \
    "member head.major: is 99: made for ABI 99." MINOR ", this host serves ABI 1.x", \
    w->plugin.head.major = 99) \
  X(plugin_name_null, "member name: must be given", w->plugin.name = NULL) \
  X(plugin_name_empty, "member name: is empty", w->plugin.name = "") \
  X(plugin_name_space, "member name: is 'a b', but names are made of", w->plugin.name = "a b") \
  X(plugin_license_utf8, "plug-in 'acme', member license: is not UTF-8", \
    w->plugin.license = "\xff\xfe") \
  X(plugin_version_control, "member version: has control characters", \
    w->plugin.version = "1\x1b[2J") \
  X(plugin_build_id_endless, "member build_id: does not end within 128 bytes", \
    w->plugin.build_id = endless) \
  X(plugin_flags, \
    "plug-in 'acme', member flags: has bits 0x100, which " HOST_ABI " does not know", \
    w->plugin.flags = 0x100) \
  X(plugin_needs, "member needs: asks for 'tn_host.teleport', which this host (" HOST_ABI ")", \
    w->plugin.needs = "tn_host.teleport") \
  X(extensions_null, "member extensions: is NULL, but 1 entries are counted", \
    w->plugin.n_extensions = 1, w->plugin.extensions = NULL) \
  X(extension_null, "plug-in 'acme', extension 1, member head: is NULL", \
    w->plugin.n_extensions = 2, w->extensions[1] = NULL) \
  X(extension_name, "extension 0, member name: is 'compiler', but has to end in a version", \
    w->plugin.n_extensions = 1, w->extension[0].name = "compiler") \
  X(extension_table, "extension 'profiler.v1', member table: must be given", \
    w->plugin.n_extensions = 1, w->extension[0].name = "profiler.v1", \
    w->extension[0].table = NULL) \
  X(compiler_name, "extension 'compiler.v0', member name: must be given", \
    w->plugin.n_extensions = 1, w->compiler.name = NULL) \
  X(compiler_partition, "compiler 'acme-npu', member partition: must be given", \
    w->plugin.n_extensions = 1, w->compiler.partition = NULL) \
  X(compiler_targets, "compiler 'acme-npu', member targets: must be given: it has none", \
    w->plugin.n_extensions = 1, w->compiler.n_targets = 0) \
  X(compiler_target, "compiler 'acme-npu', member hardware: is 'n p u', but names are made", \
    w->plugin.n_extensions = 1, w->target.hardware = "n p u") \
  X(compiler_head, "extension 'compiler.v0', member head.major: is 2", \
    w->plugin.n_extensions = 1, w->compiler.head.major = 2) \
  X(dispatcher_run, "dispatcher 'acme-npu', member run: must be given", \
    w->plugin.n_extensions = 2, w->dispatcher.run = NULL) \
  X(dispatcher_size, "extension 'dispatcher.v0', member head.size: is 16, but at least", \
    w->plugin.n_extensions = 2, w->dispatcher.head.size = 16) \
  X(plugin_flavour_bits, "member flavour: is 0x4000000", w->plugin.flavour |= UINT64_C(1) << 30) \
  X(plugin_flavour_32bit, "(32 bit, ", w->plugin.flavour ^= TN_FLAVOUR_32BIT) \
  X(plugin_ops_null, "plug-in 'acme', member ops: is NULL, but 1 entries are counted", \
    w->plugin.ops = NULL) \
  X(plugin_kernels_null, "plug-in 'acme', member kernels: is NULL", w->plugin.kernels = NULL) \
  X(plugin_formats_many, "member formats: is counted as 4000000000 entries, the limit is", \
    w->plugin.n_formats = 4000000000u) \
  X(plugin_ops_crooked, "which is not aligned", \
    w->plugin.ops = (const tn_op *const *)((uintptr_t)w->ops + 1)) \
  X(op_null, "plug-in 'acme', op 0, member head: is NULL", w->ops[0] = NULL) \
  X(op_crooked, "plug-in 'acme', op 0, member head: points to", \
    w->ops[0] = (const tn_op *)((uintptr_t)&w->op[0] + 4)) \
  X(op_size_zero, "plug-in 'acme', op 0, member head.size: is 0", w->op[0].head.size = 0) \
  X(op_major, "plug-in 'acme', op 0, member head.major: is 3", w->op[0].head.major = 3) \
  X(op_name_null, "plug-in 'acme', op 0, member name: must be given", w->op[0].name = NULL) \
  X(op_name_colons, "member name: is 'a::b'", w->op[0].name = "a::b") \
  X(op_domain_slash, "member domain: is 'a/b'", w->op[0].domain = "a/b") \
  X(op_since, "op 'com.acme::Scale' since 0, member since: is 0, versions begin at 1", \
    w->op[0].since = 0) \
  X(op_until, "member until: is 2, which is before since = 5", \
    w->op[0].since = 5, w->op[0].until = 2) \
  X(op_flags, "member flags: has bits 0x80000000, which " HOST_ABI " does not know", \
    w->op[0].flags = 1u << 31) \
  X(op_schema_null, "member schema: must be given", w->op[0].schema = NULL) \
  X(op_schema_syntax, "plug-in 'acme', op 'com.acme::Scale' since 1, member schema", \
    w->op[0].schema = "(Tensor X -> Tensor Y") \
  X(op_schema_empty, "member schema", w->op[0].schema = "") \
  X(op_schema_endless, "member schema: does not end within 65536 bytes", \
    w->op[0].schema = endless) \
  X(op_no_infer, "member infer: must be given, or lower, or a flag", w->op[0].infer = NULL) \
  X(op_same_as_nothing, \
    "member flags: say that shapes follow from the inputs, but the schema has none", \
    w->op[0].schema = "(*, int n=1) -> Tensor Y", w->op[0].n_types = 0, \
    w->op[0].flags = TN_OP_SAME_AS_INPUT) \
  X(op_lower_missing, "member lower: must be given: flags ask for lowering", \
    w->op[0].flags = TN_OP_LOWER_ALWAYS) \
  X(op_cases_null, "member cases: is NULL, but 1 entries are counted", w->op[0].cases = NULL) \
  X(op_case_null, "member cases: must be given", w->cases[0] = NULL) \
  X(op_doc_utf8, "member doc: is not UTF-8", w->op[0].doc = "\xc3") \
  X(op_source_utf8, "member source: is not UTF-8", w->op[0].source = "\xc3") \
  X(types_null, "member types: is NULL, but 1 entries are counted", w->op[0].types = NULL) \
  X(types_many, "member types: is counted as 100000 entries", w->op[0].n_types = 100000) \
  X(rule_null, "member head: is NULL", w->rules[0] = NULL) \
  X(rule_size, "member head.size: is 8", w->rule[0].head.size = 8) \
  X(rule_args_null, "member args: must be given", w->rule[0].args = NULL) \
  X(rule_unknown_arg, "member types: rule 'T' names 'Z', which is no tensor input or output", \
    w->rule[0].args = "X,Z") \
  X(rule_attribute, "member types: rule 'T' names 'by', which is no tensor input or output", \
    w->rule[0].args = "X,by") \
  X(rule_empty_arg, "member types: rule 'T' names ''", w->rule[0].args = "X,,Y") \
  X(rule_arg_twice, "member types: name argument 'X' more than once", w->rule[0].args = "X,Y,X") \
  X(rule_no_dtype, "member types: rule 'T' allows no dtype", w->rule[0].dtypes = 0) \
  X(rule_dtype_bits, "member types: dtypes: has bits 0x8000000000000001", \
    w->rule[0].dtypes |= UINT64_C(1) << 63 | 1) \
  X(ops_overlap, "member since: overlaps the versions of the same op since 1 in this plug-in", \
    w->plugin.n_ops = 2, w->op[0].until = 5, w->op[1].since = 5) \
  X(ops_twice, "member since: overlaps the versions", w->plugin.n_ops = 3) \
  X(kernel_null, "plug-in 'acme', kernel 0, member head: is NULL", w->kernels[0] = NULL) \
  X(kernel_size, "plug-in 'acme', kernel 0, member head.size: is 64, but at least", \
    w->kernel[0].head.size = 64) \
  X(kernel_name_null, "plug-in 'acme', kernel 0, member name: must be given", \
    w->kernel[0].name = NULL) \
  X(kernel_name_twice, \
    "kernel 'scale_f32_c', member name: is the name of another kernel of this plug-in", \
    w->plugin.n_kernels = 2) \
  X(kernel_name_equals, "member name: is 'a=b'", w->kernel[0].name = "a=b") \
  X(kernel_op_null, "kernel 'scale_f32_c', member op: must be given", w->kernel[0].op = NULL) \
  X(kernel_op_unknown, \
    "member op: is 'Scale', which neither this plug-in nor any loaded before it offers", \
    w->kernel[0].op = "Scale") \
  X(kernel_op_no_domain, "member op: is empty", w->kernel[0].op = "::Scale") \
  X(kernel_run_null, "plug-in 'acme', kernel 'scale_f32_c', member run: must be given", \
    w->kernel[0].run = NULL) \
  X(kernel_device_null, "member device: must be given", w->kernel[0].device = NULL) \
  X(kernel_device, "member device: is 'npu', this host knows 'cpu' only", \
    w->kernel[0].device = "npu") \
  X(kernel_since, "member since: is -1, must not be negative", w->kernel[0].since = -1) \
  X(kernel_until, "member until: is 3, which is before since = 4", \
    w->kernel[0].since = 4, w->kernel[0].until = 3) \
  X(kernel_versions, \
    "member since: serves versions 7..0 (0 is open) of 'com.acme::Scale', none of which", \
    w->op[0].until = 5, w->kernel[0].since = 7) \
  X(kernel_two_schemas, \
    "member since: serves com.acme::Scale since 1 and since 6, whose arguments differ", \
    w->plugin.n_ops = 2, w->op[0].until = 5, w->op[1].since = 6, \
    w->op[1].schema = "(Tensor X) -> Tensor Y") \
  X(kernel_flags, "member flags: has bits 0x8", w->kernel[0].flags = 8) \
  X(accepts_null, "member accepts: is NULL, but 1 entries are counted", \
    w->kernel[0].accepts = NULL) \
  X(accept_arg_null, "row 0 of accepts, member arg: must be given", w->accept[0].arg = NULL) \
  X(accept_arg_unknown, \
    "member accepts: row 'Q' names no tensor input or output of com.acme::Scale", \
    w->accept[0].arg = "Q") \
  X(accept_attribute, "member accepts: row 'by' names no tensor input or output", \
    w->accept[0].arg = "by") \
  X(accept_twice, "member accepts: has two rows for 'X'", w->kernel[0].n_accepts = 2) \
  X(accept_layout, "member accepts: row 'X' has layout 0x20000000007, which is none", \
    w->accept[0].layout = TN_BLOCKED(7)) \
  X(accept_ranks, "member accepts: row 'X' has ranks 5 to 3", \
    w->accept[0].rank_min = 5, w->accept[0].rank_max = 3) \
  X(accept_rank_9, "member accepts: row 'X' has ranks 0 to 9", w->accept[0].rank_max = 9) \
  X(accept_rank_any, "member accepts: row 'X' has rank_min 2 with rank_max 0", \
    w->accept[0].rank_min = 2) \
  X(accept_flags, "member accepts: flags: has bits 0x40", w->accept[0].flags = 64) \
  X(accept_absent_present, \
    "member accepts: row 'X' wants the argument to be left out and to be there", \
    w->accept[0].flags = TN_ACCEPT_ABSENT | TN_ACCEPT_PRESENT) \
  X(accept_const_output, "member accepts: row 'Y' wants an output to be constant", \
    w->accept[0].arg = "Y", w->accept[0].flags = TN_ACCEPT_CONST) \
  X(accept_dtypes, "member accepts: dtypes: has bits", w->accept[0].dtypes = UINT64_MAX) \
  X(rewrite_name, "plug-in 'acme', rewrite 0, member name: must be given", \
    w->rewrite[0].name = NULL) \
  X(rewrite_apply, "rewrite 'scale_away', member apply: must be given", \
    w->rewrite[0].apply = NULL) \
  X(rewrite_root, "rewrite 'scale_away', member root: is 'Gone', which neither", \
    w->rewrite[0].root = "Gone") \
  X(rewrite_head, "plug-in 'acme', rewrite 0, member head.size: is 24", \
    w->rewrite[0].head.size = 24) \
  X(format_name, "plug-in 'acme', format 0, member name: must be given", w->format[0].name = NULL) \
  X(format_twice, "format 'acme', member name: is that of another format of this plug-in", \
    w->plugin.n_formats = 2) \
  X(format_no_read, "format 'acme', member read: must be given, or write", \
    w->format[0].read = NULL) \
  X(format_no_probe, "member probe: must be given, or extensions", \
    w->format[0].probe = NULL, w->format[0].extensions = NULL) \
  X(format_extensions, "member extensions: is 'onnx', but has to read like .onnx", \
    w->format[0].extensions = "onnx") \
  X(format_extensions_end, "member extensions: is '.a,', but", w->format[0].extensions = ".a,")
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
  memset(endless, 'a', sizeof endless);
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
      TEST(test_shorter_than_ever),   TEST(test_newer_and_longer), TEST(test_malformed),
      TEST(test_identity_of_refused), TEST(test_no_descriptor),    TEST(test_messages_are_bounded),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
