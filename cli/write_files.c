/* Several files of one folder, written together; see write_files.h. */
#include "write_files.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"

static tn_status open_file(const cli_file *file, const char *folder, tn_file_writer *w,
                           tn_diag *diag) {
  tn_text path;
  tn_text_init(&path, tn_default_allocator());
  tn_text_add(&path, "%s/%s", folder, file->name);
  tn_status s = path.status;
  if (!s) s = tn_file_writer_open(w, tn_default_allocator(), tn_text_get(&path), diag);
  tn_text_free(&path);
  return s;
}

static tn_status make_folder(const char *folder, tn_diag *diag) {
  struct stat st;
  if (!mkdir(folder, 0777) || (!stat(folder, &st) && S_ISDIR(st.st_mode))) return TN_OK;
  return tn_fail(diag, TN_ERR_IO, "%s: the folder cannot be made: %s", folder, strerror(errno));
}

tn_status cli_write_files(const char *folder, const cli_file *files, int n, tn_diag *diag) {
  tn_file_writer writers[CLI_MAX_FILES];
  int n_open = 0;
  tn_status s = n > CLI_MAX_FILES ? TN_ERR_OVERFLOW : make_folder(folder, diag);
  for (int k = 0; k < n && !s; k++) s = files[k].text.status;
  for (int k = 0; k < n && !s; k++) {
    s = open_file(&files[k], folder, &writers[k], diag);
    if (s) break;
    n_open++;
    s = tn_file_writer_write(&writers[k], tn_text_get(&files[k].text), (uint64_t)files[k].text.n,
                             diag);
  }
  for (int k = 0; k < n && !s; k++) s = tn_file_writer_commit(&writers[k], diag);
  for (int k = 0; k < n_open; k++) tn_file_writer_abort(&writers[k]);
  return s;
}
