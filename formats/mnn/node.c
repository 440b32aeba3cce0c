/* Operators as nodes of ai.onnx: adding them, and who makes which. */
#include "nodes.h"
#include "tenon/kit/onnx_dtype.h"

/* ---- adding nodes ---- */

bool mnn_add(mnn_reader *r, const char *domain, const char *op, const int32_t *in, uint32_t n_in,
             const int32_t *out, uint32_t n_out, const tn_attr *attrs, uint32_t n_attrs) {
  const tn_attr *list[16];
  if (r->status) return false;
  for (uint32_t k = 0; k < n_attrs; k++) list[k] = &attrs[k];
  const tn_node node = {.head = TN_HEAD(tn_node),
                        .domain = domain,
                        .op = op,
                        .name = r->name,
                        .n_inputs = n_in,
                        .n_outputs = n_out,
                        .n_attrs = n_attrs,
                        .inputs = in,
                        .outputs = out,
                        .attrs = list,
                        .offset = (int64_t)r->at};
  const int32_t id = r->api->add_node(r->g, &node);
  if (id < 0) r->status = mnn_fail(r, id, "it cannot be a node (%s)", op);
  return id >= 0;
}

int32_t mnn_emit_in(mnn_reader *r, const char *domain, const char *op, const int32_t *in,
                    uint32_t n, const tn_attr *attrs, uint32_t n_attrs) {
  if (r->status) return TN_NO_ID;
  const int32_t out = r->api->value(r->g, NULL);
  if (out < 0) r->status = mnn_fail(r, out, "it needs one more value");
  return out >= 0 && mnn_add(r, domain, op, in, n, &out, 1, attrs, n_attrs) ? out : TN_NO_ID;
}

int32_t mnn_emit(mnn_reader *r, const char *op, const int32_t *in, uint32_t n, const tn_attr *attrs,
                 uint32_t n_attrs) {
  return mnn_emit_in(r, "", op, in, n, attrs, n_attrs);
}
int32_t mnn_emit_1(mnn_reader *r, const char *op, int32_t x) {
  return mnn_emit(r, op, &x, 1, NULL, 0);
}
int32_t mnn_emit_2(mnn_reader *r, const char *op, int32_t x, int32_t y) {
  const int32_t in[] = {x, y};
  return mnn_emit(r, op, in, 2, NULL, 0);
}
int32_t mnn_emit_int(mnn_reader *r, const char *op, int32_t x, const char *name, int64_t i) {
  const tn_attr a = tn_attr_int(name, i);
  return mnn_emit(r, op, &x, 1, &a, 1);
}
int32_t mnn_emit_float(mnn_reader *r, const char *op, int32_t x, const char *name, double f) {
  const tn_attr a = tn_attr_float(name, f);
  return mnn_emit(r, op, &x, 1, &a, 1);
}
int32_t mnn_cast(mnn_reader *r, int32_t x, uint32_t dtype) {
  return mnn_emit_int(r, "Cast", x, "to", tn_onnx_of_dtype(dtype));
}
int32_t mnn_refuse(mnn_reader *r, const char *what) {
  if (!r->status) r->status = mnn_fail(r, TN_ERR_UNSUPPORTED, "not supported: %s", what);
  return TN_NO_ID;
}
int32_t mnn_invalid(mnn_reader *r, const char *what) {
  if (!r->status) r->status = mnn_fail(r, TN_ERR_INVALID, "%s", what);
  return TN_NO_ID;
}

int64_t mnn_param_int(const mnn_reader *r, uint32_t field, int64_t missing) {
  return tn_flat_int(&r->param, field, 4, missing);
}
int64_t mnn_param_byte(const mnn_reader *r, uint32_t field, int64_t missing) {
  return tn_flat_int(&r->param, field, 1, missing);
}

int32_t mnn_ints_of(mnn_reader *r, const tn_flat_vector *v) {
  int64_t data[TN_MAX_RANK];
  if (v->n > TN_MAX_RANK) return mnn_invalid(r, "it names more axes than a tensor may have");
  for (uint64_t k = 0; k < v->n; k++) data[k] = tn_flat_int_at(v, k);
  return mnn_i64s(r, data, (int64_t)v->n);
}

int32_t mnn_floats(mnn_reader *r, const tn_flat_vector *v, int32_t rank, const int64_t *shape) {
  const tn_tensor type = tn_tensor_make(TN_F32, rank, shape, NULL);
  const int32_t id = r->status ? TN_NO_ID : r->api->value(r->g, NULL);
  return id < 0 ? TN_NO_ID : mnn_constant(r, id, mnn_span_of(v), &type);
}
int32_t mnn_wide(mnn_reader *r, uint64_t k) { return mnn_cast(r, mnn_in(r, k), TN_I64); }

/* ---- all of them ---- */

static int32_t direct(mnn_reader *r) {
  int32_t in[4];
  if (r->in.n > 4 || !r->in.n) return mnn_invalid(r, "has not as many inputs as it takes");
  for (uint64_t k = 0; k < r->in.n; k++) in[k] = mnn_in(r, k);
  return mnn_emit(r, r->row->to, in, (uint32_t)r->in.n, NULL, 0);
}

static mnn_make_fn *find(const char *name) {
  static const mnn_maker *const all[] = {mnn_windows, mnn_elementwise, mnn_shapes,  mnn_axes,
                                         mnn_select,  mnn_recurrent,   mnn_control, mnn_codes};
  for (size_t k = 0; k < sizeof all / sizeof *all; k++)
    for (const mnn_maker *m = all[k]; m->op; m++)
      if (!strcmp(m->op, name)) return m->make;
  return direct;
}

tn_status mnn_node(mnn_reader *r) {
  mnn_make_fn *make = find(r->row->name);
  r->how = mnn_how_computed(r);
  if (!mnn_may_spread(r)) {
    const int32_t made = make(r),
                  id = made == TN_NO_ID || r->status ? TN_NO_ID : mnn_in_steps(r, made);
    if (id != TN_NO_ID && !r->status) mnn_set(r, 0, id);
  } else {
    mnn_spread(r, make);
  }
  r->how = MNN_IN_NUMBERS;
  return mnn_status(r);
}
