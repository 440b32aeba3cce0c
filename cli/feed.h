/* The inputs of a model, as options say them: files, random values, shapes. */
#ifndef TN_CLI_FEED_H
#define TN_CLI_FEED_H

#include "values.h"

enum { CLI_MAX_INPUTS = 256 };

/* What the options of cli_feed_group say. */
typedef struct cli_feed {
  const char *inputs[CLI_MAX_INPUTS], *shapes[CLI_MAX_INPUTS], *dims[CLI_MAX_INPUTS];
  int n_inputs, n_shapes, n_dims;
  bool random;
  uint64_t seed;
  cli_image_options image;
} cli_feed;
extern const cli_group cli_feed_group;
#define CLI_FEED_INIT \
  { .image = {.scale = 1}, .seed = 1 }

/* The inputs themselves, in the order of the model. */
typedef struct cli_inputs {
  tn_runtime *runtime;
  const tn_model *model;
  const cli_feed *feed;
  tn_diag *diag;
  cli_store store;
  tn_tensor *values; /* types, with data once they are given */
  const char **from; /* the file that gave it, "random"; NULL: nothing did */
  bool *assumed;     /* sizes of open dims were assumed */
  int32_t n;         /* that must be given */
  int32_t n_all;     /* with those that have a default, which follow */
} cli_inputs;

/* Types as the model and --shape and --dim say, then the values of --input. Frees nothing on
 * failure: cli_inputs_free does, always. */
tn_status cli_inputs_open(cli_inputs *in, tn_runtime *runtime, const tn_model *model,
                          const cli_feed *feed, tn_diag *diag);
void cli_inputs_free(cli_inputs *in);

/* Dims that are still open become 1, or the smallest that the model's conditions allow, with a note
 * (quiet: without). TN_ERR_SHAPE if the rank is not known. */
tn_status cli_inputs_close_dims(cli_inputs *in, bool quiet);
/* feed_least.c: open dims that the model's conditions forbid to be 1 get their smallest sizes. */
void cli_inputs_least_dims(cli_inputs *in);
/* Random values for all inputs that nothing gave: floats in [-1, 1), bytes of all values, wider
 * integers and bools 0 or 1. The same seed gives the same values. Closes dims. */
tn_status cli_inputs_randomize(cli_inputs *in);
/* Gives a tensor whose dims are known such values; name is for messages. */
tn_status cli_random_fill(tn_arena *arena, const char *name, uint64_t seed, tn_diag *diag,
                          tn_tensor *t);
/* False after a message for each input that nothing gave. */
bool cli_inputs_all_given(const cli_inputs *in);
/* Values of --random if that was asked for; then hands all inputs to a session. Those that nothing
 * gave are handed on as types, for planning, if types_too; else they stay unset. */
tn_status cli_inputs_set(cli_inputs *in, tn_session *session, bool types_too);

#endif
