/* Codes of 8 bits as torch.ao reckons with them: scales and zero points are numbers of the program,
 * tensors, or chosen when it runs. */
#include "aten.h"
#include "quantized.gen.h"

/* ---- scale and zero point ---- */

/* Inputs 1 and 2, or the program's numbers: of f32, and of the codes' type. Of one number each, if
 * they are no channels'. */
typedef struct params {
  int32_t scale, zero;
  bool by_channel;
} params;

static params params_of(const tn_lowering *l, uint32_t codes) {
  params p = {.by_channel = at_has(l, "axis"), .zero = TN_NO_ID};
  if (!tn_low_type(l, 1)) {
    p.scale = tn_low_number(l, TN_F32, tn_low_float(l, "scale", 1));
    p.zero = tn_low_number(l, codes, (double)tn_low_int(l, "zero_point", 0));
    return p;
  }
  p.scale = at_in(l, 1, TN_F32);
  if (tn_low_type(l, 2)) p.zero = at_in(l, 2, codes);
  if (p.by_channel) return p;
  p.scale = tn_low_reshape(l, p.scale, 0, NULL);
  if (p.zero != TN_NO_ID) p.zero = tn_low_reshape(l, p.zero, 0, NULL);
  return p;
}

static int32_t convert(const tn_lowering *l, const char *op, int32_t x, uint32_t codes) {
  const params p = params_of(l, codes);
  int64_t axis = 0;
  if (p.by_channel) axis = at_dim(l, tn_low_int(l, "axis", 0), tn_low_type(l, 0)->rank);
  if (axis < 0) return (int32_t)axis;
  const tn_attr a = tn_attr_int("axis", axis);
  const int32_t in[] = {x, p.scale, p.zero};
  return tn_low_emit(l, op, in, p.zero == TN_NO_ID ? 2 : 3, &a, p.by_channel ? 1 : 0);
}

static bool is_code(uint32_t dtype) {
  return dtype == TN_I8 || dtype == TN_U8 || dtype == TN_I16 || dtype == TN_U16;
}

/* Codes within what the program allows, which may be less than the type does. */
static int32_t within(const tn_lowering *l, int32_t codes, uint32_t dtype) {
  const int64_t bits = dtype == TN_I8 || dtype == TN_U8 ? 8 : 16;
  const bool is_signed = dtype == TN_I8 || dtype == TN_I16;
  const int64_t least = is_signed ? -(INT64_C(1) << (bits - 1)) : 0,
                most = least + (INT64_C(1) << bits) - 1;
  const int64_t lo = tn_low_int(l, "quant_min", least), hi = tn_low_int(l, "quant_max", most);
  if (lo <= least && hi >= most) return codes;
  const int32_t in[] = {codes, tn_low_number(l, dtype, (double)(lo < least ? least : lo)),
                        tn_low_number(l, dtype, (double)(hi > most ? most : hi))};
  return tn_low_emit(l, "Clip", in, 3, NULL, 0);
}

tn_status quantized_quantize(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const uint32_t dtype = at_dtype(&l, "dtype", TN_I8);
  if (!is_code(dtype)) return tn_low_unsupported(&l, "codes of another type");
  const int32_t x = at_in(&l, 0, TN_F32);
  return tn_low_done(&l, within(&l, convert(&l, "QuantizeLinear", x, dtype), dtype));
}

tn_status quantized_dequantize(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const uint32_t codes = tn_low_type(&l, 0)->dtype, dtype = at_dtype(&l, "out_dtype", TN_F32);
  if (!is_code(codes) && codes != TN_I32) return tn_low_unsupported(&l, "codes of another type");
  const int32_t y = convert(&l, "DequantizeLinear", tn_low_in(&l, 0), codes);
  return tn_low_done(&l, at_cast(&l, y, TN_F32, dtype));
}

/* ---- each row has its own ---- */

tn_status quantized_quantize_tokens(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const uint32_t dtype = at_dtype(&l, "dtype", TN_I8);
  if (!is_code(dtype)) return tn_low_unsupported(&l, "codes of another type");
  const int32_t steps = tn_low_2(&l, "Div", at_in(&l, 0, TN_F32), at_in(&l, 1, TN_F32));
  const int32_t codes = tn_low_2(&l, "Add", tn_low_1(&l, "Round", steps), at_in(&l, 2, TN_F32));
  const int32_t y = tn_low_clip(&l, codes, TN_F32, (double)tn_low_int(&l, "quant_min", -128),
                                (double)tn_low_int(&l, "quant_max", 127));
  return tn_low_done(&l, tn_low_cast(&l, y, dtype));
}

