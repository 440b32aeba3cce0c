/* The plug-in ABI of Tenon, version 1.0: operators, kernels and plug-ins.
 *
 * This header is all that a plug-in of operators and kernels needs: it includes only stddef.h and
 * stdint.h, and a plug-in links nothing of Tenon. What rewrites, lowerings and model formats need
 * besides stands in tenon/graph.h, drivers and kernels of devices in tenon/device.h, vendors'
 * compilers and dispatchers in tenon/accelerator.h. A plug-in exports one function,
 * tn_plugin_query, which returns read-only tables; every service of the host comes in through a
 * table of functions (tn_host). The parts that ship with Tenon use these same headers, and have no
 * means that others lack. docs/abi.md says how they grow.
 *
 * Rules that hold wherever a comment does not say otherwise:
 *  - Growth. Every struct begins with tn_head, which says how long it is, and members are only ever
 *    appended. A member exists if head.size covers it (TN_HAS); a callback or service is there if
 *    its member exists and is not NULL. Neither side assigns a whole struct to memory of the other.
 *    Without a head, and frozen for ever: tn_str, tn_ints, tn_floats, tn_strs, tn_tensors.
 *    Arrays of structs are arrays of pointers, so that their elements may grow too.
 *  - Ownership. Everything handed over is borrowed. Pointers handed to a callback or service are
 *    valid until it returns. Tables live, and do not change, as long as the plug-in is loaded.
 *  - Optional is what its comment calls so: then NULL or 0 is allowed and means that it is missing.
 *    All other pointers have to be given.
 *  - Numbers are fixed in width. A constant of this header stands in a 32 or 64 bit member, never
 *    in one of an enum's type. Members named reserved are zero. Bits of flags and masks that the
 *    host does not know are refused; only in tn_kernel.isa they are needs that no machine meets.
 *  - Errors. Callbacks return TN_OK or one of the negative codes below, and say why with
 *    host->fail(). After an error, what they were to fill in is ignored. No exceptions, no longjmp,
 *    no exit.
 *  - Strings are UTF-8 without control characters and end with a zero byte unless they are tn_str.
 *    Names (of plug-ins, kernels, rewrites, formats, domains, operators, devices) are letters,
 *    digits and _ . - and at most 128 bytes; arguments in schemas are letters, digits and _, no
 *    digit first. Other texts are at most 64 KiB, tables of parts at most 65536 entries long, those
 *    of type rules and rows 256.
 *  - Threads. A callback may be called by any thread, and by several at once. Only a plug-in that
 *    says TN_PLUGIN_THREADS makes threads of its own.
 */
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
#define TN_ABI_MINOR 0

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
  TN_ERR_INVALID = -2,     /* an argument, file or descriptor breaks a rule */
  TN_ERR_MEMORY = -3,      /* memory could not be had */
  TN_ERR_UNSUPPORTED = -4, /* well-formed, but not supported: operator, version, type or feature */
  TN_ERR_NOT_FOUND = -5,   /* a file, name or index does not exist */
  TN_ERR_IO = -6,          /* the operating system failed to read or write */
  TN_ERR_SHAPE = -7,       /* shapes or dtypes of tensors do not fit together */
  TN_ERR_OVERFLOW = -8,    /* a size does not fit in 64 bits, or a limit is exceeded */
  TN_ERR_VERSION = -9,     /* ABI or format version that this host or plug-in cannot serve */
  TN_ERR_STATE = -10,      /* called in the wrong order, or the object is in use */
  TN_ERR_INTERNAL = -11,   /* a bug in Tenon or in a plug-in */
  TN_ERR_CANCELLED = -12,  /* the user asked to stop */
  TN_NEEDS_DATA = -20      /* infer only: the answer depends on data not known yet (tn_op.infer) */
};

/* Where an id or index may be left out: no value, no node, no input. No status has this number, so
 * that an id, its absence and an error can stand in one int32_t. */
enum { TN_NO_ID = -1 };

/* Lists without a head; size counts elements (tn_str: bytes). data may be NULL if size is 0. */
typedef struct tn_str { const char *data; int64_t size; } tn_str; /* no zero byte at the end */
typedef struct tn_ints { const int64_t *data; int64_t size; } tn_ints;
typedef struct tn_floats { const double *data; int64_t size; } tn_floats;
typedef struct tn_strs { const tn_str *data; int64_t size; } tn_strs;

