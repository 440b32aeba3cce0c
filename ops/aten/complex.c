/* Complex numbers: what they are made of and taken apart to, and what is computed on their parts. A
 * value of c64 is pairs of f32 (tenon::Complex, tenon::ComplexParts); ai.onnx has numbers alone. */
#include "complex.h"
#include "aten.h"
#include "aten_complex.gen.h"

/* ---- parts ---- */

uint32_t at_real_of(uint32_t dtype) {
  return dtype == TN_C128 ? TN_F64 : dtype == TN_C64 ? TN_F32 : dtype;
}

at_parts at_parts_of(const tn_lowering *l, int32_t x, uint32_t dtype) {
  const int32_t pairs = tn_low_1(l, "tenon::ComplexParts", x);
  return (at_parts){at_gather(l, pairs, at_int_const(l, TN_I64, 0), -1),
                    at_gather(l, pairs, at_int_const(l, TN_I64, 1), -1), at_real_of(dtype)};
}

/* Input k, of parts of that type; of numbers that are real the other part is 0. */
static at_parts parts_of_input(const tn_lowering *l, uint32_t k, uint32_t real) {
  const tn_tensor *t = tn_low_type(l, k);
  if (tn_dtype(t->dtype)->is_complex) {
    const at_parts p = at_parts_of(l, tn_low_in(l, k), t->dtype);
    return (at_parts){at_cast(l, p.re, p.dtype, real), at_cast(l, p.im, p.dtype, real), real};
  }
  return (at_parts){at_in(l, k, real), at_full(l, at_int_const(l, real, 0), t->rank, t->shape),
                    real};
}

int32_t at_complex(const tn_lowering *l, at_parts p) {
  const int32_t pair[] = {at_unsqueeze(l, p.re, -1), at_unsqueeze(l, p.im, -1)};
  return tn_low_1(l, "tenon::Complex", at_concat(l, pair, 2, -1));
}

static int32_t size_of(const tn_lowering *l, at_parts p) {
  const int32_t pair[] = {at_unsqueeze(l, p.re, -1), at_unsqueeze(l, p.im, -1)};
  const int64_t last = -1;
  return at_reduce(l, "ReduceL2", at_concat(l, pair, 2, -1), &last, 1, false);
}

/* The angle of (x, y): that of y / x, moved by pi where x is below 0. */
static int32_t angle_of(const tn_lowering *l, at_parts p) {
  const int32_t zero = at_int_const(l, p.dtype, 0), pi = tn_low_number(l, p.dtype, M_PI),
                half = tn_low_number(l, p.dtype, M_PI / 2);
  const int32_t is_flat = tn_low_2(l, "Equal", p.re, zero),
                x = at_where(l, is_flat, at_int_const(l, p.dtype, 1), p.re),
                slope = tn_low_1(l, "Atan", tn_low_2(l, "Div", p.im, x)),
                below = tn_low_2(l, "Less", p.im, zero),
                turn = at_where(l, below, tn_low_1(l, "Neg", pi), pi),
                left = tn_low_2(l, "Less", p.re, zero),
                angle = at_where(l, left, tn_low_2(l, "Add", slope, turn), slope);
  const int32_t up = tn_low_2(l, "Mul", tn_low_1(l, "Sign", p.im), half);
  return at_where(l, is_flat, up, angle);
}

/* ---- making them, taking them apart ---- */

static tn_status floats_only(const tn_lowering *l, uint32_t dtype) {
  return dtype == TN_F32 || dtype == TN_F64 ? TN_OK
                                            : tn_low_unsupported(l, "parts other than f32 and f64");
}

/* Both in the shape of their sum. */
static int32_t made_of(const tn_lowering *l, int32_t re, int32_t im, uint32_t dtype) {
  const tn_tensor *a = tn_low_type(l, 0), *b = tn_low_type(l, 1);
  const bool same =
      a->rank == b->rank && !memcmp(a->shape, b->shape, sizeof(int64_t) * (size_t)a->rank);
  if (!same) {
    const int32_t shape = tn_low_1(l, "Shape", tn_low_2(l, "Add", re, im));
    re = tn_low_2(l, "Expand", re, shape), im = tn_low_2(l, "Expand", im, shape);
  }
  return at_complex(l, (at_parts){re, im, dtype});
}

