/* Which slice of a tensor a tuple of indices names: sizes and steps of its first dims. */
struct tuples {
  int32_t depth, size[8], step[8];
};