/* Element types. Elements narrower than a byte are packed, low bits first; but six-bit floats take
 * a byte each, its two high bits 0. A dtype mask has bit TN_MASK(dtype) for each type. Later
 * versions add types. */
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
  TN_F6E2M3, TN_F6E3M2,
  TN_DTYPE_COUNT /* of this header; a newer one knows more */
};
#define TN_MASK(dtype) (UINT64_C(1) << (dtype))
/* In tn_accept only: every type of the version that the row was compiled for, and every kind. */
#define TN_ANY_DTYPE TN_MASK(TN_NONE)

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

/* A tensor, or what is known of one. Dense in its layout: no gaps, no strides. A kernel for any
 * stride is slow, and one for few needs copies before it, which nobody sees; here what only moves
 * elements is a region, which the host merges, places in the same memory or copies once.
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
/* Of tenon/graph.h, which authors of kernels need not open. */
typedef struct tn_graph tn_graph;         /* opaque */
typedef struct tn_graph_api tn_graph_api; /* what can be done with one */
typedef struct tn_rewrite tn_rewrite;
typedef struct tn_format tn_format;
/* Of tenon/device.h and tenon/accelerator.h; likewise. */
typedef struct tn_device_info tn_device_info;
typedef struct tn_device_driver tn_device_driver;
typedef struct tn_device_kernel tn_device_kernel;
typedef struct tn_compiler tn_compiler;
typedef struct tn_dispatcher tn_dispatcher;

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
  int32_t input; /* ADD, MUL: index into tn_call.inputs of t; TN_NO_ID otherwise */
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
  int32_t region_fill; /* input whose one element fills what no region covers; TN_NO_ID: zero */
  int32_t version;     /* operator-set version that the node was written for */
  uint32_t n_workers;  /* worker ids are 0 .. n_workers-1 */
  /* Of lower: the graph is going to be written for others, and only operators of ai.onnx up to this
   * version of it are of use. 0: it is going to run here. */
  int32_t onnx_opset;
  uint64_t isa; /* instruction sets that may be used: TN_ISA_... */
  /* Memory, 64-byte aligned; NULL where plan() asked for none. */
  void *state;          /* prepared constants, state_bytes: prepare() writes them, and nobody
                           else; behind it they are read-only memory, for finish() too */
  void *scratch;        /* scratch_bytes, shared by all workers of a run; undefined at its start */
  void *worker_scratch; /* worker w owns worker_scratch_bytes from worker_scratch + w*that */
  uint64_t state_bytes, scratch_bytes;
  uint64_t worker_scratch_bytes; /* what plan() asked for, rounded up to 64 */
  const tn_device_info *device;  /* what the kernel is to run on; NULL: the CPU */
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
  TN_ISA_AVX512_FP16 = 1 << 7, /* arithmetic on f16 vectors */
  TN_ISA_AMX_INT8 = 1 << 8,    /* AMX tiles with 8 bit dot products; the process may use them */
  TN_ISA_AMX_BF16 = 1 << 9,    /* AMX tiles with bf16 dot products; likewise */
  TN_ISA_NEON = 1 << 16,       /* AArch64: Advanced SIMD */
  TN_ISA_NEON_DOT = 1 << 17,   /* FEAT_DotProd: SDOT, UDOT */
  TN_ISA_NEON_F16 = 1 << 18,   /* FEAT_FP16: arithmetic on f16 vectors */
  TN_ISA_NEON_I8MM = 1 << 19,  /* FEAT_I8MM: SMMLA, UMMLA, USMMLA */
  TN_ISA_NEON_BF16 = 1 << 20,  /* FEAT_BF16: bf16 dot products and conversions */
  TN_ISA_SVE = 1 << 21,        /* FEAT_SVE, vectors of any length: ask for it with svcntb() */
  TN_ISA_SVE2 = 1 << 22,       /* FEAT_SVE2 */
  TN_ISA_RVV = 1 << 24,        /* RISC-V: V 1.0, vectors of 128 bits or more */
  TN_ISA_RVV_F16 = 1 << 25     /* Zvfh: arithmetic on f16 vectors */
};