tn_status aten_complex(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const uint32_t dtype = tn_low_type(&l, 0)->dtype;
  const tn_status s = floats_only(&l, dtype);
  if (s) return s;
  const int32_t a = tn_low_in(&l, 0), b = at_in(&l, 1, dtype);
  if (!at_is(&l, "polar")) return tn_low_done(&l, made_of(&l, a, b, dtype));
  return tn_low_done(&l, made_of(&l, tn_low_2(&l, "Mul", a, tn_low_1(&l, "Cos", b)),
                                 tn_low_2(&l, "Mul", a, tn_low_1(&l, "Sin", b)), dtype));
}

tn_status aten_view_as_complex(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_status s = floats_only(&l, tn_low_type(&l, 0)->dtype);
  return s ? s : tn_low_done(&l, tn_low_1(&l, "tenon::Complex", tn_low_in(&l, 0)));
}

tn_status aten_view_as_real(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  return tn_low_done(&l, tn_low_1(&l, "tenon::ComplexParts", tn_low_in(&l, 0)));
}

/* real, imag, angle, conj and others of one value that may be real. */
tn_status aten_complex_part(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const uint32_t dtype = tn_low_type(&l, 0)->dtype;
  if (at_is(&l, "angle")) {
    const uint32_t real = at_real_of(at_float_of(dtype));
    return tn_low_done(&l, angle_of(&l, parts_of_input(&l, 0, real)));
  }
  if (!tn_dtype(dtype)->is_complex) return at_done_input(&l);
  at_parts p = at_parts_of(&l, tn_low_in(&l, 0), dtype);
  if (at_is(&l, "real")) return tn_low_done(&l, p.re);
  if (at_is(&l, "imag")) return tn_low_done(&l, p.im);
  p.im = tn_low_1(&l, "Neg", p.im);
  return tn_low_done(&l, at_complex(&l, p));
}

/* ---- arithmetic ---- */

/* The two sides of a sum or product, of which one may be a number. */
static void sides_of(const tn_lowering *l, uint32_t real, at_parts *a, at_parts *b) {
  const bool self_is_number = at_has(l, "self");
  const at_scalar s = at_number(l, self_is_number ? "self" : "other");
  const at_parts number = {s.is_there ? at_const(l, real, s) : TN_NO_ID, at_int_const(l, real, 0),
                           real};
  *a = self_is_number ? number : parts_of_input(l, 0, real);
  *b = self_is_number ? parts_of_input(l, 0, real)
       : s.is_there   ? number
                      : parts_of_input(l, 1, real);
}

static at_parts product(const tn_lowering *l, at_parts a, at_parts b, const char *op) {
  return (at_parts){tn_low_2(l, "Sub", tn_low_2(l, op, a.re, b.re), tn_low_2(l, op, a.im, b.im)),
                    tn_low_2(l, "Add", tn_low_2(l, op, a.re, b.im), tn_low_2(l, op, a.im, b.re)),
                    a.dtype};
}

static at_parts scaled(const tn_lowering *l, const char *op, at_parts a, int32_t by) {
  return (at_parts){tn_low_2(l, op, a.re, by), tn_low_2(l, op, a.im, by), a.dtype};
}

/* a * conj(b) / |b|^2 */
static at_parts quotient(const tn_lowering *l, at_parts a, at_parts b) {
  const int32_t square =
      tn_low_2(l, "Add", tn_low_2(l, "Mul", b.re, b.re), tn_low_2(l, "Mul", b.im, b.im));
  b.im = tn_low_1(l, "Neg", b.im);
  return scaled(l, "Div", product(l, a, b, "Mul"), square);
}

