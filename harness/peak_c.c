/* Multiply and add in vectors of 16 bytes, which every machine has: 12 chains, enough to hide
 * their latency. */
#include "harness/peak.h"

enum { CHAINS = 12, LANES = 4 };
typedef float v4f __attribute__((vector_size(16)));

double check_peak_c(int64_t n, float *out) {
  v4f acc[CHAINS];
  const v4f a = {0.999f, 0.999f, 0.999f, 0.999f}, b = {1, 1, 1, 1};
  for (int j = 0; j < CHAINS; j++) acc[j] = b * (float)j;
  for (int64_t k = 0; k < n; k++)
    for (int j = 0; j < CHAINS; j++) acc[j] = acc[j] * a + b;
  for (int j = 1; j < CHAINS; j++) acc[0] += acc[j];
  *out += acc[0][0];
  return (double)n * CHAINS * LANES * 2;
}
