/* The plug-in ABI of Tenon, version 1.1: operators, kernels, rewrites and model formats.
 *
 * This header is all that a plug-in needs: it includes only stddef.h and stdint.h, and a plug-in
 * links nothing of Tenon. A plug-in exports one function, tn_plugin_query, which returns read-only
 * tables; every service of the host comes in through a table of functions (tn_host). The parts that
 * ship with Tenon use this same header. docs/abi.md says how it grows.
 *
 * Rules that hold wherever a comment does not say otherwise:
 *  - Growth. Every struct begins with tn_head, which says how long it is, and members are only ever
 *    appended. A member exists if head.size covers it (TN_HAS); a callback or service is there if
 *    its member exists and is not NULL. Neither side assigns a whole struct to memory of the other.
 *    Without a head, and frozen for ever: tn_str, tn_ints, tn_floats, tn_strs, tn_tensors.
 *    Arrays of structs are arrays of pointers, so that their elements may grow too.
 *  - Ownership. Everything handed over is borrowed. Pointers handed to a callback or service are
 *    valid until it returns. Tables live, and do not change, as long as the plug-in is loaded.
 *  - NULL. Pointers are not NULL unless their comment says "optional" or "NULL".
 *  - Numbers are fixed in width. A constant of this header stands in a 32 or 64 bit member, never
 *    in one of an enum's type. Members named reserved are zero. Bits of flags and masks that the
 *    host does not know are refused.
 *  - Errors. Callbacks return TN_OK or one of the negative codes below, and say why with
 *    host->fail(). After an error, what they were to fill in is ignored. No exceptions, no longjmp,
 *    no exit.
 *  - Strings are UTF-8 and end with a zero byte unless they are tn_str.
 *  - Threads. A callback may be called by any thread, and by several at once. Only a plug-in that
 *    says TN_PLUGIN_THREADS makes threads of its own.
 * / */
#ifndef TENON_PLUGIN_H
#define TENON_PLUGIN_H

/* Members, values and macros stand in columns, to be read as tables: */
/* clang-format off */

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TN_ABI_MAJOR 1
#define TN_ABI_MINOR 1

#if defined(_WIN32)
#define TN_EXPORT __declspec(dllexport)
#elif defined(__GNUC__)
#define TN_EXPORT __attribute__((visibility("default")))
#else
#define TN_EXPORT
#endif

/* ---- Basics --------------------------------------------------------------------------------- */

typedef struct tn_head {
  uint32_t size;  /* sizeof the struct that begins with this head, as its author compiled it */
  uint16_t major; /* the ABI version its author compiled against */
  uint16_t minor;
} tn_head;

/* The head of a struct that this compiler fills in: {TN_HEAD(tn_op), ...}. */
#define TN_HEAD(type) { (uint32_t)sizeof(type), TN_ABI_MAJOR, TN_ABI_MINOR }
/* True if *p, a struct of the other side, is long enough to have the member. Needed before members
 * that were appended after 1.0 are read or written. */
#define TN_HAS(p, member) \
  ((size_t)((const char *)&(p)->member - (const char *)(p)) + sizeof((p)->member) <= (p)->head.size)

/* The result of every call that can fail. The list is closed within a major version. */
typedef int32_t tn_status;
enum {
  TN_OK = 0,
  TN_ERR_INVALID = -1,     /* an argument, file or descriptor breaks a rule */
  TN_ERR_MEMORY = -2,      /* memory could not be had */
  TN_ERR_UNSUPPORTED = -3, /* well-formed, but not supported: operator, version, type or feature */
  TN_ERR_NOT_FOUND = -4,   /* a file, name or index does not exist */
  TN_ERR_IO = -5,          /* the operating system failed to read or write */
  TN_ERR_SHAPE = -6,       /* shapes or dtypes of tensors do not fit together */
  TN_ERR_OVERFLOW = -7,    /* a size does not fit in 64 bits, or a limit is exceeded */
  TN_ERR_VERSION = -8,     /* ABI or format version that this host or plug-in cannot serve */
  TN_ERR_STATE = -9,       /* called in the wrong order, or the object is in use */
  TN_ERR_INTERNAL = -10,   /* a bug in Tenon or in a plug-in */
  TN_ERR_CANCELLED = -11,  /* the user asked to stop */
  TN_NEEDS_DATA = -20      /* infer only: the answer depends on data not known yet (tn_op.infer) */
};

/* Lists without a head; size counts elements (tn_str: bytes). data may be NULL if size is 0. */
typedef struct tn_str { const char *data; int64_t size; } tn_str; /* no zero byte at the end */
typedef struct tn_ints { const int64_t *data; int64_t size; } tn_ints;
typedef struct tn_floats { const double *data; int64_t size; } tn_floats;
typedef struct tn_strs { const tn_str *data; int64_t size; } tn_strs;

/* Element types. Elements narrower than a byte are packed, low bits first; but six-bit floats take
 * a byte each, its two high bits 0. A dtype mask has bit TN_MASK(dtype) for each type. Later
 * versions add types; a mask of 0 ("any") means every type of the version that the struct with the
 * mask was compiled for. */
enum {
  TN_NONE = 0, /* no type, or one that is not known yet */
  TN_F32, TN_F64, TN_F16, TN_BF16,
  TN_I8, TN_I16, TN_I32, TN_I64,
  TN_U8, TN_U16, TN_U32, TN_U64,
  TN_BOOL,        /* one byte, 0 or 1 */
  TN_STRING,      /* elements are tn_str; the bytes belong to the host */
  TN_C64, TN_C128, /* complex: two f32, two f64 */
  TN_F8E4M3FN, TN_F8E4M3FNUZ, TN_F8E5M2, TN_F8E5M2FNUZ, TN_F8E8M0, TN_F4E2M1,
  TN_I4, TN_U4, TN_I2, TN_U2,
  TN_F6E2M3, TN_F6E3M2, /* since 1.1 */
  TN_DTYPE_COUNT /* of this header; a newer one knows more */
};
#define TN_MASK(dtype) (UINT64_C(1) << (dtype))

enum {
  TN_MAX_RANK = 8,    /* dims of a tensor */
  TN_MAX_STAGES = 8,  /* of a kernel plan */
  TN_MAX_IN_PLACE = 8 /* outputs that a kernel plan can place on inputs */
};

/* Memory layouts, one 64-bit code each. [N, C, X...] are the logical dims of a tensor.
 *   TN_PLAIN           row-major in the order of the logical dims
 *   TN_CHANNELS_LAST   [N][X...][C], any rank >= 3
 *   TN_BLOCKED(b)      [N][ceil(C/b)][X...][b], b in {4, 8, 16, 32}; pad lanes hold zero */
