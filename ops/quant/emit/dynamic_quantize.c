/* f32 as codes of u8 whose scale and zero point follow from the least and the largest element, with
 * 0 among them. y, scale and zero may be NULL. */
static void dynamic_quantize(const float *x, int32_t n, uint8_t *y, float *scale, uint8_t *zero) {
  float least = 0.0f, most = 0.0f;
  for (int32_t k = 0; k < n; k++) {
    least = x[k] < least ? x[k] : least;
    most = x[k] > most ? x[k] : most;
  }
  const float step = (most - least) / 255.0f;
  const float from = step > 0.0f && -least / step > 0.0f ? -least / step : 0.0f;
  const float place = round_even(from < 255.0f ? from : 255.0f);
  for (int32_t k = 0; k < n && y != NULL; k++) {
    const float q = (step > 0.0f ? round_even(x[k] / step) : 0.0f) + place;
    y[k] = (uint8_t)(!(q > 0.0f) ? 0.0f : q > 255.0f ? 255.0f : q);
  }
  if (scale != NULL) {
    *scale = step;
  }
  if (zero != NULL) {
    *zero = (uint8_t)place;
  }
}
