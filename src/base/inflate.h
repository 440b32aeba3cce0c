/* Deflate (RFC 1951), decoded strictly into memory of known size, and the check sum of zip. */
#ifndef TN_BASE_INFLATE_H
#define TN_BASE_INFLATE_H

#include <stddef.h>
#include <stdint.h>

/* Decodes exactly out_size bytes. Answers NULL, or what is wrong; then *out_at says at which byte
 * of the packed ones, and out holds anything. */
const char *tn_inflate(const uint8_t *packed, uint64_t packed_size, uint8_t *out, uint64_t out_size,
                       uint64_t *out_at);

/* CRC-32 of zip, gzip and PNG. */
uint32_t tn_crc32(const void *data, uint64_t size);

#endif
