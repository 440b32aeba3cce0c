/* The operators in a model file: numbers, FLOPs, that three shuffles become one copy; and alone:
 * what they refuse.
 * usage: custom_test PLUGIN MODEL */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <tenon/tenon.h>

enum { C = 6, INNER = 16, N = C * INNER };
static int n_bad;

static void expect(int fine, const char *what, tn_diag *diag) {
  if (!fine) printf("wrong: %s\n%s\n", what, tn_diag_text(diag));
  n_bad += !fine;
  tn_diag_clear(diag);
}

/* groups=3, then groups=2, which undoes it, then groups=2 again. */
static int is_right(const float *x, const float *y) {
  for (int k = 0; k < C; k++)
    for (int i = 0; i < INNER; i++) {
      const int to = k % 3 * 2 + k / 3;
      const double want = 1.7159 * tanh(0.6667 * (double)x[k * INNER + i]);
      if (fabs((double)y[to * INNER + i] - want) > 1e-6) return 0;
    }
  return 1;
}

static void test_model(tn_runtime *rt, tn_diag *diag, const char *path) {
  float x[N];
  tn_model *model = NULL;
  tn_session *session = NULL;
  tn_plan_info plan = {.head = TN_HEAD(tn_plan_info)};
  tn_tensor in = tn_tensor_make(TN_F32, 4, (int64_t[]){1, C, 4, 4}, x);
  for (int k = 0; k < N; k++) x[k] = (float)(k - N / 2) * 0.03f;
  tn_status status = tn_model_load(rt, path, NULL, diag, &model);
  if (!status) status = tn_session_create(model, diag, &session);
  if (!status) status = tn_session_set_input(session, 0, &in, diag);
  if (!status) status = tn_session_run(session, diag);
  if (!status) status = tn_session_plan(session, &plan);
  expect(!status && is_right(x, tn_session_output(session, 0)->data), "the model's output", diag);
  expect(plan.flops == 22 * N, "its FLOPs", diag);
  expect(plan.n_steps == 2, "three shuffles are one step", diag);
  tn_session_destroy(session);
  tn_model_destroy(model);
}

static void test_refused(tn_runtime *rt, tn_diag *diag, int32_t rank, const char *groups,
                         const char *words) {
  float x[8] = {0};
  tn_tensor in = tn_tensor_make(TN_F32, rank, (int64_t[]){1, 4, 2}, x), *y;
  const tn_op_arg args[] = {{.name = "x", .tensor = &in}, {.name = "groups", .text = groups}};
  tn_status status =
      tn_op_run(rt, "com.example::ChannelShuffle", 0, args, groups ? 2 : 1, &y, 1, diag);
  expect(status && strstr(tn_diag_text(diag), words), words, diag);
}

int main(int argc, char **argv) {
  tn_runtime *rt = NULL;
  tn_diag *diag = tn_diag_create();
  if (argc != 3 || tn_runtime_create(NULL, diag, &rt) ||
      tn_runtime_load_plugin(rt, argv[1], NULL, 0, diag))
    return fprintf(stderr, "%s\n", tn_diag_text(diag)), 2;
  test_model(rt, diag, argv[2]);
  test_refused(rt, diag, 3, "3", "'groups' is 3 and does not divide 4 channels");
  test_refused(rt, diag, 3, "0", "'groups' is 0");
  test_refused(rt, diag, 1, "2", "x has rank 1");
  test_refused(rt, diag, 3, NULL, "attribute 'groups' is required but missing");
  tn_runtime_destroy(rt);
  tn_diag_destroy(diag);
  printf("%d wrong\n", n_bad);
  return n_bad != 0;
}
