/* Convolutions on GPUs, in plain layout. `conv_tile` makes tiles of 64 filters of 64 places, for
 * devices of many units; `conv_packed` 8 filters of 4 places a thread, with weights packed in
 * eights by prepare(); `conv_any` one result a thread, of any number of groups and up to three
 * spatial dims. */
#ifdef TN_GPU
#include "tenon/experimental/gpu_tile.h"

/* Of conv_packed: places, 4 a thread, WIDE apart. */
#define PLACE(j, o, oy, ox)              \
  int o = (GROUP(0) * 4 + j) * WIDE + x; \
  int oy = o / out1, ox = o - oy * out1; \
  oy = oy * stride0 - pad0;              \
  ox = ox * stride1 - pad1;
#define TAP(o, oy, ox, ok, at)                                                                   \
  int at = (oy + ty * dilation0) * in1 + ox + tx * dilation1;                                    \
  bool ok = oy + ty * dilation0 >= 0 && oy + ty * dilation0 < in0 && ox + tx * dilation1 >= 0 && \
            ox + tx * dilation1 < in1;                                                           \
  at = ok ? from + at : from;

/* Eight weights, the same for all threads of a subgroup: each of them reads one and hands it on,
 * where they can. */
#define WEIGHTS(p, q, at)                                                                  \
  if (LANES >= 8 && LANES <= WIDE) {                                                       \
    float own = LD1(W, (at) + LANE % 8);                                                   \
    p = MAKE4(FROM_LANE(own, 0), FROM_LANE(own, 1), FROM_LANE(own, 2), FROM_LANE(own, 3)); \
    q = MAKE4(FROM_LANE(own, 4), FROM_LANE(own, 5), FROM_LANE(own, 6), FROM_LANE(own, 7)); \
  } else {                                                                                 \
    p = LD4(W, at);                                                                        \
    q = LD4(W, (at) + 4);                                                                  \
  }
#define PRODUCTS(v, a, b, c, d) \
  a += (v)*p;                   \
  b += (v)*q;                   \
  if (MANY != 0) {              \
    c += (v)*r;                 \
    d += (v)*s;                 \
  }
/* Element e of v, filter f + e at place o. */
#define STORE(v, f, o)                                                        \
  if ((f) + e < filters && o < size) {                                        \
    float y = bias + (e == 0 ? v.x : e == 1 ? v.y : e == 2 ? v.z : v.w);      \
    int place = ((GROUP(2) * groups + group) * filters + (f) + e) * size + o; \
    EPILOGUE1(y, place)                                                       \
    ST1(Y, place, y);                                                         \
  }
#define STORES(f, v0, v1, v2, v3)                                                  \
  for (int e = 0; e < 4; e++) {                                                    \
    float bias = 0.0f;                                                             \
    if (HAS_B != 0 && (f) + e < filters) bias = LD1(B, group * filters + (f) + e); \
    STORE(v0, f, o0)                                                               \
    STORE(v1, f, o1)                                                               \
    STORE(v2, f, o2)                                                               \
    STORE(v3, f, o3)                                                               \
  }

/* A product of W, filters by taps, with the places under them, gathered as they are needed. Parts
 * of the taps, `share` long. PARTED: with more than one, Y is scratch of f32, [batch][group][part]
 * [filter][place], for conv_sum. POINT: one tap, at the place itself; FOURS: whole fours of W in a
 * row. */
