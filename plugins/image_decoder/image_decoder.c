/* ImageDecoder through stb_image. The library takes its working memory from malloc and gives it
 * back before the kernel ends: there is no way to hand it an allocator. */
#include "image_decoder.gen.h"

#include <limits.h>
#include <stb/stb_image.h>
#include <string.h>

#include "tenon/kit/infer.h"

enum { NOT_A_FORMAT, RGB, BGR, GRAYSCALE };

static int format_of(const tn_call *call) {
  static const char *const names[] = {[RGB] = "RGB", [BGR] = "BGR", [GRAYSCALE] = "Grayscale"};
  const tn_str s = ((const tn_image_decoder_attrs *)call->attrs)->pixel_format;
  for (int k = RGB; k <= GRAYSCALE; k++)
    if (s.size == (int64_t)strlen(names[k]) && !memcmp(s.data, names[k], strlen(names[k])))
      return k;
  return NOT_A_FORMAT;
}

tn_status image_decoder_infer(const tn_call *call) {
  const int format = format_of(call);
  if (!format)
    return call->host->fail(call->ctx, TN_ERR_INVALID,
                            "attribute 'pixel_format' is none of RGB, BGR, Grayscale");
  if (call->inputs[0]->rank != 1)
    return call->host->fail(call->ctx, TN_ERR_SHAPE, "encoded_stream is no list of bytes");
  const int64_t dims[3] = {TN_DIM_UNKNOWN, TN_DIM_UNKNOWN, format == GRAYSCALE ? 1 : 3};
  tn_infer_shape(call, 0, TN_U8, 3, dims);
  return TN_OK;
}

tn_status image_decoder_plan(const tn_call *call, tn_kernel_plan *out) {
  out->flags = TN_PLAN_DATA_DEPENDENT;
  out->cost_ns = 10 * (double)call->inputs[0]->shape[0] + 1000;
  return TN_OK;
}

/* Files that begin like this are of a format that stb_image does not know; `at`: where it says so.
 */
static const struct {
  const char *name, *magic;
  int64_t size, at;
} unknown[] = {{"TIFF", "II*\0", 4, 0},
               {"TIFF", "MM\0*", 4, 0},
               {"WebP", "WEBP", 4, 8},
               {"JPEG 2000", "\0\0\0\x0cjP  ", 8, 0},
               {"JPEG 2000", "\xff\x4f\xff\x51", 4, 0},
               {"JPEG XL", "\xff\x0a", 2, 0},
               {"OpenEXR", "\x76\x2f\x31\x01", 4, 0},
               {"AVIF or HEIF", "ftyp", 4, 4}};

static tn_status refuse(const tn_call *call, const uint8_t *data, int64_t size) {
  for (size_t k = 0; k < sizeof unknown / sizeof *unknown; k++)
    if (size >= unknown[k].at + unknown[k].size &&
        !memcmp(data + unknown[k].at, unknown[k].magic, (size_t)unknown[k].size))
      return call->host->fail(call->ctx, TN_ERR_UNSUPPORTED, "not supported: images of format %s",
                              unknown[k].name);
  const char *why = size > 0 ? stbi_failure_reason() : NULL; /* else it is that of another call */
  return call->host->fail(call->ctx, TN_ERR_INVALID,
                          "encoded_stream is no JPEG, PNG, BMP, PNM, GIF, TGA or PSD image: %s",
                          why ? why : "empty");
}

/* n pixels of `channels` bytes (1 or 3) in the format that is wanted. */
static void convert(int format, const uint8_t *x, int channels, int64_t n, uint8_t *y) {
  const int to = format == GRAYSCALE ? 1 : 3;
  for (int64_t k = 0; k < n; k++, x += channels, y += to) {
    if (to == channels)
      for (int c = 0; c < to; c++) y[c] = x[format == BGR ? 2 - c : c];
    else /* the weights of ITU-R 601, in 16 bits */
      y[0] = (uint8_t)((19595u * x[0] + 38470u * x[1] + 7471u * x[2] + 32768u) >> 16);
  }
}

tn_status image_decoder_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                          uint32_t worker) {
  (void)stage, (void)begin, (void)end, (void)worker;
  const uint8_t *data = call->inputs[0]->data;
  const int64_t size = call->inputs[0]->shape[0];
  const int format = format_of(call);
  int width = 0, height = 0, channels = 0;
  if (size > INT_MAX)
    return call->host->fail(call->ctx, TN_ERR_OVERFLOW, "encoded_stream is larger than 2 GB");
  if (size < 1 || !stbi_info_from_memory(data, (int)size, &width, &height, &channels))
    return refuse(call, data, size);
  const int wanted = format == GRAYSCALE && channels < 3 ? 1 : 3;
  uint8_t *pixels = stbi_load_from_memory(data, (int)size, &width, &height, &channels, wanted);
  if (!pixels) return refuse(call, data, size);
  const int64_t dims[3] = {height, width, format == GRAYSCALE ? 1 : 3};
  tn_status s = call->host->output_resize(call->ctx, 0, 3, dims);
  if (!s) convert(format, pixels, wanted, (int64_t)height * width, call->outputs[0]->data);
  stbi_image_free(pixels);
  return s;
}
