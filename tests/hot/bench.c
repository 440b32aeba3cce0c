/* Today's matrix tile against the frozen one, by turns in one process: the same bits, and a ratio
 * of times.
 *
 *   tile_bench [MS]   times each pair for MS milliseconds (default 200)
 *   tile_bench same   compares results only: the test, which no busy machine can fail */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpu.h"
#include "tile.h"

enum { DEPTH = 768, MR = 14, NR = 32, MAX_ROUNDS = 100000, CALLS = 20 };

typedef struct pair {
  const char *name;
  uint64_t isa;
  int mr, nr;
  tile_fn frozen, today;
} pair;

static const pair pairs[] = {
    {"AVX2", TN_ISA_AVX2, 6, 16, frozen_tile_avx2, today_tile_avx2},
    {"AVX-512", TN_ISA_AVX512, 14, 32, frozen_tile_avx512, today_tile_avx512}};

static _Alignas(64) float a[DEPTH * MR], b[(DEPTH + 64) * NR], c[2][MR * NR];

static void run(tile_fn tile, const pair *p, int64_t depth, float *to) {
  tile(a, b, depth, to, p->nr, (const char *)b, 0);
}

static bool is_same(const pair *p) {
  for (int64_t depth = 1; depth <= DEPTH; depth += depth < 9 ? 1 : 253) {
    memset(c, 0x55, sizeof c);
    run(p->frozen, p, depth, c[0]);
    run(p->today, p, depth, c[1]);
    if (memcmp(c[0], c[1], sizeof c[0])) return false;
  }
  return true;
}

static double time_of(tile_fn tile, const pair *p) {
  const uint64_t begin = tn_now_ns();
  for (int k = 0; k < CALLS; k++) run(tile, p, DEPTH, c[0]);
  return (double)(tn_now_ns() - begin) / CALLS;
}

static int by_value(const void *x, const void *y) {
  const double u = *(const double *)x, v = *(const double *)y;
  return (u > v) - (u < v);
}

static void time_pair(const pair *p, double ms) {
  static double was[MAX_ROUNDS], is[MAX_ROUNDS];
  const double end = (double)tn_now_ns() + ms * 1e6;
  int n = 0;
  do {
    was[n] = time_of(p->frozen, p);
    is[n] = time_of(p->today, p);
    n++;
  } while (n < MAX_ROUNDS && (double)tn_now_ns() < end);
  qsort(was, (size_t)n, sizeof *was, by_value);
  qsort(is, (size_t)n, sizeof *is, by_value);
  const double flops = 2.0 * p->mr * p->nr * DEPTH;
  printf(
      "%-8s %2d x %2d x %d   frozen %7.1f GFLOP/s   today %7.1f GFLOP/s   today/frozen %.3f of "
      "the time, medians of %d\n",
      p->name, p->mr, p->nr, DEPTH, flops / was[n / 2], flops / is[n / 2], is[n / 2] / was[n / 2],
      n);
}

int main(int argc, char **argv) {
  const bool times = argc < 2 || strcmp(argv[1], "same") != 0;
  const double ms = argc > 1 && times ? strtod(argv[1], NULL) : 200;
  int n_tried = 0;
  for (int k = 0; k < DEPTH * MR; k++) a[k] = (float)(k * 7 % 31 - 15) / 16;
  for (int k = 0; k < DEPTH * NR; k++) b[k] = (float)(k * 5 % 29 - 14) / 8;
  for (size_t k = 0; k < sizeof pairs / sizeof *pairs; k++) {
    const pair *p = &pairs[k];
    if ((tn_cpu_isa() & p->isa) != p->isa) continue;
    n_tried++;
    if (!is_same(p)) {
      printf("%s: today's tile gives other results than the frozen one\n", p->name);
      return 1;
    }
    if (times) time_pair(p, ms);
  }
  if (!n_tried) puts("skipped: this machine has neither AVX2 nor AVX-512");
  return n_tried ? 0 : 77;
}