KERNEL(conv_tile, (IN(X), IN(W), IN(B), OUT(Y), EPILOGUE),
       (CONST(HAS_B), CONST(POINT), CONST(FOURS), CONST(PARTED), INT(channels), INT(filters),
        INT(groups), INTS(in, 2), INTS(out, 2), INTS(kernel, 2), INTS(stride, 2), INTS(dilation, 2),
        INTS(pad, 2), INT(share)),
       64, 1, 1) {
  LOCAL(float, tile, 2048);
  TILE_THREAD
  int row = GROUP(1) * 64, col = GROUP(0) * 64, taps = kernel0 * kernel1, k = channels * taps;
  int parts = (k + share - 1) / share, z = GROUP(2) / parts, part = GROUP(2) % parts;
  int group = z % groups;
  int plane = in0 * in1, size = out0 * out1;
  int at = part * share, end = at + share < k ? at + share : k;
  int at_w = (group * filters + (row + t < filters ? row + t : 0)) * k;
  int place = col + t < size ? col + t : 0, from = z * channels * plane;
  int iy = place / out1 * stride0 - pad0, ix = place % out1 * stride1 - pad1;
  int c = at / taps, ty = at % taps / kernel1, tx = at % kernel1;
  f32x4 sums[16], a[4], b[4];
  for (int i = 0; i < 16; i++) sums[i] = F32X4(0.0f);
#define W_AT(i) ((i) < end ? LD1(W, at_w + (i)) : 0.0f)
#define POINT_AT(i) ((i) < end ? LD1(X, from + (i)*plane + place) : 0.0f)
/* the value under the next tap */
#define NEXT(to, i)                                                    \
  {                                                                    \
    int py = iy + ty * dilation0, px = ix + tx * dilation1;            \
    bool ok = (i) < end && py >= 0 && py < in0 && px >= 0 && px < in1; \
    to = 0.0f;                                                         \
    if (ok) to = LD1(X, from + c * plane + py * in1 + px);             \
    tx++;                                                              \
    if (tx == kernel1) {                                               \
      tx = 0;                                                          \
      ty++;                                                            \
      if (ty == kernel0) {                                             \
        ty = 0;                                                        \
        c++;                                                           \
      }                                                                \
    }                                                                  \
  }
#define BRING(l)                                                                    \
  UNROLL for (int j = 0; j < 4; j++) {                                              \
    int i = (l) + j * 4;                                                            \
    if (FOURS != 0)                                                                 \
      a[j] = i < end ? LD4(W, at_w + i) : F32X4(0.0f);                              \
    else                                                                            \
      a[j] = MAKE4(W_AT(i), W_AT(i + 1), W_AT(i + 2), W_AT(i + 3));                 \
    if (POINT != 0) {                                                               \
      b[j] = MAKE4(POINT_AT(i), POINT_AT(i + 1), POINT_AT(i + 2), POINT_AT(i + 3)); \
    } else {                                                                        \
      NEXT(b[j].x, i)                                                               \
      NEXT(b[j].y, i + 1)                                                           \
      NEXT(b[j].z, i + 2)                                                           \
      NEXT(b[j].w, i + 3)                                                           \
    }                                                                               \
  }
  TILE_SUM(at, end)
  UNROLL for (int h = 0; h < 2; h++) {
    TILE_SPREAD(h)
    for (int e = t; e < 2048; e += 64) {
      int r = row + h * 32 + e / 64, q = col + e % 64;
      if (r < filters && q < size) {
        float s = tile[e];
        int place = (GROUP(2) * filters + r) * size + q;
        if (PARTED == 0) {
          if (HAS_B != 0) s += LD1(B, group * filters + r);
          EPILOGUE1(s, place)
        }
        ST1(Y, place, s);
      }
    }
    BARRIER();
  }
}

KERNEL(conv_sum, (IN(S), IN(B), OUT(Y), EPILOGUE),
       (CONST(HAS_B), INT(parts), INT(n), INT(plane), INT(size), INT(filters)), 64, 1, 1) {
  int i = GLOBAL(0);
  if (i < n) {
    float s = HAS_B != 0 ? LD1(B, i / size % filters) : 0.0f;
    for (int p = 0; p < parts; p++) s += LD1(S, (i / plane * parts + p) * plane + i % plane);
    EPILOGUE1(s, i)
    ST1(Y, i, s);
  }
}

/* A thread has 8 filters, or 16 (MANY), of 4 places; WIDE of them stand side by side, 64 / WIDE one
 * behind the other, `rows` times a group. Weights: [group][block of 8 filters][tap][channel][8]. */
