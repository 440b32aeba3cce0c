/* Element-wise operators of several arguments on GPUs, an element a thread. Dims are merged first;
 * what is broadcast has a stride of 0. */
#ifdef TN_GPU
#define DIM(d, a, b)                           \
  {                                            \
    int q_ = rest / (d), m_ = rest - q_ * (d); \
    ia += m_ * (a);                            \
    ib += m_ * (b);                            \
    rest = q_;                                 \
  }
#define PLACES                  \
  int rest = i, ia = 0, ib = 0; \
  if (RANK == 0) ia = ib = i;   \
  if (RANK > 5) DIM(d5, a5, b5) \
  if (RANK > 4) DIM(d4, a4, b4) \
  if (RANK > 3) DIM(d3, a3, b3) \
  if (RANK > 2) DIM(d2, a2, b2) \
  if (RANK > 1) DIM(d1, a1, b1) \
  if (RANK > 0) DIM(d0, a0, b0)

float power(float x, float y) {
  return y == 2.0f ? x * x : y == 0.5f && x > 0.0f ? sqrt(x) : pow(x, y);
}

/* Of a the largest b * 2^e is taken away, which is exact, until less than b is left. */
float cut_mod_of(float a, float b) {
  float r = fabs(a), step = fabs(b);
  if (!(r < INFINITY) || !(step > 0.0f)) return BITS_TO_FLOAT(0x7fc00000);
  for (int k = 0; k < 300 && r >= step; k++) {
    int bits = FLOAT_TO_BITS(r), by = FLOAT_TO_BITS(step), e = (bits >> 23) - (by >> 23);
    e = (bits & 0x7fffff) < (by & 0x7fffff) ? e - 1 : e;
    float t = step * BITS_TO_FLOAT((e < 127 ? e + 127 : 254) << 23);
    r -= e <= 127 ? t : t * BITS_TO_FLOAT(e << 23);
  }
  return FLOAT_TO_BITS(a) < 0 ? -r : r;
}

float floored_mod_of(float a, float b) {
  float r = cut_mod_of(a, b);
  return r != 0.0f && (r < 0.0f) != (b < 0.0f) ? r + b : r;
}

float binary1(int kind, float a, float b) {
  switch (kind) {
    case 0: return a + b;
    case 1: return a - b;
    case 2: return a * b;
    case 3: return a / b;
    case 4: return power(a, b);
    case 5: return a < 0.0f ? a * b : a;
    case 6: return IS_NAN(a) ? a : IS_NAN(b) ? b : a > b ? a : b;
    case 7: return IS_NAN(a) ? a : IS_NAN(b) ? b : a < b ? a : b;
    case 8: return cut_mod_of(a, b);
    case 9: return floored_mod_of(a, b);
  }
  return a;
}

/* With the sign of a, or of b; % is not defined below 0 in GLSL. */
i64 cut_mod(i64 a, i64 b) { return b == 0 || b == -1 ? 0 : a - a / b * b; }
i64 floored_int_mod(i64 a, i64 b) {
  i64 r = cut_mod(a, b);
  return r != 0 && (r ^ b) < 0 ? r + b : r;
}

i64 binary_int1(int kind, i64 a, i64 b) {
  switch (kind) {
    case 0: return a + b;
    case 1: return a - b;
    case 2: return a * b;
    case 3: return b == 0 ? 0 : b == -1 ? -a : a / b;
    case 6: return a > b ? a : b;
    case 7: return a < b ? a : b;
    case 8: return cut_mod(a, b);
    case 9: return floored_int_mod(a, b);
    case 10: return a & b;
    case 11: return a | b;
    case 12: return a ^ b;
  }
  return a;
}

KERNEL(binary, (IN(A), IN(B), OUT(C)),
       (CONST(KIND), CONST(RANK), INT(n), INTS(d, 6), INTS(a, 6), INTS(b, 6)), 64, 1, 1) {
  int i = GLOBAL(0);
  if (i < n) {
    PLACES
    float c = binary1(KIND, LD1(A, ia), LD1(B, ib));
    ST1(C, i, c);
  }
}

