/* The operator from C and from a model file, with weights that are constant and that are not.
 * usage: linear_test PLUGIN MODEL */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <tenon/tenon.h>

enum { ROWS = 7, IN = 19, OUT = 35 };
static float x[ROWS * IN], weight[OUT * IN], bias[OUT];
static int n_bad;

static void expect(int fine, const char *what, tn_diag *diag) {
  if (!fine) printf("wrong: %s\n%s\n", what, tn_diag_text(diag));
  n_bad += !fine;
  tn_diag_clear(diag);
}

static void fill(float *data, int n, float scale) {
  for (int k = 0; k < n; k++) data[k] = scale * (float)(k * 37 % 101 - 50);
}

static int is_product(const tn_tensor *y, int with_bias) {
  for (int r = 0; y && r < ROWS; r++)
    for (int o = 0; o < OUT; o++) {
      double sum = with_bias ? bias[o] : 0;
      for (int i = 0; i < IN; i++) sum += (double)x[r * IN + i] * weight[o * IN + i];
      if (fabs(((float *)y->data)[r * OUT + o] - sum) > 1e-5 * (1 + fabs(sum))) return 0;
    }
  return y && y->rank == 2 && y->shape[0] == ROWS && y->shape[1] == OUT;
}

/* From C, by name. */
static void test_call(tn_runtime *rt, tn_diag *diag, uint32_t flags, int with_bias) {
  tn_tensor tx = tn_tensor_make(TN_F32, 2, (int64_t[]){ROWS, IN}, x), *y;
  tn_tensor tw = tn_tensor_make(TN_F32, 2, (int64_t[]){OUT, IN}, weight);
  tn_tensor tb = tn_tensor_make(TN_F32, 1, (int64_t[]){OUT}, bias);
  const tn_op_arg args[] = {{.name = "input", .tensor = &tx},
                            {.name = "weight", .tensor = &tw, .flags = flags},
                            {.name = "bias", .tensor = &tb}};
  tn_op_run(rt, "custom_ops::linear", 0, args, with_bias ? 3 : 2, &y, 1, diag);
  expect(is_product(y, with_bias), flags ? "constant weights" : "weights as input", diag);
  tn_value_destroy(y);
}

/* From a model file, whose weights are constants:
 * y = x [[1, 2], [3, 4], [5, 6]]^T + [10, 20, 30] */
static void test_model(tn_runtime *rt, tn_diag *diag, const char *path) {
  tn_model *model = NULL;
  tn_session *session = NULL;
  tn_step_info step = {.head = TN_HEAD(tn_step_info)};
  tn_tensor in = tn_tensor_make(TN_F32, 2, (int64_t[]){1, 2}, (float[]){1, 1});
  tn_status status = tn_model_load(rt, path, NULL, diag, &model);
  if (!status) status = tn_session_create(model, diag, &session);
  if (!status) status = tn_session_set_input(session, 0, &in, diag);
  if (!status) status = tn_session_run(session, diag);
  if (!status) status = tn_session_step(session, 0, &step);
  const float *y = status ? NULL : tn_session_output(session, 0)->data;
  expect(y && y[0] == 13 && y[1] == 27 && y[2] == 41, "the model's output", diag);
  expect(!status && strstr(step.kernel, "packed"), "the model's kernel is a packed one", diag);
  tn_session_destroy(session);
  tn_model_destroy(model);
}

/* Fails, and says `words`. */
static void test_refused(tn_runtime *rt, tn_diag *diag, int64_t in, int64_t n_bias, uint32_t dtype,
                         const char *words) {
  tn_tensor tx = tn_tensor_make(dtype, 2, (int64_t[]){2, 3}, x), *y;
  tn_tensor tw = tn_tensor_make(TN_F32, 2, (int64_t[]){4, in}, weight);
  tn_tensor tb = tn_tensor_make(TN_F32, 1, &n_bias, bias);
  const tn_op_arg args[] = {{.name = "input", .tensor = &tx},
                            {.name = "weight", .tensor = &tw},
                            {.name = "bias", .tensor = &tb}};
  tn_status status = tn_op_run(rt, "custom_ops::linear", 0, args, 3, &y, 1, diag);
  expect(status && !y && strstr(tn_diag_text(diag), words), words, diag);
}

int main(int argc, char **argv) {
  tn_runtime *rt = NULL;
  tn_diag *diag = tn_diag_create();
  if (argc != 3 || tn_runtime_create(NULL, diag, &rt) ||
      tn_runtime_load_plugin(rt, argv[1], NULL, 0, diag))
    return fprintf(stderr, "%s\n", tn_diag_text(diag)), 2;
  fill(x, ROWS * IN, 0.01f), fill(weight, OUT * IN, 0.02f), fill(bias, OUT, 0.1f);
  for (int k = 0; k < 4; k++) test_call(rt, diag, k & 1 ? TN_ARG_CONST : 0, k & 2);
  test_model(rt, diag, argv[2]);
  test_refused(rt, diag, 4, 4, TN_F32, "the last dims of input and weight must be equal");
  test_refused(rt, diag, 3, 5, TN_F32, "bias must have one element per row of weight");
  test_refused(rt, diag, 3, 4, TN_I32, "input");
  tn_runtime_destroy(rt);
  tn_diag_destroy(diag);
  printf("%d wrong\n", n_bad);
  return n_bad != 0;
}
