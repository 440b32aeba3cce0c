/* Measures the plug-in's operators through Tenon's public API: GFLOP/s for prefill, and bytes of K
 * and V per second for decode, on one thread and on all. Only visible pairs of query and key are
 * counted.
 *
 * usage: attention_bench [--quick] PLUGIN.so */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "one_op.h"

typedef struct shape {
  const char *name;
  int64_t sq, skv, hq, hkv, d, window;
  uint32_t dtype;
} shape;

static const shape shapes[] = {{"prefill 512, 8 heads", 512, 512, 8, 8, 64, 0, TN_F32},
                               {"prefill 2048, 8 heads of 2", 2048, 2048, 8, 2, 64, 0, TN_F32},
                               {"prefill 2048, window 256", 2048, 2048, 8, 2, 64, 256, TN_F32},
                               {"prefill 512, f16", 512, 512, 8, 8, 64, 0, TN_F16},
                               {"decode at 4096, 8 heads", 1, 4096, 8, 8, 128, 0, TN_F32},
                               {"decode at 4096, 32 heads of 8", 1, 4096, 32, 8, 128, 0, TN_F32},
                               {"decode at 4096, 32 of 8, f16", 1, 4096, 32, 8, 128, 0, TN_F16},
                               {"decode at 4096, window 256", 1, 4096, 32, 8, 128, 256, TN_F32}};

static double seconds(void) {
  struct timespec t;
  timespec_get(&t, TIME_UTC);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Small numbers of both signs: as f16 too, any pattern without the top exponent bit is one. */
static void *numbers(const int64_t *dims, uint32_t dtype) {
  size_t n = (size_t)(dims[0] * dims[1] * dims[2] * dims[3]);
  void *data = malloc(n * 4);
  if (!data) exit(2);
  for (size_t i = 0; i < n; i++)
    if (dtype == TN_F32)
      ((float *)data)[i] = (float)(int)(i * 2654435761u % 2001) / 1000.0f - 1.0f;
    else
      ((uint16_t *)data)[i] = (uint16_t)(i * 40503u & 0xbbff);
  return data;
}

/* Seconds of the fastest run; *out_kernel: the kernel that Tenon chose. */
static double fastest(tn_session *session, int quick, tn_diag *diag, char *kernel, size_t size) {
  tn_step_info step = {.head = TN_HEAD(tn_step_info)};
  double best = INFINITY, spent = 0;
  for (int run = 0; run < (quick ? 1 : 1000) && (run < 3 || spent < 0.5); run++) {
    double begin = seconds();
    if (tn_session_run(session, diag)) return NAN;
    double took = seconds() - begin;
    best = run && took > best ? best : took;
    spent += took;
  }
  if (tn_session_step(session, 0, &step)) return NAN;
  snprintf(kernel, size, "%s", step.kernel);
  return best;
}

static int measure(tn_runtime *runtime, const shape *s, int threads, int quick, tn_diag *diag) {
  int64_t q[] = {1, s->sq, s->hq, s->d}, kv[] = {1, s->skv, s->hkv, s->d};
  void *data[] = {numbers(q, s->dtype), numbers(kv, s->dtype), numbers(kv, s->dtype)};
  tn_tensor in[] = {tn_tensor_make(s->dtype, 4, q, data[0]),
                    tn_tensor_make(s->dtype, 4, kv, data[1]),
                    tn_tensor_make(s->dtype, 4, kv, data[2])};
  tn_attr window = one_op_int("window", s->window), offset = one_op_int("q_offset", s->skv - s->sq);
  char kernel[64] = "?";
  one_op o;
  tn_status status = one_op_create(runtime, "tenon.examples", "flash_attention_2_swa_sink",
                                   (const tn_tensor *[]){&in[0], &in[1], &in[2]}, 3,
                                   (const tn_attr *[]){&window, &offset}, 2, diag, &o);
  double took = status ? NAN : fastest(o.session, quick, diag, kernel, sizeof kernel), pairs = 0;
  int64_t most = s->window && s->window < s->skv ? s->window : s->skv;
  for (int64_t i = 0; i < s->sq; i++) pairs += fmin((double)most, (double)(s->skv - s->sq + i + 1));
  double flops = 4 * pairs * (double)(s->hq * s->d);
  double bytes = 2.0 * (double)(most * s->hkv * s->d) * (s->dtype == TN_F32 ? 4 : 2);
  printf("%-30s %-9s %10.3f ms %8.1f GFLOP/s", s->name, threads ? "1 thread" : "all cores",
         took * 1e3, flops / took * 1e-9);
  if (s->sq == 1) printf(" %7.1f GB/s", bytes / took * 1e-9);
  printf("   %s\n", kernel);
  one_op_destroy(&o);
  for (int k = 0; k < 3; k++) free(data[k]);
  return took > 0 ? 0 : 1;
}

int main(int argc, char **argv) {
  int quick = argc > 1 && !strcmp(argv[1], "--quick"), bad = 0;
  if (argc != 2 + quick) return fprintf(stderr, "usage: attention_bench [--quick] PLUGIN.so\n"), 2;
  tn_diag *diag = tn_diag_create();
  for (int threads = 1; threads >= 0; threads--) { /* 0: all cores */
    tn_runtime_options options = TN_RUNTIME_OPTIONS_INIT;
    tn_runtime *runtime = NULL;
    options.n_threads = threads;
    tn_status status = tn_runtime_create(&options, diag, &runtime);
    if (!status) status = tn_runtime_load_plugin(runtime, argv[argc - 1], NULL, 0, diag);
    for (size_t k = 0; k < sizeof shapes / sizeof *shapes && !status; k++)
      bad |= measure(runtime, &shapes[k], threads, quick, diag);
    bad |= status != TN_OK;
    tn_runtime_destroy(runtime);
  }
  if (bad) fprintf(stderr, "%s\n", tn_diag_text(diag));
  tn_diag_destroy(diag);
  return bad;
}
