/* Writing the outputs of a session to files, and its profile as a Chrome trace. */
#ifndef TN_CLI_OUTPUTS_H
#define TN_CLI_OUTPUTS_H

#include "open.h"

enum { CLI_MAX_OUTPUTS = 256 };

/* where: a folder (made if it is not there; each output as <name>.npy), "NAME=FILE.npy", or
 * "FILE.npy" if the model has one output. Says on stderr what it wrote,
 * unless the session is quiet. */
tn_status cli_outputs_write(cli_session *s, const char *where);

/* The name, without ".npy", of the file that output k goes into: characters that files should not
 * have become '_'; outputs whose names are alike then get their number. buf: CLI_FILE_NAME
 * bytes. */
enum { CLI_FILE_NAME = 256 };
const char *cli_output_file_name(const tn_model *model, int32_t k, char *buf);

/* All events of a profiled session as a JSON file for chrome://tracing or Perfetto. False after a
 * message. */
bool cli_trace_write(cli_session *s, const char *path);

#endif
