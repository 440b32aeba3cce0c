/* What the accelerator openvino uses of OpenVINO's C API, declared from its documentation. The
 * functions are found by name in libopenvino_c.so, which TENON_OPENVINO names. */
#ifndef OV_H
#define OV_H

#include "tenon/experimental/module_parts.h"
#include "tenon/kit/tensor.h"

typedef struct ov_core ov_core;
typedef struct ov_model ov_model;
typedef struct ov_compiled ov_compiled;
typedef struct ov_request ov_request;
typedef struct ov_port ov_port;
typedef struct ov_tensor ov_tensor;

typedef struct ov_version {
  const char *build, *description;
} ov_version;
typedef struct ov_shape {
  int64_t rank;
  int64_t *dims;
} ov_shape;

/* All functions that are used: name behind "ov_", result, arguments. 0 is success. */
#define OV_FUNCTIONS(X)                                                                          \
  X(get_openvino_version, int, (ov_version *))                                                   \
  X(version_free, void, (ov_version *))                                                          \
  X(get_last_err_msg, const char *, (void))                                                      \
  X(free, void, (const char *))                                                                  \
  X(core_create, int, (ov_core **))                                                              \
  X(core_free, void, (ov_core *))                                                                \
  X(core_get_property, int, (const ov_core *, const char *device, const char *key, char **))     \
  X(core_set_property, int, (const ov_core *, const char *device, ...))                          \
  X(core_read_model_from_memory_buffer, int,                                                     \
    (const ov_core *, const char *, size_t, const ov_tensor *weights, ov_model **))              \
  X(core_compile_model, int,                                                                     \
    (const ov_core *, const ov_model *, const char *device, size_t n_properties, ov_compiled **, \
     ...))                                                                                       \
  X(core_import_model, int,                                                                      \
    (const ov_core *, const char *, size_t, const char *device, ov_compiled **))                 \
  X(model_free, void, (ov_model *))                                                              \
  X(compiled_model_export_model, int, (const ov_compiled *, const char *path))                   \
  X(compiled_model_inputs_size, int, (const ov_compiled *, size_t *))                            \
  X(compiled_model_outputs_size, int, (const ov_compiled *, size_t *))                           \
  X(compiled_model_input_by_index, int, (const ov_compiled *, size_t, ov_port **))               \
  X(compiled_model_output_by_index, int, (const ov_compiled *, size_t, ov_port **))              \
  X(compiled_model_input_by_name, int, (const ov_compiled *, const char *, ov_port **))          \
  X(compiled_model_output_by_name, int, (const ov_compiled *, const char *, ov_port **))         \
  X(compiled_model_create_infer_request, int, (const ov_compiled *, ov_request **))              \
  X(compiled_model_free, void, (ov_compiled *))                                                  \
  X(output_const_port_free, void, (ov_port *))                                                   \
  X(const_port_get_shape, int, (const ov_port *, ov_shape *))                                    \
  X(port_get_any_name, int, (const ov_port *, char **))                                          \
  X(port_get_element_type, int, (const ov_port *, int *))                                        \
  X(shape_free, int, (ov_shape *))                                                               \
  X(tensor_create_from_host_ptr, int, (int type, ov_shape, void *, ov_tensor **))                \
  X(tensor_get_byte_size, int, (const ov_tensor *, size_t *))                                    \
  X(tensor_free, void, (ov_tensor *))                                                            \
  X(infer_request_set_input_tensor_by_index, int, (ov_request *, size_t, const ov_tensor *))     \
  X(infer_request_set_output_tensor_by_index, int, (ov_request *, size_t, const ov_tensor *))    \
  X(infer_request_infer, int, (ov_request *))                                                    \
  X(infer_request_start_async, int, (ov_request *))                                              \
  X(infer_request_wait, int, (ov_request *))                                                     \
  X(infer_request_free, void, (ov_request *))

#define OV_MEMBER(name, result, arguments) result(*name) arguments;
typedef struct ov_api {
  OV_FUNCTIONS(OV_MEMBER)
} ov_api;
#undef OV_MEMBER

/* The library, opened for a device of it. */
typedef struct ov {
  ov_api api;
  ov_core *core;
  const char *device; /* "CPU" */
  int is_beside;      /* its entries run beside steps of the CPU */
  char stamp[256];
} ov;

/* For call->target. TN_ERR_NOT_FOUND: there is no library, none that is known, or no such
 * device. */
tn_status ov_open(const tn_accelerator_call *call, ov *out);
void ov_close(ov *o);
/* What the library says, where status is none of success. */
tn_status ov_check(const tn_accelerator_call *call, const ov *o, int status, const char *what);
/* Its number for an element type; 0: it has none. */
int ov_type(uint32_t dtype);
/* Are number, types and shapes of its ports those of the entry? */
tn_status ov_check_ports(const tn_accelerator_call *call, const ov *o, const ov_compiled *model,
                         const tn_entry *entry);

/* Is port k the value of that name? */
int ov_is_named(const ov *o, const ov_compiled *model, int is_output, uint32_t k, const char *name);
/* Is an output the same as an input? */
int ov_is_one_value(const ov *o, const ov_compiled *model, uint32_t input, uint32_t output);

#define OV_FORMAT "openvino-blobs"

/* Which nodes OpenVINO gets. */
tn_status ov_partition(const tn_accelerator_call *call, const tn_graph *graph,
                       tn_claim *const *claims, int32_t n_claims);

extern const tn_compiler ov_compiler;
extern const tn_dispatcher ov_dispatcher;

#endif
