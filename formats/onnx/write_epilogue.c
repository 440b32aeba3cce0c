/* Steps fused onto a node, written as the element-wise nodes they stand for, so that the file means
 * what the plan does. Their meta data say what they are fused into. */
#include "writer.h"

typedef struct step_form {
  const char *op, *a, *b; /* names of the attributes that a and b are; NULL: none */
  int32_t since;          /* the first operator set in which the node has this form */
} step_form;

static const step_form forms[TN_EPILOGUE_COUNT] = {
    [TN_EPILOGUE_RELU] = {"Relu", NULL, NULL, 1},
    [TN_EPILOGUE_CLIP] = {"Clip", NULL, NULL, 11}, /* bounds are inputs */
    [TN_EPILOGUE_LEAKY_RELU] = {"LeakyRelu", "alpha", NULL, 1},
    [TN_EPILOGUE_SIGMOID] = {"Sigmoid", NULL, NULL, 1},
    [TN_EPILOGUE_TANH] = {"Tanh", NULL, NULL, 1},
    [TN_EPILOGUE_HARD_SIGMOID] = {"HardSigmoid", "alpha", "beta", 1},
    [TN_EPILOGUE_HARD_SWISH] = {"HardSwish", NULL, NULL, 14},
    [TN_EPILOGUE_SILU] = {"Swish", NULL, NULL, 24},
    [TN_EPILOGUE_GELU] = {"Gelu", NULL, NULL, 20},
    [TN_EPILOGUE_GELU_TANH] = {"Gelu", NULL, NULL, 20},
    [TN_EPILOGUE_ADD] = {"Add", NULL, NULL, 7},
    [TN_EPILOGUE_MUL] = {"Mul", NULL, NULL, 7},
};

int32_t onnx_epilogue_since(const tn_epilogue *e) {
  return e->kind < TN_EPILOGUE_COUNT ? forms[e->kind].since : 0;
}

/* One number of the output's type, as a constant; its name. */
static const char *put_bound(onnx_writer *w, uint32_t number, uint32_t dtype, double value) {
  const int64_t bits = tn_dtype(dtype)->bits;
  void *data = tn_arena_alloc(&w->arena, (uint64_t)(bits + 7) / 8);
  const char *name = onnx_new_name(w, "bound");
  if (!data) (void)onnx_put_fail(&w->out, TN_ERR_MEMORY, "out of memory");
  if (w->out.status) return name;
  tn_store_f64(dtype, data, 0, value);
  const tn_tensor t = tn_tensor_make(dtype, 0, NULL, data);
  onnx_put_constant(w, number, name, &t);
  return name;
}

static void put_number(onnx_writer *w, const char *name, double value) {
  const tn_attr attr = {.head = TN_HEAD(tn_attr), .name = name, .kind = TN_ATTR_FLOAT, .f = value};
  if (name) onnx_put_attr(w, 5, NULL, &attr, NULL);
}

typedef struct step {
  const tn_epilogue *e;
  const char *from, *to, *operand, *low, *high;
} step;

static void put_step(onnx_writer *w, uint32_t number, const tn_node *n, uint32_t index,
                     const step *st) {
  const step_form *form = &forms[st->e->kind];
  const char *name = tn_arena_format(&w->arena, "%s/epilogue_%u", n->name, index);
  if (!name) (void)onnx_put_fail(&w->out, TN_ERR_MEMORY, "out of memory");
  const onnx_mark node = onnx_put_begin(&w->out, number);
  onnx_put_str(&w->out, 1, st->from);
  if (st->operand) onnx_put_str(&w->out, 1, st->operand);
  if (st->low) onnx_put_str(&w->out, 1, st->low);
  if (st->high) onnx_put_str(&w->out, 1, st->high);
  onnx_put_str(&w->out, 2, st->to);
  onnx_put_str(&w->out, 3, name ? name : "");
  onnx_put_str(&w->out, 4, form->op);
  put_number(w, form->a, st->e->a);
  put_number(w, form->b, st->e->b);
  if (st->e->kind == TN_EPILOGUE_GELU_TANH) onnx_put_str_attr(w, "approximate", "tanh");
  onnx_put_entry(&w->out, 9, "tenon.fused_into", n->name);
  onnx_put_end(&w->out, node);
}

void onnx_put_epilogue(onnx_writer *w, uint32_t number, onnx_scope *s, int32_t node,
                       const char *first) {
  const tn_node *n = w->api->node(s->g, node);
  const uint32_t dtype = w->api->value_type(s->g, n->outputs[0])->dtype;
  uint32_t count;
  const tn_epilogue *const *steps = w->api->node_epilogue(s->g, node, &count);
  for (uint32_t k = 0; k < count && !w->out.status; k++) {
    step st = {.e = steps[k], .from = first};
    st.to = k + 1 == count ? onnx_name(w, s, n->outputs[0]) : onnx_new_name(w, first);
    bool known = st.e->kind < TN_EPILOGUE_COUNT && forms[st.e->kind].op;
    if (!known || st.e->input >= (int32_t)n->n_inputs) {
      (void)onnx_put_fail(&w->out, TN_ERR_INTERNAL, "node '%.80s' has an unknown epilogue step",
                          n->name);
      return;
    }
    if (st.e->input >= 0) st.operand = onnx_name(w, s, n->inputs[st.e->input]);
    if (st.e->kind == TN_EPILOGUE_CLIP) {
      st.low = put_bound(w, number, dtype, st.e->a);
      st.high = put_bound(w, number, dtype, st.e->b);
    }
    put_step(w, number, n, k, &st);
    first = st.to;
  }
}
