/* Zip archives, read in place: members that are stored are spans of the archive's bytes, others are
 * inflated into memory that is bounded. What could mean two things is refused: members that
 * overlap, names twice, names that lead elsewhere, headers that contradict the directory. */
#ifndef TN_BASE_ZIP_H
#define TN_BASE_ZIP_H

#include <stdbool.h>

#include "base/alloc.h"
#include "base/map.h"

typedef struct tn_zip_member {
  const char *name; /* UTF-8; folders end with "/" */
  uint64_t at;      /* where its bytes begin in the archive */
  uint64_t packed, size;
  const uint8_t *bytes; /* once they were asked for */
  uint32_t crc;
  uint16_t method; /* 0 stored, 8 deflated, others are not read */
  bool verified;
} tn_zip_member;

typedef struct tn_zip {
  const uint8_t *data;
  uint64_t size;
  tn_arena *arena;
  tn_zip_member *members; /* in the order of the directory */
  uint64_t n_members;
  tn_map names;        /* to indices */
  uint64_t room;       /* bytes that may still be inflated */
  uint64_t parse_room; /* bytes that may still be asked for to be parsed */
  char message[320];   /* what is wrong and at which byte, once a call failed */
} tn_zip;

/* data outlives the archive; the arena holds everything else. Close it whatever was answered. */
tn_status tn_zip_open(tn_zip *zip, tn_arena *arena, const uint8_t *data, uint64_t size);
void tn_zip_close(tn_zip *zip);
/* NULL: there is no such member. */
tn_zip_member *tn_zip_find(const tn_zip *zip, const char *name);
/* Its bytes, as long as data and arena live. Check sums of stored members are compared only if
 * `verify` is true. */
tn_status tn_zip_bytes(tn_zip *zip, tn_zip_member *member, bool verify, const uint8_t **out);
/* The same of a member that is parsed into values, which may take a hundred times the memory of its
 * bytes: TN_ERR_OVERFLOW once all of them have more than 4 MiB and four times the archive. */
tn_status tn_zip_bytes_to_parse(tn_zip *zip, tn_zip_member *member, bool verify,
                                const uint8_t **out);

#endif
