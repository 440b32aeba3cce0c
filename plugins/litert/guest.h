/* The C interface between LiteRT and vendors' libraries, as far as it is used here: what guests
 * export, what they are given, and the structures that both sides read. Declared from LiteRT's
 * documentation of it (litert/c/internal, litert/vendors/c), version 0.1; layouts are those of
 * 64-bit machines. Guests get services from tables of functions behind a head with size and
 * version; they are numbered here by their place in the table. */
#ifndef LITERT_GUEST_H
#define LITERT_GUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What functions answer. */
enum {
  GUEST_OK = 0,
  GUEST_INVALID = 1,
  GUEST_NO_MEMORY = 2,
  GUEST_FAILED = 3,
  GUEST_UNSUPPORTED = 5,
  GUEST_NOT_FOUND = 6,
  GUEST_BAD_INDEX = 1000
};

enum { GUEST_MAJOR = 0, GUEST_MINOR = 1 };
typedef struct guest_version {
  int major, minor, patch;
} guest_version;

/* At the head of tables. All zero: the library does not say. */
typedef struct guest_head {
  uint16_t size, major, minor, reserved;
} guest_head;

typedef void (*guest_fn)(void); /* of any type */

enum { GUEST_MAX_RANK = 8 };
typedef struct guest_layout {
  uint32_t rank : 7, has_strides : 1;
  int32_t dims[GUEST_MAX_RANK];
  uint32_t strides[GUEST_MAX_RANK];
} guest_layout;
typedef struct guest_type {
  int32_t element;
  guest_layout layout;
} guest_type;
_Static_assert(sizeof(guest_type) == 72, "as LiteRT has it");

enum { GUEST_QUANT_NONE = 0, GUEST_QUANT_TENSOR = 1, GUEST_QUANT_CHANNEL = 2 };
typedef struct guest_quant_tensor {
  float scale;
  int64_t zero;
} guest_quant_tensor;
typedef struct guest_quant_channel {
  int32_t dim;
  uint64_t n;
  float *scales;
  int64_t *zeros;
} guest_quant_channel;

/* A value of an option. */
enum { GUEST_ANY_INT = 2 };
typedef struct guest_any {
  int32_t kind;
  union {
    int64_t i;
    const char *s;
  } of;
} guest_any;
_Static_assert(sizeof(guest_any) == 16, "as LiteRT has it");

/* Options of the environment, by number, that guests ask for. */
enum { GUEST_ENV_LOG_LEVEL = 25 };
enum { GUEST_LOG_ERRORS = 3, GUEST_LOG_NOTHING = 4 };

/* ---- what compilers are given ---- */

enum {
  SERVE_MODEL_N_GRAPHS = 0,
  SERVE_MODEL_GRAPH = 1,
  SERVE_GRAPH_N_OPS = 2,
  SERVE_GRAPH_OP = 3,
  SERVE_GRAPH_N_INPUTS = 4,
  SERVE_GRAPH_INPUT = 5,
  SERVE_GRAPH_N_OUTPUTS = 6,
  SERVE_GRAPH_OUTPUT = 7,
  SERVE_OP_CODE = 8,
  SERVE_OP_N_INPUTS = 10,
  SERVE_OP_INPUT = 11,
  SERVE_OP_N_OUTPUTS = 12,
  SERVE_OP_OUTPUT = 13,
  SERVE_TENSOR_NAME = 14,
  SERVE_TENSOR_INDEX = 15,
  SERVE_TENSOR_TYPE_KIND = 16,
  SERVE_TENSOR_TYPE = 17,
  SERVE_TENSOR_QUANT_KIND = 19,
  SERVE_TENSOR_N_USES = 22,
  SERVE_TENSOR_USE = 23,
  SERVE_TENSOR_MAKER = 24,
  SERVE_TENSOR_WEIGHTS = 25,
  SERVE_WEIGHTS_ID = 26,
  SERVE_WEIGHTS_BYTES = 27,
  SERVE_PUSH_OP = 32,
  SERVE_OPAQUE_OPTIONS = 33,
  SERVE_FIND_OPTIONS = 34,
  SERVE_DESTROY_OPTIONS = 35,
  SERVE_ENVIRONMENT_VALUE = 36,
  SERVE_RESHAPE_SHAPE = 96,
  SERVE_COMPILER_COUNT = 137
};

typedef struct guest_compiler_table {
  guest_head head;
  guest_fn serve[SERVE_COMPILER_COUNT];
} guest_compiler_table;
_Static_assert(sizeof(guest_compiler_table) == 1104, "as LiteRT has it");

typedef struct guest_maker {
  void *op;
  size_t output;
} guest_maker;

/* ---- what compilers export: name behind "LiteRt", result, arguments ---- */