tn_status quantized_dequantize_tokens(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const int32_t steps = tn_low_2(&l, "Sub", at_in(&l, 0, TN_F32), at_in(&l, 2, TN_F32));
  const int32_t y = tn_low_2(&l, "Mul", steps, at_in(&l, 1, TN_F32));
  return tn_low_done(&l, at_cast(&l, y, TN_F32, at_dtype(&l, "output_dtype", TN_F32)));
}

/* Of all elements, or of each row: so that the least, the largest and 0 have codes, and 0 is one
 * exactly. Of the two zero points that the ends of the range ask for, the one that errs less. */
tn_status quantized_choose(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_tensor *x = tn_low_type(&l, 0);
  const bool by_row = !at_has(&l, "quant_min");
  const int64_t qmin = tn_low_int(&l, "quant_min", -128), qmax = tn_low_int(&l, "quant_max", 127);
  const double smallest = 6.1e-5; /* a scale below is this one */
  int64_t dims[TN_MAX_RANK];
  if (qmax <= qmin || (by_row && !x->rank)) return at_fail(&l, TN_ERR_INVALID, "there is no range");
  for (int32_t k = 0; k < x->rank; k++) dims[k] = by_row ? x->rank - 1 : k;
  const int32_t n = by_row ? 1 : x->rank, wide = at_in(&l, 0, TN_F64);
  const int32_t zero = tn_low_number(&l, TN_F64, 0), lo = tn_low_number(&l, TN_F64, (double)qmin),
                hi = tn_low_number(&l, TN_F64, (double)qmax),
                least =
                    tn_low_2(&l, "Min", at_reduce(&l, "ReduceMin", wide, dims, n, by_row), zero),
                most = tn_low_2(&l, "Max", at_reduce(&l, "ReduceMax", wide, dims, n, by_row), zero);
  const int32_t range = tn_low_2(&l, "Sub", most, least),
                exact =
                    tn_low_2(&l, "Div", range, tn_low_number(&l, TN_F64, (double)(qmax - qmin)));
  const int32_t scale =
      at_where(&l, tn_low_2(&l, "Equal", range, zero), tn_low_number(&l, TN_F64, 0.1),
               tn_low_2(&l, "Max", exact, tn_low_number(&l, TN_F64, smallest)));
  const int32_t below = tn_low_2(&l, "Div", least, scale), above = tn_low_2(&l, "Div", most, scale);
  const int32_t low_error =
                    tn_low_2(&l, "Sub", tn_low_1(&l, "Abs", lo), tn_low_1(&l, "Abs", below)),
                high_error =
                    tn_low_2(&l, "Sub", tn_low_1(&l, "Abs", hi), tn_low_1(&l, "Abs", above));
  const int32_t chosen = at_where(&l, tn_low_2(&l, "Less", low_error, high_error),
                                  tn_low_2(&l, "Sub", lo, below), tn_low_2(&l, "Sub", hi, above));
  const int32_t whole =
      tn_low_1(&l, "Round", tn_low_clip(&l, chosen, TN_F64, (double)qmin, (double)qmax));
  int32_t out[] = {scale, tn_low_cast(&l, whole, TN_I64)};
  const int64_t one = 1;
  for (int k = 0; k < 2 && !by_row; k++) out[k] = tn_low_reshape(&l, out[k], 1, &one);
  return tn_low_done_many(&l, out, 2);
}

/* ---- sums, tables ---- */

static int32_t as_numbers(const tn_lowering *l, uint32_t k, const char *scale, const char *zero) {
  const int32_t whole = tn_low_2(l, "Sub", at_in(l, k, TN_F32),
                                 tn_low_number(l, TN_F32, (double)tn_low_int(l, zero, 0)));
  return tn_low_2(l, "Mul", whole, tn_low_number(l, TN_F32, tn_low_float(l, scale, 1)));
}

