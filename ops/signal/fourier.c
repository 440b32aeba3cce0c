/* The transform of fourier.h. */
#include "fourier.h"

#include <math.h>

static const double two_pi = 6.28318530717958647692528676655900577;

/* Angles are folded into an eighth of the circle, where sin and cos are most exact, and multiples
 * of a quarter are exact. */
void fourier_roots(fourier_value *roots, int64_t n) {
  for (int64_t k = 0; k < n; k++) {
    const int64_t eighth = 8 * k / n, quarter = (eighth + 1) / 2;
    const double angle = two_pi * ((double)k - (double)quarter * (double)n / 4) / (double)n,
                 c = cos(angle), s = sin(angle);
    const double re[4] = {c, -s, -c, s}, im[4] = {s, c, -s, -c};
    roots[k] = (fourier_value){re[quarter & 3], -im[quarter & 3]};
  }
}

typedef struct transform {
  const fourier_value *roots;
  int64_t n;   /* of roots */
  double sign; /* of the imaginary part of roots */
  fourier_value *room;
} transform;

static fourier_value times_root(const transform *t, fourier_value x, int64_t k) {
  const double re = t->roots[k].re, im = t->sign * t->roots[k].im;
  return (fourier_value){x.re * re - x.im * im, x.re * im + x.im * re};
}

static int64_t smallest_factor(int64_t n) {
  if (n % 4 == 0) return 4;
  for (int64_t p = 2; p * p <= n; p++)
    if (n % p == 0) return p;
  return n;
}

static void join_2(const transform *t, fourier_value *out, int64_t m, int64_t step) {
  for (int64_t u = 0; u < m; u++) {
    const fourier_value a = out[u], b = times_root(t, out[u + m], u * step);
    out[u] = (fourier_value){a.re + b.re, a.im + b.im};
    out[u + m] = (fourier_value){a.re - b.re, a.im - b.im};
  }
}

static void join_4(const transform *t, fourier_value *out, int64_t m, int64_t step) {
  for (int64_t u = 0; u < m; u++) {
    const fourier_value a = out[u], b = times_root(t, out[u + m], u * step);
    const fourier_value c = times_root(t, out[u + 2 * m], 2 * u * step),
                        d = times_root(t, out[u + 3 * m], 3 * u * step);
    const fourier_value p = {a.re + c.re, a.im + c.im}, q = {a.re - c.re, a.im - c.im};
    const fourier_value r = {b.re + d.re, b.im + d.im},
                        s = {t->sign * (b.im - d.im), t->sign * (d.re - b.re)}; /* (b - d) / i */
    out[u] = (fourier_value){p.re + r.re, p.im + r.im};
    out[u + m] = (fourier_value){q.re + s.re, q.im + s.im};
    out[u + 2 * m] = (fourier_value){p.re - r.re, p.im - r.im};
    out[u + 3 * m] = (fourier_value){q.re - s.re, q.im - s.im};
  }
}

/* out holds p transforms of length m; step: how far roots of length p*m lie apart. */
static void join(const transform *t, fourier_value *out, int64_t p, int64_t m, int64_t step) {
  if (p == 2) {
    join_2(t, out, m, step);
    return;
  }
  if (p == 4) {
    join_4(t, out, m, step);
    return;
  }
  for (int64_t u = 0; u < m; u++) {
    for (int64_t q = 0; q < p; q++) t->room[q] = times_root(t, out[u + q * m], u * q * step);
    for (int64_t k = 0; k < p; k++) {
      fourier_value sum = t->room[0];
      for (int64_t q = 1, at = 0; q < p; q++) {
        at += k * m * step; /* q * k / p of the circle */
        if (at >= t->n) at -= t->n;
        const fourier_value x = times_root(t, t->room[q], at);
        sum.re += x.re;
        sum.im += x.im;
      }
      out[u + k * m] = sum;
    }
  }
}

/* Depth: the number of factors, at most 62. */
static void part(const transform *t, const fourier_value *in, int64_t stride, fourier_value *out,
                 int64_t n) {
  if (n <= 1) {
    if (n == 1) *out = *in;
    return;
  }
  const int64_t p = smallest_factor(n), m = n / p;
  for (int64_t q = 0; q < p && m == 1; q++) out[q] = in[q * stride];
  for (int64_t q = 0; q < p && m > 1; q++) part(t, in + q * stride, stride * p, out + q * m, m);
  join(t, out, p, m, stride);
}

void fourier_transform(const fourier_value *roots, int64_t n, int inverse, const fourier_value *in,
                       fourier_value *out, fourier_value *room) {
  const transform t = {roots, n, inverse ? -1.0 : 1.0, room};
  part(&t, in, 1, out, n);
}

void fourier_transform_real(const fourier_value *roots, int64_t n, fourier_value *in,
                            fourier_value *out, fourier_value *room) {
  const transform t = {roots, n, 1.0, room};
  const int64_t half = n / 2;
  if (n % 2) {
    part(&t, in, 1, out, n);
    return;
  }
  for (int64_t j = 0; j < n; j += 2) in[j].im = in[j + 1].re;
  part(&t, in, 2, out, half);
  out[half] = out[0];
  for (int64_t k = 0; k <= half - k; k++) {
    const fourier_value a = out[k], b = out[half - k];
    const fourier_value even = {(a.re + b.re) / 2, (a.im - b.im) / 2},
                        odd = times_root(&t, (fourier_value){(a.im + b.im) / 2, (b.re - a.re) / 2},
                                         k);
    out[k] = (fourier_value){even.re + odd.re, even.im + odd.im};
    out[half - k] = (fourier_value){even.re - odd.re, odd.im - even.im};
  }
  for (int64_t k = half + 1; k < n; k++) out[k] = (fourier_value){out[n - k].re, -out[n - k].im};
}
