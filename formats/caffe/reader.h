/* Reading a Caffe network into a graph: what the files of this folder offer each other. */
#ifndef TN_FORMATS_CAFFE_READER_H
#define TN_FORMATS_CAFFE_READER_H

#include "base/proto_tree.h"

/* schema.c */
extern const tn_proto_type caffe_net_type, caffe_filler_type;

/* The row of a layer's type; NULL: there is none. */
const tn_format_op *caffe_row(tn_str type);

tn_status caffe_read(const tn_source *source, tn_graph *g);

/* A network that is read. */
typedef struct caffe_reader {
  const tn_source *source;
  const tn_graph_api *api;
  tn_allocator allocator;
  tn_arena arena;
  tn_graph *g;
  tn_proto_file net_file, weights_file;
  tn_proto_message net, weights;
  bool has_weights; /* a file of them, beside the net's */
  const char *weights_path;
  int64_t n_random; /* layers whose weights are to be made up */
  tn_map layers;    /* of the file with weights, by name: numbers of blob_lists */
  const tn_proto_message **blob_lists;
  tn_map blobs;   /* by name: their values now */
  tn_map writers; /* by name: how many layers are still to write them */
  tn_map read;    /* those that a layer has read since they were written */
  tn_map gone;    /* those that only left-out layers give */
} caffe_reader;

/* A layer, of whichever version, as LayerParameter has it. */
typedef struct caffe_layer {
  const tn_proto_message *m;
  tn_str type;
  const char *name;
  const tn_format_op *row;
} caffe_layer;

/* upgrade.c: adds to a network of the oldest layers (V0) what they are now. */
tn_status caffe_upgrade(caffe_reader *r, const tn_proto_file *f, tn_proto_message *net);
/* node.c: a layer as a node of ai.onnx or of the domain caffe. */
tn_status caffe_node(caffe_reader *r, const caffe_layer *l);
/* The value of a blob as it is now; status TN_ERR_INVALID: nothing gives it. */
tn_status caffe_blob_get(caffe_reader *r, const caffe_layer *l, tn_str name, int32_t *out);
/* A new value for a blob. */
tn_status caffe_blob_set(caffe_reader *r, uint64_t at, tn_str name, const char *layer,
                         int32_t *out);
/* "layer 'conv1' (Convolution): ...". */
tn_status caffe_layer_fail(const caffe_reader *r, const caffe_layer *l, tn_status code,
                           const char *what, tn_str name);

#endif
