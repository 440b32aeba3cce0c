/* The messages of TensorFlow's files; see schema.c. */
#ifndef TN_FORMATS_TENSORFLOW_SCHEMA_H
#define TN_FORMATS_TENSORFLOW_SCHEMA_H

#include "base/proto_tree.h"

extern const tn_proto_type tensorflow_graph_type, tensorflow_saved_model_type,
    tensorflow_bundle_header_type, tensorflow_bundle_entry_type;

#endif