/* ---- Kernels --------------------------------------------------------------------------------- */

enum {
  TN_ACCEPT_CONST = 1,   /* must be a constant */
  TN_ACCEPT_ABSENT = 2,  /* must be left out */
  TN_ACCEPT_PRESENT = 4, /* must not be left out */
  TN_ACCEPT_PACKED = 8   /* where plan() asks for a state, prepare() puts all of this input into it
                            and no other callback reads its elements: they leave memory. Without
                            finish(), the state moreover is bytes that follow from what state_key
                            names and point nowhere: it may be kept in a file (the weight cache) and
                            mapped by other processes that load this same plug-in file */
};

/* What a kernel accepts for one argument of the schema, input or output. An argument without a row
 * of its own falls under the row "*"; without that, a type rule of the operator has to bind it to
 * an argument with a row, whose dtype it then has, in plain layout. Else the kernel is refused. */
typedef struct tn_accept {
  tn_head head;
  const char *arg;            /* its name in the schema; "*": all that have no row of their own */
  uint64_t dtypes;            /* mask, or TN_ANY_DTYPE; 0 with TN_ACCEPT_ABSENT only */
  tn_layout layout;           /* the one that is accepted, or TN_ANY_LAYOUT */
  int32_t rank_min, rank_max; /* rank_max 0: any rank */
  uint64_t flags;             /* TN_ACCEPT_...; with "*" only TN_ACCEPT_ABSENT */
} tn_accept;

enum {
  TN_PLAN_ELEMENTWISE = 1,   /* one stage; item i reads and writes element i of output 0 only: the
                                host may run it on ranges as an epilogue of another kernel. In a
                                blocked layout elements are those of the storage, pad lanes too */
  TN_PLAN_DATA_DEPENDENT = 2 /* run calls host->output_resize(); its items must be 1 */
};

/* A kernel's answer to plan(). The host sets it up: in_place TN_NO_ID, n_stages, items[0] and grain
 * 1, all else 0. The kernel changes members, and never assigns the whole. Each memory is at most 64
 * TiB; numbers of items have no limit but int64_t; negative ones, and no items in any stage for an
 * output that has elements, refuse the node; a grain below 1 is 1. */
typedef struct tn_kernel_plan {
  tn_head head;
  uint64_t scratch_bytes;            /* memory for a run, shared by its workers */
  uint64_t worker_scratch_bytes;     /* memory for each worker of a run */
  uint64_t state_bytes;              /* memory for prepare(); 0: no prepare needed */
  uint64_t state_key;                /* the state depends on nothing but constants, attributes,
                                        dtypes, epilogue and this number: nodes that agree share
                                        it */
  uint32_t n_stages;                 /* 1 .. TN_MAX_STAGES; one ends before the next begins */
  uint32_t flags;                    /* TN_PLAN_... */
  int64_t items[TN_MAX_STAGES];      /* work items per stage: run() gets ranges; 0: stage skipped */
  int64_t grain[TN_MAX_STAGES];      /* items that are worth handing to a thread (about 5 us) */
  int32_t in_place[TN_MAX_IN_PLACE]; /* output k may share memory with this input; TN_NO_ID: none;
                                        left alone where the two differ in bytes */
  double cost_ns;                    /* estimate for one thread; 0, negative, infinite or NaN:
                                        the host derives one from FLOPs and bytes */
  int64_t elements_per_item;         /* e > 0, one stage: item i writes exactly elements
                                        [i*e, (i+1)*e) of the storage of output 0, pad lanes
                                        counted; the last may be short. 0: nothing is promised */
} tn_kernel_plan;

/* Of several kernels that accept a node, the highest rank wins; within a rank, the lowest cost. */
enum { TN_RANK_PORTABLE = 100, TN_RANK_OPTIMIZED = 200, TN_RANK_PLUGIN = 300 };

enum {
  TN_KERNEL_EPILOGUE = 1, /* applies tn_call.epilogue itself; refuse() is asked for each */
  TN_KERNEL_SERIAL = 2    /* not re-entrant: of the kernels of a runtime that say so, one runs or
                             prepares at a time. Its own ranges may still run at once, unless it
                             plans one item */
};

