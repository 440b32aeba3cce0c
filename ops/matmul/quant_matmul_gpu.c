/* QuantMatMul and DynamicMatMul on GPUs: products of small integers with sums in 32 bits, in tiles
 * of 16 x 64 results, or one a thread where there are few rows. DynamicMatMul makes codes of its
 * rows first. */
#ifdef TN_GPU
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

KERNEL(quant_gemm,
       (IN(A), IN(A_SCALE), IN(A_ZERO), IN(B), IN(B_SCALE), IN(B_ZERO), IN(BIAS), IN(Y_SCALE),
        IN(Y_ZERO), OUT(Y), EPILOGUE),
       (CONST(HAS_A_ZERO), CONST(B_ZEROS), CONST(ROWS), CONST(MANY_SCALES), CONST(HAS_BIAS),
        CONST(HAS_CODES), INT(m), INT(n), INT(k), INT(b_row), INT(b_col), INT(lo), INT(hi)),
       16, 16, 1) {
  LOCAL(int, as, 256);
  LOCAL(int, bs, 1024);
  int x = LOCAL_ID(0), y = LOCAL_ID(1), t = y * 16 + x, a_zero = 0;
  int row = GROUP(1) * 16, col = GROUP(0) * 64, c0 = 0, c1 = 0, c2 = 0, c3 = 0;
  if (HAS_A_ZERO != 0) a_zero = LDI(A_ZERO, 0);
  for (int at = 0; at < k; at += 16) {
    int v = 0;
    if (row + y < m && at + x < k) v = LDI(A, (row + y) * k + at + x) - a_zero;
    as[t] = v;
    for (int j = 0; j < 4; j++) {
      int e = t + j * 256, q = col + e % 64, r = at + e / 64;
      v = 0;
      if (q < n && r < k) {
        v = LDI(B, r * b_row + q * b_col);
        if (B_ZEROS != 0) v -= LDI(B_ZERO, B_ZEROS == 1 ? 0 : q);
      }
      bs[e] = v;
    }
    BARRIER();
    for (int j = 0; j < 16; j++) {
      int a = as[y * 16 + j], b = j * 64 + x;
      c0 += a * bs[b];
      c1 += a * bs[b + 16];
      c2 += a * bs[b + 32];
      c3 += a * bs[b + 48];
    }
    BARRIER();
  }
  row += y;
  for (int j = 0; j < 4; j++) {
    int q = col + j * 16 + x, sum = j == 0 ? c0 : j == 1 ? c1 : j == 2 ? c2 : c3;
    if (row < m && q < n) FINISH(sum, row, q)
  }
}

KERNEL(quant_gemm_few_rows,
       (IN(A), IN(A_SCALE), IN(A_ZERO), IN(B), IN(B_SCALE), IN(B_ZERO), IN(BIAS), IN(Y_SCALE),
        IN(Y_ZERO), OUT(Y), EPILOGUE),
       (CONST(HAS_A_ZERO), CONST(B_ZEROS), CONST(ROWS), CONST(MANY_SCALES), CONST(HAS_BIAS),
        CONST(HAS_CODES), INT(m), INT(n), INT(k), INT(b_row), INT(b_col), INT(lo), INT(hi)),
       64, 1, 1) {
  int q = GLOBAL(0), r = GROUP(1), sum = 0, a_zero = 0, b_zero = 0;
  if (HAS_A_ZERO != 0) a_zero = LDI(A_ZERO, 0);
  if (q < n) {
    if (B_ZEROS != 0) b_zero = LDI(B_ZERO, B_ZEROS == 1 ? 0 : q);
    for (int i = 0; i < k; i++)
      sum += (LDI(A, r * k + i) - a_zero) * (LDI(B, i * b_row + q * b_col) - b_zero);
    FINISH(sum, r, q)
  }
}

/* As dynamic_codes_of() and dynamic_code(). */
KERNEL(dynamic_codes, (IN(A), OUT(SCALE), OUT(CODES)), (INT(k)), 64, 1, 1) {
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
  for (int i = t; i < k; i += 64) {
    float q = LD1(A, row * k + i) * factor;
    q = q > lo ? q : lo;
    q = q < hi ? q : hi;
    STI(CODES, row * k + i, TO_INT(rint(q)));
  }
  if (t == 0) ST1(SCALE, row, 1.0f / factor);
}
#else
#include "dynamic_matmul.h"
#include "quant_matmul.h"
#include "tenon/experimental/gpu.h"
#include "tenon/kit/checked.h"

enum { FEW_ROWS = 4, SCALE = 0, CODES = 1 };

static const char *refuse_rows(const tn_call *call, int64_t m) {
  if (m > 65535) return "takes up to 65535 rows";
  const char *reason = tn_gpu_refuse_size(call);
  return reason ? reason : tn_gpu_refuse_epilogue(call);
}

const char *quant_matmul_gpu_refuse(const tn_call *call) {
  quant_matmul q;
  if (quant_matmul_make(call, &q)) return "its shapes do not fit";
  if (q.k > QUANT_MATMUL_MAX_K_ZEROS) return "its sums may exceed 32 bits";
  if (q.y_scale && call->n_epilogue) return "applies no steps behind codes";
  return refuse_rows(call, q.m);
}

const char *dynamic_matmul_gpu_refuse(const tn_call *call) {
  dynamic_matmul p;
  if (dynamic_matmul_make(call, &p)) return "its shapes do not fit";
  if (p.k > QUANT_MATMUL_MAX_K_ZEROS) return "its sums may exceed 32 bits";
  return refuse_rows(call, p.m);
}

