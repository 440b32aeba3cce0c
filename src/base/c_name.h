/* The C word of a name: HardSwish -> hard_swish, ReduceL1 -> reduce_l1, IsNaN -> is_nan,
 * MatMulNBits -> mat_mul_n_bits. What is neither letter nor digit becomes '_'. */
#ifndef TN_BASE_C_NAME_H
#define TN_BASE_C_NAME_H

#include "base/text.h"

void tn_c_name_add(tn_text *out, const char *name);

#endif
