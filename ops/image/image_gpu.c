/* RoiAlign on GPUs: a thread for each cell of a channel of a region, or a group of them where a
 * cell has as many points as its size asks for. Places are sums of two floats: the reference has
 * them in f64, and how many points there are hangs on the last bit. */
#ifdef TN_GPU
/* The sum and the product as a float and what it lacks (Knuth 1969; Dekker 1971). `zero` is 0,
 * which compilers do not know: those of OpenGL ES and WebGPU may take (a + b) - a for b, whatever
 * EXACT says. */
#define HELD(x) BITS_TO_FLOAT(FLOAT_TO_BITS(x) ^ zero)
f32x4 sum_of(float a, float b, int zero) {
  EXACT float sum = a + b, s = HELD(sum), rest = s - a, back = HELD(rest), own = s - back;
  EXACT float lost = (a - HELD(own)) + (b - back);
  return MAKE4(s, lost, 0.0f, 0.0f);
}
float upper_of(float x) { return BITS_TO_FLOAT(FLOAT_TO_BITS(x) & -4096); }
f32x4 product_of(float a, float b, int zero) {
  EXACT float ah = upper_of(a), al = a - ah, bh = upper_of(b), bl = b - bh, product = a * b;
  EXACT float p = HELD(product), lost = ((ah * bh - p) + ah * bl + al * bh) + al * bl;
  return MAKE4(p, lost, 0.0f, 0.0f);
}
/* The same of such pairs. */
f32x4 add_of(f32x4 a, f32x4 b, int zero) {
  f32x4 s = sum_of(a.x, b.x, zero);
  EXACT float low = s.y + (a.y + b.y);
  return sum_of(s.x, low, zero);
}
f32x4 times_of(f32x4 a, f32x4 b, int zero) {
  f32x4 p = product_of(a.x, b.x, zero);
  EXACT float low = p.y + (a.x * b.y + a.y * b.x);
  return sum_of(p.x, low, zero);
}
/* ... whose quotients may be coarse. */
f32x4 over_of(f32x4 a, float by, int zero) {
  f32x4 q = MAKE4(a.x / by, 0.0f, 0.0f, 0.0f), back = product_of(q.x, by, zero);
  for (int i = 0; i < 2; i++) {
    f32x4 rest = add_of(a, MAKE4(-back.x, -back.y, 0.0f, 0.0f), zero);
    q = add_of(q, MAKE4(rest.x / by, 0.0f, 0.0f, 0.0f), zero);
    back = times_of(q, MAKE4(by, 0.0f, 0.0f, 0.0f), zero);
  }
  return q;
}
/* point i of `grid` in cell c */
f32x4 point_of(f32x4 start, f32x4 cell, int c, int i, int grid, int zero) {
  f32x4 whole = MAKE4(TO_FLOAT(c), 0.0f, 0.0f, 0.0f),
        at = MAKE4(TO_FLOAT(i) + 0.5f, 0.0f, 0.0f, 0.0f);
  return add_of(start, times_of(cell, add_of(whole, over_of(at, TO_FLOAT(grid), zero), zero), zero),
                zero);
}
/* the least whole number that is no less, from 0 to 2^20 */
int ceil_of(f32x4 a) {
  float c = ceil(a.x);
  if (c == a.x && a.y > 0.0f) c += 1.0f;
  return c > 1048576.0f ? 1048576 : c > 0.0f ? TO_INT(c) : 0;
}
/* the element before `place`, and in .y how far behind it: -1 outside of the map */
f32x4 place_of(f32x4 at, int size) {
  float n = TO_FLOAT(size), whole = floor(at.x), part = (at.x - whole) + at.y;
  if (!(at.x >= -1.0f && at.x <= n) || (at.x == -1.0f && at.y < 0.0f) || (at.x == n && at.y > 0.0f))
    return MAKE4(-1.0f, 0.0f, 0.0f, 0.0f);
  if (part < 0.0f) {
    whole -= 1.0f;
    part += 1.0f;
  }
  if (whole < 0.0f) return F32X4(0.0f);
  if (whole >= n - 1.0f) return MAKE4(n - 1.0f, 0.0f, 0.0f, 0.0f);
  return MAKE4(whole, part, 0.0f, 0.0f);
}

