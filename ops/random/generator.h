/* Numbers from a counter: Philox4x32-10 (Salmon, Moraes, Dror, Shaw: "Parallel Random Numbers: As
 * Easy as 1, 2, 3", 2011). There is no state: number k under a key is always the same. */
#ifndef TN_OPS_RANDOM_GENERATOR_H
#define TN_OPS_RANDOM_GENERATOR_H

#include <math.h>
#include <string.h>

#include "tenon/plugin.h"

typedef struct random_block {
  uint32_t x[4];
} random_block;

static inline random_block random_bits(uint64_t key, uint64_t counter) {
  uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
  random_block b = {{(uint32_t)counter, (uint32_t)(counter >> 32), 0, 0}};
  for (int round = 0; round < 10; round++) {
    const uint64_t p = UINT64_C(0xd2511f53) * b.x[0], q = UINT64_C(0xcd9e8d57) * b.x[2];
    b = (random_block){{(uint32_t)(q >> 32) ^ b.x[1] ^ k0, (uint32_t)q,
                        (uint32_t)(p >> 32) ^ b.x[3] ^ k1, (uint32_t)p}};
    k0 += 0x9e3779b9u;
    k1 += 0xbb67ae85u;
  }
  return b;
}

/* 53 bits, in [0, 1). */
static inline double random_unit(uint32_t high, uint32_t low) {
  return (double)((uint64_t)high << 21 | low >> 11) * 0x1p-53;
}

static inline double random_uniform(uint64_t key, int64_t k) {
  const random_block b = random_bits(key, (uint64_t)k);
  return random_unit(b.x[0], b.x[1]);
}

/* Box and Muller 1958; 1 - u keeps 0 away from the logarithm. */
static inline double random_normal(uint64_t key, int64_t k) {
  const random_block b = random_bits(key, (uint64_t)k);
  return sqrt(-2 * log(1 - random_unit(b.x[0], b.x[1]))) *
         cos(6.28318530717958647692528676655900577 * random_unit(b.x[2], b.x[3]));
}

/* The key of a seed: the bits of the attribute, which is an f32. */
static inline uint64_t random_key_of(double seed) {
  const float f = (float)seed;
  uint32_t bits;
  memcpy(&bits, &f, sizeof bits);
  return bits;
}

#endif
