/* Sums of products of bytes: groups of `filters` filters that see `channels` channels each. */
struct integer_sums {
  int32_t images, groups, channels, filters;
  int32_t zero_step; /* between the zero points of two filters */
  struct window w;
};
