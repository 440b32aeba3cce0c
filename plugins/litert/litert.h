/* The accelerator litert: what its files offer each other.
 *
 * A guest is a vendor's compiler plug-in and dispatch library, built for LiteRT and loaded as they
 * are (library.c). Its compiler reads graphs of TFLite's operators: graph.c has them, services.c
 * shows them, bridge*.c make them of ours. pack.c joins what it makes to a module, dispatcher.c
 * runs it. */
#ifndef LITERT_LITERT_H
#define LITERT_LITERT_H

#include "guest.h"
#include "tenon/experimental/module_parts.h"
#include "tenon/kit/pattern.h"
#include "tenon/kit/tensor.h"

/* ---- memory that is freed together: graph.c ---- */

typedef struct lrt_memory {
  const tn_accelerator_call *call;
  struct lrt_chunk *chunks;
  int is_out; /* of memory: some NULL was answered */
} lrt_memory;
/* Zeros; NULL: no memory. */
void *lrt_alloc(lrt_memory *m, uint64_t bytes);
void lrt_memory_free(lrt_memory *m);

/* ---- graphs of TFLite's operators, as guests are shown them: graph.c ---- */

typedef struct lrt_tensor {
  char name[24];
  guest_type type;
  uint32_t index;
  const void *data; /* of constants */
  uint64_t bytes;
  struct lrt_op *maker; /* NULL: none */
  size_t output;        /* of maker */
  struct lrt_use {
    struct lrt_op *op;
    size_t input;
  } * uses;
  size_t n_uses;
  struct lrt_tensor *next;
} lrt_tensor;

/* Operators by TFLite's numbers. */
enum {
  LRT_ADD = 0,
  LRT_AVERAGE_POOL_2D = 1,
  LRT_CONCATENATION = 2,
  LRT_CONV_2D = 3,
  LRT_DEPTHWISE_CONV_2D = 4,
  LRT_DEPTH_TO_SPACE = 5,
  LRT_FLOOR = 8,
  LRT_FULLY_CONNECTED = 9,
  LRT_LOGISTIC = 14,
  LRT_MAX_POOL_2D = 17,
  LRT_MUL = 18,
  LRT_RELU = 19,
  LRT_RESHAPE = 22,
  LRT_RESIZE_BILINEAR = 23,
  LRT_SOFTMAX = 25,
  LRT_TANH = 28,
  LRT_PAD = 34,
  LRT_GATHER = 36,
  LRT_TRANSPOSE = 39,
  LRT_MEAN = 40,
  LRT_SUB = 41,
  LRT_DIV = 42,
  LRT_STRIDED_SLICE = 45,
  LRT_EXP = 47,
  LRT_SPLIT = 49,
  LRT_LOG_SOFTMAX = 50,
  LRT_MAXIMUM = 55,
  LRT_MINIMUM = 57,
  LRT_NEG = 59,
  LRT_PADV2 = 60,
  LRT_SIN = 66,
  LRT_LOG = 73,
  LRT_SUM = 74,
  LRT_SQRT = 75,
  LRT_POW = 78,
  LRT_REDUCE_MAX = 82,
  LRT_RESIZE_NEAREST = 97,
  LRT_LEAKY_RELU = 98,
  LRT_ABS = 101,
  LRT_CEIL = 104,
  LRT_COS = 108,
  LRT_ELU = 111,
  LRT_HARD_SWISH = 117,
  LRT_BATCH_MATMUL = 126,
  LRT_BROADCAST_TO = 130,
  LRT_GELU = 150
};

/* Options of operators, each in one place for all that have it. */
enum {
  LRT_PADDING, /* 0: SAME, 1: VALID */
  LRT_STRIDE_W,
  LRT_STRIDE_H,
  LRT_DILATION_W,
  LRT_DILATION_H,
  LRT_FILTER_W,
  LRT_FILTER_H,
  LRT_MULTIPLIER,
  LRT_AXIS,
  LRT_FLAG,   /* keep_num_dims, keep_dims, align_corners, approximate */
  LRT_FLAG_2, /* half_pixel_centers */
  LRT_NUMBER, /* beta, alpha, num_splits, block_size, batch_dims */
  LRT_BEGIN_MASK,
  LRT_END_MASK,
  LRT_ZERO, /* an option that is always 0: fused activations and more */
  LRT_N_OPTIONS
};

