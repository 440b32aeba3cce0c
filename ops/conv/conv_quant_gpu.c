/* QuantConv on GPUs, in plain layout, with sums in 32-bit integers. `quant_conv_tile` makes 8
 * filters of 2 places a thread, with weights less their zero points packed in eights by prepare();
 * `quant_conv_any` one result a thread, of any number of groups and up to three spatial dims. */
#ifdef TN_GPU
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

#define PLACE(o, oy, ox)                 \
  int oy = o / out1, ox = o - oy * out1; \
  oy = oy * stride0 - pad0;              \
  ox = ox * stride1 - pad1;
#define TAP(oy, ox, ok, at)                                                                      \
  int at = (oy + ty * dilation0) * in1 + ox + tx * dilation1;                                    \
  bool ok = oy + ty * dilation0 >= 0 && oy + ty * dilation0 < in0 && ox + tx * dilation1 >= 0 && \
            ox + tx * dilation1 < in1;                                                           \
  at = ok ? from + at : from;

/* Of eight numbers, number f. */
#define EIGHTH(a, b, c, d, e, g, h, i)                   \
  (f < 4 ? (f < 2 ? (f == 0 ? a : b) : (f == 2 ? c : d)) \
         : (f < 6 ? (f == 4 ? e : g) : (f == 6 ? h : i)))

/* Weights: [group][block of 8 filters][tap][channel][8]. Places: 2 a thread, 64 apart. */
KERNEL(quant_conv_tile, (IN(X), IN(W), IN(SCALE), IN(B), IN(Z), OUT(Y)),
       (CONST(BIAS), CONST(MANY_SCALES), CONST(HAS_Z), CONST(REAL), INT(channels), INT(filters),
        INT(groups), INTS(in, 2), INTS(out, 2), INTS(kernel, 2), INTS(stride, 2), INTS(dilation, 2),
        INTS(pad, 2), INT(x_zero), INT(lo), INT(hi), INT(z_zero), INT(sum_lo), INT(sum_hi),
        INT(zero), FLOAT(x_scale), FLOAT(y_scale), FLOAT(per_step), FLOAT(sum_y), FLOAT(sum_z)),
       64, 1, 1) {
  int plane = in0 * in1, size = out0 * out1, blocks = (filters + 7) / 8;
  int group = GROUP(1) / blocks, block = GROUP(1) - group * blocks;
  int from = (GROUP(2) * groups + group) * channels * plane;
  int w = GROUP(1) * kernel0 * kernel1 * channels * 8;
  int a0 = 0, a1 = 0, a2 = 0, a3 = 0, a4 = 0, a5 = 0, a6 = 0, a7 = 0;
  int b0 = 0, b1 = 0, b2 = 0, b3 = 0, b4 = 0, b5 = 0, b6 = 0, b7 = 0;
  int o0 = GROUP(0) * 128 + LOCAL_ID(0), o1 = o0 + 64;
  PLACE(o0, y0, x0)
  PLACE(o1, y1, x1)
  for (int ty = 0; ty < kernel0; ty++)
    for (int tx = 0; tx < kernel1; tx++) {
      TAP(y0, x0, ok0, at0)
      TAP(y1, x1, ok1, at1)
      for (int c = 0; c < channels; c++) {
        int u = LDI(X, at0) - x_zero, v = LDI(X, at1) - x_zero;
        int w0 = LDI(W, w), w1 = LDI(W, w + 1), w2 = LDI(W, w + 2), w3 = LDI(W, w + 3);
        int w4 = LDI(W, w + 4), w5 = LDI(W, w + 5), w6 = LDI(W, w + 6), w7 = LDI(W, w + 7);
        u = ok0 ? u : 0;
        v = ok1 ? v : 0;
        a0 += u * w0;
        a1 += u * w1;
        a2 += u * w2;
        a3 += u * w3;
        a4 += u * w4;
        a5 += u * w5;
        a6 += u * w6;
        a7 += u * w7;
        b0 += v * w0;
        b1 += v * w1;
        b2 += v * w2;
        b3 += v * w3;
        b4 += v * w4;
        b5 += v * w5;
        b6 += v * w6;
        b7 += v * w7;
        w += 8;
        at0 += plane;
        at1 += plane;
      }
    }
  for (int f = 0; f < 8; f++) {
    int feature = block * 8 + f, m = group * filters + feature;
    int row = (GROUP(2) * groups * filters + m) * size;
    if (feature < filters) {
      int a = EIGHTH(a0, a1, a2, a3, a4, a5, a6, a7), b = EIGHTH(b0, b1, b2, b3, b4, b5, b6, b7);
      if (o0 < size) FINISH(a, m, row + o0)
      if (o1 < size) FINISH(b, m, row + o1)
    }
  }
}

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
#include <string.h>

