/* The upper half of an f32. */
static float bf16_to_f32(uint16_t h) { return f32_of_bits((uint32_t)h << 16); }
