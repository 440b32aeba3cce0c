/* The plug-in ABI of Tenon: operators, kernels, rewrites and model formats.
 *
 * This header is all that a plug-in needs: it includes only stddef.h and stdint.h, and a plug-in links nothing of
 * Tenon. A plug-in exports one function, tn_plugin_query, which returns read-only tables; every service of the host
 * comes in through a table of functions (tn_host). The parts that ship with Tenon use this same header.
 *
 * Rules that hold everywhere:
 *  - Every struct that may grow begins with tn_head, which says how long it is. Members are only ever appended. A
 *    member exists if head.size covers it; a callback is there if its member exists and is not NULL.
 *    Exempt, and frozen for ever: tn_head, tn_str, tn_ints, tn_floats, tn_strs, tn_tensors.
 *  - Arrays of structs are arrays of pointers, so that their elements may grow too.
 *  - Callbacks return 0 (TN_OK) or one of the negative codes below; say why with host->fail(). No exceptions, no
 *    longjmp, no exit.
 *  - Strings are UTF-8 and end with a zero byte unless they are tn_str. Tables live as long as the plug-in is loaded.
 *  - Pointers handed to a callback are valid until it returns unless its comment says otherwise.
 */
#ifndef TENON_PLUGIN_H
#define TENON_PLUGIN_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TN_ABI_MAJOR 0
#define TN_ABI_MINOR 1

#if defined(_WIN32)
#define TN_EXPORT __declspec(dllexport)
#elif defined(__GNUC__)
#define TN_EXPORT __attribute__((visibility("default")))
#else
#define TN_EXPORT
#endif

/* ---- Basics ---------------------------------------------------------------------------------------------------- */

typedef struct tn_head {
  uint32_t size;         /* sizeof the struct that begins with this head, as its author compiled it */
  uint16_t major, minor; /* the ABI version its author compiled against */
} tn_head;

#define TN_HEAD(type) { (uint32_t)sizeof(type), TN_ABI_MAJOR, TN_ABI_MINOR }

/* Results of every call that can fail. The list is closed. */
typedef int32_t tn_status;
enum {
  TN_OK = 0,
  TN_ERR_INVALID = -1,      /* an argument, file or descriptor breaks a rule */
  TN_ERR_MEMORY = -2,       /* memory could not be had */
  TN_ERR_UNSUPPORTED = -3,  /* well-formed, but not supported: operator, version, type or feature */
  TN_ERR_NOT_FOUND = -4,    /* a file, name or index does not exist */
  TN_ERR_IO = -5,           /* the operating system failed to read or write */
  TN_ERR_SHAPE = -6,        /* shapes or dtypes of tensors do not fit together */
  TN_ERR_OVERFLOW = -7,     /* a size does not fit in 64 bits, or a limit is exceeded */
  TN_ERR_VERSION = -8,      /* ABI or format version that this host or plug-in cannot serve */
  TN_ERR_STATE = -9,        /* called in the wrong order, or the object is in use */
  TN_ERR_INTERNAL = -10,    /* a bug in Tenon or in a plug-in */
  TN_ERR_CANCELLED = -11,   /* the user asked to stop */
  TN_NEEDS_DATA = -20       /* infer only: the answer depends on data that is not known yet (see tn_op.infer) */
};

typedef struct tn_str { const char *data; int64_t size; } tn_str;           /* bytes, no zero at the end */
typedef struct tn_ints { const int64_t *data; int64_t size; } tn_ints;
typedef struct tn_floats { const double *data; int64_t size; } tn_floats;
typedef struct tn_strs { const tn_str *data; int64_t size; } tn_strs;

/* Element types. A dtype mask has bit (1 << dtype). Types narrower than a byte are packed, low bits first. */
enum {
  TN_NONE = 0,
  TN_F32, TN_F64, TN_F16, TN_BF16,
  TN_I8, TN_I16, TN_I32, TN_I64, TN_U8, TN_U16, TN_U32, TN_U64,
  TN_BOOL,                                         /* one byte, 0 or 1 */
  TN_STRING,                                       /* elements are tn_str; the bytes belong to the host */
  TN_C64, TN_C128,                                 /* complex: two f32, two f64 */
  TN_F8E4M3FN, TN_F8E4M3FNUZ, TN_F8E5M2, TN_F8E5M2FNUZ, TN_F8E8M0, TN_F4E2M1,
  TN_I4, TN_U4, TN_I2, TN_U2,
  TN_DTYPE_COUNT
};
#define TN_MASK(dtype) (UINT64_C(1) << (dtype))

