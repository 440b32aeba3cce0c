/* The registry with plug-ins that are linked in: what good ones register, in which order and for
 * which versions, and that each kind of malformed descriptor is refused with words that name part,
 * member and rule. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <pthread.h>

#include "registry/registry.h"

#define LENGTH(array) (sizeof(array) / sizeof *(array))

/* ---- a good plug-in that every test may spoil ---- */

static tn_status any_infer(const tn_call *call) { return (void)call, TN_OK; }
static tn_status any_lower(const tn_call *c, tn_graph *g, int32_t n) {
  return (void)c, (void)g, (void)n, TN_OK;
}
static tn_status any_run(const tn_call *c, uint32_t stage, int64_t begin, int64_t end,
                         uint32_t worker) {
  return (void)c, (void)stage, (void)begin, (void)end, (void)worker, TN_OK;
}
static int32_t probe_x(const uint8_t *data, uint64_t size) {
  return size && data[0] == 'x' ? 80 : 0;
}
static int32_t probe_y(const uint8_t *data, uint64_t size) {
  return size && data[0] == 'x' ? 20 : 0;
}
static tn_status any_read(const tn_source *s, tn_graph *g) { return (void)s, (void)g, TN_OK; }

enum { MANY = 4 };

typedef struct world {
  tn_type_rule rule[MANY];
  tn_op op[MANY];
  tn_accept accept[MANY];
  tn_kernel kernel[MANY];
  tn_rewrite rewrite[MANY];
  tn_format format[MANY];
  tn_plugin plugin;
  const tn_type_rule *rules[MANY];
  const tn_op *ops[MANY];
  const tn_accept *accepts[MANY];
  const tn_kernel *kernels[MANY];
  const tn_rewrite *rewrites[MANY];
  const tn_format *formats[MANY];
  const char *cases[MANY];
} world;

/* com.acme::Scale since 1 with one kernel, a rewrite and a format. The other entries of the arrays
 * are like the first; the tests count as many of them as they want. */
static void world_init(world *w) {
  memset(w, 0, sizeof *w);
  for (int k = 0; k < MANY; k++) {
    w->rule[k] =
        (tn_type_rule){TN_HEAD(tn_type_rule), "T", "X,Y", TN_MASK(TN_F32) | TN_MASK(TN_F64)};
    w->op[k].head = (tn_head)TN_HEAD(tn_op);
    w->op[k].domain = "com.acme";
    w->op[k].name = "Scale";
    w->op[k].since = 1;
    w->op[k].schema = "(Tensor X, Tensor? S=None, *, float by=2.0) -> Tensor Y";
    w->op[k].types = w->rules;
    w->op[k].n_types = 1;
    w->op[k].infer = any_infer;
    w->op[k].cases = w->cases;
    w->op[k].n_cases = 1;
    w->accept[k] = (tn_accept){TN_HEAD(tn_accept), "X", TN_MASK(TN_F32), TN_PLAIN, 0, 0, 0, 0};
    w->kernel[k].head = (tn_head)TN_HEAD(tn_kernel);
    w->kernel[k].name = "scale_f32_c";
    w->kernel[k].op = "com.acme::Scale";
    w->kernel[k].device = "cpu";
    w->kernel[k].rank = TN_RANK_PORTABLE;
    w->kernel[k].accepts = w->accepts;
    w->kernel[k].n_accepts = 1;
    w->kernel[k].run = any_run;
    w->rewrite[k] = (tn_rewrite){TN_HEAD(tn_rewrite), "scale_away", "com.acme::Scale", any_lower};
    w->format[k] =
        (tn_format){TN_HEAD(tn_format), "acme", ".acme,.acm", probe_x, any_read, NULL, NULL, NULL};
    w->cases[k] = "X=f32[2,3] by=3";
    w->rules[k] = &w->rule[k];
    w->ops[k] = &w->op[k];
    w->accepts[k] = &w->accept[k];
    w->kernels[k] = &w->kernel[k];
    w->rewrites[k] = &w->rewrite[k];
    w->formats[k] = &w->format[k];
  }
  w->plugin = (tn_plugin){
      TN_HEAD(tn_plugin), "acme",      "1.2",      "MIT", "abc", TN_FLAVOUR, 1, 1, 1, 1, w->ops,
      w->kernels,         w->rewrites, w->formats, NULL,  NULL};
}