typedef struct lrt_op {
  int32_t code;
  int32_t node; /* of our graph; -1: it belongs to none */
  int is_taken; /* by the guest's partition */
  lrt_tensor **inputs, **outputs;
  size_t n_inputs, n_outputs;
  double options[LRT_N_OPTIONS];
  struct lrt_op *next;
} lrt_op;

typedef struct lrt_graph {
  lrt_memory *memory;
  lrt_op *first_op, *last_op;
  lrt_tensor *first_tensor, *last_tensor;
  lrt_op **ops; /* of lrt_graph_finish */
  lrt_tensor **inputs, **outputs;
  size_t n_ops, n_tensors, n_inputs, n_outputs, max_ports;
} lrt_graph;

typedef struct lrt_model {
  lrt_graph *graphs;
  size_t n;
} lrt_model;

/* max_ports: bound of its inputs, and of its outputs. */
tn_status lrt_graph_open(lrt_graph *g, lrt_memory *memory, size_t max_ports);
/* NULL: no memory. data: of a constant, alive as long as the graph. */
lrt_tensor *lrt_tensor_new(lrt_graph *g, uint32_t dtype, int32_t rank, const int64_t *shape,
                           const void *data);
/* At the end of the graph, with one output unless more are given; NULL: no memory. */
lrt_op *lrt_op_new(lrt_graph *g, int32_t code, int32_t node, lrt_tensor *const *inputs,
                   size_t n_inputs, lrt_tensor *const *outputs, size_t n_outputs);
/* Makes lists of operators and uses. */
tn_status lrt_graph_finish(lrt_graph *g);
/* LiteRT's number for an element type; 0: it has none. */
int32_t lrt_element(uint32_t dtype);
guest_type lrt_type(const tn_tensor *t);

/* ---- what compilers are served: services.c ---- */

typedef struct lrt_options {
  const char *name, *text; /* opaque options of the guest, as it reads them; NULL: none */
  int64_t log_level;
} lrt_options;

void lrt_serve_compiler(guest_compiler_table *out);
/* Shared with what dispatch libraries are served. */
int lrt_serve_opaque(void *options, void **out);
int lrt_serve_find(void *options, const char *name, void **out);
void lrt_serve_destroy(void *options);
int lrt_serve_environment(void *options, int tag, guest_any *out);
int lrt_serve_nothing(void); /* it is not supported */
int lrt_serve_done(void);

/* ---- our graphs as theirs: bridge.c ---- */

/* A value in theirs: as it is, and with the channels of an image last. */
typedef struct lrt_forms {
  lrt_tensor *plain, *last;
} lrt_forms;

typedef struct lrt_bridge {
  const tn_graph_api *api;
  const tn_graph *g;
  lrt_graph *to;
  lrt_forms *forms; /* by value */
  int32_t node;     /* that is translated */
} lrt_bridge;

/* Translates all nodes for which `wanted` is not NULL; reasons[node] says of each why it is left
 * out, NULL: it is not. Values between those that are and those that are not become inputs and
 * outputs. wanted NULL: all nodes; then inputs and outputs are those of the graph, in order. */
tn_status lrt_bridge_graph(const tn_accelerator_call *call, const tn_graph *g,
                           tn_claim *const *wanted, int32_t n_nodes, const char **reasons,
                           lrt_graph *to);

/* What translators use. Tensors are NULL without memory, and so is what is made of those. */
const tn_tensor *lrt_type_of(const lrt_bridge *b, int32_t value);
int lrt_is_const(const lrt_bridge *b, int32_t value);
lrt_tensor *lrt_plain(lrt_bridge *b, int32_t value);
/* Of a value of rank 4: [N, Y, X, C]. */
lrt_tensor *lrt_last(lrt_bridge *b, int32_t value);
/* Is it there only so, or cheaper? */
int lrt_prefers_last(const lrt_bridge *b, int32_t value);
/* An operator whose output is that of the node, in one form. */
lrt_op *lrt_emit(lrt_bridge *b, int32_t code, lrt_tensor *const *inputs, size_t n_inputs,
                 int32_t output, int is_last);
