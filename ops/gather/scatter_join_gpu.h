/* What a scatter on GPUs does with an element that is already there: `reduction` of reduction.h. */
float scatter_join(int kind, float y, float u) {
  if (kind == 1) return y + u;
  if (kind == 2) return y * u;
  if (IS_NAN(y) || IS_NAN(u)) return IS_NAN(y) ? y : u;
  if (kind == 3) return u > y ? u : y;
  return u < y ? u : y;
}
