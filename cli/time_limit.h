/* The option --time-limit: runs of a session that take too long are cancelled. */
#ifndef TN_CLI_TIME_LIMIT_H
#define TN_CLI_TIME_LIMIT_H

#include "cli.h"

typedef struct cli_time_limit cli_time_limit;
/* From `seconds` from now on every run of the session ends with TN_ERR_CANCELLED. NULL: it cannot
 * be had. */
cli_time_limit *cli_time_limit_start(tn_session *session, double seconds);
/* Before the session is destroyed. NULL is legal. */
void cli_time_limit_end(cli_time_limit *l);

#endif
