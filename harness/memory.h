/* Buffers that begin or end at an unreadable page, and how much memory is in use. */
#ifndef TN_HARNESS_MEMORY_H
#define TN_HARNESS_MEMORY_H

#include "harness/env.h"

/* ---- memory.c: buffers between unreadable pages ---------------------------------------------- */

typedef struct check_buffer {
  uint8_t *data;
  uint64_t bytes;
  uint8_t *map; /* readable pages */
  uint64_t map_bytes;
  const char *name; /* for messages */
  bool at_end;
} check_buffer;

uint64_t check_malloc_bytes(void); /* that malloc has handed out */
/* By how much they grow from one of n rounds to the next, if they do in most; else 0. */
uint64_t check_growth(const uint64_t *used, int32_t n);
struct check_pool *check_pool_new(void);
void check_pool_free(struct check_pool *pool); /* no buffer may be in use */
/* bytes at the end of their pages, aligned to `align` bytes, or at the beginning of them. The
 * bytes around the buffer hold a pattern. */
check_buffer *check_buffer_new(check_env *env, uint64_t bytes, uint64_t align, bool at_end,
                               const char *name);
void check_buffer_free(check_env *env, check_buffer *b);
void check_buffer_protect(check_buffer *b, bool read_only);
void check_buffer_take(check_buffer *b); /* it cannot be touched any more, until it is freed */
/* True if the bytes around it still hold the pattern. */
bool check_buffer_intact(const check_buffer *b);
/* Which buffer an address belongs to, in words into buf. */
const char *check_buffer_describe(const check_env *env, const void *address, char *buf,
                                  size_t size);

#endif
