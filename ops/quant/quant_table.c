/* tenon::QuantTable: inference, reference, plan and the portable kernel; and the rewrite that makes
 * it of functions of one quantised value that are quantised again: their 256 answers are worked out
 * when the model is loaded, by the kernels that would have computed them. */
#include "quant.gen.h"
#include "tenon/kit/elementwise.h"
#include "tenon/kit/infer.h"
#include "tenon/kit/lower.h"
#include "tenon/kit/qdq.h"

enum { ENTRIES = 256 };

tn_status quant_table_infer(const tn_call *call) {
  const tn_tensor *x = call->inputs[0], *table = call->inputs[1];
  if (table->rank != 1 || table->shape[0] != ENTRIES)
    return call->host->fail(call->ctx, TN_ERR_SHAPE, "the table has not 256 elements in a row");
  tn_infer_shape(call, 0, table->dtype, x->rank, x->shape);
  return TN_OK;
}

tn_status quant_table_reference(const tn_call *call) {
  const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
  for (int64_t k = 0; k < tn_elements(y); k++) {
    const int64_t code = tn_load_i64(x->dtype, x->data, k) & 0xff;
    tn_store_f64(y->dtype, y->data, k, tn_load_f64(y->dtype, call->inputs[1]->data, code));
  }
  return TN_OK;
}

tn_status quant_table_plan(const tn_call *call, tn_kernel_plan *out) {
  const bool is_fast = call->isa & (TN_ISA_AVX512 | TN_ISA_AVX2 | TN_ISA_NEON);
  return tn_plan_elementwise(call, out, is_fast ? 0.2 : 0.6);
}

tn_status quant_table_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                        uint32_t worker) {
  (void)stage, (void)worker;
  const uint8_t *x = call->inputs[0]->data, *table = call->inputs[1]->data;
  uint8_t *y = call->outputs[0]->data;
  for (int64_t k = begin; k < end; k++) y[k] = table[x[k]];
  tn_pads_zero(call->outputs[0], begin, end);
  return TN_OK;
}

/* ---- the rewrite ---- */

/* A function of the bytes of one value. */
typedef struct function {
  const tn_call *call;
  tn_pattern p;
  int32_t source; /* -1: not found yet */
} function;

static bool is_unary(const char *op) {
  static const char *const names[] = {
      "Abs",       "Acos",      "Acosh",    "Add",      "Asin",
      "Asinh",     "Atan",      "Atanh",    "Ceil",     "Celu",
      "Clip",      "Cos",       "Cosh",     "Div",      "Elu",
      "Erf",       "Exp",       "Floor",    "Gelu",     "HardSigmoid",
      "HardSwish", "LeakyRelu", "Log",      "Max",      "Min",
      "Mish",      "Mul",       "Neg",      "Pow",      "Reciprocal",
      "Relu",      "Round",     "Selu",     "Sigmoid",  "Sign",
      "Sin",       "Sinh",      "Softplus", "Softsign", "Sqrt",
      "Sub",       "Swish",     "Tan",      "Tanh",     "ThresholdedRelu"};
  for (size_t k = 0; k < sizeof names / sizeof *names; k++)
    if (!strcmp(op, names[k])) return true;
  return false;
}

/* The constant table of the QuantTable that makes the value; NULL: none does. */
static const tn_tensor *table_of(const tn_pattern *p, int32_t value, int32_t *out_x) {
  const int32_t id = p->api->value_producer(p->graph, value);
  const tn_node *n = tn_pattern_root(p, id);
  if (!n || strcmp(n->domain, "tenon") || strcmp(n->op, "QuantTable")) return NULL;
  const tn_tensor *t = tn_pattern_type(p, n->inputs[1]);
  *out_x = n->inputs[0];
  return t && t->data ? t : NULL;
}

static bool is_one_number(const tn_pattern *p, int32_t value) {
  const tn_tensor *t = tn_pattern_type(p, value);
  return t && t->data && t->rank <= 1 && tn_elements(t) == 1;
}