KERNEL(binary_int, (IN(A), IN(B), OUT(C)),
       (CONST(KIND), CONST(RANK), INT(n), INTS(d, 6), INTS(a, 6), INTS(b, 6)), 64, 1, 1) {
  int i = GLOBAL(0);
  if (i < n) {
    PLACES
    i64 c = binary_int1(KIND, LDL(A, ia), LDL(B, ib));
    STL(C, i, c);
  }
}

KERNEL(compare, (IN(A), IN(B), OUT(C)),
       (CONST(KIND), CONST(RANK), INT(n), INTS(d, 6), INTS(a, 6), INTS(b, 6)), 64, 1, 1) {
  int i = GLOBAL(0);
  if (i < n) {
    PLACES
    float a = LD1(A, ia), b = LD1(B, ib);
    bool c = KIND == 0   ? a == b
             : KIND == 1 ? a > b
             : KIND == 2 ? a < b
             : KIND == 3 ? a >= b
                         : a <= b;
    STI(C, i, c ? 1 : 0);
  }
}

KERNEL(compare_int, (IN(A), IN(B), OUT(C)),
       (CONST(KIND), CONST(RANK), INT(n), INTS(d, 6), INTS(a, 6), INTS(b, 6)), 64, 1, 1) {
  int i = GLOBAL(0);
  if (i < n) {
    PLACES
    i64 a = LDL(A, ia), b = LDL(B, ib);
    bool c = KIND == 0   ? a == b
             : KIND == 1 ? a > b
             : KIND == 2 ? a < b
             : KIND == 3 ? a >= b
                         : a <= b;
    if (KIND == 5) c = a != 0 && b != 0;
    if (KIND == 6) c = a != 0 || b != 0;
    if (KIND == 7) c = (a != 0) != (b != 0);
    STI(C, i, c ? 1 : 0);
  }
}
#else
#include "binary.gen.h"
#include "tenon/experimental/gpu.h"
#include "tenon/kit/broadcast.h"
#include "tenon/kit/dtype.h"

enum { DIMS = 6 };

static bool broadcast(const tn_call *call, const tn_tensor *const *in, tn_broadcast *out) {
  return !tn_broadcast_init(out, call->outputs[0], 2, in) && out->rank <= DIMS;
}

const char *binary_gpu_refuse(const tn_call *call) {
  tn_broadcast b;
  if (!broadcast(call, call->inputs, &b))
    return "has more than six dims that broadcast differently";
  return tn_gpu_refuse_size(call);
}

static void add_shape(tn_gpu *g, const tn_broadcast *b, int32_t rank) {
  tn_gpu_int(g, b->total);
  for (int32_t k = 0; k < DIMS; k++) tn_gpu_int(g, k < rank ? b->size[k] : 1);
  for (int32_t i = 0; i < 2; i++)
    for (int32_t k = 0; k < DIMS; k++) tn_gpu_int(g, k < rank ? b->stride[i][k] : 0);
}

/* Output 0 as the first argument of the next step of several. */
enum { OUTPUT = -1 };

static tn_status record_of(const tn_call *call, tn_recorder *r, int32_t program, int32_t kind,
                           int32_t first, int32_t second) {
  const tn_tensor *const in[] = {first == OUTPUT ? call->outputs[0] : call->inputs[first],
                                 call->inputs[second]};
  tn_broadcast b;
  tn_gpu g;
  if (!broadcast(call, in, &b)) return TN_ERR_UNSUPPORTED;
  const bool is_same = b.rank == 1 && b.stride[0][0] == 1 && b.stride[1][0] == 1;
  const int32_t rank = is_same ? 0 : b.rank;
  tn_gpu_begin(&g, call, program);
  if (first == OUTPUT)
    tn_gpu_out(&g, 0);
  else
    tn_gpu_in(&g, first);
  tn_gpu_in(&g, second);
  tn_gpu_out(&g, 0);
  tn_gpu_const(&g, kind);
  tn_gpu_const(&g, rank);
  add_shape(&g, &b, rank);
  return tn_gpu_run(&g, r, tn_gpu_groups(b.total, 64), 1, 1);
}