typedef uint64_t tn_layout;
#define TN_PLAIN UINT64_C(0)
#define TN_CHANNELS_LAST (UINT64_C(1) << 40)
#define TN_BLOCKED(b) ((UINT64_C(1) << 41) | (uint64_t)(b))
/* b of TN_BLOCKED(b). */
#define TN_LAYOUT_BLOCK(layout) ((int64_t)((layout) & UINT64_C(0xff)))
/* In tn_accept only: any layout, the same for all arguments that say so. */
#define TN_ANY_LAYOUT (UINT64_C(1) << 42)

/* What a value is. Kernels of ordinary operators only ever see TN_KIND_TENSOR. */
enum {
  TN_KIND_TENSOR = 0,
  TN_KIND_SEQUENCE = 1, /* any number of items of one type */
  TN_KIND_OPTIONAL = 2, /* none or one */
  TN_KIND_MAP = 3       /* two items: the keys, the values */
};

/* What the items of a sequence, optional or map are (tn_tensor.elements): their kind in the lowest
 * 4 bits, the kind of their items in the next 4, and so on; 0 is a tensor. The keys' dtype of the
 * outermost map stands in bits 24 to 31. */
#define TN_ELEMENTS(kind, of)                                             \
  ((uint32_t)(kind) | ((uint32_t)(of) & UINT32_C(0xfffff)) << 4 |         \
   ((uint32_t)(of) & UINT32_C(0xff000000)))
#define TN_ELEMENTS_KEY(dtype) ((uint32_t)(dtype) << 24)
enum { TN_ELEMENTS_DEPTH = 6 }; /* kinds that fit in elements */

#define TN_RANK_UNKNOWN (-1)
#define TN_DIM_UNKNOWN (-1)

/* A tensor, or what is known of one. Dense in its layout: no gaps, no strides.
 * While types are inferred, dtype may be TN_NONE, rank TN_RANK_UNKNOWN and dims TN_DIM_UNKNOWN.
 * While a kernel runs all are known. kind other than TN_KIND_TENSOR: a list that only the services
 * of tn_host can open; dtype is then that of its elements. */
typedef struct tn_tensor {
  tn_head head;
  void *data;       /* the elements. NULL: not known (yet), or there are none */
  tn_layout layout;
  uint32_t dtype;   /* TN_F32 ... */
  int32_t rank;     /* 0 .. TN_MAX_RANK, or TN_RANK_UNKNOWN */
  int64_t shape[TN_MAX_RANK]; /* the first `rank` count */
  uint32_t kind;     /* TN_KIND_... */
  uint32_t elements; /* TN_ELEMENTS, as far as known; 0 for tensors */
  uint64_t object;   /* the host's; plug-ins copy it along and never touch it */
} tn_tensor;

/* A plain tensor over memory of the caller's. */
static inline tn_tensor tn_tensor_make(uint32_t dtype, int32_t rank, const int64_t *shape,
                                       void *data) {
  const int known = rank >= 0 && rank <= TN_MAX_RANK;
  tn_tensor t = {TN_HEAD(tn_tensor), data, TN_PLAIN, dtype, TN_RANK_UNKNOWN, {0}, 0, 0, 0};
  if (known) t.rank = rank;
  for (int32_t k = 0; k < t.rank; k++) t.shape[k] = shape[k];
  return t;
}

typedef struct tn_tensors { const tn_tensor *const *data; int64_t size; } tn_tensors;

/* ---- Attributes ------------------------------------------------------------------------------
 * A node's attributes arrive as a struct that follows from the operator's schema: its non-tensor
 * arguments in order, and the tensors and graphs after `*`, each as the member below. The generator
 * prints the struct for YAML operators; by hand, write the members in that order.
 *   int, bool, ScalarType, MemoryFormat, Device  int64_t      float, Scalar      double
 *   Layout, QScheme, Generator, Storage, Stream  int64_t      str, Dimname       tn_str
 *   int[], bool[] and lists not named here       tn_ints      float[], Scalar[]  tn_floats
 *   str[], Dimname[]                             tn_strs      Tensor             const tn_tensor *
 *   Tensor[]                                     tn_tensors
 *   Graph            int64_t: the index to pass to subgraph_infer() and subgraph_run()
 * A `?` after the type puts `int64_t has_<name>` before the member; a missing one is zero. */

/* ---- Operators and kernels: the call --------------------------------------------------------- */

typedef struct tn_host tn_host;
typedef struct tn_graph tn_graph; /* opaque; see tn_graph_api */

/* Element-wise work fused onto output 0 of a kernel, applied in order to every element y. Later
 * versions add kinds: refuse what you do not know. */
enum {
  TN_EPILOGUE_NONE = 0,
  TN_EPILOGUE_RELU,         /* max(y, 0) */
  TN_EPILOGUE_CLIP,         /* min(max(y, a), b) */
  TN_EPILOGUE_LEAKY_RELU,   /* y < 0 ? a*y : y */
  TN_EPILOGUE_SIGMOID,      /* 1 / (1 + exp(-y)) */
  TN_EPILOGUE_TANH,         /* tanh(y) */
  TN_EPILOGUE_HARD_SIGMOID, /* min(max(a*y + b, 0), 1) */
  TN_EPILOGUE_HARD_SWISH,   /* y * min(max(y/6 + 0.5, 0), 1) */
  TN_EPILOGUE_SILU,         /* y * sigmoid(y) */
  TN_EPILOGUE_GELU,         /* y * (1 + erf(y/sqrt 2)) / 2 */
  TN_EPILOGUE_GELU_TANH,    /* y * (1 + tanh(sqrt(2/pi) (y + 0.044715 y^3))) / 2 */
  TN_EPILOGUE_ADD,          /* y + t, t a tensor of the output's shape, or of one value per index of
                               one dim (the channel): its shape is 1 in all others, and it is
                               aligned at the last dim, as in broadcasting */
  TN_EPILOGUE_MUL,          /* y * t, likewise */
  TN_EPILOGUE_COUNT         /* of this header */
};

typedef struct tn_epilogue {
  tn_head head;
  uint32_t kind; /* TN_EPILOGUE_... */
  int32_t input; /* ADD, MUL: index into tn_call.inputs of t; -1 otherwise */
  double a, b;   /* 0 where the kind has none */
} tn_epilogue;