enum { TN_MAX_RANK = 8, TN_MAX_STAGES = 8, TN_MAX_IN_PLACE = 8 };

/* Memory layouts, one 64-bit code each.
 * 0 is plain: row-major in the order of the logical dims.
 * TN_CHANNELS_LAST: dim 1 moved to the end (NHWC), any rank >= 3.
 * TN_BLOCKED(b): storage [N][ceil(C/b)][X...][b] for logical [N, C, X...], b in {4, 8, 16, 32}; pad lanes hold zero. */
typedef uint64_t tn_layout;
#define TN_PLAIN UINT64_C(0)
#define TN_CHANNELS_LAST (UINT64_C(1) << 40)
#define TN_BLOCKED(b) ((UINT64_C(1) << 41) | (uint64_t)(b))
#define TN_LAYOUT_BLOCK(layout) ((int64_t)((layout) & UINT64_C(0xff)))
#define TN_ANY_LAYOUT (UINT64_C(1) << 42) /* in tn_accept only: any layout, the same for all arguments that say so */

/* What a value is. Kernels of ordinary operators only ever see TN_KIND_TENSOR. */
enum { TN_KIND_TENSOR = 0, TN_KIND_SEQUENCE = 1, TN_KIND_OPTIONAL = 2, TN_KIND_MAP = 3 };

/* What the items of a sequence, optional or map are (tn_tensor.elements): their kind in the lowest 4 bits, the kind of
 * their items in the next 4, and so on; 0 is a tensor. The keys' dtype of the outermost map stands in bits 24 to 31. */
#define TN_ELEMENTS(kind, of) ((uint32_t)(kind) | ((uint32_t)(of) & UINT32_C(0xfffff)) << 4 | ((uint32_t)(of) & UINT32_C(0xff000000)))
#define TN_ELEMENTS_KEY(dtype) ((uint32_t)(dtype) << 24)
enum { TN_ELEMENTS_DEPTH = 6 };

#define TN_RANK_UNKNOWN (-1)
#define TN_DIM_UNKNOWN (-1)

/* A tensor, or what is known of one. Dense in its layout: no gaps, no strides.
 * While types are inferred, dtype may be TN_NONE, rank TN_RANK_UNKNOWN and dims TN_DIM_UNKNOWN, and data is NULL unless
 * the value is a constant. While a kernel runs all are known and data points to the elements (it may be NULL if there
 * are none). kind other than TN_KIND_TENSOR: a sequence, optional or map that only the services of tn_host can open;
 * dtype is then the element type. */
typedef struct tn_tensor {
  tn_head head;
  void *data;
  tn_layout layout;
  uint32_t dtype;
  int32_t rank;
  int64_t shape[TN_MAX_RANK];
  uint32_t kind;
  uint32_t elements; /* kind is not TN_KIND_TENSOR: what the items are, as far as known; see TN_ELEMENTS */
  uint64_t object; /* the host's; plug-ins copy it along and never touch it */
} tn_tensor;

typedef struct tn_tensors { const tn_tensor *const *data; int64_t size; } tn_tensors;

/* ---- Attributes ------------------------------------------------------------------------------------------------
 * A node's attributes arrive as a struct that follows from the operator's schema: its non-tensor arguments in order,
 * and the tensors and graphs after `*`, each as the member below. The generator prints the struct for YAML operators;
 * by hand, write the members in that order.
 *   int, bool, ScalarType, MemoryFormat, Device -> int64_t      float, Scalar -> double      str -> tn_str
 *   int[], bool[] -> tn_ints     float[] -> tn_floats     str[] -> tn_strs     Tensor -> const tn_tensor *
 *   Tensor[] -> tn_tensors       Graph -> int64_t, the index to pass to subgraph_infer() and subgraph_run()
 *   Scalar[] -> tn_floats        Dimname -> tn_str        Dimname[] -> tn_strs
 *   Layout, QScheme, Generator, Storage, Stream -> int64_t       all other lists -> tn_ints
 * A `?` after the type puts `int64_t has_<name>` before the member; a missing one is zero. */

/* ---- Kernels and operators: the call ---------------------------------------------------------------------------- */

typedef struct tn_host tn_host;
typedef struct tn_graph tn_graph; /* opaque; see tn_graph_api */

