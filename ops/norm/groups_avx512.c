/* Instance, group, layer and RMS normalisation for AVX-512. */
#include "groups_simd.h"
