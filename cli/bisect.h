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

/* ---- what comparisons share ---- */

/* One side of a comparison. */
typedef struct cli_side {
  const char *name;
  cli_session *s;
  tn_model *model; /* with all values as outputs; NULL: that of s */
  tn_session *session;
} cli_side;

/* Makes the model whose outputs are those of s, and behind them what its nodes give, in their
 * order, and runs it with the inputs of s. Close it in any case. */
tn_status cli_side_open(cli_side *x);
void cli_side_close(cli_side *x);

/* A value's least, largest and mean number; 0 NaN and no elements of what has no numbers. */
typedef struct cli_statistics {
  double min, max, mean;
  int64_t n, n_nan;
} cli_statistics;
cli_statistics cli_look_at(const tn_tensor *t);
/* Prints them behind a name, unless quiet, and adds them to json as `key`. */
void cli_show_statistics(const char *name, const tn_tensor *t, const char *key, cli_json *json,
                         bool quiet);

/* Compares two models, of any formats, whose inputs are one another's (compare_models.c). */
int cli_compare_models(cli_session *s, const char *path, const char *other, bool bisect,
                       const cli_tolerance *tolerance, cli_json *json, bool quiet);

#endif