/* A strided copy from an input into an output: for every index x of size[], x[k] in 0 .. size[k]-1:
 *   output[dst_offset + sum x[k]*dst_stride[k]] = input[src_offset + sum x[k]*src_stride[k]]
 * Units are elements. Regions of one node never overlap in the output. The host has proved that all
 * places are inside of both tensors. Elements that no region covers hold tn_call.region_fill. */
typedef struct tn_region {
  tn_head head;
  int32_t input; /* index into tn_call.inputs */
  int32_t rank;  /* how many of the dims below count, 0 .. TN_MAX_RANK */
  int64_t src_offset, dst_offset;
  int64_t size[TN_MAX_RANK], src_stride[TN_MAX_RANK], dst_stride[TN_MAX_RANK];
} tn_region;

/* One node as an operator's or kernel's callback sees it. The host's; read-only but for what is
 * said. Which members are valid depends on the callback:
 *   infer, flops      attrs, inputs (types; data where constant), outputs (to be filled in)
 *   refuse, plan      + output types, epilogue, regions, n_workers, isa
 *   prepare           + state (zeroed, plan's state_bytes), data of constant inputs only
 *   run, reference    + data of all tensors, scratch
 *   finish            host, ctx, self, state, state_bytes only */
typedef struct tn_call {
  tn_head head;
  const tn_host *host;
  void *ctx;         /* the host's name for this call: first argument of its services */
  void *self;        /* what init() of the plug-in that owns the callback answered; NULL: no init */
  const void *attrs; /* the attribute struct; see "Attributes". NULL: there are none */
  /* One entry per argument of the schema, those of lists in place; also behind n_inputs and
   * n_outputs, where the node leaves out the last ones. A NULL entry: an optional input that was
   * left out, an optional output that nobody asked for. */
  const tn_tensor *const *inputs;
  tn_tensor *const *outputs;
  const tn_epilogue *const *epilogue; /* n_epilogue entries */
  const tn_region *const *regions;    /* n_regions entries; only for kernels of tenon::Region */
  uint32_t n_inputs, n_outputs;       /* that the node has */
  uint32_t n_epilogue, n_regions;
  int32_t region_fill; /* input whose one element fills what no region covers; -1: zero */
  int32_t version;     /* operator-set version that the node was written for */
  uint32_t n_workers;  /* worker ids are 0 .. n_workers-1 */
  uint32_t reserved;
  uint64_t isa; /* instruction sets that may be used: TN_ISA_... */
  /* Memory, 64-byte aligned; NULL where plan() asked for none. */
  void *state;          /* prepared constants, state_bytes; read-only while running */
  void *scratch;        /* scratch_bytes, shared by all workers of a run; undefined at its start */
  void *worker_scratch; /* worker w owns worker_scratch_bytes from worker_scratch + w*that */
  uint64_t state_bytes, scratch_bytes;
  uint64_t worker_scratch_bytes; /* what plan() asked for, rounded up to 64 */
} tn_call;

/* Instruction sets. In tn_kernel.isa all bits set are needed, and 0 runs on any machine that Tenon
 * is built for; in tn_call.isa they are those of the machine that the user did not exclude. */
enum {
  TN_ISA_SSE41 = 1 << 0,       /* x86-64: SSE4.1 and all before it */
  TN_ISA_AVX = 1 << 1,         /* AVX: 256-bit floats, no FMA */
  TN_ISA_AVX2 = 1 << 2,        /* AVX2 with FMA3 and F16C */
  TN_ISA_AVX512 = 1 << 3,      /* AVX-512 F, BW, DQ, VL and CD */
  TN_ISA_AVX512_VNNI = 1 << 4, /* 8 and 16 bit dot products on 512-bit registers */
  TN_ISA_AVX512_BF16 = 1 << 5, /* bf16 dot products and conversions */
  TN_ISA_AVX_VNNI = 1 << 6,    /* 8 and 16 bit dot products on 256-bit registers, VEX-coded */
  TN_ISA_NEON = 1 << 16,       /* AArch64: Advanced SIMD */
  TN_ISA_NEON_DOT = 1 << 17,   /* FEAT_DotProd: SDOT, UDOT */
  TN_ISA_NEON_F16 = 1 << 18,   /* FEAT_FP16: arithmetic on f16 vectors */
  TN_ISA_NEON_I8MM = 1 << 19,  /* FEAT_I8MM: SMMLA, UMMLA, USMMLA */
  TN_ISA_RVV = 1 << 24         /* RISC-V: V 1.0, vectors of 128 bits or more */
};

/* ---- Kernels --------------------------------------------------------------------------------- */

enum {
  TN_ACCEPT_CONST = 1,  /* must be a constant */
  TN_ACCEPT_ABSENT = 2, /* must be left out */
  TN_ACCEPT_PRESENT = 4 /* must not be left out */
};

/* What a kernel accepts for one argument of the schema. Arguments without a row accept any dtype
 * and rank in plain layout. */
typedef struct tn_accept {
  tn_head head;
  const char *arg;            /* its name in the schema, input or output */
  uint64_t dtypes;            /* mask; 0: any */
  tn_layout layout;           /* the one that is accepted, or TN_ANY_LAYOUT */
  int32_t rank_min, rank_max; /* rank_max 0: any rank */
  uint64_t flags;             /* TN_ACCEPT_... */
} tn_accept;

enum {
  TN_PLAN_ELEMENTWISE = 1,   /* one stage; item i reads and writes element i of output 0 only: the
                                host may run it on ranges as an epilogue of another kernel */
  TN_PLAN_DATA_DEPENDENT = 2 /* run calls host->output_resize(); its items must be 1 */
};

/* A kernel's answer to plan(). The host sets it up: in_place -1, n_stages, items[0] and grain 1,
 * all else 0. The kernel changes members, and never assigns the whole. */
typedef struct tn_kernel_plan {
  tn_head head;
  uint64_t scratch_bytes;            /* memory for a run, shared by its workers */
  uint64_t worker_scratch_bytes;     /* memory for each worker of a run */
  uint64_t state_bytes;              /* memory for prepare(); 0: no prepare needed */
  uint64_t state_key;                /* the state depends on nothing but constants, attributes,
                                        dtypes and this number: nodes that agree share it */
  uint32_t n_stages;                 /* 1 .. TN_MAX_STAGES; one ends before the next begins */
  uint32_t flags;                    /* TN_PLAN_... */
  int64_t items[TN_MAX_STAGES];      /* work items per stage: run() gets ranges; 0: stage skipped */
  int64_t grain[TN_MAX_STAGES];      /* items that are worth handing to a thread (about 5 us) */
  int32_t in_place[TN_MAX_IN_PLACE]; /* output k may share memory with this input; -1: with none */
  double cost_ns;                    /* estimate for one thread; 0: the host derives one from FLOPs
                                        and bytes */
  int64_t elements_per_item;         /* e > 0, one stage: item i writes exactly elements
                                        [i*e, (i+1)*e) of output 0; 0: nothing is promised */
} tn_kernel_plan;

