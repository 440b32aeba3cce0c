/* Rewrite: rows of a table of f16 or bf16 that is cast to f32 are gathered first, and then cast:
 * the table, of an embedding say, stays as it is. */
#include "gather.gen.h"
#include "tenon/kit/lower.h"
#include "tenon/kit/pattern.h"

tn_status gather_before_cast(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_pattern p = {call->host->graph, graph};
  const tn_node *n = tn_pattern_root(&p, node);
  const int32_t table = n ? tn_pattern_widened(&p, n->inputs[0]) : -1;
  if (table < 0) return TN_OK;
  const int32_t inputs[] = {table, n->inputs[1]};
  int32_t rows;
  const tn_status s = tn_emit_like(call, graph, node, inputs, 2, NULL, 0, &rows);
  const tn_attr to = tn_attr_int("to", TN_F32);
  return s ? s : tn_lower_to_own(call, graph, node, "Cast", &rows, 1, &to, 1);
}
