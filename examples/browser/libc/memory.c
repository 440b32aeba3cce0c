/* What compilers call of <string.h> where they do not write the instruction. volatile: or they make
 * calls of these loops. */
#include <stdint.h>
#include <string.h>

void *memcpy(void *restrict to, const void *restrict from, size_t n) {
  for (size_t k = 0; k < n; k++) {
    ((volatile uint8_t *)to)[k] = ((const uint8_t *)from)[k];
  }
  return to;
}

void *memset(void *to, int byte, size_t n) {
  for (size_t k = 0; k < n; k++) {
    ((volatile uint8_t *)to)[k] = (uint8_t)byte;
  }
  return to;
}

int memcmp(const void *a, const void *b, size_t n) {
  const uint8_t *x = a, *y = b;
  for (size_t k = 0; k < n; k++) {
    if (x[k] != y[k]) {
      return x[k] < y[k] ? -1 : 1;
    }
  }
  return 0;
}
