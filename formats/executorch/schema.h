/* The tables of an ExecuTorch program that the reader looks at: their fields, counted as in
 * program.fbs. The members of a union are two fields: its kind, then its table. */
#ifndef TN_FORMATS_EXECUTORCH_SCHEMA_H
#define TN_FORMATS_EXECUTORCH_SCHEMA_H

#include "base/flat.h"

enum {
  PROGRAM_VERSION,
  PROGRAM_PLANS,
  PROGRAM_CONSTANTS,
  PROGRAM_DELEGATE_DATA,
  PROGRAM_SEGMENTS,
  PROGRAM_CONSTANT_SEGMENT,
  PROGRAM_MUTABLE_SEGMENTS,
  PROGRAM_NAMED_DATA
};
enum {
  PLAN_NAME,
  PLAN_CONTAINERS,
  PLAN_VALUES,
  PLAN_INPUTS,
  PLAN_OUTPUTS,
  PLAN_CHAINS,
  PLAN_OPERATORS,
  PLAN_DELEGATES
};
enum {
  TENSOR_TYPE,
  TENSOR_OFFSET,
  TENSOR_SIZES,
  TENSOR_ORDER,
  TENSOR_GRAD,
  TENSOR_BUFFER,
  TENSOR_ALLOCATION,
  TENSOR_LAYOUT,
  TENSOR_DYNAMISM,
  TENSOR_EXTRA
};
enum { EXTRA_SEGMENT, EXTRA_NAME, EXTRA_LOCATION };
enum { PLACE_MEMORY, PLACE_LOW, PLACE_HIGH };
enum { CHAIN_INPUTS, CHAIN_OUTPUTS, CHAIN_INSTRUCTIONS };
enum { OPERATOR_NAME, OPERATOR_OVERLOAD };
enum { UNION_KIND, UNION_TABLE }; /* of values and instructions */
enum { CALL_INDEX, CALL_ARGS };   /* of a kernel, of a delegate */
enum { MOVE_FROM, MOVE_TO };
enum { JUMP_CONDITION, JUMP_TO };
enum { SEGMENT_OFFSET, SEGMENT_SIZE };
enum { OFFSETS_SEGMENT, OFFSETS_LIST };
enum { DELEGATE_ID, DELEGATE_DATA, DELEGATE_SPECS };
enum { REFERENCE_LOCATION, REFERENCE_INDEX };
enum { NAMED_KEY, NAMED_SEGMENT };
enum { ITEM }; /* the only field of numbers, texts, lists and buffers */

extern const tn_flat_type pte_program_type, pte_plan_type, pte_value_type, pte_item_type,
    pte_tensor_type, pte_place_type, pte_extra_type, pte_chain_type, pte_instruction_type,
    pte_call_type, pte_operator_type, pte_segment_type, pte_offsets_type, pte_delegate_type,
    pte_reference_type, pte_named_type;

#endif
