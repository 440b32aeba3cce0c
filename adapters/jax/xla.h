/* What the adapter uses of XLA's foreign function interface, declared from its published
 * description: version 0.x, whose structs begin with their size and grow at their ends. */
#ifndef XLA_H
#define XLA_H

#include <stddef.h>
#include <stdint.h>

enum { XLA_MAJOR = 0, XLA_MINOR = 1, XLA_EXTENSION_METADATA = 1, XLA_EXECUTE = 3 };
enum { XLA_BUFFER = 1, XLA_STRING = 4, XLA_INVALID_ARGUMENT = 3 };

typedef struct xla_extension {
  size_t size;
  int type;
  struct xla_extension *next;
} xla_extension;

typedef struct xla_version {
  size_t size;
  xla_extension *extensions;
  int major, minor;
} xla_version;

typedef struct xla_metadata {
  size_t size;
  xla_version version; /* that the handler was made for: it says so */
  uint32_t traits;
} xla_metadata;

typedef struct xla_metadata_extension {
  xla_extension base;
  xla_metadata *metadata;
} xla_metadata_extension;

typedef struct xla_error xla_error;

typedef struct xla_error_args {
  size_t size;
  xla_extension *extensions;
  const char *message;
  int code;
} xla_error_args;

typedef struct xla_api {
  size_t size;
  xla_extension *extensions;
  xla_version version;
  const void *internal;
  xla_error *(*error_create)(xla_error_args *args);
} xla_api;

typedef struct xla_buffer {
  size_t size;
  xla_extension *extensions;
  int dtype;
  void *data;
  int64_t rank;
  int64_t *dims;
} xla_buffer;

/* Arguments or results. */
typedef struct xla_values {
  size_t size;
  xla_extension *extensions;
  int64_t n;
  int *types;
  void **values;
} xla_values;

typedef struct xla_span {
  const char *data;
  size_t n;
} xla_span;

typedef struct xla_attrs {
  size_t size;
  xla_extension *extensions;
  int64_t n;
  int *types;
  xla_span **names;
  void **values;
} xla_attrs;

typedef struct xla_frame {
  size_t size;
  xla_extension *extensions;
  const xla_api *api;
  void *context;
  int stage;
  xla_values args, results;
  xla_attrs attrs;
} xla_frame;

#endif