#include "quant_conv.h"
#include "tenon/experimental/gpu.h"
#include "tenon/kit/checked.h"
#include "tenon/kit/infer.h"

enum { EIGHT = 8, MOST = 255 * 255 }; /* of one product */

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
  return refuse(call, &q);
}

const char *quant_conv_tile_gpu_refuse(const tn_call *call) {
  quant_conv q;
  const char *reason = refuse(call, &q);
  if (reason) return reason;
  if (q.c.w.n > 2) return "takes one or two spatial dims";
  return q.c.filters / q.c.groups < EIGHT / 2 ? "takes four or more filters a group" : NULL;
}

static int64_t blocks_of(const conv_shape *c) { return (c->filters / c->groups - 1) / EIGHT + 1; }

tn_status quant_conv_tile_gpu_plan(const tn_call *call, tn_kernel_plan *out) {
  quant_conv q;
  const tn_status status = quant_conv_make(call, &q);
  if (status) return status;
  if (tn_mul_u64((uint64_t)(depth_of(&q) * EIGHT * q.c.groups),
                 (uint64_t)blocks_of(&q.c) * sizeof(int16_t), &out->state_bytes))
    return TN_ERR_OVERFLOW;
  return TN_OK;
}

/* W [filters][channels of a group][taps] into [group][block][tap][channel][8]. */
tn_status quant_conv_tile_gpu_prepare(const tn_call *call) {
  int16_t *to = call->state;
  quant_conv q;
  const tn_status status = quant_conv_make(call, &q);
  if (status) return status;
  const int64_t filters = q.c.filters / q.c.groups, channels = q.c.channels / q.c.groups;
  for (int64_t g = 0; g < q.c.groups; g++)
    for (int64_t b = 0; b < blocks_of(&q.c); b++)
      for (int64_t t = 0; t < q.c.taps; t++)
        for (int64_t k = 0; k < channels; k++, to += EIGHT)
          for (int64_t f = 0; f < EIGHT && b * EIGHT + f < filters; f++)
            to[f] = (int16_t)quant_conv_weight(&q, g * filters + b * EIGHT + f, k * q.c.taps + t);
  return TN_OK;
}

static void add_window(tn_gpu *g, const conv_shape *c, int32_t dims) {
  const tn_window w = tn_window_padded(&c->w, dims);
  const int64_t *const lists[] = {w.in, w.out, w.kernel, w.stride, w.dilation, w.pad_lo};
  tn_gpu_int(g, c->channels / c->groups);
  tn_gpu_int(g, c->filters / c->groups);
  tn_gpu_int(g, c->groups);
  for (size_t k = 0; k < sizeof lists / sizeof *lists; k++)
    for (int32_t d = 0; d < dims; d++) tn_gpu_int(g, lists[k][d]);
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

tn_status quant_conv_tile_gpu_record(const tn_call *call, tn_recorder *recorder) {
  quant_conv q;
  tn_gpu g;
  const tn_status status = quant_conv_make(call, &q);
  if (status) return status;
  tn_gpu_begin(&g, call, GPU_quant_conv_tile);
  tn_gpu_in(&g, QUANT_X);
  tn_gpu_buffer(&g, TN_BIND_STATE, 0, TN_I16, 0, 0);
  tn_gpu_in(&g, QUANT_W_SCALE);
  tn_gpu_in(&g, QUANT_B);
  tn_gpu_in(&g, QUANT_Z);
  tn_gpu_out(&g, 0);
  add_constants(&g, &q);
  add_window(&g, &q.c, 2);
  add_numbers(&g, &q);
  return tn_gpu_run(&g, recorder, tn_gpu_groups(q.c.out_size, 128),
                    (uint32_t)(q.c.groups * blocks_of(&q.c)), (uint32_t)q.c.batch);
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
  tn_gpu_const(&g, !q.w_zero ? 0 : tn_elements(q.w_zero) == 1 ? 1 : 2);
  add_window(&g, &q.c, 3);
  add_numbers(&g, &q);
  return tn_gpu_run(&g, recorder, tn_gpu_groups(q.c.out_size, 64), (uint32_t)q.c.filters,
                    (uint32_t)q.c.batch);
}
#endif
