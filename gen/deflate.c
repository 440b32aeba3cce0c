/* Programs of GPU kernels are stored packed: they are half of the library otherwise. zlib does it,
 * where it is. */
#include "gpu_emit.h"

#if TENON_ZLIB
#include <limits.h>
#include <zlib.h>

/* The size, 8 bytes with the lowest first, then a deflate stream; what the host unpacks again is
 * described in tenon/device.h. */
const uint8_t *gen_deflate(gen *g, const void *data, uint64_t size, uint64_t *out_size) {
  enum { HEAD = 8, WINDOW_BITS = -15 /* no head and no check sum of zlib's own */, MEMORY = 9 };
  z_stream z = {0};
  if (size > INT_MAX || deflateInit2(&z, Z_BEST_COMPRESSION, Z_DEFLATED, WINDOW_BITS, MEMORY,
                                     Z_DEFAULT_STRATEGY) != Z_OK)
    return NULL;
  const uLong room = deflateBound(&z, (uLong)size);
  uint8_t *to = gen_need(tn_arena_alloc(&g->arena, HEAD + room));
  for (int k = 0; k < HEAD; k++) to[k] = (uint8_t)(size >> (8 * k));
  z.next_in = (Bytef *)(uintptr_t)data; /* which zlib only reads */
  z.avail_in = (uInt)size;
  z.next_out = to + HEAD;
  z.avail_out = (uInt)room;
  const bool ok = deflate(&z, Z_FINISH) == Z_STREAM_END;
  *out_size = HEAD + z.total_out;
  deflateEnd(&z);
  return ok ? to : NULL;
}

#else

const uint8_t *gen_deflate(gen *g, const void *data, uint64_t size, uint64_t *out_size) {
  (void)g, (void)data, (void)size, (void)out_size;
  return NULL;
}

#endif