/* A query function takes no argument that could name the plug-in, so it stands here. */
static const tn_plugin *offered;
static const tn_plugin *query(uint32_t major, uint32_t minor) {
  return (void)major, (void)minor, offered;
}

typedef struct fixture {
  tn_registry *r;
  tn_diag *diag;
  world w, w2;
} fixture;

static int setup(void **state) {
  static fixture f;
  memset(&f, 0, sizeof f);
  assert_int_equal(tn_registry_create(tn_default_allocator(), &f.r), TN_OK);
  f.diag = tn_diag_create();
  world_init(&f.w);
  world_init(&f.w2);
  f.w2.plugin.name = "other";
  f.w2.plugin.n_ops = f.w2.plugin.n_formats = f.w2.plugin.n_rewrites = 0;
  f.w2.kernel[0].name = "scale_f32_fast";
  *state = &f;
  return 0;
}

static int teardown(void **state) {
  fixture *f = *state;
  tn_registry_destroy(f->r);
  tn_diag_destroy(f->diag);
  return 0;
}

static tn_status add(fixture *f, const tn_plugin *plugin) {
  offered = plugin;
  tn_diag_clear(f->diag);
  return tn_registry_add(f->r, query, "explicit", NULL, NULL, 0, f->diag);
}

static void assert_says(fixture *f, const char *text) {
  if (!strstr(tn_diag_text(f->diag), text))
    fail_msg("expected '%s' in: %s", text, tn_diag_text(f->diag));
}

static void assert_added(fixture *f, const tn_plugin *plugin) {
  if (add(f, plugin)) fail_msg("refused: %s", tn_diag_text(f->diag));
}

static tn_plugin_info info_at(fixture *f, int32_t index) {
  tn_plugin_info info;
  memset(&info, 0, sizeof info);
  info.head = (tn_head)TN_HEAD(tn_plugin_info);
  assert_int_equal(tn_registry_plugin(f->r, index, &info), TN_OK);
  return info;
}

/* ---- what good ones register ---- */

static void test_good(void **state) {
  fixture *f = *state;
  assert_added(f, &f->w.plugin);
  assert_int_equal(tn_diag_count(f->diag), 0);
  assert_int_equal(tn_registry_n_ops(f->r), 1);
  const tn_opdef *op = tn_registry_op(f->r, "com.acme", "Scale", 0);
  assert_non_null(op);
  assert_ptr_equal(op, tn_registry_op_at(f->r, 0));
  assert_null(tn_registry_op_at(f->r, 1));
  assert_null(tn_registry_op_at(f->r, -1));
  assert_string_equal(op->owner->name, "acme");
  assert_int_equal(op->schema.n_inputs, 2);
  assert_ptr_not_equal(op->op.types, f->w.rules); /* a copy */
  const uint64_t floats = TN_MASK(TN_F32) | TN_MASK(TN_F64);
  assert_int_equal(op->arg_dtypes[0], floats); /* X, S, Y */
  assert_true(op->arg_dtypes[1] & TN_MASK(TN_STRING));
  assert_int_equal(op->arg_dtypes[2], floats);
  assert_int_equal(op->arg_rule[0], 0);
  assert_int_equal(op->arg_rule[1], -1);
  assert_int_equal(op->arg_rule[2], 0);

  const tn_kerneldef *const *kernels;
  assert_int_equal(tn_registry_kernels(f->r, op, &kernels), 1);
  assert_string_equal(kernels[0]->kernel.accepts[0]->arg, "X");
  assert_string_equal(kernels[0]->domain, "com.acme");
  assert_string_equal(kernels[0]->op, "Scale");
  const tn_rewritedef *const *rewrites;
  assert_int_equal(tn_registry_rewrites(f->r, op, &rewrites), 1);
  assert_string_equal(rewrites[0]->rewrite.name, "scale_away");
  const tn_plugin_info info = info_at(f, 0);
  assert_string_equal(info.name, "acme");
  assert_string_equal(info.build_id, "abc");
  assert_string_equal(info.path, "");
  assert_null(info.refused);
  assert_int_equal(info.n_kernels, 1);
}