/* Element-wise work fused onto a kernel's output 0, applied in order to every element y. */
enum {
  TN_EPILOGUE_NONE = 0,
  TN_EPILOGUE_RELU,         /* max(y, 0) */
  TN_EPILOGUE_CLIP,         /* min(max(y, a), b) */
  TN_EPILOGUE_LEAKY_RELU,   /* y < 0 ? a*y : y */
  TN_EPILOGUE_SIGMOID,      /* 1 / (1 + exp(-y)) */
  TN_EPILOGUE_TANH,
  TN_EPILOGUE_HARD_SIGMOID, /* min(max(a*y + b, 0), 1) */
  TN_EPILOGUE_HARD_SWISH,   /* y * min(max(y/6 + 0.5, 0), 1) */
  TN_EPILOGUE_SILU,         /* y * sigmoid(y) */
  TN_EPILOGUE_GELU,         /* y * (1 + erf(y/sqrt 2)) / 2 */
  TN_EPILOGUE_GELU_TANH,    /* y * (1 + tanh(sqrt(2/pi) (y + 0.044715 y^3))) / 2 */
  TN_EPILOGUE_ADD,          /* y + t, t a tensor of the output's shape, or of one value per index of one dim (the channel):
                               its shape is 1 in all others, and it is aligned at the last dim, as in broadcasting */
  TN_EPILOGUE_MUL,          /* y * t, likewise */
  TN_EPILOGUE_COUNT
};

typedef struct tn_epilogue {
  tn_head head;
  uint32_t kind;       /* TN_EPILOGUE_... */
  int32_t input;       /* ADD, MUL: index into tn_call.inputs of t; -1 otherwise */
  double a, b;
} tn_epilogue;

/* A strided copy from an input into an output: for every index x of size[]:
 *   output[dst_offset + sum x[k]*dst_stride[k]] = input[src_offset + sum x[k]*src_stride[k]]     (units: elements)
 * Regions of one node never overlap in the output. Elements that no region covers hold `fill` of the node. */
typedef struct tn_region {
  tn_head head;
  int32_t input;       /* index into tn_call.inputs */
  int32_t rank;        /* how many of the dims below count, 0..8 */
  int64_t src_offset, dst_offset;
  int64_t size[TN_MAX_RANK], src_stride[TN_MAX_RANK], dst_stride[TN_MAX_RANK];
} tn_region;

/* One node as an operator's or kernel's callback sees it. Which members are valid depends on the callback:
 *   infer, flops      attrs, inputs (types; data where constant), outputs (to be filled in)
 *   refuse, plan      + output types, epilogue, regions, n_workers, isa
 *   prepare           + state (zeroed, plan's state_bytes), data of constant inputs only
 *   run, reference    + data of all tensors, scratch
 *   finish            state */
typedef struct tn_call {
  tn_head head;
  const tn_host *host;
  void *ctx;                          /* the host's name for this node: first argument of its services */
  void *self;                         /* what the plug-in's init() answered */
  const void *attrs;                  /* the attribute struct; see "Attributes" */
  int32_t version;                    /* operator-set version that the node was written for */
  uint32_t n_inputs, n_outputs;       /* list arguments are flattened in place */
  uint32_t n_workers;                 /* worker ids are 0 .. n_workers-1 */
  /* One entry per argument of the schema, also behind n_inputs and n_outputs where the node leaves out the last ones.
   * NULL entry: an optional input that was left out, an optional output that nobody asked for. */
  const tn_tensor *const *inputs;
  tn_tensor *const *outputs;
  const tn_epilogue *const *epilogue;
  const tn_region *const *regions;    /* only for kernels of tenon::Region */
  uint32_t n_epilogue, n_regions;
  int32_t region_fill;                /* input whose one element fills what no region covers; -1: zero */
  uint32_t reserved;
  uint64_t isa;                       /* instruction sets that may be used: TN_ISA_... */
  void *state;                        /* prepared constants; read-only while running; 64-byte aligned */
  void *scratch;                      /* plan's scratch_bytes, shared by all workers; 64-byte aligned */
  void *worker_scratch;               /* worker w owns worker_scratch_bytes from worker_scratch + w*that; 64-byte aligned */
  uint64_t scratch_bytes, worker_scratch_bytes, state_bytes; /* what plan() asked for; worker_scratch_bytes rounded up to 64 */
} tn_call;

/* Instruction sets (tn_kernel.isa: all bits set are needed; 0 runs on any machine that Tenon is built for). */
enum {
  TN_ISA_SSE41 = 1 << 0, TN_ISA_AVX = 1 << 1, TN_ISA_AVX2 = 1 << 2 /* with FMA and F16C */, TN_ISA_AVX512 = 1 << 3 /* F BW DQ VL CD */,
  TN_ISA_AVX512_VNNI = 1 << 4, TN_ISA_AVX512_BF16 = 1 << 5, TN_ISA_AVX_VNNI = 1 << 6,
  TN_ISA_NEON = 1 << 16, TN_ISA_NEON_DOT = 1 << 17, TN_ISA_NEON_F16 = 1 << 18, TN_ISA_NEON_I8MM = 1 << 19, TN_ISA_RVV = 1 << 24
};