static tn_status record(const tn_call *call, tn_recorder *r, int32_t program, int32_t kind) {
  return record_of(call, r, program, kind, 0, 1);
}

#define BINARY(op, program, kind)                                                        \
  tn_status op##_gpu_record(const tn_call *call, tn_recorder *recorder) {                \
    const bool is_float = tn_dtype(call->inputs[0]->dtype)->is_float;                    \
    return record(call, recorder, is_float ? GPU_##program : GPU_##program##_int, kind); \
  }
BINARY(add, binary, 0)
BINARY(sub, binary, 1)
BINARY(mul, binary, 2)
BINARY(div, binary, 3)
BINARY(pow, binary, 4)
BINARY(p_relu, binary, 5)
BINARY(equal, compare, 0)
BINARY(greater, compare, 1)
BINARY(less, compare, 2)
BINARY(greater_or_equal, compare, 3)
BINARY(less_or_equal, compare, 4)
BINARY(and, compare, 5)
BINARY(or, compare, 6)
BINARY(xor, compare, 7)
BINARY(bitwise_and, binary, 10)
BINARY(bitwise_or, binary, 11)
BINARY(bitwise_xor, binary, 12)

tn_status mod_gpu_record(const tn_call *call, tn_recorder *recorder) {
  const tn_mod_attrs *a = call->attrs;
  const bool is_float = tn_dtype(call->inputs[0]->dtype)->is_float;
  return record(call, recorder, is_float ? GPU_binary : GPU_binary_int, a->fmod ? 8 : 9);
}

/* Max, Min and Sum: step by step, in the output; of one tensor a copy. */
const char *variadic_gpu_refuse(const tn_call *call) {
  for (uint32_t k = 1; k < call->n_inputs; k++) {
    const tn_tensor *const in[] = {k == 1 ? call->inputs[0] : call->outputs[0], call->inputs[k]};
    tn_broadcast b;
    if (!broadcast(call, in, &b)) return "has more than six dims that broadcast differently";
  }
  return tn_gpu_refuse_size(call);
}

/* Between the steps, sums of halves would be rounded. */
const char *sum_gpu_refuse(const tn_call *call) {
  if (call->n_inputs > 2 && call->inputs[0]->dtype != TN_F32)
    return "adds up two tensors of halves";
  return variadic_gpu_refuse(call);
}

static tn_status record_all(const tn_call *call, tn_recorder *recorder, int32_t kind) {
  const bool is_float = tn_dtype(call->inputs[0]->dtype)->is_float;
  const int32_t program = is_float ? GPU_binary : GPU_binary_int;
  const tn_binding x = {TN_HEAD(tn_binding), TN_BIND_INPUT, 0, 0, 0},
                   y = {TN_HEAD(tn_binding), TN_BIND_OUTPUT, 0, 0, 0};
  if (call->n_inputs == 1)
    return tn_elements(call->inputs[0]) ? recorder->copy(recorder->ctx, &x, &y) : TN_OK;
  tn_status status = record_of(call, recorder, program, kind, 0, 1);
  for (int32_t k = 2; (uint32_t)k < call->n_inputs && !status; k++)
    status = record_of(call, recorder, program, kind, OUTPUT, k);
  return status;
}

tn_status max_gpu_record(const tn_call *call, tn_recorder *recorder) {
  return record_all(call, recorder, 6);
}
tn_status min_gpu_record(const tn_call *call, tn_recorder *recorder) {
  return record_all(call, recorder, 7);
}
tn_status sum_gpu_record(const tn_call *call, tn_recorder *recorder) {
  return record_all(call, recorder, 0);
}
#endif
