/* The registry with plug-ins that are linked in: what good ones register, in which order and for
 * which versions, what happens when several offer the same, and when they start and stop. */
#include <pthread.h>

#include "registry_kit.h"

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

static int32_t probe_60(const uint8_t *data, uint64_t size) {
  return size && data[0] == 'r' ? 60 : 0;
}
static int32_t probe_70(const uint8_t *data, uint64_t size) {
  return size && data[0] == 'r' ? 70 : 0;
}
static int32_t probe_81(const uint8_t *data, uint64_t size) {
  return size > 1 && data[0] == 'r' ? 81 : 0;
}

/* Rivals are those above 50 and within 10 of the best. */
static void test_rivals(void **state) {
  fixture *f = *state;
  static int32_t (*const probes[])(const uint8_t *, uint64_t) = {probe_60, probe_70, probe_81};
  static const char *const names[] = {"sixty", "seventy", "eighty"};
  for (int k = 0; k < 3; k++) {
    f->w.format[k].name = names[k];
    f->w.format[k].extensions = NULL;
    f->w.format[k].probe = probes[k];
  }
  f->w.plugin.n_formats = 3;
  assert_added(f, &f->w.plugin);
  const uint8_t one[] = "r", two[] = "rr";
  const tn_format *best = tn_registry_recognise(f->r, NULL, one, 1);
  assert_string_equal(best->name, "seventy");
  assert_string_equal(tn_registry_rival(f->r, best, one, 1)->name, "sixty");
  best = tn_registry_recognise(f->r, NULL, two, 2);
  assert_string_equal(best->name, "eighty");
  assert_null(tn_registry_rival(f->r, best, two, 2));
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
  const int ticket = tn_registry_enter(f->r);
  assert_int_equal(tn_registry_kernels(f->r, op, &before), 1);
  assert_added(f, &f->w2.plugin);
  assert_int_equal(tn_registry_kernels(f->r, op, &after), 2);
  assert_string_equal(after[0]->kernel.name, "scale_f32_fast");
  assert_string_equal(after[0]->owner->name, "other");
  assert_int_equal(after[0]->owner->index, 1);
  assert_string_equal(before[0]->kernel.name, "scale_f32_c"); /* old tables stay for readers */
  tn_registry_leave(f->r, ticket);
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

/* True if one of the notes on plug-in `index` has the text. */
static bool is_noted(fixture *f, int32_t index, const char *text) {
  const tn_plugin_info info = info_at(f, index);
  for (uint32_t k = 0; k < info.n_notes; k++)
    if (strstr(info.notes[k], text)) return true;
  return false;
}

/* An op that differs from the registered one is left out with all that was made for it; the rest of
 * the plug-in is in use. */
static void test_conflicting_op(void **state) {
  fixture *f = *state;
  f->w2.plugin.n_ops = f->w2.plugin.n_kernels = 2;
  f->w2.plugin.n_rewrites = 1;
  f->w2.op[0].schema = "(Tensor X) -> Tensor Y";
  f->w2.op[1].name = f->w2.kernel[1].name = "Shift";
  f->w2.kernel[1].op = "com.acme::Shift";
  assert_added(f, &f->w.plugin);
  assert_added(f, &f->w2.plugin);
  assert_int_equal(tn_diag_count(f->diag), 3);
  assert_true(is_noted(f, 1,
                       "plug-in 'other', op 'com.acme::Scale' since 1: is left out, with its "
                       "kernels and rewrites: it overlaps versions 1..0"));
  assert_true(is_noted(f, 1, "of plug-in 'acme', whose versions or schema differ"));
  assert_true(
      is_noted(f, 1, "plug-in 'other', kernel 'scale_f32_fast': is left out, as is the op"));
  assert_true(is_noted(f, 1, "plug-in 'other', rewrite 'scale_away': is left out, as is the op"));
  assert_int_equal(tn_registry_n_ops(f->r), 2);
  assert_int_equal(tn_registry_n_kernels(f->r), 2);
  const tn_kerneldef *const *kernels;
  const tn_rewritedef *const *rewrites;
  const tn_opdef *op = tn_registry_op(f->r, "com.acme", "Scale", 0);
  assert_string_equal(op->owner->name, "acme");
  assert_int_equal(tn_registry_kernels(f->r, op, &kernels), 1);
  assert_string_equal(kernels[0]->kernel.name, "scale_f32_c");
  assert_int_equal(tn_registry_rewrites(f->r, op, &rewrites), 1);
  assert_non_null(tn_registry_op(f->r, "com.acme", "Shift", 0));
}

/* Which kernel stands before which, and why. */
static void test_overrides_are_noted(void **state) {
  fixture *f = *state;
  static const struct {
    int32_t rank;
    const char *says;
  } rows[] = {
      {300,
       "kernel 'k0' of com.acme::Scale, rank 300, stands before 'scale_f32_c' of plug-in "
       "'acme', rank 100: where both can run a node, this one does"},
      {50,
       "kernel 'k1' of com.acme::Scale, rank 50, stands behind 'k0' of plug-in 'p0', rank 300 "
       "and 1 more: where both can run a node, the other one does, unless this one is pinned"},
      {300,
       "kernel 'k2' of com.acme::Scale, rank 300, stands beside 'k0' of plug-in 'p0', rank 300 "
       "and 2 more: where both can run a node, the cheaper one does"}};
  static char names[LENGTH(rows)][2][4];
  assert_added(f, &f->w.plugin);
  for (size_t k = 0; k < LENGTH(rows); k++) {
    snprintf(names[k][0], sizeof names[k][0], "p%d", (int)k);
    snprintf(names[k][1], sizeof names[k][1], "k%d", (int)k);
    f->w2.plugin.name = names[k][0];
    f->w2.kernel[0].name = names[k][1];
    f->w2.kernel[0].rank = rows[k].rank;
    assert_added(f, &f->w2.plugin);
    if (!is_noted(f, (int32_t)k + 1, rows[k].says)) fail_msg("no note: %s", rows[k].says);
  }
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
  tn_registry_report(reported, TN_DIAG_ERROR, "the coffee is cold");
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
  assert_int_equal(tn_registry_add(f->r, query, TN_ORIGIN_EXPLICIT, NULL, options, 1, f->diag),
                   TN_OK);
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
  tn_registry_report(f->r, TN_DIAG_ERROR, "nobody listens"); /* dropped */
  tn_registry_destroy(f->r);
  f->r = NULL;
  assert_string_equal(events, ""); /* no shutdown without init */
}

static void notify_a(void *self, uint32_t event) {
  const char letter[2] = {(char)('0' + event), 0};
  strcat(events, self ? letter : "?");
}

static void test_notify(void **state) {
  fixture *f = *state;
  *events = 0;
  tn_registry_notify(f->r, TN_EVENT_RESUME); /* nobody there */
  f->w.plugin.notify = notify_a;
  assert_added(f, &f->w.plugin); /* without init there is no self */
  tn_registry_notify(f->r, TN_EVENT_LOW_MEMORY);
  assert_string_equal(events, "?");
  const tn_option option = {TN_HEAD(tn_option), "speed", "high"};
  const tn_option *const options[] = {&option};
  *events = 0;
  f->w2.plugin.notify = notify_a;
  f->w2.plugin.init = init_a;
  tn_registry_set_ctx(f->r, f);
  assert_int_equal(add(f, &f->w2.plugin), TN_ERR_INVALID); /* refused ones hear nothing */
  tn_registry_notify(f->r, TN_EVENT_FORK);
  assert_string_equal(events, "A?");
  *events = 0;
  offered = &f->w2.plugin;
  assert_int_equal(tn_registry_add(f->r, query, TN_ORIGIN_EXPLICIT, NULL, options, 1, f->diag),
                   TN_OK);
  tn_registry_notify(f->r, TN_EVENT_SUSPEND);
  assert_string_equal(events, "A?2");
}

static void test_offers(void **state) {
  fixture *f = *state;
  f->w.plugin.n_compilers = 2;
  f->w.plugin.n_dispatchers = 1;
  f->w.plugin.n_extensions = 1;
  f->w.plugin.flags = TN_PLUGIN_THREADS;
  assert_added(f, &f->w.plugin); /* two compilers are fine */
  const tn_plugin_info info = info_at(f, 0);
  assert_int_equal(info.n_compilers, 2);
  assert_int_equal(info.n_dispatchers, 1);
  assert_int_equal(info.n_drivers, 0);
  assert_int_equal(info.n_extensions, 1);
  assert_int_equal(info.flags, TN_PLUGIN_THREADS);
  assert_string_equal(info.offers,
                      "compiler 'acme-npu', compiler 'acme-npu', dispatcher 'acme-npu', "
                      "profiler.v12 (not known to this host)");
}

static void test_vetting_comes_before_init(void **state) {
  fixture *f = *state;
  *events = 0;
  f->w.plugin.init = init_b;
  f->w.kernel[0].run = NULL;
  assert_int_equal(add(f, &f->w.plugin), TN_ERR_INVALID);
  assert_string_equal(events, "");
}

/* ---- what is told about them ---- */

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
    if (!status) status = tn_registry_add(r, query, TN_ORIGIN_EXPLICIT, NULL, NULL, 0, NULL);
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
  bool wrong = false;
  for (bool more = true; more && !wrong;) {
    const int ticket = tn_registry_enter(r);
    const tn_opdef *op = tn_registry_op(r, "com.acme", "Scale", 0);
    const int32_t n = tn_registry_kernels(r, op, &kernels);
    for (int32_t k = 0; k < n; k++)
      if (kernels[k]->kernel.run != any_run) wrong = true;
    more = tn_registry_n_plugins(r) < 20;
    tn_registry_leave(r, ticket);
  }
  return wrong ? arg : NULL;
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
      TEST(test_rivals),
      TEST(test_kernel_for_op_of_another),
      TEST(test_kernel_before_its_op),
      TEST(test_same_op_twice),
      TEST(test_conflicting_op),
      TEST(test_overrides_are_noted),
      TEST(test_new_version_elsewhere),
      TEST(test_same_plugin_twice),
      TEST(test_namesake_kernels),
      TEST(test_format_conflict),
      TEST(test_init_and_shutdown),
      TEST(test_init_fails),
      TEST(test_notify),
      TEST(test_offers),
      TEST(test_vetting_comes_before_init),
      TEST(test_info_fits_the_caller),
      TEST(test_out_of_memory),
      TEST(test_readers_take_no_lock),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