KERNEL(conv_packed, (IN(X), IN(W), IN(B), OUT(Y), EPILOGUE),
       (CONST(HAS_B), CONST(MANY), CONST(WIDE), INT(channels), INT(filters), INT(groups),
        INTS(in, 2), INTS(out, 2), INTS(kernel, 2), INTS(stride, 2), INTS(dilation, 2),
        INTS(pad, 2), INT(rows)),
       64, 1, 1) {
  int plane = in0 * in1, size = out0 * out1, blocks = (filters + 7) / 8;
  int x = LOCAL_ID(0) % WIDE, group = GROUP(1) / rows;
  int block = (GROUP(1) - group * rows) * (64 / WIDE) + LOCAL_ID(0) / WIDE;
  if (MANY != 0) block = block * 2;
  int from = (GROUP(2) * groups + group) * channels * plane;
  int length = kernel0 * kernel1 * channels * 8;
  int w = (group * blocks + (block < blocks ? block : 0)) * length;
  int w1 = block + 1 < blocks ? w + length : w;
  f32x4 a0 = F32X4(0.0f), a1 = a0, a2 = a0, a3 = a0, b0 = a0, b1 = a0, b2 = a0, b3 = a0;
  f32x4 c0 = a0, c1 = a0, c2 = a0, c3 = a0, d0 = a0, d1 = a0, d2 = a0, d3 = a0;
  PLACE(0, o0, y0, x0)
  PLACE(1, o1, y1, x1)
  PLACE(2, o2, y2, x2)
  PLACE(3, o3, y3, x3)
  for (int ty = 0; ty < kernel0; ty++)
    for (int tx = 0; tx < kernel1; tx++) {
      TAP(o0, y0, x0, ok0, at0)
      TAP(o1, y1, x1, ok1, at1)
      TAP(o2, y2, x2, ok2, at2)
      TAP(o3, y3, x3, ok3, at3)
      for (int c = 0; c < channels; c++) {
        f32x4 p, q, r, s;
        WEIGHTS(p, q, w)
        if (MANY != 0) {
          WEIGHTS(r, s, w1)
        }
        float v0 = LD1(X, at0), v1 = LD1(X, at1), v2 = LD1(X, at2), v3 = LD1(X, at3);
        v0 = ok0 ? v0 : 0.0f;
        v1 = ok1 ? v1 : 0.0f;
        v2 = ok2 ? v2 : 0.0f;
        v3 = ok3 ? v3 : 0.0f;
        PRODUCTS(v0, a0, b0, c0, d0)
        PRODUCTS(v1, a1, b1, c1, d1)
        PRODUCTS(v2, a2, b2, c2, d2)
        PRODUCTS(v3, a3, b3, c3, d3)
        w += 8;
        w1 += 8;
        at0 += plane;
        at1 += plane;
        at2 += plane;
        at3 += plane;
      }
    }
  int f = block * 8;
  STORES(f, a0, a1, a2, a3)
  STORES(f + 4, b0, b1, b2, b3)
  if (MANY != 0) {
    STORES(f + 8, c0, c1, c2, c3)
    STORES(f + 12, d0, d1, d2, d3)
  }
}

/* channels, filters: of a group. */
KERNEL(conv_any, (IN(X), IN(W), IN(B), OUT(Y), EPILOGUE),
       (CONST(HAS_B), CONST(FLAT), INT(channels), INT(filters), INT(groups), INTS(in, 3),
        INTS(out, 3), INTS(kernel, 3), INTS(stride, 3), INTS(dilation, 3), INTS(pad, 3)),
       64, 1, 1) {
  int size = out0 * out1 * out2, plane = in0 * in1 * in2, taps = kernel0 * kernel1 * kernel2;
  int o = GLOBAL(0), feature = GROUP(1), group = feature / filters;
  if (o < size) {
    int o2 = o % out2, o1 = o / out2 % out1, o0 = o / out2 / out1;
    int z = o0 * stride0 - pad0, y = o1 * stride1 - pad1, x = o2 * stride2 - pad2;
    int from = (GROUP(2) * groups + group) * channels * plane, w = feature * channels * taps;
    float sum = HAS_B != 0 ? LD1(B, feature) : 0.0f;
    for (int c = 0; c < channels; c++, from += plane, w += taps)
      for (int tz = 0; tz < (FLAT != 0 ? 1 : kernel0); tz++)
        for (int ty = 0; ty < kernel1; ty++) {
          int iz = z + tz * dilation0, iy = y + ty * dilation1;
          if (iz >= 0 && iz < in0 && iy >= 0 && iy < in1)
            for (int tx = 0; tx < kernel2; tx++) {
              int ix = x + tx * dilation2;
              if (ix >= 0 && ix < in2)
                sum += LD1(X, from + (iz * in1 + iy) * in2 + ix) *
                       LD1(W, w + (tz * kernel1 + ty) * kernel2 + tx);
            }
        }
    int place = (GROUP(2) * groups * filters + feature) * size + o;
    EPILOGUE1(sum, place)
    ST1(Y, place, sum);
  }
}

