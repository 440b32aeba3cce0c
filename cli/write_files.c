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

static tn_status write_file(const cli_file *file, const char *folder, tn_file_writer *w,
                            tn_diag *diag) {
  const tn_status s = file->text.status ? file->text.status : open_file(file, folder, w, diag);
  if (s) return s;
  return tn_file_writer_write(w, tn_text_get(&file->text), (uint64_t)file->text.n, diag);
}

tn_status cli_write_files(const char *folder, const cli_file *files, int n, tn_diag *diag) {
  const tn_allocator *a = tn_default_allocator();
  const uint64_t bytes = (uint64_t)n * sizeof(tn_file_writer);
  tn_file_writer *writers = tn_alloc(a, bytes); /* zeroed: aborting one does nothing */
  tn_status s = writers ? make_folder(folder, diag) : TN_ERR_MEMORY;
  for (int k = 0; k < n && !s; k++) s = write_file(&files[k], folder, &writers[k], diag);
  for (int k = 0; k < n && !s; k++) s = tn_file_writer_commit(&writers[k], diag);
  for (int k = 0; k < n && writers; k++) tn_file_writer_abort(&writers[k]);
  tn_free(a, writers, bytes);
  return s;
}
