/* The f32, f16 and bf16 kernels of two broadcast tensors, written once and compiled per instruction
 * set: a file that defines BINARY_RUN(op), the name of a run function, and includes this one gets
 * them all. f16 and bf16 are computed in f32 and rounded once.
 *
 * IEEE 754 decides about NaN, infinities and zeros in Add, Sub, Mul, Div. Max and Min: NaN if
 * either is NaN; of two zeros either may come out. Pow: as powf. PRelu: NaN stays. */
#include <string.h>

#include "binary.gen.h"
#include "tenon/kit/broadcast.h"
#include "tenon/kit/element.h"
#include "tenon/kit/elementwise.h"

/* y[i] = f(a[i * sa], b[i * sb]) for i < n; sa and sb are 0 or 1. y may be a or b. */
typedef void (*binary_f32)(const float *a, int64_t sa, const float *b, int64_t sb, float *y,
                           int64_t n);

/* n elements of t from `offset` as f32; of a type that is no float of 32 bits or less (exponents
 * of Pow) one by one. */
static const float *load_f32(const tn_tensor *t, int64_t offset, int64_t n, float *block) {
  if (t->dtype == TN_F32 || t->dtype == TN_F16 || t->dtype == TN_BF16) {
    return tn_load_block_f32(t->dtype, t->data, offset, n, block);
  }
  for (int64_t i = 0; i < n; i++) block[i] = (float)tn_load_f64(t->dtype, t->data, offset + i);
  return block;
}

/* One run where not all is f32. */
static void run_blocks(const tn_call *call, const tn_runs *r, binary_f32 f) {
  float a[TN_MAP_BLOCK], b[TN_MAP_BLOCK], y[TN_MAP_BLOCK];
  tn_tensor *out = call->outputs[0];
  const int64_t sa = r->stride[0], sb = r->stride[1];
  for (int64_t i = 0; i < r->length; i += TN_MAP_BLOCK) {
    const int64_t n = tn_min_i64(r->length - i, TN_MAP_BLOCK);
    const float *pa = load_f32(call->inputs[0], r->offset[0] + i * sa, sa ? n : 1, a);
    const float *pb = load_f32(call->inputs[1], r->offset[1] + i * sb, sb ? n : 1, b);
    float *to = out->dtype == TN_F32 ? (float *)out->data + r->index + i : y;
    f(pa, sa, pb, sb, to, n);
    tn_store_block_f32(out->dtype, out->data, r->index + i, n, to);
  }
}

/* ---- a short row that is repeated: [N,C,1,1] against an image in blocked layout ---- */

enum { REPEATED = 512 }; /* elements of a row, repeated, that meet the other operand at once */

/* Is operand i one row along the inner two dims, in which the other one is an array? */
static bool is_repeated(const tn_broadcast *b, uint32_t i) {
  const int32_t inner = b->rank - 1;
  if (inner < 1 || b->size[inner] > REPEATED / 8) return false;
  const int64_t *own = b->stride[i], *other = b->stride[1 - i];
  return own[inner] == 1 && own[inner - 1] == 0 && other[inner] == 1 &&
         other[inner - 1] == b->size[inner];
}

/* n elements of the row of `size` elements, over and over, from element `first` on. */
static void repeat_row(const float *row, int64_t size, int64_t first, int64_t n, float *to) {
  const int64_t once = tn_min_i64(size, n);
  for (int64_t k = 0; k < once; k++) to[k] = row[(first + k) % size];
  for (int64_t k = once; k < n; k += tn_min_i64(k, n - k))
    memcpy(to + k, to, (size_t)tn_min_i64(k, n - k) * sizeof *to);
}

/* Operand i is_repeated(). */
static void run_repeated(const tn_call *call, const tn_broadcast *b, uint32_t i, int64_t begin,
                         int64_t end, binary_f32 f) {
  float row[REPEATED];
  tn_broadcast flat = *b; /* the inner two dims as one, along which operand i stands still */
  const int32_t inner = --flat.rank - 1;
  const int64_t size = b->size[inner + 1], most = REPEATED / size * size;
  flat.size[inner] *= size;
  flat.stride[i][inner] = 0;
  flat.stride[1 - i][inner] = 1;
  tn_runs r = tn_runs_begin(&flat, begin, end);
  while (tn_runs_next(&r)) {
    const float *x = (const float *)call->inputs[1 - i]->data + r.offset[1 - i];
    float *y = (float *)call->outputs[0]->data + r.index;
    repeat_row((const float *)call->inputs[i]->data + r.offset[i], size, r.at[inner] % size,
               tn_min_i64(most, r.length), row);
    for (int64_t at = 0; at < r.length; at += most)
      f(i ? x + at : row, 1, i ? row : x + at, 1, y + at, tn_min_i64(most, r.length - at));
  }
}

