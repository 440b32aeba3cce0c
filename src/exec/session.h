/* What the files of a session share. */
#ifndef TN_EXEC_SESSION_H
#define TN_EXEC_SESSION_H

#include "exec/frame.h"
#include "exec/profile.h"

struct tn_session {
  tn_model *model;
  tn_frame *frame;
  int32_t n_inputs, n_outputs;
  tn_tensor *inputs, *bound;              /* as the user set them */
  const tn_tensor **input_of, **bound_of; /* into the above; NULL: not set */
  tn_profile profile;
  bool profiling;
};

/* session_check.c: does a tensor fit what the model declares? Messages name the input and both
 * types. */
tn_status tn_session_check_input(const tn_session *s, int32_t index, const tn_tensor *t,
                                 tn_diag *diag);
tn_status tn_session_check_output(const tn_session *s, int32_t index, const tn_tensor *t,
                                  tn_diag *diag);

#endif
