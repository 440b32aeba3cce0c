/* SHA-256 (FIPS 180-4). */
#ifndef TN_BASE_SHA256_H
#define TN_BASE_SHA256_H

#include <stddef.h>
#include <stdint.h>

enum { TN_SHA256_BYTES = 32, TN_SHA256_TEXT = 65 };

/* The hash of n bytes as 64 lower-case hexadecimal digits and a zero. Any thread. */
void tn_sha256_text(const void *data, uint64_t n, char out[TN_SHA256_TEXT]);
/* The same in plain C, whatever the processor has. */
void tn_sha256_plain_text(const void *data, uint64_t n, char out[TN_SHA256_TEXT]);

#endif
