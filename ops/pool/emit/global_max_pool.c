/* The largest of each plane, in four parts. */
static void global_max_pool(const float *x, float *y, int32_t planes, int32_t size) {
  for (int32_t plane = 0; plane < planes; plane++) {
    float part[4] = {-INFINITY, -INFINITY, -INFINITY, -INFINITY};
    for (int32_t k = 0; k < size; k++) {
      part[k & 3] = x[k] > part[k & 3] ? x[k] : part[k & 3];
    }
    part[0] = part[0] > part[1] ? part[0] : part[1];
    part[2] = part[2] > part[3] ? part[2] : part[3];
    y[plane] = part[0] > part[2] ? part[0] : part[2];
    x += size;
  }
}
