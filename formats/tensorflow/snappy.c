/* Snappy's raw form, as LevelDB compresses blocks of a table: the size of the result, then tags. A
 * tag is either a run of bytes that follows it or a copy of what was written `back` bytes before,
 * which may reach into what it writes. */
#include "reader.h"

/* The largest gain: a copy of three bytes makes 64. */
enum { MOST_GAIN = 22 };

typedef struct unpacking {
  tn_proto_span in;
  uint8_t *out;
  uint64_t n, size; /* bytes written, of all */
} unpacking;

static bool take(unpacking *u, uint32_t bytes, uint64_t *out) {
  *out = 0;
  if ((uint64_t)(u->in.end - u->in.p) < bytes) return false;
  for (uint32_t k = 0; k < bytes; k++) *out |= (uint64_t)u->in.p[k] << 8 * k;
  u->in.p += bytes;
  return true;
}

/* Lengths from 61 on stand in up to four bytes behind the tag. */
static bool literal(unpacking *u, uint32_t tag) {
  uint64_t n = tag >> 2;
  if (n >= 60 && !take(u, (uint32_t)n - 59, &n)) return false;
  n++;
  if (n > u->size - u->n || n > (uint64_t)(u->in.end - u->in.p)) return false;
  memcpy(u->out + u->n, u->in.p, (size_t)n);
  u->in.p += n;
  u->n += n;
  return true;
}

static bool copy(unpacking *u, uint32_t tag) {
  static const uint8_t offset_bytes[] = {0, 1, 2, 4};
  uint64_t back, n = (tag >> 2) + 1;
  if (!take(u, offset_bytes[tag & 3], &back)) return false;
  if ((tag & 3) == 1) {
    n = (tag >> 2 & 7) + 4;
    back |= (uint64_t)(tag >> 5) << 8;
  }
  if (!back || back > u->n || n > u->size - u->n) return false;
  for (uint64_t k = 0; k < n; k++, u->n++) u->out[u->n] = u->out[u->n - back];
  return true;
}

tn_status tf_snappy_unpack(tn_arena *arena, tn_proto_span packed, tn_proto_span *out) {
  const uint64_t packed_bytes = (uint64_t)(packed.end - packed.p);
  unpacking u = {.in = packed};
  if (!tn_proto_varint(&u.in, &u.size) || u.size / MOST_GAIN > packed_bytes) return TN_ERR_INVALID;
  u.out = tn_arena_alloc(arena, u.size + 1);
  if (!u.out) return TN_ERR_MEMORY;
  while (u.in.p < u.in.end) {
    const uint32_t tag = *u.in.p++;
    if (!(tag & 3 ? copy(&u, tag) : literal(&u, tag))) return TN_ERR_INVALID;
  }
  *out = (tn_proto_span){u.out, u.out + u.size};
  return u.n == u.size ? TN_OK : TN_ERR_INVALID;
}
