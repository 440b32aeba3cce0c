/* GridSample of pictures on GPUs, an element a thread. */
#ifdef TN_GPU
/* x between low and high as mirrors there would show it. */
float fold_of(float x, float low, float high) {
  float range = high - low;
  if (x >= low && x <= high) return x;
  if (!(range > 0.0f)) return low;
  float over = fabs(x - low), turns = floor(over / (2.0f * range));
  float y = over - turns * (2.0f * range);
  return y <= range ? low + y : high - (y - range);
}

float limit_of(float x, float low, float high) { return !(x > low) ? low : x > high ? high : x; }

/* Mirrors stand at 0 and `range`, or half an element before: places repeat after twice the range,
 * in the second half backwards. */
#define MIRROR(range, whole, part)                                             \
  {                                                                            \
    float r_ = (range), from_ = ALIGNED != 0 ? 0.0f : 1.0f;                    \
    if (!(r_ > 0.0f)) {                                                        \
      whole = 0.0f;                                                            \
      part = 0.0f;                                                             \
    } else {                                                                   \
      whole -= 2.0f * r_ * floor((whole + part + 0.5f * from_) / (2.0f * r_)); \
      if (whole + part + 0.5f * from_ > r_) {                                  \
        whole = 2.0f * r_ - from_ - whole;                                     \
        if (part > 0.0f) {                                                     \
          whole -= 1.0f;                                                       \
          part = 1.0f - part;                                                  \
        }                                                                      \
      }                                                                        \
    }                                                                          \
  }

/* The place that x means is whole + part, 0 <= part < 1: weights are parts, and one float has not
 * enough bits for both. Products of the upper and of the lower half of x are exact. */
#define PLACE(x, size, whole, part)                                                     \
  {                                                                                     \
    float n_ = TO_FLOAT(size), by_ = ALIGNED != 0 ? 0.5f * (n_ - 1.0f) : 0.5f * n_;     \
    EXACT float upper_ = BITS_TO_FLOAT(FLOAT_TO_BITS(x) & -4096), lower_ = (x)-upper_;  \
    EXACT float base_ = 0.5f * (n_ - 1.0f), turn_ = upper_ * by_, sum_ = base_ + turn_; \
    EXACT float back_ = sum_ - base_;                                                   \
    EXACT float lost_ = (base_ - (sum_ - back_)) + (turn_ - back_);                     \
    whole = floor(sum_);                                                                \
    part = (sum_ - whole) + (lost_ + lower_ * by_);                                     \
    if (part < 0.0f || part >= 1.0f) {                                                  \
      whole += floor(part);                                                             \
      part -= floor(part);                                                              \
    }                                                                                   \
    if (!(fabs(x) < 4096.0f)) { /* NaN, and what is far outside */                      \
      whole = limit_of(floor(((x) + 1.0f) * by_), -1e9f, 1e9f);                         \
      part = 0.0f;                                                                      \
    }                                                                                   \
    if (TAPS == 1) {                                                                    \
      bool is_odd_ = whole - 2.0f * floor(whole * 0.5f) != 0.0f;                        \
      if (part > 0.5f || (part == 0.5f && is_odd_)) whole += 1.0f;                      \
      part = 0.0f;                                                                      \
    }                                                                                   \
    float least_ = ALIGNED != 0 ? 0.0f : -0.5f, at_ = whole + part;                     \
    if (at_ < least_ || at_ > n_ - 1.0f - least_) {                                     \
      if (PADDING == 1) {                                                               \
        whole = limit_of(whole, 0.0f, n_ - 1.0f);                                       \
        part = 0.0f;                                                                    \
      }                                                                                 \
      if (PADDING == 2) MIRROR(n_ - (ALIGNED != 0 ? 1.0f : 0.0f), whole, part)          \
    }                                                                                   \
  }

/* The element at a whole place; -1: zero. */
int element_of(float at, int size, int padding, int aligned) {
  float last = TO_FLOAT(size - 1), low = aligned != 0 ? 0.0f : -0.5f;
  if (padding == 0 && (at < 0.0f || at > last)) return -1;
  if (padding == 2) at = fold_of(at, low, last - low);
  return TO_INT(limit_of(at, 0.0f, last));
}

/* Its roots as factors, so that small weights are not differences of large numbers. */
float cubic_of(float distance) {
  float d = fabs(distance), a = -0.75f;
  if (d <= 1.0f) return (d - 1.0f) * (((a + 2.0f) * d - 1.0f) * d - 1.0f);
  return d < 2.0f ? a * (d - 1.0f) * (2.0f - d) * (2.0f - d) : 0.0f;
}

float weight_of(int taps, float distance) {
  return taps == 1 ? 1.0f : taps == 2 ? 1.0f - fabs(distance) : cubic_of(distance);
}

KERNEL(grid_sample, (IN(X), IN(G), OUT(Y)),
       (CONST(TAPS), CONST(PADDING), CONST(ALIGNED), INT(n), INT(channels), INT(high), INT(wide),
        INT(points)),
       64, 1, 1) {
  int i = GLOBAL(0);
  if (i < n) {
    int plane = i / points, point = plane / channels * points + i % points;
    float grid_x = LD1(G, 2 * point), grid_y = LD1(G, 2 * point + 1);
    float px, py, fx, fy, sum = 0.0f, before = TAPS == 4 ? 1.0f : 0.0f;
    PLACE(grid_x, wide, fx, px)
    PLACE(grid_y, high, fy, py)
    for (int r = 0; r < TAPS; r++) {
      float tap_y = TO_FLOAT(r) - before, row = 0.0f;
      int y = element_of(fy + tap_y, high, PADDING, ALIGNED);
      for (int c = 0; c < TAPS && y >= 0; c++) {
        float tap_x = TO_FLOAT(c) - before, w = weight_of(TAPS, tap_x - px);
        int x = element_of(fx + tap_x, wide, PADDING, ALIGNED);
        if (x >= 0 && w != 0.0f) row += w * LD1(X, (plane * high + y) * wide + x);
      }
      float w_y = weight_of(TAPS, tap_y - py);
      if (y >= 0 && w_y != 0.0f) sum += w_y * row;
    }
    ST1(Y, i, sum);
  }
}
#else
#include "grid.h"
#include "resize.gen.h"
#include "tenon/experimental/gpu.h"

const char *grid_sample_gpu_refuse(const tn_call *call) {
  if (call->inputs[0]->rank != 4) return "samples pictures only";
  return tn_gpu_refuse_size(call);
}

tn_status grid_sample_gpu_record(const tn_call *call, tn_recorder *recorder) {
  static const int32_t taps[] = {[GRID_NEAREST] = 1, [GRID_LINEAR] = 2, [GRID_CUBIC] = 4};
  const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
  grid_spec spec;
  tn_gpu g;
  const tn_status status = grid_parse(call, &spec);
  const int64_t n = tn_elements(y);
  if (status) return status;
  tn_gpu_begin(&g, call, GPU_grid_sample);
  tn_gpu_in(&g, 0);
  tn_gpu_in(&g, 1);
  tn_gpu_out(&g, 0);
  tn_gpu_const(&g, taps[spec.mode]);
  tn_gpu_const(&g, spec.padding);
  tn_gpu_const(&g, spec.align_corners);
  tn_gpu_int(&g, n);
  tn_gpu_int(&g, x->shape[1]);
  tn_gpu_int(&g, x->shape[2]);
  tn_gpu_int(&g, x->shape[3]);
  tn_gpu_int(&g, y->shape[2] * y->shape[3]);
  return tn_gpu_run(&g, recorder, tn_gpu_groups(n, 64), 1, 1);
}
#endif
