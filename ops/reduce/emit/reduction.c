/* Some dims of a tensor: sizes and steps, slowest first. */
struct walk {
  int32_t rank, size;
  struct {
    int32_t size, step;
  } dim[8];
};

/* Where the element with this index lies, the last dim counted fastest. */
static int32_t walk_place(const struct walk *w, int32_t index) {
  int32_t at = 0;
  for (int32_t k = w->rank - 1; k >= 0; k--) {
    at += index % w->dim[k].size * w->dim[k].step;
    index /= w->dim[k].size;
  }
  return at;
}

/* Of every output, `runs` begin runs of `length` elements, `step` apart. The first `in_parts` of a
 * run are folded in 32 parts. */
struct reduction {
  struct walk outputs, runs;
  int32_t length, step, in_parts;
};
