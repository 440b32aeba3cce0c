/* QuantMatMul and DynamicMatMul on GPUs: products of 8-bit integers, four at once, with sums in 32
 * bits, in tiles, or one a thread where there are few rows. B is packed by prepare() if it is
 * constant, else before each product. DynamicMatMul makes codes of its rows first. */
#ifdef TN_GPU
#include "quad_gpu.h"

/* ROWS: a scale for each row of A. */
#define FINISH(sum, r, q)                                                \
  {                                                                      \
    int place_ = (r)*n + (q);                                            \
    float factor_ = LD1(A_SCALE, ROWS != 0 ? (r) : 0), per_step_ = 1.0f; \
    if (HAS_CODES != 0) {                                                \
      per_step_ = 1.0f / LD1(Y_SCALE, 0);                                \
      factor_ = factor_ / LD1(Y_SCALE, 0);                               \
    }                                                                    \
    float v_ = LD1(B_SCALE, MANY_SCALES != 0 ? (q) : 0) * factor_;       \
    v_ = TO_FLOAT(sum) * v_;                                             \
    if (HAS_BIAS != 0) v_ += LD1(BIAS, q) * per_step_;                   \
    if (HAS_CODES != 0) {                                                \
      int zero_ = LDI(Y_ZERO, 0);                                        \
      float most_ = TO_FLOAT(hi - zero_), least_ = TO_FLOAT(lo - zero_); \
      v_ = rint(v_);                                                     \
      v_ = !(v_ > least_) ? least_ : v_ > most_ ? most_ : v_;            \
      STI(Y, place_, TO_INT(v_) + zero_);                                \
    } else {                                                             \
      EPILOGUE1(v_, place_)                                              \
      ST1(Y, place_, v_);                                                \
    }                                                                    \
  }

#define A_ZERO_OF(r) (HAS_A_ZERO != 0 ? LDI(A_ZERO, ROWS != 0 ? (r) : 0) : 0) - a_less
#define B_ZERO_OF(q) (B_ZEROS != 0 ? LDI(B_ZERO, B_ZEROS == 1 ? 0 : (q)) : 0) - b_less

KERNEL(quant_gemm,
       (IN(A), IN(A_SCALE), IN(A_ZERO), IN(P), IN(B_SCALE), IN(B_ZERO), IN(BIAS), IN(Y_SCALE),
        IN(Y_ZERO), OUT(Y), EPILOGUE),
       (CONST(HAS_A_ZERO), CONST(B_ZEROS), CONST(A_SUMS), CONST(ROWS), CONST(MANY_SCALES),
        CONST(HAS_BIAS), CONST(HAS_CODES), INT(m), INT(n), INT(k), INT(a_row), INT(a_less),
        INT(b_less), INT(lo), INT(hi)),
       8, 8, 1) {
  LOCAL(int, as, 528);
  LOCAL(int, bs, 512);
  int x = LOCAL_ID(0), y = LOCAL_ID(1), t = y * 8 + x, quads = (k + 3) / 4, at_a = 0, at_p = 0;
  int row = GROUP(1) * 32, col = GROUP(0) * 32;
  QUAD_SUM
  for (int e = 0; e < 16; e++) {
    int r = row + y + e / 4 * 8, q = col + x + e % 4 * 8, sum = QUAD_SIXTEENTH(e);
    if (r < m && q < n) {
      int a_zero = A_ZERO_OF(r), b_zero = B_ZERO_OF(q);
      QUAD_ZEROS(sum, q, a_zero, b_zero, QUAD_FOURTH(e / 4, z0, z1, z2, z3))
      FINISH(sum, r, q)
    }
  }
}

