/* The runtime: options are checked, what ships is registered and listed in order, memory comes from
 * the allocator alone. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/cpu.h"
#include "exec/exec.h"

static tn_runtime_options plain_options(void) {
  tn_runtime_options options = TN_RUNTIME_OPTIONS_INIT;
  options.n_threads = 1;
  options.flags = TN_RUNTIME_NO_BUILTINS | TN_RUNTIME_NO_DISCOVERY;
  return options;
}

static int setup(void **state) {
  *state = tn_diag_create();
  return *state ? 0 : -1;
}

static int teardown(void **state) {
  tn_diag_destroy(*state);
  return 0;
}

static void assert_says(tn_diag *diag, const char *text) {
  if (!strstr(tn_diag_text(diag), text)) fail_msg("expected '%s' in: %s", text, tn_diag_text(diag));
  tn_diag_clear(diag);
}

static void assert_refused(const tn_runtime_options *options, tn_diag *diag, const char *text) {
  tn_runtime *rt = (tn_runtime *)diag;
  assert_true(tn_runtime_create(options, diag, &rt) < 0);
  assert_null(rt);
  assert_says(diag, text);
}

static tn_runtime *assert_created(const tn_runtime_options *options, tn_diag *diag) {
  tn_runtime *rt = NULL;
  if (tn_runtime_create(options, diag, &rt)) fail_msg("no runtime: %s", tn_diag_text(diag));
  return rt;
}

/* ---- options ---- */

static void *no_alloc(void *self, uint64_t bytes) { return (void)self, (void)bytes, NULL; }

static void test_bad_options(void **state) {
  tn_diag *diag = *state;
  tn_runtime_options o = plain_options();
  o.n_threads = -1;
  assert_refused(&o, diag, "n_threads is -1, must be 0 to");
  o = plain_options();
  o.n_threads = INT32_MAX;
  assert_refused(&o, diag, "n_threads is 2147483647");
  o = plain_options();
  o.flags |= 0x100;
  assert_refused(&o, diag, "flags has unknown bits 0x100");
  o = plain_options();
  o.n_pins = 1;
  assert_refused(&o, diag, "n_pins is 1, but pins is NULL");
  o = plain_options();
  o.head.size = 4;
  assert_refused(&o, diag, "start from TN_RUNTIME_OPTIONS_INIT");
  o = plain_options();
  o.head.major = 7;
  assert_refused(&o, diag, "ABI 7.");
  const tn_allocator half = {TN_HEAD(tn_allocator), NULL, no_alloc, NULL};
  o = plain_options();
  o.allocator = &half;
  assert_refused(&o, diag, "the allocator needs a head, alloc and free");
  assert_int_equal(tn_runtime_create(NULL, diag, NULL), TN_ERR_INVALID);
}

static void test_pins(void **state) {
  tn_diag *diag = *state;
  const char *const bad[] = {"", "=", "Conv", "Conv=", "=conv", "Conv=a=b"};
  tn_runtime_options o = plain_options();
  o.n_pins = 1;
  for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
    o.pins = &bad[k];
    assert_refused(&o, diag, "must read like Conv=acme_conv");
  }
  const char *const nothing[] = {NULL};
  o.pins = nothing;
  assert_refused(&o, diag, "pin '(NULL)'");
  char first[] = "Conv=acme_conv";
  const char *const good[] = {first, "com.acme::Foo=foo"};
  o.pins = good;
  o.n_pins = 2;
  tn_runtime *rt = assert_created(&o, diag);
  first[0] = 'X'; /* a copy was taken */
  assert_int_equal(rt->n_pins, 2);
  assert_string_equal(rt->pins[0], "Conv=acme_conv");
  assert_string_equal(rt->pins[1], "com.acme::Foo=foo");
  tn_runtime_destroy(rt);
}

static void test_isa_and_threads(void **state) {
  tn_runtime_options o = plain_options();
  tn_runtime *rt = assert_created(&o, *state);
  assert_int_equal(rt->isa, tn_cpu_isa());
  assert_int_equal(tn_pool_n_threads(rt->pool), 1);
  tn_runtime_destroy(rt);
  o.isa_mask = TN_ISA_AVX2 | TN_ISA_NEON;
  o.n_threads = 3;
  rt = assert_created(&o, *state);
  assert_int_equal(rt->isa, tn_cpu_isa() & (TN_ISA_AVX2 | TN_ISA_NEON));
  assert_in_range(tn_pool_n_threads(rt->pool), 1, 3);
  tn_runtime_destroy(rt);
  o.isa_mask = UINT64_C(1) << 63; /* nothing that any machine has */
  rt = assert_created(&o, *state);
  assert_int_equal(rt->isa, 0);
  tn_runtime_destroy(rt);
}

