/* Layers that torch.utils.mobile_optimizer has packed for XNNPACK: the archive keeps what they were
 * made of, (weight, bias, ..., least and largest output), as the state of an object. */
#include "reader.h"

static bool pack(ts_reader *r, const char *name, const ts_args *args, ts_value **out) {
  (void)name;
  *out = ts_items(r, TS_V_PACKED, args->v, args->n);
  return *out != NULL;
}

/* The parts of argument 1; NULL: it is of another form. */
static const ts_value *parts_of(ts_reader *r, const ts_args *args, int32_t n) {
  ts_value *v = args->n == 2 ? args->v[1] : NULL;
  if (v && v->kind == TS_V_OBJECT) {
    const ts_cell *state = ts_attr(v, "__state__");
    v = state ? state->v : NULL;
  }
  if (v && (v->kind == TS_V_TUPLE || v->kind == TS_V_PACKED) && v->items && v->n == n) return v;
  return ts_null(r, "not supported: this form of packed parameters");
}

static bool layer(ts_reader *r, const ts_args *args, const char *op, int32_t n_op, ts_value **out) {
  const ts_value *p = parts_of(r, args, n_op + 2);
  if (!p || args->v[0]->kind != TS_V_TENSOR) return false;
  ts_value *bounds[] = {p->items[n_op], p->items[n_op + 1]};
  const bool is_bounded = bounds[0]->kind != TS_V_NONE || bounds[1]->kind != TS_V_NONE;
  ts_ssa y = ts_emit_ssa(r, op, ts_read_tensor(r, args->v[0]), p->items, n_op);
  if (y.id >= 0 && is_bounded) y = ts_emit_ssa(r, "aten::clamp", y, bounds, 2);
  return y.id >= 0 && (*out = ts_tensor(r, y));
}

static bool conv(ts_reader *r, const char *name, const ts_args *args, ts_value **out) {
  (void)name;
  return layer(r, args, "aten::conv2d", 6, out);
}

static bool conv_transpose(ts_reader *r, const char *name, const ts_args *args, ts_value **out) {
  (void)name; /* their groups and dilation are the other way round than those of the operator */
  const ts_value *p = parts_of(r, args, 9);
  if (!p) return false;
  ts_value *items[9];
  for (int32_t k = 0; k < 9; k++) items[k] = p->items[k == 5 ? 6 : k == 6 ? 5 : k];
  ts_value *turned = ts_items(r, TS_V_PACKED, items, 9);
  const ts_args with = {.v = {args->v[0], turned}, .n = 2};
  return turned && layer(r, &with, "aten::conv_transpose2d", 7, out);
}

static bool linear(ts_reader *r, const char *name, const ts_args *args, ts_value **out) {
  (void)name;
  return layer(r, args, "aten::linear", 2, out);
}

const ts_builtin_row ts_prepacked_builtins[] = {
    {"prepacked::conv2d_clamp_prepack", pack},
    {"prepacked::conv2d_transpose_clamp_prepack", pack},
    {"prepacked::linear_clamp_prepack", pack},
    {"prepacked::conv2d_clamp_run", conv},
    {"prepacked::conv2d_transpose_clamp_run", conv_transpose},
    {"prepacked::linear_clamp_run", linear},
    {NULL, NULL},
};
