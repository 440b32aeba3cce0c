/* What malloc() of newlib gives out. */
#include <stddef.h>

void *_sbrk(ptrdiff_t more);
void *_sbrk(ptrdiff_t more) {
  static char heap[2 << 20];
  static ptrdiff_t used;
  if (more > (ptrdiff_t)sizeof heap - used) return (void *)-1;
  used += more;
  return heap + used - more;
}
