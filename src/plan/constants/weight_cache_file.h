/* Files of prepared weights: which bytes are where. What they mean is weights.h's business.
 *
 *   head      of fixed size: what the file was made by and for, and where its parts are
 *   sources   the files that the model was read from, as they were then
 *   index     for each state: how many words its key has, where its bytes are, their digest, key
 *   states    each at a multiple of 64 bytes, in the order of the index
 *
 * All numbers are words of 64 bits in the byte order of the machine that wrote it: on another one
 * nothing in it would be of use. Head and index carry a digest that is looked at when the file is
 * opened; each state carries one that is looked at when the state is used. */
#ifndef TN_PLAN_WEIGHT_CACHE_FILE_H
#define TN_PLAN_WEIGHT_CACHE_FILE_H

#include "base/alloc.h"
#include "base/build_id.h"
#include "base/digest.h"
#include "base/file.h"

/* Who wrote it. Another one's states may look different. */
typedef struct tn_weight_cache_maker {
  uint8_t build[TN_BUILD_ID_BYTES];
  uint64_t isa; /* what kernels were allowed to use */
} tn_weight_cache_maker;

/* A file of the model. */
typedef struct tn_weight_cache_source {
  uint64_t device, inode, size;
  int64_t mtime_ns, ctime_ns; /* modified, changed: see tn_mapping */
  uint64_t is_exact;          /* 1: another content has another ctime */
  tn_digest digest;
} tn_weight_cache_source;

typedef struct tn_weight_cache_entry {
  const uint64_t *key;
  int64_t n_key;
  const uint8_t *data;
  uint64_t bytes;
  tn_digest digest;
} tn_weight_cache_entry;

typedef struct tn_weight_cache_index {
  const tn_allocator *a;
  tn_weight_cache_maker maker;
  TN_VEC(tn_weight_cache_source) sources;
  TN_VEC(tn_weight_cache_entry) entries; /* point into the bytes that were read */
} tn_weight_cache_index;

/* Reads head and index of any bytes. NULL, or what is wrong with them, a literal: then the index is
 * empty. *out_status: TN_ERR_VERSION: they are of another version or byte order; TN_ERR_INVALID:
 * they are damaged; TN_ERR_MEMORY. data: at a multiple of 8. */
const char *tn_weight_cache_parse(const tn_allocator *a, const uint8_t *data, uint64_t size,
                                  tn_weight_cache_index *out, tn_status *out_status);
void tn_weight_cache_index_free(tn_weight_cache_index *index);

/* Sets the digests in a head and index that were changed; false: there is none. For tests. */
bool tn_weight_cache_seal(uint8_t *data, uint64_t size);

/* Replaces the file whole, or leaves it. mode: its permissions. */
tn_status tn_weight_cache_write(const tn_weight_cache_index *index, const char *path, uint32_t mode,
                                tn_diag *diag);

#endif
