/* What one core can do, measured by small loops: multiply-adds per ISA, and reading memory. Each
 * loop answers how many floating-point operations it did; what it computes goes to *out, so that
 * it has to be done. */
#ifndef TN_CHECK_PEAK_H
#define TN_CHECK_PEAK_H

#include <stdint.h>

/* Multiply-adds on the calling thread with the best loop of these instruction sets, in GFLOP/s. */
double check_peak_gflops(uint64_t isa);
/* Reading a buffer of so many bytes (at least 64) again and again, in GB/s; 0: no memory. */
double check_read_gbps(uint64_t bytes);

double check_peak_c(int64_t n, float *out);
double check_peak_avx2(int64_t n, float *out);
double check_peak_avx512(int64_t n, float *out);
double check_peak_neon(int64_t n, float *out);

#endif
