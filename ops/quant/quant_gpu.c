/* Quantisation on GPUs, an element a thread: one scale for all, or one per index of an axis. */
#ifdef TN_GPU
#define PLACE(i) (n == 1 ? 0 : (i) / inner % n)

/* Rounded to a half float, which has so many bits less (f16 13, bf16 16). What is too small or too
 * large for one is rounded to 0 or saturates next. */
float shorten(float x, int bits) {
  int u = FLOAT_TO_BITS(x);
  return BITS_TO_FLOAT((u + (1 << (bits - 1)) - 1 + (u >> bits & 1)) >> bits << bits);
}

#define DIM(d, a, b)                           \
  {                                            \
    int q_ = rest / (d), m_ = rest - q_ * (d); \
    ia += m_ * (a);                            \
    ib += m_ * (b);                            \
    rest = q_;                                 \
  }

KERNEL(dequantize, (IN(X), IN(SCALE), IN(ZERO), OUT(Y)),
       (CONST(HAS_ZERO), INT(count), INT(n), INT(inner)), 64, 1, 1) {
  int i = GLOBAL(0);
  if (i < count) {
    int place = PLACE(i);
    i64 x = LDL(X, i); /* a difference of two i32 */
    if (HAS_ZERO != 0) x -= LDL(ZERO, place);
    float y = TO_FLOAT(x) * LD1(SCALE, place);
    ST1(Y, i, y);
  }
}

KERNEL(quantize, (IN(X), IN(SCALE), IN(ZERO), OUT(Y)),
       (CONST(HAS_ZERO), CONST(HALF), INT(count), INT(n), INT(inner), INT(lo), INT(hi)), 64, 1, 1) {
  int i = GLOBAL(0);
  if (i < count) {
    int place = PLACE(i), zero = 0;
    if (HAS_ZERO != 0) zero = LDI(ZERO, place);
    float x = LD1(X, i) / LD1(SCALE, place), least = TO_FLOAT(lo - zero),
          most = TO_FLOAT(hi - zero);
    if (HALF > 0 && fabs(x) < INFINITY) x = shorten(x, HALF);
    x = rint(x);
    x = !(x > least) ? least : x > most ? most : x; /* NaN: the least */
    STI(Y, i, TO_INT(x) + zero);
  }
}

/* The sum or product of two quantised values; what is broadcast has a stride of 0. */
KERNEL(quant_add, (IN(A), IN(B), OUT(Y)),
       (CONST(PRODUCT), CONST(HALVES_UP), CONST(RANK), INT(n), INTS(d, 6), INTS(a, 6), INTS(b, 6),
        INT(a_zero), INT(b_zero), INT(y_zero), INT(lo), INT(hi), FLOAT(a_scale), FLOAT(b_scale),
        FLOAT(y_scale)),
       64, 1, 1) {
  int i = GLOBAL(0);
  if (i < n) {
    int rest = i, ia = 0, ib = 0;
    if (RANK == 0) ia = ib = i;
    if (RANK > 5) DIM(d5, a5, b5)
    if (RANK > 4) DIM(d4, a4, b4)
    if (RANK > 3) DIM(d3, a3, b3)
    if (RANK > 2) DIM(d2, a2, b2)
    if (RANK > 1) DIM(d1, a1, b1)
    if (RANK > 0) DIM(d0, a0, b0)
    EXACT float u = TO_FLOAT(LDI(A, ia) - a_zero) * a_scale;
    EXACT float v = TO_FLOAT(LDI(B, ib) - b_zero) * b_scale;
    EXACT float y = PRODUCT != 0 ? u * v : u + v;
    if (HALVES_UP != 0) y = floor(y + 0.5f);
    y = rint(y / y_scale);
    y = !(y > TO_FLOAT(lo - y_zero)) ? TO_FLOAT(lo - y_zero) : y;
    y = y > TO_FLOAT(hi - y_zero) ? TO_FLOAT(hi - y_zero) : y;
    STI(Y, i, TO_INT(y) + y_zero);
  }
}

KERNEL(quant_table, (IN(X), IN(TABLE), OUT(Y)), (INT(n)), 64, 1, 1) {
  int i = GLOBAL(0);
  if (i < n) {
    int code = LDI(X, i);
    STI(Y, i, LDI(TABLE, code < 0 ? code + 256 : code));
  }
}
#else
#include "quant_add.h"
#include "scales.h"
#include "tenon/experimental/gpu.h"

/* x and its quantised other side. */
static const char *refuse(const tn_call *call, int64_t axis, int64_t block) {
  scales s;
  if (scales_make(call, call->inputs[0], call->inputs[1], axis, block, &s))
    return "its scales do not fit";
  if (s.block) return "takes a scale for all, or one per index of an axis";
  return tn_gpu_refuse_size(call);
}

const char *dequantize_linear_gpu_refuse(const tn_call *call) {
  const tn_dequantize_linear_attrs *a = call->attrs;
  return refuse(call, a->axis, a->block_size);
}

/* Than f32, in the type to divide in; -1: it is another one. */
static int32_t bits_less(const tn_call *call) {
  const uint32_t type = scales_precision(call);
  return type == TN_F32 ? 0 : type == TN_F16 ? 13 : type == TN_BF16 ? 16 : -1;
}