/* Of several kernels that accept a node, the highest rank wins; within a rank, the lowest cost. */
enum { TN_RANK_PORTABLE = 100, TN_RANK_OPTIMIZED = 200, TN_RANK_PLUGIN = 300 };

enum {
  TN_KERNEL_EPILOGUE = 1, /* applies tn_call.epilogue itself; refuse() is asked for each */
  TN_KERNEL_SERIAL = 2    /* not re-entrant: of the kernels of a runtime that say so, one runs at a
                             time. Its own ranges may still run at once, unless it plans one item */
};

/* One implementation of an operator for one device. A pure function of its call: it reads and
 * writes only inside the tensors and scratch it was given and allocates nothing. Any thread may
 * call it, for any session, at any time, and several at once unless it says TN_KERNEL_SERIAL. */
typedef struct tn_kernel {
  tn_head head;
  const char *name;     /* "softmax_f32_avx512"; unique in the plug-in */
  const char *op;       /* "Softmax" (domain ai.onnx) or "com.acme::Foo" */
  const char *device;   /* "cpu" */
  int32_t since, until; /* operator versions served; 0: open at that end */
  uint64_t isa;         /* TN_ISA_... that it needs */
  uint64_t flags;       /* TN_KERNEL_... */
  int32_t rank;         /* TN_RANK_..., or a number between or above them */
  uint32_t n_accepts;
  const tn_accept *const *accepts; /* NULL if n_accepts is 0 */
  /* Optional: what rows cannot say. NULL: it takes the call; else why not, as a literal. Must not
   * depend on anything but the call. */
  const char *(*refuse)(const tn_call *call);
  /* Optional; without it there is one stage of one item and no memory. An error refuses the
   * node. */
  tn_status (*plan)(const tn_call *call, tn_kernel_plan *out);
  /* Optional: packs constants into call->state. Once per state, may take its time. After an error
   * the state is given back without finish(). */
  tn_status (*prepare)(const tn_call *call);
  /* Computes work items begin .. end-1 of a stage, as worker `worker`. An error ends the run of the
   * session; its outputs are then undefined. */
  tn_status (*run)(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                   uint32_t worker);
  /* Optional: undoes prepare() where that took more than state memory. */
  void (*finish)(const tn_call *call);
  const char *source; /* optional: the file that describes it, "ops/pool/pool.yaml"; for people */
} tn_kernel;

/* ---- Operators ------------------------------------------------------------------------------- */

/* A type variable: the listed arguments share one dtype out of the mask. */
typedef struct tn_type_rule {
  tn_head head;
  const char *name; /* "T" */
  const char *args; /* "X,W,B,Y": names in the schema */
  uint64_t dtypes;  /* mask, not 0 */
} tn_type_rule;

enum {
  TN_OP_IMPURE = 1,           /* random or stateful: never folded, merged or removed */
  TN_OP_ELEMENTWISE = 2,      /* output element i depends on elements i of the (broadcast)
                                 inputs only */
  TN_OP_COMMUTATIVE = 4,      /* inputs 0 and 1 may change places */
  TN_OP_SAME_AS_INPUT = 8,    /* infer may be NULL: outputs have dtype (unless a rule says else) and
                                 shape of input 0 */
  TN_OP_BROADCAST = 16,       /* infer may be NULL: output 0 has the broadcast shape of the
                                 inputs */
  TN_OP_LOWER_EARLY = 32,     /* lower before inference: an old version that is the newest one in
                                 other clothes */
  TN_OP_LOWER_ALWAYS = 64,    /* lower after inference even if a kernel exists (data movement) */
  TN_OP_DATA_DEPENDENT = 128, /* output shapes are known only after it ran */
  TN_OP_TYPES_ONLY = 256,     /* reads the types of its inputs, never their data (Shape, Size):
                                 folded as soon as these are known */
  TN_OP_FOLD_LATE = 512       /* folding waits until rewrites have seen it (DequantizeLinear, whose
                                 constants integer kernels want as they are) */
};

/* A named computation; knows no device. Its callbacks are pure functions of the call. */
typedef struct tn_op {
  tn_head head;
  const char *domain;   /* "com.acme"; "", NULL and "ai.onnx" are ONNX */
  const char *name;     /* "Foo" */
  const char *schema;   /* ATen grammar without the name: "(Tensor X, *, int axis=-1) -> Tensor" */
  int32_t since, until; /* operator-set versions, since >= 1; until 0: the newest */
  uint64_t flags;       /* TN_OP_... */
  uint32_t n_types, n_cases;
  const tn_type_rule *const *types; /* NULL if n_types is 0 */
  const char *const *cases;         /* test cases as text, see docs/add-an-op.md; likewise */
  /* Fills in dtype (where no type rule gives it), rank and shape of call->outputs. If the shape
   * depends on data of an input that is not constant yet, call host->needs_data(ctx, input) and
   * answer TN_NEEDS_DATA; the host asks again when the data is there. Only called when the types of
   * all inputs are fully known; outputs may be answered with TN_DIM_UNKNOWN or TN_RANK_UNKNOWN
   * where the shape depends on what run will find. Required unless lower or a flag takes its
   * place. */
  tn_status (*infer)(const tn_call *call);
  /* Optional: floating-point operations of one run; types are known. */
  tn_status (*flops)(const tn_call *call, double *out_flops);
  /* Optional: replaces the node by simpler nodes or regions through host->graph: add nodes that
   * produce its output values, then graph->replace_node. Types are known unless the op has
   * TN_OP_LOWER_EARLY. TN_ERR_UNSUPPORTED, with the graph as it was: leave it. */
  tn_status (*lower)(const tn_call *call, tn_graph *graph, int32_t node);
  /* Optional: the operator's meaning: scalar, f64 accumulation, readable. The oracle of all kernel
   * tests; never used to run models. One thread. */
  tn_status (*reference)(const tn_call *call);
  /* Optional, element-wise ops: describes this node as a fused step (kind, a, b; input: which of
   * the node's inputs is t). TN_ERR_UNSUPPORTED: it is none. */
  tn_status (*epilogue)(const tn_call *call, tn_epilogue *out);
  const char *doc;    /* optional: one or two sentences */
  const char *source; /* optional: the file that describes it; for people */
} tn_op;

