/* Cells of recurrent layers, and other operators that are spelt in terms of simpler ones. */
#include "reader.h"

static ts_value *call_3(ts_reader *r, const char *name, ts_value *a, ts_value *b, ts_value *c) {
  const ts_args args = {.v = {a, b, c}, .n = c ? 3 : 2};
  return a && b ? ts_call_builtin(r, name, &args) : NULL;
}

static ts_value *call_1(ts_reader *r, const char *name, ts_value *a) {
  return a ? ts_call_1(r, name, a) : NULL;
}

static ts_value *call_2(ts_reader *r, const char *name, ts_value *a, ts_value *b) {
  return a && b ? ts_call_2(r, name, a, b) : NULL;
}

/* linear(x, w_ih, b_ih) and linear(h, w_hh, b_hh) */
typedef struct gates {
  ts_value *x, *h;
} gates;

static bool make_gates(ts_reader *r, const ts_args *args, ts_value *h, gates *out) {
  if (args->n < 4 || !h) return false;
  out->x = call_3(r, "aten::linear", args->v[0], args->v[2], ts_arg(args, 4, "b_ih"));
  out->h = out->x ? call_3(r, "aten::linear", h, args->v[3], ts_arg(args, 5, "b_hh")) : NULL;
  return out->h != NULL;
}

static ts_value *chunk(ts_reader *r, ts_value *x, int32_t n) {
  ts_value *parts = x ? call_3(r, "aten::chunk", x, ts_int(r, n), ts_int(r, -1)) : NULL;
  return parts ? ts_unpack(r, parts, n) : NULL;
}

static bool lstm_cell(ts_reader *r, const char *name, const ts_args *args, ts_value **out) {
  (void)name;
  ts_value *hx = args->n > 1 ? ts_known_items(r, args->v[1]) : NULL;
  gates g;
  if (!hx || hx->n != 2 || !make_gates(r, args, hx->items[0], &g)) return false;
  ts_value *p = chunk(r, call_2(r, "aten::add", g.x, g.h), 4);
  if (!p) return false;
  ts_value *i = call_1(r, "aten::sigmoid", p->items[0]),
           *f = call_1(r, "aten::sigmoid", p->items[1]), *c = call_1(r, "aten::tanh", p->items[2]),
           *o = call_1(r, "aten::sigmoid", p->items[3]);
  ts_value *state =
      call_2(r, "aten::add", call_2(r, "aten::mul", f, hx->items[1]), call_2(r, "aten::mul", i, c));
  ts_value *both[] = {call_2(r, "aten::mul", o, call_1(r, "aten::tanh", state)), state};
  return both[0] && (*out = ts_tuple(r, both, 2));
}

static bool gru_cell(ts_reader *r, const char *name, const ts_args *args, ts_value **out) {
  (void)name;
  gates g;
  if (args->n < 4 || !make_gates(r, args, args->v[1], &g)) return false;
  ts_value *x = chunk(r, g.x, 3), *h = x ? chunk(r, g.h, 3) : NULL;
  if (!h) return false;
  ts_value *reset = call_1(r, "aten::sigmoid", call_2(r, "aten::add", x->items[0], h->items[0])),
           *update = call_1(r, "aten::sigmoid", call_2(r, "aten::add", x->items[1], h->items[1]));
  ts_value *made =
      call_1(r, "aten::tanh",
             call_2(r, "aten::add", x->items[2], call_2(r, "aten::mul", reset, h->items[2])));
  /* made + update * (h - made) */
  ts_value *way = call_2(r, "aten::mul", update, call_2(r, "aten::sub", args->v[1], made));
  return (*out = call_2(r, "aten::add", made, way)) != NULL;
}

static bool rnn_cell(ts_reader *r, const char *name, const ts_args *args, ts_value **out) {
  gates g;
  if (args->n < 4 || !make_gates(r, args, args->v[1], &g)) return false;
  const char *activation = strstr(name, "relu") ? "aten::relu" : "aten::tanh";
  return (*out = call_1(r, activation, call_2(r, "aten::add", g.x, g.h))) != NULL;
}

const ts_builtin_row ts_cell_builtins[] = {
    {"aten::lstm_cell", lstm_cell},
    {"aten::gru_cell", gru_cell},
    {"aten::rnn_tanh_cell", rnn_cell},
    {"aten::rnn_relu_cell", rnn_cell},
    {NULL, NULL},
};