static void test_types_of_one_argument(void **state) {
  fixture *f = *state;
  f->w.rule[1].name = "S";
  f->w.rule[1].args = " S ";
  f->w.rule[1].dtypes = TN_MASK(TN_I64);
  f->w.op[0].n_types = 2;
  assert_added(f, &f->w.plugin);
  const tn_opdef *op = tn_registry_op(f->r, "com.acme", "Scale", 1);
  assert_int_equal(op->arg_dtypes[1], TN_MASK(TN_I64));
  assert_int_equal(op->arg_rule[1], 1);
}

static void test_versions(void **state) {
  fixture *f = *state;
  const int32_t ranges[3][2] = {{13, 0}, {1, 6}, {7, 12}};
  f->w.plugin.n_ops = 3;
  for (int k = 0; k < 3; k++) {
    f->w.op[k].since = ranges[k][0];
    f->w.op[k].until = ranges[k][1];
  }
  f->w.op[0].domain = f->w.op[1].domain = "ai.onnx";
  f->w.op[2].domain = NULL;
  f->w.kernel[0].op = "Scale";
  f->w.rewrite[0].root = "ai.onnx::Scale";
  assert_added(f, &f->w.plugin);
  assert_int_equal(tn_registry_op(f->r, "", "Scale", 6)->op.since, 1);
  assert_int_equal(tn_registry_op(f->r, "ai.onnx", "Scale", 7)->op.since, 7);
  assert_int_equal(tn_registry_op(f->r, NULL, "Scale", 12)->op.since, 7);
  assert_int_equal(tn_registry_op(f->r, "", "Scale", 1000)->op.since, 13);
  assert_int_equal(tn_registry_op(f->r, "", "Scale", 0)->op.since, 13);
  assert_null(tn_registry_op(f->r, "", "Scale", -1));
  assert_null(tn_registry_op(f->r, "com.acme", "Scale", 1));
  assert_null(tn_registry_op(f->r, "", "Scal", 1));
  int32_t since, until;
  assert_true(tn_registry_has_op(f->r, "", "Scale", &since, &until));
  assert_int_equal(since, 1);
  assert_int_equal(until, 0);
  assert_false(tn_registry_has_op(f->r, "", "Scales", NULL, NULL));
  const tn_rewritedef *const *rewrites;
  const tn_kerneldef *const *kernels;
  for (int k = 0; k < 3; k++) {
    const tn_opdef *op = tn_registry_op_at(f->r, k);
    assert_int_equal(op->op.since, k == 0 ? 1 : k == 1 ? 7 : 13);
    assert_int_equal(tn_registry_rewrites(f->r, op, &rewrites), 1);
    assert_int_equal(tn_registry_kernels(f->r, op, &kernels), 1); /* 0, 0: all versions */
  }
}

static void test_closed_version_range(void **state) {
  fixture *f = *state;
  f->w.op[0].since = 3;
  f->w.op[0].until = 5;
  assert_added(f, &f->w.plugin);
  assert_null(tn_registry_op(f->r, "com.acme", "Scale", 2));
  assert_null(tn_registry_op(f->r, "com.acme", "Scale", 6));
  assert_non_null(tn_registry_op(f->r, "com.acme", "Scale", 5));
  assert_non_null(tn_registry_op(f->r, "com.acme", "Scale", 0)); /* the newest there is */
}

