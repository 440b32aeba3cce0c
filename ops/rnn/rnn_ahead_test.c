/* What recurrent operators fetch ahead of its turn lies in R: to fetch what is not mapped takes far
 * longer than to wait for what is, and packed weights end where a mapping does. */
#if defined(__x86_64__) && !defined(__clang__)
#pragma GCC target("avx2,fma,f16c")
#endif

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

/* The test's copy stands for the library's, which is not linked then. */
#ifdef __AVX2__
#define TN_SIMD_ISA avx2
#elif defined(__ARM_NEON)
#define TN_SIMD_ISA neon
#endif
#ifdef TN_SIMD_ISA
#define tn_prefetch_l1 fetch_l1
#define tn_prefetch_l2 fetch_l2
#include "tenon/kit/simd.h"
#undef tn_prefetch_l1
#undef tn_prefetch_l2

static const char *lowest, *behind; /* of what may be fetched */
static int64_t n_fetched, n_outside;

static void tn_prefetch_l1(const void *p) {
  n_fetched++;
  n_outside += (const char *)p < lowest || (const char *)p >= behind;
}
static inline void tn_prefetch_l2(const void *p) { tn_prefetch_l1(p); }

#include "rnn_simd.c"

/* For all blocks of R, `some` of `gates` from one on, for one sequence and for several. */
static void fetch(int64_t blocks, int64_t hidden, int gates, int from, int some) {
  const int64_t block = gates * TN_VF_LANES, floats = blocks * block * hidden;
  float *r = calloc((size_t)floats, sizeof *r), *h = calloc((size_t)hidden, sizeof *h);
  float *rows[SEQUENCES];
  tn_vf sums[SEQUENCES][GATES];
  assert_non_null(r);
  assert_non_null(h);
  for (int s = 0; s < SEQUENCES; s++) rows[s] = h;
  const net l = {.n = {.hidden = hidden}, .blocks = blocks, .block = block};
  lowest = (const char *)r;
  behind = (const char *)(r + floats);
  for (int alone = 0; alone < 2; alone++) {
    const walk w = {.l = &l, .r = r, .live = alone ? 1 : SEQUENCES};
    for (int64_t k = 0; k < blocks; k++) {
      for (int s = 0; s < SEQUENCES; s++)
        for (int g = 0; g < GATES; g++) sums[s][g] = tn_vf_set1(0);
      block_sums(&w, k, from, some, rows, sums);
    }
  }
  free(r);
  free(h);
}

static void test_ahead(void **state) {
  (void)state;
#ifdef __AVX2__
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) skip();
#endif
  for (int64_t blocks = 1; blocks < 4; blocks++)
    for (int64_t hidden = 1; hidden < 70; hidden++) {
      fetch(blocks, hidden, 4, 0, 4);
      fetch(blocks, hidden, 3, 0, 3);
      fetch(blocks, hidden, 3, 2, 1);
      fetch(blocks, hidden, 1, 0, 1);
    }
  assert_int_equal(n_outside, 0);
  assert_true(n_fetched > 1000);
}
#else
static void test_ahead(void **state) {
  (void)state;
  skip();
}
#endif

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_ahead)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
