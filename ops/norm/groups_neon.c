/* Instance, group, layer and RMS normalisation for NEON. */
#include "groups_simd.h"
