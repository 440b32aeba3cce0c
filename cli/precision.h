/* What the option --precision did: to the outputs of a model, to its steps, to memory. */
#ifndef TN_CLI_PRECISION_H
#define TN_CLI_PRECISION_H

#include "json.h"
#include "open.h"

/* Does the user want other weights than those of the file? */
bool cli_is_narrow(const cli_common *common);
/* A line on how many steps read weights of 16 bits; nothing without --precision. The session is
 * planned. */
void cli_precision_print(const cli_session *s);

/* Runs the model in f32, too, and compares the outputs of s, which has run, with those: prints,
 * unless it is quiet, and adds to the list (may be NULL). Answers the exit code: CLI_FAILED if an
 * output holds infinities or NaN that those in f32 do not, or differs by more than the tolerance
 * (NULL: any difference will do). */
int cli_precision_compare(cli_session *s, const cli_feed *feed, const char *path,
                          const cli_tolerance *tolerance, cli_json *list, bool quiet);

#endif
