/* Loads the plug-in named on the command line, and expects its operators next to those that ship
 * with Tenon. */
#include <stdio.h>
#include <string.h>
#include <tenon/tenon.h>

static int n_ops_of(const tn_runtime *rt, const char *domain) {
  int n = 0;
  for (int k = 0; k < tn_runtime_n_ops(rt); k++) n += !strcmp(tn_runtime_op(rt, k)->domain, domain);
  return n;
}

int main(int argc, char **argv) {
  if (argc != 2) return 2;
  tn_diag *diag = tn_diag_create();
  tn_runtime *rt = NULL;
  tn_status status = tn_runtime_create(NULL, diag, &rt);
  const int before = status ? 0 : tn_runtime_n_ops(rt);
  if (!status) status = tn_runtime_load_plugin(rt, argv[1], NULL, 0, diag);
  int ok = 0;
  if (status) {
    fprintf(stderr, "%s\n", tn_diag_text(diag));
  } else {
    ok = n_ops_of(rt, "com.acme") + n_ops_of(rt, "com.hand") == 1 && before > 0;
    printf("Tenon %s: %d operators, then %d\n", tn_version(), before, tn_runtime_n_ops(rt));
  }
  tn_runtime_destroy(rt);
  tn_diag_destroy(diag);
  return ok ? 0 : 1;
}
