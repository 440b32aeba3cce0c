/* Custom operators of ONNX Runtime: what is used of its C API, declared from its published
 * interface, and what stands behind its opaque types here.
 *
 * A library of custom operators exports RegisterCustomOps, is handed one table of functions that
 * only grows at its end, and describes each operator by a struct of functions that begins with the
 * version that its author knew. Here the library gets a table of Tenon's: functions that operators
 * call while they are made and while they run are real, each other one answers a status that names
 * it. */
#ifndef ORT_H
#define ORT_H

#include <stdbool.h>

#include "slots.h"
#include "tenon/graph.h"

/* ---- as published ---- */

enum { /* codes of a status */
       ORT_FAIL = 1,
       ORT_INVALID_ARGUMENT = 2,
       ORT_NO_SUCH_FILE = 3,
       ORT_NOT_IMPLEMENTED = 9
};
enum { ORT_UNDEFINED = 0, ORT_STRING = 8 };                    /* element types */
enum { ORT_REQUIRED = 0, ORT_OPTIONAL = 1, ORT_VARIADIC = 2 }; /* inputs and outputs */
enum { ORT_TYPE_TENSOR = 1 };

typedef struct ort_status ort_status; /* NULL: all is well */
typedef struct ort_info ort_info;     /* OrtKernelInfo */
typedef struct ort_context ort_context;
typedef struct ort_value ort_value;
typedef struct ort_shape_info ort_shape_info;       /* OrtTensorTypeAndShapeInfo, and OrtTypeInfo */
typedef struct ort_shape_context ort_shape_context; /* OrtShapeInferContext */
typedef struct ort_domain ort_domain;
typedef struct ort_options ort_options;
typedef struct ort_allocator ort_allocator;
typedef struct ort_memory ort_memory; /* OrtMemoryInfo */
typedef struct ort_logger ort_logger;

typedef void (*ort_function)(void);
typedef const ort_function *ort_table;

typedef struct ort_api_base {
  ort_table (*get_api)(uint32_t version);
  const char *(*version)(void);
} ort_api_base;

typedef struct ort_op ort_op;
struct ort_op {
  uint32_t version;
  void *(*create)(const ort_op *, ort_table, const ort_info *);
  const char *(*name)(const ort_op *);
  const char *(*provider)(const ort_op *); /* NULL: the CPU's */
  int (*input_type)(const ort_op *, size_t index);
  size_t (*n_inputs)(const ort_op *);
  int (*output_type)(const ort_op *, size_t index);
  size_t (*n_outputs)(const ort_op *);
  void (*compute)(void *kernel, ort_context *);
  void (*destroy)(void *kernel);
  int (*input_kind)(const ort_op *, size_t index); /* from 8 on, as the next */
  int (*output_kind)(const ort_op *, size_t index);
  int (*input_memory)(const ort_op *, size_t index);
  int (*min_inputs)(const ort_op *); /* of the variadic one; from 14 on, as the next three */
  int (*same_inputs)(const ort_op *);
  int (*min_outputs)(const ort_op *);
  int (*same_outputs)(const ort_op *);
  ort_status *(*create_v2)(const ort_op *, ort_table, const ort_info *, void **); /* from 16 on */
  ort_status *(*compute_v2)(void *kernel, ort_context *);
  ort_status *(*infer)(const ort_op *, ort_shape_context *); /* from 17 on, as the next two */
  int (*since)(const ort_op *);
  int (*until)(const ort_op *);
};
/* The operator has the member, which versions from `from` on have. */
#define ORT_HAS(op, member, from) ((op)->version >= (from) && (op)->member)

struct ort_allocator {
  uint32_t version;
  void *(*alloc)(ort_allocator *, size_t);
  void (*free)(ort_allocator *, void *);
  const ort_memory *(*info)(const ort_allocator *);
  void *(*reserve)(ort_allocator *, size_t);
  ort_function rest[3]; /* of later versions: statistics, streams, shrinking */
};

/* ---- behind the opaque types ---- */

struct ort_shape_info {
  int type;
  int32_t rank;
  int64_t shape[TN_MAX_RANK];
};

typedef struct ort_pending ort_pending; /* a string that the operator is writing */
struct ort_value {
  tn_tensor tensor;
  const tn_call *call; /* it is an output of this call; else NULL */
  ort_pending *pending;
  uint32_t output;
  bool is_owned;   /* its elements are freed with it */
  bool is_changed; /* it may be written */
};

/* Operators of one name and domain that differ in their element types. */
enum { ORT_MOST_OVERLOADS = 16, ORT_MOST_ARGS = 64 };
typedef struct ort_entry {
  const char *domain, *name;
  const ort_op *overloads[ORT_MOST_OVERLOADS];
  uint32_t n_overloads;
  int since, until; /* 0: no end */
} ort_entry;

