/* The inner loops of strided copies: runs, elements at strides, and transposed planes in tiles of
 * 16 bytes square. Elements are moved by memcpy of a constant size: nothing is assumed of
 * alignment. */
#include <string.h>

#include "loop.h"

/* n < 64 bytes as two halves that may overlap; saves the call for the short runs of small inner
 * dims. */
static void copy_short(uint8_t *dst, const uint8_t *src, size_t n) {
  uint8_t a[32], b[32];
  size_t half = n > 32 ? 32 : n > 16 ? 16 : n > 8 ? 8 : n > 4 ? 4 : n > 2 ? 2 : 1;
  switch (half) {
    case 32:
      memcpy(a, src, 32), memcpy(b, src + n - 32, 32), memcpy(dst, a, 32),
          memcpy(dst + n - 32, b, 32);
      break;
    case 16:
      memcpy(a, src, 16), memcpy(b, src + n - 16, 16), memcpy(dst, a, 16),
          memcpy(dst + n - 16, b, 16);
      break;
    case 8:
      memcpy(a, src, 8), memcpy(b, src + n - 8, 8), memcpy(dst, a, 8), memcpy(dst + n - 8, b, 8);
      break;
    case 4:
      memcpy(a, src, 4), memcpy(b, src + n - 4, 4), memcpy(dst, a, 4), memcpy(dst + n - 4, b, 4);
      break;
    case 2:
      memcpy(a, src, 2), memcpy(b, src + n - 2, 2), memcpy(dst, a, 2), memcpy(dst + n - 2, b, 2);
      break;
    default: dst[0] = src[0], dst[n - 1] = src[n - 1];
  }
}

/* n >= 16 bytes, the last ones maybe twice. */
static void copy_middle(uint8_t *dst, const uint8_t *src, size_t n) {
  for (size_t k = 0; k + 16 < n; k += 16) memcpy(dst + k, src + k, 16);
  memcpy(dst + n - 16, src + n - 16, 16);
}

/* 64 <= n <= 128 bytes, some of them maybe twice: without a loop, whose speed would depend on where
 * the linker puts it. */
static void copy_line(uint8_t *dst, const uint8_t *src, size_t n) {
  memcpy(dst, src, 16), memcpy(dst + 16, src + 16, 16), memcpy(dst + 32, src + 32, 16),
      memcpy(dst + 48, src + 48, 16);
  dst += n - 64, src += n - 64;
  memcpy(dst, src, 16), memcpy(dst + 16, src + 16, 16), memcpy(dst + 32, src + 32, 16),
      memcpy(dst + 48, src + 48, 16);
}

enum { LINE = 64 }; /* bytes of a cache line */

/* Blocks of 16 floats, as layouts have them. */
static void copy_lines(const tn_block *b, uint8_t *dst, const uint8_t *src) {
  for (int64_t c = 0; c < b->col.size; c++, dst += b->col.dst, src += b->col.src) {
    memcpy(dst, src, 16), memcpy(dst + 16, src + 16, 16);
    memcpy(dst + 32, src + 32, 16), memcpy(dst + 48, src + 48, 16);
  }
}

static void copy_runs(const tn_block *b, uint8_t *dst, const uint8_t *src) {
  size_t n = (size_t)b->row.size;
  if (n == LINE) {
    copy_lines(b, dst, src);
    return;
  }
  for (int64_t c = 0; c < b->col.size; c++, dst += b->col.dst, src += b->col.src) {
    if (n < 64)
      copy_short(dst, src, n);
    else if (n <= 128)
      copy_line(dst, src, n);
    else if (n < 256)
      copy_middle(dst, src, n);
    else
      memcpy(dst, src, n);
  }
}

/* Calls f with a constant for a number of 2 .. 7, and for others with the number itself. */
#define FEW(f, count, ...)            \
  switch (count) {                    \
    case 2: f(__VA_ARGS__, 2); break; \
    case 3: f(__VA_ARGS__, 3); break; \
    case 4: f(__VA_ARGS__, 4); break; \
    case 5: f(__VA_ARGS__, 5); break; \
    case 6: f(__VA_ARGS__, 6); break; \
    case 7: f(__VA_ARGS__, 7); break; \
    default: f(__VA_ARGS__, count);   \
  }

/* At least a line of the element x of n bytes, the last line maybe over the one before it. */
static inline __attribute__((always_inline)) void fill_lines(uint8_t *dst, int64_t bytes,
                                                             const uint8_t *x, size_t n) {
  uint8_t line[LINE];
  for (size_t k = 0; k < LINE; k += n) memcpy(line + k, x, n);
  for (int64_t k = 0; k + LINE < bytes; k += LINE) memcpy(dst + k, line, LINE);
  memcpy(dst + bytes - LINE, line, LINE);
}

/* copy_<n>: n-byte elements, rows inside of columns. fill_<n>: one element all along a contiguous
 * row. */
