/* Today's matrix tile and the frozen one, with one signature: for bench.c. */
#ifndef TN_TESTS_HOT_TILE_H
#define TN_TESTS_HOT_TILE_H

#include <stdint.h>

typedef void (*tile_fn)(const float *a, const float *b, int64_t depth, float *c, int64_t ldc,
                        const char *next, int64_t next_step);

void today_tile_avx512(const float *a, const float *b, int64_t depth, float *c, int64_t ldc,
                       const char *next, int64_t next_step);
void today_tile_avx2(const float *a, const float *b, int64_t depth, float *c, int64_t ldc,
                     const char *next, int64_t next_step);
void frozen_tile_avx512(const float *a, const float *b, int64_t depth, float *c, int64_t ldc,
                        const char *next, int64_t next_step);
void frozen_tile_avx2(const float *a, const float *b, int64_t depth, float *c, int64_t ldc,
                      const char *next, int64_t next_step);

#endif