static void test_kernels_by_rank_and_version(void **state) {
  fixture *f = *state;
  const char *const names[] = {"a", "b", "c", "d"};
  const int32_t ranks[] = {100, 300, 200, 200};
  for (int k = 0; k < 4; k++) {
    f->w.kernel[k].name = names[k];
    f->w.kernel[k].rank = ranks[k];
  }
  f->w.plugin.n_kernels = 4;
  f->w.plugin.n_ops = 2;
  f->w.op[0].until = 9;
  f->w.op[1].since = 10;
  f->w.kernel[1].until = 9;
  f->w.kernel[3].since = 10;
  assert_added(f, &f->w.plugin);
  const tn_kerneldef *const *kernels;
  assert_int_equal(
      tn_registry_kernels(f->r, tn_registry_op(f->r, "com.acme", "Scale", 4), &kernels), 3);
  assert_string_equal(kernels[0]->kernel.name, "b");
  assert_string_equal(kernels[1]->kernel.name, "c");
  assert_string_equal(kernels[2]->kernel.name, "a");
  assert_int_equal(
      tn_registry_kernels(f->r, tn_registry_op(f->r, "com.acme", "Scale", 10), &kernels), 3);
  assert_string_equal(kernels[0]->kernel.name, "c"); /* equal ranks: in order of the table */
  assert_string_equal(kernels[1]->kernel.name, "d");
  assert_string_equal(kernels[2]->kernel.name, "a");
  assert_int_equal(tn_registry_n_kernels(f->r), 4);
  assert_string_equal(tn_registry_kernel_at(f->r, 0)->kernel.name, "b");
  assert_null(tn_registry_kernel_at(f->r, 4));
  const tn_opdef foreign = *tn_registry_op_at(f->r, 0);
  assert_int_equal(tn_registry_kernels(f->r, &foreign, &kernels), 0);
}

/* An old version that is lowered before kernels are chosen may have other arguments than the
 * kernel. */
static void test_early_lowered_version_takes_no_kernel(void **state) {
  fixture *f = *state;
  f->w.plugin.n_ops = 2;
  f->w.op[0].until = 9;
  f->w.op[0].schema = "(Tensor X, *, int[] axes) -> Tensor Y";
  f->w.op[0].flags = TN_OP_LOWER_EARLY;
  f->w.op[0].lower = any_lower;
  f->w.op[0].infer = NULL;
  f->w.op[1].since = 10;
  assert_added(f, &f->w.plugin);
  const tn_kerneldef *const *kernels;
  assert_int_equal(
      tn_registry_kernels(f->r, tn_registry_op(f->r, "com.acme", "Scale", 1), &kernels), 0);
  assert_int_equal(
      tn_registry_kernels(f->r, tn_registry_op(f->r, "com.acme", "Scale", 10), &kernels), 1);
}

static void test_formats(void **state) {
  fixture *f = *state;
  f->w.format[1].name = "weak";
  f->w.format[1].probe = probe_y;
  f->w.format[1].extensions = ".weak";
  f->w.format[2].name = "silent";
  f->w.format[2].probe = NULL;
  f->w.format[2].extensions = ".s,.silent";
  f->w.plugin.n_formats = 3;
  assert_added(f, &f->w.plugin);
  const uint8_t x[] = "xyz", other[] = "abc";
  assert_string_equal(tn_registry_recognise(f->r, "m.weak", x, 3)->name,
                      "acme"); /* best probe wins */
  assert_string_equal(tn_registry_recognise(f->r, "m.weak", other, 3)->name, "weak");
  assert_string_equal(tn_registry_recognise(f->r, "m.silent", other, 3)->name, "silent");
  assert_string_equal(tn_registry_recognise(f->r, "m.acm", other, 3)->name, "acme");
  assert_null(
      tn_registry_recognise(f->r, ".weak", other, 3)); /* a name that is nothing but an ending */
  assert_null(tn_registry_recognise(f->r, "m.onnx", other, 3));
  assert_null(tn_registry_recognise(f->r, NULL, NULL, 0));
  assert_string_equal(tn_registry_format(f->r, "silent")->name, "silent");
  assert_null(tn_registry_format(f->r, "none"));
  assert_int_equal(tn_registry_n_formats(f->r), 3);
  assert_string_equal(tn_registry_format_at(f->r, 1)->name, "weak");
}

