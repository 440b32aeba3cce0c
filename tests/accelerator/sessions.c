/* Sessions of one model, each in a thread of its own, whose islands run beside their steps: they
 * take turns with the program. usage: sessions PLUGIN.so MODEL.onnx DEVICE */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tenon/tenon.h"

enum { N_SESSIONS = 3, N_RUNS = 40, N = 20 };

typedef struct user {
  pthread_t thread;
  tn_model *model;
  float a[N], b[N];
  int failures;
} user;

static tn_status run(user *u, tn_session *session, tn_diag *diag) {
  for (int k = 0; k < N; k++) u->a[k]++;
  const tn_status status = tn_session_run(session, diag);
  const float *y = status ? NULL : tn_session_output(session, 0)->data;
  for (int k = 0; y && k < N; k++) {
    const float sum = u->a[k] + u->b[k];
    u->failures += y[k] != sum * u->a[k] + u->b[k] - sum * sum; /* whole numbers: exact */
  }
  return status;
}

static void *use(void *arg) {
  user *u = arg;
  tn_diag *diag = tn_diag_create();
  tn_session *session = NULL;
  const int64_t shape[] = {4, 5};
  const tn_tensor a = tn_tensor_make(TN_F32, 2, shape, u->a),
                  b = tn_tensor_make(TN_F32, 2, shape, u->b);
  tn_status status = tn_session_create(u->model, diag, &session);
  if (!status) status = tn_session_set_input(session, 0, &a, diag);
  if (!status) status = tn_session_set_input(session, 1, &b, diag);
  for (int k = 0; k < N_RUNS && !status; k++) status = run(u, session, diag);
  if (status) fprintf(stderr, "%s\n", tn_diag_text(diag));
  u->failures += status != TN_OK;
  tn_session_destroy(session);
  tn_diag_destroy(diag);
  return NULL;
}

int main(int argc, char **argv) {
  static user users[N_SESSIONS];
  tn_runtime_options options = TN_RUNTIME_OPTIONS_INIT;
  tn_model_options how = {.head = TN_HEAD(tn_model_options)};
  tn_diag *diag = tn_diag_create();
  tn_runtime *runtime = NULL;
  tn_model *model = NULL;
  int failures = 0;
  if (argc != 4) return 2;
  const char *const devices[] = {argv[3]};
  options.flags = TN_RUNTIME_NO_DISCOVERY;
  how.devices = devices;
  how.n_devices = 1;
  how.fallback = TN_FALLBACK_WARN;
  tn_status status = tn_runtime_create(&options, diag, &runtime);
  if (!status) status = tn_runtime_load_plugin(runtime, argv[1], NULL, 0, diag);
  if (!status) status = tn_model_load(runtime, argv[2], &how, diag, &model);
  for (int k = 0; k < N_SESSIONS && !status; k++) {
    users[k].model = model;
    for (int i = 0; i < N; i++) users[k].b[i] = (float)(i + k);
    if (pthread_create(&users[k].thread, NULL, use, &users[k])) status = TN_ERR_MEMORY;
  }
  for (int k = 0; k < N_SESSIONS && !status; k++) {
    pthread_join(users[k].thread, NULL);
    failures += users[k].failures;
  }
  if (status) fprintf(stderr, "%s\n", tn_diag_text(diag));
  tn_model_destroy(model);
  tn_runtime_destroy(runtime);
  tn_diag_destroy(diag);
  printf("%d failures\n", failures);
  return failures || status;
}
