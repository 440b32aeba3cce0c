/* --on-device: inputs and outputs of a session that stay in buffers of the device. */
#ifndef TN_CLI_BUFFERS_H
#define TN_CLI_BUFFERS_H

#include "open.h"

enum { CLI_MAX_ON_DEVICE = 64 };

/* Binds what a pattern ("past_*") names, once the inputs are set; their values are copied there
 * first. A pattern that names neither an input nor an output is an error. */
tn_status cli_buffers_bind(cli_session *s, const char *const *patterns, int n);
/* Output k, once all has been run: copied from its buffer, if it has one, by the first call for it.
 * Lives as long as the session. NULL, with the reason in the diag: it cannot be read. */
const tn_tensor *cli_output(cli_session *s, int32_t k);
void cli_buffers_close(cli_session *s);

#endif
