/* A strided copy of runs of bytes. */
struct region {
  int32_t run, from, to, rank;
  struct {
    int32_t size, from, to; /* bytes from one to the next */
  } dim[8];
};

/* y = x, run by run. */
static void region_copy(const struct region *r, const void *x, void *y) {
  const unsigned char *from = (const unsigned char *)x + r->from;
  unsigned char *to = (unsigned char *)y + r->to;
  const int32_t last = r->rank - 1, n = last < 0 ? 1 : r->dim[last].size;
  const int32_t from_step = last < 0 ? 0 : r->dim[last].from,
                to_step = last < 0 ? 0 : r->dim[last].to;
  int32_t at[8] = {0}, k;
  do {
    const unsigned char *a = from;
    unsigned char *b = to;
    for (int32_t i = 0; i < n; i++) {
      if (r->run == 4) { /* the size of most elements, as a constant */
        memcpy(b, a, 4);
      } else {
        memcpy(b, a, (size_t)r->run);
      }
      a += from_step;
      b += to_step;
    }
    for (k = last - 1; k >= 0; k--) {
      from += r->dim[k].from;
      to += r->dim[k].to;
      at[k]++;
      if (at[k] < r->dim[k].size) {
        break;
      }
      from -= r->dim[k].size * r->dim[k].from;
      to -= r->dim[k].size * r->dim[k].to;
      at[k] = 0;
    }
  } while (k >= 0);
}