/* What a kernel accepts for one argument of the schema. Arguments without a row accept any dtype in plain layout. */
enum { TN_ACCEPT_CONST = 1 /* must be a constant */, TN_ACCEPT_ABSENT = 2 /* must be left out */, TN_ACCEPT_PRESENT = 4 };

typedef struct tn_accept {
  tn_head head;
  const char *arg;              /* name in the schema, input or output */
  uint64_t dtypes;              /* mask; 0: any */
  tn_layout layout;
  int32_t rank_min, rank_max;   /* rank_max 0: any rank */
  uint32_t flags;               /* TN_ACCEPT_... */
  uint32_t reserved;
} tn_accept;

/* A kernel's answer to plan(). The host zeroes it first (in_place to -1, n_stages and items to 1, grain to 1). */
enum {
  TN_PLAN_ELEMENTWISE = 1,     /* one stage; item i reads and writes element i of output 0 only: the host may run it on
                                  ranges as an epilogue of another kernel */
  TN_PLAN_DATA_DEPENDENT = 2,  /* run calls host->output_resize(); its items must be 1 */
  TN_PLAN_SERIAL = 4           /* run must not be called by two threads at once on different sessions */
};

typedef struct tn_kernel_plan {
  tn_head head;
  uint64_t scratch_bytes, worker_scratch_bytes;
  uint64_t state_bytes;                   /* memory for prepare(); 0: no prepare needed */
  uint64_t state_key;                     /* the state depends on nothing but constants, attributes, dtypes and this */
  uint32_t n_stages, flags;               /* all items of a stage end before the next stage starts */
  int64_t items[TN_MAX_STAGES];           /* work items per stage; run() gets ranges of them; 0: stage is skipped */
  int64_t grain[TN_MAX_STAGES];           /* items that are worth handing to a thread (about 5 us of work) */
  int32_t in_place[TN_MAX_IN_PLACE];      /* output k may share memory with input in_place[k]; -1: no */
  double cost_ns;                         /* estimate for one thread; 0: the host derives one from FLOPs and bytes */
  int64_t elements_per_item;              /* > 0, one stage: item i writes exactly elements [i*e, (i+1)*e) of output 0 */
} tn_kernel_plan;

enum { TN_RANK_PORTABLE = 100, TN_RANK_OPTIMIZED = 200, TN_RANK_PLUGIN = 300 };

enum {
  TN_KERNEL_EPILOGUE = 1       /* applies tn_call.epilogue itself; refuse() is asked for each combination */
};

/* One implementation of an operator for one device. A pure function of its call: it reads and writes only inside the
 * tensors and scratch it was given, allocates nothing, and any thread may call it for any session at any time. */
typedef struct tn_kernel {
  tn_head head;
  const char *name;                       /* "softmax_f32_avx512"; unique in the plug-in */
  const char *op;                         /* "Softmax" (domain ai.onnx) or "com.acme::Foo" */
  const char *device;                     /* "cpu" */
  int32_t since, until;                   /* operator versions served; 0, 0: all */
  uint64_t isa;
  int32_t rank;                           /* TN_RANK_...: among kernels that accept a node, higher wins before cost */
  uint32_t flags;                         /* TN_KERNEL_... */
  const tn_accept *const *accepts;
  uint32_t n_accepts, reserved;
  const char *(*refuse)(const tn_call *); /* optional; NULL, or why not, as a literal */
  tn_status (*plan)(const tn_call *, tn_kernel_plan *out); /* optional: one stage of one item */
  tn_status (*prepare)(const tn_call *);  /* optional; once per state, may take its time */
  tn_status (*run)(const tn_call *, uint32_t stage, int64_t begin, int64_t end, uint32_t worker);
  void (*finish)(const tn_call *);        /* optional; undoes prepare() where that took more than state memory */
  const char *source;                     /* optional: the file that describes it, "ops/pool/pool.yaml"; for people */
} tn_kernel;

/* ---- Operators ------------------------------------------------------------------------------------------------- */

/* Type variable: the listed arguments share one dtype out of the mask. */
typedef struct tn_type_rule {
  tn_head head;
  const char *name;            /* "T" */
  const char *args;            /* "X,W,B,Y" */
  uint64_t dtypes;
} tn_type_rule;

