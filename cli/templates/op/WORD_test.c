/* Loads the plug-in named on the command line, and computes 2 * {1, 2, 3} + 0.5 with it. */
#include <stdio.h>
#include <tenon/tenon.h>

static int is_right(const tn_tensor *y) {
  const float want[] = {2.5f, 4.5f, 6.5f}, *got = y->data;
  for (int k = 0; k < 3; k++) {
    if (got[k] == want[k]) continue;
    fprintf(stderr, "y[%d] is %g, not %g\n", k, (double)got[k], (double)want[k]);
    return 0;
  }
  return 1;
}

int main(int argc, char **argv) {
  float data[] = {1, 2, 3};
  const int64_t shape[] = {3};
  const tn_tensor x = tn_tensor_make(TN_F32, 1, shape, data);
  const tn_op_arg args[] = {{.name = "x", .tensor = &x},
                            {.name = "scale", .text = "2"},
                            {.name = "shift", .text = "0.5"}};
  if (argc != 2) return 2;
  tn_diag *diag = tn_diag_create();
  tn_runtime *runtime = NULL;
  tn_tensor *y = NULL;
  int ok = 0;
  tn_status status = tn_runtime_create(NULL, diag, &runtime);
  if (!status) status = tn_runtime_load_plugin(runtime, argv[1], NULL, 0, diag);
  if (!status) status = tn_op_run(runtime, "@FULL@", 0, args, 3, &y, 1, diag);
  if (status)
    fprintf(stderr, "%s\n", tn_diag_text(diag));
  else
    ok = is_right(y);
  tn_value_destroy(y);
  tn_runtime_destroy(runtime);
  tn_diag_destroy(diag);
  return ok ? 0 : 1;
}