/* ---- more than one plug-in ---- */

static void test_kernel_for_op_of_another(void **state) {
  fixture *f = *state;
  f->w2.kernel[0].rank = TN_RANK_PLUGIN;
  assert_added(f, &f->w.plugin);
  const tn_opdef *op = tn_registry_op(f->r, "com.acme", "Scale", 0);
  const tn_kerneldef *const *before, *const *after;
  assert_int_equal(tn_registry_kernels(f->r, op, &before), 1);
  assert_added(f, &f->w2.plugin);
  assert_int_equal(tn_registry_kernels(f->r, op, &after), 2);
  assert_string_equal(after[0]->kernel.name, "scale_f32_fast");
  assert_string_equal(after[0]->owner->name, "other");
  assert_int_equal(after[0]->owner->index, 1);
  assert_string_equal(before[0]->kernel.name, "scale_f32_c"); /* old tables stay */
  assert_ptr_equal(op, tn_registry_op(f->r, "com.acme", "Scale", 0));
}

static void test_kernel_before_its_op(void **state) {
  fixture *f = *state;
  assert_int_equal(add(f, &f->w2.plugin), TN_ERR_NOT_FOUND);
  assert_says(
      f,
      "plug-in 'other', kernel 'scale_f32_fast', member op: is 'com.acme::Scale', which neither");
  assert_int_equal(tn_registry_n_plugins(f->r), 1);
  assert_string_equal(info_at(f, 0).refused, tn_diag_text(f->diag));
  assert_string_equal(info_at(f, 0).name, "other");
  assert_string_equal(info_at(f, 0).version, "1.2");
  assert_added(f, &f->w.plugin);
  assert_added(f, &f->w2.plugin);
  assert_int_equal(tn_registry_n_plugins(f->r), 3);
}

static void test_same_op_twice(void **state) {
  fixture *f = *state;
  f->w2.plugin.n_ops = 1;
  assert_added(f, &f->w.plugin);
  assert_added(f, &f->w2.plugin);
  int32_t severity = -1;
  const char *text = tn_diag_message(f->diag, 0, &severity);
  assert_int_equal(severity, TN_DIAG_WARNING);
  assert_non_null(strstr(text, "plug-in 'acme' has registered this op with the same schema"));
  assert_int_equal(tn_registry_n_ops(f->r), 1);
  const tn_opdef *op = tn_registry_op(f->r, "com.acme", "Scale", 0);
  const tn_kerneldef *const *kernels;
  assert_string_equal(op->owner->name, "acme");
  assert_int_equal(tn_registry_kernels(f->r, op, &kernels), 2);
}

static void test_conflicting_op(void **state) {
  fixture *f = *state;
  f->w2.plugin.n_ops = 1;
  f->w2.op[0].schema = "(Tensor X) -> Tensor Y";
  assert_added(f, &f->w.plugin);
  assert_int_equal(add(f, &f->w2.plugin), TN_ERR_INVALID);
  assert_says(
      f, "plug-in 'other', op 'com.acme::Scale' since 1, member since: overlaps versions 1..0");
  assert_says(f, "of plug-in 'acme'");
  assert_int_equal(tn_registry_n_ops(f->r), 1);
  assert_int_equal(tn_registry_n_kernels(f->r), 1);
}

/* A later version of an op, with other arguments, must not get kernels that read the attributes of
 * the old one. */