/* A pattern that makes a graph better. */
typedef struct tn_rewrite {
  tn_head head;
  const char *name; /* for messages */
  const char *root; /* "BatchNormalization", "com.acme::Foo": nodes of this operator are shown */
  /* Called once for every node of the operator. It looks at the neighbourhood through host->graph,
   * and edits the graph or leaves it; TN_OK in both cases. An error ends the loading of the
   * model. */
  tn_status (*apply)(const tn_call *call, tn_graph *graph, int32_t node);
} tn_rewrite;

/* ---- Graphs ---------------------------------------------------------------------------------- */

/* What an attribute holds: the member of tn_attr that counts. */
enum {
  TN_ATTR_INT = 1, /* i */
  TN_ATTR_FLOAT,   /* f */
  TN_ATTR_STR,     /* s */
  TN_ATTR_TENSOR,  /* tensors.data[0] */
  TN_ATTR_GRAPH,   /* graphs[0], made by subgraph_new() */
  TN_ATTR_INTS,    /* ints */
  TN_ATTR_FLOATS,  /* floats */
  TN_ATTR_STRS,    /* strs */
  TN_ATTR_TENSORS, /* tensors */
  TN_ATTR_GRAPHS,  /* graphs, n_graphs */
  TN_ATTR_REF,     /* in a function body: the value of the function's attribute named by s; i: its
                      kind, 0 if unknown */
  TN_ATTR_TYPE     /* a type: tensors.data[0] without data */
};

/* An attribute as it stands in a file. Members that its kind does not use are zero. */
typedef struct tn_attr {
  tn_head head;
  const char *name;
  uint32_t kind;     /* TN_ATTR_... */
  uint32_t n_graphs;
  int64_t i;
  double f;
  tn_str s;
  tn_ints ints;
  tn_floats floats;
  tn_strs strs;
  tn_tensors tensors;
  tn_graph *const *graphs;
} tn_attr;

typedef struct tn_node {
  tn_head head;
  const char *domain;   /* "" or NULL: ai.onnx */
  const char *op;
  const char *overload; /* of the function it calls; NULL or "": the one without */
  const char *name;     /* for messages; NULL or "": none */
  int32_t version;      /* operator-set version; 0: what the graph imports for the domain, in
                           lowerings: the newest */
  uint32_t n_inputs, n_outputs, n_attrs;
  const int32_t *inputs, *outputs; /* value ids; -1: left out */
  const tn_attr *const *attrs;
  int64_t offset; /* where the node stands in its file, in bytes; -1: nowhere */
} tn_node;

/* What tn_graph_api.value_flags answers. */
enum { TN_VALUE_INPUT = 1, TN_VALUE_OUTPUT = 2, TN_VALUE_CONST = 4 };

/* A function of the model, as add_function() took it. */
typedef struct tn_function_info {
  tn_head head;
  const char *domain, *name, *overload;
  const tn_graph *body;
  const char *const *attr_names;  /* n_attr_names entries: attributes without a default */
  const tn_attr *const *defaults; /* n_defaults entries: attributes with one */
  uint32_t n_attr_names, n_defaults;
} tn_function_info;

/* Building, reading and editing graphs. Ids of values and nodes are small numbers >= 0 and stay the
 * same until the graph dies. Everything passed in is copied unless said otherwise; pointers handed
 * out live until the graph is next changed. One thread at a time per graph.
 * Errors: what answers an id or a count answers a negative tn_status instead; what answers a
 * pointer, NULL. Wrong ids and indices are TN_ERR_INVALID or TN_ERR_NOT_FOUND, never a crash; a
 * change that fails leaves the graph valid. */
