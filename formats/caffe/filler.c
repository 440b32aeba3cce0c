/* Caffe's fillers. The fan in of a blob is its elements by its first dim, the fan out those by its
 * second, whatever the layer makes of them, as BVLC Caffe has it. */
#include "filler.h"

#include <math.h>

static const double two_pi = 6.283185307179586;

double caf_random(uint64_t *state) { /* splitmix64 */
  uint64_t x = *state += UINT64_C(0x9e3779b97f4a7c15);
  x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
  return ldexp((double)((x ^ (x >> 31)) >> 11), -53);
}

static int64_t elements(const tn_tensor *t) {
  int64_t n = 1;
  for (int32_t k = 0; k < t->rank; k++) n *= t->shape[k];
  return n;
}

static void uniform(double lo, double hi, uint64_t seed, int64_t n, float *out) {
  for (int64_t k = 0; k < n; k++) out[k] = (float)(lo + (hi - lo) * caf_random(&seed));
}

static void gaussian(double mean, double std, uint64_t seed, int64_t n, float *out) {
  for (int64_t k = 0; k < n; k++) { /* Box and Muller's */
    const double far = sqrt(-2 * log(1 - caf_random(&seed)));
    out[k] = (float)(mean + std * far * cos(two_pi * caf_random(&seed)));
  }
}

/* Of each column, that is of as many numbers as the first dim is long, `left` stay on average. */
static void make_sparse(double left, const tn_tensor *t, uint64_t seed, int64_t n, float *out) {
  const double chance = left / (double)t->shape[0];
  for (int64_t k = 0; k < n; k++)
    if (caf_random(&seed) >= chance) out[k] = 0;
}

/* Positive numbers, those of each row with the sum 1. */
static void unitball(const tn_tensor *t, uint64_t seed, int64_t n, float *out) {
  const int64_t row = n / t->shape[0];
  uniform(0, 1, seed, n, out);
  for (int64_t first = 0; first < n; first += row) {
    double sum = 0;
    for (int64_t k = 0; k < row; k++) sum += (double)out[first + k];
    for (int64_t k = 0; k < row; k++) out[first + k] = (float)((double)out[first + k] / sum);
  }
}

/* Kernels that enlarge by linear interpolation. */
static void bilinear(int64_t width, int64_t n, float *out) {
  const double half = ceil((double)width / 2), middle = (double)(width - 1) / (2 * half);
  for (int64_t k = 0; k < n; k++) {
    const double x = (double)(k % width), y = (double)(k / width % width);
    out[k] = (float)((1 - fabs(x / half - middle)) * (1 - fabs(y / half - middle)));
  }
}

static double fan(const double *filler, const tn_tensor *t, int64_t n) {
  const double in = (double)n / (double)t->shape[0],
               out = t->rank > 1 ? (double)n / (double)t->shape[1] : (double)n;
  const double norm = filler[CAF_FILLER_VARIANCE_NORM];
  return norm == CAF_FAN_OUT ? out : norm == CAF_FAN_AVERAGE ? (in + out) / 2 : in;
}

static tn_status check(const tn_lowering *c, const double *filler, const tn_tensor *t) {
  const double type = filler[CAF_FILLER_TYPE], sparse = filler[CAF_FILLER_SPARSE];
  if (!(type >= CAF_FILL_CONSTANT && type <= CAF_FILL_BILINEAR))
    return caf_invalid(c, "a filler of no known type");
  if (sparse != -1 && type != CAF_FILL_GAUSSIAN)
    return caf_invalid(c, "'sparse' of a filler that is not gaussian");
  if (sparse < -1) return caf_invalid(c, "a filler's 'sparse' is negative");
  if (type == CAF_FILL_UNIFORM && filler[CAF_FILLER_MIN] > filler[CAF_FILLER_MAX])
    return caf_invalid(c, "a uniform filler's 'min' is above its 'max'");
  if (type == CAF_FILL_GAUSSIAN && filler[CAF_FILLER_STD] < 0)
    return caf_invalid(c, "a gaussian filler's 'std' is negative");
  if (type == CAF_FILL_BILINEAR && (t->rank != 4 || t->shape[2] != t->shape[3]))
    return caf_invalid(c, "a bilinear filler of a blob that has not 4 dims and square kernels");
  if (type != CAF_FILL_CONSTANT && !t->rank)
    return caf_invalid(c, "a random filler of a blob without dims");
  return TN_OK;
}

tn_status caf_fill(const tn_lowering *c, const double *filler, uint64_t seed, const tn_tensor *t,
                   float *out) {
  const int64_t n = elements(t);
  const tn_status s = check(c, filler, t);
  if (s) return s;
  switch ((int)filler[CAF_FILLER_TYPE]) {
    case CAF_FILL_UNIFORM:
      uniform(filler[CAF_FILLER_MIN], filler[CAF_FILLER_MAX], seed, n, out);
      break;
    case CAF_FILL_GAUSSIAN:
      gaussian(filler[CAF_FILLER_MEAN], filler[CAF_FILLER_STD], seed, n, out);
      if (filler[CAF_FILLER_SPARSE] >= 0) make_sparse(filler[CAF_FILLER_SPARSE], t, ~seed, n, out);
      break;
    case CAF_FILL_POSITIVE_UNITBALL: unitball(t, seed, n, out); break;
    case CAF_FILL_XAVIER: {
      const double width = sqrt(3 / fan(filler, t, n));
      uniform(-width, width, seed, n, out);
      break;
    }
    case CAF_FILL_MSRA: gaussian(0, sqrt(2 / fan(filler, t, n)), seed, n, out); break;
    case CAF_FILL_BILINEAR: bilinear(t->shape[3], n, out); break;
    default: uniform(filler[CAF_FILLER_VALUE], filler[CAF_FILLER_VALUE], seed, n, out);
  }
  return TN_OK;
}
