/* Deflate. A prefix code is one table with a slot for each string of as many bits as its longest
 * code has, at most 2^15: a symbol is one look. */
#include "base/inflate.h"

#include <stdbool.h>
#include <string.h>

enum {
  MAX_BITS = 15,
  MAX_SYMBOLS = 288,
  N_DISTANCES = 30,
  N_LENGTHS = 19, /* symbols of the code that code lengths are written in */
  END_OF_BLOCK = 256
};

typedef struct code {
  uint32_t bits;                 /* of the longest code; 0: there is none */
  uint16_t slots[1 << MAX_BITS]; /* symbol << 4 | length; 0: no code begins so */
} code;

typedef struct inflater {
  const uint8_t *in;
  uint64_t in_size, in_at;
  uint8_t *out;
  uint64_t out_size, out_at;
  uint64_t hold; /* bits that were read and not used, the next one lowest */
  uint32_t n_hold;
  const char *error;
  code literals, distances;
} inflater;

static bool fails(inflater *z, const char *error) {
  if (!z->error) z->error = error;
  return false;
}

/* ---- bits ---- */

static void fill(inflater *z) {
  while (z->n_hold <= 48 && z->in_at < z->in_size) {
    z->hold |= (uint64_t)z->in[z->in_at++] << z->n_hold;
    z->n_hold += 8;
  }
}

static bool drop(inflater *z, uint32_t n) {
  if (n > z->n_hold) return fails(z, "ends too early");
  z->hold >>= n;
  z->n_hold -= n;
  return true;
}

/* n <= 16 bits as a number; 0 after an error. */
static uint32_t take(inflater *z, uint32_t n) {
  fill(z);
  const uint32_t value = (uint32_t)(z->hold & ((1u << n) - 1));
  return drop(z, n) ? value : 0;
}

/* ---- prefix codes ---- */

static uint32_t reversed(uint32_t value, uint32_t n) {
  uint32_t r = 0;
  for (uint32_t k = 0; k < n; k++) r |= (value >> k & 1) << (n - 1 - k);
  return r;
}

/* Gives symbols their codes, which follow from their lengths. */
static void assign(code *c, const uint8_t *lengths, uint32_t n, const uint32_t *first) {
  uint32_t next[MAX_BITS + 1];
  memcpy(next, first, sizeof next);
  memset(c->slots, 0, sizeof *c->slots << c->bits);
  for (uint32_t symbol = 0; symbol < n; symbol++) {
    const uint32_t len = lengths[symbol];
    if (!len) continue;
    for (uint32_t k = reversed(next[len]++, len); k < 1u << c->bits; k += 1u << len)
      c->slots[k] = (uint16_t)(symbol << 4 | len);
  }
}

/* A code may be incomplete only if it has one symbol, or none. */
static bool build(inflater *z, code *c, const uint8_t *lengths, uint32_t n) {
  uint32_t count[MAX_BITS + 1] = {0}, first[MAX_BITS + 1] = {0}, used = 0;
  for (uint32_t k = 0; k < n; k++) count[lengths[k]]++;
  count[0] = 0;
  c->bits = 0;
  for (uint32_t len = 1; len <= MAX_BITS; len++) {
    first[len] = (first[len - 1] + count[len - 1]) << 1;
    if (count[len]) c->bits = len;
    used += count[len] << (MAX_BITS - len);
  }
  if (used > 1u << MAX_BITS) return fails(z, "has a prefix code with too many symbols");
  if (used < 1u << MAX_BITS && c->bits > 1)
    return fails(z, "has a prefix code with symbols missing");
  assign(c, lengths, n, first);
  return true;
}

static uint32_t symbol_of(inflater *z, const code *c) {
  fill(z);
  const uint16_t slot = c->slots[z->hold & ((1u << c->bits) - 1)];
  if (!c->bits || !slot) return (uint32_t)fails(z, "has bits that are no symbol");
  return drop(z, slot & 15) ? slot >> 4 : 0;
}

/* ---- blocks ---- */

static bool stored_block(inflater *z) {
  drop(z, z->n_hold & 7);
  const uint32_t n = take(z, 16), inverse = take(z, 16);
  if (z->error) return false;
  if ((n ^ inverse) != 0xffff) return fails(z, "has a stored block of contradicting sizes");
  z->in_at -= z->n_hold / 8; /* whole bytes go back */
  z->hold = z->n_hold = 0;
  if (n > z->in_size - z->in_at) return fails(z, "ends too early");
  if (n > z->out_size - z->out_at) return fails(z, "is larger than it says");
  memcpy(z->out + z->out_at, z->in + z->in_at, n);
  z->in_at += n;
  z->out_at += n;
  return true;
}

