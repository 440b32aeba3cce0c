/* Where the nodes of a plan run, and why not elsewhere: part of explain, check and bench. */
#ifndef TN_CLI_PLACEMENT_H
#define TN_CLI_PLACEMENT_H

#include "json.h"
#include "open.h"

/* Nothing if no device was asked for. The session is planned. */
void cli_placement_print(const cli_session *s, int indent);
void cli_placement_json(cli_json *to, const cli_session *s);
/* Says so, and answers false, if a device that was named runs no node. */
bool cli_placement_is_used(const cli_session *s);

#endif
