/* What the files of the family share. */
#ifndef TN_REGION_REGION_H
#define TN_REGION_REGION_H

#include <stdbool.h>

#include "tenon/plugin.h"

/* Strings and types narrower than a byte, which move element by element on one thread. */
bool region_is_odd(uint32_t dtype);
tn_status region_odd(const tn_call *call);

#endif
