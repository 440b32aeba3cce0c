/* Quantised tensors: codes with a scale and a zero point, and layers with packed parameters. Sums
 * are scaled by one f32 factor and rounded half to even, as FBGEMM does. */
#include <math.h>

#include "reader.h"
#include "tenon/kit/onnx_dtype.h"

static const ts_ssa none = {NULL, TN_NO_ID};

enum { QINT8 = 12, QUINT8 = 13, QINT32 = 14, MAX_SPATIAL = 3 };

/* ---- codes ---- */

static const ts_value *quantised(ts_reader *r, const ts_args *args, int32_t k) {
  if (k >= args->n || args->v[k]->kind != TS_V_TENSOR) return NULL;
  const ts_value *content = ts_content(r, args->v[k]);
  if (!content || content->kind != TS_V_QUANT) return NULL;
  if (content->quant->per_channel)
    return ts_null(r,
                   "not supported: a tensor quantised per channel, outside of packed parameters");
  return content;
}

bool ts_check_quant(ts_reader *r, const ts_quant *q) {
  const int64_t lo = q->dtype == TN_U8   ? 0
                     : q->dtype == TN_I8 ? -128
                                         : INT32_MIN,
                hi = q->dtype == TN_U8   ? 255
                     : q->dtype == TN_I8 ? 127
                                         : INT32_MAX;
  if (q->scale > 0 && q->scale < INFINITY && q->zero >= lo && q->zero <= hi) return true;
  ts_null(r, "a scale of %g, or a zero point of %lld that is no code", q->scale,
          (long long)q->zero);
  return false;
}

static ts_value *quant_tensor(ts_reader *r, ts_ssa codes, ts_quant q) {
  if (!ts_check_quant(r, &q)) return NULL;
  ts_value *content = ts_ssa_value(r, TS_V_QUANT, codes);
  ts_quant *copy = content ? ts_alloc(r, sizeof *copy) : NULL;
  if (!copy) return NULL;
  *copy = q;
  content->quant = copy;
  return ts_tensor_of(r, content);
}

static ts_ssa scale_const(ts_reader *r, double scale) {
  const float f = (float)scale;
  const tn_tensor t = tn_tensor_make(TN_F32, 0, NULL, (void *)(intptr_t)&f);
  return ts_const(r, &t);
}

static ts_ssa zero_const(ts_reader *r, int64_t zero, uint32_t dtype) {
  const int32_t wide = (int32_t)zero;
  const uint8_t narrow = (uint8_t)zero;
  const tn_tensor t = tn_tensor_make(
      dtype, 0, NULL, dtype == TN_I32 ? (void *)(intptr_t)&wide : (void *)(intptr_t)&narrow);
  return ts_const(r, &t);
}

static ts_ssa dequantised(ts_reader *r, const ts_value *content) {
  const ts_quant *q = content->quant;
  const ts_ssa in[] = {content->ssa, scale_const(r, q->scale), zero_const(r, q->zero, q->dtype)};
  return r->status ? none : ts_op(r, "DequantizeLinear", in, 3);
}

static ts_value *quantise(ts_reader *r, ts_ssa x, ts_quant q) {
  const ts_ssa in[] = {x, scale_const(r, q.scale), zero_const(r, q.zero, q.dtype)};
  if (x.id < 0 || r->status) return NULL;
  if (!ts_check_quant(r, &q)) return NULL;
  if (q.dtype == TN_I32) return ts_null(r, "not supported: quantising to 32 bits");
  return quant_tensor(r, ts_op(r, "QuantizeLinear", in, 3), q);
}

static bool known_number(const ts_value *v, double *out) {
  if (!v || !ts_is_number(v) || !v->known) return false;
  *out = v->kind == TS_V_FLOAT ? v->f : (double)v->i;
  return true;
}

