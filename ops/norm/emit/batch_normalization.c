/* y = x * scale + offset, of each channel of each image. */
static void batch_normalization(const float *x, const float *scale, const float *offset, float *y,
                                int32_t images, int32_t channels, int32_t plane) {
  for (int32_t k = 0; k < images * channels; k++) {
    const float s = scale[k % channels], o = offset[k % channels];
    for (int32_t i = 0; i < plane; i++) {
      y[i] = x[i] * s + o;
    }
    x += plane;
    y += plane;
  }
}
