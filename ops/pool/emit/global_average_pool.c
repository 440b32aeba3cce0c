/* The mean of each plane; its sum in four parts. */
static void global_average_pool(const float *x, float *y, int32_t planes, int32_t size) {
  for (int32_t plane = 0; plane < planes; plane++) {
    float part[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    for (int32_t k = 0; k < size; k++) {
      part[k & 3] += x[k];
    }
    y[plane] = ((part[0] + part[1]) + (part[2] + part[3])) / (float)size;
    x += size;
  }
}
