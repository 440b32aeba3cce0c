/* Products of 8-bit integers, for GPU kernels: four along K in one word, for DOT4. Elements of u8
 * count less 128, so do their zero points. B is packed: word i * n + q holds rows 4 i .. 4 i + 3 of
 * column q, with 0 behind k; one more row has the sums of the columns. A is read as it is. Tiles
 * are 32 x 32 results of a group of 64 threads, 4 x 4 each, in slices of 64 along K; in local
 * memory lie as, [16][33], and bs, [16][32]. */
#define QUAD_ONES 0x01010101
/* Adds quad i of row r of A, a_row elements long, to v, which is 0. */
#define QUAD_OF_A(v, r, i)                               \
  if (4 * (i) + 3 < a_row) {                             \
    v = LDQ(A, at_a + (r)*a_row + 4 * (i));              \
  } else {                                               \
    for (int j_ = 4 * (i); j_ < k; j_++) {               \
      int one_ = LDI(A, at_a + (r)*a_row + j_) - a_less; \
      v = v | (one_ & 255) << (j_ - 4 * (i)) * 8;        \
    }                                                    \
  }
#define QUAD_ROW(a, z, s, u, v, w)            \
  if (A_SUMS != 0) z = DOT4(a, QUAD_ONES, z); \
  s = DOT4(a, b0, s);                         \
  u = DOT4(a, b1, u);                         \
  v = DOT4(a, b2, v);                         \
  w = DOT4(a, b3, w);
/* Sums s0 .. s15 of rows row + y + 8 i and columns col + x + 8 j; z0 .. z3 of those rows of A. */
#define QUAD_SUM                                                                            \
  int s0 = 0, s1 = 0, s2 = 0, s3 = 0, s4 = 0, s5 = 0, s6 = 0, s7 = 0, z0 = 0, z1 = 0;       \
  int s8 = 0, s9 = 0, s10 = 0, s11 = 0, s12 = 0, s13 = 0, s14 = 0, s15 = 0, z2 = 0, z3 = 0; \
  for (int at = 0; at < quads; at += 16) {                                                  \
    for (int e = t; e < 512; e += 64) {                                                     \
      int r = row + e / 16, i = at + e % 16, v = 0;                                         \
      if (r < m && i < quads) {                                                             \
        QUAD_OF_A(v, r, i)                                                                  \
      }                                                                                     \
      as[e % 16 * 33 + e / 16] = v;                                                         \
      i = at + e / 32;                                                                      \
      r = col + e % 32;                                                                     \
      bs[e] = r < n && i < quads ? LDI(P, at_p + i * n + r) : 0;                            \
    }                                                                                       \
    BARRIER();                                                                              \
    for (int j = 0; j < 16; j++) {                                                          \
      int a0 = as[j * 33 + y], a1 = as[j * 33 + y + 8], a2 = as[j * 33 + y + 16];           \
      int a3 = as[j * 33 + y + 24], b0 = bs[j * 32 + x], b1 = bs[j * 32 + x + 8];           \
      int b2 = bs[j * 32 + x + 16], b3 = bs[j * 32 + x + 24];                               \
      QUAD_ROW(a0, z0, s0, s1, s2, s3)                                                      \
      QUAD_ROW(a1, z1, s4, s5, s6, s7)                                                      \
      QUAD_ROW(a2, z2, s8, s9, s10, s11)                                                    \
      QUAD_ROW(a3, z3, s12, s13, s14, s15)                                                  \
    }                                                                                       \
    BARRIER();                                                                              \
  }
#define QUAD_FOURTH(e, a, b, c, d) ((e) < 2 ? ((e) == 0 ? a : b) : ((e) == 2 ? c : d))
#define QUAD_SIXTEENTH(e)                                                                    \
  ((e) < 8 ? ((e) < 4 ? QUAD_FOURTH(e, s0, s1, s2, s3) : QUAD_FOURTH((e)-4, s4, s5, s6, s7)) \
           : ((e) < 12 ? QUAD_FOURTH((e)-8, s8, s9, s10, s11)                                \
                       : QUAD_FOURTH((e)-12, s12, s13, s14, s15)))
/* What `sum` becomes with zero points: of A, of B, and with the sum of the row of A. */
#define QUAD_ZEROS(sum, q, a_zero, b_zero, a_sum) \
  sum -= (a_zero)*LDI(P, at_p + quads * n + (q)); \
  if (A_SUMS != 0) sum -= (b_zero) * ((a_sum)-k * (a_zero));
/* Result q of row r, and the sum of that row of A. */
#define QUAD_FLAT_STEP(sum, a_sum, q, i, a)       \
  sum = DOT4(a, LDI(P, at_p + (i)*n + (q)), sum); \
  if (A_SUMS != 0) a_sum = DOT4(a, QUAD_ONES, a_sum);
#define QUAD_FLAT(sum, a_sum, r, q)           \
  int whole_ = a_row / 4, a_ = 0;             \
  for (int i_ = 0; i_ < whole_; i_++) {       \
    a_ = LDQ(A, at_a + (r)*a_row + i_ * 4);   \
    QUAD_FLAT_STEP(sum, a_sum, q, i_, a_)     \
  }                                           \
  if (whole_ < quads) {                       \
    a_ = 0;                                   \
    QUAD_OF_A(a_, r, whole_)                  \
    QUAD_FLAT_STEP(sum, a_sum, q, whole_, a_) \
  }
/* Column q of B, as it is packed. */
#define QUAD_PACK(q)                                                       \
  int sum_ = 0, quads_ = (k + 3) / 4;                                      \
  for (int i = 0; i < quads_; i++) {                                       \
    int quad_ = 0;                                                         \
    for (int j = 0; j < 4; j++) {                                          \
      int at_ = i * 4 + j, one_ = 0;                                       \
      if (at_ < k) one_ = LDI(B, at_b + at_ * b_row + (q)*b_col) - b_less; \
      sum_ += one_;                                                        \
      quad_ = quad_ | (one_ & 255) << j * 8;                               \
    }                                                                      \
    STI(P, at_p + i * n + (q), quad_);                                     \
  }                                                                        \
  STI(P, at_p + quads_ * n + (q), sum_);
