/* The names of the tables and fields in schema.h, for messages. */
#include "schema.h"

#include <stddef.h>

#define TYPE(id, title, ...)                                    \
  static const char *const id##_fields[] = {__VA_ARGS__, NULL}; \
  const tn_flat_type mnn_##id##_type = {title, id##_fields}

TYPE(net, "Net", "bizCode", "extraTensorDescribe", "extraInfo", "oplists", "outputName",
     "preferForwardType", "sourceType", "tensorName", "tensorNumber", "usage", "subgraphs");
TYPE(op, "Op", "inputIndexes", "main_type", "main", "name", "outputIndexes", "type",
     "defaultDimentionFormat", "externalPath");
TYPE(blob, "Blob", "dims", "dataFormat", "dataType", "uint8s", "int8s", "int32s", "int64s",
     "float32s", "strings", "external");

static const char *const no_fields[] = {NULL};
const tn_flat_type mnn_param_type = {"the operator's parameters", no_fields};
