/* Where the elements of indices point to in a tensor: sizes of the indices, steps of the tensor, and
 * its n places along the axis. */
struct elements {
  int32_t rank, axis, n, size[8], step[8];
};

/* Negative indices count from the end. The nearest place stands for one that is out of bounds. */
static int32_t place_of(int64_t index, int32_t n) {
  const int64_t at = index < 0 ? index + n : index;
  return at < 0 ? 0 : at >= n ? n - 1 : (int32_t)at;
}

static int32_t element_of(const struct elements *p, int32_t i, int64_t index) {
  int32_t at = 0;
  for (int32_t k = p->rank - 1; k >= 0; k--) {
    at += (k == p->axis ? place_of(index, p->n) : i % p->size[k]) * p->step[k];
    i /= p->size[k];
  }
  return at;
}
