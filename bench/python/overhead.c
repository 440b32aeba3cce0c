/* The C side of overhead.py: prints how many nanoseconds a call takes at best, setting its input and where
 * its output goes each time, as a program would that gets new buffers. usage: overhead MODEL CALLS
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "tenon/tenon.h"

static double now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

enum { CHUNK = 200 };

static tn_status run_chunk(tn_session *session, const tn_tensor *in, const tn_tensor *out,
                           tn_diag *diag) {
  tn_status status = TN_OK;
  for (int k = 0; !status && k < CHUNK; k++) {
    status = tn_session_set_input(session, 0, in, diag);
    if (!status) status = tn_session_set_output(session, 0, out, diag);
    if (!status) status = tn_session_run(session, diag);
  }
  return status;
}

int main(int argc, char **argv) {
  tn_runtime_options options = TN_RUNTIME_OPTIONS_INIT;
  options.n_threads = 1;
  tn_diag *diag = tn_diag_create();
  tn_runtime *runtime = NULL;
  tn_model *model = NULL;
  tn_session *session = NULL;
  float x[4] = {0, 1, 2, 3}, y[4] = {0};
  const int64_t shape[] = {4};
  const tn_tensor in = tn_tensor_make(TN_F32, 1, shape, x),
                  out = tn_tensor_make(TN_F32, 1, shape, y);
  const long n = argc > 2 ? atol(argv[2]) : 0;
  tn_status status = n > 0 ? tn_runtime_create(&options, diag, &runtime) : TN_ERR_INVALID;
  if (!status) status = tn_model_load(runtime, argv[1], NULL, diag, &model);
  if (!status) status = tn_session_create(model, diag, &session);
  double best = 1e18;
  for (long k = 0; !status && k < n; k += CHUNK) {
    const double begin = now_ns();
    status = run_chunk(session, &in, &out, diag);
    const double ns = (now_ns() - begin) / CHUNK;
    if (ns < best) best = ns;
  }
  if (!status) printf("%.1f\n", best);
  if (status) fprintf(stderr, "%s\n", tn_diag_text(diag));
  tn_session_destroy(session);
  tn_model_destroy(model);
  tn_runtime_destroy(runtime);
  tn_diag_destroy(diag);
  return status || y[3] != 6;
}