/* Scale and zero point among the arguments; both have to be known. */
static bool read_params(ts_reader *r, const ts_args *args, int32_t k, uint32_t dtype,
                        ts_quant *out) {
  double scale, zero;
  if (!known_number(ts_arg(args, k, "scale"), &scale) ||
      !known_number(ts_arg(args, k + 1, "zero_point"), &zero))
    return ts_null(r, "not supported: a scale or zero point that only a run knows"), false;
  if (!(fabs(zero) <= INT32_MAX)) return ts_null(r, "a zero point of %g", zero), false;
  *out = (ts_quant){scale, (int64_t)zero, dtype, false};
  return true;
}

/* ---- in and out ---- */

/* A scale of the module is a tensor, which is a constant. */
static ts_value *constant_number(ts_reader *r, ts_value *v) {
  if (!v || v->kind != TS_V_TENSOR) return v;
  const ts_ssa x = ts_read_tensor(r, v);
  if (x.id < 0) return NULL;
  const tn_tensor *t = r->api->value_type(x.scope->g, x.id);
  const bool is_const = r->api->value_flags(x.scope->g, x.id) & TN_VALUE_CONST;
  if (!is_const || !t || !t->data || tn_elements(t) != 1)
    return ts_null(r, "not supported: a scale or zero point that only a run knows");
  return tn_dtype_exact_i64(t->dtype) ? ts_int(r, tn_load_i64(t->dtype, t->data, 0))
                                      : ts_float(r, tn_load_f64(t->dtype, t->data, 0));
}

static bool quantize_per_tensor(ts_reader *r, const char *name, const ts_args *args,
                                ts_value **out) {
  (void)name;
  ts_args known = *args;
  const int64_t type = ts_arg_int(args, 3, "dtype", QUINT8);
  ts_quant q;
  if (args->n < 3 || args->v[0]->kind != TS_V_TENSOR) return false;
  known.v[1] = constant_number(r, args->v[1]);
  known.v[2] = known.v[1] ? constant_number(r, args->v[2]) : NULL;
  if (!known.v[2]) return false;
  const uint32_t dtype = type == QINT8 ? TN_I8 : type == QINT32 ? TN_I32 : TN_U8;
  if (!read_params(r, &known, 1, dtype, &q)) return false;
  return (*out = quantise(r, ts_read_tensor(r, args->v[0]), q)) != NULL;
}

static bool dequantize(ts_reader *r, const char *name, const ts_args *args, ts_value **out) {
  (void)name;
  const ts_value *x = quantised(r, args, 0);
  if (!x) return r->status ? false : args->n == 1 && (*out = args->v[0]);
  return (*out = ts_tensor(r, dequantised(r, x))) != NULL;
}

static bool about(ts_reader *r, const char *name, const ts_args *args, ts_value **out) {
  const ts_value *x = quantised(r, args, 0);
  if (!x) return false;
  if (!strcmp(name, "aten::q_scale")) return (*out = ts_float(r, x->quant->scale)) != NULL;
  if (!strcmp(name, "aten::q_zero_point")) return (*out = ts_int(r, x->quant->zero)) != NULL;
  return (*out = ts_tensor(r, x->ssa)) != NULL; /* int_repr */
}

static bool is_quantized(ts_reader *r, const char *name, const ts_args *args, ts_value **out) {
  (void)name;
  return (*out = ts_bool(r, quantised(r, args, 0) != NULL)) != NULL;
}

/* ---- operators that leave scale and zero point as they are ---- */

/* The codes are moved. */
static bool move(ts_reader *r, const char *name, const ts_args *args, ts_value **out) {
  const ts_value *x = quantised(r, args, 0);
  if (!x) return !r->status;
  const ts_ssa codes = ts_emit_ssa(r, name, x->ssa, args->v + 1, args->n - 1);
  return codes.id >= 0 && (*out = quant_tensor(r, codes, *x->quant));
}