/* Transposed: gathers what input places write there. W: [channels][filters of a group][taps]. */
KERNEL(conv_transpose, (IN(X), IN(W), IN(B), OUT(Y), EPILOGUE),
       (CONST(HAS_B), INT(channels), INT(filters), INT(groups), INTS(in, 3), INTS(out, 3),
        INTS(kernel, 3), INTS(stride, 3), INTS(dilation, 3), INTS(pad, 3)),
       64, 1, 1) {
  int size = out0 * out1 * out2, plane = in0 * in1 * in2, taps = kernel0 * kernel1 * kernel2;
  int o = GLOBAL(0), feature = GROUP(1), group = feature / filters;
  if (o < size) {
    int o2 = o % out2, o1 = o / out2 % out1, o0 = o / out2 / out1;
    float sum = HAS_B != 0 ? LD1(B, feature) : 0.0f;
    for (int tz = 0; tz < kernel0; tz++)
      for (int ty = 0; ty < kernel1; ty++)
        for (int tx = 0; tx < kernel2; tx++) {
          int z = o0 + pad0 - tz * dilation0, y = o1 + pad1 - ty * dilation1;
          int x = o2 + pad2 - tx * dilation2;
          int iz = z / stride0, iy = y / stride1, ix = x / stride2;
          if (z >= 0 && y >= 0 && x >= 0 && iz * stride0 == z && iy * stride1 == y &&
              ix * stride2 == x && iz < in0 && iy < in1 && ix < in2) {
            int from = (GROUP(2) * groups + group) * channels * plane + (iz * in1 + iy) * in2 + ix;
            int w = (group * channels * filters + feature - group * filters) * taps +
                    (tz * kernel1 + ty) * kernel2 + tx;
            for (int c = 0; c < channels; c++)
              sum += LD1(X, from + c * plane) * LD1(W, w + c * filters * taps);
          }
        }
    int place = (GROUP(2) * groups * filters + feature) * size + o;
    EPILOGUE1(sum, place)
    ST1(Y, place, sum);
  }
}
#else
#include "conv_gpu.h"
#include "conv_transpose.h"
#include "tenon/kit/element.h"
#include "tenon/kit/infer.h"

enum { EIGHT = 8 };

const char *conv_gpu_refuse_rounds(const tn_call *call, const conv_shape *c,
                                   bool channels_outside) {
  const tn_window w = tn_window_padded(&c->w, 3);
  const int64_t channels = c->channels / c->groups;
  const int64_t sizes[] = {channels, w.kernel[0], w.kernel[1], w.kernel[2], channels};
  return tn_gpu_refuse_rounds(call, tn_gpu_rounds(channels_outside ? sizes : sizes + 1, 4));
}

static const char *refuse_shape(const tn_call *call, const conv_shape *c, bool channels_outside) {
  if (c->w.n > 3) return "takes up to three spatial dims";
  if (c->batch > UINT16_MAX || c->filters > UINT16_MAX) return "takes batches and filters to 65535";
  const char *reason = tn_gpu_refuse_size(call);
  if (!reason) reason = conv_gpu_refuse_rounds(call, c, channels_outside);
  return reason ? reason : tn_gpu_refuse_epilogue(call);
}

const char *conv_gpu_refuse(const tn_call *call) {
  conv_shape c;
  return conv_shape_make(call, &c) ? "its shapes do not fit" : refuse_shape(call, &c, true);
}

static const char *refuse_many(const tn_call *call, const conv_shape *c) {
  if (c->w.n > 2) return "takes one or two spatial dims";
  if (c->filters / c->groups < EIGHT / 2) return "takes four or more filters a group";
  return refuse_shape(call, c, false);
}

const char *conv_packed_gpu_refuse(const tn_call *call) {
  conv_shape c;
  return conv_shape_make(call, &c) ? "its shapes do not fit" : refuse_many(call, &c);
}

const char *conv_gpu_refuse_tiles(const tn_call *call, const conv_shape *c) {
  if (c->batch * c->groups > UINT16_MAX) return "takes batches times groups to 65535";
  return refuse_many(call, c);
}

const char *conv_tile_gpu_refuse(const tn_call *call) {
  conv_shape c;
  if (!tn_gpu_is_wide(call)) return "is for devices with 16 units or more";
  return conv_shape_make(call, &c) ? "its shapes do not fit" : conv_gpu_refuse_tiles(call, &c);
}

const char *conv_transpose_gpu_refuse(const tn_call *call) {
  conv_shape c;
  return conv_transpose_shape(call, &c) ? "its shapes do not fit" : refuse_shape(call, &c, false);
}

/* ---- packed ---- */

static int64_t blocks_of(const conv_shape *c) { return (c->filters / c->groups - 1) / EIGHT + 1; }

