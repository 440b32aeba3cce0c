/* Which type rule an argument of a node has, and whether it would be wider if the node were
 * computed in a wider type. */
#include "plan/passes/passes.h"

static bool is_half(uint32_t dtype) { return dtype == TN_F16 || dtype == TN_BF16; }

int32_t tn_arg_rule(const tn_gnode *n, uint32_t k, bool output) {
  const tn_opdef *def = n->def;
  const tn_schema *schema = &def->schema;
  const int32_t n_formal = tn_node_n_given(n, def);
  if (!output && (int32_t)k >= n_formal) return -1;
  const tn_arg *arg = output ? tn_schema_output_of(schema, (int32_t)k, (int32_t)n->node.n_outputs)
                             : tn_schema_input_of(schema, (int32_t)k, n_formal);
  const int32_t n_args = output ? schema->n_outputs : schema->n_inputs;
  for (int32_t e = 0; arg && def->arg_rule && e < n_args; e++)
    if ((output ? tn_schema_output(schema, e) : tn_schema_input(schema, e)) == arg)
      return def->arg_rule[output ? schema->n_inputs + e : e];
  return -1;
}

bool tn_arg_promotes(const tn_graph *g, const tn_gnode *n, uint32_t k, bool output, uint32_t wide) {
  const int32_t rule = tn_arg_rule(n, k, output);
  if (rule < 0 || !(n->def->op.types[rule]->dtypes & TN_MASK(wide))) return false;
  for (uint32_t j = 0; j < n->node.n_inputs; j++)
    if (n->node.inputs[j] >= 0 && is_half(tn_graph_val(g, n->node.inputs[j])->type->dtype) &&
        tn_arg_rule(n, j, false) == rule)
      return true;
  return false;
}
