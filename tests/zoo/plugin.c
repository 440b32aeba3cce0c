/* The zoo's plug-in. TENON_ZOO names the animal that it shall be: tn_plugin_query then breaks the
 * sound tables below in the way that members.h or animals.h says. Without it the plug-in is
 * sound. */
#include <dlfcn.h>
#include <fcntl.h>
#include <fenv.h>
#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../parts.h"
#include "kinds.h"
#include "members.h"

enum { MANY = 2, ENDLESS = 1 << 17 };

/* ---- what sound parts do ---- */

static tn_status twice_plan(const tn_call *call, tn_kernel_plan *plan) {
  plan->items[0] = part_elements(call->outputs[0]);
  plan->grain[0] = 4096;
  plan->flags = TN_PLAN_ELEMENTWISE;
  return TN_OK;
}

static tn_status twice_run(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                           uint32_t worker) {
  const float *x = call->inputs[0]->data;
  float *y = call->outputs[0]->data;
  (void)stage, (void)worker;
  for (int64_t i = begin; i < end; i++) y[i] = 2 * x[i];
  return TN_OK;
}

/* For kernels that are not asked for ranges of elements. */
static tn_status whole_run(const tn_call *call) {
  return twice_run(call, 0, 0, part_elements(call->outputs[0]), 0);
}

static tn_status twice_reference(const tn_call *call) { return whole_run(call); }

static tn_status twice_rewrite(const tn_call *call, tn_graph *graph, int32_t node) {
  return (void)call, (void)graph, (void)node, TN_OK;
}

static int32_t zoo_probe(const uint8_t *data, uint64_t size) {
  return size > 3 && !memcmp(data, "ZOO!", 4) ? 100 : 0;
}

static tn_status zoo_build(const tn_graph_api *api, tn_graph *graph) {
  return part_chain(api, graph, "zoo", "Twice");
}

/* "ZOO!", how many bytes follow (4 bytes, the lowest first), and those; or "ZOO!" alone. */
static const char zoo_bytes[12] = "ZOO!\4\0\0\0data";

static bool is_ours(const tn_source *source) {
  return source->size > 3 && !memcmp(source->data, zoo_bytes, 4);
}

/* Takes the file to be whole. */
static uint32_t sum_of(const tn_source *source) {
  const volatile uint8_t *p = source->data;
  uint32_t sum = 0;
  const uint32_t n = p[4] | (uint32_t)p[5] << 8 | (uint32_t)p[6] << 16 | (uint32_t)p[7] << 24;
  for (uint32_t k = 0; k < n; k++) sum += p[8 + k];
  return sum;
}

static tn_status zoo_read(const tn_source *source, tn_graph *graph) {
  const uint8_t *p = source->data;
  if (!is_ours(source)) return source->host->fail(source->ctx, TN_ERR_INVALID, "is no zoo");
  if (source->size > 4 && (source->size < 8 || p[4] + 8u > source->size || p[5] || p[6] || p[7]))
    return source->host->fail(source->ctx, TN_ERR_INVALID, "ends too early");
  if (source->size > 4) (void)sum_of(source);
  return zoo_build(source->host->graph, graph);
}

static tn_status zoo_write(const tn_sink *sink, const tn_graph *graph) {
  return (void)graph, sink->write(sink->ctx, zoo_bytes, sizeof zoo_bytes);
}

/* ---- sound tables ---- */

static tn_type_rule rule[MANY];
static tn_op op[MANY];
static tn_accept accept[MANY];
static tn_kernel kernel[MANY];
static tn_rewrite rewrite[MANY];
static tn_format format[MANY];
static const tn_type_rule *rules[MANY];
static const tn_op *ops[MANY];
static const tn_accept *accepts[MANY];
static const tn_kernel *kernels[MANY];
static const tn_rewrite *rewrites[MANY];
static const tn_format *formats[MANY];
static const char *cases[MANY] = {"X=f32[2,3]", "X=f32[4]"};
static tn_extension extension[MANY];
static const tn_extension *extensions[MANY];
static tn_compiler compiler;
static const tn_compiler *compilers[MANY];
static tn_dispatcher dispatcher;
static const tn_dispatcher *dispatchers[MANY];
static tn_device_driver driver;
static const tn_device_driver *drivers[MANY];
static tn_device_kernel device_kernel;
static const tn_device_kernel *device_kernels[MANY];
static tn_kernel device_row;
static tn_program program;
static const tn_program *programs[MANY];
static tn_program_form form;
static const tn_program_form *forms[MANY];
static tn_target target[MANY];
static const tn_target *targets[MANY];
static const tn_plugin *answer; /* of tn_plugin_query */
static tn_plugin plugin;

