/* Recurrent layers of codes that are made as they run. A step is told in the language of programs,
 * and read like one: what PyTorch's own kernel does of them, in the same order. */
#include "reader.h"

enum { MAX_LAYERS = 64 };

static const char program[] =
    "def lstm(x: Tensor, h: Tensor, c: Tensor, w_x: Any, w_h: Any, reduced: bool, turned: bool):\n"
    "  given = ops.quantized.linear_dynamic(x, w_x, reduced)\n"
    "  if turned:\n"
    "    given0 = torch.flip(given, [0])\n"
    "  else:\n"
    "    given0 = given\n"
    "  steps = annotate(List[Tensor], [])\n"
    "  h0 = h\n"
    "  c0 = c\n"
    "  for t in range(torch.size(given0, 0)):\n"
    "    more = ops.quantized.linear_dynamic(h0, w_h, reduced)\n"
    "    gates = torch.add(torch.select(given0, 0, t), more)\n"
    "    i, f, g, o, = torch.chunk(gates, 4, 1)\n"
    "    kept = torch.mul(torch.sigmoid(f), c0)\n"
    "    c1 = torch.add(kept, torch.mul(torch.sigmoid(i), torch.tanh(g)))\n"
    "    h1 = torch.mul(torch.sigmoid(o), torch.tanh(c1))\n"
    "    _0 = torch.append(steps, h1)\n"
    "    h0 = h1\n"
    "    c0 = c1\n"
    "  y = torch.stack(steps)\n"
    "  if turned:\n"
    "    y0 = torch.flip(y, [0])\n"
    "  else:\n"
    "    y0 = y\n"
    "  return (y0, h0, c0)\n"
    "def gru(x: Tensor, h: Tensor, c: Tensor, w_x: Any, w_h: Any, reduced: bool, turned: bool):\n"
    "  given = ops.quantized.linear_dynamic(x, w_x, reduced)\n"
    "  if turned:\n"
    "    given0 = torch.flip(given, [0])\n"
    "  else:\n"
    "    given0 = given\n"
    "  steps = annotate(List[Tensor], [])\n"
    "  h0 = h\n"
    "  for t in range(torch.size(given0, 0)):\n"
    "    r, z, n, = torch.chunk(torch.select(given0, 0, t), 3, 1)\n"
    "    more = ops.quantized.linear_dynamic(h0, w_h, reduced)\n"
    "    r0, z0, n0, = torch.chunk(more, 3, 1)\n"
    "    reset = torch.sigmoid(torch.add(r0, r))\n"
    "    new = torch.tanh(torch.add(n, torch.mul(n0, reset)))\n"
    "    kept = torch.mul(torch.sub(h0, new), torch.sigmoid(torch.add(z0, z)))\n"
    "    h1 = torch.add(kept, new)\n"
    "    _0 = torch.append(steps, h1)\n"
    "    h0 = h1\n"
    "  y = torch.stack(steps)\n"
    "  if turned:\n"
    "    y0 = torch.flip(y, [0])\n"
    "  else:\n"
    "    y0 = y\n"
    "  return (y0, h0, h0)\n";

typedef struct layers {
  const ts_source *source;
  const ts_node *cell;
  ts_value *h, *c, *params; /* c: of an LSTM, else NULL; params: the items of a list */
  int32_t n_directions;
} layers;

static ts_value *call_3(ts_reader *r, const char *name, ts_value *a, ts_value *b, ts_value *c) {
  const ts_args args = {.v = {a, b, c}, .n = 3};
  return a && b && c ? ts_call_builtin(r, name, &args) : NULL;
}

/* What the archive holds of a layer: how it was made, biases, -, [whether the range is that of 7
 * bits], two packed parameters. */
static bool read_params(ts_reader *r, const ts_value *params, ts_args *out) {
  const ts_cell *state = params->kind == TS_V_OBJECT ? ts_attr(params, "__state__") : NULL;
  const ts_value *all = state && state->v->kind == TS_V_TUPLE ? state->v : NULL;
  const bool is_dynamic = all && all->n == 5 && all->items[0]->kind == TS_V_STR &&
                          !strcmp(all->items[0]->text, "quantized_dynamic") &&
                          all->items[3]->kind == TS_V_LIST && all->items[4]->kind == TS_V_LIST;
  if (!is_dynamic)
    return ts_null(r, "not supported: recurrent layers other than with dynamic codes of 8 bits");
  const ts_value *reduced = ts_known_items(r, all->items[3]),
                 *packed = reduced ? ts_known_items(r, all->items[4]) : NULL;
  if (!packed || reduced->n != 1 || packed->n != 2 || !ts_is_number(reduced->items[0]))
    return r->status ? false : ts_null(r, "the parameters of a recurrent layer are damaged");
  out->v[3] = packed->items[0];
  out->v[4] = packed->items[1];
  out->v[5] = ts_bool(r, reduced->items[0]->i != 0);
  return out->v[5] != NULL;
}

