/* Loops: a strided copy between two buffers, brought into the form that moves fastest, and cut into
 * pieces of about 32 KB that any thread may do in any order.
 *
 * Building a loop drops and merges dims, sorts them by the stride of the destination (writes go
 * forward), and takes a contiguous run of 2, 4, 8 or 16 bytes for one wider element. All members
 * are in bytes but the sizes. */
#ifndef TN_REGION_LOOP_H
#define TN_REGION_LOOP_H

#include "tenon/kit/checked.h"
#include "tenon/kit/dtype.h"

typedef struct tn_axis {
  int64_t size, src, dst; /* steps, and bytes per step in source and destination */
} tn_axis;

enum {
  LOOP_RUN,     /* inner: contiguous bytes; the row counts them, unit is 1 */
  LOOP_STRIDED, /* inner: elements of 1, 2, 4, 8 or 16 bytes at any strides */
  LOOP_PLANE,   /* inner: a transpose; row is contiguous in the destination, col in the source */
  LOOP_TINY     /* inner: many blocks of few elements; row is the dim around the blocks, near are
                   those of a block */
};

typedef struct tn_loop {
  int32_t input; /* where it reads; the caller's meaning */
  uint32_t kind;
  int64_t unit;     /* bytes moved at once */
  int64_t src, dst; /* bytes to the first element */
  int32_t rank;
  tn_axis outer[TN_MAX_RANK]; /* slowest first */
  tn_axis row, col;           /* the inner two dims; row is the faster one */
  int32_t n_near;
  tn_axis near[TN_MAX_RANK];    /* LOOP_TINY only */
  int64_t row_chunk, col_chunk; /* what of row and col one piece takes */
  int64_t first_piece, n_pieces;
} tn_loop;

/* Strides and offsets in elements of element_bytes (1, 2, 4, 8 or 16). rank <= TN_MAX_RANK. Sizes
 * may be 0 or 1, strides negative, source strides 0. No element of the destination may be written
 * twice. */
void tn_loop_init(tn_loop *loop, int64_t element_bytes, int32_t rank, const int64_t *size,
                  const int64_t *src_stride, const int64_t *dst_stride, int64_t src_offset,
                  int64_t dst_offset);

/* Bytes that the loop writes. */
int64_t tn_loop_bytes(const tn_loop *loop);

/* Nanoseconds that one thread takes to move so many bytes; transposes: across lines. What fits in a
 * core's cache moves several times as fast as what does not. */
double tn_loop_cost_ns(int64_t bytes, bool transposes);

typedef struct tn_block {
  tn_axis row, col;
  int64_t unit;
  uint32_t kind;
  int32_t n_near;
  const tn_axis *near;
} tn_block;

/* Transposes a block that is LOOP_PLANE. */
typedef void (*tn_transpose_fn)(const tn_block *b, uint8_t *dst, const uint8_t *src);

/* Whether the loop is one that a tn_transpose_fn does faster than the portable code. */
bool tn_loop_transposes_fast(const tn_loop *loop);

/* Does pieces [begin, end) of this loop, counted from 0. transpose NULL: portable. */
void tn_loop_run(const tn_loop *loop, tn_transpose_fn transpose, uint8_t *dst, const uint8_t *src,
                 int64_t begin, int64_t end);

/* copy_c.c: the inner loops. */
void tn_block_copy(const tn_block *b, tn_transpose_fn transpose, uint8_t *dst, const uint8_t *src);
/* What a transpose left of a plane: all but the first rows of the first cols. */
void tn_block_rest(const tn_block *b, uint8_t *dst, const uint8_t *src, int64_t rows, int64_t cols);

#endif
