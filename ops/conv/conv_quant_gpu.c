/* QuantConv on GPUs, in plain layout, with sums in 32-bit integers. `quant_conv_quad` makes 8
 * filters of 2 places a thread, of channels in fours: those of X are packed before it, those of
 * weights by prepare(); `quant_conv_any` one result a thread, of any number of groups and up to
 * three spatial dims. */
#ifdef TN_GPU
#include "conv_quad_gpu.h"

/* Rounded, lo .. hi; NaN: lo. */
float code(float v, int lo, int hi) {
  float y = rint(v);
  return !(y > TO_FLOAT(lo)) ? TO_FLOAT(lo) : y > TO_FLOAT(hi) ? TO_FLOAT(hi) : y;
}

/* What a sum becomes, in steps of y, with bounds less its zero point; BIAS 1: in f32, 2: part of
 * the sum. All is done in the order in which the CPU's vectors do it. */
#define FINISH(sum, m, at)                                                             \
  {                                                                                    \
    int all_ = sum;                                                                    \
    if (BIAS == 2) all_ += LDI(B, m);                                                  \
    float v_ = x_scale * LD1(SCALE, MANY_SCALES != 0 ? (m) : 0);                       \
    if (REAL == 0) v_ = v_ / y_scale;                                                  \
    v_ = TO_FLOAT(all_) * v_;                                                          \
    if (BIAS == 1) v_ += LD1(B, m) * per_step;                                         \
    if (REAL != 0) {                                                                   \
      ST1(Y, at, v_);                                                                  \
    } else {                                                                           \
      v_ = code(v_, lo, hi);                                                           \
      if (HAS_Z != 0)                                                                  \
        v_ = code(v_ * sum_y + TO_FLOAT(LDI(Z, at) - z_zero) * sum_z, sum_lo, sum_hi); \
      STI(Y, at, TO_INT(v_) + zero);                                                   \
    }                                                                                  \
  }

KERNEL(quant_conv_quad, (IN(XP), IN(WP), IN(SCALE), IN(B), IN(Z), IN(W_ZERO), OUT(Y)),
       (CONST(BIAS), CONST(MANY_SCALES), CONST(HAS_Z), CONST(REAL), CONST(W_ZEROS), CONST(X_SUMS),
        CONST(ONE), INT(channels), INT(filters), INT(groups), INTS(in, 2), INTS(out, 2),
        INTS(kernel, 2), INTS(stride, 2), INTS(dilation, 2), INTS(pad, 2), INT(x_zero), INT(lo),
        INT(hi), INT(z_zero), INT(sum_lo), INT(sum_hi), INT(zero), FLOAT(x_scale), FLOAT(y_scale),
        FLOAT(per_step), FLOAT(sum_y), FLOAT(sum_z), INT(x_less), INT(w_less)),
       64, 1, 1) {
  int x_less_zero = x_zero - x_less, outside = (x_less_zero & 255) * QUAD_ONES;
  QUAD_CONV_SUM
  for (int f = 0; f < 8; f++) {
    int feature = block * 8 + f, m = group * filters + feature;
    int row = (GROUP(2) * groups * filters + m) * size;
    if (feature < filters) {
      int a = EIGHTH(a0, a1, a2, a3, a4, a5, a6, a7), b = EIGHTH(b0, b1, b2, b3, b4, b5, b6, b7);
      int w_zero = (W_ZEROS != 0 ? LDI(W_ZERO, W_ZEROS == 1 ? 0 : m) : 0) - w_less;
      a -= QUAD_CONV_ZEROS(m, x_less_zero, w_zero, az);
      b -= QUAD_CONV_ZEROS(m, x_less_zero, w_zero, bz);
      if (o0 < size) FINISH(a, m, row + o0)
      if (o1 < size) FINISH(b, m, row + o1)
    }
  }
}

KERNEL(quad_pack_x, (IN(X), OUT(XP)), (INT(channels), INT(plane), INT(x_less)), 64, 1,
       1){QUAD_PACK_X}