KERNEL(quant_gemm_few_rows,
       (IN(A), IN(A_SCALE), IN(A_ZERO), IN(P), IN(B_SCALE), IN(B_ZERO), IN(BIAS), IN(Y_SCALE),
        IN(Y_ZERO), OUT(Y), EPILOGUE),
       (CONST(HAS_A_ZERO), CONST(B_ZEROS), CONST(A_SUMS), CONST(ROWS), CONST(MANY_SCALES),
        CONST(HAS_BIAS), CONST(HAS_CODES), INT(m), INT(n), INT(k), INT(a_row), INT(a_less),
        INT(b_less), INT(lo), INT(hi)),
       64, 1, 1) {
  int q = GLOBAL(0), r = GROUP(1), quads = (k + 3) / 4, at_a = 0, at_p = 0, sum = 0, a_sum = 0;
  if (q < n) {
    QUAD_FLAT(sum, a_sum, r, q)
    int a_zero = A_ZERO_OF(r), b_zero = B_ZERO_OF(q);
    QUAD_ZEROS(sum, q, a_zero, b_zero, a_sum)
    FINISH(sum, r, q)
  }
}

KERNEL(quant_pack, (IN(B), OUT(P)), (INT(n), INT(k), INT(b_row), INT(b_col), INT(b_less)), 64, 1,
       1) {
  int q = GLOBAL(0), at_b = 0, at_p = 0;
  if (q < n) {
    QUAD_PACK(q)
  }
}

/* As dynamic_codes_of() and dynamic_code(). */
KERNEL(dynamic_codes, (IN(A), OUT(SCALE), OUT(ZERO), OUT(CODES)), (INT(k)), 64, 1, 1) {
  LOCAL(float, low, 64);
  LOCAL(float, high, 64);
  int t = LOCAL_ID(0), row = GROUP(0);
  float least = 0.0f, most = 0.0f;
  for (int i = t; i < k; i += 64) {
    float x = LD1(A, row * k + i);
    least = x < least ? x : least;
    most = x > most ? x : most;
  }
  low[t] = least;
  high[t] = most;
  BARRIER();
  for (int i = 0; i < 64; i++) {
    least = low[i] < least ? low[i] : least;
    most = high[i] > most ? high[i] : most;
  }
  float factor = least == most ? 1.0f : 255.0f / (most - least);
  float down = least * factor, up = most * factor;
  float zero = (-128.0f + down) + (127.0f + up) > 0.0f ? -128.0f - down : 127.0f - up;
  zero = rint(!(zero > -128.0f) ? -128.0f : zero > 127.0f ? 127.0f : zero);
  float lo = -128.0f - zero, hi = 127.0f - zero;
  int quads = (k + 3) / 4;
  for (int i = t; i < quads; i += 64) {
    int quad = 0;
    for (int j = 0; j < 4; j++) {
      float q = i * 4 + j < k ? LD1(A, row * k + i * 4 + j) * factor : 0.0f;
      q = q > lo ? q : lo;
      q = q < hi ? q : hi;
      quad = quad | (TO_INT(rint(q) + zero) & 255) << j * 8;
    }
    STI(CODES, row * quads + i, quad);
  }
  if (t == 0) {
    ST1(SCALE, row, 1.0f / factor);
    STI(ZERO, row, TO_INT(zero));
  }
}
#else
#include <string.h>

#include "dynamic_matmul.h"
#include "quant_matmul.h"
#include "tenon/experimental/gpu.h"
#include "tenon/kit/checked.h"

/* Sums, and what zero points take from them, are up to 2^16 a step. */
enum { FEW_ROWS = 4, MAX_K = INT32_MAX / 65536, AT = 256 };

static const char *refuse_rows(const tn_call *call, int64_t m, int64_t k) {
  if (k > MAX_K) return "its sums may exceed 32 bits";
  if (m > 65535) return "takes up to 65535 rows";
  const char *reason = tn_gpu_refuse_size(call);
  return reason ? reason : tn_gpu_refuse_epilogue(call);
}

const char *quant_matmul_gpu_refuse(const tn_call *call) {
  quant_matmul q;
  if (quant_matmul_make(call, &q)) return "its shapes do not fit";
  if (q.y_scale && call->n_epilogue) return "applies no steps behind codes";
  return refuse_rows(call, q.m, q.k);
}