#define NUMBER(x) MAKE4(x, 0.0f, 0.0f, 0.0f)
#define NEGATIVE(s) MAKE4(-(s).x, -(s).y, 0.0f, 0.0f)
#define FIRST_NAN BITS_TO_FLOAT(2143289344)
#define LARGER(x, best) ((x) > (best) || IS_NAN(best) ? (x) : (best))

/* Where an axis of the region begins, how long a cell is, and of how many points. */
#define AXIS(k, cells, start, cell, grid)                                                        \
  {                                                                                              \
    f32x4 by_ = NUMBER(scale), half_ = NUMBER(HALF != 0 ? -0.5f : 0.0f);                         \
    f32x4 end_ = add_of(times_of(NUMBER(LD1(R, region * 4 + (k) + 2)), by_, zero), half_, zero); \
    start = add_of(times_of(NUMBER(LD1(R, region * 4 + (k))), by_, zero), half_, zero);          \
    end_ = add_of(end_, NEGATIVE(start), zero);                                                  \
    if (HALF == 0 && !(end_.x > 1.0f || (end_.x == 1.0f && end_.y > 0.0f))) end_ = NUMBER(1.0f); \
    cell = over_of(end_, TO_FLOAT(cells), zero);                                                 \
    grid = ratio > 0 ? ratio : ceil_of(cell);                                                    \
  }
/* Points from .. to - 1 may lie on the map; places grow where their number is not given. */
#define RANGE(start, cell, c, grid, size, from, to)                                \
  {                                                                                \
    float per_ = cell.x / TO_FLOAT(grid), first_ = start.x + cell.x * TO_FLOAT(c); \
    from = 0;                                                                      \
    to = grid;                                                                     \
    if (ratio == 0) {                                                              \
      float a_ = floor((-1.0f - first_) / per_) - 2.0f;                            \
      float b_ = ceil((TO_FLOAT(size) - first_) / per_) + 2.0f;                    \
      from = a_ > 0.0f ? TO_INT(a_ < 1e9f ? a_ : 1e9f) : 0;                        \
      to = b_ < TO_FLOAT(grid) ? TO_INT(b_ > 0.0f ? b_ : 0.0f) : grid;             \
      to = IS_NAN(a_) || IS_NAN(b_) ? 0 : to;                                      \
    }                                                                              \
  }