typedef struct shape {
  int64_t m, n, k;
  bool trans_b;
} shape;

static bool is_flat(const shape *s) { return s->m < FEW_ROWS; }

static void add_shape(tn_gpu *g, const shape *s) {
  tn_gpu_int(g, s->m);
  tn_gpu_int(g, s->n);
  tn_gpu_int(g, s->k);
  tn_gpu_int(g, s->trans_b ? 1 : s->n);
  tn_gpu_int(g, s->trans_b ? s->k : 1);
}

static tn_status run(tn_gpu *g, tn_recorder *r, const shape *s) {
  if (is_flat(s)) return tn_gpu_run(g, r, tn_gpu_groups(s->n, 64), (uint32_t)s->m, 1);
  return tn_gpu_run(g, r, tn_gpu_groups(s->n, 64), tn_gpu_groups(s->m, 16), 1);
}

static int32_t count_of(const tn_tensor *t) { return !t ? 0 : tn_elements(t) == 1 ? 1 : 2; }

tn_status quant_matmul_gpu_record(const tn_call *call, tn_recorder *recorder) {
  quant_matmul q;
  tn_gpu g;
  int64_t least = 0, most = 0;
  const tn_status status = quant_matmul_make(call, &q);
  if (status) return status;
  const shape s = {q.m, q.n, q.k, q.trans_b};
  quant_matmul_bounds(call, &least, &most);
  tn_gpu_begin(&g, call, is_flat(&s) ? GPU_quant_gemm_few_rows : GPU_quant_gemm);
  for (int32_t k = 0; k < QUANT_MATMUL_INPUTS; k++) tn_gpu_in(&g, k);
  tn_gpu_out(&g, 0);
  tn_gpu_epilogue(&g);
  const int64_t constants[] = {q.a_zero != NULL,         count_of(q.b_zero), 0,
                               count_of(q.b_scale) == 2, q.bias != NULL,     q.y_scale != NULL};
  for (size_t k = 0; k < sizeof constants / sizeof *constants; k++) tn_gpu_const(&g, constants[k]);
  add_shape(&g, &s);
  tn_gpu_int(&g, least);
  tn_gpu_int(&g, most);
  return run(&g, recorder, &s);
}

/* ---- dynamic ---- */

/* In scratch: a scale for each row, then the codes, from where a buffer may begin. */
static uint64_t codes_at(int64_t m) { return ((uint64_t)m * sizeof(float) + 255) / 256 * 256; }

tn_status dynamic_matmul_gpu_plan(const tn_call *call, tn_kernel_plan *out) {
  dynamic_matmul p;
  uint64_t bytes;
  const tn_status status = dynamic_matmul_make(call, &p);
  if (status) return status;
  if (tn_mul_u64((uint64_t)p.m, (uint64_t)p.k * sizeof(int16_t), &bytes) ||
      tn_add_u64(bytes, codes_at(p.m) + 4, &out->scratch_bytes))
    return TN_ERR_OVERFLOW;
  return TN_OK;
}

static void add_scratch(tn_gpu *g, const dynamic_matmul *p, int which) {
  if (which == SCALE)
    tn_gpu_buffer(g, TN_BIND_SCRATCH, 0, TN_F32, 0, codes_at(p->m));
  else
    tn_gpu_buffer(g, TN_BIND_SCRATCH, 0, TN_I16, codes_at(p->m), 0);
}

static tn_status make_codes(const tn_call *call, tn_recorder *r, const dynamic_matmul *p) {
  tn_gpu g;
  tn_gpu_begin(&g, call, GPU_dynamic_codes);
  tn_gpu_in(&g, DYNAMIC_A);
  add_scratch(&g, p, SCALE);
  add_scratch(&g, p, CODES);
  tn_gpu_int(&g, p->k);
  return tn_gpu_run(&g, r, (uint32_t)p->m, 1, 1);
}

tn_status dynamic_matmul_gpu_record(const tn_call *call, tn_recorder *recorder) {
  dynamic_matmul p;
  tn_gpu g;
  tn_status status = dynamic_matmul_make(call, &p);
  if (!status && tn_elements(call->outputs[0]) > 0) status = make_codes(call, recorder, &p);
  if (status) return status;
  const shape s = {p.m, p.n, p.k, p.trans_b};
  tn_gpu_begin(&g, call, is_flat(&s) ? GPU_quant_gemm_few_rows : GPU_quant_gemm);
  add_scratch(&g, &p, CODES);
  add_scratch(&g, &p, SCALE);
  tn_gpu_none(&g);
  tn_gpu_in(&g, DYNAMIC_B);
  tn_gpu_in(&g, DYNAMIC_B_SCALE);
  tn_gpu_none(&g);
  tn_gpu_in(&g, DYNAMIC_BIAS);
  tn_gpu_none(&g);
  tn_gpu_none(&g);
  tn_gpu_out(&g, 0);
  tn_gpu_epilogue(&g);
  const int64_t constants[] = {0, 0, 1, count_of(p.b_scale) == 2, p.bias != NULL, 0};
  for (size_t k = 0; k < sizeof constants / sizeof *constants; k++) tn_gpu_const(&g, constants[k]);
  add_shape(&g, &s);
  tn_gpu_int(&g, 0);
  tn_gpu_int(&g, 0);
  return run(&g, recorder, &s);
}
#endif