static void test_new_version_elsewhere(void **state) {
  fixture *f = *state;
  f->w.op[0].until = 9;
  assert_added(f, &f->w.plugin);
  f->w2.plugin.n_ops = 1;
  f->w2.plugin.n_kernels = 0;
  f->w2.op[0].since = 10;
  f->w2.op[0].schema = "(Tensor X, *, int[] axes) -> Tensor Y";
  assert_added(f, &f->w2.plugin);
  const tn_kerneldef *const *kernels;
  assert_int_equal(
      tn_registry_kernels(f->r, tn_registry_op(f->r, "com.acme", "Scale", 10), &kernels), 0);
  assert_int_equal(
      tn_registry_kernels(f->r, tn_registry_op(f->r, "com.acme", "Scale", 9), &kernels), 1);
}

static void test_same_plugin_twice(void **state) {
  fixture *f = *state;
  assert_added(f, &f->w.plugin);
  assert_int_equal(add(f, &f->w.plugin), TN_ERR_INVALID);
  assert_says(f, "plug-in 'acme', member name: is that of a plug-in in use (explicit)");
}

static void test_namesake_kernels(void **state) {
  fixture *f = *state;
  f->w2.kernel[0].name = "scale_f32_c";
  assert_added(f, &f->w.plugin);
  assert_added(f, &f->w2.plugin);
  assert_int_equal(tn_diag_count(f->diag), 1);
  assert_non_null(
      strstr(tn_diag_message(f->diag, 0, NULL), "plug-in 'acme' has a kernel of that name too"));
}

static void test_format_conflict(void **state) {
  fixture *f = *state;
  f->w2.plugin.n_formats = 1;
  assert_added(f, &f->w.plugin);
  assert_int_equal(add(f, &f->w2.plugin), TN_ERR_INVALID);
  assert_says(f, "plug-in 'other', format 'acme', member name: is that of a registered format");
}

/* ---- init and shutdown ---- */

static char events[64];
static tn_registry *reported;

static tn_status init_a(const tn_host *h, void *ctx, const tn_option *const *o, uint32_t n,
                        void **self) {
  (void)h, (void)o;
  strcat(events, "A");
  *self = ctx;
  return n == 1 && !strcmp(o[0]->key, "speed") ? TN_OK : TN_ERR_INVALID;
}
static tn_status init_b(const tn_host *h, void *ctx, const tn_option *const *o, uint32_t n,
                        void **self) {
  (void)h, (void)ctx, (void)o, (void)n, (void)self;
  strcat(events, "B");
  return TN_OK;
}
static tn_status init_fails(const tn_host *h, void *ctx, const tn_option *const *o, uint32_t n,
                            void **self) {
  (void)h, (void)ctx, (void)o, (void)n, (void)self;
  tn_registry_report(reported, "the coffee is cold");
  return TN_ERR_IO;
}
static tn_status init_answers_nonsense(const tn_host *h, void *ctx, const tn_option *const *o,
                                       uint32_t n, void **self) {
  (void)h, (void)ctx, (void)o, (void)n, (void)self;
  return 7;
}
static void shutdown_a(void *self) { strcat(events, self ? "a" : "?"); }
static void shutdown_b(void *self) { strcat(events, self ? "?" : "b"); }

static void test_init_and_shutdown(void **state) {
  fixture *f = *state;
  const tn_option option = {TN_HEAD(tn_option), "speed", "high"};
  const tn_option *const options[] = {&option};
  *events = 0;
  f->w.plugin.init = init_a;
  f->w.plugin.shutdown = shutdown_a;
  f->w2.plugin.init = init_b;
  f->w2.plugin.shutdown = shutdown_b;
  tn_registry_set_ctx(f->r, f);
  offered = &f->w.plugin;
  assert_int_equal(tn_registry_add(f->r, query, "explicit", NULL, options, 1, f->diag), TN_OK);
  assert_ptr_equal(tn_registry_op_at(f->r, 0)->owner->self, f);
  assert_added(f, &f->w2.plugin);
  assert_string_equal(events, "AB");
  tn_registry_destroy(f->r);
  f->r = NULL;
  assert_string_equal(events, "ABba");
}

