/* The cache with the new rows behind it, of each batch and head. */
static void attention_present(int32_t batch, int32_t heads, int32_t n_past, int32_t n_new,
                              int32_t size, const float *past, const float *fresh,
                              int32_t batch_step, int32_t head_step, int32_t step, float *to) {
  for (int32_t b = 0; b < batch; b++) {
    for (int32_t h = 0; h < heads; h++) {
      const struct attention_rows rows = {past, fresh + b * batch_step + h * head_step, n_past,
                                          size, step};
      for (int32_t j = 0; j < n_past + n_new; j++) {
        memcpy(to, attention_row(&rows, j), sizeof *to * (size_t)size);
        to += size;
      }
      past = past != NULL ? past + n_past * size : NULL;
    }
  }
}