enum {
  TN_OP_IMPURE = 1,            /* random or stateful: never folded, merged or removed */
  TN_OP_ELEMENTWISE = 2,       /* output element i depends on input elements i (after broadcasting) only */
  TN_OP_COMMUTATIVE = 4,
  TN_OP_SAME_AS_INPUT = 8,     /* infer may be NULL: outputs have dtype (unless a rule says else) and shape of input 0 */
  TN_OP_BROADCAST = 16,        /* infer may be NULL: output 0 has the broadcast shape of all inputs */
  TN_OP_LOWER_EARLY = 32,      /* lower before inference: an old version that is the newest one in other clothes */
  TN_OP_LOWER_ALWAYS = 64,     /* lower after inference even if a kernel exists (data movement into regions) */
  TN_OP_DATA_DEPENDENT = 128,  /* output shapes are known only after it ran */
  TN_OP_TYPES_ONLY = 256       /* reads the types of its inputs, never their data (Shape, Size): folded as soon as these are known */
};

typedef struct tn_op {
  tn_head head;
  const char *domain, *name;   /* domain "" is ai.onnx */
  int32_t since, until;        /* operator-set versions; until 0: the newest */
  const char *schema;          /* ATen grammar without the name: "(Tensor X, *, int axis=-1) -> Tensor Y" */
  const tn_type_rule *const *types;
  uint32_t n_types, flags;     /* TN_OP_... */
  /* Fills in dtype (where no type rule gives it), rank and shape of call->outputs. Must be pure. If the shape depends on
   * data of an input that is not constant yet, call host->needs_data(ctx, input) and answer TN_NEEDS_DATA; the host asks
   * again when the data is there. It is only called when the types of all inputs are fully known; outputs may be answered
   * with TN_DIM_UNKNOWN or TN_RANK_UNKNOWN where the shape depends on what run will find. */
  tn_status (*infer)(const tn_call *);
  tn_status (*flops)(const tn_call *, double *out_flops);
  /* Replaces node by simpler nodes or regions through host->graph: add nodes that produce the node's output values
   * (graph->replace_node). Types are known unless the op has TN_OP_LOWER_EARLY. TN_ERR_UNSUPPORTED: leave it. */
  tn_status (*lower)(const tn_call *, tn_graph *, int32_t node);
  /* The operator's meaning: scalar, f64 accumulation, readable. The oracle of all kernel tests; never used to run models. */
  tn_status (*reference)(const tn_call *);
  /* Element-wise ops: describes this node as a fused step (kind, a, b; input = which of the node's inputs is t). */
  tn_status (*epilogue)(const tn_call *, tn_epilogue *out);
  const char *const *cases;    /* test cases as text; see docs/add-an-op.md */
  uint32_t n_cases, reserved;
  const char *doc;             /* one or two sentences */
  const char *source;          /* optional: the file that describes it, "ops/pool/pool.yaml"; for people */
} tn_op;

/* A pattern that makes a graph better. apply() is called once for every node of the operator `root`; it looks at the
 * neighbourhood through host->graph, and edits the graph or leaves it. Answer TN_OK in both cases. */
typedef struct tn_rewrite {
  tn_head head;
  const char *name, *root;     /* root: "BatchNormalization", "com.acme::Foo" */
  tn_status (*apply)(const tn_call *, tn_graph *, int32_t node);
} tn_rewrite;

/* ---- Graphs ----------------------------------------------------------------------------------------------------- */

/* Attribute as it stands in a file. Graph attributes hold a graph made by subgraph_new(). */
enum {
  TN_ATTR_INT = 1, TN_ATTR_FLOAT, TN_ATTR_STR, TN_ATTR_TENSOR, TN_ATTR_GRAPH,
  TN_ATTR_INTS, TN_ATTR_FLOATS, TN_ATTR_STRS, TN_ATTR_TENSORS, TN_ATTR_GRAPHS,
  TN_ATTR_REF, /* inside a function body: the value of the function's attribute named by s; i: its kind, 0 if unknown */
  TN_ATTR_TYPE /* a type: tensors.data[0] without data */
};

typedef struct tn_attr {
  tn_head head;
  const char *name;
  uint32_t kind, reserved;     /* TN_ATTR_... */
  int64_t i;
  double f;
  tn_str s;
  tn_ints ints;
  tn_floats floats;
  tn_strs strs;
  tn_tensors tensors;          /* TENSOR: tensors.data[0] */
  tn_graph *const *graphs;     /* GRAPH: graphs[0] */
  uint32_t n_graphs, reserved2;
} tn_attr;

