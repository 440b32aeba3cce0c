/* A quick fingerprint of many bytes: whether they are what they were, not whether somebody has made
 * them so on purpose (for that: sha256.h). */
#ifndef TN_BASE_DIGEST_H
#define TN_BASE_DIGEST_H

#include <stdint.h>

typedef struct tn_digest {
  uint64_t lo, hi;
} tn_digest;

/* About as quick as memory is read. The same on all machines of one byte order. */
tn_digest tn_digest_of(const void *data, uint64_t size);

#endif
