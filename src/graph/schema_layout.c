/* Roles of arguments, and the attribute struct that follows from a schema (see "Attributes" in
 * tenon/plugin.h).
 *
 * Members are laid out as the C compiler of this machine does it: plug-ins write the same struct by
 * hand. */
#include "graph/schema_parse.h"
#include "tenon/graph.h"

typedef struct member {
  uint64_t size, align;
} member;

#define MEMBER(type) ((member){sizeof(type), _Alignof(type)})

static member list_member(tn_base_type base) {
  switch (base) {
    case TN_TYPE_TENSOR: return MEMBER(tn_tensors);
    case TN_TYPE_FLOAT:
    case TN_TYPE_SCALAR: return MEMBER(tn_floats);
    case TN_TYPE_STR:
    case TN_TYPE_DIMNAME: return MEMBER(tn_strs);
    default: return MEMBER(tn_ints);
  }
}

static member scalar_member(tn_base_type base) {
  switch (base) {
    case TN_TYPE_TENSOR: return MEMBER(const tn_tensor *);
    case TN_TYPE_FLOAT:
    case TN_TYPE_SCALAR: return MEMBER(double);
    case TN_TYPE_STR:
    case TN_TYPE_DIMNAME: return MEMBER(tn_str);
    default: return MEMBER(int64_t);
  }
}

static int64_t place(member m, uint64_t *size, uint64_t *align) {
  const uint64_t offset = tn_round_up(*size, m.align);
  *size = offset + m.size;
  if (m.align > *align) *align = m.align;
  return (int64_t)offset;
}

static void place_attrs(tn_schema *schema) {
  uint64_t size = 0, align = 1;
  for (int32_t k = 0; k < schema->n_args; k++) {
    tn_arg *a = &schema->args[k];
    if (a->role != TN_ROLE_ATTR) continue;
    if (a->optional) a->present_offset = place(MEMBER(int64_t), &size, &align);
    a->offset = place(a->list ? list_member(a->base) : scalar_member(a->base), &size, &align);
  }
  schema->attrs_size = (int64_t)tn_round_up(size, align);
  schema->open_offset = -1;
}

void tn_schema_open(tn_schema *schema) {
  uint64_t size = (uint64_t)schema->attrs_size, align = 1;
  schema->open_offset = place(MEMBER(tn_attrs), &size, &align);
  schema->attrs_size = (int64_t)size;
}

static tn_role role_of(const tn_arg *a) {
  if (a->base != TN_TYPE_TENSOR) return TN_ROLE_ATTR;
  if (!a->keyword_only) return TN_ROLE_INPUT;
  return a->written ? TN_ROLE_OUT : TN_ROLE_ATTR;
}

void tn_schema_lay_out(tn_schema *schema) {
  int32_t n_out = 0;
  for (int32_t k = 0; k < schema->n_args; k++) {
    tn_arg *a = &schema->args[k];
    a->role = role_of(a);
    schema->n_inputs += a->role == TN_ROLE_INPUT;
    n_out += a->role == TN_ROLE_OUT;
  }
  schema->n_outputs = n_out ? n_out : schema->n_returns;
  for (int32_t k = 0; k < schema->n_inputs; k++)
    schema->input_lists |= tn_schema_input(schema, k)->list;
  for (int32_t k = 0; k < schema->n_outputs; k++)
    schema->output_lists |= tn_schema_output(schema, k)->list;
  place_attrs(schema);
}