/* Things to point to. */
static char endless[ENDLESS + 8]; /* a text without end, as far as any limit reaches */
static const char rubbish[] = "no code, only data, and no struct at all, in 64 bytes or more....";
static struct {
  tn_op op;
  uint64_t appended[4];
} newer_op;

/* Callbacks that nobody calls. */
static void fill_functions(void *members, size_t bytes) {
  tn_status (*const any)(const tn_call *) = twice_reference;
  for (size_t at = 0; at < bytes; at += sizeof any) memcpy((char *)members + at, &any, sizeof any);
}

/* Of a driver without a device, and of a kernel that none of them runs. */
static tn_status count_none(const tn_device_call *c, uint32_t *out_n) {
  *out_n = 0;
  return c->host->fail(c->ctx, TN_ERR_NOT_FOUND, "there are no devices in the zoo");
}

static tn_status record_nothing(const tn_call *call, tn_recorder *recorder) {
  return (void)call, (void)recorder, TN_OK;
}

/* Vetting calls this one. */
static tn_status claim_nothing(const tn_accelerator_call *call, const tn_graph *graph,
                               tn_claim *const *claims, int32_t n_claims) {
  (void)call, (void)graph;
  for (int32_t k = 0; k < n_claims; k++)
    if (claims[k]) claims[k]->reason = "it is no animal";
  return TN_OK;
}

static void make_sound_accelerator(void) {
  compiler = (tn_compiler){.head = TN_HEAD(tn_compiler),
                           .name = "zoo-npu",
                           .vendor = "Zoo",
                           .format = "zoo-bin",
                           .n_targets = 1,
                           .targets = targets};
  fill_functions(&compiler.compatible, sizeof compiler - offsetof(tn_compiler, compatible));
  compiler.partition = claim_nothing;
  dispatcher = (tn_dispatcher){
      .head = TN_HEAD(tn_dispatcher), .name = "zoo-npu", .vendor = "Zoo", .format = "zoo-bin"};
  fill_functions(&dispatcher.open, sizeof dispatcher - offsetof(tn_dispatcher, open));
  for (int k = 0; k < MANY; k++) {
    target[k] = (tn_target){TN_HEAD(tn_target), "npu-2", "npu", "1.0"};
    targets[k] = &target[k];
    compilers[k] = &compiler;
    dispatchers[k] = &dispatcher;
  }
}

static void make_sound_device(void) {
  driver = (tn_device_driver){.head = TN_HEAD(tn_device_driver),
                              .name = "zoo-gpu",
                              .vendor = "Zoo",
                              .kinds = "zoo",
                              .languages = "zoo-code"};
  fill_functions(&driver.count, sizeof driver - offsetof(tn_device_driver, count));
  driver.count = count_none;
  form = (tn_program_form){TN_HEAD(tn_program_form), "zoo-code", rubbish, sizeof rubbish};
  program =
      (tn_program){.head = TN_HEAD(tn_program), .name = "twice", .forms = forms, .n_forms = 1};
  device_row = (tn_kernel){.head = TN_HEAD(tn_kernel),
                           .name = "twice_f32_zoo",
                           .op = "zoo::Twice",
                           .device = "zoo-gpu",
                           .rank = TN_RANK_PLUGIN,
                           .accepts = accepts,
                           .n_accepts = 1,
                           .plan = twice_plan};
  device_kernel = (tn_device_kernel){.head = TN_HEAD(tn_device_kernel),
                                     .kernel = &device_row,
                                     .programs = programs,
                                     .n_programs = 1,
                                     .record = record_nothing};
  for (int k = 0; k < MANY; k++) {
    drivers[k] = &driver;
    device_kernels[k] = &device_kernel;
    programs[k] = &program;
    forms[k] = &form;
  }
}