/* What a node is told of itself while its kernel is made. */
struct ort_info {
  const tn_call *call;
  const ort_entry *entry;
  const ort_op *op;
  struct ort_kernel *kernel;
};

/* In the state of a node: what CreateKernel answered, and constants that it was shown. */
typedef struct ort_kernel {
  const ort_op *op;
  void *object;
  ort_value **constants; /* one per input, made when asked for */
  uint32_t n_constants;
  uint32_t is_made;
} ort_kernel;

extern const ort_api_base ort_base;
ort_table ort_api(void);

/* status.c */
ort_status *ort_fail(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Hands the status on as an error of the call, and frees it. NULL: TN_OK. what: "compute". */
tn_status ort_hand_on(const tn_call *call, const ort_entry *entry, ort_status *status);
void ort_status_functions(ort_function *table);
const char *ort_status_text(const ort_status *status);
void ort_status_free(ort_status *status);
/* Answers text as the API does: its size with the zero byte in *size; copied if there is room. */
ort_status *ort_put_text(const char *data, size_t bytes, char *out, size_t *size);

/* types.c: element types, shapes, memory that operators ask for. */
int ort_type(uint32_t dtype); /* ORT_UNDEFINED: it has none */
uint32_t ort_dtype(int type); /* TN_NONE: there is none here */
uint64_t ort_dtypes(void);    /* all that there are, a mask */
extern ort_allocator ort_memory_of_process;
void ort_type_functions(ort_function *table);

/* value.c */
ort_value *ort_value_copy(const tn_tensor *tensor); /* NULL: no memory */
void ort_value_free(ort_value *value);
/* Of an output, when the operator has run or failed: strings that it wrote itself are set. */
ort_status *ort_value_settle(ort_value *value);
void ort_value_functions(ort_function *table);

/* info.c */
void ort_info_functions(ort_function *table);

/* context.c */
tn_status ort_compute(const tn_call *call, const ort_entry *entry, const ort_kernel *kernel);
void ort_context_functions(ort_function *table);

/* shape.c: dims of outputs, where the operator tells them before it runs. */
tn_status ort_infer_shapes(const tn_call *call, const ort_entry *entry, const ort_op *op);
void ort_shape_functions(ort_function *table);

/* operator.c: what Tenon calls. */
tn_status ort_op_infer(const tn_call *call, const ort_entry *entry);
tn_status ort_op_prepare(const tn_call *call, const ort_entry *entry);
tn_status ort_op_plan(const tn_call *call, tn_kernel_plan *out);
tn_status ort_op_run(const tn_call *call, const ort_entry *entry);
void ort_op_finish(const tn_call *call);
/* ORT_REQUIRED ... of an input or output. */
int ort_kind(const ort_op *op, bool is_input, size_t index);
/* The overload that takes the inputs of the call; NULL: none. */
const ort_op *ort_op_choose(const tn_call *call, const ort_entry *entry);

/* library.c: the operators of all libraries that TENON_ORT_CUSTOM_OPS names. Each is opened
 * once in a process, and stays. */
enum { ORT_MOST_ENTRIES = 512, ORT_MOST_LIBRARIES = 64 };
extern ort_entry ort_entries[ORT_MOST_ENTRIES];
extern uint32_t ort_n_entries;
/* Opens those that are not open yet. One thread at a time. */
void ort_libraries_open(void);
/* Why a library could not be used; "": all could. */
extern char ort_failure[1024];
/* Operators that were left out, and why; NULL after the last. */
const char *ort_note(uint32_t index);
void ort_library_functions(ort_function *table);

/* tables.c: what is known of entries as tables of Tenon. */
extern const tn_op *ort_ops[ORT_MOST_ENTRIES];
extern const tn_kernel *ort_kernels[ORT_MOST_ENTRIES];
/* A copy in memory of the plug-in, where texts of tables have to be. NULL: no more room. */
const char *ort_keep(const char *text);
/* Writes the tables of entry `index`, whose callbacks are given. False: there is no more room. */
bool ort_tables_make(uint32_t index, tn_status (*infer)(const tn_call *),
                     tn_status (*prepare)(const tn_call *),
                     tn_status (*run)(const tn_call *, uint32_t, int64_t, int64_t, uint32_t));

#define ORT_SET(table, name, function) ((table)[ORT_##name] = (ort_function)(function))
#define ORT_PLACE(name) ORT_##name,
enum { ORT_SLOTS(ORT_PLACE) ORT_N_SLOTS };

#endif
