/* Tenon as a delegate of LiteRT (TensorFlow Lite): what is used of its C interface, and what the
 * files here share.
 *
 * The structs are declared from the published interface (lite/c/common.h), as far as the last
 * member that is used; only LiteRT makes them, but for the delegate and the registration, which it
 * copies, and behind which there is room for what newer ones have. */
#ifndef LITERT_H
#define LITERT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tenon/tenon.h"

/* ---- LiteRT ---- */

enum { LRT_OK = 0, LRT_ERROR = 1, LRT_DELEGATE_ERROR = 2 };
enum { LRT_CONSTANT = 1, LRT_DYNAMIC = 4 }; /* lrt_tensor.allocation: in the file; made in a run */
enum { LRT_ALLOW_DYNAMIC = 1 };             /* lrt_delegate.flags: shapes may change */
enum { LRT_STRING = 5, LRT_MOST_TYPES = 23, LRT_MOST_ALLOCATIONS = 8 };
enum { LRT_AFFINE = 1 };  /* lrt_tensor.quantization.type: params is an lrt_affine */
enum { LRT_CUSTOM = 32 }; /* lrt_registration.builtin_code */

typedef struct lrt_ints {
  int32_t size, data[];
} lrt_ints;

typedef struct lrt_floats {
  int32_t size;
  float data[];
} lrt_floats;

typedef struct lrt_affine {
  lrt_floats *scale;
  lrt_ints *zero;
  int32_t dim;
} lrt_affine;

typedef struct lrt_tensor {
  int32_t type;
  void *data;
  lrt_ints *dims;
  struct {
    float scale;
    int32_t zero_point;
  } params;
  int32_t allocation;
  size_t bytes;
  const void *allocator;
  const char *name;
  void *delegate;
  int32_t buffer_handle;
  bool is_stale, is_variable;
  struct {
    int32_t type;
    void *params;
  } quantization;
  void *sparsity;
  const lrt_ints *dims_signature; /* -1: of any size */
} lrt_tensor;                     /* they lie next to each other: this is all of it */

typedef struct lrt_node {
  lrt_ints *inputs, *outputs, *intermediates, *temporaries;
  void *user_data;
  void *builtin_data; /* options of a builtin operator: options.c */
  const void *custom_data;
  int32_t custom_size;
  void *delegate;
} lrt_node;

typedef struct lrt_context lrt_context;
typedef struct lrt_delegate lrt_delegate;

typedef struct lrt_registration {
  void *(*init)(lrt_context *ctx, const char *buffer, size_t length);
  void (*free)(lrt_context *ctx, void *kernel);
  int32_t (*prepare)(lrt_context *ctx, lrt_node *node);
  int32_t (*invoke)(lrt_context *ctx, lrt_node *node);
  const char *(*profiling_string)(const lrt_context *ctx, const lrt_node *node);
  int32_t builtin_code;
  const char *custom_name;
  int32_t version;
  void *more[13]; /* zero; it is handed over by value */
} lrt_registration;

typedef struct lrt_part { /* nodes that become one of the delegate's: what init is given */
  lrt_delegate *delegate;
  lrt_ints *nodes, *inputs, *outputs;
} lrt_part;

struct lrt_context {
  size_t n_tensors;
  int32_t (*get_execution_plan)(lrt_context *ctx, lrt_ints **out_nodes);
  lrt_tensor *tensors;
  void *impl;
  int32_t (*resize_tensor)(lrt_context *ctx, lrt_tensor *tensor, lrt_ints *dims); /* takes dims */
  void (*report_error)(lrt_context *ctx, const char *format, ...);
  int32_t (*add_tensors)(lrt_context *ctx, int n, int *out_first);
  int32_t (*get_node)(lrt_context *ctx, int index, lrt_node **out_node, lrt_registration **out_r);
  int32_t (*replace_nodes)(lrt_context *ctx, lrt_registration registration, const lrt_ints *nodes,
                           lrt_delegate *delegate);
  int32_t n_threads;
  void *external[2];
  bool may_narrow;
  void *profiler, *memory[4], *resize_copying;
  int32_t (*preview_parts)(lrt_context *ctx, const lrt_ints *nodes, lrt_part **out_parts,
                           int *out_n); /* NULL: it is not there */
};

struct lrt_delegate {
  void *data;
  int32_t (*prepare)(lrt_context *ctx, lrt_delegate *delegate);
  void *copy_from_handle, *copy_to_handle, *free_handle;
  int64_t flags;
  void *opaque_builder;
  void *more[6]; /* zero */
};

/* ---- the model that LiteRT runs ---- */

/* Where the main graph of a file takes and leaves its values: indices of tensors. */
typedef struct litert_graph {
  const uint8_t *data;
  uint64_t size;
  uint32_t n_inputs, n_outputs, n_tensors, n_nodes, n_graphs;
  const uint8_t *inputs, *outputs; /* int32_t, little-endian */
  uint64_t tensors;                /* where their list begins */
} litert_graph;

/* Finds the file that `inside` lies in, in this process's memory; size: what can be read from its
 * beginning on, more than it has. False: there is none. */
bool litert_find(const void *inside, litert_graph *out);
/* The main graph of a file. False: it is no TFLite file, or is damaged. */
bool litert_read(const uint8_t *data, uint64_t size, litert_graph *out);
/* The name of a tensor of the graph, in the file; NULL: it has none. */
const char *litert_name(const litert_graph *g, uint32_t tensor);

/* ---- claim.c ---- */

/* NULL, or why this host is not the one whose structs are declared: constants have as many bytes as
 * their types and dims say, and so on. */
const char *litert_layout(const lrt_context *ctx);
/* Takes the nodes that Tenon can run, in parts; writes what is taken and what is left. *out_n: how
 * many are taken. Answers a status of LiteRT's. */
int32_t litert_claim(lrt_context *ctx, tn_runtime *runtime, lrt_delegate *delegate, int *out_n,
                     char *text, size_t size);

#endif
