/* Where a model begins to compute something else than on the CPU. */
#ifndef TN_CLI_BISECT_H
#define TN_CLI_BISECT_H

#include "json.h"
#include "open.h"

/* Is the word of --with a way to run the model, "cpu" or "portable", and no folder? */
bool cli_is_reference(const char *with);

/* Compares the model of s, whose inputs are there, with itself on the CPU, or there with portable
 * kernels: its outputs, which have been computed; or, with bisect, all values that nodes make, in
 * the order of the graph, up to the first that differs. Prints, unless it is quiet, and adds to
 * json (may be NULL). Answers the exit code. */
int cli_compare_reference(cli_session *s, const cli_feed *feed, const char *path, const char *with,
                          bool bisect, const cli_tolerance *tolerance, cli_json *json, bool quiet);

#endif
