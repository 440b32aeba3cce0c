/* What the accelerator onnxruntime uses of ONNX Runtime's C API, declared from its documentation.
 * The API is a table of functions that only grows at its end, so that a function is known by its
 * place. The newest that is used here came with version 1.6. */
#ifndef ORT_H
#define ORT_H

#include "tenon/experimental/module_parts.h"

typedef struct ort_status ort_status; /* NULL: all is well */
typedef struct ort_env ort_env;
typedef struct ort_session ort_session;
typedef struct ort_session_options ort_session_options;
typedef struct ort_value ort_value;
typedef struct ort_memory_info ort_memory_info;
typedef struct ort_allocator ort_allocator;

/* Gaps stand for functions that are not used. */
typedef struct ort_api {
  void *gap_0[2];
  const char *(*get_error_message)(const ort_status *);
  ort_status *(*create_env)(int severity, const char *id, ort_env **out);
  void *gap_4[4];
  ort_status *(*create_session_from_array)(const ort_env *, const void *model, size_t bytes,
                                           const ort_session_options *, ort_session **out);
  ort_status *(*run)(ort_session *, const void *options, const char *const *input_names,
                     const ort_value *const *inputs, size_t n_inputs,
                     const char *const *output_names, size_t n_outputs, ort_value **outputs);
  ort_status *(*create_session_options)(ort_session_options **out);
  void *gap_11[11];
  ort_status *(*set_log_severity)(ort_session_options *, int severity);
  void *gap_23[1];
  ort_status *(*set_intra_op_threads)(ort_session_options *, int n);
  void *gap_25[5];
  ort_status *(*input_count)(const ort_session *, size_t *out);
  ort_status *(*output_count)(const ort_session *, size_t *out);
  void *gap_32[4];
  ort_status *(*input_name)(const ort_session *, size_t index, ort_allocator *, char **out);
  ort_status *(*output_name)(const ort_session *, size_t index, ort_allocator *, char **out);
  void *gap_38[11];
  ort_status *(*tensor_over)(const ort_memory_info *, void *data, size_t bytes,
                             const int64_t *shape, size_t rank, int type, ort_value **out);
  void *gap_50[19];
  ort_status *(*create_cpu_memory_info)(int allocator, int memory, ort_memory_info **out);
  void *gap_70[6];
  ort_status *(*allocator_free)(ort_allocator *, void *memory);
  void *gap_77[1];
  ort_status *(*default_allocator)(ort_allocator **out);
  void *gap_79[13];
  void (*release_env)(ort_env *);
  void (*release_status)(ort_status *);
  void (*release_memory_info)(ort_memory_info *);
  void (*release_session)(ort_session *);
  void (*release_value)(ort_value *);
  void *gap_97[3];
  void (*release_session_options)(ort_session_options *);
  void *gap_101[29];
  ort_status *(*add_config)(ort_session_options *, const char *key, const char *value);
} ort_api;

/* The library, opened. */
typedef struct ort {
  const ort_api *api;
  ort_env *env;
  ort_session_options *options;
  ort_memory_info *memory;
  char stamp[96];
} ort;

/* TN_ERR_NOT_FOUND: there is no library, or none that is new enough. */
tn_status ort_open(const tn_accelerator_call *call, ort *out);
void ort_close(ort *o);
/* What the library says; status is released. */
tn_status ort_check(const tn_accelerator_call *call, const ort *o, ort_status *status,
                    const char *what);
tn_status ort_session_new(const tn_accelerator_call *call, const ort *o, const void *model,
                          uint64_t bytes, ort_session **out);
/* Its number for an element type; 0: it has none. */
int ort_type(uint32_t dtype);

#define ORT_FORMAT "onnxruntime-parts"

extern const tn_compiler ort_compiler;
extern const tn_dispatcher ort_dispatcher;

#endif
