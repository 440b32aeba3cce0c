/* Timing: best and median of a kernel on the cases marked `bench`, in GFLOP/s and GB/s. */
#include <stdlib.h>

#include "base/cpu.h"
#include "check.h"

enum { MAX_SAMPLES = 2000 };

static int by_value(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

void check_bench(const check_subject *s) {
  static const check_way way = {"bench", .at_end = false, .n_ranges = 1, .n_workers = 1, .in_place = -1};
  const check_problem *p = s->problem;
  static double samples[MAX_SAMPLES];
  check_run r;
  check_problem_fill(s->problem);
  if (check_run_open(&r, s, &way)) {
    const double end = (double)tn_now_ns() + p->env->options.bench_ms * 1e6;
    int n = 0;
    (void)check_run_stages(&r); /* warm up */
    for (; n < MAX_SAMPLES && (n < 5 || (double)tn_now_ns() < end); n++) {
      const uint64_t begin = tn_now_ns();
      (void)check_run_stages(&r);
      samples[n] = (double)(tn_now_ns() - begin);
    }
    qsort(samples, (size_t)n, sizeof *samples, by_value);
    printf("%-32s %-7s best %10.0f ns  median %10.0f ns  %7.2f GFLOP/s  %6.2f GB/s  \"%s\" %s\n", s->kernel->kernel.name,
           s->level->name, samples[0], samples[n / 2], p->flops / samples[0], check_problem_bytes(p) / samples[0],
           p->line->text, p->label);
  }
  check_run_close(&r);
}
