/* Resize and GridSample for AVX-512: resize_simd.h and grid_simd.h, compiled with its flags. */
#include "grid_simd.h"
#include "resize_simd.h"
