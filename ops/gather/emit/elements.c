/* Where elements of indices point to in a tensor: sizes of the indices, steps of the tensor, and
 * its n places along the axis. */
struct elements {
  int32_t rank, axis, n, size[8], step[8];
};

/* The element that index i names, whose value is `index`. */
static int32_t element_of(const struct elements *p, int32_t i, int64_t index) {
  int32_t at = 0;
  for (int32_t k = p->rank - 1; k >= 0; k--) {
    at += (k == p->axis ? place_of(index, p->n) : i % p->size[k]) * p->step[k];
    i /= p->size[k];
  }
  return at;
}