/* The real numbers are computed with. */
static bool compute(ts_reader *r, const char *name, const ts_args *args, ts_value **out) {
  const ts_value *x = quantised(r, args, 0);
  if (!x) return !r->status;
  const ts_ssa y = ts_emit_ssa(r, name, dequantised(r, x), args->v + 1, args->n - 1);
  return y.id >= 0 && (*out = quantise(r, y, *x->quant));
}

static bool sigmoid(ts_reader *r, const char *name, const ts_args *args, ts_value **out) {
  const ts_value *x = quantised(r, args, 0);
  if (!x) return !r->status;
  const bool is_tanh = !strcmp(name, "aten::tanh"), is_signed = x->quant->dtype == TN_I8;
  const ts_ssa real = dequantised(r, x), y = ts_op(r, is_tanh ? "Tanh" : "Sigmoid", &real, 1);
  const ts_quant q = {is_tanh ? 2.0 / 256 : 1.0 / 256,
                      is_tanh ? (is_signed ? 0 : 128) : (is_signed ? -128 : 0), x->quant->dtype,
                      false};
  return (*out = quantise(r, y, q)) != NULL;
}

/* ---- operators with a scale of their own ---- */

static bool ends_with_relu(const char *name) { return strstr(name, "_relu") != NULL; }

static bool pointwise(ts_reader *r, const char *name, const ts_args *args, ts_value **out) {
  const ts_value *a = quantised(r, args, 0), *b = quantised(r, args, 1);
  ts_quant q;
  if (!a || !b) return ts_null(r, "not supported: %s with a number", name), false;
  if (!read_params(r, args, 2, a->quant->dtype, &q)) return false;
  const ts_ssa in[] = {dequantised(r, a), dequantised(r, b)};
  ts_ssa y = r->status ? none : ts_op(r, strstr(name, "add") ? "Add" : "Mul", in, 2);
  if (ends_with_relu(name)) y = ts_op(r, "Relu", &y, 1);
  return (*out = quantise(r, y, q)) != NULL;
}

static bool unary(ts_reader *r, const char *name, const ts_args *args, ts_value **out) {
  const ts_value *x = quantised(r, args, 0);
  ts_quant q;
  if (!x || !read_params(r, args, 1, x->quant->dtype, &q)) return false;
  const char *op = !strcmp(name, "quantized::hardswish") ? "aten::hardswish" : "aten::sigmoid";
  return (*out = quantise(r, ts_emit_ssa(r, op, dequantised(r, x), NULL, 0), q)) != NULL;
}

static bool cat(ts_reader *r, const char *name, const ts_args *args, ts_value **out) {
  ts_value *items = args->n ? ts_known_items(r, args->v[0]) : NULL;
  ts_quant q;
  if (!items || !items->n) return false;
  ts_ssa *parts = ts_alloc(r, (uint64_t)items->n * sizeof *parts);
  uint32_t dtype = TN_U8;
  for (int32_t k = 0; parts && k < items->n; k++) {
    const ts_args one = {.v = {items->items[k]}, .n = 1};
    const ts_value *x = quantised(r, &one, 0);
    if (!x) return false;
    dtype = x->quant->dtype;
    parts[k] = dequantised(r, x);
  }
  if (!parts || r->status || !read_params(r, args, 2, dtype, &q)) return false;
  ts_ssa y =
      ts_op_int(r, "Concat", parts, (uint32_t)items->n, "axis", ts_arg_int(args, 1, "dim", 0));
  if (ends_with_relu(name)) y = ts_op(r, "Relu", &y, 1);
  return (*out = quantise(r, y, q)) != NULL;
}

/* ---- packed parameters ---- */

typedef struct packed {
  const torch_pickled *weight, *bias; /* bias NULL: none */
  int32_t n_spatial;                  /* 0: a linear layer */
  int64_t strides[MAX_SPATIAL], pads[MAX_SPATIAL], dilations[MAX_SPATIAL], groups;
} packed;