static void make_sound(void) {
  make_sound_accelerator();
  make_sound_device();
  memset(endless, 'a', ENDLESS);
  for (int k = 0; k < MANY; k++) {
    rule[k] = (tn_type_rule){TN_HEAD(tn_type_rule), "T", "X,Y", TN_MASK(TN_F32) | TN_MASK(TN_F64)};
    op[k] = (tn_op){.head = TN_HEAD(tn_op),
                    .domain = "zoo",
                    .name = "Twice",
                    .since = 1,
                    .schema = "(Tensor X, *, float by=2.0) -> Tensor Y",
                    .types = rules,
                    .n_types = 1,
                    .flags = TN_OP_SAME_AS_INPUT,
                    .reference = twice_reference,
                    .cases = cases,
                    .n_cases = 1,
                    .doc = "2 * X"};
    accept[k] = (tn_accept){TN_HEAD(tn_accept), "X", TN_MASK(TN_F32), TN_PLAIN, 0, 0, 0};
    kernel[k] = (tn_kernel){.head = TN_HEAD(tn_kernel),
                            .name = "twice_f32_c",
                            .op = "zoo::Twice",
                            .device = "cpu",
                            .rank = TN_RANK_PLUGIN,
                            .accepts = accepts,
                            .n_accepts = 1,
                            .plan = twice_plan,
                            .run = twice_run};
    rewrite[k] =
        (tn_rewrite){TN_HEAD(tn_rewrite), "twice_away", "zoo::Twice", twice_rewrite, "zoo::Twice"};
    format[k] = (tn_format){.head = TN_HEAD(tn_format),
                            .name = "zoo",
                            .extensions = ".zoo",
                            .probe = zoo_probe,
                            .read = zoo_read,
                            .write = zoo_write};
    rules[k] = &rule[k];
    ops[k] = &op[k];
    accepts[k] = &accept[k];
    kernels[k] = &kernel[k];
    rewrites[k] = &rewrite[k];
    formats[k] = &format[k];
    extension[k] = (tn_extension){TN_HEAD(tn_extension), "profiler.v1", rubbish};
    extensions[k] = &extension[k];
  }
  plugin = (tn_plugin){.head = TN_HEAD(tn_plugin),
                       .name = "zoo",
                       .version = "1.0",
                       .license = "MIT",
                       .build_id = "test",
                       .flavour = TN_FLAVOUR,
                       .n_ops = 1,
                       .n_kernels = 1,
                       .n_rewrites = 1,
                       .n_formats = 1,
                       .n_drivers = 1,
                       .n_device_kernels = 1,
                       .n_compilers = 1,
                       .n_dispatchers = 1,
                       .n_extensions = 1,
                       .ops = ops,
                       .kernels = kernels,
                       .rewrites = rewrites,
                       .formats = formats,
                       .drivers = drivers,
                       .device_kernels = device_kernels,
                       .compilers = compilers,
                       .dispatchers = dispatchers,
                       .extensions = extensions};
  answer = &plugin;
}

/* ---- broken ones ---- */

#include "deeds.h" /* which uses all of the above */

/* What the body of an animal is: a function of this type, or statements. */
#define CALL_BODY(name, ...)                   \
  static tn_status name(const tn_call *call) { \
    (void)call;                                \
    __VA_ARGS__;                               \
  }
#define GRAPH_BODY(name, ...)                                                 \
  static tn_status name(const tn_call *call, tn_graph *graph, int32_t node) { \
    (void)call, (void)graph, (void)node;                                      \
    __VA_ARGS__;                                                              \
  }
#define RUN_BODY(name, ...)                                                              \
  static tn_status name(const tn_call *call, uint32_t stage, int64_t begin, int64_t end, \
                        uint32_t worker) {                                               \
    (void)call, (void)stage, (void)begin, (void)end, (void)worker;                       \
    __VA_ARGS__;                                                                         \
  }
#define BODY_DESCRIPTOR(name, ...)
#define BODY_BIRTH(name, ...)
#define BODY_DEATH(name, ...)
#define BODY_SHUTDOWN(name, ...) \
  static void name(void *self) { \
    (void)self;                  \
    __VA_ARGS__;                 \
  }
#define BODY_NOTIFY(name, ...)                   \
  static void name(void *self, uint32_t event) { \
    (void)self, (void)event;                     \
    __VA_ARGS__;                                 \
  }
#define BODY_INIT(name, ...)                                                             \
  static tn_status name(const tn_host *host, void *ctx, const tn_option *const *options, \
                        uint32_t n_options, void **out_self) {                           \
    (void)host, (void)ctx, (void)options, (void)n_options, *out_self = NULL;             \
    __VA_ARGS__;                                                                         \
  }
#define BODY_INFER(name, ...) CALL_BODY(name, __VA_ARGS__)
#define BODY_FLOPS(name, ...)                                     \
  static tn_status name(const tn_call *call, double *out_flops) { \
    (void)call, (void)out_flops;                                  \
    __VA_ARGS__;                                                  \
  }
#define BODY_EPILOGUE(name, ...)                                 \
  static tn_status name(const tn_call *call, tn_epilogue *out) { \
    (void)call, (void)out;                                       \
    __VA_ARGS__;                                                 \
  }
#define BODY_LOWER(name, ...) GRAPH_BODY(name, __VA_ARGS__)
#define BODY_REWRITE(name, ...) GRAPH_BODY(name, __VA_ARGS__)
#define BODY_REFUSE(name, ...)                   \
  static const char *name(const tn_call *call) { \
    (void)call;                                  \
    __VA_ARGS__;                                 \
  }
#define BODY_PLAN(name, ...)                                         \
  static tn_status name(const tn_call *call, tn_kernel_plan *plan) { \
    (void)call, (void)plan;                                          \
    __VA_ARGS__;                                                     \
  }