#define STRIDED(n)                                                                               \
  static inline __attribute__((always_inline)) void rows_##n(const tn_block *b, uint8_t *dst,    \
                                                             const uint8_t *src, int64_t size) { \
    const int64_t step_d = b->row.dst, step_s = b->row.src;                                      \
    for (int64_t c = 0; c < b->col.size; c++, dst += b->col.dst, src += b->col.src)              \
      for (int64_t r = 0; r < size; r++) memcpy(dst + r * step_d, src + r * step_s, n);          \
  }                                                                                              \
  static void copy_##n(const tn_block *b, uint8_t *dst, const uint8_t *src) {                    \
    FEW(rows_##n, b->row.size, b, dst, src);                                                     \
  }                                                                                              \
  static void fill_##n(const tn_block *b, uint8_t *dst, const uint8_t *src) {                    \
    const int64_t bytes = b->row.size * (n);                                                     \
    for (int64_t c = 0; c < b->col.size; c++, dst += b->col.dst, src += b->col.src) {            \
      uint8_t x[n];                                                                              \
      memcpy(x, src, n);                                                                         \
      if (bytes < LINE)                                                                          \
        for (int64_t k = 0; k < bytes; k += (n)) memcpy(dst + k, x, n);                          \
      else                                                                                       \
        fill_lines(dst, bytes, x, n);                                                            \
    }                                                                                            \
  }

STRIDED(1)
STRIDED(2)
STRIDED(4)
STRIDED(8)
STRIDED(16)

/* The same few elements in each column: the pad lanes of blocks. */
static void fill_same(const tn_block *b, uint8_t *dst, const uint8_t *src) {
  uint8_t line[LINE];
  tn_block runs = *b;
  for (int64_t k = 0; k < b->row.size; k++) memcpy(line + k * b->unit, src, (size_t)b->unit);
  runs.row.size *= b->unit;
  copy_runs(&runs, dst, line);
}

static void copy_strided(tn_block b, uint8_t *dst, const uint8_t *src) {
  bool fill = b.row.src == 0 && b.row.dst == b.unit && b.row.size > 1;
  if (fill && b.col.src == 0 && b.row.size * b.unit <= LINE) {
    fill_same(&b, dst, src);
    return;
  }
  if (!fill && b.row.size == 1) {
    b.row = b.col;
    b.col = (tn_axis){1, 0, 0};
  }
  switch (b.unit) {
    case 1: (fill ? fill_1 : copy_1)(&b, dst, src); break;
    case 2: (fill ? fill_2 : copy_2)(&b, dst, src); break;
    case 4: (fill ? fill_4 : copy_4)(&b, dst, src); break;
    case 8: (fill ? fill_8 : copy_8)(&b, dst, src); break;
    default: (fill ? fill_16 : copy_16)(&b, dst, src); break;
  }
}

/* Tiles of side x side elements: element (i, j) of the tile stands at src + i*src_step + j*unit and
 * goes to dst + j*dst_step + i*unit. */
typedef void (*tile_fn)(uint8_t *dst, int64_t dst_step, const uint8_t *src, int64_t src_step);

typedef uint8_t v8u8 __attribute__((vector_size(8)));
typedef uint16_t v4u16 __attribute__((vector_size(8)));
typedef uint8_t v16u8 __attribute__((vector_size(16)));
typedef uint16_t v8u16 __attribute__((vector_size(16)));
typedef uint32_t v4u32 __attribute__((vector_size(16)));
typedef uint64_t v2u64 __attribute__((vector_size(16)));

#define LO8(a, b) \
  __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23)
#define HI8(a, b) \
  __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31)
#define LO16(a, b) __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11)
#define HI16(a, b) __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15)
#define LO32(a, b) __builtin_shufflevector(a, b, 0, 4, 1, 5)
#define HI32(a, b) __builtin_shufflevector(a, b, 2, 6, 3, 7)
#define LO64(a, b) __builtin_shufflevector(a, b, 0, 2)
#define HI64(a, b) __builtin_shufflevector(a, b, 1, 3)

/* Interleaving rows k and k + side/2 as often as the side is halved transposes the tile. */
#define TILE(name, vector, side, rounds, LO, HI)                                           \
  static void name(uint8_t *dst, int64_t dst_step, const uint8_t *src, int64_t src_step) { \
    vector a[side], b[side];                                                               \
    for (int k = 0; k < (side); k++) memcpy(&a[k], src + k * src_step, sizeof a[k]);       \
    for (int round = 0; round < (rounds); round++) {                                       \
      for (int k = 0; k < (side) / 2; k++) {                                               \
        b[2 * k] = LO(a[k], a[k + (side) / 2]);                                            \
        b[2 * k + 1] = HI(a[k], a[k + (side) / 2]);                                        \
      }                                                                                    \
      memcpy(a, b, sizeof a);                                                              \
    }                                                                                      \
    for (int k = 0; k < (side); k++) memcpy(dst + k * dst_step, &a[k], sizeof a[k]);       \
  }

TILE(half_tile_1, v8u8, 8, 3, LO16, HI16)
TILE(half_tile_2, v4u16, 4, 2, LO32, HI32)
TILE(tile_1, v16u8, 16, 4, LO8, HI8)
TILE(tile_2, v8u16, 8, 3, LO16, HI16)
TILE(tile_4, v4u32, 4, 2, LO32, HI32)
TILE(tile_8, v2u64, 2, 1, LO64, HI64)

