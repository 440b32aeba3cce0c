/* A good plug-in that every test of the registry may spoil, and the registry to add it to.
 * Functions are marked unused: no test needs all. */
#ifndef TENON_TESTS_REGISTRY_KIT_H
#define TENON_TESTS_REGISTRY_KIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "registry/registry.h"
#include "tenon/accelerator.h"

#define UNUSED __attribute__((unused))
#define LENGTH(array) (sizeof(array) / sizeof *(array))

/* ---- a good plug-in that every test may spoil ---- */

static UNUSED tn_status any_infer(const tn_call *call) { return (void)call, TN_OK; }
static UNUSED tn_status any_lower(const tn_call *c, tn_graph *g, int32_t n) {
  return (void)c, (void)g, (void)n, TN_OK;
}
static UNUSED tn_status any_run(const tn_call *c, uint32_t stage, int64_t begin, int64_t end,
                                uint32_t worker) {
  return (void)c, (void)stage, (void)begin, (void)end, (void)worker, TN_OK;
}
static UNUSED int32_t probe_x(const uint8_t *data, uint64_t size) {
  return size && data[0] == 'x' ? 80 : 0;
}
static UNUSED int32_t probe_y(const uint8_t *data, uint64_t size) {
  return size && data[0] == 'x' ? 20 : 0;
}
static UNUSED tn_status any_read(const tn_source *s, tn_graph *g) {
  return (void)s, (void)g, TN_OK;
}

static UNUSED tn_status any_partition(const tn_accelerator_call *c, const tn_graph *g,
                                      tn_claim *const *claims, int32_t n) {
  return (void)c, (void)g, (void)claims, (void)n, TN_OK;
}
static UNUSED tn_status any_compile(const tn_accelerator_call *c, const tn_graph *const *parts,
                                    uint32_t n, const tn_module **out) {
  return (void)c, (void)parts, (void)n, (void)out, TN_ERR_UNSUPPORTED;
}
static UNUSED void any_release(const tn_accelerator_call *c, const tn_module *m) {
  (void)c, (void)m;
}
static UNUSED tn_status any_open(const tn_accelerator_call *c, void **out) {
  return (void)c, (void)out, TN_ERR_NOT_FOUND;
}
static UNUSED void any_close(const tn_accelerator_call *c, void *thing) { (void)c, (void)thing; }
static UNUSED tn_status any_load(const tn_accelerator_call *c, void *device, const tn_module *m,
                                 void **out) {
  return (void)c, (void)device, (void)m, (void)out, TN_ERR_UNSUPPORTED;
}
static UNUSED tn_status any_dispatch(const tn_accelerator_call *c, void *program, uint32_t entry,
                                     const tn_tensor *const *in, tn_tensor *const *out) {
  return (void)c, (void)program, (void)entry, (void)in, (void)out, TN_OK;
}

enum { MANY = 4 };

typedef struct world {
  tn_type_rule rule[MANY];
  tn_op op[MANY];
  tn_accept accept[MANY];
  tn_kernel kernel[MANY];
  tn_rewrite rewrite[MANY];
  tn_format format[MANY];
  tn_extension extension[MANY];
  tn_target target;
  tn_compiler compiler;
  tn_dispatcher dispatcher;
  tn_plugin plugin;
  const tn_compiler *compilers[MANY];
  const tn_dispatcher *dispatchers[MANY];
  const tn_extension *extensions[MANY];
  const tn_target *targets[1];
  const tn_type_rule *rules[MANY];
  const tn_op *ops[MANY];
  const tn_accept *accepts[MANY];
  const tn_kernel *kernels[MANY];
  const tn_rewrite *rewrites[MANY];
  const tn_format *formats[MANY];
  const char *cases[MANY];
} world;