/* One implementation of an operator for one device. A pure function of its call: it reads and
 * writes only inside the tensors and scratch it was given and allocates nothing. Any thread may
 * call it, for any session, at any time, and several at once unless it says TN_KERNEL_SERIAL. */
typedef struct tn_kernel {
  tn_head head;
  const char *name;     /* "softmax_f32_avx512"; unique in the plug-in */
  const char *op;       /* "Softmax" (domain ai.onnx) or "com.acme::Foo" */
  const char *device;   /* optional: "cpu"; of a tn_device_kernel: see there */
  int32_t since, until; /* operator versions served; 0: open at that end */
  uint64_t isa;         /* TN_ISA_... that it needs */
  uint64_t flags;       /* TN_KERNEL_... */
  int32_t rank;         /* TN_RANK_..., or a number between or above them; 0: TN_RANK_PLUGIN */
  uint32_t n_accepts;
  const tn_accept *const *accepts; /* NULL if n_accepts is 0: the schema has no tensors */
  /* Optional: what rows cannot say. NULL: it takes the call; else why not, as a literal. Must not
   * depend on anything but the call. */
  const char *(*refuse)(const tn_call *call);
  /* Optional; without it there is one stage of one item and no memory. An error refuses the
   * node. */
  tn_status (*plan)(const tn_call *call, tn_kernel_plan *out);
  /* Optional: packs constants into call->state. Once per state, may take its time; for several
   * nodes at once, on several threads, unless the kernel says TN_KERNEL_SERIAL. After an error the
   * state is given back without finish(). */
  tn_status (*prepare)(const tn_call *call);
  /* Computes work items begin .. end-1 of a stage, as worker `worker`. An error ends the run of the
   * session; its outputs are then undefined. */
  tn_status (*run)(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                   uint32_t worker);
  /* Optional: undoes prepare() where that took more than state memory. It reads the state and
   * leaves it as it is. */
  void (*finish)(const tn_call *call);
  const char *source; /* optional: the file that describes it, "ops/pool/pool.yaml"; for people */
} tn_kernel;

/* ---- Operators ---------------------------------------------------------------------------------
 * Schemas are those of ATen without the name:
 *   schema  := "(" [arg {"," arg}] ")" "->" returns
 *   arg     := "*" | type name ["=" default]      what stands behind * is named, an attribute
 *   returns := type [name] | "(" [type [name] {"," type [name]}] ")"
 *   type    := base ["(" alias ")"] {"?" | "[" [int] "]"}      no lists of lists; "?" behind a
 *              list: it may be left out, before it: its elements may; lists of inputs: no int
 *   base    := Tensor, or one of those named under "Attributes"
 *   alias   := a set as in Tensor(a!), Tensor(a|b), Tensor(a -> *)
 *   default := value | "[" [value {"," value}] "]" | None      None: of types with "?" alone
 *   value   := -1 | 0.5 | 1e-5 | inf | nan | True | 'text' | "text" | the name of an enumerator
 *              (f32, contiguous_format, strided). Numbers are decimal, those of int whole and of 64
 *              bits; texts know \\ \' \" \n \t. For a list one value stands for all elements:
 *              int[2] s=1 is [1, 1], int[] s=1 is [1]
 * Tensors before * are inputs and may have the default None only (Tensor? B=None); what is no
 * tensor is an attribute, wherever it stands; one without a default has to be given. Lists of
 * inputs (any number, none too) share in equal parts what the others leave of a node's inputs: of
 * (Tensor[] A, Tensor[] B), a node of 3 inputs is refused. Likewise outputs. Returns without a name
 * are called "out", or out0, out1 ...; none has the name of an argument, but for aliases of it.
 *
 * Cases are lines of name=value words: "x=f32[2,3] w=T[3]! axis=1 pads=[1,1] mode='edge' tol=8".
 * What is not named is left out, or has its default.
 *   input     := tensor | "(" [tensor {"," tensor}] ")"          the second for lists
 *   tensor    := dtype "[" [dim {"," dim}] "]" ["!"] [fill]      "!": a constant
 *   fill      := "{" elements "}", repeated to the end, or {uniform 0 1} {ints 0 9} {range} {edge}
 *                {unique}; without one: small numbers of both signs, some of them 0 or equal
 *   attribute := a default as above; of type Tensor, a tensor
 * T, the name of a type rule, stands for each dtype that a kernel takes. tol=k allows errors of
 * k * epsilon * (|y| + scale of the inputs), 4 if not said; expect=(tensor,...) says the outputs in
 * place of reference(); n_outputs=k asks for so many; "bench" marks what is timed.
 * docs/op-yaml.md has the rest. */