static bool bad_packed(ts_reader *r) {
  ts_null(r, "not supported: this form of packed parameters");
  return false;
}

/* n, strides, pads, dilations, output pads, groups, and whether it is transposed. */
static bool read_config(ts_reader *r, const int64_t *v, int64_t n, packed *out) {
  const int64_t d = n ? v[0] : 0;
  if (d < 1 || d > MAX_SPATIAL || n < 1 + 4 * d + 2) return bad_packed(r);
  out->n_spatial = (int32_t)d;
  for (int64_t k = 0; k < d; k++) {
    out->strides[k] = v[1 + k];
    out->pads[k] = v[1 + d + k];
    out->dilations[k] = v[1 + 2 * d + k];
  }
  out->groups = v[1 + 4 * d];
  if (v[2 + 4 * d] & 1)
    return ts_null(r, "not supported: quantised transposed convolutions"), false;
  return true;
}

static const torch_pickled *at(const torch_pickled *v, int64_t k) {
  return v && k < v->n ? v->items[k] : NULL;
}

static const torch_pickled *tensor_at(const torch_pickled *v, int64_t k) {
  const torch_pickled *t = at(v, k);
  return t && t->kind == PICKLED_TENSOR ? t : NULL;
}

/* ("2", [config, weight], [bias]) */
static bool read_version_2(ts_reader *r, const torch_pickled *state, packed *out) {
  const torch_pickled *config = tensor_at(at(state, 1), 0);
  int64_t values[1 + 4 * MAX_SPATIAL + 2];
  out->weight = tensor_at(at(state, 1), 1);
  out->bias = tensor_at(at(state, 2), 0);
  if (!config || !out->weight || config->tensor->dtype != TN_I16 || config->tensor->rank != 1 ||
      config->tensor->shape[0] > (int64_t)(sizeof values / sizeof *values))
    return bad_packed(r);
  int16_t shorts[sizeof values / sizeof *values] = {0};
  torch_tensor_copy(config->tensor, (uint8_t *)shorts);
  for (int64_t k = 0; k < config->tensor->shape[0]; k++) values[k] = shorts[k];
  return read_config(r, values, config->tensor->shape[0], out);
}

/* (3, config, [none, weight, bias]) */
static bool read_version_3(ts_reader *r, const torch_pickled *state, packed *out) {
  const torch_pickled *config = at(state, 1);
  int64_t values[1 + 4 * MAX_SPATIAL + 2];
  out->weight = tensor_at(at(state, 2), 1);
  out->bias = tensor_at(at(state, 2), 2);
  if (!config || !out->weight || config->n > (int64_t)(sizeof values / sizeof *values))
    return bad_packed(r);
  for (int64_t k = 0; k < config->n; k++) values[k] = config->items[k]->i;
  return read_config(r, values, config->n, out);
}

/* What the archive has of a tensor that the program has not changed; NULL: it is none. */
static const torch_pickled *origin_of(const ts_value *v) {
  if (v->kind != TS_V_TENSOR || v->cell->v->step) return NULL;
  return v->cell->v->cell->v->origin;
}

static bool read_ints(ts_reader *r, ts_value *v, int64_t *out, int32_t *out_n) {
  ts_value *items = ts_known_items(r, v);
  if (!items || items->n > MAX_SPATIAL) return false;
  for (int32_t k = 0; k < items->n; k++) {
    if (!items->items[k]->known) return false;
    out[k] = items->items[k]->i;
  }
  *out_n = items->n;
  return true;
}