tn_status conv_packed_gpu_plan(const tn_call *call, tn_kernel_plan *out) {
  conv_shape c;
  uint64_t bytes;
  const tn_status status = conv_shape_make(call, &c);
  if (status) return status;
  const int64_t panel = c.taps * (c.channels / c.groups) * EIGHT;
  if (tn_mul_u64((uint64_t)(panel * c.groups), (uint64_t)blocks_of(&c) * sizeof(float), &bytes))
    return TN_ERR_OVERFLOW;
  out->state_bytes = bytes;
  return TN_OK;
}

/* W [filters][channels of a group][taps] into [group][block][tap][channel][8]. */
tn_status conv_packed_gpu_prepare(const tn_call *call) {
  const tn_tensor *w = call->inputs[1];
  float *to = call->state;
  conv_shape c;
  const tn_status status = conv_shape_make(call, &c);
  if (status) return status;
  const int64_t filters = c.filters / c.groups, channels = c.channels / c.groups;
  for (int64_t g = 0; g < c.groups; g++)
    for (int64_t b = 0; b < blocks_of(&c); b++)
      for (int64_t t = 0; t < c.taps; t++)
        for (int64_t k = 0; k < channels; k++, to += EIGHT)
          for (int64_t f = 0; f < EIGHT && b * EIGHT + f < filters; f++)
            to[f] = (float)tn_load_f64(w->dtype, w->data,
                                       ((g * filters + b * EIGHT + f) * channels + k) * c.taps + t);
  return TN_OK;
}

/* ---- tiles ---- */

conv_gpu_product conv_gpu_product_of(const conv_shape *c) {
  return (conv_gpu_product){
      {c->filters / c->groups, c->out_size, c->channels / c->groups * c->taps},
      c->batch * c->groups};
}

static tn_gpu_tiles tiles_of(const tn_call *call, const conv_shape *c) {
  enum { TILE = 64, SLICE = 16 };
  const conv_gpu_product p = conv_gpu_product_of(c);
  return tn_gpu_tiles_of(call, p.sizes, p.batch, TILE, TILE, SLICE);
}

tn_status conv_tile_gpu_plan(const tn_call *call, tn_kernel_plan *out) {
  conv_shape c;
  const tn_status status = conv_shape_make(call, &c);
  if (status) return status;
  const tn_gpu_tiles t = tiles_of(call, &c);
  return tn_gpu_tiles_scratch(call, &t, out);
}

void conv_gpu_window(tn_gpu *g, const conv_shape *c, int32_t dims) {
  const tn_window w = tn_window_padded(&c->w, dims);
  const int64_t *const lists[] = {w.in, w.out, w.kernel, w.stride, w.dilation, w.pad_lo};
  tn_gpu_int(g, c->channels / c->groups);
  tn_gpu_int(g, c->filters / c->groups);
  tn_gpu_int(g, c->groups);
  for (size_t k = 0; k < sizeof lists / sizeof *lists; k++)
    for (int32_t d = 0; d < dims; d++) tn_gpu_int(g, lists[k][d]);
}

void conv_gpu_begin(tn_gpu *g, const tn_call *call, int32_t program, int32_t parts) {
  tn_gpu_begin(g, call, program);
  tn_gpu_in(g, 0);
  if (program == GPU_conv_packed)
    tn_gpu_buffer(g, TN_BIND_STATE, 0, TN_F32, 0, 0);
  else
    tn_gpu_in(g, 1);
  tn_gpu_in(g, 2);
  if (parts > 1)
    tn_gpu_buffer(g, TN_BIND_SCRATCH, 0, TN_F32, 0, 0);
  else
    tn_gpu_out(g, 0);
  tn_gpu_epilogue(g);
  tn_gpu_const(g, tn_has_input(call, 2));
}

/* How the threads of a group stand: `wide` side by side, each of them with eight filters or, if
 * `many`, sixteen. */
typedef struct packed_shape {
  int32_t many, wide;
} packed_shape;

enum { THREADS = 64, PLACES = 4, NARROW = 16 };

/* Where threads hand weights on, sixteen are two loads. On processors a few places are not worth
 * 256; GPUs want neighbours in memory. */
static packed_shape packed_shape_of(const tn_call *call, const conv_shape *c) {
  const int64_t places = tn_ceil_div(c->out_size, THREADS * PLACES) * THREADS * PLACES;
  const int64_t fewer = tn_ceil_div(c->out_size, NARROW * PLACES) * NARROW * PLACES;
  if (call->device && call->device->units) return (packed_shape){0, THREADS};
  if (tn_gpu_has_lanes(call)) return (packed_shape){blocks_of(c) > 1, NARROW};
  return (packed_shape){0, places > fewer + fewer / 8 ? NARROW : THREADS};
}

