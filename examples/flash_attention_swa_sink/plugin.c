/* The tables of the plug-in: two operators, their kernels, and the one exported function.
 *
 * The kernels for AVX2 and AVX-512 are compiled in where FLASH_X86 is defined, as CMakeLists.txt
 * does; without it, any C compiler makes the plug-in from plugin.c, attention.c, emit.c and
 * kernel_c.c. */
#include <tenon/experimental/emit_c.h>

#include "attention.h"

#define FLOATS (TN_MASK(TN_F32) | TN_MASK(TN_F16) | TN_MASK(TN_BF16))
#define INDICES (TN_MASK(TN_I32) | TN_MASK(TN_I64))
#define COUNT(list) (uint32_t)(sizeof(list) / sizeof((list)[0]))

/* ---- operators ---- */

static const tn_type_rule floats_flash = {TN_HEAD(tn_type_rule), "T", "Q,K,V,out", FLOATS};
static const tn_type_rule floats_paged = {TN_HEAD(tn_type_rule), "T", "Q,K,V,out", FLOATS};
static const tn_type_rule sinks = {TN_HEAD(tn_type_rule), "S", "sink", FLOATS};
static const tn_type_rule indices = {TN_HEAD(tn_type_rule), "I", "block_table,context_lengths",
                                     INDICES};
static const tn_type_rule positions = {TN_HEAD(tn_type_rule), "P", "offsets", INDICES};
static const tn_type_rule *const flash_types[] = {&floats_flash, &sinks, &positions};
static const tn_type_rule *const paged_types[] = {&floats_paged, &sinks, &indices};

/* f32 sums of products of up to Dqk terms, weights from an exp of 2 ulp: 64 eps is generous for the
 * sizes here, and a wrong mask is off by far more. */
static const char *const flash_cases[] = {
    "Q=T[1,3,2,4] K=T[1,3,2,4] V=T[1,3,2,4] tol=64",
    "Q=T[2,5,4,8] K=T[2,7,2,8] V=T[2,7,2,6] sink=f32[4] tol=64",
    "Q=T[1,9,3,5] K=T[1,4,1,5] V=T[1,4,1,3] sink=S[3] window=2 tol=64",
    "Q=T[1,6,2,4] K=T[1,6,2,4] V=T[1,6,2,4] window=1 tol=64",
    "Q=T[1,6,2,4] K=T[1,6,2,4] V=T[1,6,2,4] window=3 causal=0 tol=64",
    "Q=T[1,70,2,16] K=T[1,150,2,16] V=T[1,150,2,16] q_offset=80 tol=64",
    "Q=T[1,1,8,16] K=T[1,90,2,16] V=T[1,90,2,16] sink=f32[8] q_offset=89 window=50 tol=64",
    "Q=T[1,2,2,4] K=T[1,0,2,4] V=T[1,0,2,4] tol=64",
    "Q=T[2,1,2,4] K=T[2,5,1,4] V=T[2,5,1,3] offsets=P[2,2]{4,0,7,3} window=2 q_offset=1 tol=64",
    "Q=T[1,3,4,8] K=T[1,70,2,8] V=T[1,70,2,6] sink=S[4] offsets=i64[1,2]{67,0} tol=64",
    "Q=T[1,512,8,64] K=T[1,512,2,64] V=T[1,512,2,64] sink=f32[8] tol=256 bench",
};

static const char *const paged_cases[] = {
    "Q=T[2,3,4,8] K=T[5,4,2,8] V=T[5,4,2,6] block_table=i32[2,3]{4,0,2,1,3,0} "
    "context_lengths=i32[2]{10,3} sink=S[4] tol=64",
    "Q=T[1,1,2,4] K=T[6,1,1,4] V=T[6,1,1,4] block_table=i64[1,6]{5,4,3,2,1,0} "
    "context_lengths=i64[1]{6} window=4 tol=64",
};

static const tn_op flash_op = {
    .head = TN_HEAD(tn_op),
    .domain = "tenon.examples",
    .name = "flash_attention_2_swa_sink",
    .since = 1,
    .schema =
        "(Tensor Q, Tensor K, Tensor V, Tensor? sink=None, Tensor? offsets=None, *, "
        "float? scale=None, bool causal=True, int window=0, int q_offset=0, int k_offset=0) -> "
        "Tensor out",
    .types = flash_types,
    .n_types = COUNT(flash_types),
    .infer = flash_infer,
    .flops = flash_flops,
    .reference = flash_reference,
    .cases = flash_cases,
    .n_cases = COUNT(flash_cases),
    .doc =
        "Attention of Q [B,Sq,Hq,Dqk] to K [B,Skv,Hkv,Dqk] and V [B,Skv,Hkv,Dv] with a sliding "
        "window of `window` keys, the query's own included (0: none), and a sink logit per head "
        "that takes weight but adds no value. offsets [B,2]: q_offset and k_offset of each "
        "sequence, in place of the attributes."};

