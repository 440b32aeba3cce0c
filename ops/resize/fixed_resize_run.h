/* FixedResize, for every instruction set: a loop that compilers make vectors of. An item is a row
 * of the output. */
#include "fixed_resize.h"

/* n channels of a pixel, from four: between those of two columns, then between the rows. Products
 * have 8 + 22 bits. */
#define FIXED_PIXEL(name, T)                                                               \
  static void name(const void *x, const int64_t *corners, int32_t u, int32_t v, int64_t n, \
                   void *y) {                                                              \
    const T *a = (const T *)x + corners[0], *b = (const T *)x + corners[1],                \
            *c = (const T *)x + corners[2], *d = (const T *)x + corners[3];                \
    T *to = y;                                                                             \
    for (int64_t k = 0; k < n; k++) {                                                      \
      const int32_t above = a[k] * (1 << FIXED_RESIZE_BITS) + (b[k] - a[k]) * u,           \
                    below = c[k] * (1 << FIXED_RESIZE_BITS) + (d[k] - c[k]) * u,           \
                    sum = above * (1 << FIXED_RESIZE_BITS) + (below - above) * v;          \
      to[k] = (T)((sum + (1 << (2 * FIXED_RESIZE_BITS - 1))) >> (2 * FIXED_RESIZE_BITS));  \
    }                                                                                      \
  }
FIXED_PIXEL(pixel_i8, int8_t)
FIXED_PIXEL(pixel_u8, uint8_t)
#undef FIXED_PIXEL

static void row_run(const tn_call *call, const fixed_resize *p, int64_t item) {
  const bool is_signed = call->inputs[0]->dtype == TN_I8;
  const int64_t image = item / p->a->height, n = p->channels, line = p->w * n;
  const uint8_t *x = (const uint8_t *)call->inputs[0]->data + image * p->h * line;
  uint8_t *y = (uint8_t *)call->outputs[0]->data + item * p->a->width * n;
  const fixed_place v = fixed_resize_place(p->a, p->h, p->a->height, item % p->a->height);
  for (int64_t k = 0; k < p->a->width; k++, y += n) {
    const fixed_place u = fixed_resize_place(p->a, p->w, p->a->width, k);
    const int64_t corners[] = {v.first * line + u.first * n, v.first * line + u.second * n,
                               v.second * line + u.first * n, v.second * line + u.second * n};
    (is_signed ? pixel_i8 : pixel_u8)(x, corners, u.weight, v.weight, n, y);
  }
}

static tn_status fixed_resize_run(const tn_call *call, int64_t begin, int64_t end) {
  fixed_resize p;
  const tn_status s = fixed_resize_make(call, &p);
  for (int64_t item = begin; !s && item < end; item++) row_run(call, &p, item);
  return s;
}
