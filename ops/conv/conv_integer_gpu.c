/* ConvInteger on GPUs, a result a thread. What lies outside is the zero point: it adds nothing. */
#ifdef TN_GPU
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

enum { DIMS = 3 };

const char *conv_integer_gpu_refuse(const tn_call *call) {
  conv_quant q;
  if (conv_integer_make(call, &q)) return "its shapes do not fit";
  if (q.c.channels / q.c.groups * q.c.taps > TN_GPU_ROUNDS) return "sums up to 65535 products";
  if (q.c.w.n > DIMS) return "has more than three spatial dims";
  return tn_gpu_refuse_size(call);
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
#endif