tn_status at_complex_binary(const tn_lowering *l, uint32_t dtype, const char *op) {
  const uint32_t real = at_real_of(dtype);
  at_parts a, b;
  sides_of(l, real, &a, &b);
  if (!strcmp(op, "Mul")) return tn_low_done(l, at_complex(l, product(l, a, b, "Mul")));
  if (!strcmp(op, "Div")) return tn_low_done(l, at_complex(l, quotient(l, a, b)));
  const at_scalar alpha = at_number(l, "alpha");
  const bool turned = at_is(l, "rsub");
  if (alpha.is_there && alpha.f != 1) {
    at_parts *times = turned ? &a : &b;
    *times = scaled(l, "Mul", *times, at_const(l, real, alpha));
  }
  const at_parts *x = turned ? &b : &a, *y = turned ? &a : &b;
  return tn_low_done(l, at_complex(l, (at_parts){tn_low_2(l, op, x->re, y->re),
                                                 tn_low_2(l, op, x->im, y->im), real}));
}

tn_status at_complex_matmul(const tn_lowering *l, uint32_t dtype) {
  const uint32_t real = at_real_of(dtype);
  const at_parts a = parts_of_input(l, 0, real), b = parts_of_input(l, 1, real);
  return tn_low_done(l, at_complex(l, product(l, a, b, "MatMul")));
}

static int32_t einsum(const tn_lowering *l, const tn_attr *equation, int32_t a, int32_t b) {
  const int32_t in[] = {a, b};
  return tn_low_emit(l, "Einsum", in, b == TN_NO_ID ? 1 : 2, equation, 1);
}

tn_status at_complex_einsum(const tn_lowering *l, uint32_t dtype, const tn_attr *equation) {
  const uint32_t real = at_real_of(dtype), n = l->call->n_inputs;
  if (n != 1 && n != 2) return tn_low_unsupported(l, "so many complex tensors");
  const at_parts a = parts_of_input(l, 0, real);
  if (n == 1)
    return tn_low_done(l, at_complex(l, (at_parts){einsum(l, equation, a.re, TN_NO_ID),
                                                   einsum(l, equation, a.im, TN_NO_ID), real}));
  const at_parts b = parts_of_input(l, 1, real);
  const int32_t re = tn_low_2(l, "Sub", einsum(l, equation, a.re, b.re),
                              einsum(l, equation, a.im, b.im)),
                im = tn_low_2(l, "Add", einsum(l, equation, a.re, b.im),
                              einsum(l, equation, a.im, b.re));
  return tn_low_done(l, at_complex(l, (at_parts){re, im, real}));
}

/* Both parts for themselves, by an operator that reduces dims. */
tn_status at_complex_reduce(const tn_lowering *l, const char *op, const int64_t *dims, int32_t n,
                            bool keeps) {
  const at_parts p = at_parts_of(l, tn_low_in(l, 0), tn_low_type(l, 0)->dtype);
  return tn_low_done(l, at_complex(l, (at_parts){at_reduce(l, op, p.re, dims, n, keeps),
                                                 at_reduce(l, op, p.im, dims, n, keeps), p.dtype}));
}

/* abs and its like are real, exp and others complex. */
tn_status at_complex_unary(const tn_lowering *l, const char *op) {
  const at_parts p = at_parts_of(l, tn_low_in(l, 0), tn_low_type(l, 0)->dtype);
  if (!strcmp(op, "Abs")) return tn_low_done(l, size_of(l, p));
  if (!strcmp(op, "Identity")) return at_done_input(l);
  if (!strcmp(op, "Neg"))
    return tn_low_done(
        l, at_complex(l, (at_parts){tn_low_1(l, "Neg", p.re), tn_low_1(l, "Neg", p.im), p.dtype}));
  if (!strcmp(op, "Log"))
    return tn_low_done(
        l, at_complex(l, (at_parts){tn_low_1(l, "Log", size_of(l, p)), angle_of(l, p), p.dtype}));
  if (!strcmp(op, "Reciprocal")) {
    const at_parts one = {at_int_const(l, p.dtype, 1), at_int_const(l, p.dtype, 0), p.dtype};
    return tn_low_done(l, at_complex(l, quotient(l, one, p)));
  }
  if (strcmp(op, "Exp") != 0) return tn_low_unsupported(l, "complex numbers");
  const at_parts turned = {tn_low_1(l, "Cos", p.im), tn_low_1(l, "Sin", p.im), p.dtype};
  return tn_low_done(l, at_complex(l, scaled(l, "Mul", turned, tn_low_1(l, "Exp", p.re))));
}