static const tn_op paged_op = {
    .head = TN_HEAD(tn_op),
    .domain = "tenon.examples",
    .name = "paged_attention",
    .since = 1,
    .schema =
        "(Tensor Q, Tensor K, Tensor V, Tensor block_table, Tensor context_lengths, "
        "Tensor? sink=None, *, float? scale=None, bool causal=True, int window=0) -> "
        "Tensor out",
    .types = paged_types,
    .n_types = COUNT(paged_types),
    .infer = paged_infer,
    .flops = paged_flops,
    .reference = paged_reference,
    .cases = paged_cases,
    .n_cases = COUNT(paged_cases),
    .doc =
        "The same over a pool of pages, K [pages,page_size,Hkv,Dqk] and V alike: key j of sequence "
        "b is in page block_table[b, j / page_size], and the queries are the last Sq of its "
        "context_lengths[b] tokens."};

static const tn_op *const ops[] = {&flash_op, &paged_op};

/* ---- kernels ---- */

#define ACCEPT(arg, dtypes) \
  { TN_HEAD(tn_accept), arg, dtypes, TN_PLAIN, 0, 0, 0 }
static const tn_accept accept_q = ACCEPT("Q", FLOATS);
static const tn_accept accept_sink = ACCEPT("sink", FLOATS);
static const tn_accept accept_table = ACCEPT("block_table", INDICES);
static const tn_accept accept_offsets = ACCEPT("offsets", INDICES);
static const tn_accept *const flash_accepts[] = {&accept_q, &accept_sink, &accept_offsets};
static const tn_accept *const paged_accepts[] = {&accept_q, &accept_sink, &accept_table};

/* Both operators for one instruction set; a wider one ranks higher. */
#define KERNELS(isa_name, isa_bits, above)                                                   \
  static const tn_kernel flash_kernel_##isa_name = {                                         \
      .head = TN_HEAD(tn_kernel),                                                            \
      .name = "flash_attention_" #isa_name,                                                  \
      .op = "tenon.examples::flash_attention_2_swa_sink",                                    \
      .device = "cpu",                                                                       \
      .isa = isa_bits,                                                                       \
      .rank = TN_RANK_PLUGIN + (above),                                                      \
      .accepts = flash_accepts,                                                              \
      .n_accepts = COUNT(flash_accepts),                                                     \
      .refuse = attention_refuse,                                                            \
      .plan = flash_plan,                                                                    \
      .run = flash_attention_##isa_name};                                                    \
  static const tn_kernel paged_kernel_##isa_name = {.head = TN_HEAD(tn_kernel),              \
                                                    .name = "paged_attention_" #isa_name,    \
                                                    .op = "tenon.examples::paged_attention", \
                                                    .device = "cpu",                         \
                                                    .isa = isa_bits,                         \
                                                    .rank = TN_RANK_PLUGIN + (above),        \
                                                    .accepts = paged_accepts,                \
                                                    .n_accepts = COUNT(paged_accepts),       \
                                                    .refuse = attention_refuse,              \
                                                    .plan = paged_plan,                      \
                                                    .run = paged_attention_##isa_name}

KERNELS(c, 0, 0);
#ifdef FLASH_X86
KERNELS(avx2, TN_ISA_AVX2, 1);
KERNELS(avx512, TN_ISA_AVX512, 2);
#endif

static const tn_kernel *const kernels[] = {
#ifdef FLASH_X86
    &flash_kernel_avx512, &paged_kernel_avx512, &flash_kernel_avx2, &paged_kernel_avx2,
#endif
    &flash_kernel_c,      &paged_kernel_c,
};

/* ---- the plug-in ---- */

static const tn_extension as_c = {TN_HEAD(tn_extension), TN_EMIT_C_EXTENSION, &flash_emitter};
static const tn_extension *const extensions[] = {&as_c};

static const tn_plugin plugin = {.head = TN_HEAD(tn_plugin),
                                 .name = "flash_attention_swa_sink",
                                 .version = "1.0",
                                 .license = "Apache-2.0",
                                 .build_id = "1.0",
                                 .flavour = TN_FLAVOUR,
                                 .n_ops = COUNT(ops),
                                 .n_kernels = COUNT(kernels),
                                 .n_extensions = COUNT(extensions),
                                 .ops = ops,
                                 .kernels = kernels,
                                 .extensions = extensions};

const tn_plugin *tn_plugin_query(uint32_t host_major, uint32_t host_minor) {
  (void)host_major, (void)host_minor;
  return &plugin;
}
