/* Tiles of products, for GPU kernels of the families that have some: 64 x 64 results by a group of
 * 64 threads, each 8 x 8 of them, from slices of 16 along K. In local memory lie [k][64] of A, and
 * behind them of B; thread t brings in row t of A and column t of B. Results go through it, too. */
#define TILE_THREAD int t = LOCAL_ID(0), y = t / 8 * 4, x = t % 8 * 4;
/* Four of A (to 0) or B (to 1024), from step j of the slice on. */
#define TILE_PUT(to, j, v)                 \
  tile[(to) + (j)*64 + t] = (v).x;         \
  tile[(to) + ((j) + 1) * 64 + t] = (v).y; \
  tile[(to) + ((j) + 2) * 64 + t] = (v).z; \
  tile[(to) + ((j) + 3) * 64 + t] = (v).w;
/* a and b, 16 steps in four fours each. */
#define TILE_BRING                     \
  UNROLL for (int j = 0; j < 4; j++) { \
    TILE_PUT(0, j * 4, a[j])           \
    TILE_PUT(1024, j * 4, b[j])        \
  }
#define TILE_ROW(i, a)     \
  sums[2 * (i)] += (a)*b0; \
  sums[2 * (i) + 1] += (a)*b1;
#define TILE_PRODUCT                                                                       \
  for (int j = 0; j < 16; j++) {                                                           \
    f32x4 a0 = LOCAL4(tile, j * 64 + y), a1 = LOCAL4(tile, j * 64 + 32 + y);               \
    f32x4 b0 = LOCAL4(tile, 1024 + j * 64 + x), b1 = LOCAL4(tile, 1024 + j * 64 + 32 + x); \
    TILE_ROW(0, a0.x)                                                                      \
    TILE_ROW(1, a0.y)                                                                      \
    TILE_ROW(2, a0.z)                                                                      \
    TILE_ROW(3, a0.w)                                                                      \
    TILE_ROW(4, a1.x)                                                                      \
    TILE_ROW(5, a1.y)                                                                      \
    TILE_ROW(6, a1.z)                                                                      \
    TILE_ROW(7, a1.w)                                                                      \
  }
/* From step `at` to `end`, 16 at a time; BRING(i) reads a and b from step i on. */
#define TILE_SUM(at, end)            \
  BRING(at)                          \
  for (; (at) < (end); (at) += 16) { \
    TILE_BRING                       \
    BARRIER();                       \
    BRING((at) + 16)                 \
    TILE_PRODUCT                     \
    BARRIER();                       \
  }
/* Half h of the rows of the tile, [32][64]. All threads have left the tile. */
#define TILE_SPREAD(h)                           \
  UNROLL for (int i = 0; i < 8; i++) {           \
    int at_ = (y + i / 2) * 64 + i % 2 * 32 + x; \
    tile[at_] = sums[(h)*8 + i].x;               \
    tile[at_ + 1] = sums[(h)*8 + i].y;           \
    tile[at_ + 2] = sums[(h)*8 + i].z;           \
    tile[at_ + 3] = sums[(h)*8 + i].w;           \
  }                                              \
  BARRIER();