tn_status quantized_add(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const uint32_t dtype = tn_low_type(&l, 0)->dtype;
  if (!is_code(dtype)) return tn_low_unsupported(&l, "codes of another type");
  const int32_t sum = tn_low_2(&l, "Add", as_numbers(&l, 0, "a_scale", "a_zero_point"),
                               as_numbers(&l, 1, "b_scale", "b_zero_point"));
  const int64_t zero = tn_low_int(&l, "out_zero_point", 0);
  return tn_low_done(&l, tn_low_quantize_within(&l, sum, dtype, tn_low_float(&l, "out_scale", 1),
                                                zero, tn_low_int(&l, "out_quant_min", -128),
                                                tn_low_int(&l, "out_quant_max", 127)));
}

/* Rows of numbers of so many bits, the first of a byte in its high bits where two share one, in its
 * low ones where four do; all less half of the range. */
static int32_t spread(const tn_lowering *l, int32_t rows, int32_t rank, int64_t bits) {
  enum { MOST = 4 };
  int32_t parts[MOST];
  const int64_t n = 8 / bits, last = rank;
  for (int64_t k = 0; k < n; k++) {
    const int64_t down = bits == 4 ? 4 * (1 - k) : 2 * k;
    const tn_attr right = tn_attr_str("direction", "RIGHT");
    const int32_t shift[] = {rows, tn_low_number(l, TN_U8, (double)down)};
    const int32_t moved = tn_low_emit(l, "BitShift", shift, 2, &right, 1);
    const int32_t mask = tn_low_number(l, TN_U8, (double)((1 << bits) - 1));
    parts[k] = at_unsqueeze(l, tn_low_2(l, "BitwiseAnd", moved, mask), last);
  }
  const int32_t all = at_concat(l, parts, (uint32_t)n, last);
  return tn_low_2(l, "Sub", tn_low_cast(l, all, TN_F32),
                  tn_low_number(l, TN_F32, (double)(1 << (bits - 1))));
}

/* Rows of a table, of which each, or each group of a row, has a scale. */
tn_status quantized_embedding(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  enum { WEIGHT, SCALES, ZEROS, INDICES };
  const tn_tensor *w = tn_low_type(&l, WEIGHT), *s = tn_low_type(&l, SCALES),
                  *at = tn_low_type(&l, INDICES);
  const int64_t bits = at_is(&l, "embedding_4bit") ? 4 : at_is(&l, "embedding_2bit") ? 2 : 8;
  const uint32_t dtype = at_dtype(&l, "dtype", s->dtype);
  int64_t shape[TN_MAX_RANK];
  if (w->rank != 2 || s->rank < 1 || s->rank > 2 || at->rank > TN_MAX_RANK - 3 ||
      (bits < 8 && w->dtype != TN_U8))
    return at_fail(&l, TN_ERR_SHAPE, "its table, scales or indices have other dims, or types");
  const int64_t groups = s->rank == 2 ? s->shape[1] : 1, columns = w->shape[1] * (8 / bits);
  if (groups < 1 || columns % groups)
    return at_fail(&l, TN_ERR_SHAPE, "its rows are no whole groups");
  const int32_t index = tn_low_in(&l, INDICES);
  int32_t y = at_gather(&l, tn_low_in(&l, WEIGHT), index, 0);
  y = bits == 8 ? at_cast(&l, y, w->dtype, TN_F32) : spread(&l, y, at->rank + 1, bits);
  for (int32_t k = 0; k < at->rank; k++) shape[k] = at->shape[k];
  shape[at->rank] = groups;
  shape[at->rank + 1] = columns / groups;
  y = tn_low_reshape(&l, y, at->rank + 2, shape);
  shape[at->rank + 1] = 1;
  for (uint32_t k = ZEROS; k >= SCALES; k--) {
    if (k == ZEROS && !tn_low_type(&l, k)) continue;
    const int32_t of =
        tn_low_reshape(&l, at_gather(&l, at_in(&l, k, TN_F32), index, 0), at->rank + 2, shape);
    y = tn_low_2(&l, k == ZEROS ? "Sub" : "Mul", y, of);
  }
  shape[at->rank] = columns;
  return tn_low_done(&l, at_cast(&l, tn_low_reshape(&l, y, at->rank + 1, shape), TN_F32, dtype));
}
