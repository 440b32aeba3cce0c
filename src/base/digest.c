/* Eight lanes of 64 bits, each a permutation for every word that it takes in (xor, rotation and an
 * odd factor): a change of one word cannot be undone but by another one in its lane. At the end
 * all lanes are mixed into 128 bits, by the finalizer of SplitMix64 (Steele, Lea, Flood: Fast
 * Splittable Pseudorandom Number Generators, 2014). */
#include "base/digest.h"

#include <string.h>

enum { LANES = 8, BLOCK = LANES * 8 };

static uint64_t mix(uint64_t lane, uint64_t word) {
  lane ^= word;
  return (lane << 29 | lane >> 35) * UINT64_C(0x9E3779B97F4A7C15);
}

static uint64_t finish(uint64_t x) {
  x = (x ^ x >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
  x = (x ^ x >> 27) * UINT64_C(0x94D049BB133111EB);
  return x ^ x >> 31;
}

static uint64_t word_at(const uint8_t *p) {
  uint64_t word;
  memcpy(&word, p, sizeof word);
  return word;
}

/* Lane by lane in variables of its own: compilers would keep an array in memory. */
static void take_blocks(uint64_t *lanes, const uint8_t *p, uint64_t n) {
  uint64_t a = lanes[0], b = lanes[1], c = lanes[2], d = lanes[3], e = lanes[4], f = lanes[5],
           g = lanes[6], h = lanes[7];
  for (; n > 0; n--, p += BLOCK) {
    a = mix(a, word_at(p)), b = mix(b, word_at(p + 8));
    c = mix(c, word_at(p + 16)), d = mix(d, word_at(p + 24));
    e = mix(e, word_at(p + 32)), f = mix(f, word_at(p + 40));
    g = mix(g, word_at(p + 48)), h = mix(h, word_at(p + 56));
  }
  lanes[0] = a, lanes[1] = b, lanes[2] = c, lanes[3] = d;
  lanes[4] = e, lanes[5] = f, lanes[6] = g, lanes[7] = h;
}

tn_digest tn_digest_of(const void *data, uint64_t size) {
  const uint8_t *p = data;
  const uint64_t whole = size / BLOCK, rest = size % BLOCK;
  uint64_t lanes[LANES];
  uint8_t last[BLOCK] = {0};
  for (int k = 0; k < LANES; k++) lanes[k] = finish((uint64_t)k + 1);
  if (whole) take_blocks(lanes, p, whole);
  if (rest) memcpy(last, p + whole * BLOCK, (size_t)rest);
  take_blocks(lanes, last, 1);
  tn_digest d = {finish(size), finish(~size)};
  for (int k = 0; k < LANES; k++) {
    d.lo = finish(d.lo ^ lanes[k]);
    d.hi = finish(d.hi + (lanes[k] << 32 | lanes[k] >> 32));
  }
  return d;
}
