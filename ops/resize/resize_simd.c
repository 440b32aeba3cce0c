/* Resize and GridSample with vectors. */
#include "resize_simd.h"

#include "grid_simd.h"