/* weight, bias, and of convolutions strides, pads, dilations, groups */
static bool read_prepacked(ts_reader *r, const ts_value *v, packed *out) {
  int32_t n = 0;
  out->weight = origin_of(v->items[0]);
  out->bias = v->n > 1 ? origin_of(v->items[1]) : NULL;
  const bool whole = out->weight && out->weight->tensor->is_quantised &&
                     (v->n < 2 || out->bias || v->items[1]->kind == TS_V_NONE);
  if (!whole) return bad_packed(r);
  if (v->n < 6) return v->n <= 2 || bad_packed(r);
  out->groups = v->items[5]->i;
  return (read_ints(r, v->items[2], out->strides, &n) && read_ints(r, v->items[3], out->pads, &n) &&
          read_ints(r, v->items[4], out->dilations, &n) && (out->n_spatial = n) > 0) ||
         bad_packed(r);
}

static bool prepack(ts_reader *r, const char *name, const ts_args *args, ts_value **out) {
  (void)name;
  if (!args->n) return false;
  *out = ts_items(r, TS_V_PACKED, args->v, args->n);
  return *out != NULL;
}

static bool read_packed(ts_reader *r, const ts_value *v, packed *out) {
  *out = (packed){.groups = 1};
  if (v->kind == TS_V_PACKED && v->items) return read_prepacked(r, v, out);
  const torch_pickled *state = v->origin, *first = at(state, 0);
  if (v->kind != TS_V_PACKED || !first) return bad_packed(r);
  if (strstr(v->text, "LinearPackedParamsBase")) {
    out->weight = tensor_at(state, 0);
    out->bias = tensor_at(state, 1);
    return out->weight ? true : bad_packed(r);
  }
  if (first->kind == PICKLED_STR && !strcmp(first->text, "2")) return read_version_2(r, state, out);
  if (first->kind == PICKLED_INT && first->i == 3) return read_version_3(r, state, out);
  return bad_packed(r);
}

/* ---- layers ---- */

typedef struct factors {
  int64_t n;       /* filters */
  double *weights; /* scale of each filter */
  float *sums;     /* x * w / y */
} factors;

static bool channel_scale(const torch_tensor *t, int64_t k, double *out) {
  if (t->axis < 0) return *out = t->scale, t->zero == 0;
  uint8_t scales[16], zeros[16];
  const torch_pickled *s = t->scales, *z = t->zeros;
  if (s->tensor->rank != 1 || z->tensor->rank != 1 || k >= s->tensor->shape[0] ||
      k >= z->tensor->shape[0] || t->axis != 0 || tn_dtype(s->tensor->dtype)->is_complex ||
      tn_dtype(z->tensor->dtype)->is_complex)
    return false;
  torch_tensor one = *s->tensor;
  one.offset += k * one.strides[0];
  one.shape[0] = 1;
  torch_tensor_copy(&one, scales);
  *out = tn_load_f64(one.dtype, scales, 0);
  one = *z->tensor;
  one.offset += k * one.strides[0];
  one.shape[0] = 1;
  torch_tensor_copy(&one, zeros);
  return tn_load_f64(one.dtype, zeros, 0) == 0;
}

static bool read_factors(ts_reader *r, const packed *p, double x_scale, double y_scale,
                         factors *out) {
  const torch_tensor *t = p->weight->tensor;
  out->n = t->rank ? t->shape[0] : 0;
  if (ts_take_room(r, 16 * (uint64_t)out->n)) return false;
  out->weights = ts_alloc(r, (uint64_t)(out->n + 1) * sizeof *out->weights);
  out->sums = ts_alloc(r, (uint64_t)(out->n + 1) * sizeof *out->sums);
  if (!out->weights || !out->sums) return false;
  for (int64_t k = 0; k < out->n; k++) {
    if (!channel_scale(t, k, &out->weights[k]))
      return ts_null(r, "not supported: quantised weights with a zero point"), false;
    out->sums[k] = (float)x_scale * (float)out->weights[k] / (float)y_scale;
  }
  return true;
}

