/* Convolutions of 8-bit integers, for GPU kernels: four channels in one word, for DOT4. Elements of
 * u8 count less 128, so do their zero points. Packed are
 *   X: [batch][group][quad of channels][place], and
 *   W: [group][block of 8 filters][tap][quad][8], then the sum of each filter;
 * 0 stands behind the last channel. A thread makes 8 filters of 2 places, 64 apart. What lies
 * outside of X is `outside`, its zero point four times, so that all taps count. ONE: there is one
 * channel, and one product of each word to add up, which is quicker than DOT4 where that is made of
 * shifts. */
#define QUAD_ONLY(x) (ONE != 0 ? (x) << 24 >> 24 : (x))
#define QUAD_DOT(a, b, c) (ONE != 0 ? (c) + (a) * (b) : DOT4(a, b, c))
#define QUAD_ONES 0x01010101
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
/* Sums a0 .. a7 at place o0, b0 .. b7 at o1; with X_SUMS, az and bz of X alone. */
#define QUAD_CONV_SUM                                                       \
  int plane = in0 * in1, size = out0 * out1, blocks = (filters + 7) / 8;    \
  int quads = (channels + 3) / 4, last = channels % 4;                      \
  int group = GROUP(1) / blocks, block = GROUP(1) - group * blocks;         \
  int from = (GROUP(2) * groups + group) * quads * plane;                   \
  int w = GROUP(1) * kernel0 * kernel1 * quads * 8, az = 0, bz = 0;         \
  int a0 = 0, a1 = 0, a2 = 0, a3 = 0, a4 = 0, a5 = 0, a6 = 0, a7 = 0;       \
  int b0 = 0, b1 = 0, b2 = 0, b3 = 0, b4 = 0, b5 = 0, b6 = 0, b7 = 0;       \
  int o0 = GROUP(0) * 128 + LOCAL_ID(0), o1 = o0 + 64;                      \
  int ones = last == 0 ? QUAD_ONES : QUAD_ONES >> (4 - last) * 8;           \
  PLACE(o0, y0, x0)                                                         \
  PLACE(o1, y1, x1)                                                         \
  for (int ty = 0; ty < kernel0; ty++)                                      \
    for (int tx = 0; tx < kernel1; tx++) {                                  \
      TAP(y0, x0, ok0, at0)                                                 \
      TAP(y1, x1, ok1, at1)                                                 \
      for (int c = 0; c < quads; c++) {                                     \
        int u = LDI(XP, at0), v = LDI(XP, at1);                             \
        int w0 = QUAD_ONLY(LDI(WP, w)), w1 = QUAD_ONLY(LDI(WP, w + 1)),     \
            w2 = QUAD_ONLY(LDI(WP, w + 2));                                 \
        int w3 = QUAD_ONLY(LDI(WP, w + 3)), w4 = QUAD_ONLY(LDI(WP, w + 4)), \
            w5 = QUAD_ONLY(LDI(WP, w + 5));                                 \
        int w6 = QUAD_ONLY(LDI(WP, w + 6)), w7 = QUAD_ONLY(LDI(WP, w + 7)); \
        u = QUAD_ONLY(ok0 ? u : outside);                                   \
        v = QUAD_ONLY(ok1 ? v : outside);                                   \
        a0 = QUAD_DOT(u, w0, a0);                                           \
        a1 = QUAD_DOT(u, w1, a1);                                           \
        a2 = QUAD_DOT(u, w2, a2);                                           \
        a3 = QUAD_DOT(u, w3, a3);                                           \
        a4 = QUAD_DOT(u, w4, a4);                                           \
        a5 = QUAD_DOT(u, w5, a5);                                           \
        a6 = QUAD_DOT(u, w6, a6);                                           \
        a7 = QUAD_DOT(u, w7, a7);                                           \
        b0 = QUAD_DOT(v, w0, b0);                                           \
        b1 = QUAD_DOT(v, w1, b1);                                           \
        b2 = QUAD_DOT(v, w2, b2);                                           \
        b3 = QUAD_DOT(v, w3, b3);                                           \
        b4 = QUAD_DOT(v, w4, b4);                                           \
        b5 = QUAD_DOT(v, w5, b5);                                           \
        b6 = QUAD_DOT(v, w6, b6);                                           \
        b7 = QUAD_DOT(v, w7, b7);                                           \
        if (X_SUMS != 0) {                                                  \
          int one = c + 1 < quads ? QUAD_ONES : ones;                       \
          az = QUAD_DOT(u, one, az);                                        \
          bz = QUAD_DOT(v, one, bz);                                        \
        }                                                                   \
        w += 8;                                                             \
        at0 += plane;                                                       \
        at1 += plane;                                                       \
      }                                                                     \
    }
/* What zero points take from the sum of filter m. */
#define QUAD_CONV_ZEROS(m, x_zero, w_zero, x_sum)                            \
  ((x_zero)*LDI(WP, groups * blocks * kernel0 * kernel1 * quads * 8 + (m)) + \
   (X_SUMS != 0 ? (w_zero) * ((x_sum)-kernel0 * kernel1 * channels * (x_zero)) : 0))
/* The body of a program that packs X: GROUP(1) is the quad in XP. */
#define QUAD_PACK_X                                                                     \
  int o = GLOBAL(0), quads = (channels + 3) / 4, quad = 0;                              \
  int first = GROUP(1) % quads * 4, begin = GROUP(1) / quads * channels;                \
  if (o < plane) {                                                                      \
    for (int j = 0; j < 4; j++) {                                                       \
      int one = 0;                                                                      \
      if (first + j < channels) one = LDI(X, (begin + first + j) * plane + o) - x_less; \
      quad = quad | (one & 255) << j * 8;                                               \
    }                                                                                   \
    STI(XP, GROUP(1) * plane + o, quad);                                                \
  }