static void test_init_fails(void **state) {
  fixture *f = *state;
  *events = 0;
  reported = f->r;
  f->w.plugin.init = init_fails;
  f->w.plugin.shutdown = shutdown_a;
  assert_int_equal(add(f, &f->w.plugin), TN_ERR_IO);
  assert_says(f, "plug-in 'acme', init: the coffee is cold");
  assert_says(f, "plug-in 'acme', init: failed: TN_ERR_IO");
  assert_int_equal(tn_registry_n_ops(f->r), 0);
  assert_int_equal(tn_registry_n_formats(f->r), 0);
  f->w.plugin.init = init_answers_nonsense;
  assert_int_equal(add(f, &f->w.plugin), TN_ERR_INTERNAL);
  tn_registry_report(f->r, "nobody listens"); /* dropped */
  tn_registry_destroy(f->r);
  f->r = NULL;
  assert_string_equal(events, ""); /* no shutdown without init */
}

static void test_vetting_comes_before_init(void **state) {
  fixture *f = *state;
  *events = 0;
  f->w.plugin.init = init_b;
  f->w.kernel[0].run = NULL;
  assert_int_equal(add(f, &f->w.plugin), TN_ERR_INVALID);
  assert_string_equal(events, "");
}

/* ---- plug-ins of other ages ---- */