typedef struct tn_graph_api {
  tn_head head;

  /* Building. */

  /* Finds or makes the value of that name; name "" or NULL: a new unnamed one. */
  int32_t (*value)(tn_graph *graph, const char *name);
  /* type: its data is ignored. TN_ERR_STATE: the value is a constant. */
  tn_status (*value_set_type)(tn_graph *graph, int32_t value, const tn_tensor *type);
  /* Makes `value` a constant. copy 0: the data outlives the graph (a mapped file); 1: it is
   * copied. */
  tn_status (*value_set_const)(tn_graph *graph, int32_t value, const tn_tensor *data, int32_t copy);
  tn_status (*value_set_dim_name)(tn_graph *graph, int32_t value, int32_t dim, const char *name);
  /* A constant: an input that may be left out, with this default. TN_ERR_STATE: some node makes it,
   * or it is an input already. */
  tn_status (*add_input)(tn_graph *graph, int32_t value);
  tn_status (*add_output)(tn_graph *graph, int32_t value);
  /* At the end, or before the node that a pass works on. Answers its id. */
  int32_t (*add_node)(tn_graph *graph, const tn_node *node);
  /* A graph for an attribute: values not found in it are looked up in `graph`, to which it
   * belongs. */
  tn_graph *(*subgraph_new)(tn_graph *graph);
  tn_status (*set_opset)(tn_graph *graph, const char *domain, int32_t version);
  /* key: "name", "producer", "doc", or one of the model's. */
  tn_status (*set_meta)(tn_graph *graph, const char *key, const char *text);
  /* A function of the model: body is a graph made by subgraph_new(). overload: NULL or "": the one
   * without. */
  tn_status (*add_function)(tn_graph *graph, const char *domain, const char *name,
                            const char *overload, tn_graph *body, const char *const *attr_names,
                            uint32_t n_attr_names, const tn_attr *const *defaults,
                            uint32_t n_defaults);

  /* Reading: the graph. */

  const char *(*meta)(const tn_graph *graph, const char *key); /* NULL: there is none */
  int32_t (*n_meta)(const tn_graph *graph);
  /* The key. */
  const char *(*meta_at)(const tn_graph *graph, int32_t index, const char **out_text);
  int32_t (*opset)(const tn_graph *graph, const char *domain); /* version; 0: not imported */
  int32_t (*n_opsets)(const tn_graph *graph);
  /* The domain. */
  const char *(*opset_at)(const tn_graph *graph, int32_t index, int32_t *out_version);
  int32_t (*n_inputs)(const tn_graph *graph); /* those without a default */
  /* Value id; from n_inputs on those that have a default. */
  int32_t (*input)(const tn_graph *graph, int32_t index);
  int32_t (*n_outputs)(const tn_graph *graph);
  int32_t (*output)(const tn_graph *graph, int32_t index); /* value id */
  int32_t (*n_functions)(const tn_graph *graph);
  /* out->head is the caller's. */
  tn_status (*function_at)(const tn_graph *graph, int32_t index, tn_function_info *out);
  /* Value of a subgraph that stands for *out_outer of the graph around it. TN_ERR_NOT_FOUND: there
   * is no capture of that index. */
  int32_t (*capture)(const tn_graph *graph, int32_t index, int32_t *out_outer);

  /* Reading: values. */

  int32_t (*n_values)(const tn_graph *graph); /* ids are below this */
  const char *(*value_name)(const tn_graph *graph, int32_t value);      /* "": unnamed */
  const tn_tensor *(*value_type)(const tn_graph *graph, int32_t value); /* constants: with data */
  uint32_t (*value_flags)(const tn_graph *graph, int32_t value);        /* TN_VALUE_... */
  const char *(*value_dim_name)(const tn_graph *graph, int32_t value, int32_t dim); /* NULL: none */
  int32_t (*value_producer)(const tn_graph *graph, int32_t value); /* node id; -1: no node */
  /* Nodes that read it, once per place; graph outputs are not counted. */
  int32_t (*value_n_users)(const tn_graph *graph, int32_t value);
  int32_t (*value_user)(const tn_graph *graph, int32_t value, int32_t index); /* node id */

  /* Reading: nodes. */

  int32_t (*n_nodes)(const tn_graph *graph);
  int32_t (*node_at)(const tn_graph *graph, int32_t index); /* node id, in topological order */
  /* Attributes as in the file. Its inputs are those that its operator describes, then the values
   * that its subgraphs capture, then those of its epilogue. */
  const tn_node *(*node)(const tn_graph *graph, int32_t node);
  uint32_t (*node_n_formal)(const tn_graph *graph, int32_t node); /* of these, the operator's */
  /* The attribute struct, as in tn_call.attrs; NULL before the graph was checked. */
  const void *(*node_attrs)(const tn_graph *graph, int32_t node);
  /* Graph `index` of the node, counted over its graph attributes in order, as passes have left it:
   * the attributes still name the graphs of the file. */
  const tn_graph *(*node_graph)(const tn_graph *graph, int32_t node, uint32_t index);
  const tn_epilogue *const *(*node_epilogue)(const tn_graph *graph, int32_t node, uint32_t *out_n);
  const tn_region *const *(*node_regions)(const tn_graph *graph, int32_t node, uint32_t *out_n);
  /* Input whose element fills what no region covers; -1: zero. */
  int32_t (*node_region_fill)(const tn_graph *graph, int32_t node);

  /* Editing. */

  /* Everywhere it is read, graph outputs too. */
  tn_status (*replace_value)(tn_graph *graph, int32_t old_value, int32_t new_value);
  /* TN_ERR_STATE: its outputs have users. */
  tn_status (*remove_node)(tn_graph *graph, int32_t node);
  /* Others do the node's work now: its output k is values[k]. Removes it. */
  tn_status (*replace_node)(tn_graph *graph, int32_t node, const int32_t *values,
                            uint32_t n_values);
  /* The node, of one output, is a strided copy: turns it into tenon::Region on the given inputs.
   * Elements not covered are `fill` (index of an input of one element; -1: zero). The host proves
   * bounds and disjointness, or answers TN_ERR_INVALID and leaves the node. */
  tn_status (*set_regions)(tn_graph *graph, int32_t node, const int32_t *inputs, uint32_t n_inputs,
                           const tn_region *const *regions, uint32_t n_regions, int32_t fill);

  /* Since 1.1. */

  /* The type that input(index) was declared with; of one with a default it may leave open more than
   * value_type() does, which is the default's. NULL: there is no such input. */
  const tn_tensor *(*input_type)(const tn_graph *graph, int32_t index);
} tn_graph_api;

/* ---- Host services --------------------------------------------------------------------------- */

/* What a plug-in may ask of the host. ctx is the one that came along with the table. Which services
 * there are depends on who asks: init gets fail, alloc, free and get_extension; formats these and
 * graph; callbacks of operators, kernels and rewrites all. A service at the wrong time (writing
 * outputs while inferring) fails with TN_ERR_STATE and says so. */
struct tn_host {
  tn_head head; /* its version is that of the host */
  const tn_graph_api *graph;
  /* Records text for the user and returns code. printf format, <= 1000 bytes kept; of a step that
   * fails on several threads the first text is kept. Any thread. */
  tn_status (*fail)(void *ctx, tn_status code, const char *format, ...);
  /* Memory that outlives a call: 64-byte aligned, zeroed; NULL: there is none. Any thread. */
  void *(*alloc)(void *ctx, uint64_t bytes);
  void (*free)(void *ctx, void *memory); /* memory may be NULL. Any thread */
  /* infer: names the input whose data is needed; answers TN_NEEDS_DATA, to be handed on.
   * TN_ERR_INVALID: there is no such input. */
  tn_status (*needs_data)(void *ctx, uint32_t input);

  /* run of a data-dependent kernel: sets the shape of an output and gives it memory;
   * call->outputs[k]->data is valid then. Where inference left the dtype open, the kernel writes it
   * into call->outputs[k]->dtype first. TN_ERR_SHAPE: not what was planned. */
  tn_status (*output_resize)(void *ctx, uint32_t output, int32_t rank, const int64_t *shape);
  /* run: element `index` of string output `output` becomes a copy of these bytes. Any worker. */
  tn_status (*string_set)(void *ctx, uint32_t output, int64_t index, const char *data,
                          int64_t size);
  /* run: makes output `output` equal to `value`, whatever its kind (a copy; sets the shape). */
  tn_status (*output_set)(void *ctx, uint32_t output, const tn_tensor *value);

  /* run: sequences, optionals (0 or 1 items) and maps (items 0: keys, 1: values). Items live as
   * long as their list. list_size: < 0 if it is no list; list_item: NULL if there is none. */
  int64_t (*list_size)(void *ctx, const tn_tensor *list);
  const tn_tensor *(*list_item)(void *ctx, const tn_tensor *list, int64_t index);
  /* run: an output list starts empty; the item is copied. */
  tn_status (*list_append)(void *ctx, uint32_t output, const tn_tensor *item);
  /* run: appends a map to an output that is a sequence of maps. keys and values are tensors of rank
   * 1 and of one size; they are copied. */
  tn_status (*list_append_map)(void *ctx, uint32_t output, const tn_tensor *keys,
                               const tn_tensor *values);

