/* Several files of one folder, written together. */
#ifndef TN_CLI_WRITE_FILES_H
#define TN_CLI_WRITE_FILES_H

#include "base/diag.h"
#include "base/text.h"

typedef struct cli_file {
  const char *name;
  tn_text text;
} cli_file;

/* Makes the folder if it is not there; all files are written before the first takes its place. */
tn_status cli_write_files(const char *folder, const cli_file *files, int n, tn_diag *diag);

#endif
