/* Address space whose memory comes and goes: what stands there is written when it is needed, and
 * given back to the system when it is not, while its address stays. */
#ifndef TN_BASE_PAGES_H
#define TN_BASE_PAGES_H

#include <stdbool.h>
#include <stdint.h>

enum { TN_HUGE_PAGE = 2 << 20 };

/* A size for memory that will be written whole: up to the end of a huge page where most of it is
 * needed, since the system gives one sooner than the most of its small ones. */
static inline uint64_t tn_pages_round(uint64_t bytes) {
  enum { WORTH = 5 << 18 };
  const uint64_t rest = bytes % TN_HUGE_PAGE;
  return rest >= WORTH && bytes < UINT64_MAX / 2 ? bytes - rest + TN_HUGE_PAGE : bytes;
}

/* Address space without memory, aligned to pages: it cannot be read. NULL: there is none. */
void *tn_pages_reserve(uint64_t bytes);
/* From now on it can be read and written. False: no memory. */
bool tn_pages_open(void *pages, uint64_t bytes);
/* From now on `pages` holds a copy of the bytes. forgets: what has been copied is forgotten, see
 * tn_pages_forget(). False: no memory; it cannot be read still. */
bool tn_pages_fill(void *pages, const void *from, uint64_t bytes, bool forgets);
/* Gives the memory back; the address space stays. */
void tn_pages_empty(void *pages, uint64_t bytes);
void tn_pages_return(void *pages, uint64_t bytes); /* the address space, too */

/* Takes the pages that lie within these bytes of a file's private, read-only mapping out of the
 * process: they come back from the file when they are read again. Of the process's own memory, what
 * nobody reads any more is given back. */
void tn_pages_forget(const void *data, uint64_t bytes);
/* The opposite: all of them will be read at once. */
void tn_pages_expect(const void *data, uint64_t bytes);

#endif