  /* Subgraphs: `graph` is the index in the attribute struct. Captured values are added by the
   * host. */
  tn_status (*subgraph_shape)(void *ctx, int64_t graph, uint32_t *out_n_inputs,
                              uint32_t *out_n_outputs);
  /* infer, run: fills in the types of out[]; their heads are the caller's. NULL entries are
   * skipped. */
  tn_status (*subgraph_infer)(void *ctx, int64_t graph, uint32_t n_in, const tn_tensor *const *in,
                              uint32_t n_out, tn_tensor *const *out);
  /* run: leaves in out[] tensors of the host's; each lives until value_release() or the end of the
   * node's run. After an error out[] is NULL. */
  tn_status (*subgraph_run)(void *ctx, int64_t graph, uint32_t n_in, const tn_tensor *const *in,
                            uint32_t n_out, const tn_tensor **out);
  void (*value_release)(void *ctx, const tn_tensor *value); /* value may be NULL */

  /* Unstable services, by name with a version: "profiler.v1". NULL: not here. Any thread. */
  const void *(*get_extension)(void *ctx, const char *name);
};

/* ---- Model formats --------------------------------------------------------------------------- */

/* A file as a reader sees it: mapped, read-only, alive as long as the model. One thread. */
typedef struct tn_source {
  tn_head head;
  const tn_host *host;
  void *ctx;           /* of host and open_sibling */
  void *self;          /* what the plug-in's init() answered; NULL: no init */
  const char *path;    /* for messages */
  const uint8_t *data; /* NULL if size is 0 */
  uint64_t size;
  /* Maps a file next to the model (external weights), alive as long as the model. The path is
   * relative and may not leave the model's folder. */
  tn_status (*open_sibling)(void *ctx, const char *path, const uint8_t **out_data,
                            uint64_t *out_size);
} tn_source;

/* A file as a writer sees it. It replaces the old one whole, or not at all. One thread. */
typedef struct tn_sink {
  tn_head head;
  const tn_host *host;
  void *ctx;  /* of host and write */
  void *self; /* what the plug-in's init() answered; NULL: no init */
  tn_status (*write)(void *ctx, const void *data, uint64_t size); /* appends */
  /* Since 1.1: a second file in the same folder, for elements of tensors. The first call of
   * write_data makes it; then both files are replaced, or neither. */
  const char *data_file; /* its name, without a folder; NULL: there can be none */
  uint64_t data_from;    /* what is wanted there: tensors of at least so many bytes; UINT64_MAX:
                            nothing, as long as all fits into the first file */
  tn_status (*write_data)(void *ctx, const void *data, uint64_t size); /* appends */
} tn_sink;

/* Takes a value apart: tensor() for a tensor; begin(), its items, end() for a list. A sequence has
 * any number of items, an optional none or one, a map two: a tensor of the keys, then a tensor or
 * sequence of the values. An answer other than TN_OK stops the reader, which hands it on. */
typedef struct tn_value_sink {
  tn_head head;
  void *ctx;
  /* name: "" if the file gives none. */
  tn_status (*tensor)(void *ctx, const char *name, const tn_tensor *tensor);
  /* type: kind, elements and dtype as far as the file says. */
  tn_status (*begin)(void *ctx, const char *name, const tn_tensor *type);
  tn_status (*end)(void *ctx);
} tn_value_sink;

/* A model file format. read or write is required, and probe or extensions. */
typedef struct tn_format {
  tn_head head;
  const char *name;       /* "onnx"; unique in a runtime */
  const char *extensions; /* optional: ".onnx" or ".tflite,.lite" */
  const char *domains;    /* optional: operator domains it maps to, "," between; NULL: any */
  /* Optional: 0: not this format .. 100: surely. Pure. */
  int32_t (*probe)(const uint8_t *data, uint64_t size);
  /* Optional: builds the graph. Whatever the bytes are, it answers a graph or an error that says
   * what is wrong and where. */
  tn_status (*read)(const tn_source *source, tn_graph *graph);
  /* Optional. */
  tn_status (*write)(const tn_sink *sink, const tn_graph *graph);
  /* Optional: one value in the format's own file form (ONNX .pb). The file does not say what it
   * holds, so the caller says what kind it expects (TN_KIND_...). The value is answered through
   * calls of out's functions. */
  tn_status (*read_value)(const tn_source *source, uint32_t kind, const tn_value_sink *out);
} tn_format;

/* ---- Plug-ins -------------------------------------------------------------------------------- */

/* Flavour bits: built into the descriptor by TN_FLAVOUR and compared by the host. */
enum {
  TN_FLAVOUR_32BIT = 1,      /* pointers of 32 bits */
  TN_FLAVOUR_BIG_ENDIAN = 2, /* most significant byte first */
  TN_FLAVOUR_ASAN = 4,       /* address sanitizer */
  TN_FLAVOUR_TSAN = 8,       /* thread sanitizer */
  TN_FLAVOUR_MSAN = 16       /* memory sanitizer */
};
#if defined(__SANITIZE_ADDRESS__)
#define TN_FLAVOUR_SANITIZER TN_FLAVOUR_ASAN
#elif defined(__SANITIZE_THREAD__)
#define TN_FLAVOUR_SANITIZER TN_FLAVOUR_TSAN
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TN_FLAVOUR_SANITIZER TN_FLAVOUR_ASAN
#elif __has_feature(thread_sanitizer)
#define TN_FLAVOUR_SANITIZER TN_FLAVOUR_TSAN
#elif __has_feature(memory_sanitizer)
#define TN_FLAVOUR_SANITIZER TN_FLAVOUR_MSAN
#endif
#endif
#ifndef TN_FLAVOUR_SANITIZER
#define TN_FLAVOUR_SANITIZER 0
#endif
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define TN_FLAVOUR_ENDIAN TN_FLAVOUR_BIG_ENDIAN
#else
#define TN_FLAVOUR_ENDIAN 0
#endif
#define TN_FLAVOUR                                                                        \
  ((uint64_t)((sizeof(void *) == 4 ? TN_FLAVOUR_32BIT : 0) | TN_FLAVOUR_ENDIAN |          \
              TN_FLAVOUR_SANITIZER))

enum {
  TN_PLUGIN_THREADS = 1 /* makes threads of its own; shutdown waits until they are gone */
};

/* What tn_plugin.notify is told. Later versions add events: ignore what you do not know. */
enum {
  TN_EVENT_LOW_MEMORY = 1, /* give back caches */
  TN_EVENT_SUSPEND = 2,    /* nothing will run until resume: let go of devices and threads */
  TN_EVENT_RESUME = 3,
  TN_EVENT_FORK = 4        /* in the child of a fork: threads and device contexts are gone */
};

/* A setting that the user gives the plug-in. The plug-in says what keys it knows, and refuses
 * others in init. */
typedef struct tn_option {
  tn_head head;
  const char *key, *value;
} tn_option;

