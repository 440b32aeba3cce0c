/* What the execution provider uses of ONNX Runtime's C API, declared from its published interface.
 * Its tables are rows of function pointers that only grow at their ends: a function is known by its
 * place (slots.h). Structs that the provider fills in begin with the version that their author
 * knew, and the host calls nothing that came later. */
#ifndef ORT_H
#define ORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "slots.h"
#include "tenon/tenon.h"

enum { ORT_VERSION = 23 }; /* of the API: ONNX Runtime 1.23, the first with such libraries */
enum { ORT_FAIL = 1, ORT_TYPE_TENSOR = 1, ORT_STRING = 8, ORT_HARDWARE_CPU = 0 };
enum { ORT_MOST_TYPES = 23 }; /* element types above have other numbers than in ONNX */
/* Kinds of attributes. */
enum {
  ORT_A_INT = 1,
  ORT_A_INTS,
  ORT_A_FLOAT,
  ORT_A_FLOATS,
  ORT_A_STRING,
  ORT_A_STRINGS,
  ORT_A_GRAPH,
  ORT_A_TENSOR
};

typedef struct ort_status ort_status; /* NULL: all is well */
typedef struct ort_graph ort_graph;
typedef struct ort_node ort_node;
typedef struct ort_value ort_value;
typedef struct ort_value_info ort_value_info;
typedef struct ort_type_info ort_type_info;
typedef struct ort_shape_info ort_shape_info;
typedef struct ort_attr ort_attr;
typedef struct ort_context ort_context; /* of a kernel that runs */
typedef struct ort_support ort_support; /* what a provider claims */
typedef struct ort_device ort_device;
typedef struct ort_ep_device ort_ep_device;
typedef struct ort_pairs ort_pairs;
typedef struct ort_options ort_options;
typedef struct ort_logger ort_logger;
typedef struct ort_ep ort_ep;
typedef struct ort_factory ort_factory;
typedef struct ort_compute ort_compute;

typedef void (*ort_function)(void);
typedef const ort_function *ort_table;
typedef struct ort_api_base {
  ort_table (*get_api)(uint32_t version);
  const char *(*version)(void);
} ort_api_base;

/* Calls a function that answers a status and takes these types:
 * ORT_CALL(api, GetValueInfoName, (const ort_value_info *, const char **), info, &name). */
#define ORT_CALL(api, name, types, ...) (((ort_status * (*)types)(api)[ORT_##name])(__VA_ARGS__))

struct ort_factory {
  uint32_t version;
  const char *(*name)(const ort_factory *);
  const char *(*vendor)(const ort_factory *);
  ort_status *(*devices)(ort_factory *, const ort_device *const *, size_t n, ort_ep_device **,
                         size_t most, size_t *out_n);
  ort_status *(*create)(ort_factory *, const ort_device *const *, const ort_pairs *const *, size_t,
                        const ort_options *, const ort_logger *, ort_ep **);
  void (*release)(ort_factory *, ort_ep *);
  uint32_t (*vendor_id)(const ort_factory *);
  const char *(*own_version)(const ort_factory *);
  ort_function validate;
  ort_status *(*create_allocator)(ort_factory *, const void *, const ort_pairs *, void **);
  void (*release_allocator)(ort_factory *, void *);
  ort_status *(*create_transfer)(ort_factory *, void **);
  bool (*has_streams)(const ort_factory *);
  ort_function create_stream;
};

struct ort_ep {
  uint32_t version;
  const char *(*name)(const ort_ep *);
  ort_status *(*capability)(ort_ep *, const ort_graph *, ort_support *);
  ort_status *(*compile)(ort_ep *, const ort_graph **, const ort_node **, size_t, ort_compute **,
                         ort_node **);
  void (*release_computes)(ort_ep *, ort_compute **, size_t);
  ort_function rest[8]; /* layouts, options, events, allocators, streams: the host's own way */
};

struct ort_compute {
  uint32_t version;
  ort_status *(*create)(ort_compute *, void *context, void **out_state);
  ort_status *(*run)(ort_compute *, void *state, ort_context *);
  void (*release)(ort_compute *, void *state);
};

typedef struct ort_fusion {
  uint32_t version;
  bool drop_constants; /* the provider has copies: they are no inputs of the fused node */
} ort_fusion;

/* ---- the provider ---- */

typedef struct provider {
  ort_ep ep;
  ort_table api, ep_api;
  const ort_logger *logger;
  tn_runtime *runtime;
  bool lends_shapes; /* 1.24: shapes of values can be looked at where they lie */
} provider;

/* graph.c: the host's graph as a model; NULL after out_why was written. */
tn_model *provider_model(const provider *p, const ort_graph *graph, char *out_why, size_t size);
/* A status of the host with a text; frees what `status` said. */
ort_status *provider_fail(ort_table api, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* The text of a status, which is released, into buf. False: there was none. */
bool provider_failed(ort_table api, ort_status *status, char *buf, size_t size);
/* The host's table; NULL: *out_failed says why, unless the host is too old even for that. */
ort_table provider_api(const ort_api_base *base, ort_status **out_failed);
/* What the session's option "ep.tenonexecutionprovider.<key>" says; "" if it is not set. False:
 * it is longer than there is room for. */
bool provider_option(ort_table api, const ort_options *options, const char *key, char *text,
                     size_t size);
enum { PROVIDER_PLUGINS_BYTES = 4096 };
/* A runtime with these plug-ins, paths with ':' between. After an error *out may be one, too. */
tn_status provider_runtime(const tn_runtime_options *options, const char *plugins, tn_diag *diag,
                           tn_runtime **out);
/* claim.c */
ort_status *provider_claim(const provider *p, const ort_graph *graph, ort_support *support);
/* compute.c: takes the model. NULL: no memory. */
ort_compute *provider_compute_take(const provider *p, tn_model *model, const ort_node *fused,
                                   char *out_why, size_t size);
void provider_compute_free(ort_compute *compute);

#endif
