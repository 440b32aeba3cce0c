/* For readers of files that hold parts in another format, as TensorFlow Lite's hold nodes of
 * TensorFlow: tn_host.get_extension(source->ctx, "read_as.v0") answers a tn_read_as while a reader
 * reads a model. EXPERIMENTAL: without the promises of docs/abi.md. */
#ifndef TENON_EXPERIMENTAL_READ_AS_H
#define TENON_EXPERIMENTAL_READ_AS_H

#include "tenon/graph.h"

#define TN_READ_AS "read_as.v0"

typedef struct tn_read_as {
  tn_head head;
  /* Reads these bytes, which may go after the call, as a model of the format of that name: into
   * `graph`, which subgraph_new() of the model's graph has made and nothing stands in yet. Siblings
   * are those of the model, entries there are none. what: the part, in messages. The other reader's
   * messages are the model's; TN_ERR_NOT_FOUND, without a message: nobody reads this format. */
  tn_status (*read)(void *ctx, const char *format, const char *what, const uint8_t *data,
                    uint64_t size, tn_graph *graph);
} tn_read_as;

#endif
