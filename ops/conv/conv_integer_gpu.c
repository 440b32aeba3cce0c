/* ConvInteger on GPUs: of channels in fours where weights are constant, else a result a thread.
 * What lies outside is the zero point: it adds nothing. */
#ifdef TN_GPU
#include "conv_quad_gpu.h"

KERNEL(conv_integer_quad, (IN(XP), IN(WP), IN(XZ), IN(WZ), OUT(Y)),
       (CONST(HAS_XZ), CONST(HAS_WZ), CONST(X_SUMS), CONST(ONE), INT(wz_step), INT(x_less),
        INT(w_less), INT(channels), INT(filters), INT(groups), INTS(in, 2), INTS(out, 2),
        INTS(kernel, 2), INTS(stride, 2), INTS(dilation, 2), INTS(pad, 2)),
       64, 1, 1) {
  int x_zero = (HAS_XZ != 0 ? LDI(XZ, 0) : 0) - x_less, outside = (x_zero & 255) * QUAD_ONES;
  QUAD_CONV_SUM
  for (int f = 0; f < 8; f++) {
    int feature = block * 8 + f, m = group * filters + feature;
    int row = (GROUP(2) * groups * filters + m) * size;
    if (feature < filters) {
      int a = EIGHTH(a0, a1, a2, a3, a4, a5, a6, a7), b = EIGHTH(b0, b1, b2, b3, b4, b5, b6, b7);
      int w_zero = (HAS_WZ != 0 ? LDI(WZ, m * wz_step) : 0) - w_less;
      if (o0 < size) STI(Y, row + o0, a - QUAD_CONV_ZEROS(m, x_zero, w_zero, az));
      if (o1 < size) STI(Y, row + o1, b - QUAD_CONV_ZEROS(m, x_zero, w_zero, bz));
    }
  }
}

KERNEL(integer_pack_x, (IN(X), OUT(XP)), (INT(channels), INT(plane), INT(x_less)), 64, 1,
       1){QUAD_PACK_X}

KERNEL(conv_integer, (IN(X), IN(W), IN(XZ), IN(WZ), OUT(Y)),
       (CONST(HAS_XZ), CONST(HAS_WZ), INT(count), INT(wz_step), INT(channels), INT(filters),
        INT(groups), INTS(in, 3), INTS(out, 3), INTS(kernel, 3), INTS(stride, 3), INTS(dilation, 3),
        INTS(pad, 3)),
       64, 1, 1) {
  int i = GLOBAL(0);
  if (i < count) {
    int size = out0 * out1 * out2, place = i % size, f = i / size % (filters * groups);
    int plane = in0 * in1 * in2, sum = 0, x_zero = 0, w_zero = 0, at_w = f * channels;
    int from = (i / size / (filters * groups) * groups + f / filters) * channels * plane;
    int z0 = place / (out1 * out2) * stride0 - pad0, y0 = place / out2 % out1 * stride1 - pad1;
    int x0 = place % out2 * stride2 - pad2;
    if (HAS_XZ != 0) x_zero = LDI(XZ, 0);
    if (HAS_WZ != 0) w_zero = LDI(WZ, f * wz_step);
    at_w *= kernel0 * kernel1 * kernel2;
    for (int c = 0; c < channels; c++) {
      for (int tz = 0; tz < kernel0; tz++) {
        int z = z0 + tz * dilation0;
        for (int ty = 0; ty < kernel1; ty++) {
          int y = y0 + ty * dilation1;
          for (int tx = 0; tx < kernel2; tx++) {
            int x = x0 + tx * dilation2;
            if (z >= 0 && z < in0 && y >= 0 && y < in1 && x >= 0 && x < in2) {
              int at = from + c * plane + (z * in1 + y) * in2 + x;
              sum += (LDI(X, at) - x_zero) * (LDI(W, at_w) - w_zero);
            }
            at_w++;
          }
        }
      }
    }
    STI(Y, i, sum);
  }
}
#else
#include "conv_gpu.h"
#include "conv_integer.h"
#include "conv_quad.h"

enum { DIMS = 3 };

static const char *refuse(const tn_call *call, conv_quant *q) {
  if (conv_integer_make(call, q)) return "its shapes do not fit";
  if (q->c.w.n > DIMS) return "has more than three spatial dims";
  return tn_gpu_refuse_size(call);
}

const char *conv_integer_gpu_refuse(const tn_call *call) {
  conv_quant q;
  const char *reason = refuse(call, &q);
  return reason ? reason : conv_gpu_refuse_rounds(call, &q.c, true);
}

tn_status conv_integer_gpu_record(const tn_call *call, tn_recorder *recorder) {
  conv_quant q;
  tn_gpu g;
  const tn_status status = conv_integer_make(call, &q);
  const int64_t count = tn_elements(call->outputs[0]);
  if (status) return status;
  tn_gpu_begin(&g, call, GPU_conv_integer);
  for (int32_t k = 0; k < 4; k++) tn_gpu_in(&g, k);
  tn_gpu_out(&g, 0);
  tn_gpu_const(&g, q.x_zero != NULL);
  tn_gpu_const(&g, q.w_zero != NULL);
  tn_gpu_int(&g, count);
  tn_gpu_int(&g, q.w_zero && tn_elements(q.w_zero) > 1);
  conv_gpu_window(&g, &q.c, DIMS);
  return tn_gpu_run(&g, recorder, tn_gpu_groups(count, 64), 1, 1);
}

/* ---- channels in fours ---- */

const char *conv_integer_quad_gpu_refuse(const tn_call *call) {
  conv_quant q;
  const char *reason = refuse(call, &q);
  return reason ? reason : conv_quad_refuse(call, &q.c);
}

tn_status conv_integer_quad_gpu_plan(const tn_call *call, tn_kernel_plan *out) {
  conv_quant q;
  const tn_status status = conv_integer_make(call, &q);
  if (!status) conv_quad_plan(&q.c, out);
  return status;
}

tn_status conv_integer_quad_gpu_prepare(const tn_call *call) {
  conv_quant q;
  const tn_status status = conv_integer_make(call, &q);
  if (!status) conv_quad_pack_w(&q.c, q.w, call->state);
  return status;
}

tn_status conv_integer_quad_gpu_record(const tn_call *call, tn_recorder *recorder) {
  conv_quant q;
  tn_gpu g;
  tn_status status = conv_integer_make(call, &q);
  if (!status) status = conv_quad_pack_x(call, recorder, GPU_integer_pack_x, &q.c, 0);
  if (status) return status;
  tn_gpu_begin(&g, call, GPU_conv_integer_quad);
  conv_quad_add_x(&g, &q.c);
  tn_gpu_buffer(&g, TN_BIND_STATE, 0, TN_I32, 0, 0);
  tn_gpu_in(&g, 2);
  tn_gpu_in(&g, 3);
  tn_gpu_out(&g, 0);
  tn_gpu_const(&g, q.x_zero != NULL);
  tn_gpu_const(&g, q.w_zero != NULL);
  tn_gpu_const(&g, conv_quad_has_zeros(q.w, q.w_zero));
  tn_gpu_const(&g, q.c.channels == q.c.groups);
  tn_gpu_int(&g, q.w_zero && tn_elements(q.w_zero) > 1);
  tn_gpu_int(&g, conv_quad_less(q.x));
  tn_gpu_int(&g, conv_quad_less(q.w));
  conv_gpu_window(&g, &q.c, 2);
  return conv_quad_run(&g, recorder, &q.c);
}
#endif