static void test_older_and_shorter(void **state) {
  fixture *f = *state;
  const uint32_t upto = offsetof(tn_op, reference);
  world *w = &f->w;
  /* Exactly as much memory as the struct claims to have, so that a sanitizer sees a step beyond it.
   */
  void *short_op = tn_alloc(tn_default_allocator(), upto);
  assert_non_null(short_op);
  w->op[0].head = (tn_head){upto, TN_ABI_MAJOR, 0};
  w->op[0].flops = NULL;
  memcpy(short_op, &w->op[0], upto);
  w->ops[0] = short_op;
  w->plugin.head = (tn_head){offsetof(tn_plugin, init), TN_ABI_MAJOR, 0};
  w->plugin.init = init_fails; /* beyond its end */
  assert_added(f, &w->plugin);
  const tn_op *op = &tn_registry_op_at(f->r, 0)->op;
  assert_null(op->reference);
  assert_null(op->doc);
  assert_int_equal(op->n_cases, 0);
  assert_ptr_equal(op->infer, any_infer);
  assert_int_equal(op->head.size, sizeof *op);
  tn_registry_destroy(f->r);
  f->r = NULL;
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
  X(plugin_major_text, "member head.major: is 99: made for ABI 99.1, this host serves ABI 0.x", \
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
  X(op_flags, "member flags: has bits 0x80000000, which ABI 0.1 does not know", \
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

static void test_no_descriptor(void **state) {
  fixture *f = *state;
  assert_int_equal(add(f, NULL), TN_ERR_VERSION);
  assert_says(f, "plug-in that is linked in: tn_plugin_query offers nothing for ABI 0.1");
  assert_int_equal(add(f, (const tn_plugin *)((uintptr_t)&f->w.plugin | 1)), TN_ERR_INVALID);
  assert_says(f, "which is not aligned");
  assert_int_equal(tn_registry_add(f->r, NULL, "explicit", NULL, NULL, 0, f->diag), TN_ERR_INVALID);
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

static void test_info_fits_the_caller(void **state) {
  fixture *f = *state;
  struct {
    tn_plugin_info info;
    char after[16];
  } old;
  assert_added(f, &f->w.plugin);
  memset(&old, 0x55, sizeof old);
  old.info.head = (tn_head){offsetof(tn_plugin_info, license), 0, 1};
  assert_int_equal(tn_registry_plugin(f->r, 0, &old.info), TN_OK);
  assert_string_equal(old.info.version, "1.2");
  assert_int_equal(*(unsigned char *)&old.info.license, 0x55); /* not written */
  old.info.head.size = sizeof old;
  assert_int_equal(tn_registry_plugin(f->r, 0, &old.info), TN_OK);
  assert_int_equal(old.after[15], 0);
  assert_int_equal(tn_registry_plugin(f->r, 1, &old.info), TN_ERR_NOT_FOUND);
  old.info.head.size = 0;
  assert_int_equal(tn_registry_plugin(f->r, 0, &old.info), TN_ERR_INVALID);
}

/* ---- memory that runs out ---- */

typedef struct scarce {
  int64_t left, in_use;
} scarce;

static void *scarce_alloc(void *self, uint64_t bytes) {
  scarce *s = self;
  if (s->left-- <= 0) return NULL;
  s->in_use++;
  const tn_allocator *a = tn_default_allocator();
  return a->alloc(a->self, bytes);
}
static void scarce_free(void *self, void *memory, uint64_t bytes) {
  const tn_allocator *a = tn_default_allocator();
  ((scarce *)self)->in_use--;
  a->free(a->self, memory, bytes);
}

static void test_out_of_memory(void **state) {
  fixture *f = *state;
  tn_status status = TN_ERR_MEMORY;
  for (int64_t left = 0; status; left++) {
    scarce s = {left, 0};
    const tn_allocator a = {TN_HEAD(tn_allocator), &s, scarce_alloc, scarce_free};
    tn_registry *r = NULL;
    status = tn_registry_create(&a, &r);
    assert_true(status ? !r : !!r);
    offered = &f->w.plugin;
    if (!status) status = tn_registry_add(r, query, "explicit", NULL, NULL, 0, NULL);
    if (status) assert_int_equal(status, TN_ERR_MEMORY);
    if (status && r) assert_int_equal(tn_registry_n_ops(r), 0);
    tn_registry_destroy(r);
    assert_int_equal(s.in_use, 0);
    assert_true(left < 1000);
  }
}

/* ---- readers while plug-ins are added ---- */

static void *read_on(void *arg) {
  const tn_registry *r = arg;
  const tn_kerneldef *const *kernels;
  while (tn_registry_n_plugins(r) < 20) {
    const tn_opdef *op = tn_registry_op(r, "com.acme", "Scale", 0);
    const int32_t n = tn_registry_kernels(r, op, &kernels);
    for (int32_t k = 0; k < n; k++)
      if (kernels[k]->kernel.run != any_run) return (void *)kernels;
  }
  return NULL;
}

static void test_readers_take_no_lock(void **state) {
  fixture *f = *state;
  static char names[20][8];
  pthread_t reader;
  void *wrong = NULL;
  assert_added(f, &f->w.plugin);
  assert_int_equal(pthread_create(&reader, NULL, read_on, f->r), 0);
  for (int k = 1; k < 20; k++) {
    snprintf(names[k], sizeof names[k], "p%d", k);
    f->w2.plugin.name = f->w2.kernel[0].name = names[k];
    assert_added(f, &f->w2.plugin);
  }
  pthread_join(reader, &wrong);
  assert_null(wrong);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
  const struct CMUnitTest tests[] = {
      TEST(test_good),
      TEST(test_types_of_one_argument),
      TEST(test_versions),
      TEST(test_closed_version_range),
      TEST(test_kernels_by_rank_and_version),
      TEST(test_early_lowered_version_takes_no_kernel),
      TEST(test_formats),
      TEST(test_kernel_for_op_of_another),
      TEST(test_kernel_before_its_op),
      TEST(test_same_op_twice),
      TEST(test_conflicting_op),
      TEST(test_new_version_elsewhere),
      TEST(test_same_plugin_twice),
      TEST(test_namesake_kernels),
      TEST(test_format_conflict),
      TEST(test_init_and_shutdown),
      TEST(test_init_fails),
      TEST(test_vetting_comes_before_init),
      TEST(test_older_and_shorter),
      TEST(test_newer_and_longer),
      TEST(test_malformed),
      TEST(test_no_descriptor),
      TEST(test_messages_are_bounded),
      TEST(test_info_fits_the_caller),
      TEST(test_out_of_memory),
      TEST(test_readers_take_no_lock),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
