/* Tiles of products, for GPU kernels of the families that have some: 64 x 64 results by a group of
 * 64 threads, each 8 x 8 of them, from slices of 16 along K. as and bs are local memory, [k][64];
 * thread t brings in row t of A and column t of B. */
#define TILE_THREAD int t = LOCAL_ID(0), y = t / 8 * 4, x = t % 8 * 4;
#define TILE_PUT(to, j, v)        \
  to[(j)*64 + t] = (v).x;         \
  to[((j) + 1) * 64 + t] = (v).y; \
  to[((j) + 2) * 64 + t] = (v).z; \
  to[((j) + 3) * 64 + t] = (v).w;
#define TILE_ROW(i, a)     \
  sums[2 * (i)] += (a)*b0; \
  sums[2 * (i) + 1] += (a)*b1;
#define TILE_PRODUCT                                                     \
  for (int j = 0; j < 16; j++) {                                         \
    f32x4 a0 = LOCAL4(as, j * 64 + y), a1 = LOCAL4(as, j * 64 + 32 + y); \
    f32x4 b0 = LOCAL4(bs, j * 64 + x), b1 = LOCAL4(bs, j * 64 + 32 + x); \
    TILE_ROW(0, a0.x)                                                    \
    TILE_ROW(1, a0.y)                                                    \
    TILE_ROW(2, a0.z)                                                    \
    TILE_ROW(3, a0.w)                                                    \
    TILE_ROW(4, a1.x)                                                    \
    TILE_ROW(5, a1.y)                                                    \
    TILE_ROW(6, a1.z)                                                    \
    TILE_ROW(7, a1.w)                                                    \
  }
/* Element e of 64 of the thread: its place in the tile, and its sum. */
#define TILE_AT(e) \
  int r = row + (e) / 32 * 32 + y + (e) / 8 % 4, q = col + (e) / 4 % 2 * 32 + x + (e) % 4;
#define TILE_SUM(e)                 \
  ((e) % 4 == 0   ? sums[(e) / 4].x \
   : (e) % 4 == 1 ? sums[(e) / 4].y \
   : (e) % 4 == 2 ? sums[(e) / 4].z \
                  : sums[(e) / 4].w)
