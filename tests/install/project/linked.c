/* Two plug-ins that are linked into the program: both are there, and one of them computes. */
#include <stdio.h>
#include <tenon/tenon.h>

#include "acme_inside_plugin.h"
#include "torch_inside_plugin.h"

int main(void) {
  float data[] = {-1, 2, 3};
  const int64_t shape[] = {3};
  const tn_tensor x = tn_tensor_make(TN_F32, 1, shape, data);
  const tn_op_arg args[] = {{.name = "self", .tensor = &x}};
  tn_diag *diag = tn_diag_create();
  tn_runtime *runtime = NULL;
  tn_tensor *y = NULL;
  tn_status status = tn_runtime_create(NULL, diag, &runtime);
  if (!status) status = tn_runtime_add_plugin(runtime, tn_plugin_query_acme_inside, NULL, 0, diag);
  if (!status) status = tn_runtime_add_plugin(runtime, tn_plugin_query_torch_inside, NULL, 0, diag);
  if (!status) status = tn_op_run(runtime, "aten::relu", 0, args, 1, &y, 1, diag);
  if (status) fprintf(stderr, "%s\n", tn_diag_text(diag));
  const float *out = y ? y->data : data;
  const int ok = out[0] == 0 && out[2] == 3 && tn_runtime_find_op(runtime, "com.acme", "Twice", 0);
  tn_value_destroy(y);
  tn_runtime_destroy(runtime);
  tn_diag_destroy(diag);
  return ok ? 0 : 1;
}