const char *dynamic_matmul_gpu_refuse(const tn_call *call) {
  dynamic_matmul p;
  if (dynamic_matmul_make(call, &p)) return "its shapes do not fit";
  return refuse_rows(call, p.m, p.k);
}

/* One product; scratch has, from offsets where buffers may begin: B as it is packed, if it is not
 * in the state, and of DynamicMatMul the scales, zero points and codes of rows. */
typedef struct shape {
  int64_t m, n, k, quads;
  bool trans_b, is_packed, is_dynamic;
} shape;

static shape shape_of(const quant_matmul *q, bool is_packed) {
  return (shape){q->m, q->n, q->k, tn_ceil_div(q->k, 4), q->trans_b, is_packed, false};
}

static shape shape_of_dynamic(const dynamic_matmul *p, bool is_packed) {
  return (shape){p->m, p->n, p->k, tn_ceil_div(p->k, 4), p->trans_b, is_packed, true};
}

typedef struct places {
  uint64_t packed, scale, zero, codes,
      end; /* bytes from the begin of the scratch; sizes are of 4 */
} places;

/* k is at most MAX_K, m and n * k have been looked at: nothing exceeds 64 bits. */
static places places_of(const shape *s) {
  const uint64_t word = 4, packed = (uint64_t)((s->quads + 1) * s->n) * word;
  const uint64_t row = (uint64_t)s->m * word;
  places p = {0};
  p.scale = s->is_packed ? 0 : (packed + AT - 1) / AT * AT;
  p.end = p.scale;
  if (!s->is_dynamic) return p;
  p.zero = p.scale + (row + AT - 1) / AT * AT;
  p.codes = p.zero + (row + AT - 1) / AT * AT;
  p.end = p.codes + (uint64_t)s->quads * row;
  return p;
}

static tn_status plan(const shape *s, tn_kernel_plan *out) {
  out->scratch_bytes = places_of(s).end;
  if (s->is_packed) out->state_bytes = (uint64_t)((s->quads + 1) * s->n) * sizeof(int32_t);
  return TN_OK;
}

static tn_status plan_quant(const tn_call *call, bool is_packed, tn_kernel_plan *out) {
  quant_matmul q;
  const tn_status status = quant_matmul_make(call, &q);
  if (status) return status;
  const shape s = shape_of(&q, is_packed);
  return plan(&s, out);
}

static tn_status plan_dynamic(const tn_call *call, bool is_packed, tn_kernel_plan *out) {
  dynamic_matmul p;
  const tn_status status = dynamic_matmul_make(call, &p);
  if (status) return status;
  const shape s = shape_of_dynamic(&p, is_packed);
  return plan(&s, out);
}

tn_status quant_matmul_gpu_plan(const tn_call *call, tn_kernel_plan *out) {
  return plan_quant(call, false, out);
}
tn_status quant_matmul_packed_gpu_plan(const tn_call *call, tn_kernel_plan *out) {
  return plan_quant(call, true, out);
}
tn_status dynamic_matmul_gpu_plan(const tn_call *call, tn_kernel_plan *out) {
  return plan_dynamic(call, false, out);
}
tn_status dynamic_matmul_packed_gpu_plan(const tn_call *call, tn_kernel_plan *out) {
  return plan_dynamic(call, true, out);
}

/* ---- packing ---- */

static int32_t less_of(const tn_tensor *t) { return t->dtype == TN_U8 ? 128 : 0; }

/* As quant_pack does it. */
static void pack(const shape *s, const tn_tensor *b, int32_t *to) {
  int32_t *const sums = to + s->quads * s->n;
  memset(to, 0, (size_t)((s->quads + 1) * s->n) * sizeof *to);
  for (int64_t i = 0; i < s->k; i++)
    for (int64_t q = 0; q < s->n; q++) {
      const int64_t at = s->trans_b ? q * s->k + i : i * s->n + q;
      const int32_t one = (int32_t)tn_load_i64(b->dtype, b->data, at) - less_of(b);
      int32_t *const word = &to[i / 4 * s->n + q];
      *word = (int32_t)((uint32_t)*word | (uint32_t)(one & 255) << i % 4 * 8);
      sums[q] += one;
    }
}

