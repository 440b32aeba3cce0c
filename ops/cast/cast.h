/* What the cast family gives to others. */
#ifndef TN_OPS_CAST_H
#define TN_OPS_CAST_H

#include "tenon/plugin.h"

/* The kernel without options, for operators that have none (tenon::Cast): 8-bit floats saturate. */
tn_status cast_number_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                        uint32_t worker);

#endif