/* Is the f32 value a function of the bytes of f->source, and of nothing else? */
static bool is_function(function *f, int32_t value, int depth) {
  const tn_pattern *p = &f->p;
  tn_qdq q;
  int32_t from, x;
  if (tn_qdq_dequantized(p, value, &from, &q)) {
    if (p->api->value_flags(p->graph, from) & TN_VALUE_CONST) return false;
    if (table_of(p, from, &x)) from = x;
    if (f->source < 0) f->source = from;
    return f->source == from;
  }
  const tn_node *n = tn_pattern_root(p, p->api->value_producer(p->graph, value));
  const tn_tensor *y = p->api->value_type(p->graph, value);
  if (!n || *n->domain || !is_unary(n->op) || n->n_outputs != 1 || y->dtype != TN_F32 || !depth)
    return false;
  bool found = false;
  for (uint32_t k = 0; k < n->n_inputs; k++) {
    if (n->inputs[k] < 0 || is_one_number(p, n->inputs[k])) continue;
    n = p->api->node(p->graph, p->api->value_producer(p->graph, value));
    if (!is_function(f, n->inputs[k], depth - 1)) return false;
    found = true;
  }
  return found;
}

/* What the value is for each of the bytes 0 .. 255 of the source. Answers the new value or a
 * status. */
static int32_t answers_of(const function *f, int32_t value) {
  const tn_pattern *p = &f->p;
  const tn_graph_api *api = p->api;
  tn_qdq q;
  int32_t from, x;
  if (tn_qdq_dequantized(p, value, &from, &q)) {
    const tn_tensor *table = table_of(p, from, &x);
    double data[ENTRIES];
    for (int32_t k = 0; k < ENTRIES; k++) {
      const int32_t code = table ? ((const uint8_t *)table->data)[k] : k;
      data[k] = (double)tn_qdq_dequantize(&q, q.dtype == TN_I8 ? (int8_t)code : code);
    }
    return tn_emit_floats(f->call, p->graph, data, ENTRIES);
  }
  const int32_t node = api->value_producer(p->graph, value);
  int32_t inputs[4];
  const uint32_t n_inputs = api->node(p->graph, node)->n_inputs;
  if (n_inputs > 4) return TN_ERR_INTERNAL;
  for (uint32_t k = 0; k < n_inputs; k++) {
    inputs[k] = api->node(p->graph, node)->inputs[k];
    if (inputs[k] < 0 || is_one_number(p, inputs[k])) continue;
    inputs[k] = answers_of(f, inputs[k]);
    if (inputs[k] < 0) return inputs[k];
  }
  const int32_t out = api->value(p->graph, NULL);
  if (out < 0) return out;
  tn_node made = *api->node(p->graph, node);
  made.inputs = inputs;
  made.outputs = &out;
  const int32_t id = api->add_node(p->graph, &made);
  return id < 0 ? id : out;
}

static tn_status become_table(function *f, int32_t node) {
  const tn_graph_api *api = f->p.api;
  tn_graph *graph = f->p.graph;
  const int32_t answers = answers_of(f, api->node(graph, node)->inputs[0]);
  if (answers < 0) return answers;
  const int32_t table = api->value(graph, NULL);
  if (table < 0) return table;
  tn_node quantize = *api->node(graph, node);
  const int32_t of_answers[3] = {answers, quantize.inputs[1], tn_pattern_input(&quantize, 2)};
  quantize.inputs = of_answers;
  quantize.outputs = &table;
  const int32_t id = api->add_node(graph, &quantize);
  const int32_t inputs[2] = {f->source, table};
  return id < 0 ? id : tn_lower_to_own(f->call, graph, node, "QuantTable", inputs, 2, NULL, 0);
}

tn_status quant_table_from_quantize(const tn_call *call, tn_graph *graph, int32_t node) {
  enum { DEPTH = 6 };
  function f = {call, {call->host->graph, graph}, -1};
  tn_qdq y, q;
  int32_t x, from;
  if (!tn_qdq_quantizes(&f.p, node, &x, &y) || !tn_pattern_is_read(&f.p, x, 1)) return TN_OK;
  if (tn_qdq_dequantized(&f.p, x, &from, &q) && tn_qdq_same(&q, &y)) return TN_OK; /* nothing */
  return is_function(&f, x, DEPTH) ? become_table(&f, node) : TN_OK;
}