KERNEL(quant_conv_any, (IN(X), IN(W), IN(SCALE), IN(B), IN(Z), IN(W_ZERO), OUT(Y)),
       (CONST(BIAS), CONST(MANY_SCALES), CONST(HAS_Z), CONST(REAL), CONST(W_ZEROS), INT(channels),
        INT(filters), INT(groups), INTS(in, 3), INTS(out, 3), INTS(kernel, 3), INTS(stride, 3),
        INTS(dilation, 3), INTS(pad, 3), INT(x_zero), INT(lo), INT(hi), INT(z_zero), INT(sum_lo),
        INT(sum_hi), INT(zero), FLOAT(x_scale), FLOAT(y_scale), FLOAT(per_step), FLOAT(sum_y),
        FLOAT(sum_z)),
       64, 1, 1) {
  int size = out0 * out1 * out2, plane = in0 * in1 * in2, taps = kernel0 * kernel1 * kernel2;
  int o = GLOBAL(0), m = GROUP(1), w = m * channels * taps, sum = 0, w_zero = 0;
  int from = (GROUP(2) * groups + m / filters) * channels * plane;
  if (o < size) {
    int x = o % out2, y = o / out2 % out1, z = o / out2 / out1;
    x = x * stride2 - pad2;
    y = y * stride1 - pad1;
    z = z * stride0 - pad0;
    if (W_ZEROS != 0) w_zero = LDI(W_ZERO, W_ZEROS == 1 ? 0 : m);
    for (int c = 0; c < channels; c++, from += plane, w += taps)
      for (int tz = 0; tz < kernel0; tz++)
        for (int ty = 0; ty < kernel1; ty++) {
          int iz = z + tz * dilation0, iy = y + ty * dilation1;
          if (iz >= 0 && iz < in0 && iy >= 0 && iy < in1)
            for (int tx = 0; tx < kernel2; tx++) {
              int ix = x + tx * dilation2;
              if (ix >= 0 && ix < in2)
                sum += (LDI(X, from + (iz * in1 + iy) * in2 + ix) - x_zero) *
                       (LDI(W, w + (tz * kernel1 + ty) * kernel2 + tx) - w_zero);
            }
        }
    FINISH(sum, m, (GROUP(2) * groups * filters + m) * size + o)
  }
}
#else
#include "conv_gpu.h"
#include "conv_quad.h"
#include "quant_conv.h"
#include "tenon/kit/checked.h"
#include "tenon/kit/infer.h"

enum { MOST = 255 * 255 }; /* of one product */

static int64_t depth_of(const quant_conv *q) { return q->c.channels / q->c.groups * q->c.taps; }

static bool bias_fits(const tn_tensor *bias, int64_t room) {
  if (!bias || bias->dtype != TN_I32) return true;
  for (int64_t k = 0; bias->data && k < tn_elements(bias); k++) {
    const int64_t b = ((const int32_t *)bias->data)[k];
    if (b > room || b < -room) return false;
  }
  return bias->data != NULL;
}

static const char *refuse(const tn_call *call, quant_conv *q) {
  if (quant_conv_make(call, q)) return "its shapes do not fit";
  if (q->c.w.n > 3) return "takes up to three spatial dims";
  if (q->c.batch > UINT16_MAX || q->c.filters > UINT16_MAX)
    return "takes batches and filters to 65535";
  if (depth_of(q) > INT32_MAX / MOST) return "its sums may exceed 32 bits";
  if (!bias_fits(q->bias, INT32_MAX - depth_of(q) * MOST))
    return "its sums may exceed 32 bits with their bias";
  return tn_gpu_refuse_size(call);
}

const char *quant_conv_gpu_refuse(const tn_call *call) {
  quant_conv q;
  const char *reason = refuse(call, &q);
  return reason ? reason : conv_gpu_refuse_rounds(call, &q.c, true);
}

const char *quant_conv_quad_gpu_refuse(const tn_call *call) {
  quant_conv q;
  const char *reason = refuse(call, &q);
  return reason ? reason : conv_quad_refuse(call, &q.c);
}

tn_status quant_conv_quad_gpu_plan(const tn_call *call, tn_kernel_plan *out) {
  quant_conv q;
  const tn_status status = quant_conv_make(call, &q);
  if (!status) conv_quad_plan(&q.c, out);
  return status;
}

tn_status quant_conv_quad_gpu_prepare(const tn_call *call) {
  quant_conv q;
  const tn_status status = quant_conv_make(call, &q);
  if (!status) conv_quad_pack_w(&q.c, q.w, call->state);
  return status;
}

