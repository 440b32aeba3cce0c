/* A chip without an operating system: memory comes from malloc(), and there are no clock and no
 * files that could be mapped. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

enum { PAGE = 64 };

/* Zeroed, at a multiple of 64; what malloc() answered stands before it. */
void *mmap(void *hint, size_t bytes, int protection, int flags, int fd, int64_t at) {
  (void)hint, (void)protection, (void)fd, (void)at;
  char *whole = NULL;
  if (!(flags & MAP_ANONYMOUS))
    errno = ENOSYS;
  else if (bytes <= SIZE_MAX - PAGE)
    whole = calloc(1, bytes + PAGE);
  if (!whole) return MAP_FAILED;
  char *data = whole + PAGE - (uintptr_t)whole % PAGE;
  memcpy(data - sizeof whole, &whole, sizeof whole);
  return data;
}

int munmap(void *data, size_t bytes) {
  char *whole;
  (void)bytes;
  memcpy(&whole, (char *)data - sizeof whole, sizeof whole);
  free(whole);
  return 0;
}

int clock_gettime(int clock, struct timespec *out) {
  (void)clock;
  *out = (struct timespec){0};
  errno = ENOSYS;
  return -1;
}
