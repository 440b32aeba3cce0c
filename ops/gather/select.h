/* What NonZero's reference and kernel share. */
#ifndef TN_GATHER_SELECT_H
#define TN_GATHER_SELECT_H

#include <stdbool.h>

#include "tenon/plugin.h"

/* Whether element k of a tensor of any type is not zero; of a string, not empty. */
bool select_is_set(const tn_tensor *t, int64_t k);

#endif
