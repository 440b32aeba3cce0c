/* The names of the tables and fields in schema.h, for messages. */
#include "schema.h"

#include <stddef.h>

#define TYPE(id, title, ...)                                    \
  static const char *const id##_fields[] = {__VA_ARGS__, NULL}; \
  const tn_flat_type tflite_##id##_type = {title, id##_fields}

TYPE(model, "Model", "version", "operator_codes", "subgraphs", "description", "buffers",
     "metadata_buffer", "metadata", "signature_defs");
TYPE(code, "OperatorCode", "deprecated_builtin_code", "custom_code", "version", "builtin_code");
TYPE(subgraph, "SubGraph", "tensors", "inputs", "outputs", "operators", "name");
TYPE(tensor, "Tensor", "shape", "type", "buffer", "name", "quantization", "is_variable", "sparsity",
     "shape_signature", "has_rank", "variant_tensors", "external_buffer");
TYPE(buffer, "Buffer", "data", "offset", "size");
TYPE(quantization, "QuantizationParameters", "min", "max", "scale", "zero_point", "details_type",
     "details", "quantized_dimension");
TYPE(blockwise, "BlockwiseQuantization", "scales", "zero_points", "block_size", "block_shape");
TYPE(operator, "Operator", "opcode_index", "inputs", "outputs", "builtin_options_type",
     "builtin_options", "custom_options", "custom_options_format", "mutating_variable_inputs",
     "intermediates", "large_custom_options_offset", "large_custom_options_size",
     "builtin_options_2_type", "builtin_options_2");
TYPE(metadata, "Metadata", "name", "buffer");
TYPE(signature, "SignatureDef", "inputs", "outputs", "signature_key", "deprecated_tag",
     "subgraph_index");
TYPE(tensor_map, "TensorMap", "name", "tensor_index");

static const char *const no_fields[] = {NULL};
const tn_flat_type tflite_options_type = {"the operator's options", no_fields};