typedef struct tn_node {
  tn_head head;
  const char *domain, *op, *name; /* domain "" is ai.onnx; name may be "" */
  int32_t version;                /* operator-set version; 0: what the graph imports for the domain, in lowerings: the newest */
  uint32_t n_inputs, n_outputs, n_attrs;
  const int32_t *inputs, *outputs; /* value ids; -1: left out */
  const tn_attr *const *attrs;
  int64_t offset;                 /* where the node stands in its file, in bytes; -1: nowhere */
  const char *overload;           /* of the function it calls; NULL or "": the one without */
} tn_node;

enum { TN_VALUE_INPUT = 1, TN_VALUE_OUTPUT = 2, TN_VALUE_CONST = 4 };

/* A function of the model, as add_function() took it. */
typedef struct tn_function_info {
  tn_head head;
  const char *domain, *name, *overload;
  const tn_graph *body;
  const char *const *attr_names;
  const tn_attr *const *defaults;
  uint32_t n_attr_names, n_defaults;
} tn_function_info;

/* Building, reading and editing graphs. Ids of values and nodes are small numbers >= 0 and stay the same until the graph
 * dies. Everything passed in is copied unless said otherwise; pointers handed out live until the graph is next changed.
 * One thread at a time per graph. Functions that return an id return a negative tn_status on failure. */
typedef struct tn_graph_api {
  tn_head head;
  /* building */
  int32_t (*value)(tn_graph *, const char *name);                 /* finds or makes the value; name "" or NULL: a new unnamed one */
  tn_status (*value_set_type)(tn_graph *, int32_t value, const tn_tensor *type); /* data ignored */
  /* Makes `value` a constant. copy = 0: the data outlives the graph (a mapped file); 1: it is copied. */
  tn_status (*value_set_const)(tn_graph *, int32_t value, const tn_tensor *data, int32_t copy);
  tn_status (*value_set_dim_name)(tn_graph *, int32_t value, int32_t dim, const char *name); /* "batch" */
  tn_status (*add_input)(tn_graph *, int32_t value);              /* a constant: an input that may be left out, with this default */
  tn_status (*add_output)(tn_graph *, int32_t value);
  int32_t (*add_node)(tn_graph *, const tn_node *);               /* at the end, or before the node a pass works on */
  tn_graph *(*subgraph_new)(tn_graph *);                          /* values not found in it are looked up in the parent; belongs to the graph */
  tn_status (*set_opset)(tn_graph *, const char *domain, int32_t version);
  tn_status (*set_meta)(tn_graph *, const char *key, const char *text); /* "name", "producer", "doc", or a key of the model's */
  /* A function of the model: body is a graph made by subgraph_new(); attrs are names, defaults given as tn_attr. */
  tn_status (*add_function)(tn_graph *, const char *domain, const char *name, const char *overload, tn_graph *body,
                            const char *const *attr_names, uint32_t n_attr_names, const tn_attr *const *defaults, uint32_t n_defaults);
  /* reading */
  const char *(*meta)(const tn_graph *, const char *key);         /* NULL if there is none */
  int32_t (*opset)(const tn_graph *, const char *domain);         /* 0: not imported */
  int32_t (*n_inputs)(const tn_graph *);                          /* those without a default */
  int32_t (*n_outputs)(const tn_graph *);
  int32_t (*input)(const tn_graph *, int32_t index);              /* value id; from n_inputs on those that have a default */
  int32_t (*output)(const tn_graph *, int32_t index);
  int32_t (*n_nodes)(const tn_graph *);
  int32_t (*node_at)(const tn_graph *, int32_t index);            /* node id, in topological order */
  const tn_node *(*node)(const tn_graph *, int32_t node);         /* NULL: no such node. Attributes as in the file */
  const tn_region *const *(*node_regions)(const tn_graph *, int32_t node, uint32_t *out_n);
  const char *(*value_name)(const tn_graph *, int32_t value);
  const tn_tensor *(*value_type)(const tn_graph *, int32_t value);/* with data if it is a constant */
  uint32_t (*value_flags)(const tn_graph *, int32_t value);       /* TN_VALUE_... */
  int32_t (*value_producer)(const tn_graph *, int32_t value);     /* node id; -1: input or constant */
  int32_t (*value_n_users)(const tn_graph *, int32_t value);      /* nodes that read it, graph outputs not counted */
  int32_t (*value_user)(const tn_graph *, int32_t value, int32_t index);
  int32_t (*n_values)(const tn_graph *);
  int32_t (*n_opsets)(const tn_graph *);
  const char *(*opset_at)(const tn_graph *, int32_t index, int32_t *out_version);
  const char *(*value_dim_name)(const tn_graph *, int32_t value, int32_t dim); /* NULL: none */
  const void *(*node_attrs)(const tn_graph *, int32_t node);      /* the attribute struct, as in tn_call.attrs; NULL before check */
  /* editing */
  tn_status (*replace_value)(tn_graph *, int32_t old_value, int32_t new_value); /* everywhere it is read, graph outputs too */
  tn_status (*remove_node)(tn_graph *, int32_t node);             /* its outputs must have no users */
  /* Node `node` is done by others now: its output k is values[k]. Removes it. */
  tn_status (*replace_node)(tn_graph *, int32_t node, const int32_t *values, uint32_t n_values);
  /* Node `node` is a strided copy: turns it into tenon::Region on the given inputs. Elements not covered are `fill`
   * (an input index holding one element; -1: zero). The host proves bounds and disjointness. One output. */
  tn_status (*set_regions)(tn_graph *, int32_t node, const int32_t *inputs, uint32_t n_inputs,
                           const tn_region *const *regions, uint32_t n_regions, int32_t fill);
  /* reading, continued: what a writer needs besides */
  int32_t (*n_meta)(const tn_graph *);
  const char *(*meta_at)(const tn_graph *, int32_t index, const char **out_text);     /* the key; NULL: no such entry */
  int32_t (*n_functions)(const tn_graph *);
  tn_status (*function_at)(const tn_graph *, int32_t index, tn_function_info *out);   /* out->head is the caller's */
  /* A node's inputs are those that its operator describes, then the values its subgraphs capture, then those of its
   * epilogue. This is how many the operator describes. */
  uint32_t (*node_n_formal)(const tn_graph *, int32_t node);
  /* Graph `index` of the node, counted over its graph attributes in order, as passes have left it: attrs still name the
   * graphs of the file. */
  const tn_graph *(*node_graph)(const tn_graph *, int32_t node, uint32_t index);
  /* Value of a subgraph that stands for *out_outer of the graph around it. TN_ERR_NOT_FOUND: no capture of that index. */
  int32_t (*capture)(const tn_graph *, int32_t index, int32_t *out_outer);
  const tn_epilogue *const *(*node_epilogue)(const tn_graph *, int32_t node, uint32_t *out_n);
  int32_t (*node_region_fill)(const tn_graph *, int32_t node);                        /* input that fills what no region covers; -1: zero */
} tn_graph_api;