/* The bias as part of the sum: in steps of x_scale * w_scale, half to even. */
static ts_ssa bias_of(ts_reader *r, const packed *p, const factors *f, double x_scale) {
  const torch_tensor *t = p->bias->tensor;
  if (ts_take_room(r, 8 * (uint64_t)f->n)) return none;
  int32_t *steps = ts_alloc(r, (uint64_t)(f->n + 1) * sizeof *steps);
  float *values = ts_alloc(r, (uint64_t)(f->n + 1) * sizeof *values);
  if (!steps || !values) return none;
  if (t->dtype != TN_F32 || t->rank != 1 || t->shape[0] != f->n) return bad_packed(r), none;
  torch_tensor_copy(t, (uint8_t *)values);
  for (int64_t k = 0; k < f->n; k++) {
    const double step = rint((double)(values[k] / ((float)x_scale * (float)f->weights[k])));
    steps[k] = step > INT32_MAX ? INT32_MAX : step >= INT32_MIN ? (int32_t)step : INT32_MIN;
  }
  const tn_tensor made = tn_tensor_make(TN_I32, 1, &f->n, steps);
  return ts_const(r, &made);
}

/* Weights as codes, with dims of size 1 behind them up to so many. */
static ts_ssa weight_of(ts_reader *r, const packed *p, int32_t rank) {
  const torch_tensor *t = p->weight->tensor;
  const int64_t bytes = tn_dims_size(t->shape, t->rank);
  if (ts_take_room(r, (uint64_t)bytes)) return none;
  uint8_t *codes = ts_alloc(r, (uint64_t)bytes + 1);
  if (!codes) return none;
  if (t->dtype != TN_I8 || t->rank > rank) return bad_packed(r), none;
  torch_tensor_copy(t, codes);
  int64_t shape[TN_MAX_RANK];
  for (int32_t k = 0; k < rank; k++) shape[k] = k < t->rank ? t->shape[k] : 1;
  const tn_tensor made = tn_tensor_make(TN_I8, rank, shape, codes);
  return ts_const(r, &made);
}

static tn_attr ints(const char *name, const int64_t *data, int64_t n) {
  return (tn_attr){.head = TN_HEAD(tn_attr), .name = name, .kind = TN_ATTR_INTS, .ints = {data, n}};
}

static tn_attr number(const char *name, int64_t i) {
  return (tn_attr){.head = TN_HEAD(tn_attr), .name = name, .kind = TN_ATTR_INT, .i = i};
}

/* x: codes of n_spatial + 2 dims. */
static ts_ssa quant_conv(ts_reader *r, const packed *p, ts_ssa x, const ts_quant *from,
                         const ts_quant *to, bool relu) {
  factors f;
  const int32_t d = p->n_spatial ? p->n_spatial : 2;
  if (!read_factors(r, p, from->scale, to->scale, &f)) return none;
  const tn_tensor scales = tn_tensor_make(TN_F32, 1, &f.n, f.sums);
  const ts_ssa in[] = {x, weight_of(r, p, d + 2), ts_const(r, &scales),
                       p->bias ? bias_of(r, p, &f, from->scale) : none};
  if (r->status) return none;
  int64_t pads[2 * MAX_SPATIAL];
  for (int32_t k = 0; k < d; k++) pads[k] = pads[k + d] = p->pads[k];
  const int64_t lowest = to->dtype == TN_I8 ? -128 : 0, highest = lowest + 255;
  const int64_t lo = relu && to->zero > lowest ? to->zero : lowest;
  const tn_attr type = {.head = TN_HEAD(tn_attr),
                        .name = "y_type",
                        .kind = TN_ATTR_STR,
                        .s = {to->dtype == TN_I8 ? "i8" : "u8", 2}};
  const tn_attr list[] = {ints("strides", p->strides, p->n_spatial),
                          ints("pads", pads, 2 * p->n_spatial),
                          ints("dilations", p->dilations, p->n_spatial),
                          number("group", p->groups),
                          number("x_zero", from->zero),
                          number("y_zero", to->zero),
                          number("lo", lo),
                          number("hi", highest),
                          type};
  enum { N = sizeof list / sizeof *list };
  const tn_attr *attrs[N];
  for (int k = 0; k < N; k++) attrs[k] = &list[k];
  ts_ssa out;
  return ts_node_add(r, "tenon", "QuantConv", in, p->bias ? 4 : 3, attrs + (p->n_spatial ? 0 : 3),
                     p->n_spatial ? N : N - 3, &out, 1)
             ? out
             : none;
}

