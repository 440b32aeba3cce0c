/* What a schema may not ask for, though its text is right: returns that are nothing, and lists of
 * inputs and outputs with a size. */
#include <string.h>

#include "graph/schema_parse.h"

static bool same_alias(const char *a, const char *b) {
  return a && b && strcspn(a, "! ") == strcspn(b, "! ") && strncmp(a, b, strcspn(a, "! ")) == 0;
}

/* The argument that a return is an alias of, or NULL. */
static const tn_arg *aliased(const tn_schema *schema, const tn_arg *ret) {
  for (int32_t k = 0; k < schema->n_args; k++) {
    if (same_alias(schema->args[k].alias, ret->alias)) return &schema->args[k];
  }
  return NULL;
}

static tn_status check_return(const tn_scan *s, const tn_schema *schema, const tn_arg *ret,
                              bool out_variant) {
  const tn_arg *source = aliased(schema, ret);
  if (out_variant && !(source && source->role == TN_ROLE_OUT)) {
    return tn_scan_fail(s, s->at, "return '%s' of an out variant must be one of the out arguments",
                        ret->name);
  }
  for (int32_t k = 0; k < schema->n_args; k++) {
    if (&schema->args[k] != source && strcmp(schema->args[k].name, ret->name) == 0) {
      return tn_scan_fail(s, s->at, "a return and an argument have the name '%s'", ret->name);
    }
  }
  return TN_OK;
}

/* A node's inputs do not say where one list ends and the next begins. */
static tn_status check_sizes(const tn_scan *s, const tn_schema *schema) {
  for (int32_t k = 0; k < schema->n_inputs + schema->n_outputs; k++) {
    const tn_arg *arg = k < schema->n_inputs ? tn_schema_input(schema, k)
                                             : tn_schema_output(schema, k - schema->n_inputs);
    if (arg->list && arg->list_size > 0)
      return tn_scan_fail(
          s, s->at, "'%s' is a list of inputs or outputs, which has no size: Tensor[]", arg->name);
  }
  return TN_OK;
}

tn_status tn_schema_settle(const tn_scan *s, tn_schema *schema) {
  bool out_variant = false;
  tn_schema_lay_out(schema);
  for (int32_t k = 0; k < schema->n_args; k++) out_variant |= schema->args[k].role == TN_ROLE_OUT;
  for (int32_t k = 0; k < schema->n_returns; k++) {
    const tn_status status = check_return(s, schema, &schema->returns[k], out_variant);
    if (status) return status;
  }
  return check_sizes(s, schema);
}