static void run_direct(const tn_call *call, const tn_broadcast *b, int64_t begin, int64_t end,
                       binary_f32 f) {
  for (uint32_t i = 0; i < 2; i++)
    if (is_repeated(b, i)) {
      run_repeated(call, b, i, begin, end, f);
      return;
    }
  tn_runs r = tn_runs_begin(b, begin, end);
  while (tn_runs_next(&r))
    f((const float *)call->inputs[0]->data + r.offset[0], r.stride[0],
      (const float *)call->inputs[1]->data + r.offset[1], r.stride[1],
      (float *)call->outputs[0]->data + r.index, r.length);
}

static tn_status run_f32(const tn_call *call, int64_t begin, int64_t end, binary_f32 f) {
  const tn_tensor *a = call->inputs[0], *b = call->inputs[1];
  tn_tensor *y = call->outputs[0];
  tn_broadcast plan;
  const tn_status status = tn_broadcast_init(&plan, y, 2, call->inputs);
  if (status) return status;
  if (a->dtype == TN_F32 && b->dtype == TN_F32 && y->dtype == TN_F32) {
    run_direct(call, &plan, begin, end, f);
  } else {
    tn_runs r = tn_runs_begin(&plan, begin, end);
    while (tn_runs_next(&r)) run_blocks(call, &r, f);
  }
  tn_pads_zero(y, begin, end);
  return TN_OK;
}

#define BINARY_KERNEL(op)                                                                   \
  tn_status BINARY_RUN(op)(const tn_call *call, uint32_t stage, int64_t begin, int64_t end, \
                           uint32_t worker) {                                               \
    (void)stage, (void)worker;                                                              \
    return run_f32(call, begin, end, op##_loop);                                            \
  }

/* Three loops: two arrays, array and number, number and array. */
#define BINARY_LOOP(op, value)                                                              \
  static void op##_loop(const float *pa, int64_t sa, const float *pb, int64_t sb, float *y, \
                        int64_t n) {                                                        \
    if (sa && sb) {                                                                         \
      TN_IVDEP for (int64_t i = 0; i < n; i++) {                                            \
        const float a = pa[i], b = pb[i];                                                   \
        y[i] = (value);                                                                     \
      }                                                                                     \
    } else if (sa) {                                                                        \
      const float b = pb[0];                                                                \
      TN_IVDEP for (int64_t i = 0; i < n; i++) {                                            \
        const float a = pa[i];                                                              \
        y[i] = (value);                                                                     \
      }                                                                                     \
    } else {                                                                                \
      const float a = pa[0];                                                                \
      TN_IVDEP for (int64_t i = 0; i < n; i++) {                                            \
        const float b = pb[i * sb];                                                         \
        y[i] = (value);                                                                     \
      }                                                                                     \
    }                                                                                       \
  }

#define BINARY(op, value) BINARY_LOOP(op, value) BINARY_KERNEL(op)

BINARY(add, a + b)
BINARY(sub, a - b)
BINARY(mul, a *b)
BINARY(div, a / b)
BINARY(max, (a > b || a != a) ? a : b)
BINARY(min, (a < b || a != a) ? a : b)
BINARY(p_relu, a < 0.0f ? a * b : a)

/* Pow with one exponent for a whole run: what squares, cubes, roots and inverses are cheaper as.
 * True if it was one. */
static bool pow_special(const float *x, float e, float *y, int64_t n) {
#define POW_LOOP(value)                      \
  TN_IVDEP for (int64_t i = 0; i < n; i++) { \
    const float a = x[i];                    \
    y[i] = (value);                          \
  }                                          \
  return true
  if (e == 2.0f) {
    POW_LOOP(a * a);
  }
  if (e == 1.0f) {
    POW_LOOP(a);
  }
  if (e == 3.0f) {
    POW_LOOP(a * a * a);
  }
  if (e == -1.0f) {
    POW_LOOP(1.0f / a);
  }
  if (e == 0.5f) {
    POW_LOOP(a == -INFINITY ? INFINITY : sqrtf(a) + 0.0f);
  } /* unlike sqrt: +0 for -0, and no NaN there */
#undef POW_LOOP
  return false;
}

static void pow_loop(const float *a, int64_t sa, const float *b, int64_t sb, float *y, int64_t n) {
  if (sa && !sb && pow_special(a, b[0], y, n)) return;
  for (int64_t i = 0; i < n; i++) y[i] = powf(a[i * sa], b[i * sb]);
}
BINARY_KERNEL(pow)
