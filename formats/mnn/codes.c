/* Networks whose activations are quantised, in the two forms that MNN's quantisers have written.
 *
 * With steps: the file says of tensors what a code stands for, (code - zero) * step, and the
 * operators are those of other networks. MNN computes an operator in codes if its output and all
 * that it computes with have steps, and if it can; here it stands between pairs of QuantizeLinear
 * and DequantizeLinear. With operators of their own (ConvInt8, FloatToInt8 ...): their tensors are
 * codes, which are numbers here by a step of 1. */
#include "nodes.h"

#include <math.h>

/* ---- steps ---- */

tn_status mnn_read_steps(mnn_reader *r, const tn_flat_vector *described) {
  enum { INDEX = 1, QUANT = 4, STEP = 0, ZERO, LEAST, MOST, TYPE, INT8 = 6 };
  for (uint64_t k = 0; k < described->n && !mnn_status(r); k++) {
    const tn_flat_table t = tn_flat_item(described, k, &mnn_param_type),
                        quant = tn_flat_sub(&t, QUANT, &mnn_param_type);
    const int64_t index = tn_flat_int(&t, INDEX, 4, 0);
    const mnn_steps s = {
        (float)tn_flat_float(&quant, STEP, 0), (float)tn_flat_float(&quant, ZERO, 0),
        (float)tn_flat_float(&quant, LEAST, -128), (float)tn_flat_float(&quant, MOST, 127)};
    if (tn_flat_int(&quant, TYPE, 4, 0) != INT8 || s.step == 0) continue;
    const bool ok = index >= 0 && (uint64_t)index < r->names.n && s.step > 0 && s.step < 1e38f &&
                    s.zero >= -128 && s.zero <= 127 && s.least >= -128 && s.most <= 127 &&
                    s.least <= s.most;
    if (!ok)
      return mnn_fail(r, TN_ERR_INVALID,
                      "tensor %lld of %llu is quantised in steps that no bytes have",
                      (long long)index, (unsigned long long)r->names.n);
    r->values[index].steps = s;
  }
  return mnn_status(r);
}

static mnn_value *value_of(const mnn_reader *r, const tn_flat_vector *list, uint64_t k) {
  const int64_t index = k < list->n ? tn_flat_int_at(list, k) : -1;
  return index >= 0 && (uint64_t)index < r->names.n ? &r->values[index] : NULL;
}

static const mnn_steps *steps_of(const mnn_reader *r, const tn_flat_vector *list, uint64_t k) {
  const mnn_value *v = value_of(r, list, k);
  return v && v->steps.step > 0 ? &v->steps : NULL;
}

/* ---- pairs ---- */

static int32_t code_constant(mnn_reader *r, float code) {
  int8_t byte = (int8_t)(code < 0 ? code - 0.5f : code + 0.5f);
  const tn_tensor type = tn_tensor_make(TN_I8, 0, NULL, NULL);
  const int32_t id = r->status ? TN_NO_ID : r->api->value(r->g, NULL);
  if (id < 0 && !r->status) r->status = mnn_fail(r, id, "it needs one more value");
  return id < 0 ? TN_NO_ID : mnn_constant(r, id, (mnn_span){(const uint8_t *)&byte, 1}, &type);
}

/* x in codes, which saturate where the steps say so. */
static int32_t quantised(mnn_reader *r, int32_t x, const mnn_steps *s, bool relu) {
  const float least = relu && s->least < s->zero ? s->zero : s->least;
  const bool below = least > -128, above = s->most < 127;
  const int32_t limits[] = {
      x, below ? mnn_number(r, TN_F32, (double)(least - s->zero) * s->step) : TN_NO_ID,
      above ? mnn_number(r, TN_F32, (double)(s->most - s->zero) * s->step) : TN_NO_ID};
  if (below || above) x = mnn_emit(r, "Clip", limits, above ? 3 : 2, NULL, 0);
  const int32_t in[] = {x, mnn_number(r, TN_F32, s->step), code_constant(r, s->zero)};
  return mnn_emit(r, "QuantizeLinear", in, 3, NULL, 0);
}

static int32_t numbers(mnn_reader *r, int32_t codes, const mnn_steps *s) {
  const int32_t in[] = {codes, mnn_number(r, TN_F32, s->step), code_constant(r, s->zero)};
  return mnn_emit(r, "DequantizeLinear", in, 3, NULL, 0);
}

int32_t mnn_rounded(mnn_reader *r, mnn_value *v) {
  if (!v->is_rounded) {
    v->rounded = numbers(r, quantised(r, v->id, &v->steps, false), &v->steps);
    v->is_rounded = !r->status;
  }
  return v->rounded;
}

