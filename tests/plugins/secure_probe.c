/* What discovery does in a program that has more rights than its caller. Prints AT_SECURE, the
 * number of plug-ins, and what was refused; safety_test.c runs a set-group-ID copy of it. */
#include <stdio.h>
#include <sys/auxv.h>

#include "tenon/tenon.h"

int main(void) {
  tn_runtime_options options = TN_RUNTIME_OPTIONS_INIT;
  tn_diag *diag = tn_diag_create();
  tn_runtime *rt = NULL;
  options.n_threads = 1;
  options.flags = TN_RUNTIME_NO_BUILTINS;
  printf("secure %lu\n", getauxval(AT_SECURE));
  const tn_status status = tn_runtime_create(&options, diag, &rt);
  printf("status %d\nplug-ins %d\n", status, tn_runtime_n_plugins(rt));
  for (int32_t k = 0; k < tn_runtime_n_folders(rt); k++) {
    tn_folder_info folder = {.head = TN_HEAD(tn_folder_info)};
    tn_runtime_folder(rt, k, &folder);
    printf("%s: %s\n", folder.folder, folder.refused ? folder.refused : "looked into");
  }
  tn_runtime_destroy(rt);
  tn_diag_destroy(diag);
  return 0;
}