/* Something unstable that a plug-in offers: looked for by name and version, "compiler.v0". The
 * table begins with tn_head; its struct stands in a header of tenon/experimental/ and is not kept
 * stable: a change that is no append gets a new number, and old ones are never used again. Several
 * entries may have one name. A host that does not know the name leaves it alone. */
typedef struct tn_extension {
  tn_head head;
  const char *name;
  const void *table;
} tn_extension;

/* A plug-in: who it is, and what it offers. Read-only data. The members up to flavour stay where
 * they are in all versions to come, so that every host can tell whom it refuses. */
typedef struct tn_plugin {
  tn_head head;
  const char *name;     /* letters, digits and _ . -; unique in a runtime */
  const char *version;  /* optional, and the next two too; for people */
  const char *license;
  const char *build_id;
  uint64_t flavour;     /* TN_FLAVOUR */
  /* What of versions after 1.0 the plug-in cannot do without: members and constants by name, ","
   * and no space between: "tn_host.log,TN_EVENT_EXIT". A host that lacks one refuses the plug-in
   * and names it. NULL: nothing; what it uses of them, it looks for with TN_HAS. */
  const char *needs;
  uint32_t flags;       /* TN_PLUGIN_... */
  uint32_t n_ops, n_kernels, n_rewrites, n_formats, n_extensions;
  const tn_op *const *ops; /* these arrays may be NULL if their count is 0 */
  const tn_kernel *const *kernels;
  const tn_rewrite *const *rewrites;
  const tn_format *const *formats;
  const tn_extension *const *extensions;
  /* Optional: makes one instance. The same plug-in may be loaded into several runtimes of a
   * process, so what it keeps belongs to *out_self, not to globals. host and ctx may be kept until
   * shutdown returns. An error refuses the plug-in; shutdown is not called then. */
  tn_status (*init)(const tn_host *host, void *ctx, const tn_option *const *options,
                    uint32_t n_options, void **out_self);
  /* Optional: frees the instance. Nothing else is called by then, or after. Never from atexit. */
  void (*shutdown)(void *self);
  /* Optional: something happened to the process: TN_EVENT_... . Kernels may be running. */
  void (*notify)(void *self, uint32_t event);
} tn_plugin;

/* The one exported symbol. Pure: no allocation, no side effects, may be called many times from any
 * thread. The version is the host's. Offer the same tables to each: what fits is the host's to find
 * out. NULL: nothing for that host. */
TN_EXPORT const tn_plugin *tn_plugin_query(uint32_t host_major, uint32_t host_minor);
typedef const tn_plugin *(*tn_plugin_query_fn)(uint32_t host_major, uint32_t host_minor);

/* ---- Tables without typing -------------------------------------------------------------------
 * For plug-ins written by hand, in C or C++. Each macro expands to a table of the name `id` and to
 * nothing else; members that it does not ask for are 0 or NULL. Lists are TN_LIST(a, b, ...) or
 * TN_EMPTY.
 *
 *   TN_RULE(float_only, "T", "X,Y", TN_MASK(TN_F32));
 *   TN_OP(twice, "com.acme", "Twice", "(Tensor X) -> Tensor Y", TN_OP_SAME_AS_INPUT, NULL,
 *         twice_reference, TN_LIST(&float_only), TN_LIST("X=f32[2,3]"));
 *   TN_ACCEPT(plain_x, "X", TN_MASK(TN_F32), TN_PLAIN, 0);
 *   TN_KERNEL(twice_f32, "com.acme::Twice", 0, twice_plan, twice_run, TN_LIST(&plain_x));
 *   TN_PLUGIN("acme-twice", "1.0", "MIT", TN_LIST(&twice), TN_LIST(&twice_f32));
 */
#define TN_LIST(...) { NULL, __VA_ARGS__ }
#define TN_EMPTY { NULL }
#define TN_LIST_SIZE(list) ((uint32_t)(sizeof(list) / sizeof *(list)) - 1)

#define TN_RULE(id, name, args, dtypes) \
  static const tn_type_rule id = {TN_HEAD(tn_type_rule), name, args, dtypes}

/* Any rank. */
#define TN_ACCEPT(id, arg, dtypes, layout, flags) \
  static const tn_accept id = {TN_HEAD(tn_accept), arg, dtypes, layout, 0, 0, flags}

/* Version 1 and later; rules: pointers to tn_type_rule; cases: texts. */
#define TN_OP(id, domain, name, schema, flags, infer, reference, rules, cases)                    \
  static const tn_type_rule *const id##_rules[] = rules;                                          \
  static const char *const id##_cases[] = cases;                                                  \
  static const tn_op id = {TN_HEAD(tn_op), domain, name, schema, 1, 0, flags,                     \
                           TN_LIST_SIZE(id##_rules), TN_LIST_SIZE(id##_cases), id##_rules + 1,    \
                           id##_cases + 1, infer, NULL, NULL, reference, NULL, NULL, NULL}

/* For the device "cpu", with rank TN_RANK_PLUGIN; its name is id; accepts: pointers to
 * tn_accept. */
#define TN_KERNEL(id, op, isa, plan, run, accepts)                                                \
  static const tn_accept *const id##_accepts[] = accepts;                                         \
  static const tn_kernel id = {TN_HEAD(tn_kernel), #id, op, "cpu", 0, 0, isa, 0, TN_RANK_PLUGIN,  \
                               TN_LIST_SIZE(id##_accepts), id##_accepts + 1, NULL, plan, NULL,    \
                               run, NULL, NULL}

/* The plug-in and its query function; once, at the end of the file. */
#define TN_PLUGIN(name, version, license, ops, kernels)                                           \
  static const tn_op *const tn_plugin_ops[] = ops;                                                \
  static const tn_kernel *const tn_plugin_kernels[] = kernels;                                    \
  static const tn_plugin tn_plugin_table = {                                                      \
      TN_HEAD(tn_plugin), name, version, license, NULL, TN_FLAVOUR, NULL, 0,                      \
      TN_LIST_SIZE(tn_plugin_ops), TN_LIST_SIZE(tn_plugin_kernels), 0, 0, 0, tn_plugin_ops + 1,   \
      tn_plugin_kernels + 1, NULL, NULL, NULL, NULL, NULL, NULL};                                 \
  const tn_plugin *tn_plugin_query(uint32_t host_major, uint32_t host_minor) {                    \
    (void)host_major;                                                                             \
    (void)host_minor;                                                                             \
    return &tn_plugin_table;                                                                      \
  }                                                                                               \
  struct tn_plugin

#ifdef __cplusplus
}
#endif
#endif
