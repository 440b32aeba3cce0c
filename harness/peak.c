/* What a core can do, as small loops see it: the best of some tries of half a millisecond. */
#include "harness/peak.h"

#include "base/alloc.h"
#include "base/cpu.h"

static _Thread_local volatile float sink; /* results of loops that nobody needs */

static double (*peak_loop(uint64_t isa))(int64_t n, float *out) {
#if defined(__x86_64__) && !defined(TN_PORTABLE)
  if (isa & TN_ISA_AVX512) return check_peak_avx512;
  if (isa & TN_ISA_AVX2) return check_peak_avx2;
#elif defined(__aarch64__) && !defined(TN_PORTABLE)
  if (isa & TN_ISA_NEON) return check_peak_neon;
#endif
  (void)isa;
  return check_peak_c;
}

double check_peak_gflops(uint64_t isa) {
  double (*loop)(int64_t, float *) = peak_loop(isa), best = 0;
  float result = 0;
  for (int k = 0; k < 20; k++) {
    const uint64_t begin = tn_now_ns();
    const double flops = loop(100000, &result);
    const double rate = flops / (double)(tn_now_ns() - begin);
    if (rate > best) best = rate;
  }
  sink = result;
  return best;
}

/* Vectors of 16 bytes, which every machine has. */
typedef uint64_t vector __attribute__((vector_size(16)));
enum { STRIDE = 4 };

static vector sum_all(const vector *p, uint64_t bytes) {
  vector a = {0}, b = {0}, c = {0}, d = {0};
  for (const vector *end = p + bytes / sizeof *p / STRIDE * STRIDE; p < end; p += STRIDE)
    a += p[0], b += p[1], c += p[2], d += p[3];
  return (a + b) + (c + d);
}

double check_read_gbps(uint64_t bytes) {
  enum { TRIES = 8, READ_BYTES = 64 << 20 };
  vector *data = tn_alloc(tn_default_allocator(), bytes);
  double best = 0;
  for (int k = 0; data && k < TRIES; k++) {
    const uint64_t n = bytes < READ_BYTES ? READ_BYTES / bytes : 1, begin = tn_now_ns();
    for (uint64_t i = 0; i < n; i++)
      data[i % STRIDE] = sum_all(data, bytes); /* so that each round has to be done */
    const double rate = (double)(n * bytes) / (double)(tn_now_ns() - begin);
    if (rate > best) best = rate;
  }
  if (data) sink = (float)data[0][0];
  tn_free(tn_default_allocator(), data, bytes);
  return best;
}
