/* Pictures of another size than a model takes. */
#ifndef TN_CLI_IMAGE_RESIZE_H
#define TN_CLI_IMAGE_RESIZE_H

#include "values.h"

typedef struct cli_size { /* of a picture, in pixels */
  int width, height;
} cli_size;

/* The picture `pixels` ([height][width][channels]) as one of size `to`, into `out`: stretched;
 * cropped, what is in the middle; or padded with zeros around it. Sizes are positive. False: no
 * memory. */
bool cli_image_resize(const uint8_t *pixels, cli_size from, int channels, cli_resize how,
                      cli_size to, uint8_t *out);

#endif
