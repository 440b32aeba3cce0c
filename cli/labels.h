/* Names of the classes of an output. */
#ifndef TN_CLI_LABELS_H
#define TN_CLI_LABELS_H

#include "cli.h"

typedef struct cli_labels {
  char *text; /* a line each; NULL: none */
  uint64_t bytes;
} cli_labels;

/* Those that the model's file says are packed into it; none if it does not, or if they are not
 * there. */
void cli_labels_open(cli_labels *l, const tn_model *model, const char *path, int32_t output);
void cli_labels_close(cli_labels *l);
/* That of class `index`, in buf; "": there is none. labels may be NULL. */
const char *cli_label(const cli_labels *l, int64_t index, char *buf, size_t size);

#endif