/* ---- operators that MNN computes in codes ---- */

static bool is_one_of(const char *name, const char *const *names) {
  while (*names && strcmp(*names, name)) names++;
  return *names != NULL;
}

static const char *const
    joins[] = {"Concat", "Pack", NULL},
    *const moves[] = {
        "ConvertTensor", "DepthToSpace", "ExpandDims", "Flatten",      "GatherV2", "Identity",
        "Permute",       "Reshape",      "Slice",      "SpaceToDepth", "Squeeze",  "SliceTf",
        "StridedSlice",  "Transpose",    "Unpack",     "Unsqueeze",    NULL};

static mnn_how of_convolution(const mnn_reader *r) {
  const tn_flat_table quant = tn_flat_sub(&r->param, CONV_QUANT, &mnn_param_type);
  return r->in.n == 1 && quant.at && !tn_flat_has(&r->param, CONV_WEIGHT) ? MNN_ROUNDED
                                                                          : MNN_IN_NUMBERS;
}

static mnn_how of_function(const mnn_reader *r) {
  enum { ABS = 0, NEG = 1, SIGN = 22, TABLE = 2 };
  const int64_t f = mnn_param_int(r, 0, 0);
  if (tn_flat_has(&r->param, TABLE) || f == SIGN) return MNN_ROUNDED;
  return f == ABS || f == NEG ? MNN_CUT : MNN_IN_NUMBERS;
}

static mnn_how how_alone(const mnn_reader *r) {
  static const char *const windows[] = {"Convolution", "ConvolutionDepthwise", "ConvInt8",
                                        "DepthwiseConvInt8", NULL},
                           *const rounded[] = {"BinaryOp", "Interp",  "LayerNorm", "PReLU",
                                               "Scale",    "Softmax", NULL};
  const char *name = r->row->name;
  if (is_one_of(name, windows)) return of_convolution(r);
  if (is_one_of(name, rounded)) return MNN_ROUNDED;
  if (!strcmp(name, "UnaryOp")) return of_function(r);
  if (!strcmp(name, "Pooling")) return mnn_param_byte(r, POOL_TYPE, 0) ? MNN_MEAN : MNN_MOVED;
  return is_one_of(name, moves) || is_one_of(name, joins) ? MNN_MOVED : MNN_IN_NUMBERS;
}

static void give_steps(const mnn_reader *r, const tn_flat_vector *list, uint64_t k,
                       const mnn_steps *steps) {
  mnn_value *v = value_of(r, list, k);
  if (v && v->steps.step == 0 && !v->is_joined) v->steps = *steps;
}

/* From inputs to outputs, or back, past an operator that moves codes; not back past one that joins
 * values, which MNN makes at once out of their parts. */
static void pass_steps(const mnn_reader *r, const tn_flat_vector *ops, uint64_t k, bool back) {
  const tn_flat_table op = tn_flat_item(ops, k, &mnn_op_type);
  const tn_format_op *row = mnn_row(tn_flat_int(&op, OP_TYPE, 4, 0));
  const tn_flat_vector in = tn_flat_vec(&op, OP_INPUTS, 4), out = tn_flat_vec(&op, OP_OUTPUTS, 4);
  const mnn_steps *steps = back && out.n != 1 ? NULL : steps_of(r, back ? &out : &in, 0);
  for (uint64_t j = 0; row && is_one_of(row->name, joins) && j < out.n; j++)
    if (value_of(r, &out, j)) value_of(r, &out, j)->is_joined = true;
  if (!steps || !row || !is_one_of(row->name, moves)) return;
  for (uint64_t j = 0; j < (back ? in.n > 0 : out.n); j++)
    give_steps(r, back ? &in : &out, j, steps);
}

void mnn_spread_steps(const mnn_reader *r, const tn_flat_vector *ops) {
  for (uint64_t k = 0; k < ops->n; k++) pass_steps(r, ops, k, false);
  for (uint64_t k = ops->n; k-- > 0;) pass_steps(r, ops, k, true);
}

/* MNN computes a ReLU in codes only if the file gives its output no steps: it has those of its
 * input. */
static bool inherit_steps(const mnn_reader *r) {
  const mnn_steps *in = steps_of(r, &r->in, 0);
  const bool is_relu = !strcmp(r->row->name, "ReLU") && tn_flat_float(&r->param, 0, 0) == 0;
  if (!in || !is_relu || steps_of(r, &r->out, 0)) return false;
  for (uint64_t k = 0; k < r->out.n; k++) give_steps(r, &r->out, k, in);
  return true;
}

