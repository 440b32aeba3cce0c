/* Timing: best and median of a kernel on the cases marked `bench`, on one thread, and what share
 * that is of what this core was seen to do in the same process. */
#include <stdlib.h>

#include "base/cpu.h"
#include "harness/harness.h"
#include "harness/peak.h"

enum { MAX_SAMPLES = 5000, READ_BYTES = 64 << 20 };

void check_calibrate(check_env *env) {
  const double memory = check_read_gbps(READ_BYTES);
  printf("memory: %.1f GB/s on one thread\n", memory);
  for (int32_t k = 0; k < env->n_levels; k++) {
    env->levels[k].memory_gbps = memory;
    env->levels[k].peak_gflops = check_peak_gflops(env->levels[k].isa);
    printf("multiply-add, isa=%s: %.1f GFLOP/s on one thread\n", env->levels[k].name,
           env->levels[k].peak_gflops);
  }
  printf("%-36s %-12s %12s %12s %10s %6s %9s %6s  case\n", "kernel", "isa", "best ns", "median ns",
         "GFLOP/s", "peak", "GB/s", "memory");
}

/* ---- one kernel ------------------------------------------------------------------------------ */

static int by_value(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static void print(const check_subject *s, const double *samples, int n) {
  const check_problem *p = s->problem;
  const double gflops = p->flops / samples[0], gbps = check_problem_bytes(p) / samples[0];
  const char *layout = tn_layout_text(s->form.out[0]);
  printf("%-36s %-12s %12.0f %12.0f %10.2f %5.0f%% %9.2f %5.0f%%  %s%s%s%s%s\n",
         s->kernel->kernel.name, s->level->name, samples[0], samples[n / 2], gflops,
         100 * gflops / s->level->peak_gflops, gbps, 100 * gbps / s->level->memory_gbps,
         p->line->text, *p->label ? " " : "", p->label, s->form.out[0] ? " layout=" : "",
         s->form.out[0] ? layout : "");
}

void check_bench(const check_subject *s) {
  static const check_variant variant = {"bench", .at_end = false, .n_ranges = 1, .n_workers = 1,
                                        .in_place = -1};
  double *samples = check_need(tn_alloc(tn_default_allocator(), MAX_SAMPLES * sizeof *samples));
  check_run r;
  check_problem_fill(s->problem);
  if (check_run_open(&r, s, &variant)) {
    const double end = (double)tn_now_ns() + s->problem->env->options.bench_ms * 1e6;
    int n = 0;
    bool ok = check_run_stages(&r) && check_run_stages(&r); /* warm up */
    for (; ok && n < MAX_SAMPLES && (n < 5 || (double)tn_now_ns() < end); n++) {
      const uint64_t begin = tn_now_ns();
      ok = check_run_stages(&r);
      samples[n] = (double)(tn_now_ns() - begin);
    }
    qsort(samples, (size_t)n, sizeof *samples, by_value);
    if (ok) print(s, samples, n);
  }
  check_run_close(&r);
  tn_free(tn_default_allocator(), samples, MAX_SAMPLES * sizeof *samples);
}