/* ... whose output is a new tensor. */
lrt_op *lrt_emit_inner(lrt_bridge *b, int32_t code, lrt_tensor *const *inputs, size_t n_inputs,
                       int32_t rank, const int64_t *shape);
lrt_tensor *lrt_ints(lrt_bridge *b, const int64_t *values, int32_t n);
lrt_tensor *lrt_floats(lrt_bridge *b, const float *values, int32_t rank, const int64_t *shape);
lrt_tensor *lrt_number(lrt_bridge *b, double value);
/* Constant input k of the node as integers; -1: it is none, or has more than max. */
int32_t lrt_const_ints(const lrt_bridge *b, const tn_node *n, uint32_t k, int64_t *out,
                       int32_t max);
/* Where dim `axis` of [N, C, Y, X] stands in [N, Y, X, C]. */
int32_t lrt_moved_axis(int32_t axis);
/* The elements of a constant in another order of dims. */
const float *lrt_permuted(lrt_bridge *b, const tn_tensor *t, const int32_t *perm);

/* Translators: NULL, or why the node is left out; nothing is emitted then. */
typedef const char *(*lrt_translator)(lrt_bridge *b, const tn_node *n);
typedef struct lrt_rule {
  const char *op;
  lrt_translator translate;
} lrt_rule;
extern const lrt_rule lrt_simple_rules[], lrt_move_rules[], lrt_window_rules[]; /* op NULL: end */

/* ---- guests: library.c ---- */

typedef struct lrt_guest {
  const char *target;  /* "litert-intel-cpu" */
  const char *vendor;  /* "intel_openvino": the folder; NULL: variables name the files */
  const char *library; /* "IntelOpenvino": in names of files */
  int backend;         /* of OpenVINO's; -1: another vendor */
} lrt_guest;

/* For call->target. */
const lrt_guest *lrt_guest_find(const tn_accelerator_call *call);
/* TENON_LITERT_SOC: the chip that it compiles for; NULL: the guest's default. */
const char *lrt_guest_soc(void);
/* Opaque options for n_parts graphs, as the guest reads them. Memory of m. */
tn_status lrt_guest_options(const lrt_guest *guest, lrt_memory *m, uint32_t n_parts,
                            lrt_options *out);
tn_status lrt_compiler_open(const tn_accelerator_call *call, const lrt_guest *guest,
                            guest_compiler *out);
/* The library stays loaded. stamp: which it is. */
enum { LRT_STAMP = 160 };
tn_status lrt_dispatch_open(const tn_accelerator_call *call, const lrt_guest *guest,
                            guest_dispatch *out, char *stamp);
/* A guest's answer in words. */
tn_status lrt_check(const tn_accelerator_call *call, int answer, const char *what);

/* ---- modules: pack.c ---- */

#define LRT_FORMAT "litert-guest"

typedef struct lrt_code {
  const void *data;
  uint64_t size;
} lrt_code;
typedef struct lrt_entry {
  uint64_t code; /* index */
  const char *function;
  uint64_t function_size;
} lrt_entry;
tn_module *lrt_pack(const tn_accelerator_call *call, const tn_graph *const *parts, uint32_t n_parts,
                    const char *stamp, const lrt_code *codes, uint64_t n_codes,
                    const lrt_entry *entries);
/* NULL, or what is wrong. function: ends with 0. */
const char *lrt_unpack(const tn_module *module, uint32_t entry, lrt_code *out_code,
                       const char **out_function);

tn_status lrt_partition(const tn_accelerator_call *call, const tn_graph *graph,
                        tn_claim *const *claims, int32_t n_claims);
extern const tn_compiler lrt_compiler;
extern const tn_dispatcher lrt_dispatcher;

#endif
