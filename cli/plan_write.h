/* Writing a plan file (include/tenon/experimental/plan_file.h). */
#ifndef TN_CLI_PLAN_WRITE_H
#define TN_CLI_PLAN_WRITE_H

#include "base/part_list.h"
#include "base/text.h"
#include "open.h"

/* The plan of a session that has run, as the bytes of a plan file; to parts the lines of the
 * kernels that it runs. TN_ERR_UNSUPPORTED: what cannot stand in one, node by node in the
 * diag. */
tn_status cli_plan_write(const cli_session *s, tn_part_list *parts, tn_text *out);

#endif
