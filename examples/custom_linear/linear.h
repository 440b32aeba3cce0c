/* One linear layer in plain numbers, and the panels that its weights are packed into. */
#ifndef CUSTOM_LINEAR_H
#define CUSTOM_LINEAR_H

#include "custom_linear.gen.h"

/* Weights of PANEL outputs stand together: panel[p][i][j] = weight[p * PANEL + j][i]. */
enum { PANEL = 16 };

typedef struct linear {
  int64_t rows, in, out, panels;
  const float *x, *weight, *bias; /* bias NULL: none */
  float *y;
} linear;

static inline linear linear_of(const tn_call *call) {
  const tn_tensor *x = call->inputs[0], *w = call->inputs[1];
  const tn_tensor *bias = call->n_inputs > 2 ? call->inputs[2] : NULL;
  linear l = {1,
              w->shape[1],
              w->shape[0],
              (w->shape[0] + PANEL - 1) / PANEL,
              x->data,
              w->data,
              bias ? bias->data : NULL,
              call->outputs[0]->data};
  for (int32_t d = 0; d < x->rank - 1; d++) l.rows *= x->shape[d];
  return l;
}

#endif