static bool copy(inflater *z, uint32_t symbol) {
  static const uint16_t lengths[] = {3,  4,  5,  6,   7,   8,   9,   10,  11, 13,
                                     15, 17, 19, 23,  27,  31,  35,  43,  51, 59,
                                     67, 83, 99, 115, 131, 163, 195, 227, 258};
  static const uint8_t more[] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2,
                                 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0};
  if (symbol > 28) return fails(z, "has bits that are no symbol");
  const uint64_t n = lengths[symbol] + take(z, more[symbol]);
  const uint32_t d = symbol_of(z, &z->distances);
  if (!z->error && d >= N_DISTANCES) return fails(z, "has bits that are no symbol");
  const uint32_t extra = d < 4 ? 0 : d / 2 - 1;
  const uint64_t distance = d < 4 ? d + 1 : ((2 + (d & 1)) << extra) + 1 + (uint64_t)take(z, extra);
  if (z->error) return false;
  if (distance > z->out_at) return fails(z, "copies from before its beginning");
  if (n > z->out_size - z->out_at) return fails(z, "is larger than it says");
  for (uint64_t k = 0; k < n; k++, z->out_at++) z->out[z->out_at] = z->out[z->out_at - distance];
  return true;
}

static bool coded_block(inflater *z) {
  for (;;) {
    const uint32_t symbol = symbol_of(z, &z->literals);
    if (z->error) return false;
    if (symbol == END_OF_BLOCK) return true;
    if (symbol > END_OF_BLOCK) {
      if (!copy(z, symbol - END_OF_BLOCK - 1)) return false;
    } else if (z->out_at == z->out_size) {
      return fails(z, "is larger than it says");
    } else {
      z->out[z->out_at++] = (uint8_t)symbol;
    }
  }
}

static bool fixed_block(inflater *z) {
  uint8_t lengths[MAX_SYMBOLS];
  for (int k = 0; k < MAX_SYMBOLS; k++)
    lengths[k] = (uint8_t)(k < 144 ? 8 : k < 256 ? 9 : k < 280 ? 7 : 8);
  if (!build(z, &z->literals, lengths, MAX_SYMBOLS)) return false;
  memset(lengths, 5, 32);
  return build(z, &z->distances, lengths, 32) && coded_block(z);
}

/* Lengths of codes, written in z->literals: 16 repeats the last one, 17 and 18 repeat 0. */
static bool read_lengths(inflater *z, uint8_t *out, uint32_t n) {
  for (uint32_t k = 0; k < n;) {
    const uint32_t symbol = symbol_of(z, &z->literals);
    if (z->error) return false;
    if (symbol < 16) {
      out[k++] = (uint8_t)symbol;
      continue;
    }
    const uint32_t times = symbol == 16   ? 3 + take(z, 2)
                           : symbol == 17 ? 3 + take(z, 3)
                                          : 11 + take(z, 7);
    if (z->error) return false;
    if ((symbol == 16 && !k) || times > n - k) return fails(z, "has wrong lengths of codes");
    memset(out + k, symbol == 16 ? out[k - 1] : 0, times);
    k += times;
  }
  return true;
}

static bool dynamic_block(inflater *z) {
  static const uint8_t order[N_LENGTHS] = {16, 17, 18, 0, 8,  7, 9,  6, 10, 5,
                                           11, 4,  12, 3, 13, 2, 14, 1, 15};
  uint8_t lengths[MAX_SYMBOLS + 32] = {0};
  const uint32_t n_literals = 257 + take(z, 5), n_distances = 1 + take(z, 5),
                 n_lengths = 4 + take(z, 4);
  for (uint32_t k = 0; k < n_lengths; k++) lengths[order[k]] = (uint8_t)take(z, 3);
  if (z->error) return false;
  if (n_literals > 286 || n_distances > N_DISTANCES) return fails(z, "has too many symbols");
  if (!build(z, &z->literals, lengths, N_LENGTHS)) return false;
  if (!read_lengths(z, lengths, n_literals + n_distances)) return false;
  if (!lengths[END_OF_BLOCK]) return fails(z, "has a block without an end");
  return build(z, &z->literals, lengths, n_literals) &&
         build(z, &z->distances, lengths + n_literals, n_distances) && coded_block(z);
}

static bool block(inflater *z, uint32_t kind) {
  switch (kind) {
    case 0: return stored_block(z);
    case 1: return fixed_block(z);
    case 2: return dynamic_block(z);
    default: return fails(z, "has a block of unknown kind");
  }
}

const char *tn_inflate(const uint8_t *packed, uint64_t packed_size, uint8_t *out, uint64_t out_size,
                       uint64_t *out_at) {
  inflater z;
  memset(&z, 0, offsetof(inflater, literals));
  z.in = packed;
  z.in_size = packed_size;
  z.out = out;
  z.out_size = out_size;
  for (bool last = false; !last && !z.error;) {
    last = take(&z, 1);
    const uint32_t kind = take(&z, 2);
    if (!z.error) block(&z, kind);
  }
  if (!z.error && z.out_at != out_size) fails(&z, "is smaller than it says");
  *out_at = z.in_at - z.n_hold / 8;
  return z.error;
}

uint32_t tn_crc32(const void *data, uint64_t size) {
  static const uint32_t of_four[16] = {0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac,
                                       0x76dc4190, 0x6b6b51f4, 0x4db26158, 0x5005713c,
                                       0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c,
                                       0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c};
  const uint8_t *p = data;
  uint32_t crc = UINT32_MAX;
  for (uint64_t k = 0; k < size; k++) {
    crc ^= p[k];
    crc = crc >> 4 ^ of_four[crc & 15];
    crc = crc >> 4 ^ of_four[crc & 15];
  }
  return ~crc;
}