/* Options of a program that was compiled when there were fewer of them. */
static void test_older_options(void **state) {
  tn_runtime_options o = plain_options();
  o.head.size = offsetof(tn_runtime_options, isa_mask);
  o.isa_mask = UINT64_C(1) << 63;
  o.n_pins = 5;
  tn_runtime *rt = assert_created(&o, *state);
  assert_int_equal(rt->isa, tn_cpu_isa());
  assert_int_equal(rt->n_pins, 0);
  tn_runtime_destroy(rt);
}

/* ---- listing ---- */

static void test_nothing(void **state) {
  const tn_runtime_options o = plain_options();
  tn_runtime *rt = assert_created(&o, *state);
  tn_plugin_info info;
  memset(&info, 0, sizeof info);
  info.head = (tn_head)TN_HEAD(tn_plugin_info);
  assert_int_equal(tn_runtime_n_ops(rt), 0);
  assert_int_equal(tn_runtime_n_kernels(rt), 0);
  assert_int_equal(tn_runtime_n_formats(rt), 0);
  assert_int_equal(tn_runtime_n_plugins(rt), 0);
  assert_null(tn_runtime_op(rt, 0));
  assert_null(tn_runtime_kernel(rt, 0));
  assert_null(tn_runtime_format(rt, -1));
  assert_int_equal(tn_runtime_plugin(rt, 0, &info), TN_ERR_NOT_FOUND);
  assert_int_equal(tn_runtime_plugin(rt, 0, NULL), TN_ERR_INVALID);
  tn_runtime_destroy(rt);
  tn_runtime_destroy(NULL);
}

static int compare_ops(const tn_op *a, const tn_op *b) {
  int order = strcmp(a->domain, b->domain);
  if (!order) order = strcmp(a->name, b->name);
  return order ? order : (a->since > b->since) - (a->since < b->since);
}

static void test_what_ships(void **state) {
  tn_diag *diag = *state;
  tn_runtime_options o = plain_options();
  o.flags = TN_RUNTIME_NO_DISCOVERY;
  tn_runtime *rt = assert_created(&o, diag);
  assert_int_equal(tn_diag_count(diag), 0);
  tn_plugin_info info;
  memset(&info, 0, sizeof info);
  info.head = (tn_head)TN_HEAD(tn_plugin_info);
  assert_int_equal(tn_runtime_plugin(rt, 0, &info), TN_OK);
  assert_string_equal(info.found_by, "built in");
  assert_null(info.refused);
  const int32_t n_ops = tn_runtime_n_ops(rt);
  assert_int_equal(info.n_ops, n_ops);
  for (int32_t k = 1; k < n_ops; k++)
    assert_true(compare_ops(tn_runtime_op(rt, k - 1), tn_runtime_op(rt, k)) < 0);
  for (int32_t k = 1; k < tn_runtime_n_kernels(rt); k++) {
    const tn_kernel *a = tn_runtime_kernel(rt, k - 1), *b = tn_runtime_kernel(rt, k);
    assert_true(strcmp(a->op, b->op) || a->rank >= b->rank);
  }
  for (int32_t k = 0; k < n_ops; k++) { /* each one is found for its own versions */
    const tn_op *op = tn_runtime_op(rt, k);
    const tn_opdef *def = tn_registry_op(rt->registry, op->domain, op->name, op->since);
    assert_ptr_equal(&def->op, op);
    assert_ptr_equal(tn_runtime_find_op(rt, op->domain, op->name, op->since), op);
    assert_string_equal(tn_runtime_op_plugin(rt, k), info.name);
    if (op->until)
      assert_ptr_equal(tn_registry_op(rt->registry, op->domain, op->name, op->until), def);
  }
  assert_null(tn_runtime_find_op(rt, "", "NoSuchOperator", 0));
  assert_null(tn_runtime_op_plugin(rt, n_ops));
  assert_string_equal(tn_runtime_kernel_plugin(rt, 0), info.name);
  assert_null(tn_runtime_kernel_plugin(rt, -1));
  tn_runtime_destroy(rt);
}

/* ---- settled when asked for ---- */

enum { N_ASKERS = 4 };