/* ---- Host services ---------------------------------------------------------------------------------------------- */

struct tn_host {
  tn_head head;
  uint32_t abi_major, abi_minor;
  const tn_graph_api *graph;
  /* Records text for the user and returns code. printf format, <= 1000 bytes kept. */
  tn_status (*fail)(void *ctx, tn_status code, const char *format, ...);
  /* Memory that outlives a call: 64-byte aligned, zeroed, NULL if there is none. Any thread. */
  void *(*alloc)(void *ctx, uint64_t bytes);
  void (*free)(void *ctx, void *memory);
  /* infer: names the input whose data is needed, before answering TN_NEEDS_DATA. */
  tn_status (*needs_data)(void *ctx, uint32_t input);
  /* run of a data-dependent kernel: sets the shape of an output and gives it memory; call->outputs[k]->data is valid then.
   * Where inference left the dtype open, the kernel writes it into call->outputs[k]->dtype first. */
  tn_status (*output_resize)(void *ctx, uint32_t output, int32_t rank, const int64_t *shape);
  /* run: element `index` of string output `output` becomes a copy of these bytes. */
  tn_status (*string_set)(void *ctx, uint32_t output, int64_t index, const char *data, int64_t size);
  /* Sequences, optionals (0 or 1 items) and maps (items 0: keys, 1: values). Items live as long as their list. */
  int64_t (*list_size)(void *ctx, const tn_tensor *list);
  const tn_tensor *(*list_item)(void *ctx, const tn_tensor *list, int64_t index);
  tn_status (*list_append)(void *ctx, uint32_t output, const tn_tensor *item); /* output list starts empty; the item is copied */
  /* Subgraphs: `graph` is the index in the attribute struct. Captured values are added by the host.
   * subgraph_infer fills in the types of out[]. subgraph_run leaves in out[] tensors of the host's; each lives until
   * value_release() or the end of the node's run. */
  tn_status (*subgraph_shape)(void *ctx, int64_t graph, uint32_t *out_n_inputs, uint32_t *out_n_outputs);
  tn_status (*subgraph_infer)(void *ctx, int64_t graph, uint32_t n_in, const tn_tensor *const *in, uint32_t n_out, tn_tensor *const *out);
  tn_status (*subgraph_run)(void *ctx, int64_t graph, uint32_t n_in, const tn_tensor *const *in, uint32_t n_out, const tn_tensor **out);
  void (*value_release)(void *ctx, const tn_tensor *value);
  /* Makes output `output` equal to `value`, whatever its kind (a copy; sets the shape). */
  tn_status (*output_set)(void *ctx, uint32_t output, const tn_tensor *value);
  /* Unstable services, by name with a version: "profiler.v1". NULL: not here. */
  const void *(*get_extension)(void *ctx, const char *name);
  /* run: appends a map to output `output`, a sequence of maps. keys and values are tensors of rank 1 and of one size; they are copied. */
  tn_status (*list_append_map)(void *ctx, uint32_t output, const tn_tensor *keys, const tn_tensor *values);
};