/* One direction of a layer: y, the last h, the last c. */
static const ts_value *run(ts_reader *r, const layers *l, ts_value *x, int32_t k) {
  ts_args args = {.v = {x}, .n = 7};
  ts_value *at = ts_int(r, k), *zero = ts_int(r, 0);
  args.v[1] = call_3(r, "aten::select", l->h, zero, at);
  args.v[2] = l->c ? call_3(r, "aten::select", l->c, zero, at) : args.v[1];
  args.v[6] = ts_bool(r, k % l->n_directions == 1);
  if (!args.v[1] || !args.v[2] || !args.v[6] || !read_params(r, l->params->items[k], &args))
    return NULL;
  const ts_value *made = ts_call_def(r, l->cell, l->source, &args);
  return made && made->kind == TS_V_TUPLE && made->n == 3 ? made : NULL;
}

static ts_value *run_all(ts_reader *r, const layers *l, ts_value *x, ts_value **h, ts_value **c) {
  for (int32_t k = 0; k < l->params->n && x; k += l->n_directions) {
    ts_value *y[2];
    for (int32_t i = 0; i < l->n_directions; i++) {
      const ts_value *made = run(r, l, x, k + i);
      if (!made) return NULL;
      y[i] = made->items[0];
      h[k + i] = made->items[1];
      c[k + i] = made->items[2];
    }
    x = l->n_directions == 1 ? y[0] : ts_call_2(r, "aten::cat", ts_list(r, y, 2), ts_int(r, 2));
  }
  return x;
}

static ts_value *stacked(ts_reader *r, ts_value *const *items, int32_t n) {
  ts_value *list = ts_list(r, items, n);
  return list ? ts_call_2(r, "aten::stack", list, ts_int(r, 0)) : NULL;
}

static ts_value *swapped(ts_reader *r, ts_value *x, bool swaps) {
  return swaps ? call_3(r, "aten::transpose", x, ts_int(r, 0), ts_int(r, 1)) : x;
}

static bool flag(const ts_args *args, int32_t k, const char *name) {
  return ts_arg_int(args, k, name, 0) != 0;
}

/* (input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first) */
static bool layer(ts_reader *r, const char *name, const ts_args *args, ts_value **out) {
  const bool is_lstm = !strcmp(name, "aten::quantized_lstm"),
             by_batch = flag(args, 8, "batch_first");
  layers l = {.n_directions = flag(args, 7, "bidirectional") ? 2 : 1};
  if (args->n < 9 || args->v[0]->kind != TS_V_TENSOR || flag(args, 6, "train"))
    return ts_null(r, "not supported: %s of packed sequences or in training", name);
  ts_value *hx = is_lstm ? ts_known_items(r, args->v[1]) : args->v[1], *h[MAX_LAYERS],
           *c[MAX_LAYERS];
  l.params = hx ? ts_known_items(r, args->v[2]) : NULL;
  if (!l.params) return false;
  if ((is_lstm ? hx->n != 2 : hx->kind != TS_V_TENSOR) || !l.params->n ||
      l.params->n > MAX_LAYERS || l.params->n % l.n_directions)
    return ts_null(r, "%s has not the parameters of 1 to %d layers", name, MAX_LAYERS);
  l.h = is_lstm ? hx->items[0] : hx;
  l.c = is_lstm ? hx->items[1] : NULL;
  l.source = ts_source_of_text(r, "code/recurrent", program);
  l.cell = l.source ? ts_find(l.source->module, TS_DEF, is_lstm ? "lstm" : "gru") : NULL;
  ts_value *x = l.cell ? swapped(r, args->v[0], by_batch) : NULL,
           *y = x ? swapped(r, run_all(r, &l, x, h, c), by_batch) : NULL;
  if (!y) return false;
  ts_value *all[] = {y, stacked(r, h, l.params->n), is_lstm ? stacked(r, c, l.params->n) : y};
  return all[1] && all[2] && (*out = ts_tuple(r, all, is_lstm ? 3 : 2));
}

const ts_builtin_row ts_recurrent_builtins[] = {
    {"aten::quantized_lstm", layer},
    {"aten::quantized_gru", layer},
    {NULL, NULL},
};