tn_status quant_matmul_packed_gpu_prepare(const tn_call *call) {
  quant_matmul q;
  const tn_status status = quant_matmul_make(call, &q);
  if (status) return status;
  const shape s = shape_of(&q, true);
  pack(&s, q.b, call->state);
  return TN_OK;
}

tn_status dynamic_matmul_packed_gpu_prepare(const tn_call *call) {
  dynamic_matmul p;
  const tn_status status = dynamic_matmul_make(call, &p);
  if (status) return status;
  const shape s = shape_of_dynamic(&p, true);
  pack(&s, p.b, call->state);
  return TN_OK;
}

static void add_packed(tn_gpu *g, const shape *s) {
  const uint32_t kind = s->is_packed ? TN_BIND_STATE : TN_BIND_SCRATCH;
  tn_gpu_buffer(g, kind, 0, TN_I32, 0, s->is_packed ? 0 : places_of(s).scale);
}

static tn_status record_pack(const tn_call *call, tn_recorder *r, const shape *s, int32_t b) {
  tn_gpu g;
  if (s->is_packed || tn_elements(call->outputs[0]) == 0) return TN_OK;
  tn_gpu_begin(&g, call, GPU_quant_pack);
  tn_gpu_in(&g, b);
  add_packed(&g, s);
  tn_gpu_int(&g, s->n);
  tn_gpu_int(&g, s->k);
  tn_gpu_int(&g, s->trans_b ? 1 : s->n);
  tn_gpu_int(&g, s->trans_b ? s->k : 1);
  tn_gpu_int(&g, less_of(call->inputs[b]));
  return tn_gpu_run(&g, r, tn_gpu_groups(s->n, 64), 1, 1);
}

/* ---- products ---- */

static bool is_flat(const shape *s) { return s->m < FEW_ROWS; }

static void begin(tn_gpu *g, const tn_call *call, const shape *s) {
  tn_gpu_begin(g, call, is_flat(s) ? GPU_quant_gemm_few_rows : GPU_quant_gemm);
}

static void add_shape(tn_gpu *g, const shape *s) {
  tn_gpu_int(g, s->m);
  tn_gpu_int(g, s->n);
  tn_gpu_int(g, s->k);
  tn_gpu_int(g, s->is_dynamic ? 4 * s->quads : s->k);
}

static tn_status run(tn_gpu *g, tn_recorder *r, const shape *s) {
  if (is_flat(s)) return tn_gpu_run(g, r, tn_gpu_groups(s->n, 64), (uint32_t)s->m, 1);
  return tn_gpu_run(g, r, tn_gpu_groups(s->n, 32), tn_gpu_groups(s->m, 32), 1);
}

static int32_t count_of(const tn_tensor *t) { return !t ? 0 : tn_elements(t) == 1 ? 1 : 2; }

/* Are there zero points of B, as far as is known? */
static bool has_b_zeros(const quant_matmul *q) {
  return (q->b_zero && !q->b_zero->data) || quant_matmul_has_zeros(q->b, q->b_zero);
}