/* The plug-in offers them where a test counts them. */
static UNUSED void world_init_accelerator(world *w) {
  w->target = (tn_target){TN_HEAD(tn_target), "npu-2", "npu", NULL};
  w->targets[0] = &w->target;
  w->compiler = (tn_compiler){.head = TN_HEAD(tn_compiler),
                              .name = "acme-npu",
                              .vendor = "Acme",
                              .format = "acme-code",
                              .n_targets = 1,
                              .targets = w->targets,
                              .partition = any_partition,
                              .compile = any_compile,
                              .release = any_release};
  w->dispatcher = (tn_dispatcher){.head = TN_HEAD(tn_dispatcher),
                                  .name = "acme-npu",
                                  .vendor = "Acme",
                                  .format = "acme-code",
                                  .open = any_open,
                                  .close = any_close,
                                  .load = any_load,
                                  .unload = any_close,
                                  .run = any_dispatch};
  for (int k = 0; k < MANY; k++) {
    w->compilers[k] = &w->compiler;
    w->dispatchers[k] = &w->dispatcher;
    w->extension[k] = (tn_extension){TN_HEAD(tn_extension), "profiler.v12", &w->target};
    w->extensions[k] = &w->extension[k];
  }
  w->plugin.compilers = w->compilers;
  w->plugin.dispatchers = w->dispatchers;
  w->plugin.extensions = w->extensions;
}

/* com.acme::Scale since 1 with one kernel, a rewrite and a format. The other entries of the arrays
 * are like the first; the tests count as many of them as they want. */
static UNUSED void world_init(world *w) {
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
    w->accept[k] =
        (tn_accept){TN_HEAD(tn_accept), k == 1 ? "*" : "X", TN_MASK(TN_F32), TN_PLAIN, 0, 0, 0};
    w->kernel[k].head = (tn_head)TN_HEAD(tn_kernel);
    w->kernel[k].name = "scale_f32_c";
    w->kernel[k].op = "com.acme::Scale";
    w->kernel[k].device = "cpu";
    w->kernel[k].rank = TN_RANK_PORTABLE;
    w->kernel[k].accepts = w->accepts;
    w->kernel[k].n_accepts = 2;
    w->kernel[k].run = any_run;
    w->rewrite[k] =
        (tn_rewrite){TN_HEAD(tn_rewrite), "scale_away", "com.acme::Scale", any_lower, NULL};
    w->format[k] = (tn_format){.head = TN_HEAD(tn_format),
                               .name = "acme",
                               .extensions = ".acme,.acm",
                               .probe = probe_x,
                               .read = any_read};
    w->cases[k] = "X=f32[2,3] by=3";
    w->rules[k] = &w->rule[k];
    w->ops[k] = &w->op[k];
    w->accepts[k] = &w->accept[k];
    w->kernels[k] = &w->kernel[k];
    w->rewrites[k] = &w->rewrite[k];
    w->formats[k] = &w->format[k];
  }
  w->plugin = (tn_plugin){.head = TN_HEAD(tn_plugin),
                          .name = "acme",
                          .version = "1.2",
                          .license = "MIT",
                          .build_id = "abc",
                          .flavour = TN_FLAVOUR,
                          .n_ops = 1,
                          .n_kernels = 1,
                          .n_rewrites = 1,
                          .n_formats = 1,
                          .ops = w->ops,
                          .kernels = w->kernels,
                          .rewrites = w->rewrites,
                          .formats = w->formats};
  world_init_accelerator(w);
}

/* A query function takes no argument that could name the plug-in, so it stands here. */
static const tn_plugin *offered;
static UNUSED const tn_plugin *query(uint32_t major, uint32_t minor) {
  return (void)major, (void)minor, offered;
}

typedef struct fixture {
  tn_registry *r;
  tn_diag *diag;
  world w, w2;
} fixture;

static UNUSED int setup(void **state) {
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

static UNUSED int teardown(void **state) {
  fixture *f = *state;
  tn_registry_destroy(f->r);
  tn_diag_destroy(f->diag);
  return 0;
}

static UNUSED tn_status add(fixture *f, const tn_plugin *plugin) {
  offered = plugin;
  tn_diag_clear(f->diag);
  return tn_registry_add(f->r, query, TN_ORIGIN_EXPLICIT, NULL, NULL, 0, f->diag);
}

static UNUSED void assert_says(fixture *f, const char *text) {
  if (!strstr(tn_diag_text(f->diag), text))
    fail_msg("expected '%s' in: %s", text, tn_diag_text(f->diag));
}

static UNUSED void assert_added(fixture *f, const tn_plugin *plugin) {
  if (add(f, plugin)) fail_msg("refused: %s", tn_diag_text(f->diag));
}

static UNUSED tn_plugin_info info_at(fixture *f, int32_t index) {
  tn_plugin_info info;
  memset(&info, 0, sizeof info);
  info.head = (tn_head)TN_HEAD(tn_plugin_info);
  assert_int_equal(tn_registry_plugin(f->r, index, &info), TN_OK);
  return info;
}

#endif