/* The last bounds are those of the type, too. */
static void add_numbers(tn_gpu *g, const quant_conv *q) {
  const tn_quant_conv_attrs *a = q->a;
  const int64_t least = q->y_dtype == TN_I8 ? -128 : 0, most = least + 255;
  const int64_t last[2] = {q->z ? a->sum_lo : a->lo, q->z ? a->sum_hi : a->hi};
  const int64_t zero = q->z ? a->sum_zero : a->y_zero;
  int64_t within[2];
  for (int k = 0; k < 2; k++) within[k] = tn_min_i64(tn_max_i64(last[k], least), most) - zero;
  const float y_scale = (float)a->y_scale, sum_scale = (float)a->sum_scale;
  const int64_t ints[] = {a->x_zero,
                          q->z ? a->lo - a->y_zero : within[0],
                          q->z ? a->hi - a->y_zero : within[1],
                          a->z_zero,
                          within[0],
                          within[1],
                          zero};
  const float floats[] = {(float)a->x_scale, y_scale, q->y_dtype == TN_F32 ? 1 : 1 / y_scale,
                          y_scale / sum_scale, (float)a->z_scale / sum_scale};
  for (size_t k = 0; k < sizeof ints / sizeof *ints; k++) tn_gpu_int(g, ints[k]);
  for (size_t k = 0; k < sizeof floats / sizeof *floats; k++) tn_gpu_float(g, (double)floats[k]);
}

static void add_constants(tn_gpu *g, const quant_conv *q) {
  tn_gpu_const(g, !q->bias ? 0 : q->bias->dtype == TN_F32 ? 1 : 2);
  tn_gpu_const(g, tn_elements(q->w_scale) > 1);
  tn_gpu_const(g, q->z != NULL);
  tn_gpu_const(g, q->y_dtype == TN_F32);
}

static int32_t count_of(const tn_tensor *t) { return !t ? 0 : tn_elements(t) == 1 ? 1 : 2; }

tn_status quant_conv_quad_gpu_record(const tn_call *call, tn_recorder *recorder) {
  quant_conv q;
  tn_gpu g;
  tn_status status = quant_conv_make(call, &q);
  if (!status) status = conv_quad_pack_x(call, recorder, GPU_quad_pack_x, &q.c, 0);
  if (status) return status;
  tn_gpu_begin(&g, call, GPU_quant_conv_quad);
  conv_quad_add_x(&g, &q.c);
  tn_gpu_buffer(&g, TN_BIND_STATE, 0, TN_I32, 0, 0);
  tn_gpu_in(&g, QUANT_W_SCALE);
  tn_gpu_in(&g, QUANT_B);
  tn_gpu_in(&g, QUANT_Z);
  tn_gpu_in(&g, QUANT_W_ZERO);
  tn_gpu_out(&g, 0);
  add_constants(&g, &q);
  tn_gpu_const(&g, count_of(q.w_zero));
  tn_gpu_const(&g, conv_quad_has_zeros(q.w, q.w_zero));
  tn_gpu_const(&g, q.c.channels == q.c.groups);
  conv_gpu_window(&g, &q.c, 2);
  add_numbers(&g, &q);
  tn_gpu_int(&g, conv_quad_less(q.x));
  tn_gpu_int(&g, conv_quad_less(q.w));
  return conv_quad_run(&g, recorder, &q.c);
}

tn_status quant_conv_gpu_record(const tn_call *call, tn_recorder *recorder) {
  quant_conv q;
  tn_gpu g;
  const tn_status status = quant_conv_make(call, &q);
  if (status) return status;
  tn_gpu_begin(&g, call, GPU_quant_conv_any);
  for (int32_t k = 0; k < QUANT_INPUTS; k++) tn_gpu_in(&g, k);
  tn_gpu_out(&g, 0);
  add_constants(&g, &q);
  tn_gpu_const(&g, count_of(q.w_zero));
  conv_gpu_window(&g, &q.c, 3);
  add_numbers(&g, &q);
  return tn_gpu_run(&g, recorder, tn_gpu_groups(q.c.out_size, 64), (uint32_t)q.c.filters,
                    (uint32_t)q.c.batch);
}
#endif
