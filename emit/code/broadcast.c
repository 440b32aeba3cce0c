/* How up to three operands meet: sizes of the dims, slowest first, and the steps of each operand. */
struct broadcast {
  int32_t rank;
  struct {
    int32_t size, step[3];
  } dim[8];
};

/* The next run along the last dim: moves the places of the operands; 0 if there is none. */
static int32_t broadcast_next(const struct broadcast *s, int32_t at[8], int32_t place[3]) {
  for (int32_t k = s->rank - 2; k >= 0; k--) {
    const int32_t last = at[k] + 1 == s->dim[k].size, steps = last != 0 ? -at[k] : 1;
    for (int32_t i = 0; i < 3; i++) {
      place[i] += steps * s->dim[k].step[i];
    }
    at[k] += steps;
    if (last == 0) {
      return 1;
    }
  }
  return 0;
}
