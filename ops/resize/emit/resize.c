/* Sizes of a resize of one or two dims, the last of them with `inner` elements behind it: each of
 * `outer` planes of the input becomes `rows` rows of the output. */
struct resize {
  int32_t outer, plane, rows, taps, n_in, n_out, inner, along;
};

/* A row of the output is mixed of up to `taps` rows of the input, at these offsets, of which a
 * negative one ends the list; each of its places of `along` places of that. sum: room for a row. */
static const float *resize_mix(const struct resize *s, const float *x, const int32_t *offset,
                               const float *weight, float *sum) {
  const int32_t n = s->n_in * s->inner;
  if (weight[0] == 1.0f && (s->taps == 1 || offset[1] < 0)) {
    return x + offset[0];
  }
  for (int32_t t = 0; t < s->taps && offset[t] >= 0; t++) {
    const float *row = x + offset[t];
    for (int32_t k = 0; k < n; k++) {
      sum[k] = t == 0 ? weight[t] * row[k] : sum[k] + weight[t] * row[k];
    }
  }
  return sum;
}

/* Each row of y is mixed of rows, and each of its places of places of that row. */
static void resize_f32(const struct resize *s, const float *x, const int32_t *offset,
                       const float *weight, const int32_t *place, const float *place_weight,
                       float *y, float *sum) {
  for (int32_t r = 0; r < s->outer * s->rows; r++) {
    const int32_t at = r % s->rows * s->taps;
    const float *row = resize_mix(s, x + r / s->rows * s->plane, offset + at, weight + at, sum);
    for (int32_t i = 0; i < s->n_out * s->inner; i++) {
      const int32_t first = i / s->inner * s->along, inside = i % s->inner;
      float value = place_weight[first] * row[place[first] * s->inner + inside];
      for (int32_t k = 1; k < s->along; k++) {
        value += place_weight[first + k] * row[place[first + k] * s->inner + inside];
      }
      y[i] = value;
    }
    y += s->n_out * s->inner;
  }
}