KERNEL(roi_align, (IN(X), IN(R), IN(I), OUT(Y)),
       (CONST(THREADS), CONST(HALF), CONST(IS_MAX), INT(n), INT(batches), INT(channels), INT(high),
        INT(wide), INT(down), INT(across), INT(ratio), FLOAT(scale), INT(zero)),
       64, 1, 1) {
  LOCAL(float, part, 64);
  LOCAL(int, counts, 64);
  int t = LOCAL_ID(0), o = THREADS == 1 ? GLOBAL(0) : GROUP(0), own = o < n ? o : n - 1;
  int cx = own % across, cy = own / across % down, c = own / across / down % channels;
  int region = own / across / down / channels, image = LDI(I, region);
  image = image < 0 ? 0 : image >= batches ? batches - 1 : image;
  int map = (image * channels + c) * high * wide, grid_y, grid_x, y0, y1, x0, x1, inside = 0;
  f32x4 start_y, start_x, cell_y, cell_x;
  AXIS(1, down, start_y, cell_y, grid_y)
  AXIS(0, across, start_x, cell_x, grid_x)
  RANGE(start_y, cell_y, cy, grid_y, high, y0, y1)
  RANGE(start_x, cell_x, cx, grid_x, wide, x0, x1)
  float best = FIRST_NAN, sum = 0.0f, wanted = TO_FLOAT(grid_y) * TO_FLOAT(grid_x);
  int points = o < n && y1 > y0 && x1 > x0 ? (y1 - y0) * (x1 - x0) : 0;
  for (int i = THREADS == 1 ? 0 : t; i < points; i += THREADS) {
    int iy = y0 + i / (x1 - x0), ix = x0 + i % (x1 - x0);
    f32x4 y = place_of(point_of(start_y, cell_y, cy, iy, grid_y, zero), high);
    f32x4 x = place_of(point_of(start_x, cell_x, cx, ix, grid_x, zero), wide);
    if (y.x >= 0.0f && x.x >= 0.0f) {
      int row = TO_INT(y.x), column = TO_INT(x.x), at = map + row * wide + column;
      int under = row + 1 < high ? wide : 0, beside = column + 1 < wide ? 1 : 0;
      float a = (1.0f - y.y) * (1.0f - x.y) * LD1(X, at);
      float b = (1.0f - y.y) * x.y * LD1(X, at + beside);
      float d = y.y * (1.0f - x.y) * LD1(X, at + under);
      float e = y.y * x.y * LD1(X, at + under + beside);
      inside += 1;
      sum += a + b + (d + e);
      best = LARGER(a, best);
      best = LARGER(b, best);
      best = LARGER(d, best);
      best = LARGER(e, best);
    }
  }
  part[t] = IS_MAX != 0 ? best : sum;
  counts[t] = inside;
  BARRIER();
  if (o < n && (THREADS == 1 || t == 0)) {
    best = part[t];
    for (int i = 1; i < THREADS; i++) {
      inside += counts[i];
      best = IS_MAX != 0 ? LARGER(part[i], best) : best + part[i];
    }
    if (IS_MAX != 0 && TO_FLOAT(inside) < wanted) { /* outside, corners are zeros */
      best = LARGER(0.0f, best);
    }
    float y = IS_MAX != 0 ? best : best / wanted;
    ST1(Y, o, wanted > 0.0f ? y : 0.0f);
  }
}
#else
#include "image.gen.h"
#include "roi_align.h"
#include "tenon/experimental/gpu.h"
#include "tenon/kit/text.h"

enum { GROUP = 64 };

const char *roi_align_gpu_refuse(const tn_call *call) {
  const tn_roi_align_attrs *a = call->attrs;
  const tn_tensor *x = call->inputs[0];
  const double side = (double)a->sampling_ratio;
  /* points are half an element apart or more where their number is not given */
  const double most =
      a->sampling_ratio > 0
          ? side * side
          : (2.0 * (double)x->shape[2] + 7) * (2.0 * (double)x->shape[3] + 7) / GROUP + GROUP;
  if (!tn_elements(x)) return "takes maps with elements";
  if (most > TN_GPU_ROUNDS) return "takes up to 65535 points of a cell";
  return tn_gpu_refuse_size(call);
}

tn_status roi_align_gpu_record(const tn_call *call, tn_recorder *recorder) {
  const tn_roi_align_attrs *a = call->attrs;
  const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
  const int64_t n = tn_elements(y), threads = a->sampling_ratio > 0 ? 1 : GROUP;
  const int64_t words[] = {n,           x->shape[0], x->shape[1], x->shape[2],
                           x->shape[3], y->shape[2], y->shape[3], a->sampling_ratio};
  tn_gpu g;
  tn_gpu_begin(&g, call, GPU_roi_align);
  for (int32_t k = 0; k < 3; k++) tn_gpu_in(&g, k);
  tn_gpu_out(&g, 0);
  tn_gpu_const(&g, threads);
  tn_gpu_const(&g, tn_str_is(a->coordinate_transformation_mode, "half_pixel"));
  tn_gpu_const(&g, tn_str_is(a->mode, "max"));
  for (size_t k = 0; k < sizeof words / sizeof *words; k++) tn_gpu_int(&g, words[k]);
  tn_gpu_float(&g, a->spatial_scale);
  tn_gpu_int(&g, 0);
  return tn_gpu_run(&g, recorder, tn_gpu_groups(n, threads == 1 ? GROUP : 1), 1, 1);
}
#endif