static tn_status record_quant(const tn_call *call, tn_recorder *recorder, bool is_packed) {
  quant_matmul q;
  tn_gpu g;
  int64_t least = 0, most = 0;
  tn_status status = quant_matmul_make(call, &q);
  if (status) return status;
  const shape s = shape_of(&q, is_packed);
  status = record_pack(call, recorder, &s, QUANT_MATMUL_B);
  if (status) return status;
  quant_matmul_bounds(call, &least, &most);
  begin(&g, call, &s);
  for (int32_t k = 0; k < QUANT_MATMUL_INPUTS; k++)
    if (k == QUANT_MATMUL_B)
      add_packed(&g, &s);
    else
      tn_gpu_in(&g, k);
  tn_gpu_out(&g, 0);
  tn_gpu_epilogue(&g);
  const int64_t constants[] = {q.a_zero != NULL,         count_of(q.b_zero), has_b_zeros(&q),  0,
                               count_of(q.b_scale) == 2, q.bias != NULL,     q.y_scale != NULL};
  for (size_t k = 0; k < sizeof constants / sizeof *constants; k++) tn_gpu_const(&g, constants[k]);
  add_shape(&g, &s);
  tn_gpu_int(&g, less_of(q.a));
  tn_gpu_int(&g, less_of(q.b));
  tn_gpu_int(&g, least);
  tn_gpu_int(&g, most);
  return run(&g, recorder, &s);
}

tn_status quant_matmul_gpu_record(const tn_call *call, tn_recorder *recorder) {
  return record_quant(call, recorder, false);
}
tn_status quant_matmul_packed_gpu_record(const tn_call *call, tn_recorder *recorder) {
  return record_quant(call, recorder, true);
}

/* ---- dynamic ---- */

static void add_scale(tn_gpu *g, const places *p) {
  tn_gpu_buffer(g, TN_BIND_SCRATCH, 0, TN_F32, p->scale, p->zero - p->scale);
}
static void add_zero(tn_gpu *g, const places *p) {
  tn_gpu_buffer(g, TN_BIND_SCRATCH, 0, TN_I32, p->zero, p->codes - p->zero);
}
static void add_codes(tn_gpu *g, const places *p, uint32_t dtype) {
  tn_gpu_buffer(g, TN_BIND_SCRATCH, 0, dtype, p->codes, p->end - p->codes);
}

static tn_status make_codes(const tn_call *call, tn_recorder *r, const shape *s) {
  const places p = places_of(s);
  tn_gpu g;
  if (tn_elements(call->outputs[0]) == 0) return TN_OK;
  tn_gpu_begin(&g, call, GPU_dynamic_codes);
  tn_gpu_in(&g, DYNAMIC_A);
  add_scale(&g, &p);
  add_zero(&g, &p);
  add_codes(&g, &p, TN_I32);
  tn_gpu_int(&g, s->k);
  return tn_gpu_run(&g, r, (uint32_t)s->m, 1, 1);
}

static tn_status record_dynamic(const tn_call *call, tn_recorder *recorder, bool is_packed) {
  dynamic_matmul d;
  tn_gpu g;
  tn_status status = dynamic_matmul_make(call, &d);
  if (status) return status;
  const shape s = shape_of_dynamic(&d, is_packed);
  const places p = places_of(&s);
  status = record_pack(call, recorder, &s, DYNAMIC_B);
  if (!status) status = make_codes(call, recorder, &s);
  if (status) return status;
  begin(&g, call, &s);
  add_codes(&g, &p, TN_I8);
  add_scale(&g, &p);
  add_zero(&g, &p);
  add_packed(&g, &s);
  tn_gpu_in(&g, DYNAMIC_B_SCALE);
  tn_gpu_none(&g);
  tn_gpu_in(&g, DYNAMIC_BIAS);
  tn_gpu_none(&g);
  tn_gpu_none(&g);
  tn_gpu_out(&g, 0);
  tn_gpu_epilogue(&g);
  const int64_t constants[] = {1, 0, 0, 1, count_of(d.b_scale) == 2, d.bias != NULL, 0};
  for (size_t k = 0; k < sizeof constants / sizeof *constants; k++) tn_gpu_const(&g, constants[k]);
  add_shape(&g, &s);
  for (int k = 0; k < 4; k++) tn_gpu_int(&g, 0);
  return run(&g, recorder, &s);
}

tn_status dynamic_matmul_gpu_record(const tn_call *call, tn_recorder *recorder) {
  return record_dynamic(call, recorder, false);
}
tn_status dynamic_matmul_packed_gpu_record(const tn_call *call, tn_recorder *recorder) {
  return record_dynamic(call, recorder, true);
}
#endif