/* Rows go in strips that fill one line of the destination. */
static inline void copy_strips(const tn_block *b, uint8_t *dst, const uint8_t *src, int64_t side,
                               tile_fn tile, int64_t rows, int64_t cols) {
  int64_t strip = tn_max_i64(side, LINE / b->unit);
  for (int64_t r0 = 0; r0 < rows; r0 += strip)
    for (int64_t c = 0; c < cols; c += side)
      for (int64_t r = r0; r < tn_min_i64(rows, r0 + strip); r += side)
        tile(dst + r * b->row.dst + c * b->col.dst, b->col.dst,
             src + r * b->row.src + c * b->col.src, b->row.src);
}

/* The same where the lines of a strip fall on the same places of the cache and drive each other
 * out: a square of lines is read whole, each line once, and transposed from there. */
static inline void copy_squares(const tn_block *b, uint8_t *dst, const uint8_t *src, int64_t side,
                                tile_fn tile, int64_t rows, int64_t cols) {
  uint8_t square[LINE * LINE];
  int64_t n = LINE / b->unit;
  for (int64_t r0 = 0; r0 < rows; r0 += n)
    for (int64_t c0 = 0; c0 < cols; c0 += n) {
      for (int64_t k = 0; k < n; k++)
        memcpy(square + k * LINE, src + (r0 + k) * b->row.src + c0 * b->col.src, LINE);
      for (int64_t c = 0; c < n; c += side)
        for (int64_t r = 0; r < n; r += side)
          tile(dst + (r0 + r) * b->row.dst + (c0 + c) * b->col.dst, b->col.dst,
               square + r * LINE + c * b->unit, LINE);
    }
}

/* Neither side of the block is below that of a tile. */
static inline void copy_tiles(const tn_block *b, uint8_t *dst, const uint8_t *src, int64_t side,
                              tile_fn tile) {
  const int64_t square = LINE / b->unit;
  const bool collides = b->row.src % 1024 == 0 && tn_min_i64(b->row.size, b->col.size) >= square;
  const int64_t step = collides ? square : side;
  const int64_t rows = b->row.size / step * step, cols = b->col.size / step * step;
  if (collides)
    copy_squares(b, dst, src, side, tile, rows, cols);
  else
    copy_strips(b, dst, src, side, tile, rows, cols);
  tn_block_rest(b, dst, src, rows, cols);
}

static void copy_plane(const tn_block *b, uint8_t *dst, const uint8_t *src) {
  const int64_t side = tn_min_i64(b->row.size, b->col.size);
  if (b->unit == 1 && side >= 16)
    copy_tiles(b, dst, src, 16, tile_1);
  else if (b->unit == 1 && side >= 8)
    copy_tiles(b, dst, src, 8, half_tile_1);
  else if (b->unit == 2 && side >= 8)
    copy_tiles(b, dst, src, 8, tile_2);
  else if (b->unit == 2 && side >= 4)
    copy_tiles(b, dst, src, 4, half_tile_2);
  else if (b->unit == 4 && side >= 4)
    copy_tiles(b, dst, src, 4, tile_4);
  else if (b->unit == 8 && side >= 2)
    copy_tiles(b, dst, src, 2, tile_8);
  else
    copy_strided(*b, dst, src);
}

void tn_block_rest(const tn_block *b, uint8_t *dst, const uint8_t *src, int64_t rows,
                   int64_t cols) {
  tn_block below = *b, beside = *b;
  below.row.size -= rows;
  beside.row.size = rows;
  beside.col.size -= cols;
  if (below.row.size > 0) copy_plane(&below, dst + rows * b->row.dst, src + rows * b->row.src);
  if (beside.col.size > 0 && rows > 0)
    copy_plane(&beside, dst + cols * b->col.dst, src + cols * b->col.src);
}

static void copy_tiny(const tn_block *b, uint8_t *dst, const uint8_t *src) {
  const tn_block line = {.row = b->row, .col = {1, 0, 0}, .unit = b->unit};
  int64_t at[TN_MAX_RANK] = {0};
  for (;;) {
    copy_strided(line, dst, src);
    int32_t k = b->n_near - 1;
    for (; k >= 0; k--) {
      src += b->near[k].src;
      dst += b->near[k].dst;
      if (++at[k] < b->near[k].size) break;
      src -= b->near[k].src * at[k];
      dst -= b->near[k].dst * at[k];
      at[k] = 0;
    }
    if (k < 0) return;
  }
}

void tn_block_copy(const tn_block *b, tn_transpose_fn transpose, uint8_t *dst, const uint8_t *src) {
  if (b->kind == LOOP_RUN)
    copy_runs(b, dst, src);
  else if (b->kind == LOOP_TINY)
    copy_tiny(b, dst, src);
  else if (b->kind == LOOP_PLANE && transpose)
    transpose(b, dst, src);
  else if (b->kind == LOOP_PLANE)
    copy_plane(b, dst, src);
  else
    copy_strided(*b, dst, src);
}
