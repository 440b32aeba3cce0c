/* Does a device or an accelerator compute what it takes? For `tenon conform`, and for vetting. */
#ifndef TN_HARNESS_CONFORM_H
#define TN_HARNESS_CONFORM_H

#include <stdbool.h>

#include "tenon/tenon.h"

enum { CHECK_CONFORM_CASES = 27 };

typedef struct check_conformed {
  char name[160]; /* "Conv X[1,3,9,9] W[5,3,3,3] pads=1,1,1,1" */
  bool taken;
  char why[400];     /* what went wrong; "": nothing */
  char refused[400]; /* not taken: what the target says of it */
} check_conformed;

/* TN_ERR_NOT_FOUND, TN_ERR_MEMORY: the target is not there, and diag says why. */
tn_status check_conform_open(tn_runtime *rt, const char *target, tn_diag *diag);
const char *check_conform_op(int index);
/* One operator, index < CHECK_CONFORM_CASES, on the target and on the CPU: on three inputs, and on
 * the last of them twice. */
void check_conform(tn_runtime *rt, const char *target, int index, check_conformed *out);

#endif
