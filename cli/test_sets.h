/* Test cases as they lie in folders: a model, sets of inputs, and what it should answer. */
#ifndef TN_CLI_TEST_SETS_H
#define TN_CLI_TEST_SETS_H

#include "values.h"

/* How a case's values are called. */
typedef struct cli_layout {
  const char *what; /* "test_data_set_0/input_0.pb" */
  /* The file of input or output k of that set, which the case is to have; {stem} is the model's
   * path without its ending, {dir} its folder. */
  const char *input, *output;
  bool one_set; /* there are no others */
} cli_layout;

typedef struct cli_case {
  const char *model, *dir, *stem;
  const cli_layout *layout; /* NULL: nothing says what the model should answer */
} cli_case;

/* The layout whose first output is there; NULL: none is. */
const cli_layout *cli_layout_of(const char *dir, const char *stem);

typedef struct cli_set {
  tn_runtime *runtime;
  const tn_model *model;
  tn_session *session;
  const cli_case *c;
  int number;
  tn_diag *diag;
  cli_store store;
} cli_set;

/* Whether there is a set of that number. */
bool cli_set_is_there(const cli_set *set);
/* Gives the session what the set has of inputs. */
tn_status cli_set_feed(cli_set *set);
/* Compares what the set has of outputs. Answers how many; -1: one is wrong, or could not be read,
 * and why says what. */
int32_t cli_set_compare(cli_set *set, const cli_tolerance *t, char *why, size_t size);

#endif
