/* What the files of a session share. */
#ifndef TN_EXEC_SESSION_H
#define TN_EXEC_SESSION_H

#include "exec/frame.h"
#include "exec/profile.h"

/* What the model is when some of its defaults are replaced: those are inputs then. */
typedef struct tn_variant {
  uint8_t *fed; /* per default */
  tn_callable *callable;
  tn_frame *frame;
  const tn_tensor **inputs;
} tn_variant;

struct tn_session {
  tn_model *model;
  tn_frame *frame; /* that prepares and runs: main or a variant's */
  tn_frame *main;
  const tn_tensor **frame_inputs;
  TN_VEC(tn_variant *) variants;          /* most recently used last */
  int32_t n_inputs, n_outputs;            /* n_inputs: those that must be set */
  int32_t n_all;                          /* with those that have a default, which follow */
  tn_tensor *inputs, *bound;              /* as the user set them */
  const tn_tensor **input_of, **bound_of; /* into the above; NULL: not set */
  tn_profile profile;
  bool profiling;
  atomic_int stop; /* tn_session_cancel() was called since the run began */
};

/* variant.c: sets frame and frame_inputs for the defaults that are replaced now. */
tn_status tn_session_choose_frame(tn_session *s, tn_diag *diag);
void tn_session_drop_variants(tn_session *s);

/* session_check.c: does a tensor fit what the model declares? Messages name the input and both
 * types. */
tn_status tn_session_check_input(const tn_session *s, int32_t index, const tn_tensor *t,
                                 tn_diag *diag);
tn_status tn_session_check_output(const tn_session *s, int32_t index, const tn_tensor *t,
                                  tn_diag *diag);

#endif
