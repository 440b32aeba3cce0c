/* Address space whose memory comes and goes, by mmap, mprotect and madvise. */
#include "base/pages.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PART = 16 << 20 };

void *tn_pages_reserve(uint64_t bytes) {
  if (!bytes || bytes > (uint64_t)INT64_MAX || bytes > SIZE_MAX) return NULL;
  void *pages = mmap(NULL, (size_t)bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return pages == MAP_FAILED ? NULL : pages;
}

bool tn_pages_open(void *pages, uint64_t bytes) {
  if (mprotect(pages, (size_t)bytes, PROT_READ | PROT_WRITE)) return false;
#ifdef MADV_HUGEPAGE
  if (bytes >= TN_HUGE_PAGE) (void)madvise(pages, (size_t)bytes, MADV_HUGEPAGE);
#endif
  return true;
}

bool tn_pages_fill(void *pages, const void *from, uint64_t bytes, bool forgets) {
  if (!tn_pages_open(pages, bytes)) return false;
  for (uint64_t at = 0, n; at < bytes; at += n) { /* never twice in memory as a whole */
    n = bytes - at < PART ? bytes - at : PART;
    memcpy((uint8_t *)pages + at, (const uint8_t *)from + at, (size_t)n);
    if (forgets) tn_pages_forget((const uint8_t *)from + at, n);
  }
  return true;
}

void tn_pages_empty(void *pages, uint64_t bytes) {
  /* In this order nobody finds zeros where constants were. */
  if (mprotect(pages, (size_t)bytes, PROT_NONE)) return;
  (void)madvise(pages, (size_t)bytes, MADV_DONTNEED);
}

void tn_pages_return(void *pages, uint64_t bytes) { (void)munmap(pages, (size_t)bytes); }

void tn_pages_forget(const void *data, uint64_t bytes) {
  const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
  const uintptr_t begin = ((uintptr_t)data + page - 1) / page * page,
                  end = ((uintptr_t)data + bytes) / page * page;
  if (begin < end) (void)madvise((void *)begin, end - begin, MADV_DONTNEED);
}

void tn_pages_expect(const void *data, uint64_t bytes) {
#ifdef MADV_POPULATE_READ
  const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
  const uintptr_t begin = (uintptr_t)data / page * page;
  if (bytes) (void)madvise((void *)begin, (uintptr_t)data + bytes - begin, MADV_POPULATE_READ);
#else
  (void)data, (void)bytes;
#endif
}