/* A type variable: the listed arguments share one dtype out of the mask. */
typedef struct tn_type_rule {
  tn_head head;
  const char *name; /* "T" */
  const char *args; /* "X,W,B,Y": names in the schema */
  uint64_t dtypes;  /* mask, not 0 */
} tn_type_rule;

enum {
  TN_OP_IMPURE = 1,        /* random or stateful: nodes are never folded, removed or moved across
                              transposes */
  TN_OP_ELEMENTWISE = 2,   /* output element i depends on elements i of the (broadcast) inputs
                              only, not on i, and outputs have the broadcast shape: transposes
                              around it are moved and cancelled, and rewrites may take it whoever
                              has its kernel */
  TN_OP_SAME_AS_INPUT = 4, /* infer may be NULL: outputs have dtype (unless a rule says else) and
                              shape of input 0 */
  TN_OP_BROADCAST = 8,     /* infer may be NULL: output 0 has the broadcast shape of the inputs */
  TN_OP_LOWER_EARLY = 16,  /* lower before inference: an old version that is the newest one in other
                              clothes */
  TN_OP_LOWER_ALWAYS = 32, /* lower after inference even if a kernel exists (data movement) */
  TN_OP_TYPES_ONLY = 64,   /* reads the types of its inputs, never their data (Shape, Size): run
                              once these are known, when there are no data */
  TN_OP_FOLD_LATE = 128,   /* folding waits until rewrites have seen it (DequantizeLinear, whose
                              constants integer kernels want as they are) */
  TN_OP_OPEN_ATTRS = 256   /* nodes may have attributes that the schema does not name: behind the
                              attribute struct stands a tn_attrs (tenon/graph.h) of all that the
                              node has. In tables written by hand */
};

/* A named computation; knows no device. Its callbacks are pure functions of the call. */
typedef struct tn_op {
  tn_head head;
  const char *domain;   /* "com.acme"; "", NULL and "ai.onnx" are ONNX */
  const char *name;     /* "Foo" */
  const char *schema;   /* "(Tensor X, *, int axis=-1) -> Tensor Y": see "Schemas" */
  int32_t since, until; /* operator-set versions; since 0: 1; until 0: the newest */
  uint64_t flags;       /* TN_OP_... */
  uint32_t n_types, n_cases;
  const tn_type_rule *const *types; /* NULL if n_types is 0 */
  const char *const *cases;         /* test cases as text, see "Cases"; likewise */
  /* Fills in dtype (where no type rule gives it), rank and shape of call->outputs. If the shape
   * depends on data of an input that is not constant yet, call host->needs_data(ctx, input) and
   * answer TN_NEEDS_DATA; the host asks again when the data is there. Only called when the types of
   * all inputs are fully known; outputs may be answered with TN_DIM_UNKNOWN or TN_RANK_UNKNOWN
   * where the shape depends on what run will find. Required unless lower or a flag takes its
   * place. */
  tn_status (*infer)(const tn_call *call);
  /* Optional: floating-point operations of one run; types are known. For people and for costs:
   * what fails, is negative, infinite or no number counts as 0. */
  tn_status (*flops)(const tn_call *call, double *out_flops);
  /* Optional: replaces the node by simpler nodes or regions through host->graph: add nodes that
   * produce its output values, then graph->replace_node. Types are known unless the op has
   * TN_OP_LOWER_EARLY. TN_ERR_UNSUPPORTED, with the graph as it was: leave it. */
  tn_status (*lower)(const tn_call *call, tn_graph *graph, int32_t node);
  /* Optional: the operator's meaning: scalar, f64 accumulation, readable. The oracle of all kernel
   * tests; never used to run models. One thread. */
  tn_status (*reference)(const tn_call *call);
  /* Optional, element-wise ops of one output: describes this node as a fused step (kind, a, b;
   * input: which of its two inputs is t, for ADD and MUL). y may be each input that is no constant
   * and has the output's type. TN_ERR_UNSUPPORTED: it is none. */
  tn_status (*epilogue)(const tn_call *call, tn_epilogue *out);
  const char *doc;    /* optional: one or two sentences */
  const char *source; /* optional: the file that describes it; for people */
} tn_op;

