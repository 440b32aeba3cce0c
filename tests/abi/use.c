/* A plug-in that uses every macro of tenon/plugin.h. It is compiled alone as each language that
 * plug-ins may be written in, with warnings as errors; abi_test.c then compares what they think the
 * header says. ABI_NAME names the result. */
#include "tenon/accelerator.h"
#include "tenon/device.h"

#include "facts.h"

#if TN_ABI_MAJOR != 1 || TN_ABI_MINOR < 0
#error "the versions can be asked by the preprocessor"
#endif
#if !defined(TENON_PLUGIN_H) || !defined(TENON_GRAPH_H) || !defined(TENON_DEVICE_H)
#error "the guard is part of the header"
#endif

static tn_status run(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                     uint32_t worker) {
  (void)stage;
  (void)worker;
  if (begin > end) return call->host->fail(call->ctx, TN_ERR_INTERNAL, "%d", 1);
  return TN_OK;
}

static const tn_accept rows[] = {
    {TN_HEAD(tn_accept), "X", TN_MASK(TN_F32) | TN_MASK(TN_F64), TN_PLAIN, 0, 0, 0},
    {TN_HEAD(tn_accept), "W", TN_MASK(TN_F32), TN_CHANNELS_LAST, 4, 4, TN_ACCEPT_CONST},
    {TN_HEAD(tn_accept), "B", TN_ANY_DTYPE, TN_ANY_LAYOUT, 0, TN_MAX_RANK, 0},
    {TN_HEAD(tn_accept), "Y", TN_ANY_DTYPE, TN_BLOCKED(16), 0, 0, 0}};
static const tn_accept *const accepts[] = {&rows[0], &rows[1], &rows[2], &rows[3]};

static const tn_kernel kernel = {TN_HEAD(tn_kernel),
                                 "foo_c",
                                 "com.acme::Foo",
                                 "cpu",
                                 0,
                                 0,
                                 TN_ISA_AVX2,
                                 TN_KERNEL_EPILOGUE,
                                 TN_RANK_PLUGIN,
                                 4,
                                 accepts,
                                 NULL,
                                 NULL,
                                 NULL,
                                 run,
                                 NULL,
                                 "abi.yaml"};
static const tn_kernel *const kernels[] = {&kernel};

static const tn_plugin plugin = {TN_HEAD(tn_plugin),
                                 "abi",
                                 "1",
                                 "MIT",
                                 "",
                                 TN_FLAVOUR,
                                 NULL,
                                 0,
                                 0,
                                 1,
                                 0,
                                 0,
                                 0,
                                 0,
                                 0,
                                 0,
                                 0,
                                 NULL,
                                 kernels,
                                 NULL,
                                 NULL,
                                 NULL,
                                 NULL,
                                 NULL,
                                 NULL,
                                 NULL,
                                 NULL,
                                 NULL,
                                 NULL};

/* The tables again, by macro; of these the query function is the plug-in's. */
TN_RULE(rule, .name = "T", .args = "X,Y", .dtypes = TN_MASK(TN_F32));
TN_LIST(const tn_type_rule *, bar_types, &rule);
TN_OP(bar, .schema = "(Tensor X) -> Tensor Y", .name = "Bar", .domain = "com.acme",
      .flags = TN_OP_SAME_AS_INPUT, TN_SET(types, bar_types));
TN_ACCEPT(plain, .arg = "X", .dtypes = TN_MASK(TN_F32), .flags = TN_ACCEPT_PRESENT);
TN_LIST(const tn_accept *, bar_accepts, &plain, &rows[1]);
TN_KERNEL(bar_f32, .op = "com.acme::Bar", .isa = TN_ISA_AVX2, .run = run,
          TN_SET(accepts, bar_accepts));
TN_LIST(const tn_op *, all_ops, &bar);
TN_LIST(const tn_kernel *, all_kernels, &bar_f32, &kernel);
TN_TABLE(tn_option, option, .key = "key", .value = "value");
#define tn_plugin_query ABI_QUERY
TN_EXPORT const tn_plugin *ABI_QUERY(uint32_t host_major, uint32_t host_minor);
TN_PLUGIN(.name = "bar", .version = "1", .license = "MIT", TN_SET(ops, all_ops),
          TN_SET(kernels, all_kernels));

/* What the macros made is what stands in the arguments. */
static int macros_agree(void) {
  const tn_plugin *p = tn_plugin_query(TN_ABI_MAJOR, TN_ABI_MINOR);
  const tn_op *op = p->ops[0];
  const tn_kernel *made = p->kernels[0];
  return p->flavour == TN_FLAVOUR && p->n_ops == 1 && p->n_kernels == 2 && p->n_formats == 0 &&
         p->kernels[1] == &kernel && op->n_types == 1 && op->types[0] == &rule &&
         op->n_cases == 0 && op->since == 0 && !op->infer && option.key[0] == 'k' &&
         made->n_accepts == 2 && made->accepts[1] == &rows[1] && made->run == run &&
         made->isa == TN_ISA_AVX2 && made->rank == 0 && made->name[3] == '_' &&
         TN_HAS(made, source) && made->accepts[0]->flags == TN_ACCEPT_PRESENT;
}

static const uint64_t flavours[] = {TN_FLAVOUR_ENDIAN, TN_FLAVOUR_SANITIZER, TN_FLAVOUR};

#ifdef __cplusplus
extern "C" {
#endif
TN_EXPORT const tn_plugin *ABI_NAME(abi_facts *facts);
#ifdef __cplusplus
}
#endif

const tn_plugin *ABI_NAME(abi_facts *facts) {
  const tn_plugin_query_fn query = NULL;
  const int64_t sizes[] = {
      sizeof(tn_head),          sizeof(tn_str),         sizeof(tn_tensor),
      sizeof(tn_call),          sizeof(tn_accept),      sizeof(tn_kernel),
      sizeof(tn_kernel_plan),   sizeof(tn_op),          sizeof(tn_rewrite),
      sizeof(tn_attr),          sizeof(tn_node),        sizeof(tn_graph_api),
      sizeof(tn_host),          sizeof(tn_source),      sizeof(tn_sink),
      sizeof(tn_format),        sizeof(tn_option),      sizeof(tn_plugin),
      sizeof(tn_region),        sizeof(tn_epilogue),    sizeof(tn_extension),
      sizeof(tn_type_rule),     sizeof(tn_value_sink),  sizeof(tn_function_info),
      sizeof(tn_compiler),      sizeof(tn_dispatcher),  sizeof(tn_device_driver),
      sizeof(tn_device_kernel), sizeof(tn_device_info), sizeof(query)};
  const uint64_t values[] = {
      TN_PLAIN,
      TN_CHANNELS_LAST,
      TN_BLOCKED(8),
      (uint64_t)TN_LAYOUT_BLOCK(TN_BLOCKED(8)),
      TN_ANY_LAYOUT,
      TN_MASK(TN_U2),
      TN_ELEMENTS(TN_KIND_SEQUENCE, TN_ELEMENTS_KEY(TN_STRING) | TN_KIND_MAP),
      TN_ELEMENTS_KEY(TN_I64),
      (uint64_t)(TN_RANK_UNKNOWN + 1),
      (uint64_t)(TN_DIM_UNKNOWN + 1),
      flavours[0],
      flavours[1],
      flavours[2],
      TN_ABI_MAJOR,
      TN_ABI_MINOR,
      (uint64_t)macros_agree()};
  for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) facts->sizes[k] = sizes[k];
  for (size_t k = 0; k < sizeof values / sizeof *values; k++) facts->values[k] = values[k];
  return &plugin;
}