/* Rows of x as pixels of an image. */
static ts_ssa quant_linear(ts_reader *r, const packed *p, ts_ssa x, const ts_quant *from,
                           const ts_quant *to, bool relu) {
  const torch_tensor *w = p->weight->tensor;
  if (w->rank != 2) return bad_packed(r), none;
  const ts_ssa shape[] = {x, ts_const_ints(r, (const int64_t[]){-1, w->shape[1], 1, 1}, 4)};
  const ts_ssa rows = r->status ? none : ts_op(r, "Reshape", shape, 2);
  const ts_ssa y = r->status ? none : quant_conv(r, p, rows, from, to, relu);
  /* the dims of x but the last, and the number of filters */
  const ts_ssa dims = r->status ? none : ts_op(r, "Shape", &x, 1);
  const ts_ssa cut[] = {dims, ts_const_ints(r, (const int64_t[]){0}, 1),
                        ts_const_ints(r, (const int64_t[]){-1}, 1)};
  const ts_ssa before = r->status ? none : ts_op(r, "Slice", cut, 3);
  const ts_ssa whole[] = {before, ts_const_ints(r, w->shape, 1)};
  const ts_ssa back[] = {y, r->status ? none : ts_op_int(r, "Concat", whole, 2, "axis", 0)};
  return r->status ? none : ts_op(r, "Reshape", back, 2);
}

static bool layer(ts_reader *r, const char *name, const ts_args *args, ts_value **out) {
  const ts_value *x = quantised(r, args, 0);
  packed p;
  ts_quant q;
  if (!x || args->n < 2 || !read_packed(r, args->v[1], &p)) return false;
  /* old files repeat stride, padding, dilation and groups: scale and zero point are the last two */
  const int32_t first = args->n > 4 ? args->n - 2 : 2;
  if (!read_params(r, args, first, x->quant->dtype, &q)) return false;
  if ((strstr(name, "linear") != NULL) != (p.n_spatial == 0)) return bad_packed(r);
  const ts_ssa y = p.n_spatial ? quant_conv(r, &p, x->ssa, x->quant, &q, ends_with_relu(name))
                               : quant_linear(r, &p, x->ssa, x->quant, &q, ends_with_relu(name));
  return y.id >= 0 && (*out = quant_tensor(r, y, q));
}

/* ---- layers that make codes of what they get as they run ---- */

static ts_ssa two(ts_reader *r, const char *op, ts_ssa a, ts_ssa b) {
  const ts_ssa in[] = {a, b};
  return r->status ? none : ts_op(r, op, in, 2);
}

static ts_ssa one(ts_reader *r, const char *op, ts_ssa x) {
  return r->status ? none : ts_op(r, op, &x, 1);
}

/* x in steps of its own range, from 0 on to most codes, as PyTorch chooses them. */
static ts_ssa in_own_steps(ts_reader *r, ts_ssa x, double most) {
  static const double smallest = 6.1e-5; /* a scale below is taken for this one */
  const ts_ssa zero = scale_const(r, 0), last = scale_const(r, most);
  if (r->status) return none;
  const ts_ssa lo = two(r, "Min", ts_op_int(r, "ReduceMin", &x, 1, "keepdims", 0), zero),
               hi = two(r, "Max", ts_op_int(r, "ReduceMax", &x, 1, "keepdims", 0), zero),
               exact =
                   two(r, "Max", two(r, "Div", two(r, "Sub", hi, lo), last), scale_const(r, 1e-37)),
               scale = two(r, "Max", exact, scale_const(r, smallest));
  const ts_ssa middle = one(r, "Round", two(r, "Div", one(r, "Neg", lo), exact));
  const ts_ssa steps = one(r, "Round", two(r, "Mul", x, one(r, "Reciprocal", scale)));
  const ts_ssa from = two(r, "Max", steps, one(r, "Neg", middle));
  return two(r, "Mul", two(r, "Min", from, two(r, "Sub", last, middle)), scale);
}