/* ---- Model formats ---------------------------------------------------------------------------------------------- */

/* A file as a reader sees it: mapped, read-only, alive as long as the model. */
typedef struct tn_source {
  tn_head head;
  const tn_host *host;
  void *ctx;
  const char *path;            /* for messages */
  const uint8_t *data;
  uint64_t size;
  /* Maps a file next to the model (external weights). The path is relative and may not leave the model's folder. */
  tn_status (*open_sibling)(void *ctx, const char *path, const uint8_t **out_data, uint64_t *out_size);
} tn_source;

typedef struct tn_sink {
  tn_head head;
  const tn_host *host;
  void *ctx;
  tn_status (*write)(void *ctx, const void *data, uint64_t size); /* appended */
} tn_sink;

/* Takes a value apart: tensor() for a tensor; begin(), its items, end() for a list. A sequence has any number of items, an
 * optional none or one, a map two: a tensor of the keys, then a tensor or sequence of the values. An answer other than
 * TN_OK stops the reader, which hands it on. */
typedef struct tn_value_sink {
  tn_head head;
  void *ctx;
  tn_status (*tensor)(void *ctx, const char *name, const tn_tensor *tensor); /* name: "" if the file gives none; valid until it returns */
  tn_status (*begin)(void *ctx, const char *name, const tn_tensor *type);    /* type: kind, elements and dtype as far as the file says */
  tn_status (*end)(void *ctx);
} tn_value_sink;

typedef struct tn_format {
  tn_head head;
  const char *name;            /* "onnx" */
  const char *extensions;      /* ".onnx" or ".tflite,.lite" */
  int32_t (*probe)(const uint8_t *data, uint64_t size); /* 0: not this format .. 100: surely */
  tn_status (*read)(const tn_source *, tn_graph *);
  tn_status (*write)(const tn_sink *, const tn_graph *); /* optional */
  /* One value in the format's own file form (ONNX .pb); optional. The file does not say what it holds, so the caller says
   * what kind it expects (TN_KIND_...). The value is answered through calls of out's functions. */
  tn_status (*read_value)(const tn_source *, uint32_t kind, const tn_value_sink *out);
  const char *domains;         /* operator domains this format maps to, "," between; NULL: any */
} tn_format;

/* ---- Plug-ins --------------------------------------------------------------------------------------------------- */

typedef struct tn_option { tn_head head; const char *key, *value; } tn_option;

/* Flavour bits: built into the descriptor by TN_FLAVOUR and compared by the host. */
enum { TN_FLAVOUR_32BIT = 1, TN_FLAVOUR_BIG_ENDIAN = 2, TN_FLAVOUR_ASAN = 4, TN_FLAVOUR_TSAN = 8, TN_FLAVOUR_MSAN = 16 };
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
#define TN_FLAVOUR ((uint64_t)((sizeof(void *) == 4 ? TN_FLAVOUR_32BIT : 0) | TN_FLAVOUR_ENDIAN | TN_FLAVOUR_SANITIZER))

typedef struct tn_plugin {
  tn_head head;
  const char *name, *version, *license, *build_id;
  uint64_t flavour;            /* TN_FLAVOUR */
  uint32_t n_ops, n_kernels, n_rewrites, n_formats;
  const tn_op *const *ops;
  const tn_kernel *const *kernels;
  const tn_rewrite *const *rewrites;
  const tn_format *const *formats;
  tn_status (*init)(const tn_host *, void *ctx, const tn_option *const *options, uint32_t n_options, void **out_self);
  void (*shutdown)(void *self);
} tn_plugin;

/* The one exported symbol. Pure: no allocation, no side effects, may be called many times from any thread. */
TN_EXPORT const tn_plugin *tn_plugin_query(uint32_t host_major, uint32_t host_minor);
typedef const tn_plugin *(*tn_plugin_query_fn)(uint32_t host_major, uint32_t host_minor);

#ifdef __cplusplus
}
#endif
#endif
