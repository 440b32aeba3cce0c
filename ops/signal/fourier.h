/* One complex transform of any length, for kernels: mixed radix, decimation in time (Cooley and
 * Tukey 1965), each prime factor by its definition. */
#ifndef TN_OPS_SIGNAL_FOURIER_H
#define TN_OPS_SIGNAL_FOURIER_H

#include "tenon/plugin.h"

typedef struct fourier_value {
  double re, im;
} fourier_value;

/* roots[k] = e^(-2 pi i k / n) for k < n. */
void fourier_roots(fourier_value *roots, int64_t n);
/* Values that one transform needs as room, besides in and out. */
static inline int64_t fourier_room(int64_t n) { return n; }
/* out[k] = sum over j of in[j] * roots[jk mod n]; inverse: of the conjugate roots, not divided by
 * n. in and out are apart. */
void fourier_transform(const fourier_value *roots, int64_t n, int inverse, const fourier_value *in,
                       fourier_value *out, fourier_value *room);
/* The same of real values, whose imaginary parts are 0, in half the time: those of even places are
 * the real parts of a signal of half the length, and those between the imaginary ones. Changes
 * in. */
void fourier_transform_real(const fourier_value *roots, int64_t n, fourier_value *in,
                            fourier_value *out, fourier_value *room);

#endif
