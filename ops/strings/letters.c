/* The letters that have two cases: ranges of Unicode, in which the cases lie a fixed distance
 * apart. */
#include "letters.h"

enum { NO_CODE_POINT = 0x110000 };

/* Lower-case letters first, first + step ... last, and what to add to get their upper case. */
typedef struct range {
  uint32_t first, last, step;
  int32_t to_upper;
} range;

static const range ranges[] = {
    {'a', 'z', 1, -32},      {0xe0, 0xf6, 1, -32},    {0xf8, 0xfe, 1, -32},
    {0xff, 0xff, 1, 121},    {0x101, 0x12f, 2, -1},   {0x133, 0x137, 2, -1},
    {0x13a, 0x148, 2, -1},   {0x14b, 0x177, 2, -1},   {0x17a, 0x17e, 2, -1},
    {0x1ce, 0x1dc, 2, -1},   {0x1df, 0x1ef, 2, -1},   {0x1f9, 0x21f, 2, -1},
    {0x223, 0x233, 2, -1},   {0x3ac, 0x3ac, 1, -38},  {0x3ad, 0x3af, 1, -37},
    {0x3b1, 0x3c1, 1, -32},  {0x3c3, 0x3cb, 1, -32},  {0x3cc, 0x3cc, 1, -64},
    {0x3cd, 0x3ce, 1, -63},  {0x430, 0x44f, 1, -32},  {0x450, 0x45f, 1, -80},
    {0x461, 0x481, 2, -1},   {0x48b, 0x4bf, 2, -1},   {0x4c2, 0x4ce, 2, -1},
    {0x4d1, 0x52f, 2, -1},   {0x561, 0x586, 1, -48},  {0x1e01, 0x1e95, 2, -1},
    {0x1ea1, 0x1eff, 2, -1}, {0xff41, 0xff5a, 1, -32}};

uint32_t letter_to(uint32_t c, letter_case to) {
  if (to == CASE_UPPER && c == 0x3c2)
    return 0x3a3; /* final sigma: no upper case leads back to it */
  for (uint32_t k = 0; to != CASE_NONE && k < sizeof ranges / sizeof *ranges; k++) {
    const range *r = &ranges[k];
    uint32_t lower = to == CASE_LOWER ? (uint32_t)((int64_t)c - r->to_upper) : c;
    if (lower < r->first || lower > r->last || (lower - r->first) % r->step) continue;
    return to == CASE_LOWER ? lower : (uint32_t)((int64_t)c + r->to_upper);
  }
  return c;
}

uint32_t letter_read(const char *text, int64_t n, int64_t *out_bytes) {
  static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  const uint8_t *p = (const uint8_t *)text;
  int64_t bytes = p[0] < 0x80   ? 1
                  : p[0] < 0xc0 ? 0
                  : p[0] < 0xe0 ? 2
                  : p[0] < 0xf0 ? 3
                  : p[0] < 0xf8 ? 4
                                : 0;
  uint32_t c = bytes == 1 ? p[0] : p[0] & (0x7fu >> (bytes & 7));
  *out_bytes = 1;
  for (int64_t k = 1; k < bytes && k < n; k++) {
    if ((p[k] & 0xc0) != 0x80) return NO_CODE_POINT + p[0];
    c = c << 6 | (p[k] & 0x3fu);
  }
  if (bytes == 0 || bytes > n || c < least[bytes] || c >= NO_CODE_POINT)
    return NO_CODE_POINT + p[0];
  *out_bytes = bytes;
  return c;
}

int64_t letter_copy(const char *text, int64_t n, letter_case to, char *out) {
  uint8_t *p = (uint8_t *)out;
  int64_t bytes;
  uint32_t c = letter_to(letter_read(text, n, &bytes), to);
  p[0] = (uint8_t)(bytes == 1 ? c
                              : (0xf00u >> bytes & 0xf0u) |
                                    c >> 6 * (bytes - 1)); /* 1: what is no UTF-8, too */
  for (int64_t k = bytes - 1; k > 0; k--, c >>= 6) p[k] = (uint8_t)(0x80u | (c & 0x3fu));
  return bytes;
}