#define GUEST_COMPILER_FUNCTIONS(X)                                                               \
  X(GetCompilerPluginVersion, int, (guest_version *))                                             \
  X(GetCompilerPluginSocManufacturer, const char *, (void))                                       \
  X(CreateCompilerPlugin, int, (const guest_compiler_table *, void **, void *env, void *options)) \
  X(DestroyCompilerPlugin, void, (void *))                                                        \
  X(GetNumCompilerPluginSupportedSocModels, int, (void *, size_t *))                              \
  X(GetCompilerPluginSupportedSocModel, int, (void *, size_t, const char **))                     \
  X(CompilerPluginPartition, int, (void *, const char *soc, void *graph, void *list))             \
  X(CompilerPluginCompile, int, (void *, const char *soc, void *model, void **out_result))        \
  X(DestroyCompiledResult, void, (void *))                                                        \
  X(CompiledResultNumByteCodeModules, int, (void *, size_t *))                                    \
  X(GetCompiledResultByteCode, int, (void *, size_t, const void **, size_t *))                    \
  X(GetNumCompiledResultCalls, int, (void *, size_t *))                                           \
  X(GetCompiledResultCallInfo, int,                                                               \
    (void *, size_t, const void **info, size_t *info_size, size_t *code))

#define GUEST_MEMBER(name, result, arguments) result(*name) arguments;
typedef struct guest_compiler {
  GUEST_COMPILER_FUNCTIONS(GUEST_MEMBER)
} guest_compiler;
#undef GUEST_MEMBER

/* ---- what dispatch libraries are given ---- */

enum {
  SERVE_NEW_REQUIREMENTS = 0,
  SERVE_RUN_OPAQUE_OPTIONS = 9,
  SERVE_RUN_FIND_OPTIONS = 10,
  SERVE_RUN_DESTROY_OPTIONS = 11,
  SERVE_RUN_ENVIRONMENT = 12,
  SERVE_RUN_ENVIRONMENT_VALUE = 13,
  SERVE_BUFFER_KIND = 22,
  SERVE_BUFFER_TYPE = 23,
  SERVE_BUFFER_SIZE = 24,
  SERVE_BUFFER_PACKED_SIZE = 25,
  SERVE_BUFFER_OFFSET = 26,
  SERVE_BUFFER_LOCK = 27,
  SERVE_BUFFER_UNLOCK = 28,
  SERVE_BUFFER_HOST_MEMORY = 29,
  SERVE_BUFFER_CUSTOM_HANDLE = 32,
  SERVE_BUFFER_HAS_EVENT = 36,
  SERVE_RUNTIME_COUNT = 50
};

typedef struct guest_runtime_table {
  guest_head head;
  guest_fn serve[SERVE_RUNTIME_COUNT];
} guest_runtime_table;
_Static_assert(sizeof(guest_runtime_table) == 408, "as LiteRT has it");

/* ---- what dispatch libraries export: LiteRtDispatchGetApi(), which fills a guest_dispatch ---- */

typedef struct guest_code {
  int fd; /* -1: none */
  const void *base;
  size_t offset, size, file_offset;
} guest_code;
enum { GUEST_CODE_MODEL = 2 };

typedef struct guest_dispatch_table {
  int (*initialize)(const guest_runtime_table *, void *env, void *options);
  int (*vendor)(const char **);
  int (*build)(const char **);
  int (*capabilities)(int *);
  int (*device_new)(const guest_runtime_table *, void *options, void **out_device);
  int (*device_free)(void *device);
  int (*input_needs)(void *call, int index, const guest_type *, void **out_requirements);
  int (*output_needs)(void *call, int index, const guest_type *, void **out_requirements);
  int (*buffer_add)(void *device, void *buffer, uint64_t *out_handle);
  int (*buffer_remove)(void *device, uint64_t handle);
  int (*call_new)(const guest_runtime_table *, void *device, int kind, const guest_code *,
                  const char *function, int n_inputs, int n_outputs, void **out_call);
  int (*call_free)(void *call);
  guest_fn scheduling;
  int (*attach_input)(void *call, int index, uint64_t handle);
  int (*attach_output)(void *call, int index, uint64_t handle);
  int (*detach_input)(void *call, int index, uint64_t handle);
  int (*detach_output)(void *call, int index, uint64_t handle);
  int (*invoke)(void *call);
} guest_dispatch_table;

/* Memory of the vendor's own, which the host makes through these. */
typedef struct guest_memory {
  void *handle, *raw;
} guest_memory;
enum { GUEST_HOST_MEMORY = 1, GUEST_OWN_FIRST = 100, GUEST_OWN_LAST = 199, GUEST_MAX_KINDS = 16 };
enum { GUEST_LOCK_READ = 0, GUEST_LOCK_WRITE = 1 };
typedef struct guest_memory_table {
  guest_head head;
  int (*create)(void *device, void *queue, const guest_type *, int kind, size_t bytes,
                size_t packed_bytes, guest_memory **out);
  int (*destroy)(guest_memory *);
  int (*lock)(guest_memory *, int mode, void **out);
  int (*unlock)(guest_memory *);
  guest_fn clear, import;
  int32_t device_tag, queue_tag;
  size_t n_kinds;
  int32_t kinds[GUEST_MAX_KINDS];
} guest_memory_table;
_Static_assert(sizeof(guest_memory_table) == 136, "as LiteRT has it");

typedef struct guest_dispatch {
  guest_head head;
  guest_version version;
  const guest_dispatch_table *table;
  const void *asynchronous, *graphs;
  const guest_memory_table *memory;
} guest_dispatch;
_Static_assert(sizeof(guest_dispatch) == 56, "as LiteRT has it");

#endif