/* ---- Host services --------------------------------------------------------------------------- */

/* Of tn_host.log. */
enum { TN_LOG_WARNING = 1, TN_LOG_NOTE = 2 };

/* What a plug-in may ask of the host. ctx is the one that came along with the table. Which services
 * there are depends on who asks: init gets graph, fail, log, alloc, free and get_extension; formats
 * these, the last while they read models; callbacks of operators, kernels, rewrites all. A service
 * at the wrong time (writing outputs while inferring) fails with TN_ERR_STATE and says so. */
struct tn_host {
  tn_head head; /* its version is that of the host */
  const tn_graph_api *graph; /* see tenon/graph.h */
  /* Returns code and records text for the user (printf format, <= 1000 bytes kept), none if ctx or
   * format is NULL; of a step that fails on several threads the first text is kept. Any thread. */
  tn_status (*fail)(void *ctx, tn_status code, const char *format, ...);
  /* Tells the user something that is no error: printf format, <= 1000 bytes kept. Messages stand in
   * the diagnostics of the call (loading, planning, running) that led here; those of runs that ask
   * for none are lost. level: TN_LOG_... Any thread. */
  void (*log)(void *ctx, uint32_t level, const char *format, ...);
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

  /* For plug-ins that say TN_PLUGIN_LAZY_CONSTANTS: the elements of the value, if it is a constant,
   * are in memory until the callback returns. graph NULL: of input `value` of the call. */
  tn_status (*fetch)(void *ctx, const tn_graph *graph, int32_t value);

  /* Unstable services, by name with a version, each described in a header of tenon/experimental/.
   * NULL: not here. Any thread. */
  const void *(*get_extension)(void *ctx, const char *name);
};

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
  TN_PLUGIN_THREADS = 1,       /* makes threads of its own; shutdown waits until they are gone */
  TN_PLUGIN_LAZY_CONSTANTS = 2 /* infer, flops, refuse, plan, lower and rewrites read elements of
                                  float constants of 64 KiB and more only after host->fetch(), and
                                  formats none that they have handed over: weights need not be in
                                  memory while models are planned. Without it they always are */
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

