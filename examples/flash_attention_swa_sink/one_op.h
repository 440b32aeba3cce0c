/* A model of one node, built through Tenon's public API: how a test or a program calls an operator
 * by its name, with no header of the plug-in. */
#ifndef ONE_OP_H
#define ONE_OP_H

#include <tenon/tenon.h>

enum { ONE_OP_MAX_INPUTS = 8 };

typedef struct one_op {
  tn_model *model;
  tn_session *session;
} one_op;

/* Makes the model `domain::op(inputs) -> out` with the given attributes, ready to run. inputs[k]
 * NULL: left out; else its dtype, shape and data count, and the data must live as long as the
 * one_op. On failure *out is empty and diag says why. one_op_destroy() takes an empty one, too. */
tn_status one_op_create(tn_runtime *runtime, const char *domain, const char *op,
                        const tn_tensor *const *inputs, uint32_t n_inputs,
                        const tn_attr *const *attrs, uint32_t n_attrs, tn_diag *diag, one_op *out);
void one_op_destroy(one_op *o);

tn_attr one_op_int(const char *name, int64_t value);
tn_attr one_op_float(const char *name, double value);

#endif
