/* SHA-256 as FIPS 180-4 describes it, in the words of section 6.2; four rounds at a time where an
 * x86 processor has instructions for them, which start-up notices: plug-ins are hashed. */
#include "base/sha256.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#if defined(__x86_64__) && (defined(__clang__) || __GNUC__ >= 12)
#include <cpuid.h>
#define HAS_SHA_CODE 1
#else
#define HAS_SHA_CODE 0
#endif

enum { BLOCK = 64 };

static const uint32_t K[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t rotr(uint32_t x, int n) { return x >> n | x << (32 - n); }
static uint32_t big0(uint32_t x) { return rotr(x, 2) ^ rotr(x, 13) ^ rotr(x, 22); }
static uint32_t big1(uint32_t x) { return rotr(x, 6) ^ rotr(x, 11) ^ rotr(x, 25); }
static uint32_t small0(uint32_t x) { return rotr(x, 7) ^ rotr(x, 18) ^ x >> 3; }
static uint32_t small1(uint32_t x) { return rotr(x, 17) ^ rotr(x, 19) ^ x >> 10; }

static uint32_t load_be(const uint8_t *p) {
  return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* One round on working variables that have turned by r places: v[-r & 7] is a, and so on, so that
 * none of them moves. */
static inline void add_round(uint32_t v[8], int r, uint32_t kw) {
  const uint32_t a = v[-r & 7], b = v[(1 - r) & 7], c = v[(2 - r) & 7], e = v[(4 - r) & 7],
                 f = v[(5 - r) & 7], g = v[(6 - r) & 7];
  const uint32_t t1 = v[(7 - r) & 7] + big1(e) + ((e & f) ^ (~e & g)) + kw;
  v[(3 - r) & 7] += t1;
  v[(7 - r) & 7] = t1 + big0(a) + ((a & b) ^ (a & c) ^ (b & c));
}

static void add_block(uint32_t h[8], const uint8_t *block) {
  uint32_t w[64], v[8];
  for (int t = 0; t < 16; t++) w[t] = load_be(block + 4 * t);
  for (int t = 16; t < 64; t++) w[t] = small1(w[t - 2]) + w[t - 7] + small0(w[t - 15]) + w[t - 16];
  memcpy(v, h, sizeof v);
  for (int t = 0; t < 64; t += 8) { /* written out: then all indices of v are known */
    add_round(v, 0, K[t] + w[t]);
    add_round(v, 1, K[t + 1] + w[t + 1]);
    add_round(v, 2, K[t + 2] + w[t + 2]);
    add_round(v, 3, K[t + 3] + w[t + 3]);
    add_round(v, 4, K[t + 4] + w[t + 4]);
    add_round(v, 5, K[t + 5] + w[t + 5]);
    add_round(v, 6, K[t + 6] + w[t + 6]);
    add_round(v, 7, K[t + 7] + w[t + 7]);
  }
  for (int k = 0; k < 8; k++) h[k] += v[k];
}

#if HAS_SHA_CODE

typedef uint32_t u4 __attribute__((vector_size(16)));
typedef int v4 __attribute__((vector_size(16))); /* as the instructions' functions have it */

/* Words of a message, the first of them lowest. */
static u4 load4(const uint8_t *p) {
  return (u4){load_be(p), load_be(p + 4), load_be(p + 8), load_be(p + 12)};
}

static bool has_sha(void) {
  unsigned a, b, c, d;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) && b >> 29 & 1;
}

/* Intel's manual, volume 2: SHA256MSG1 and SHA256MSG2 make four words of the schedule from the
 * sixteen before them, SHA256RNDS2 does two rounds on a, b, e, f and c, d, g, h, highest lane
 * first, which change places. */
#define SHA __attribute__((target("sha,sse4.1")))

SHA static u4 next4(u4 w0, u4 w4, u4 w8, u4 w12) {
  const u4 w9 = __builtin_shufflevector(w8, w12, 1, 2, 3, 4);
  const u4 sum = (u4)__builtin_ia32_sha256msg1((v4)w0, (v4)w4) + w9;
  return (u4)__builtin_ia32_sha256msg2((v4)sum, (v4)w12);
}

SHA static void add_blocks_sha(uint32_t h[8], const uint8_t *p, uint64_t n) {
  u4 abef = {h[5], h[4], h[1], h[0]}, cdgh = {h[7], h[6], h[3], h[2]};
  for (; n; n--, p += BLOCK) {
    u4 w[4], k;
    v4 ab = (v4)abef, cd = (v4)cdgh;
#pragma GCC unroll 16
    for (int t = 0; t < 16; t++) {
      u4 *now = &w[t & 3];
      *now =
          t < 4 ? load4(p + 16 * t) : next4(*now, w[(t + 1) & 3], w[(t + 2) & 3], w[(t + 3) & 3]);
      memcpy(&k, K + 4 * t, sizeof k);
      k += *now;
      cd = __builtin_ia32_sha256rnds2(cd, ab, (v4)k);
      ab = __builtin_ia32_sha256rnds2(ab, cd, (v4)__builtin_shufflevector(k, k, 2, 3, 2, 3));
    }
    abef += (u4)ab;
    cdgh += (u4)cd;
  }
  for (int i = 0; i < 2; i++) {
    h[i] = abef[3 - i], h[2 + i] = cdgh[3 - i];
    h[4 + i] = abef[1 - i], h[6 + i] = cdgh[1 - i];
  }
}

#endif

static void add_blocks_plain(uint32_t h[8], const uint8_t *p, uint64_t n) {
  for (; n; n--, p += BLOCK) add_block(h, p);
}

typedef void (*add_fn)(uint32_t h[8], const uint8_t *p, uint64_t n);

/* The last block, or two: what is left over, the bit 1, zeros, the length in bits. */
static void finish(uint32_t h[8], const uint8_t *left, uint64_t n, add_fn add) {
  uint8_t last[2 * BLOCK] = {0};
  const size_t n_left = (size_t)(n % BLOCK);
  const size_t size = n_left < BLOCK - 8 ? BLOCK : 2 * BLOCK;
  if (n_left) memcpy(last, left, n_left);
  last[n_left] = 0x80;
  for (size_t k = 0; k < 8; k++) last[size - 1 - k] = (uint8_t)(n * 8 >> 8 * k);
  add(h, last, size / BLOCK);
}

static void hash(const void *data, uint64_t n, add_fn add, char out[TN_SHA256_TEXT]) {
  uint32_t h[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                   0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  const uint8_t *p = data;
  add(h, p, n / BLOCK);
  finish(h, n ? p + n / BLOCK * BLOCK : p, n, add);
  for (int k = 0; k < 8; k++) snprintf(out + 8 * k, 9, "%08x", (unsigned)h[k]);
}

void tn_sha256_plain_text(const void *data, uint64_t n, char out[TN_SHA256_TEXT]) {
  hash(data, n, add_blocks_plain, out);
}

void tn_sha256_text(const void *data, uint64_t n, char out[TN_SHA256_TEXT]) {
#if HAS_SHA_CODE
  /* Virtual machines take their time to answer: short texts do not ask. */
  hash(data, n, n > 32 * BLOCK && has_sha() ? add_blocks_sha : add_blocks_plain, out);
#else
  hash(data, n, add_blocks_plain, out);
#endif
}
