/* The place of libFuzzer where there is none: runs the fuzz target once for every file of the
 * folders and files named. */
#include <stdio.h>
#include <sys/stat.h>

#include "base/file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct replay {
  const char *folder;
  int n_files, n_failed;
} replay;

static void run_file(replay *r, const char *path) {
  tn_mapping map;
  tn_status s = tn_file_map(path, NULL, &map);
  r->n_failed += s != TN_OK;
  if (s != TN_OK) fprintf(stderr, "%s: cannot be read\n", path);
  if (s != TN_OK) return;
  (void)LLVMFuzzerTestOneInput(map.data, (size_t)map.size);
  tn_file_unmap(&map);
  r->n_files++;
}

static int visit(void *self, const char *name, bool is_dir) {
  replay *r = self;
  char path[4000];
  snprintf(path, sizeof path, "%s/%s", r->folder, name);
  if (!is_dir) run_file(r, path);
  return 0;
}

int main(int argc, char **argv) {
  replay r = {.n_files = 0};
  for (int k = 1; k < argc; k++) {
    struct stat info;
    r.folder = argv[k];
    if (stat(argv[k], &info) == 0 && S_ISDIR(info.st_mode))
      r.n_failed += tn_dir_each(argv[k], NULL, visit, &r) != TN_OK;
    else
      run_file(&r, argv[k]);
  }
  printf("%d files\n", r.n_files);
  return r.n_failed || !r.n_files;
}
