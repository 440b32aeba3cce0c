/* Instance, group, layer and RMS normalisation for AVX2. */
#include "groups_simd.h"
