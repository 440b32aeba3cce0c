/* Convolutions of f16 and bf16 by the matrix units of NVIDIA's GPUs: a product of W, filters by
 * taps, with the places under them, gathered as they are needed. */
#ifdef TN_GPU
#define B_ROWS (MODE_X == 2)
#define IS_BF16 (S_X == 4)
#include "tenon/experimental/gpu_mma.h"

/* MODE_W: 1: whole eights of W in a row; MODE_X: 2: one tap, at the place itself, and whole eights
 * of a channel. KH, KW: the kernel. Parts of the taps, `share` long. PARTED: with more than one, Y
 * is scratch of f32, for conv_sum. */
CUDA_KERNEL(conv_mma, (IN(X), IN(W), IN(B), OUT(Y), EPILOGUE),
            (CONST(HAS_B), CONST(MODE_W), CONST(MODE_X), CONST(KH), CONST(KW), CONST(WM),
             CONST(THREADS), CONST(PARTED), INT(channels), INT(filters), INT(groups), INTS(in, 2),
             INTS(out, 2), INTS(kernel, 2), INTS(stride, 2), INTS(dilation, 2), INTS(pad, 2),
             INT(share)),
            THREADS, 1, 1) {
  MMA_LOCALS
  MMA_WARP
  int k = channels * KH * KW, parts = (k + share - 1) / share, z = blockIdx.z / parts;
  int t = threadIdx.x, part = blockIdx.z % parts, group = z % groups;
  int plane = in0 * in1, size = out0 * out1, row = blockIdx.y * 32 * WM,
      col = blockIdx.x * (THREADS / 2);
  int at = part * share, end = min(at + share, k), own = t % 2 * 16;
  int own_k = t / (THREADS / 32), own_n = col + t % (THREADS / 32) * 16; /* of MODE_X 2 */
  int place = min(col + t / 2, size - 1);
  int iy = place / out1 * stride0 - pad0, ix = place % out1 * stride1 - pad1;
  const ushort *w = (const ushort *)W + (long)(group * filters + min(row + t / 2, filters - 1)) * k;
  const ushort *x = (const ushort *)X + (long)z * channels * plane;
#define BRING(i)                                                                            \
  UNROLL for (int j = 0; j < (MODE_W == 1 ? 2 : 0); j++) if ((i) + own + j * 8 < end)       \
      take8(a.w + 4 * j, w + (i) + own + j * 8);                                            \
  else set_zero(a.w + 4 * j, 4);                                                            \
  UNROLL for (int j = 0; j < (MODE_W == 1 ? 0 : 16); j++)                                   \
      set_one(a, j, (i) + own + j < end ? w[(i) + own + j] : (ushort)0);                    \
  if (MODE_X == 2) {                                                                        \
    UNROLL for (int j = 0; j < 2; j++) if ((i) + own_k < end && own_n + j * 8 < size)       \
        take8(b.w + 4 * j, x + (long)((i) + own_k) * plane + own_n + j * 8);                \
    else set_zero(b.w + 4 * j, 4);                                                          \
  } else {                                                                                  \
    int from = (i) + own, c = from / (KH * KW), ty = from % (KH * KW) / KW, tx = from % KW; \
    UNROLL for (int j = 0; j < 16; j++) {                                                   \
      int py = iy + ty * dilation0, px = ix + tx * dilation1;                               \
      bool ok = from + j < end && (uint)py < (uint)in0 && (uint)px < (uint)in1;             \
      set_one(b, j, ok ? x[(long)c * plane + py * in1 + px] : (ushort)0);                   \
      tx++;                                                                                 \
      if (tx == KW) tx = 0, ty++;                                                           \
      if (ty == KH) ty = 0, c++;                                                            \
    }                                                                                       \
  }
  MMA_LOOP
  UNROLL for (int e = 0; e < 16 * WM; e++) {
    MMA_AT(e)
    if (r < filters && q < size) {
      float s = MMA_SUM(e);
      int to = ((int)blockIdx.z * filters + r) * size + q;
      if (!PARTED) {
        if (HAS_B) s += LD1(B, group * filters + r);
        EPILOGUE1(s, to)
      }
      ST1(Y, to, s);
    }
  }
}
#else
#include "conv_gpu.h"

static tn_gpu_tiles tiles_of(const tn_call *call, const conv_shape *c) {
  const conv_gpu_product p = conv_gpu_product_of(c);
  return tn_gpu_tiles_mma(call, p.sizes, p.batch);
}

const char *conv_mma_gpu_refuse(const tn_call *call) {
  conv_shape c;
  if (call->inputs[0]->dtype != call->inputs[1]->dtype) return "takes X and W of one type";
  if (conv_shape_make(call, &c)) return "its shapes do not fit";
  if (c.channels == 0) return "there are no channels";
  return conv_gpu_refuse_tiles(call, &c);
}

tn_status conv_mma_gpu_plan(const tn_call *call, tn_kernel_plan *out) {
  conv_shape c;
  const tn_status status = conv_shape_make(call, &c);
  if (status) return status;
  const tn_gpu_tiles t = tiles_of(call, &c);
  return tn_gpu_tiles_scratch(call, &t, out);
}

tn_status conv_mma_gpu_record(const tn_call *call, tn_recorder *recorder) {
  enum { EIGHT = 8, ANYHOW = 0, ALONG_K = 1, ALONG_N = 2 };
  conv_shape c;
  tn_gpu g;
  tn_status status = conv_shape_make(call, &c);
  if (status) return status;
  const tn_gpu_tiles t = tiles_of(call, &c);
  const tn_window w = tn_window_padded(&c.w, 2);
  const bool is_whole = c.channels / c.groups * c.taps % EIGHT == 0;
  conv_gpu_begin(&g, call, GPU_conv_mma, t.parts);
  tn_gpu_const(&g, is_whole ? ALONG_K : ANYHOW);
  tn_gpu_const(&g, conv_gpu_is_point(&c.w) && c.in_size % EIGHT == 0 ? ALONG_N : ANYHOW);
  tn_gpu_const(&g, w.kernel[0]);
  tn_gpu_const(&g, w.kernel[1]);
  tn_gpu_mma_consts(&g, &t);
  conv_gpu_window(&g, &c, 2);
  tn_gpu_int(&g, t.share);
  status = tn_gpu_run(&g, recorder, (uint32_t)t.columns, (uint32_t)t.rows,
                      (uint32_t)(c.batch * c.groups * t.parts));
  return status || t.parts == 1 ? status : conv_gpu_sum(call, recorder, &c, t.parts);
}
#endif