typedef struct asker {
  const tn_runtime *rt;
  int32_t from;
  uint64_t sum; /* of the hashes of all that it was given */
} asker;

static uint64_t hash_text(const char *text, uint64_t seed) {
  return tn_hash_bytes(text, strlen(text), seed);
}

static uint64_t hash_op(const tn_registry *r, const tn_opdef *op) {
  const tn_kerneldef *const *kernels;
  const int32_t n = tn_registry_kernels(r, op, &kernels);
  uint64_t hash = 0;
  for (int32_t k = 0; k < op->schema.n_args; k++) hash = hash_text(op->schema.args[k].name, hash);
  for (int32_t k = 0; k < op->schema.n_inputs; k++) hash += op->arg_dtypes[k];
  for (int32_t k = 0; k < n; k++) hash = hash_text(kernels[k]->kernel.name, hash);
  return hash;
}

static void *ask(void *arg) {
  asker *me = arg;
  const tn_registry *r = me->rt->registry;
  const int32_t n = tn_registry_n_ops(r);
  for (int32_t k = 0; k < n; k++) {
    const int32_t at = (me->from + k) % n;
    const tn_op *op = tn_runtime_op(me->rt, at);
    me->sum += hash_op(r, tn_registry_op(r, op->domain, op->name, op->since)) * (uint64_t)(at + 1);
  }
  return NULL;
}

/* Several threads find the same, wherever they begin. */
static void test_askers_at_once(void **state) {
  pthread_t threads[N_ASKERS];
  asker askers[N_ASKERS];
  tn_runtime_options o = plain_options();
  o.flags = TN_RUNTIME_NO_DISCOVERY;
  tn_runtime *rt = assert_created(&o, *state);
  for (int32_t k = 0; k < N_ASKERS; k++) {
    askers[k] = (asker){rt, k % 2 * 100, 0};
    assert_int_equal(pthread_create(&threads[k], NULL, ask, &askers[k]), 0);
  }
  for (int k = 0; k < N_ASKERS; k++) pthread_join(threads[k], NULL);
  for (int k = 1; k < N_ASKERS; k++) assert_true(askers[k].sum == askers[0].sum);
  tn_runtime_destroy(rt);
}

/* Is it for any version of its operator? */
static bool is_attached(const tn_registry *r, const tn_kerneldef *kernel) {
  const tn_kerneldef *const *kernels;
  const tn_opdef *newest = tn_registry_op(r, kernel->domain, kernel->op, 0);
  for (int32_t version = 1; newest && version <= newest->op.since; version++) {
    const tn_opdef *op = tn_registry_op(r, kernel->domain, kernel->op, version);
    const int32_t n = tn_registry_kernels(r, op, &kernels);
    for (int32_t k = 0; k < n; k++)
      if (kernels[k] == kernel) return true;
  }
  return false;
}

/* What nobody looks at before it is asked for: every operator gets its schema, every kernel is for
 * one of them. */
static void test_all_are_settled(void **state) {
  tn_runtime_options o = plain_options();
  o.flags = TN_RUNTIME_NO_DISCOVERY;
  tn_runtime *rt = assert_created(&o, *state);
  const tn_registry *r = rt->registry;
  for (int32_t k = 0; k < tn_registry_n_ops(r); k++) {
    const tn_opdef *op = tn_registry_op_at(r, k);
    if (op->is_unsettled) fail_msg("%s %d is not settled", op->op.name, op->op.since);
    assert_non_null(op->schema.args);
  }
  for (int32_t k = 0; k < tn_registry_n_kernels(r); k++) {
    const tn_kerneldef *kernel = tn_registry_kernel_at(r, k);
    if (!is_attached(r, kernel)) fail_msg("%s is for no operator", kernel->kernel.name);
  }
  tn_runtime_destroy(rt);
}

/* ---- plug-ins ---- */

static const tn_plugin *query_nothing(uint32_t major, uint32_t minor) {
  return (void)major, (void)minor, NULL;
}

static tn_status complain(const tn_host *host, void *ctx, const tn_option *const *options,
                          uint32_t n, void **self) {
  (void)self;
  void *memory = host->alloc(ctx, 1000);
  host->free(ctx, memory);
  host->free(ctx, NULL);
  if (!memory) return TN_ERR_MEMORY;
  return n ? (host->fail)(ctx, TN_ERR_UNSUPPORTED, "no mode '%s' here (%d)", options[0]->value, 42)
           : TN_OK;
}
static const tn_plugin complainer = {.head = TN_HEAD(tn_plugin),
                                     .name = "complainer",
                                     .version = "1",
                                     .license = "MIT",
                                     .build_id = "",
                                     .flavour = TN_FLAVOUR,
                                     .init = complain};
