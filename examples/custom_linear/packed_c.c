/* The packed kernel for any machine. */
#define PACKED custom_linear_packed_c
#include "packed.h"
