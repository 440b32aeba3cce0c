/* Does a device or an accelerator compute what it takes? For `tenon conform`, and for vetting. */
#ifndef TN_HARNESS_CONFORM_H
#define TN_HARNESS_CONFORM_H

#include <stdbool.h>

#include "tenon/tenon.h"

enum {
  CHECK_CONFORM_OPS = 27,   /* operators, */
  CHECK_CONFORM_MODELS = 4, /* then whole models, */
  CHECK_CONFORM_DRIVER = 12 /* and of devices what their drivers do by themselves */
};

typedef struct check_conformed {
  char name[160]; /* "Conv X[1,3,9,9] W[5,3,3,3] pads=1,1,1,1" */
  bool taken, of_driver;
  char why[400];     /* what went wrong; "": nothing */
  char refused[400]; /* not taken: what the target says of it */
} check_conformed;

/* TN_ERR_NOT_FOUND, TN_ERR_MEMORY, TN_ERR_IO: the target is not there, and diag says why. out_n_cases: how many
 * there are for it. */
tn_status check_conform_open(tn_runtime *rt, const char *target, tn_diag *diag, int *out_n_cases);
/* Of a device. */
const char *check_conform_name(int index);
/* One case: an operator or a model on the target and on the CPU, on three inputs, and on the last of
 * them twice; or one of the driver. */
void check_conform(tn_runtime *rt, const char *target, int index, check_conformed *out);

/* conform_models.c: model `index`, whose input is x; NULL: no memory. */
tn_graph *check_conform_graph(tn_runtime *rt, int index, const tn_tensor *x);
/* conform_driver.c */
const char *check_conform_driver_name(int index);
void check_conform_driver(tn_runtime *rt, const char *target, int index, check_conformed *out);

#endif