mnn_how mnn_how_computed(const mnn_reader *r) {
  if (inherit_steps(r)) return MNN_MOVED;
  const mnn_steps *out = steps_of(r, &r->out, 0);
  const mnn_how how = out && r->in.n ? how_alone(r) : MNN_IN_NUMBERS;
  /* what else moves read are axes and sizes */
  const uint64_t n = how == MNN_MOVED && !is_one_of(r->row->name, joins) ? 1 : r->in.n;
  for (uint64_t k = 0; how != MNN_IN_NUMBERS && k < n; k++) {
    const mnn_steps *in = steps_of(r, &r->in, k);
    if (!in) return MNN_IN_NUMBERS;
    if ((how == MNN_MOVED || how == MNN_MEAN) && (in->step != out->step || in->zero != out->zero))
      return MNN_IN_NUMBERS;
  }
  return how;
}

/* MNN cuts means of codes down to whole ones, after a product with 2^24 / n without its fraction,
 * so that whole means become one less unless n is a power of two. */
static int32_t cut_down(mnn_reader *r, int32_t mean, const mnn_steps *s) {
  const int64_t n = mnn_param_int(r, POOL_KERNEL_Y, 0) * mnn_param_int(r, POOL_KERNEL_X, 0);
  const bool exact = !mnn_param_byte(r, POOL_GLOBAL, 0) && !(n & (n - 1));
  const double less = (exact ? 0.5 - 1.0 / 1024 : 0.5 + 1.0 / 1024) * s->step;
  return mnn_emit_2(r, "Sub", mean, mnn_number(r, TN_F32, less));
}

/* MNN's products with one by the step, in f32, without their fractions. Those of Abs have 128 more
 * before they lose them (on x86-64), so that what is a hair below a whole code becomes it. */
static int32_t cut_to_zero(mnn_reader *r, int32_t y, const mnn_steps *s) {
  const int32_t more = mnn_number(r, TN_F32, mnn_param_int(r, 0, 0) ? 0 : 128);
  int32_t code = mnn_emit_2(r, "Mul", y, mnn_number(r, TN_F32, 1.0f / s->step));
  code = mnn_cast(r, mnn_emit_2(r, "Add", code, more), TN_I32);
  code = mnn_emit_2(r, "Sub", mnn_cast(r, code, TN_F32), more);
  return mnn_emit_2(r, "Mul", code, mnn_number(r, TN_F32, s->step));
}

/* Of a convolution: codes know no 6, only what is less than 0. */
static bool has_relu(const mnn_reader *r) {
  const tn_flat_table c = tn_flat_sub(&r->param, CONV_COMMON, &mnn_param_type);
  return tn_flat_int(&c, COMMON_RELU, 1, 0) || tn_flat_int(&c, COMMON_RELU6, 1, 0);
}

void mnn_cut_bias(const mnn_reader *r, const float *scales, float *bias, uint64_t n) {
  const mnn_steps *in = steps_of(r, &r->in, 0), *out = steps_of(r, &r->out, 0);
  for (uint64_t k = 0; k < n && in && out; k++) {
    const float scale = fabsf(scales[k]) < 1e-6f ? 1e-6f : scales[k], whole = in->step * scale;
    /* the zero of the output is a whole sum, too */
    const float zero = truncf(out->zero / (scale * (in->step / out->step)));
    bias[k] = (truncf(bias[k] / whole) + zero) * whole - out->zero * out->step;
  }
}

int32_t mnn_in_steps(mnn_reader *r, int32_t y) {
  const mnn_steps *s = steps_of(r, &r->out, 0);
  if (!s || r->how == MNN_IN_NUMBERS || r->how == MNN_MOVED) return y;
  if (r->how == MNN_MEAN) y = cut_down(r, y, s);
  if (r->how == MNN_CUT) y = cut_to_zero(r, y, s);
  const bool relu = strstr(r->row->name, "Conv") == r->row->name && has_relu(r);
  return numbers(r, quantised(r, y, s, relu), s);
}

/* ---- sums and products that spread one input ---- */

bool mnn_may_spread(const mnn_reader *r) {
  enum { ACTIVATION = 2 };
  return !strcmp(r->row->name, "BinaryOp") && r->how == MNN_ROUNDED && r->in.n == 2 &&
         mnn_layout(r, 0) != MNN_BLOCKS && mnn_layout(r, 0) == mnn_layout(r, 1) &&
         !mnn_param_int(r, ACTIVATION, 0);
}

