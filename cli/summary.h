/* Values as a person reads them: smallest, largest, mean, the first elements, the largest ones. */
#ifndef TN_CLI_SUMMARY_H
#define TN_CLI_SUMMARY_H

#include "cli.h"
#include "json.h"
#include "labels.h"

/* What is said of the numbers of a tensor. NaN counts for nothing but n_nan. */
typedef struct cli_statistics {
  int64_t n, n_nan, n_inf;
  double min, max, mean; /* of what is finite; 0 if nothing is */
} cli_statistics;
/* False: not a tensor of numbers; bools are none. Complex numbers count by their absolute value. */
bool cli_statistics_of(const tn_tensor *t, cli_statistics *out);

/* Element k into buf: "0.25", "-3", "true", "\"text\"". Returns buf. */
const char *cli_element_text(const tn_tensor *t, int64_t k, char *buf, size_t size);
/* Prints one line, or one for each item of a list; top > 0: also the top largest elements, with the
 * labels of their last index. labels may be NULL. */
void cli_value_print(const char *name, const tn_tensor *value, int64_t top,
                     const cli_labels *labels);
/* Every element, a line for each row, if there are no more than `most`; else the one line. */
void cli_value_print_rows(const char *name, const tn_tensor *value, int64_t most);
/* The same as members of an object. */
void cli_value_json(cli_json *to, const char *name, const tn_tensor *value, int64_t top);

#endif