tn_status conv_packed_gpu_record(const tn_call *call, tn_recorder *recorder) {
  conv_shape c;
  tn_gpu g;
  const tn_status status = conv_shape_make(call, &c);
  if (status) return status;
  const packed_shape s = packed_shape_of(call, &c);
  const int64_t rows = tn_ceil_div(tn_ceil_div(blocks_of(&c), 1 + s.many), THREADS / s.wide);
  conv_gpu_begin(&g, call, GPU_conv_packed, 1);
  tn_gpu_const(&g, s.many);
  tn_gpu_const(&g, s.wide);
  conv_gpu_window(&g, &c, 2);
  tn_gpu_int(&g, rows);
  return tn_gpu_run(&g, recorder, tn_gpu_groups(c.out_size, (int64_t)s.wide * PLACES),
                    (uint32_t)(c.groups * rows), (uint32_t)c.batch);
}

tn_status conv_gpu_sum(const tn_call *call, tn_recorder *r, const conv_shape *c, int32_t parts) {
  const int64_t n = tn_elements(call->outputs[0]);
  tn_gpu g;
  tn_gpu_begin(&g, call, GPU_conv_sum);
  tn_gpu_buffer(&g, TN_BIND_SCRATCH, 0, TN_F32, 0, 0);
  tn_gpu_in(&g, 2);
  tn_gpu_out(&g, 0);
  tn_gpu_epilogue(&g);
  tn_gpu_const(&g, tn_has_input(call, 2));
  const int64_t words[] = {parts, n, c->filters / c->groups * c->out_size, c->out_size, c->filters};
  for (size_t k = 0; k < sizeof words / sizeof *words; k++) tn_gpu_int(&g, words[k]);
  return tn_gpu_run(&g, r, tn_gpu_groups(n, 64), 1, 1);
}

bool conv_gpu_is_point(const tn_window *w) {
  bool is = true;
  for (int32_t k = 0; k < w->n; k++)
    is = is && w->kernel[k] == 1 && w->stride[k] == 1 && w->pad_lo[k] == 0 && w->pad_hi[k] == 0;
  return is;
}

tn_status conv_tile_gpu_record(const tn_call *call, tn_recorder *recorder) {
  conv_shape c;
  tn_gpu g;
  tn_status status = conv_shape_make(call, &c);
  if (status) return status;
  const tn_gpu_tiles t = tiles_of(call, &c);
  conv_gpu_begin(&g, call, GPU_conv_tile, t.parts);
  tn_gpu_const(&g, conv_gpu_is_point(&c.w));
  tn_gpu_const(&g, c.channels / c.groups * c.taps % 4 == 0);
  tn_gpu_const(&g, t.parts > 1);
  conv_gpu_window(&g, &c, 2);
  tn_gpu_int(&g, t.share);
  status = tn_gpu_run(&g, recorder, tn_gpu_groups(t.columns, 1), tn_gpu_groups(t.rows, 1),
                      (uint32_t)(c.batch * c.groups * t.parts));
  return status || t.parts == 1 ? status : conv_gpu_sum(call, recorder, &c, t.parts);
}

tn_status conv_gpu_record(const tn_call *call, tn_recorder *recorder) {
  conv_shape c;
  tn_gpu g;
  const tn_status status = conv_shape_make(call, &c);
  if (status) return status;
  conv_gpu_begin(&g, call, GPU_conv_any, 1);
  tn_gpu_const(&g, c.w.n < 3);
  conv_gpu_window(&g, &c, 3);
  return tn_gpu_run(&g, recorder, tn_gpu_groups(c.out_size, 64), (uint32_t)c.filters,
                    (uint32_t)c.batch);
}

tn_status conv_transpose_gpu_record(const tn_call *call, tn_recorder *recorder) {
  conv_shape c;
  tn_gpu g;
  const tn_status status = conv_transpose_shape(call, &c);
  if (status) return status;
  conv_gpu_begin(&g, call, GPU_conv_transpose, 1);
  conv_gpu_window(&g, &c, 3);
  return tn_gpu_run(&g, recorder, tn_gpu_groups(c.out_size, 64), (uint32_t)c.filters,
                    (uint32_t)c.batch);
}
#endif
