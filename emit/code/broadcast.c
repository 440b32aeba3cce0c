/* How two operands meet: sizes of the dims, slowest first, and the steps of both. */
struct broadcast {
  int32_t rank;
  struct {
    int32_t size, a, b;
  } dim[8];
};

/* The next run along the last dim: moves *a and *b; 0 if there is none. */
static int32_t broadcast_next(const struct broadcast *s, int32_t at[8], const float **a,
                              const float **b) {
  for (int32_t k = s->rank - 2; k >= 0; k--) {
    *a += s->dim[k].a;
    *b += s->dim[k].b;
    at[k]++;
    if (at[k] < s->dim[k].size) {
      return 1;
    }
    *a -= s->dim[k].size * s->dim[k].a;
    *b -= s->dim[k].size * s->dim[k].b;
    at[k] = 0;
  }
  return 0;
}
