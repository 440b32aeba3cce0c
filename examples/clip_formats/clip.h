/* What the kernels share: the number of elements, and the blocked layout. */
#ifndef CLIP_H
#define CLIP_H

#include "clip_formats.gen.h"

static inline int64_t elements(const tn_tensor *t) {
  int64_t n = 1;
  for (int32_t d = 0; d < t->rank; d++) n *= t->shape[d];
  return n;
}

/* NaN is neither below nor above. */
static inline float clip_of(float x, float least, float most) {
  return x < least ? least : x > most ? most : x;
}

/* [N, C, X...] in storage [N][C/16 rounded up][X][16]: what lies behind C must be zero. */
enum { BLOCK = 16 };
typedef struct blocked {
  int64_t blocks, inner, channels; /* per image; X; C */
} blocked;

static inline blocked blocked_of(const tn_tensor *t) {
  blocked b = {(t->shape[1] + BLOCK - 1) / BLOCK, 1, t->shape[1]};
  for (int32_t d = 2; d < t->rank; d++) b.inner *= t->shape[d];
  return b;
}

/* Channels that a block holds: 16, or fewer in the last one. */
static inline int64_t lanes(const blocked *b, int64_t block) {
  const int64_t left = b->channels - block * BLOCK;
  return left < BLOCK ? left : BLOCK;
}

#endif
