/* Pictures of another size than a model takes: scaled by stb_image_resize with the triangle filter,
 * which is bilinear where it enlarges and an average of what it covers where it shrinks. */
#include "image_resize.h"

#include <string.h>

#if TENON_STB
#include <stb/stb_image_resize.h>

typedef struct rectangle {
  int x, y, width, height;
} rectangle;

/* The largest rectangle inside `outer` with the proportions of `like`, in the middle of it; one
 * pixel at least. */
static rectangle inscribe(cli_size outer, cli_size like) {
  rectangle r = {0, 0, outer.width, outer.height};
  const int64_t by_height = (int64_t)outer.height * like.width,
                by_width = (int64_t)outer.width * like.height;
  if (by_height < by_width)
    r.width = (int)((by_height + like.height / 2) / like.height);
  else
    r.height = (int)((by_width + like.width / 2) / like.width);
  if (r.width < 1) r.width = 1;
  if (r.height < 1) r.height = 1;
  r.x = (outer.width - r.width) / 2;
  r.y = (outer.height - r.height) / 2;
  return r;
}

bool cli_image_resize(const uint8_t *pixels, cli_size from, int channels, cli_resize how,
                      cli_size to, uint8_t *out) {
  rectangle taken = {0, 0, from.width, from.height}, made = {0, 0, to.width, to.height};
  if (how == CLI_RESIZE_CROP) taken = inscribe(from, to);
  if (how == CLI_RESIZE_PAD) {
    made = inscribe(to, from);
    memset(out, 0, (size_t)to.width * (size_t)to.height * (size_t)channels);
  }
  const int from_row = from.width * channels, to_row = to.width * channels;
  return stbir_resize_uint8_generic(
      pixels + (size_t)taken.y * (size_t)from_row + (size_t)taken.x * (size_t)channels, taken.width,
      taken.height, from_row,
      out + (size_t)made.y * (size_t)to_row + (size_t)made.x * (size_t)channels, made.width,
      made.height, to_row, channels, STBIR_ALPHA_CHANNEL_NONE, 0, STBIR_EDGE_CLAMP,
      STBIR_FILTER_TRIANGLE, STBIR_COLORSPACE_LINEAR, NULL);
}
#endif
