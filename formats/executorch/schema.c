/* The names of the tables and fields in schema.h, for messages. */
#include "schema.h"

#include <stddef.h>

#define TYPE(id, title, ...)                                    \
  static const char *const id##_fields[] = {__VA_ARGS__, NULL}; \
  const tn_flat_type pte_##id##_type = {title, id##_fields}

TYPE(program, "Program", "version", "execution_plan", "constant_buffer", "backend_delegate_data",
     "segments", "constant_segment", "mutable_data_segments", "named_data");
TYPE(plan, "ExecutionPlan", "name", "container_meta_type", "values", "inputs", "outputs", "chains",
     "operators", "delegates");
TYPE(value, "EValue", "val_type", "val");
TYPE(item, "a number, text or list", "items");
TYPE(tensor, "Tensor", "scalar_type", "storage_offset", "sizes", "dim_order", "requires_grad",
     "data_buffer_idx", "allocation_info", "layout", "shape_dynamism", "extra_tensor_info");
TYPE(place, "AllocationDetails", "memory_id", "memory_offset_low", "memory_offset_high");
TYPE(extra, "ExtraTensorInfo", "mutable_data_segments_idx", "fully_qualified_name", "location");
TYPE(chain, "Chain", "inputs", "outputs", "instructions");
TYPE(instruction, "Instruction", "instr_args_type", "instr_args");
TYPE(call, "an instruction's arguments", "index", "args");
TYPE(operator, "Operator", "name", "overload");
TYPE(segment, "DataSegment", "offset", "size");
TYPE(offsets, "SubsegmentOffsets", "segment_index", "offsets");
TYPE(delegate, "BackendDelegate", "id", "processed", "compile_specs");
TYPE(reference, "BackendDelegateDataReference", "location", "index");
TYPE(named, "NamedData", "key", "segment_index");
