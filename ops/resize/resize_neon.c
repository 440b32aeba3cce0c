/* Resize and GridSample for NEON: resize_simd.h and grid_simd.h, compiled with its flags. */
#include "grid_simd.h"
#include "resize_simd.h"