#define BODY_PREPARE(name, ...) CALL_BODY(name, __VA_ARGS__)
#define BODY_RUN(name, ...) RUN_BODY(name, __VA_ARGS__)
#define BODY_DYNAMIC(name, ...) RUN_BODY(name, __VA_ARGS__)
#define BODY_PROBE(name, ...)                               \
  static int32_t name(const uint8_t *data, uint64_t size) { \
    (void)data, (void)size;                                 \
    __VA_ARGS__;                                            \
  }
#define BODY_READ(name, ...)                                        \
  static tn_status name(const tn_source *source, tn_graph *graph) { \
    const tn_graph_api *api = source->host->graph;                  \
    (void)api, (void)graph;                                         \
    __VA_ARGS__;                                                    \
  }
#define BODY_WRITE(name, ...)                                         \
  static tn_status name(const tn_sink *sink, const tn_graph *graph) { \
    (void)sink, (void)graph;                                          \
    __VA_ARGS__;                                                      \
  }
#define ANIMAL(kind, name, where, wrong, says, ...) BODY_##kind(name, __VA_ARGS__)
#include "animals.h"
#undef ANIMAL

static tn_status dynamic_plan(const tn_call *call, tn_kernel_plan *plan) {
  return (void)call, plan->flags = TN_PLAN_DATA_DEPENDENT, TN_OK;
}

static tn_status open_infer(const tn_call *call) { return says_shape(call, 1, TN_DIM_UNKNOWN); }

static tn_status one_item_plan(const tn_call *call, tn_kernel_plan *plan) {
  return (void)call, (void)plan, TN_OK;
}

/* What tn_plugin_query does to the sound tables for an animal of each kind. */
#define SPOIL_DESCRIPTOR(name, ...) __VA_ARGS__;
#define SPOIL_BIRTH(name, ...) __VA_ARGS__;
#define SPOIL_DEATH(name, ...) __VA_ARGS__;
#define SPOIL_SHUTDOWN(name, ...) plugin.shutdown = name;
#define SPOIL_NOTIFY(name, ...) plugin.notify = name;
#define SPOIL_INIT(name, ...) plugin.init = name;
#define SPOIL_INFER(name, ...) op[0].infer = name;
#define SPOIL_FLOPS(name, ...) op[0].flops = name;
#define SPOIL_EPILOGUE(name, ...) op[0].epilogue = name, kernel[0].flags = TN_KERNEL_EPILOGUE;
#define SPOIL_LOWER(name, ...) op[0].lower = name, op[0].flags |= TN_OP_LOWER_ALWAYS;
#define SPOIL_REWRITE(name, ...) rewrite[0].apply = name;
#define SPOIL_REFUSE(name, ...) kernel[0].refuse = name;
#define SPOIL_PLAN(name, ...) kernel[0].plan = name;
#define SPOIL_PREPARE(name, ...) kernel[0].prepare = name, kernel[0].plan = stateful_plan;
#define SPOIL_RUN(name, ...) kernel[0].run = name, kernel[0].plan = one_item_plan;
#define SPOIL_DYNAMIC(name, ...)                       \
  kernel[0].run = name, kernel[0].plan = dynamic_plan; \
  op[0].infer = open_infer, op[0].flags = 0;
#define SPOIL_PROBE(name, ...) format[0].probe = name;
#define SPOIL_READ(name, ...) format[0].read = name;
#define SPOIL_WRITE(name, ...) format[0].write = name;

/* Does what the animal that TENON_ZOO names does at this time. host_major: that asks. */
static void spoil(int when, uint32_t host_major) {
  const char *animal = getenv("TENON_ZOO");
  char name[ZOO_NAME];
  if (!animal) return;
#define WHEN(kind) (kind == ZOO_BIRTH || kind == ZOO_DEATH ? kind : ZOO_DESCRIPTOR)
#define ANIMAL(kind, name, where, wrong, says, ...)         \
  if (!strcmp(animal, #name) && when == WHEN(ZOO_##kind)) { \
    SPOIL_##kind(name, __VA_ARGS__)                         \
  }
#include "animals.h"
#undef ANIMAL
  (void)host_major;
  for (int k = 0; k < ZOO_PRODUCT && when == ZOO_DESCRIPTOR; k++)
    if (zoo_is_animal(k) && !strcmp(animal, zoo_name(k, name)))
      damage(zoo_member_of(k), zoo_damage_of(k));
}

TN_EXPORT const tn_plugin *tn_plugin_query(uint32_t host_major, uint32_t host_minor) {
  (void)host_minor;
  make_sound();
  spoil(ZOO_DESCRIPTOR, host_major);
  return answer;
}

/* Animals that are dangerous before anybody asks them, and after everybody has. */
__attribute__((constructor)) static void be_born(void) { spoil(ZOO_BIRTH, 1); }
__attribute__((destructor)) static void die(void) { spoil(ZOO_DEATH, 1); }