static const tn_plugin *query_complainer(uint32_t major, uint32_t minor) {
  return (void)major, (void)minor, &complainer;
}

static void test_plugins(void **state) {
  tn_diag *diag = *state;
  const tn_runtime_options o = plain_options();
  tn_runtime *rt = assert_created(&o, diag);
  assert_int_equal(tn_runtime_add_plugin(rt, query_nothing, NULL, 0, diag), TN_ERR_VERSION);
  assert_says(diag, "offers nothing for ABI");
  assert_int_equal(tn_runtime_add_plugin(NULL, query_nothing, NULL, 0, diag), TN_ERR_INVALID);
  assert_int_equal(tn_runtime_load_plugin(rt, NULL, NULL, 0, diag), TN_ERR_INVALID);
  assert_int_equal(tn_runtime_add_plugin(rt, query_complainer, NULL, 2, diag), TN_ERR_INVALID);
  tn_option mode = {TN_HEAD(tn_option), "mode", "fancy"};
  const tn_option *const options[] = {&mode};
  tn_diag_clear(diag);
  assert_int_equal(tn_runtime_add_plugin(rt, query_complainer, options, 1, diag),
                   TN_ERR_UNSUPPORTED);
  assert_says(diag, "plug-in 'complainer', init: no mode 'fancy' here (42)");
  mode.value = NULL;
  assert_int_equal(tn_runtime_add_plugin(rt, query_complainer, options, 1, diag), TN_ERR_INVALID);
  assert_says(diag, "plug-in options: entry 0 needs a head, key and value");
  assert_int_equal(tn_runtime_add_plugin(rt, query_complainer, NULL, 0, diag), TN_OK);
  assert_int_equal(tn_runtime_n_plugins(rt), 3);
  assert_int_equal(tn_runtime_notify(rt, TN_EVENT_LOW_MEMORY), TN_OK);
  assert_int_equal(tn_runtime_notify(rt, TN_EVENT_FORK), TN_OK);
  assert_int_equal(tn_runtime_notify(rt, 0), TN_ERR_INVALID);
  assert_int_equal(tn_runtime_notify(rt, 99), TN_ERR_INVALID);
  assert_int_equal(tn_runtime_notify(NULL, TN_EVENT_FORK), TN_ERR_INVALID);
  tn_runtime_destroy(rt);
}

/* ---- memory ---- */

typedef struct scarce {
  int64_t left, in_use;
} scarce;

static void *scarce_alloc(void *self, uint64_t bytes) {
  scarce *s = self;
  if (s->left-- <= 0) return NULL;
  s->in_use++;
  return tn_default_allocator()->alloc(NULL, bytes);
}

static void scarce_free(void *self, void *memory, uint64_t bytes) {
  ((scarce *)self)->in_use--;
  tn_default_allocator()->free(NULL, memory, bytes);
}

static void test_out_of_memory(void **state) {
  const char *const pins[] = {"A=b", "C=d"};
  tn_status status = TN_ERR_MEMORY;
  (void)state;
  for (int64_t left = 0; status; left++) {
    scarce s = {left, 0};
    const tn_allocator a = {TN_HEAD(tn_allocator), &s, scarce_alloc, scarce_free};
    tn_runtime_options o = plain_options();
    tn_runtime *rt;
    o.allocator = &a;
    o.pins = pins;
    o.n_pins = 2;
    status = tn_runtime_create(&o, NULL, &rt);
    assert_true(status ? !rt : !!rt);
    if (!status) status = tn_runtime_add_plugin(rt, query_complainer, NULL, 0, NULL);
    if (status) assert_int_equal(status, TN_ERR_MEMORY);
    tn_runtime_destroy(rt);
    assert_int_equal(s.in_use, 0);
    assert_true(left < 1000);
  }
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
  const struct CMUnitTest tests[] = {
      TEST(test_bad_options),    TEST(test_pins),          TEST(test_isa_and_threads),
      TEST(test_older_options),  TEST(test_nothing),       TEST(test_what_ships),
      TEST(test_plugins),        TEST(test_out_of_memory), TEST(test_all_are_settled),
      TEST(test_askers_at_once),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