const char *quantize_linear_gpu_refuse(const tn_call *call) {
  const tn_quantize_linear_attrs *a = call->attrs;
  if (bits_less(call) < 0) return "divides in f32, f16 or bf16";
  return refuse(call, a->axis, a->block_size);
}

static tn_status begin(tn_gpu *g, const tn_call *call, int32_t program, int64_t axis) {
  scales s;
  const tn_status status = scales_make(call, call->inputs[0], call->inputs[1], axis, 0, &s);
  if (status) return status;
  tn_gpu_begin(g, call, program);
  for (int32_t k = 0; k < 3; k++) tn_gpu_in(g, k);
  tn_gpu_out(g, 0);
  tn_gpu_const(g, tn_has_input(call, 2));
  tn_gpu_int(g, tn_elements(call->outputs[0]));
  tn_gpu_int(g, s.single ? 1 : s.n);
  tn_gpu_int(g, s.single ? 1 : s.inner);
  return TN_OK;
}

tn_status dequantize_linear_gpu_record(const tn_call *call, tn_recorder *recorder) {
  const tn_dequantize_linear_attrs *a = call->attrs;
  tn_gpu g;
  const tn_status status = begin(&g, call, GPU_dequantize, a->axis);
  if (status) return status;
  return tn_gpu_run(&g, recorder, tn_gpu_groups(tn_elements(call->outputs[0]), 64), 1, 1);
}

tn_status quantize_linear_gpu_record(const tn_call *call, tn_recorder *recorder) {
  const tn_quantize_linear_attrs *a = call->attrs;
  const bool is_signed = call->outputs[0]->dtype == TN_I8;
  tn_gpu g;
  const tn_status status = begin(&g, call, GPU_quantize, a->axis);
  if (status) return status;
  tn_gpu_const(&g, bits_less(call));
  tn_gpu_int(&g, is_signed ? INT8_MIN : 0);
  tn_gpu_int(&g, is_signed ? INT8_MAX : UINT8_MAX);
  return tn_gpu_run(&g, recorder, tn_gpu_groups(tn_elements(call->outputs[0]), 64), 1, 1);
}

/* ---- bytes of bytes ---- */

enum { DIMS = 6 };

static bool broadcast(const tn_call *call, tn_broadcast *out) {
  return !tn_broadcast_init(out, call->outputs[0], 2, call->inputs) && out->rank <= DIMS;
}

const char *quant_add_gpu_refuse(const tn_call *call) {
  tn_broadcast b;
  if (!broadcast(call, &b)) return "has more than six dims that broadcast differently";
  return tn_gpu_refuse_size(call);
}

static void add_shape(tn_gpu *g, const tn_broadcast *b) {
  tn_gpu_int(g, b->total);
  for (int32_t k = 0; k < DIMS; k++) tn_gpu_int(g, k < b->rank ? b->size[k] : 1);
  for (int32_t i = 0; i < 2; i++)
    for (int32_t k = 0; k < DIMS; k++) tn_gpu_int(g, k < b->rank ? b->stride[i][k] : 0);
}

static tn_status record_add(const tn_call *call, tn_recorder *recorder, bool is_product) {
  const tn_quant_add_attrs *a = call->attrs;
  tn_broadcast b;
  tn_gpu g;
  if (!broadcast(call, &b)) return TN_ERR_UNSUPPORTED;
  const bool is_same = b.rank == 1 && b.stride[0][0] == 1 && b.stride[1][0] == 1;
  const int64_t ints[] = {a->a_zero, a->b_zero, a->y_zero, a->lo, a->hi};
  const double floats[] = {a->a_scale, a->b_scale, a->y_scale};
  tn_gpu_begin(&g, call, GPU_quant_add);
  tn_gpu_in(&g, 0);
  tn_gpu_in(&g, 1);
  tn_gpu_out(&g, 0);
  tn_gpu_const(&g, is_product);
  tn_gpu_const(&g, a->halves_up != 0);
  tn_gpu_const(&g, is_same ? 0 : b.rank);
  add_shape(&g, &b);
  for (size_t k = 0; k < sizeof ints / sizeof *ints; k++) tn_gpu_int(&g, ints[k]);
  for (size_t k = 0; k < sizeof floats / sizeof *floats; k++) tn_gpu_float(&g, floats[k]);
  return tn_gpu_run(&g, recorder, tn_gpu_groups(b.total, 64), 1, 1);
}

tn_status quant_add_gpu_record(const tn_call *call, tn_recorder *recorder) {
  return record_add(call, recorder, false);
}
tn_status quant_mul_gpu_record(const tn_call *call, tn_recorder *recorder) {
  return record_add(call, recorder, true);
}

const char *quant_table_gpu_refuse(const tn_call *call) { return tn_gpu_refuse_size(call); }

tn_status quant_table_gpu_record(const tn_call *call, tn_recorder *recorder) {
  const int64_t n = tn_elements(call->outputs[0]);
  tn_gpu g;
  tn_gpu_begin(&g, call, GPU_quant_table);
  tn_gpu_in(&g, 0);
  tn_gpu_in(&g, 1);
  tn_gpu_out(&g, 0);
  tn_gpu_int(&g, n);
  return tn_gpu_run(&g, recorder, tn_gpu_groups(n, 64), 1, 1);
}
#endif