/* Something unstable that a plug-in offers: looked for by name and version, "emit_c.v0". The
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
  const char *name;     /* unique in a runtime */
  const char *version;  /* optional, and the next two too; for people */
  const char *license;
  const char *build_id;
  uint64_t flavour;     /* TN_FLAVOUR */
  /* What of versions after 1.0 the plug-in cannot do without: members and constants by name, ","
   * and no space between: "tn_op.twin,TN_EVENT_EXIT". A host that lacks one refuses the plug-in
   * and names it. NULL: nothing; what it uses of them, it looks for with TN_HAS. */
  const char *needs;
  uint32_t flags;       /* TN_PLUGIN_... */
  uint32_t n_ops, n_kernels, n_rewrites, n_formats;
  uint32_t n_drivers, n_device_kernels, n_compilers, n_dispatchers, n_extensions;
  const tn_op *const *ops; /* these arrays may be NULL if their count is 0 */
  const tn_kernel *const *kernels;
  const tn_rewrite *const *rewrites;
  const tn_format *const *formats;
  const tn_device_driver *const *drivers;
  const tn_device_kernel *const *device_kernels;
  const tn_compiler *const *compilers;
  const tn_dispatcher *const *dispatchers;
  const tn_extension *const *extensions;
  /* Optional: makes one instance. The same plug-in may be loaded into several runtimes of a
   * process, so what it keeps belongs to *out_self, not to globals. host and ctx may be kept until
   * shutdown returns. An error refuses the plug-in; shutdown is not called then. */
  tn_status (*init)(const tn_host *host, void *ctx, const tn_option *const *options,
                    uint32_t n_options, void **out_self);
  /* Optional: frees the instance. Nothing else is called by then, or after. Never from atexit. The
   * library is unmapped then: nothing may be left that leads into it, such as threads, signal
   * handlers or keys of threads (pthread_key_create) with a destructor. */
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
 * For plug-ins written by hand. In C and in C++ (from 17 on) alike, each macro makes a read-only
 * table of the name `id`: its head is filled in, members are set by name, all others are 0 or NULL.
 * TN_LIST makes an array, and TN_SET sets a member and the count of that name to one.
 *
 *   TN_RULE(float_only, .name = "T", .args = "X,Y", .dtypes = TN_MASK(TN_F32));
 *   TN_LIST(const tn_type_rule *, twice_types, &float_only);
 *   TN_LIST(const char *, twice_cases, "X=T[2,3]");
 *   TN_OP(twice, .domain = "com.acme", .name = "Twice", .schema = "(Tensor X) -> Tensor Y",
 *         .flags = TN_OP_SAME_AS_INPUT, .reference = twice_reference,
 *         TN_SET(types, twice_types), TN_SET(cases, twice_cases));
 *   TN_ACCEPT(plain_f32, .arg = "*", .dtypes = TN_MASK(TN_F32));
 *   TN_LIST(const tn_accept *, twice_accepts, &plain_f32);
 *   TN_KERNEL(twice_f32, .op = "com.acme::Twice", .plan = twice_plan, .run = twice_run,
 *             TN_SET(accepts, twice_accepts));
 *   TN_LIST(const tn_op *, all_ops, &twice);
 *   TN_LIST(const tn_kernel *, all_kernels, &twice_f32);
 *   TN_PLUGIN(.name = "acme-twice", .version = "1.0", .license = "MIT", TN_SET(ops, all_ops),
 *             TN_SET(kernels, all_kernels));
 */
#define TN_LIST(type, id, ...) static type const id[] = {__VA_ARGS__}
#define TN_SET(member, list) .member = list, .n_##member = (uint32_t)(sizeof(list) / sizeof *(list))

#ifndef __cplusplus
#define TN_TABLE(type, id, ...) static const type id = {.head = TN_HEAD(type), __VA_ARGS__}
#else
/* C++17 has no such initialisers: each `.member = value` becomes a statement. */
#define TN_TABLE(type, id, ...)                                                                    \
  static constexpr type id = [] {                                                                  \
    type t = {};                                                                                   \
    t.head = TN_HEAD(type);                                                                        \
    TN_EACH(__VA_ARGS__, , , , , , , , , , , , , , , , , , , , , , , , , )                         \
    return t;                                                                                      \
  }()
#define TN_EACH(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, u, v, w, x, y, ...)       \
  (void)(t a), (void)(t b), (void)(t c), (void)(t d), (void)(t e), (void)(t f), (void)(t g),       \
      (void)(t h), (void)(t i), (void)(t j), (void)(t k), (void)(t l), (void)(t m), (void)(t n),   \
      (void)(t o), (void)(t p), (void)(t q), (void)(t r), (void)(t s), (void)(t u), (void)(t v),   \
      (void)(t w), (void)(t x), (void)(t y);
#endif

#define TN_RULE(id, ...) TN_TABLE(tn_type_rule, id, __VA_ARGS__)
#define TN_ACCEPT(id, ...) TN_TABLE(tn_accept, id, __VA_ARGS__)
/* Its name is id. */
#define TN_KERNEL(id, ...) TN_TABLE(tn_kernel, id, .name = #id, __VA_ARGS__)
#define TN_OP(id, ...) TN_TABLE(tn_op, id, __VA_ARGS__)

/* The plug-in and its query function; once, at the end of the file. */
#define TN_PLUGIN(...)                                                           \
  TN_TABLE(tn_plugin, tn_plugin_table, .flavour = TN_FLAVOUR, __VA_ARGS__);      \
  const tn_plugin *tn_plugin_query(uint32_t host_major, uint32_t host_minor) {   \
    (void)host_major;                                                            \
    (void)host_minor;                                                            \
    return &tn_plugin_table;                                                     \
  }                                                                              \
  struct tn_plugin

#ifdef __cplusplus
}
#endif
#endif