static int32_t either(mnn_reader *r, int32_t codes, int32_t exact, const int32_t *inputs) {
  const int32_t in[] = {codes, exact, inputs[0], inputs[1]};
  return mnn_emit_in(r, "mnn", "Either", in, 4, NULL, 0);
}

void mnn_spread(mnn_reader *r, mnn_make_fn *make) {
  int32_t inputs[2];
  const int32_t codes = mnn_in_steps(r, make(r));
  r->how = MNN_IN_NUMBERS;
  for (uint64_t k = 0; k < 2; k++) inputs[k] = mnn_in(r, k);
  const int32_t exact = make(r);
  if (mnn_status(r)) return;
  mnn_value *out = &r->values[tn_flat_int_at(&r->out, 0)];
  const int32_t rounded = numbers(r, quantised(r, exact, &out->steps, false), &out->steps);
  mnn_set(r, 0, either(r, codes, exact, inputs));
  out->rounded = either(r, codes, rounded, inputs);
  out->is_rounded = true;
}

/* ---- operators of their own ---- */

static mnn_steps own_steps(const tn_flat_table *quant, uint32_t zero) {
  enum { LEAST = 8, MOST, FLOAT_ZEROS = 12 };
  const tn_flat_vector zeros = tn_flat_vec(quant, FLOAT_ZEROS, 4);
  const double one = zeros.n ? tn_flat_float_at(&zeros, 0) : (double)tn_flat_int(quant, zero, 1, 0);
  return (mnn_steps){1, (float)(one >= -128 && one <= 127 ? one : 0),
                     (float)tn_flat_int(quant, LEAST, 1, -128),
                     (float)tn_flat_int(quant, MOST, 1, 127)};
}

bool mnn_own_codes(const mnn_reader *r, mnn_steps *in, mnn_steps *out) {
  const tn_flat_table own = tn_flat_sub(&r->param, CONV_SYMMETRIC, &mnn_param_type);
  if (!tn_flat_has(&own, OWN_WEIGHT) || !tn_flat_has(&own, OWN_SCALE)) return false;
  *in = own_steps(&own, OWN_ZERO);
  *out = own_steps(&own, OWN_OUT_ZERO);
  return true;
}

int32_t mnn_from_codes(mnn_reader *r, int32_t codes, const mnn_steps *s) {
  return numbers(r, codes, s);
}
int32_t mnn_to_codes(mnn_reader *r, int32_t y, const mnn_steps *s) {
  return quantised(r, y, s, has_relu(r));
}

/* x times one number, or one for each channel. */
static int32_t scaled(mnn_reader *r, int32_t x, const tn_flat_table *quant) {
  const tn_flat_vector scales = tn_flat_vec(quant, OWN_TENSOR_SCALE, 4);
  if (!scales.n) return mnn_refuse(r, "steps that its inputs give");
  const int32_t in[] = {mnn_vector(r, mnn_span_of(&scales)), x};
  return mnn_emit_2(r, "Mul", x,
                    scales.n == 1 ? in[0] : mnn_emit_in(r, "mnn", "ByChannel", in, 2, NULL, 0));
}

static int32_t to_codes(mnn_reader *r) {
  const mnn_steps s = own_steps(&r->param, OWN_ZERO);
  return quantised(r, scaled(r, mnn_in(r, 0), &r->param), &s, false);
}

static int32_t from_codes(mnn_reader *r) {
  const mnn_steps s = own_steps(&r->param, OWN_ZERO);
  return scaled(r, numbers(r, mnn_in(r, 0), &s), &r->param);
}

/* A sum, whatever its type says: MNN knows no other. */
static int32_t sum_of_codes(mnn_reader *r) {
  enum { IN_0 = 1, IN_1, OUT };
  static const mnn_steps whole = {1, 0, -127, 127};
  const tn_flat_table quants[] = {tn_flat_sub(&r->param, IN_0, &mnn_param_type),
                                  tn_flat_sub(&r->param, IN_1, &mnn_param_type),
                                  tn_flat_sub(&r->param, OUT, &mnn_param_type)};
  int32_t in[2];
  for (uint64_t k = 0; k < 2; k++) in[k] = scaled(r, numbers(r, mnn_in(r, k), &whole), &quants[k]);
  return quantised(r, scaled(r, mnn_emit_2(r, "Add", in[0], in[1]), &quants[2]), &whole, false);
}

const mnn_maker mnn_codes[] = {{"EltwiseInt8", sum_of_codes},
                               {"FloatToInt8", to_codes},
                               {"Int8ToFloat", from_codes},
                               {NULL, NULL}};
