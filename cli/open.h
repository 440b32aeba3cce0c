/* What most subcommands begin with: a runtime, a model, its inputs, a session. */
#ifndef TN_CLI_OPEN_H
#define TN_CLI_OPEN_H

#include "feed.h"
#include "time_limit.h"

typedef struct cli_session {
  tn_runtime *runtime;
  tn_model *model;
  tn_session *session;
  cli_inputs inputs;
  tn_diag *diag;
  cli_time_limit *limit;       /* NULL: none */
  const cli_common *common;    /* the options it was opened with; NULL: none */
  struct cli_buffers *buffers; /* of --on-device; NULL: none */
  bool quiet;                  /* no notes of files that are written */
} cli_session;

/* Opens all of it. On failure prints why; out_code is the exit code. Close it in any case. */
bool cli_session_open(cli_session *s, const cli_common *common, const cli_feed *feed,
                      const char *path, int *out_code);
/* The same with flags, TN_MODEL_..., besides what the options say. */
bool cli_session_open_as(cli_session *s, const cli_common *common, const cli_feed *feed,
                         const char *path, uint32_t flags, int *out_code);
void cli_session_close(cli_session *s);
/* Prints what the diag holds and answers the exit code of a failed status. */
int cli_session_fail(cli_session *s, tn_status status);

#endif