static bool linear_dynamic(ts_reader *r, const char *name, const ts_args *args, ts_value **out) {
  packed p;
  factors f;
  if (args->n < 2 || args->v[0]->kind != TS_V_TENSOR || !read_packed(r, args->v[1], &p))
    return false;
  const ts_value *reduced = ts_arg(args, 2, "reduce_range");
  if (p.n_spatial || p.weight->tensor->rank != 2) return bad_packed(r);
  if (!read_factors(r, &p, 1, 1, &f)) return false;
  const tn_tensor scales = tn_tensor_make(TN_F32, 1, &f.n, f.sums);
  const ts_ssa codes[] = {weight_of(r, &p, 2), ts_const(r, &scales)};
  if (r->status) return false;
  const ts_ssa w = ts_op_int(r, "DequantizeLinear", codes, 2, "axis", 0);
  const ts_ssa x =
      in_own_steps(r, ts_read_tensor(r, args->v[0]), reduced && reduced->i ? 127 : 255);
  ts_ssa y = two(r, "MatMul", x, one(r, "Transpose", w));
  if (p.bias) y = two(r, "Add", y, ts_read_tensor(r, ts_tensor_load(r, p.bias)));
  if (ends_with_relu(name)) y = one(r, "Relu", y);
  return !r->status && (*out = ts_tensor(r, y));
}

const ts_builtin_row ts_quant_builtins[] = {
    {"aten::quantize_per_tensor", quantize_per_tensor},
    {"aten::dequantize", dequantize},
    {"aten::q_scale", about},
    {"aten::q_zero_point", about},
    {"aten::int_repr", about},
    {"prim::is_quantized", is_quantized},
    {"aten::reshape", move},
    {"aten::view", move},
    {"aten::flatten", move},
    {"aten::transpose", move},
    {"aten::permute", move},
    {"aten::unsqueeze", move},
    {"aten::squeeze", move},
    {"aten::slice", move},
    {"aten::select", move},
    {"aten::clone", move},
    {"aten::relu", compute},
    {"aten::hardtanh", compute},
    {"aten::clamp", compute},
    {"aten::max_pool2d", compute},
    {"aten::avg_pool2d", compute},
    {"aten::adaptive_avg_pool2d", compute},
    {"aten::mean", compute},
    {"aten::upsample_nearest2d", compute},
    {"aten::upsample_bilinear2d", compute},
    {"aten::sigmoid", sigmoid},
    {"aten::tanh", sigmoid},
    {"quantized::add", pointwise},
    {"quantized::add_relu", pointwise},
    {"quantized::mul", pointwise},
    {"quantized::mul_relu", pointwise},
    {"quantized::hardswish", unary},
    {"quantized::sigmoid", unary},
    {"quantized::cat", cat},
    {"quantized::cat_relu", cat},
    {"quantized::conv2d_prepack", prepack},
    {"quantized::conv3d_prepack", prepack},
    {"quantized::linear_prepack", prepack},
    {"quantized::conv2d", layer},
    {"quantized::conv2d_relu", layer},
    {"quantized::conv3d", layer},
    {"quantized::conv3d_relu", layer},
    {"quantized::linear", layer},
    {"quantized::linear_relu", layer},
    {"quantized::linear_dynamic", linear_dynamic},
    {"quantized::linear_relu_dynamic", linear_dynamic},
    {NULL, NULL},
};
